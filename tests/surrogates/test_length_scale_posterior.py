"""The posterior of the length scale: against GPyTorch, Pyro's own model, SciPy's integrals."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from pyro.infer.mcmc import MCMC, NUTS
from pyro.infer.mcmc.util import initialize_model
from scipy.integrate import quad

from replibo.surrogates.exact_gp import ExactGP, standardise
from replibo.surrogates.kernels import pairwise_distances
from replibo.surrogates.length_scale_posterior import (
    LengthScalePosterior,
    NutsSamples,
    TabulatedPosterior,
    gauss_rule,
    nodes_needed,
    quadrature,
    sample_nuts,
)


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of which the second half crowds around one, as queries do, and one is repeated."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.random((n, d))
    half = n // 2
    X[half:] = np.clip(X[0] + 0.02 * rng.standard_normal((n - half, d)), 0, 1)
    if n > 3:
        X[3] = X[1]
    return X, standardise(np.sin(6 * X[:, 0]) + X.sum(axis=1) ** 2)


def posterior(n: int, d: int, noise_variance: float = 0.05, seed: int = 0) -> LengthScalePosterior:
    X, y = data(n, d, seed)
    return LengthScalePosterior(pairwise_distances(X, X), y, noise_variance)


def nuts(
    target: LengthScalePosterior, seed: int = 0, warmup: int = 100, samples: int = 100
) -> NutsSamples:
    density = TabulatedPosterior(target).log_density_and_derivative
    return sample_nuts(density, warmup=warmup, samples=samples, rng=np.random.default_rng(seed))


def pyro_model(X: np.ndarray, y: np.ndarray, noise_variance: float) -> None:
    """The model of the paper as one writes it in Pyro, with GPyTorch's kernel."""
    theta = pyro.sample("theta", dist.Gamma(torch.tensor(3.0).double(), torch.tensor(6.0).double()))
    points = torch.tensor(X)
    # Distances by differences: torch's cdist loses digits between close points.
    r = (points[:, None] - points[None]).square().sum(-1)
    r = torch.where(r > 0, r, torch.ones_like(r)).sqrt() * (r > 0)
    s = math.sqrt(5.0) * r / theta
    K = (1 + s + s**2 / 3) * torch.exp(-s) + noise_variance * torch.eye(len(X)).double()
    pyro.sample("y", dist.MultivariateNormal(torch.zeros(len(y)).double(), K), obs=torch.tensor(y))


# The table


@pytest.mark.parametrize("noise", [0.05, 1e-4])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (4, 1), (40, 1), (120, 5), (60, 20)])
def test_table_agrees_with_the_closed_form(n: int, d: int, noise: float) -> None:
    exact = posterior(n, d, noise)
    table = TabulatedPosterior(exact)
    edges = np.arange(-6.0, 4.0, table.PANEL)
    points = [*np.random.default_rng(n).uniform(-8, 4, 60), *edges, *(edges - 1e-9)]
    for z in (*points, table.lowest, table.lowest - 1e-9, table.lowest - 5.0):
        value, slope = table.log_density_and_derivative(float(z))
        expected, expected_slope = exact.log_density_and_derivative(float(z))
        assert abs(value - expected) <= 1e-8 * (1 + abs(expected))
        assert abs(slope - expected_slope) <= 1e-8 * (1 + abs(expected) + abs(expected_slope))


def test_table_stands_wherever_nuts_may_step() -> None:
    table = TabulatedPosterior(posterior(10, 2))
    mode = max(table.log_density_and_derivative(z)[0] for z in np.linspace(-4, 1, 40))
    for z in (-1e10, -300.0, 5.0, 700.1, 1e10, math.inf):
        value, slope = table.log_density_and_derivative(z)
        assert value < mode - 500
        assert slope > 0 if z < 0 else slope < 0
    assert all(math.isnan(v) for v in table.log_density_and_derivative(math.nan))


def test_table_of_repeated_points_only_is_constant() -> None:
    X = np.full((6, 2), 0.3)
    exact = LengthScalePosterior(pairwise_distances(X, X), np.arange(6.0) - 2.5, 1e-4)
    table = TabulatedPosterior(exact)
    for z in (-9.0, 0.0, 3.0):
        value, slope = table.log_density_and_derivative(z)
        assert_allclose(value, exact.log_density(z), rtol=1e-10)
        assert_allclose(slope, 3.0 - 6.0 * math.exp(z), rtol=1e-12)


def test_table_evaluates_far_less_often_than_nuts() -> None:
    target = posterior(40, 4)
    evaluations = 0
    exact = target.log_likelihood

    def counted(z: float) -> float:
        nonlocal evaluations
        evaluations += 1
        return exact(z)

    target.log_likelihood = counted  # type: ignore[method-assign]
    assert nuts(target).evaluations > 2 * evaluations > 0


# Quadrature


@pytest.mark.parametrize("noise", [0.05, 1e-4])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (10, 5), (60, 1), (150, 4)])
def test_quadrature_agrees_with_scipys_integrals(n: int, d: int, noise: float) -> None:
    target = posterior(n, d, noise)
    result = quadrature(target.log_density)
    grid = np.linspace(math.log(1e-5), math.log(12), 700)
    values = [target.log_density(z) for z in grid]
    top, peak = max(values), grid[int(np.argmax(values))]

    def moment(power: int) -> float:
        def integrand(z: float) -> float:
            return math.exp(power * z + target.log_density(z) - top)

        ends = (grid[0], peak - 1.0, peak - 0.1, peak + 0.1, peak + 1.0, grid[-1])
        return sum(quad(integrand, *part, epsrel=1e-6, epsabs=1e-9)[0] for part in pairwise(ends))

    total = moment(0)
    mean = moment(1) / total
    sd = math.sqrt(moment(2) / total - mean**2)
    assert_allclose(result.mean, mean, rtol=1e-4)
    assert_allclose(result.sd, sd, rtol=1e-4)
    assert_allclose(result.weights.sum(), 1.0, rtol=1e-12)
    assert len(result.z) == 32


def test_quadrature_without_data_is_the_prior() -> None:
    empty = LengthScalePosterior(np.empty((0, 0)), np.empty(0), 0.05)
    result = quadrature(empty.log_density)
    assert_allclose(result.mean, 0.5, rtol=1e-6)
    assert_allclose(result.sd, math.sqrt(3) / 6, rtol=1e-6)


# NUTS


def assert_within_monte_carlo_error(
    samples: NutsSamples, target: LengthScalePosterior, least_ess: float
) -> None:
    """Mean and sd of θ within four standard errors, from the effective sample size."""
    exact = quadrature(target.log_density)
    theta = np.exp(samples.z)
    ess = samples.effective_sample_size
    assert ess > least_ess
    assert abs(theta.mean() - exact.mean) < 4 * exact.sd / math.sqrt(ess)
    deviations = (np.exp(exact.z) - exact.mean) ** 2
    spread = math.sqrt(float(exact.weights @ (deviations - exact.sd**2) ** 2) / ess)
    assert abs(theta.std() - exact.sd) < 4 * spread / (2 * exact.sd)


@pytest.mark.parametrize(("n", "d", "noise"), [(5, 1, 0.05), (20, 2, 1e-4)])
def test_nuts_agrees_with_quadrature(n: int, d: int, noise: float) -> None:
    target = posterior(n, d, noise)
    samples = nuts(target, seed=n, warmup=200, samples=500)
    assert_within_monte_carlo_error(samples, target, least_ess=75)
    assert 0.5 < samples.acceptance_rate <= 1.0
    assert samples.step_size > 0
    # The tolerance can fail: it tells this posterior from the prior.
    with pytest.raises(AssertionError):
        prior = LengthScalePosterior(np.empty((0, 0)), np.empty(0), noise)
        assert_within_monte_carlo_error(samples, prior, least_ess=75)


def test_chain_is_pyros_own_on_the_model_written_in_pyro() -> None:
    X, y = data(12, 2)
    target = LengthScalePosterior(pairwise_distances(X, X), y, 0.05)
    ours = nuts(target, seed=3, warmup=30, samples=30)
    rng = np.random.default_rng(3)
    start = torch.tensor(rng.uniform(-2.0, 2.0), dtype=torch.double)
    _, potential, _, _ = initialize_model(pyro_model, (X, y, 0.05))
    torch.manual_seed(int(rng.integers(2**63)))
    mcmc = MCMC(
        NUTS(potential_fn=lambda z: potential({"theta": z["z"]})),
        num_samples=30,
        warmup_steps=30,
        initial_params={"z": start},
        disable_progbar=True,
    )
    mcmc.run()
    assert_allclose(ours.z, mcmc.get_samples()["z"].numpy(), rtol=0, atol=1e-6)


# Expectations


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_gauss_rule_is_exact_for_polynomials(count: int) -> None:
    rng = np.random.default_rng(count)
    z = np.repeat(rng.normal(-1.0, 0.4, 60), rng.integers(1, 4, 60))
    nodes, weights = gauss_rule(z, count)
    assert len(nodes) == count and np.all(weights > 0)
    assert z.min() < nodes.min() and nodes.max() < z.max()
    x, at = (z + 1.0) / 2.0, (nodes + 1.0) / 2.0
    for degree in range(2 * count):
        assert_allclose(weights @ at**degree, np.mean(x**degree), rtol=1e-9, atol=1e-13)


def test_gauss_rule_of_samples_that_coincide_or_nearly_do() -> None:
    nodes, weights = gauss_rule(np.array([0.5, -1.0, 0.5, 0.5]), 3)
    assert_array_equal([nodes, weights], [[-1.0, 0.5], [0.25, 0.75]])
    assert nodes_needed(np.full(8, -0.7), 5, 1e-6) == 1
    z = np.concatenate([np.full(5, -1.0) + 1e-15 * np.arange(5), 0.5 + 1e-15 * np.arange(9)])
    nodes, weights = gauss_rule(z, 4)
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    for h in (np.exp, np.cos):
        assert_allclose(weights @ h(nodes), h(z).mean(), rtol=1e-12)


@pytest.mark.parametrize("noise", [0.05, 1e-4])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (10, 5), (60, 4), (40, 20)])
def test_expectation_by_nodes_is_the_mean_over_the_samples(n: int, d: int, noise: float) -> None:
    X, y = data(n, d)
    distances = pairwise_distances(X, X)
    target = LengthScalePosterior(distances, y, noise)
    z = nuts(target, seed=n).z
    # At the data too, where the variance comes close to 0.
    cross = pairwise_distances(X, np.vstack([np.random.default_rng(1).random((200, d)), X]))

    def expectation(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        total = np.zeros((3, cross.shape[1]))
        for node, weight in zip(z, weights, strict=True):
            mean, variance = ExactGP(distances, math.exp(node), noise).posterior(y, cross)
            total += weight * np.array([mean, variance, np.sqrt(variance)])
        return total

    direct = expectation(z, np.full(len(z), 1 / len(z)))
    count = nodes_needed(z, d, 1e-6)
    assert count < 60
    assert np.abs(expectation(*gauss_rule(z, count)) - direct).max() < 1e-6
    # Fewer nodes than that are seen to be too few.
    assert np.abs(expectation(*gauss_rule(z, 1)) - direct).max() > 1e-6
