"""Bayesian linear regression: direct inversion, GPyTorch's linear kernel, SciPy's normal density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from replibo.surrogates.bayesian_linear_regression import LOG_PRECISIONS, BayesianLinearRegression

LOWEST, HIGHEST = math.exp(LOG_PRECISIONS[0]), math.exp(LOG_PRECISIONS[1])
# fewer data than features, as many, more; one datum, one feature
SIZES = [(1, 1), (1, 6), (4, 6), (6, 6), (7, 6), (40, 6), (40, 1), (200, 50)]


def data(n: int, k: int, seed: int = 0, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, k])
    Phi = np.tanh(rng.standard_normal((n, k)))
    return Phi, Phi @ rng.standard_normal(k) + noise * rng.standard_normal(n)


def evidence(Phi: np.ndarray, y: np.ndarray, log_alpha: float, log_beta: float) -> float:
    """ln N(y; 0, β⁻¹I + α⁻¹ΦΦᵀ), by SciPy."""
    C = np.eye(len(y)) / math.exp(log_beta) + Phi @ Phi.T / math.exp(log_alpha)
    return float(multivariate_normal(np.zeros(len(y)), C, allow_singular=True).logpdf(y))


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_posterior_is_the_closed_form(n: int, k: int) -> None:
    Phi, y = data(n, k)
    Phi_new, _ = data(9, k, seed=1)
    blr = BayesianLinearRegression(Phi, y)
    A = blr.alpha * np.eye(k) + blr.beta * Phi.T @ Phi
    S = np.linalg.inv(A)
    mean, variance = blr.posterior(Phi_new)
    np.testing.assert_allclose(mean, Phi_new @ (blr.beta * S @ Phi.T @ y), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(variance, np.sum(Phi_new @ S * Phi_new, axis=1), rtol=1e-7)
    assert mean.shape == variance.shape == (9,)


@settings(derandomize=True, max_examples=10)
@given(
    n=st.integers(1, 30),
    k=st.integers(1, 8),
    seed=st.integers(0, 100),
    noise=st.sampled_from([0.0, 0.1, 3.0]),
)
def test_evidence_is_the_largest_of_the_square(n: int, k: int, seed: int, noise: float) -> None:
    Phi, y = data(n, k, seed, noise)
    blr = BayesianLinearRegression(Phi, y)
    assert LOWEST * (1 - 1e-9) <= blr.alpha <= HIGHEST * (1 + 1e-9)
    assert LOWEST * (1 - 1e-9) <= blr.beta <= HIGHEST * (1 + 1e-9)
    axis = np.linspace(*LOG_PRECISIONS, 11)
    values = [(evidence(Phi, y, a, b), a, b) for a in axis for b in axis]
    best = max(values)
    polished = minimize(
        lambda p: -evidence(Phi, y, *p), best[1:], method="L-BFGS-B", bounds=[LOG_PRECISIONS] * 2
    )
    assert blr.log_evidence >= max(best[0] - 1e-6, -polished.fun - 1e-4)
    at_maximum = evidence(Phi, y, math.log(blr.alpha), math.log(blr.beta))
    assert blr.log_evidence == pytest.approx(at_maximum, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("n", [1, 5, 30])
def test_equal_observations(n: int) -> None:
    """Standardised, they are zeros: the likelihood has no maximum but at the corner."""
    Phi, _ = data(n, 6)
    blr = BayesianLinearRegression(Phi, np.zeros(n))
    assert (blr.alpha, blr.beta) == (pytest.approx(HIGHEST), pytest.approx(HIGHEST))
    mean, variance = blr.posterior(Phi)
    np.testing.assert_array_equal(mean, 0.0)
    assert np.all(variance > 0)
