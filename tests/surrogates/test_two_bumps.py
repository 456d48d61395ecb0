"""The family of two bumps: derivatives by differences, the descent (`test_parametric`: its columns)."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from replibo.algorithms.base import Space
from replibo.algorithms.go_ucb_hessian import GoUcbHessian
from replibo.problems.go_ucb import TwoBumps
from replibo.streams import RunStreams
from replibo.surrogates import two_bumps

from ..algorithms.conftest import observed

RNG = np.random.default_rng(0)
W = RNG.uniform(-1, 1, size=(4, 3))
X = RNG.uniform(-1, 1, size=(6, 3))
Y = RNG.standard_normal((6, 3))


def test_it_holds_the_problem_of_that_name() -> None:
    problem = TwoBumps()
    (a1, a2), (c1, c2) = problem.HEIGHTS, problem.CENTRES
    x = np.linspace(-1, 1, 50)[:, None]
    f = two_bumps.predict(np.array([[a1], [c1], [a2], [c2]]), x)[:, 0]
    assert_allclose(f, problem.evaluate_true(x), rtol=1e-12)
    fine = np.linspace(-1, 1, 200_001)[:, None]
    assert 0 <= problem.optimal_value - problem.evaluate_true(fine).max() < 1e-9


def test_derivatives_by_central_differences() -> None:
    def loss(w: np.ndarray) -> np.ndarray:
        return np.mean((two_bumps.predict(w, X) - Y) ** 2, axis=0)

    h = 1e-4
    gradient, hessian = two_bumps.gradient(W, X), two_bumps.loss_hessian(W, X, Y)
    for i in range(4):
        e = np.zeros((4, 1))
        e[i] = h
        slope = (two_bumps.predict(W + e, X) - two_bumps.predict(W - e, X)) / (2 * h)
        assert_allclose(gradient[i], slope, atol=1e-5)
        for j in range(4):
            d = np.zeros((4, 1))
            d[j] = h
            second = loss(W + e + d) - loss(W + e - d) - loss(W - e + d) + loss(W - e - d)
            assert_allclose(hessian[i, j], second / (4 * h * h), atol=1e-4)


def test_the_descent_is_that_of_the_written_formula() -> None:
    descended = two_bumps.gradient_descent(W, X, Y, steps=50, learning_rate=0.02)
    w = W.copy()
    for _ in range(50):
        residual = two_bumps.predict(w, X) - Y
        w = w - 0.02 * 2 * np.mean(residual * two_bumps.gradient(w, X), axis=1)
    assert_allclose(descended, w, rtol=1e-10)


def test_go_ucb_finds_the_maximum_from_points_on_both_bumps() -> None:
    problem, x = TwoBumps(), np.array([[-0.6, -0.5, -0.35, 0.1, 0.3, 0.45, 0.6, 0.9]]).T
    history = observed(problem.to_unit(x), problem.evaluate_true(x), n_initial=8)
    algorithm = GoUcbHessian(
        Space(1, 0.0),
        RunStreams("go_ucb", "two_bumps", "a", 1),
        family="two_bumps",
        learning_rate=0.05,
        gradient_steps=5000,
        model_domain=(-1.0, 1.0),
    )
    asked = problem.to_native(algorithm.ask(history, 9).x)
    regret = problem.optimal_value - problem.evaluate_true(asked[None])[0]
    assert regret < 1e-3
