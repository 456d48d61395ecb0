"""GP-UCB with the length scale of maximum likelihood, against BoTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models.transforms.outcome import Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ucb_mle import GpUcbMle
from replibo.streams import RunStreams
from replibo.surrogates.kernels import KernelName

from ..surrogates.reference import botorch_model
from .conftest import on_pool, small_pool

STREAMS = RunStreams("lb_gp_ucb", "pool", "mle", 0)


def botorch_ucb(
    history: History, pool: np.ndarray, beta: float, kernel: KernelName
) -> tuple[np.ndarray, float]:
    """The UCB on the pool and the length scale, by BoTorch's own fit and acquisition function."""
    y = Standardize(m=1)(torch.tensor(history.y.copy())[:, None])[0][:, 0].numpy()
    model = botorch_model(history.X.copy(), y, kernel=kernel)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        values = UpperConfidenceBound(model, beta=beta**2)(torch.tensor(pool)[:, None, :]).numpy()
    return values, model.covar_module.lengthscale.item()


@pytest.mark.parametrize(
    ("seed", "kernel"), [*((seed, "matern52") for seed in range(6)), (1, "rbf")]
)
def test_proposal_is_botorchs(seed: int, kernel: KernelName) -> None:
    rng = np.random.default_rng(seed)
    pool, f = small_pool(m=300, seed=seed)
    rows = rng.choice(20, size=rng.integers(4, 40))  # with repeated points
    history = on_pool(pool, f, rows)
    beta = (0.5, 1.0, 3.0)[seed % 3]
    algorithm = GpUcbMle(Space(3, candidates=pool), STREAMS, beta=beta, kernel=kernel)
    proposal = algorithm.ask(history, 1)
    values, length_scale = botorch_ucb(history, pool, beta, kernel)
    assert proposal.diagnostics["length_scale"] == pytest.approx(length_scale, rel=1e-6)
    assert proposal.candidate == values.argmax()


def test_multi_start_reports_what_the_single_start_finds() -> None:
    pool, f = small_pool()
    history = on_pool(pool, f, range(15))
    single, multi = (
        GpUcbMle(Space(3, candidates=pool), STREAMS, length_scale_start=start)
        .ask(history, 1)
        .diagnostics
        for start in ("single", "multi")
    )
    assert multi["length_scale_single_start"] == pytest.approx(single["length_scale"], rel=1e-4)
    assert multi["log_marginal_likelihood"] >= single["log_marginal_likelihood"] - 1e-6
    assert multi["fit_evaluations"] > single["fit_evaluations"]
