"""Berkenkamp's function and Michalewicz's in five dimensions, against formulas of their own and the
numbers of the paper; `test_contract` finds that their optima are attained and not exceeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from botorch.test_functions import Michalewicz
from scipy.stats import norm

from replibo.problems.base import Problem
from replibo.problems.berkenkamp import Berkenkamp
from replibo.problems.michalewicz import Michalewicz5
from replibo.streams import RunStreams


def berkenkamp(X: np.ndarray) -> np.ndarray:
    return (0.6 * X + norm.pdf(X, loc=0.2, scale=0.08) / 8)[:, 0]


def michalewicz(X: np.ndarray) -> np.ndarray:
    return (np.sin(X) * np.sin(np.arange(1, 6) * X**2 / np.pi) ** 20).sum(axis=1)


@pytest.mark.parametrize(
    ("problem", "formula", "upper", "optimum"),
    [(Berkenkamp(), berkenkamp, 1.0, 0.745198), (Michalewicz5(), michalewicz, np.pi, 4.687658)],
)
def test_formula_and_optimum(
    problem: Problem, formula: Callable[[np.ndarray], np.ndarray], upper: float, optimum: float
) -> None:
    np.testing.assert_allclose(problem.bounds, np.outer([0.0, upper], np.ones(problem.dim)))
    X = np.random.default_rng(0).uniform(0.0, upper, (2000, problem.dim))
    np.testing.assert_allclose(problem.evaluate_true(X), formula(X), rtol=1e-9, atol=1e-12)
    assert problem.optimal_value == pytest.approx(optimum, abs=5e-7)


def test_berkenkamps_optima() -> None:
    """The global one at 0.206 (the caption has 0.3), the local one at the end of the interval."""
    problem = Berkenkamp()
    assert problem.optimizers[0, 0] == pytest.approx(0.2061785, abs=5e-7)
    f = problem.evaluate_true(np.array([[0.3], [1.0]]))
    np.testing.assert_allclose(f, [0.465, 0.6], atol=5e-4)
    assert np.all(np.diff(problem.evaluate_true(np.linspace(0.5, 1, 1001)[:, None])) > 0)


def test_values_of_michalewicz_are_double_precision() -> None:
    """To more digits than BoTorch's constant has: a regret at the optimum is 0 and not below."""
    problem = Michalewicz5()
    seen = problem.observe(problem.optimizers[0], RunStreams("p", "q", "a", 0), 0)
    assert seen.f == seen.y == problem.optimal_value
    assert problem.optimal_value > float(Michalewicz(dim=5, negate=True).optimal_value)
