"""The synthetic functions of NeuralBO, against formulas of their own and measured references."""

import numpy as np
import pytest

from replibo.problems.synthetic import Synthetic


def ackley(X):
    a = -20 * np.exp(-0.2 * np.sqrt(np.mean(X**2, axis=1)))
    return a - np.exp(np.mean(np.cos(2 * np.pi * X), axis=1)) + 20 + np.e


def levy(X):
    w = 1 + (X - 1) / 4
    middle = (w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.sin(np.pi * w[:, 0]) ** 2 + middle.sum(axis=1) + last


def michalewicz(X):
    i = np.arange(1, X.shape[1] + 1)
    return -np.sum(np.sin(X) * np.sin(i * X**2 / np.pi) ** 20, axis=1)


BOX = {"Ackley": (-32.768, 32.768), "Levy": (-10, 10), "Michalewicz": (0, np.pi)}
FORMULA = {"Ackley": ackley, "Levy": levy, "Michalewicz": michalewicz}


@pytest.mark.parametrize("function", FORMULA)
@pytest.mark.parametrize("dim", [10, 20, 50, 100])
def test_values_box_and_noise(function, dim):
    problem = Synthetic(function=function, dim=dim)
    np.testing.assert_allclose(problem.bounds, np.outer(BOX[function], np.ones(dim)), rtol=1e-12)
    rng = np.random.default_rng(1)
    X = problem.to_native(rng.uniform(size=(20_000, dim)))
    f = FORMULA[function](X)
    np.testing.assert_allclose(problem.evaluate_true(X), -f, rtol=1e-9, atol=1e-9)
    # the sd of f by an independent sample: 10,000 and 20,000 points, so within some per cent
    assert problem.noise_std == pytest.approx(0.1 * np.std(f), rel=0.05)


@pytest.mark.parametrize(
    ("function", "dim", "best"),
    [("Ackley", 10, (18.27, 0.63)), ("Levy", 20, (73.7, 7.4)), ("Michalewicz", 50, (-11.7, 0.40))],
)
def test_best_of_2000_random_points_is_what_was_measured_elsewhere(function, dim, best):
    problem = Synthetic(function=function, dim=dim)
    rng = np.random.default_rng(3)
    found = [
        -problem.evaluate_true(problem.to_native(rng.uniform(size=(2000, dim)))).max()
        for _ in range(8)
    ]
    mean, sd = best
    assert np.mean(found) == pytest.approx(mean, abs=4 * sd / np.sqrt(8))


def test_noise_share():
    half = Synthetic(function="Levy", dim=3, noise_share=0.05)
    assert half.noise_std == pytest.approx(Synthetic(function="Levy", dim=3).noise_std / 2)
    assert Synthetic(function="Levy", dim=3, noise_share=0.0).noise_std == 0.0
