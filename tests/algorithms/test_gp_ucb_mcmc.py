"""GP-UCB with a fully Bayesian length scale, against slow computations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models.deterministic import GenericDeterministicModel
from botorch.optim import optimize_acqf
from numpy.testing import assert_allclose, assert_array_equal

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ucb_mcmc import GpUcbMcmc
from replibo.streams import RunStreams
from replibo.surrogates.length_scale_posterior import sample_nuts

from .conftest import dense_posterior, history, on_pool, small_pool

STREAMS = RunStreams("lb_gp_ucb", "a problem", "mcmc", 0)
NUMBERS: dict[str, Any] = {"warmup": 30, "samples": 40}


def log_density(past: History, z: float, noise: float) -> tuple[float, float]:
    """Of log θ, up to a constant, and its derivative."""
    y = (past.y - past.y.mean()) / past.y.std(ddof=1)
    s = math.sqrt(5) * np.linalg.norm(past.X[:, None] - past.X[None], axis=-1) / math.exp(z)
    K = (1 + s + s**2 / 3) * np.exp(-s) + noise * np.eye(len(y))
    slope = s**2 * (1 + s) * np.exp(-s) / 3
    alpha = np.linalg.solve(K, y)
    fit = -0.5 * y @ alpha - 0.5 * np.linalg.slogdet(K)[1]
    d_fit = 0.5 * alpha @ slope @ alpha - 0.5 * np.trace(np.linalg.solve(K, slope))
    return float(fit + 3 * z - 6 * math.exp(z)), float(d_fit + 3 - 6 * math.exp(z))


def slow_samples(past: History, noise: float, warmup: int, samples: int) -> np.ndarray:
    """θ_1, …, θ_S of the same random stream, from the density itself."""

    def value_and_slope(z: float) -> tuple[float, float]:
        if not -40 < z < 5:
            return (3 * z, 3.0) if z < 0 else (-6 * math.exp(min(z, 600)), -math.inf)
        return log_density(past, z, noise)

    rng = STREAMS.algorithm_at(len(past))
    return np.exp(sample_nuts(value_and_slope, warmup=warmup, samples=samples, rng=rng).z)


def direct_acquisition(
    past: History,
    points: np.ndarray,
    thetas: np.ndarray,
    *,
    noise: float,
    beta: float,
    average: str = "ucb",
) -> np.ndarray:
    # as released, a variance is where a deviation should be
    power = {"ucb": 1, "variance": 2}[average]
    moments = [dense_posterior(past, theta, points, noise) for theta in thetas]
    return np.mean([mean + beta * sd**power for mean, sd in moments], axis=0)


def pool_history(n: int = 12, seed: int = 0) -> tuple[Space, History]:
    pool, f = small_pool(80, seed=seed)
    rows = np.random.default_rng(seed).integers(80, size=n)  # rows may come twice
    return Space(3, candidates=pool), on_pool(pool, f, rows, n_initial=5)


@pytest.mark.parametrize("average", ["ucb", "variance"])
@pytest.mark.parametrize(("seed", "noise", "beta"), [(6, 0.05, 1.0), (5, 1e-3, 0.3)])
def test_ask_on_a_pool_is_the_direct_computation(
    seed: int, noise: float, beta: float, average: Any
) -> None:
    space, past = pool_history(seed=seed)
    algorithm = GpUcbMcmc(
        space, STREAMS, beta=beta, noise_variance=noise, average=average, **NUMBERS
    )
    proposal = algorithm.ask(past, 1)
    thetas = slow_samples(past, noise, **NUMBERS)
    assert space.candidates is not None
    direct = direct_acquisition(
        past, space.candidates, thetas, noise=noise, beta=beta, average=average
    )
    best, second = np.sort(direct)[::-1][:2]
    assert best - second > 1e-3  # so that the maximiser is beyond doubt
    assert proposal.candidate == np.argmax(direct)
    assert_array_equal(proposal.x, space.candidates[proposal.candidate])
    # Leapfrog steps are chaotic: the rounding of the table grows along the chain.
    assert_allclose(proposal.diagnostics["length_scale"], thetas.mean(), rtol=5e-4)
    assert_allclose(proposal.diagnostics["length_scale_sd"], thetas.std(), rtol=5e-4)


@pytest.mark.parametrize("average", ["ucb", "variance"])
def test_ask_in_one_dimension_finds_the_maximum_of_a_dense_grid(average: Any) -> None:
    past = history(6, 1, 3)
    proposal = GpUcbMcmc(Space(1), STREAMS, average=average, **NUMBERS).ask(past, 1)
    thetas = slow_samples(past, 0.05, **NUMBERS)
    grid = np.linspace(0, 1, 2001)[:, None]
    points = np.vstack([proposal.x, grid])
    values = direct_acquisition(past, points, thetas, noise=0.05, beta=1.0, average=average)
    assert values[0] >= values[1:].max() - 1e-5
    assert proposal.candidate == -1


@pytest.mark.parametrize("average", ["ucb", "variance"])
@pytest.mark.parametrize(("n", "seed"), [(10, 0), (25, 1)])
def test_ask_on_a_cube_finds_what_botorch_finds(n: int, seed: int, average: Any) -> None:
    past = history(n, 5, 3, seed)
    proposal = GpUcbMcmc(Space(5), STREAMS, average=average, **NUMBERS).ask(past, 1)
    thetas = torch.tensor(slow_samples(past, 0.05, **NUMBERS))[:, None, None]
    X = torch.tensor(past.X.copy())
    y = torch.tensor((past.y - past.y.mean()) / past.y.std(ddof=1))

    def batch_kernel(A: torch.Tensor) -> torch.Tensor:
        """S x a x n, against the data."""
        squared = (A[:, None] - X[None]).square().sum(-1)
        r = torch.where(squared > 0, squared, torch.ones(()).double()).sqrt() * (squared > 0)
        s = math.sqrt(5.0) * r / thetas
        return (1 + s + s**2 / 3) * torch.exp(-s)

    inverse = torch.linalg.inv(batch_kernel(X) + 0.05 * torch.eye(n, dtype=torch.double))

    class ExpectedUcb(AcquisitionFunction):
        def forward(self, points: torch.Tensor) -> torch.Tensor:
            cross = batch_kernel(points.squeeze(-2))
            mean = cross @ inverse @ y
            variance = 1 - ((cross @ inverse) * cross).sum(-1)
            if average == "ucb":
                return (mean + variance.sqrt()).mean(0)
            return mean.mean(0) + variance.mean(0)

    acquisition = ExpectedUcb(GenericDeterministicModel(lambda x: x))
    torch.manual_seed(seed)
    bounds = torch.tensor([[0.0] * 5, [1.0] * 5], dtype=torch.double)
    _, theirs = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    ours = acquisition(torch.tensor(proposal.x)[None, None])
    assert ours.item() >= theirs.item() - 1e-3
    assert proposal.x.min() >= 0 and proposal.x.max() <= 1


def test_diagnostics_agree_with_quadrature_and_are_the_declared_ones() -> None:
    space, past = pool_history(20)
    numbers = GpUcbMcmc(space, STREAMS).ask(past, 1).diagnostics  # as the paper runs it
    assert list(numbers) == list(GpUcbMcmc.diagnostics)
    assert all(math.isfinite(value) for value in numbers.values())
    error = abs(numbers["length_scale"] - numbers["length_scale_quadrature"])
    sd = numbers["length_scale_sd_quadrature"]
    assert error < 4 * sd / math.sqrt(numbers["effective_sample_size"]) < 2 * sd
    assert 1 <= numbers["nodes"] < 100
    z = np.linspace(-6, 2, 4001)
    density = np.exp([log_density(past, value, 0.05)[0] for value in z])
    mean = float(density @ np.exp(z) / density.sum())
    assert_allclose(numbers["length_scale_quadrature"], mean, rtol=1e-4)
