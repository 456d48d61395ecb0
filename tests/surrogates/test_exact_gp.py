"""The exact GP, against GPyTorch, BoTorch's own fit, and what must hold of any GP."""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from replibo.errors import RepliboError
from replibo.surrogates import exact_gp, length_scale_fit
from replibo.surrogates.exact_gp import ExactGP, GrowingGP, standardise
from replibo.surrogates.kernels import KERNELS, KernelName, matern52, pairwise_distances
from replibo.surrogates.length_scale_fit import fit_length_scale, log_marginal_likelihood

from .reference import NOISE, botorch_model


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n points, a repeated one among them, and standardised values of a wavy function."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.random((n, d))
    if n > 5:
        X[5] = X[2]
    y = np.sin(4 * X.sum(axis=1)) + X[:, 0] ** 2
    return X, standardise(y)


def grown(X: np.ndarray, length_scale: float, noise: float = NOISE, **kwargs: object) -> GrowingGP:
    gp = GrowingGP(length_scale, noise, X.shape[1], **kwargs)  # type: ignore[arg-type]
    for x in X:
        gp.append(x)
    return gp


# Against GPyTorch


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("length_scale", [0.05, 0.4, 2.0])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (12, 1), (80, 4)])
def test_posterior_is_gpytorchs(n: int, d: int, length_scale: float, kernel: KernelName) -> None:
    X, y = data(n, d)
    new = np.random.default_rng(7).random((30, d))
    with torch.no_grad():
        expected = botorch_model(X, y, length_scale, kernel).posterior(torch.tensor(new))
    mean, variance = expected.mean[:, 0].numpy(), expected.variance[:, 0].numpy()
    exact = ExactGP(pairwise_distances(X, X), length_scale, NOISE, KERNELS[kernel])
    growing = grown(X, length_scale, pool=new, kernel=KERNELS[kernel])
    for result in (
        exact.posterior(y, pairwise_distances(X, new)),
        growing.posterior(y, new),
        growing.pool_posterior(y),
    ):
        assert_allclose(result[0], mean, atol=1e-8)
        assert_allclose(result[1], variance, atol=1e-8)


# Growing


def test_without_data_the_prior() -> None:
    X = np.random.default_rng(0).random((4, 2))
    gp, nothing = GrowingGP(0.4, NOISE, 2, pool=X), np.empty(0)
    exact = ExactGP(np.empty((0, 0)), 0.4, NOISE)
    for mean, variance in (
        gp.posterior(nothing, X),
        gp.pool_posterior(nothing),
        exact.posterior(nothing, np.empty((0, 4))),
    ):
        assert_array_equal(mean, np.zeros(4))
        assert_array_equal(variance, np.ones(4))
    assert gp.information_gain() == gp.log_marginal_likelihood(nothing) == 0.0


def test_growing_rejects() -> None:
    X, y = data(20, 2)
    for call, message in (
        (lambda: GrowingGP(0.0, NOISE, 2), "length_scale"),
        (lambda: GrowingGP(0.1, -1.0, 2), "noise_variance"),
        (lambda: GrowingGP(0.1, NOISE, 2).pool_posterior(np.empty(0)), "no pool"),
        (lambda: grown(X, 0.4, pool=X).pool_posterior(y[:-1]), "19 rows for 20 points"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# Properties


# on a coarse grid: repeated points are common
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=1, max_size=14), st.floats(0.02, 5.0))
def test_the_information_gain_is_its_formula_and_variances_stay_positive(
    grid: list[tuple[int, int]], length_scale: float
) -> None:
    X = np.array(grid) / 6
    K = matern52(pairwise_distances(X, X), length_scale)
    expected = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K / NOISE)[1]
    growing = grown(X, length_scale, pool=X)
    exact = ExactGP(pairwise_distances(X, X), length_scale, NOISE)
    for gp in (growing, exact):
        assert gp.information_gain() == pytest.approx(expected, rel=1e-8)
    assert (growing.pool_posterior(np.zeros(len(X)))[1] >= 0).all()


# Jitter


def test_singular_matrix_takes_the_first_jitter_that_works() -> None:
    X, y = data(20, 2)  # holds a point twice
    D = pairwise_distances(X, X)
    new = np.random.default_rng(1).random((10, 2))
    growing, exact = grown(X, 0.4, 0.0, pool=np.vstack([X, new])), ExactGP(D, 0.4, 0.0)
    assert growing.jitter == exact.jitter == 1e-8
    assert log_marginal_likelihood(D, y, 0.4, 0.0)[2] == 1e-8
    assert fit_length_scale(D, y, 0.0).jitter > 0
    for result, expected in zip(
        growing.pool_posterior(y),
        exact.posterior(y, pairwise_distances(X, growing.pool)),
        strict=True,
    ):
        assert_allclose(result, expected, atol=1e-5)
    mean, variance = growing.pool_posterior(y)
    assert_allclose(mean[:20], y, atol=1e-4)
    assert (variance[:20] < 1e-6).all()
    assert (variance[20:] > 1e-4).all()
    assert_allclose(growing.information_gain(), exact.information_gain(), rtol=1e-6)


def test_jitter_comes_when_it_is_needed() -> None:
    X, y = data(20, 2)
    gp = grown(X[:5], 0.4, 0.0)
    assert gp.jitter == 0.0
    assert gp.information_gain() == math.inf
    gp.append(X[5])
    assert gp.jitter == 1e-8
    assert math.isfinite(gp.log_marginal_likelihood(y[:6]))


def test_a_nearly_repeated_point_takes_a_jitter_or_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its pivot is positive, but nothing but rounding errors."""
    X = np.array([[0.2], [0.2 + 1e-8], [0.7]])
    ways = (lambda: grown(X, 0.4, 0.0), lambda: ExactGP(pairwise_distances(X, X), 0.4, 0.0))
    assert [way().jitter for way in ways] == [1e-8, 1e-8]
    monkeypatch.setattr(exact_gp, "JITTERS", (0.0,))
    for way in ways:
        with pytest.raises(RepliboError, match="noise_variance: with 0 the kernel matrix is singu"):
            way()


# The fit


@pytest.mark.parametrize(("n", "d"), [(3, 1), (10, 4), (40, 2), (120, 4)])
@pytest.mark.parametrize(("seed", "kernel"), [(0, "matern52"), (1, "rbf")])
def test_fit_is_botorchs(n: int, d: int, seed: int, kernel: KernelName) -> None:
    """From the same start, with the same optimiser: the same local maximum."""
    X, y = data(n, d, seed)
    model = botorch_model(X, y, kernel=kernel)
    assert model.covar_module.lengthscale.item() == pytest.approx(length_scale_fit.RELEASED_START)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll)
    fit = fit_length_scale(pairwise_distances(X, X), y, NOISE, kernel=KERNELS[kernel])
    assert fit.length_scale == pytest.approx(model.covar_module.lengthscale.item(), rel=1e-6)
    assert fit.converged and not fit.at_bound
    assert fit.from_released_start == fit.length_scale
    model.train()
    expected = n * mll(model(torch.tensor(X)), torch.tensor(y)).item()
    assert fit.log_marginal_likelihood == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("n", "d"), [(8, 1), (10, 4), (40, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_fit_against_a_dense_grid(n: int, d: int, seed: int) -> None:
    X, y = data(n, d, seed)
    D = pairwise_distances(X, X)
    grid = np.geomspace(1e-3, 20, 1500)
    values = np.array([log_marginal_likelihood(D, y, ell, NOISE)[0] for ell in grid])
    multi = fit_length_scale(D, y, NOISE, starts="multi")
    assert multi.log_marginal_likelihood >= values.max() - 1e-5 * n
    assert not multi.at_bound
    assert multi.length_scale == pytest.approx(grid[values.argmax()], rel=2e-2)
    single = fit_length_scale(D, y, NOISE)
    assert single.log_marginal_likelihood <= multi.log_marginal_likelihood + 1e-5 * n
    assert single.length_scale == pytest.approx(multi.from_released_start, rel=1e-3)
    assert multi.evaluations > single.evaluations


def test_fit_reports_white_noise() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((12, 2)), standardise(rng.standard_normal(12))
    D = pairwise_distances(X, X)
    fit = fit_length_scale(D, y, NOISE)
    assert fit.collapsed and not fit.exploded
    white = -0.5 * (y @ y / (1 + NOISE) + 12 * math.log(2 * math.pi * (1 + NOISE)))
    assert fit.log_marginal_likelihood == pytest.approx(white, abs=0.5)


def test_fit_reports_the_bound_and_what_the_released_start_misses() -> None:
    """The released start stays in a local maximum; read as white noise the data are likelier."""
    X = np.array([0.0, 0.001, 0.3, 0.6, 1.0])[:, None]
    y = standardise(np.array([0.0, 0.4, 1.0, 0.9, -0.2]))
    D = pairwise_distances(X, X)
    bound = 1e-4
    multi = fit_length_scale(D, y, 0.09, starts="multi", lower_bound=bound)
    single = fit_length_scale(D, y, 0.09)
    assert multi.from_released_start == pytest.approx(single.length_scale, rel=1e-3)
    assert multi.log_marginal_likelihood > single.log_marginal_likelihood
    assert multi.length_scale == pytest.approx(bound)
    assert multi.at_bound and multi.collapsed and not single.collapsed


def test_fit_of_a_constant_and_of_one_datum() -> None:
    X = np.linspace(0, 1, 10)[:, None]
    constant = fit_length_scale(pairwise_distances(X, X), np.zeros(10), NOISE)
    assert constant.exploded and not constant.collapsed
    single = fit_length_scale(np.zeros((1, 1)), np.zeros(1), NOISE)
    assert single.length_scale == pytest.approx(math.log(2))  # the start
    assert single.converged and not single.collapsed and not single.exploded


def test_fit_reports_no_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **kwargs: object) -> object:
        return minimize(*args, **kwargs, options={"maxiter": 1})  # type: ignore[arg-type]

    monkeypatch.setattr(length_scale_fit, "minimize", stopped)
    X, y = data(30, 2)
    fit = fit_length_scale(pairwise_distances(X, X), y, NOISE)
    assert not fit.converged and math.isfinite(fit.log_marginal_likelihood)
