"""The GP surrogate against BoTorch, GPyTorch and closed forms; `test_gp_baselines` holds its posterior to
scikit-learn's."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from replibo.algorithms.parts.acquisition_functions import (
    log_expected_improvement,
    upper_confidence_bound,
)
from replibo.errors import RepliboError
from replibo.surrogates import gp_regression
from replibo.surrogates.gp_regression import START, Fit, GpRegression, Hyperparameters, fit
from replibo.surrogates.standardise import standardise

CPU = torch.device("cpu")


def data(kind: str, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy observations of a function of the given kind."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    if kind == "local":
        X[n // 2 :] = np.clip(X[0] + 0.05 * rng.standard_normal((n - n // 2, d)), 0, 1)
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    f = {
        "ackley": 20 * np.exp(-13 * np.sqrt(((X - 0.5) ** 2).mean(1))),
        "smooth": np.sin(3 * X).sum(1),
        "local": -((X - 0.4) ** 2).sum(1),
        "duplicates": np.sin(5 * X[:, 0]),
    }[kind]
    return X, 7.0 + f + 0.1 * f.std() * rng.standard_normal(n)


def as_tensors(X: np.ndarray, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(X), torch.tensor(standardise(y)[0])


def botorch_model(X: np.ndarray, y: np.ndarray) -> SingleTaskGP:
    return SingleTaskGP(
        torch.tensor(X), torch.tensor(y)[:, None], covar_module=ScaleKernel(RBFKernel())
    )


def log_posterior(model: SingleTaskGP) -> float:
    """What BoTorch maximises, of all n observations together."""
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    with torch.no_grad():
        value = mll(model(*model.train_inputs), model.train_targets)
    return float(value) * len(model.train_targets)


def hyperparameters(model: SingleTaskGP) -> Hyperparameters:
    return Hyperparameters(
        mean=model.mean_module.constant.item(),
        outputscale=model.covar_module.outputscale.item(),
        length_scale=model.covar_module.base_kernel.lengthscale.item(),
        noise_variance=model.likelihood.noise.item(),
    )


def at(X: np.ndarray, y: np.ndarray, h: Hyperparameters) -> SingleTaskGP:
    """BoTorch's model with given hyperparameters."""
    model = botorch_model(X, y)
    # as tensors: GPyTorch would round numbers to float32
    model.mean_module.constant = torch.tensor(h.mean, dtype=torch.float64)
    model.covar_module.outputscale = torch.tensor(h.outputscale, dtype=torch.float64)
    model.covar_module.base_kernel.lengthscale = torch.tensor(h.length_scale, dtype=torch.float64)
    model.likelihood.noise = torch.tensor(h.noise_variance, dtype=torch.float64)
    return model


def botorch_fit(kind: str, d: int, n: int) -> tuple[float, Hyperparameters]:
    model = botorch_model(*data(kind, d, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return log_posterior(model), hyperparameters(model)


def with_botorchs_prior(X: np.ndarray, y: np.ndarray, h: Hyperparameters) -> SingleTaskGP:
    """BoTorch's model with given hyperparameters and the prior that its own kernel has of ℓ."""
    model = at(X, y, h)
    kernel = get_covar_module_with_dim_scaled_prior(X.shape[1], use_rbf_kernel=True)
    model.covar_module.base_kernel.register_prior(
        "lengthscale_prior", kernel.lengthscale_prior, lambda module: module.lengthscale
    )
    return model


@pytest.mark.parametrize("d", [1, 7])
def test_the_prior_of_the_length_scale_is_botorchs(d: int) -> None:
    X, y = data("smooth", d, 25)
    of = gp_regression._LogPosterior(*as_tensors(X, y), "dimension_scaled")
    for values in ((-0.3, 2.5, 0.4, 0.03), (0.7, 5.0, 3.0, 0.2)):
        theta, h = gp_regression._unconstrained(values), Hyperparameters(*values)
        expected = log_posterior(with_botorchs_prior(X, y, h))
        assert -25 * of.negative(theta)[0] == pytest.approx(expected, rel=1e-8)  # float32 prior
        error = check_grad(
            lambda x: of.negative(x)[0], lambda x: of.negative(x)[1], theta, epsilon=1e-7
        )
        assert error <= 1e-4 * np.linalg.norm(of.negative(theta)[1])


def test_the_bound_that_comes_with_the_prior_is_botorchs() -> None:
    kernel = get_covar_module_with_dim_scaled_prior(3, use_rbf_kernel=True)
    smallest = float(kernel.raw_lengthscale_constraint.lower_bound)
    X, _ = data("smooth", 3, 60)
    points, values = as_tensors(0.01 * X, np.sin(6 * X).sum(1))  # varies over 0.01 of the cube
    near = Hyperparameters(0.0, 1.0, 0.03, 0.01)
    free = fit(points, values, near=near).hyperparameters.length_scale
    held = fit(points, values, near=near, length_scale_prior="dimension_scaled").hyperparameters
    assert free < 0.8 * smallest
    assert held.length_scale == pytest.approx(smallest)


# The fit


DATA_SETS = [
    ("smooth", 1, 10),
    ("ackley", 1, 60),
    ("duplicates", 1, 10),
    ("duplicates", 2, 60),
    ("local", 2, 60),
    ("ackley", 20, 200),
    ("local", 100, 60),
]


@pytest.mark.parametrize(("kind", "d", "n"), DATA_SETS)
def test_a_single_start_finds_botorchs_optimum_and_several_no_worse_one(
    kind: str, d: int, n: int
) -> None:
    value, expected = botorch_fit(kind, d, n)
    X, y = as_tensors(*data(kind, d, n))
    single, multi = fit(X, y, starts="single"), fit(X, y)
    assert single.converged
    assert single.log_posterior == pytest.approx(value, abs=1e-3)
    for name in ("outputscale", "length_scale", "noise_variance"):
        ours, theirs = getattr(single.hyperparameters, name), getattr(expected, name)
        assert ours == pytest.approx(theirs, rel=0.02), name
    sd = math.sqrt(expected.outputscale)
    assert single.hyperparameters.mean == pytest.approx(expected.mean, abs=0.02 * sd)
    assert multi == single if d == 1 else multi.log_posterior >= single.log_posterior


def test_in_100_dimensions_botorchs_start_is_stuck_and_the_second_is_not() -> None:
    value, stuck = botorch_fit("smooth", 100, 200)
    assert stuck.length_scale == pytest.approx(math.log(2), rel=0.01)
    X, y = data("smooth", 100, 200)
    assert fit(*as_tensors(X, y), starts="single").log_posterior == pytest.approx(value, abs=1e-2)
    multi = fit(*as_tensors(X, y))
    assert multi.log_posterior > value + 5
    # and it is a maximum of BoTorch's own objective
    assert log_posterior(at(X, y, multi.hyperparameters)) == pytest.approx(multi.log_posterior)


# The posterior


@pytest.mark.parametrize("appended", [0, 1, 40])
@pytest.mark.parametrize(
    "score",
    [
        *(partial(upper_confidence_bound, beta=beta) for beta in (0.0, 1.0, 100.0)),
        partial(log_expected_improvement, best=1.0, xi=0.01),
    ],
)
def test_where_the_best_may_be_the_deviation_is_exact_and_elsewhere_no_less(
    appended: int, score: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gp_regression, "BOUNDED_FROM", 60)
    X, y = data("local", 4, 60 + appended)
    gp = GpRegression(X[:60], y[:60], device=CPU, capacity=60 + appended)
    for x, value in zip(X[60:], y[60:], strict=True):
        gp.append(x, value)
    rng = np.random.default_rng(5)
    points = rng.random((200, 4))  # far from the data, and among them
    points[:100] = np.clip(X[np.argmax(y)] + 0.05 * rng.standard_normal((100, 4)), 0, 1)
    expected, exact = gp.posterior(points)
    mean, sd = gp.posterior_where_best(points, score)
    assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)
    assert np.all(sd >= exact - 1e-9)
    chosen = int(np.argmax(score(expected, exact)))
    assert int(np.argmax(score(mean, sd))) == chosen
    assert sd[chosen] == pytest.approx(exact[chosen], rel=1e-9)
    assert np.max(sd - exact) > 1e-3  # some are bounds


def test_a_joint_sample_is_the_same_at_repeated_points() -> None:
    X, y = data("smooth", 2, 20)
    gp = GpRegression(X, y, device=CPU, capacity=20)
    points = np.repeat(np.random.default_rng(5).random((40, 2)), 3, axis=0)
    drawn, _, sd = gp.sample(points, np.random.default_rng(6).standard_normal(120))
    triples = drawn.reshape(40, 3)
    assert np.ptp(triples, axis=1).max() < 0.02
    assert np.std(triples[:, 0] - gp.posterior(points[::3])[0]) > 0.2 * sd.mean()


def test_a_covariance_that_cannot_be_factorised_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data("smooth", 2, 10)
    gp = GpRegression(X, y, device=CPU, capacity=10)
    tried = []

    def fails(K: torch.Tensor, added: float) -> torch.Tensor:
        tried.append(K.diagonal().add_(added)[0].item())
        raise np.linalg.LinAlgError

    monkeypatch.setattr(gp_regression, "cholesky", fails)
    with pytest.raises(RepliboError, match="no Cholesky factor"):
        gp.sample(X[:1], np.zeros(1))
    scale = gp.fitted.hyperparameters.outputscale
    assert_allclose(np.array(tried) - tried[0], scale * np.array(gp_regression.JITTERS), rtol=1e-6)


# Corners


def test_one_observation_keeps_the_starting_hyperparameters() -> None:
    gp = GpRegression(np.array([[0.3]]), np.array([5.0]), device=CPU, capacity=2)
    assert not gp.fitted.converged
    assert gp.fitted.hyperparameters == Hyperparameters(*START)
    assert (gp.centre, gp.scale) == (5.0, 1.0)
    mean, sd = gp.posterior(np.array([[0.3], [1.0]]))
    s, noise = START[1], START[3]
    assert_allclose(mean, 0.0, atol=1e-15)
    assert_allclose(sd[0], math.sqrt(s - s * s / (s + noise)), rtol=1e-9)
    assert sd[1] > sd[0]


@pytest.mark.parametrize("failures", [1, 2])
def test_starts_without_a_factor_leave_the_other_or_the_starting_hyperparameters(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = as_tensors(*data("smooth", 100, 200))
    expected = fit(X, y).hyperparameters
    real, calls = gp_regression.cholesky, []

    def fails_at_first(K: torch.Tensor, added: float) -> torch.Tensor:
        calls.append(added)
        if len(calls) <= failures:
            raise np.linalg.LinAlgError
        return real(K, added)

    monkeypatch.setattr(gp_regression, "cholesky", fails_at_first)
    result = fit(X, y)
    if failures == 1:
        assert result.hyperparameters == expected
    else:
        assert math.isnan(result.log_posterior)
        assert result == Fit(Hyperparameters(*START), result.log_posterior, False, 2)


# Memory, and the same bits


def test_memory_is_that_of_the_tensors_which_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("smooth", 3, 10)
    gp = GpRegression(X, y, device=CPU, capacity=20)
    gp.posterior(X)
    held = 8 * (20 * 3 + 20 + 10 * 10 + 10 * (10 + 10) + 10)
    assert gp.bytes() == held
    monkeypatch.setattr(gp_regression, "BOUNDED_FROM", 10)
    gp.posterior_where_best(X, lambda mean, sd: mean + sd)
    assert gp.bytes() == held + 8 * (2 + 2 * 2)
    # the bounding factor is kept, and used again
    monkeypatch.setattr(gp_regression, "cholesky", None)
    gp.posterior_where_best(X, lambda mean, sd: mean + sd)


def test_grown_twice_it_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gp_regression, "BOUNDED_FROM", 40)
    X, y = data("ackley", 20, 60)

    def best(gp: GpRegression) -> tuple[np.ndarray, np.ndarray]:
        return gp.posterior_where_best(X[::3] + 0.01, lambda mean, sd: mean + 2 * sd)

    def grown(asked_on_the_way: bool) -> tuple[np.ndarray, ...]:
        gp = GpRegression(X[:40], y[:40], device=CPU, capacity=60)
        for i in range(40, 60):
            if asked_on_the_way:
                gp.posterior(X[: i - 30])
                gp.mean_at_data()
                best(gp)
            gp.append(X[i].copy(), y[i])
        return *best(gp), *gp.posterior(X[::7] + 0.01), gp.mean_at_data()

    for one, other in zip(grown(True), grown(False), strict=True):
        assert_array_equal(one, other)
