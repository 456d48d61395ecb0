"""The synthetic functions of NeuralBO and LB-GP-UCB, against formulas of their own and the papers' numbers;
`test_contract` finds that their optima are attained and not exceeded."""

import numpy as np
import pytest
from botorch.test_functions import Michalewicz
from scipy.stats import norm

from replibo.problems.berkenkamp import Berkenkamp
from replibo.problems.michalewicz import Michalewicz5
from replibo.problems.synthetic import LARGEST_SHIFT, MARGIN, Shifted, Synthetic
from replibo.settings import SettingError
from replibo.streams import RunStreams


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


def berkenkamp(X):
    return -(0.6 * X + norm.pdf(X, loc=0.2, scale=0.08) / 8)[:, 0]


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
    ("problem", "formula", "upper", "optimum"),
    [(Berkenkamp(), berkenkamp, 1.0, 0.745198), (Michalewicz5(), michalewicz, np.pi, 4.687658)],
)
def test_the_functions_of_lb_gp_ucb(problem, formula, upper, optimum):
    np.testing.assert_allclose(problem.bounds, np.outer([0.0, upper], np.ones(problem.dim)))
    X = np.random.default_rng(0).uniform(0.0, upper, (2000, problem.dim))
    np.testing.assert_allclose(problem.evaluate_true(X), -formula(X), rtol=1e-9, atol=1e-12)
    assert problem.optimal_value == pytest.approx(optimum, abs=5e-7)
    # in double precision, so that a regret at the optimum is 0 and not below
    assert problem.evaluate_true(problem.optimizers)[0] == problem.optimal_value
    assert Michalewicz5().optimal_value > float(Michalewicz(dim=5, negate=True).optimal_value)


def test_the_noise_is_a_share_of_the_deviation_or_of_the_range():
    whole, half, none = (
        Synthetic(function="Levy", dim=3, noise_share=share) for share in (0.1, 0.05, 0.0)
    )
    assert half.noise_std == pytest.approx(whole.noise_std / 2)
    assert none.noise_std == 0.0
    problem = Synthetic(function="Ackley", dim=2, noise_variance_share=0.01)
    # Ackley's largest values in 2-D are about 22.3, its smallest is 0
    assert problem.noise_std == pytest.approx(np.sqrt(0.01 * 22.3), rel=0.01)
    with pytest.raises(SettingError, match="optimal value"):
        Synthetic(function="Michalewicz", dim=3, noise_variance_share=0.01)


# Shifted: the same values at other places


@pytest.mark.parametrize("function", FORMULA)
def test_shifted_has_the_box_the_values_and_the_optimum_of_its_sister(function):
    plain, family = Synthetic(function=function, dim=10), Shifted(function=function, dim=10)
    assert family.noise_std == plain.noise_std
    np.testing.assert_array_equal(family.bounds, plain.bounds)
    X = plain.to_native(np.random.default_rng(0).uniform(size=(50, 10)))
    np.testing.assert_allclose(family.evaluate_true(X), plain.evaluate_true(X), rtol=1e-9)
    places = set()
    for seed in (0, 1, 2):
        member, again = family.of_seed(seed), family.of_seed(seed)
        np.testing.assert_array_equal(member.optimizers, again.optimizers)
        places.add(member.optimizers.tobytes())
        assert member.optimal_value == family.optimal_value
        # the optimum is reached, and along no axis is f larger
        reached = member.evaluate_true(member.optimizers)[0]
        assert reached == pytest.approx(family.optimal_value, abs=1e-9)
        lower, upper = member.bounds
        lines = np.repeat(member.optimizers, 10 * 401, axis=0).reshape(10, 401, 10)
        for i in range(10):
            lines[i, :, i] = np.linspace(lower[i], upper[i], 401)
        assert member.evaluate_true(lines.reshape(-1, 10)).max() <= family.optimal_value + 1e-9
        # moved by no more than a quarter of the box, and not onto a face
        moved = member.to_unit(member.optimizers[0]) - plain.to_unit(family.optimizers[0])
        assert np.all(np.abs(moved) <= LARGEST_SHIFT + 1e-12)
        assert np.all(np.abs(member.to_unit(member.optimizers) - 0.5) <= 0.5 - MARGIN + 1e-12)
        # the corners stay where they are
        np.testing.assert_allclose(
            member.evaluate_true(member.bounds), plain.evaluate_true(plain.bounds), rtol=1e-9
        )
    assert len(places) == 3


def test_shifted_ackley_by_the_formula():
    """A member's value is the formula's at the point that the two linear pieces lead to."""
    member = Shifted(function="Ackley", dim=2).of_seed(5)
    (a, b), edge = member.optimizers[0], 32.768
    x, y = (a + edge) / 2, (b - edge) / 2  # one coordinate above its optimum, one below
    to = [(x - a) / (edge - a) * edge, (y - b) / (b + edge) * edge]
    assert member.evaluate_true(np.array([[x, y]]))[0] == pytest.approx(-ackley(np.array([to]))[0])


def test_the_optimum_of_michalewicz_in_ten_dimensions():
    problem = Shifted(function="Michalewicz", dim=10)
    np.testing.assert_allclose(problem.optimizers[0, :2], [2.20290552, 1.57079633], atol=1e-7)
    assert problem.optimal_value == pytest.approx(9.66015, abs=1e-5)


def test_the_distance_to_the_centre_is_recorded():
    problem = Synthetic(function="Levy", dim=4)
    for u, distance in ((0.5, 0.0), (1.0, 1.0), (0.25, 0.5)):
        x = problem.to_native(np.full(4, u))
        seen = problem.observe(x, RunStreams("p", "q", "a", 0), 0)
        assert seen.diagnostics == {"distance_to_centre": pytest.approx(distance)}
