"""Michalewicz in five dimensions against its formula and the paper's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from botorch.test_functions import Michalewicz
from scipy.optimize import minimize

from replibo.problems.michalewicz import Michalewicz5
from replibo.streams import RunStreams

PROBLEM = Michalewicz5()


def formula(X: np.ndarray) -> np.ndarray:
    i = np.arange(1, 6)
    return (np.sin(X) * np.sin(i * X**2 / np.pi) ** 20).sum(axis=1)


def test_formula() -> None:
    X = np.random.default_rng(0).uniform(0.0, np.pi, (2000, 5))
    np.testing.assert_allclose(PROBLEM.evaluate_true(X), formula(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(PROBLEM.bounds, [[0.0] * 5, [np.pi] * 5], rtol=1e-15)


def test_optimum() -> None:
    assert PROBLEM.optimal_value == pytest.approx(4.687658, abs=5e-7)
    x = PROBLEM.optimizers[0]
    assert formula(x[None])[0] == pytest.approx(PROBLEM.optimal_value, abs=1e-10)
    found = minimize(lambda z: -formula(z[None])[0], x + 0.01, tol=1e-14)
    assert -found.fun == pytest.approx(PROBLEM.optimal_value, abs=1e-10)


def test_values_are_double_precision() -> None:
    """To more digits than BoTorch's constant has: a regret at the optimum is 0 and not below."""
    f = PROBLEM.observe(PROBLEM.optimizers[0], RunStreams("p", "q", "a", 0), 0)
    assert f.f == f.y == PROBLEM.optimal_value
    assert PROBLEM.optimal_value > float(Michalewicz(dim=5, negate=True).optimal_value)
