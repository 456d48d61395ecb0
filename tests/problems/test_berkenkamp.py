"""The Berkenkamp function against the numbers of the paper and an independent density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from replibo.problems.berkenkamp import Berkenkamp

PROBLEM = Berkenkamp()


def f(x: float) -> float:
    return float(PROBLEM.evaluate_true(np.array([[x]]))[0])


def test_formula() -> None:
    x = np.linspace(0.0, 1.0, 1001)
    expected = 0.6 * x + norm.pdf(x, loc=0.2, scale=0.08) / 8
    np.testing.assert_allclose(PROBLEM.evaluate_true(x[:, None]), expected, rtol=1e-14)
    np.testing.assert_array_equal(PROBLEM.bounds, [[0.0], [1.0]])


def test_global_optimum() -> None:
    found = minimize_scalar(lambda x: -f(x), bounds=(0.15, 0.25), options={"xatol": 1e-12})
    assert PROBLEM.optimizers[0, 0] == pytest.approx(found.x, abs=1e-7)
    assert PROBLEM.optimizers[0, 0] == pytest.approx(0.2061785, abs=5e-7)
    assert PROBLEM.optimal_value == pytest.approx(0.7451981532, abs=5e-11)
    assert PROBLEM.optimal_value == f(PROBLEM.optimizers[0, 0])


def test_local_optimum() -> None:
    assert f(1.0) == pytest.approx(0.6, abs=1e-15)
    grid = PROBLEM.evaluate_true(np.linspace(0.5, 1, 1001)[:, None])
    assert np.all(np.diff(grid) > 0)


def test_not_where_the_caption_has_it() -> None:
    assert f(0.3) == pytest.approx(0.465, abs=5e-4)
