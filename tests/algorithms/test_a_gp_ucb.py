"""A-GP-UCB's schedule in closed form, and the oracle with its length scale."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replibo.algorithms.a_gp_ucb import AGpUcb
from replibo.algorithms.base import History, Space
from replibo.algorithms.oracle import Oracle
from replibo.config import claims, load
from replibo.problems.berkenkamp import Berkenkamp
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.problems.michalewicz import Michalewicz5
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import KERNELS, KernelName, pairwise_distances
from replibo.surrogates.length_scale_fit import fit_length_scale

from .conftest import dense_posterior, on_pool, run_on_pool, small_pool
from .optimal_length_scale import RELEASED_OPTIMAL_LENGTH_SCALES, estimate_optimal_length_scale

STREAMS = RunStreams("lb_gp_ucb", "agnp", "a_gp_ucb", 0)
history_of = functools.partial(on_pool, n_initial=6)
run = functools.partial(run_on_pool, n_initial=6)


def argmax_of_ucb(
    history: History,
    pool: np.ndarray,
    length_scale: float,
    beta: float,
    noise_seen: float = 0.0,
    kernel: KernelName = "matern52",
) -> int:
    mean, sd = dense_posterior(history, length_scale, pool, kernel=kernel)
    return int(np.argmax(mean + beta * np.sqrt(sd**2 + noise_seen)))


@pytest.mark.parametrize(
    ("d", "t0", "a"), [(1, "released", 0.25), (4, "printed", 0.5), (4, "released", 0.75)]
)
@pytest.mark.parametrize(
    ("beta", "sigma", "noise_seen"),
    [(1.0, "predictive", 1e-4), (0.0, "latent", 0.0), (50.0, "latent", 0.0)],
)
def test_schedule_in_closed_form(
    d: int, t0: str, a: float, beta: float, sigma: str, noise_seen: float
) -> None:
    pool, f = small_pool(50, d)
    settings: Any = {"growth_exponent": a, "t0": t0, "beta": beta, "sigma": sigma}
    algorithm = AGpUcb(Space(d, candidates=pool), STREAMS, **settings)
    history, proposals = run(algorithm, pool, f, 30)
    X = history.X[:6]
    theta0 = fit_length_scale(
        pairwise_distances(X, X), standardise(history.y[:6]), 1e-4
    ).length_scale
    least = math.exp(5 / (d + 5)) if t0 == "released" else math.exp(5 / d)
    t = np.arange(1, 31)
    assert_allclose(
        [p.diagnostics["length_scale"] for p in proposals],
        theta0 / np.maximum(least, t**a),
        rtol=1e-12,
    )
    assert {p.diagnostics["theta0"] for p in proposals} == {theta0}
    for n, proposal in enumerate(proposals, start=6):
        past = history_of(pool, f, history.candidate[:n])
        length_scale = proposal.diagnostics["length_scale"]
        assert proposal.candidate == argmax_of_ucb(past, pool, length_scale, beta, noise_seen)


@pytest.mark.parametrize(("growth", "kernel"), [(0.0, "matern52"), (0.5, "matern52"), (0.0, "rbf")])
def test_beta_of_the_theory(growth: float, kernel: KernelName) -> None:
    """b(t) g(t)^(d/2) N + σ_N √(2(γ + 1 + ln(2/δ))), by NumPy's log-determinant."""
    pool, f = small_pool(50, 2)
    algorithm = AGpUcb(
        Space(2, candidates=pool),
        STREAMS,
        beta=None,
        kernel=kernel,
        norm=1.5,
        norm_growth_exponent=growth,
    )
    history, proposals = run(algorithm, pool, f, 12)
    for t, proposal in enumerate(proposals, start=1):
        X = history.X[: 5 + t]
        theta = proposal.diagnostics["length_scale"]
        K = KERNELS[kernel].value(pairwise_distances(X, X), theta)
        gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + 1e4 * K)[1]
        g = max(math.exp(5 / 2), math.sqrt(t))  # the printed t0
        expected = max(1.0, t**growth) * g * 1.5
        expected += 0.01 * math.sqrt(2 * (gain + 1 + math.log(200)))
        assert proposal.diagnostics["beta"] == pytest.approx(expected, rel=1e-9)
        past = history_of(pool, f, history.candidate[: 5 + t])
        assert proposal.candidate == argmax_of_ucb(past, pool, theta, expected, kernel=kernel)


# The oracle


def test_oracle_keeps_its_length_scale() -> None:
    pool, f = small_pool(50, 5)
    by_problem = {"agnp": 0.1056, "crossed_barrel": 0.1309}
    algorithm = Oracle(Space(5, candidates=pool), STREAMS, length_scale=by_problem)
    history, proposals = run(algorithm, pool, f, 10)
    for n, proposal in enumerate(proposals, start=6):
        assert proposal.diagnostics["length_scale"] == 0.1056
        past = history_of(pool, f, history.candidate[:n])
        assert proposal.candidate == argmax_of_ucb(past, pool, 0.1056, 1.0)
    same = Oracle(Space(5, candidates=pool), STREAMS, length_scale=0.1056)
    assert_array_equal(run(same, pool, f, 10)[0].candidate, history.candidate)


# θ̂*


def test_the_configs_oracle_is_given_the_released_length_scales() -> None:
    oracle = load.load().paper("lb_gp_ucb").algorithms["oracle"]
    assert oracle.parameters["length_scale"] == RELEASED_OPTIMAL_LENGTH_SCALES


def test_the_readings_of_the_optimal_length_scale_are_the_recipe_s_own() -> None:
    """Twenty estimates by the released code's sampler: median, smallest and largest, in the claims about θ̂*."""
    estimates = [estimate_optimal_length_scale(Michalewicz5(), seed=seed) for seed in range(20)]
    expected = {
        "median": np.median(estimates),
        "smallest": min(estimates),
        "largest": max(estimates),
    }
    claims_of_paper = claims.load(load.load(), "lb_gp_ucb")
    for name in ("lb_gp_ucb_2", "lb_gp_ucb_2_sides", "lb_gp_ucb_4_around"):
        for statistic, value in expected.items():
            options = claims_of_paper[name].readings[f"theta_{statistic}"].options
            assert options == {"optimal_length_scale": pytest.approx(value, rel=0.005)}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("task", "file"),
    [(CrossedBarrel, "Crossed barrel_dataset.csv"), (AgNP, "AgNP_dataset.csv")],
)
def test_optimal_length_scale_is_the_released_codes(task: Any, file: str) -> None:
    mirror = Path(os.environ["REPLIBO_DATA_MIRROR"])
    problem = task(data={task.data_name: mirror / "materials" / file})
    released = RELEASED_OPTIMAL_LENGTH_SCALES[task.data_name]
    assert estimate_optimal_length_scale(problem) == pytest.approx(released, abs=5e-5)


@pytest.mark.parametrize(
    ("problem", "seed", "rel"),
    # the released code takes [0, 3.14] for Michalewicz's [0, π], which gives 0.035411
    [(Berkenkamp(), 0, 1e-3), (Michalewicz5(), 1, 5e-3)],
)
def test_the_released_optimal_length_scale_is_one_draw(problem: Any, seed: int, rel: float) -> None:
    released = RELEASED_OPTIMAL_LENGTH_SCALES[type(problem).__name__.lower()]
    assert estimate_optimal_length_scale(problem, seed=seed) == pytest.approx(released, rel=rel)
