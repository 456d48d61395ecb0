"""BoTorch's baselines beside ours: the same model, the same acquisition functions, better maximisers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from replibo.algorithms.base import Space
from replibo.algorithms.gp_botorch import GpBotorch, GpEiBotorch, GpUcbBotorch
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.gp_ucb import GpUcb, srinivas_beta
from replibo.algorithms.parts.acquisition_functions import (
    log_expected_improvement,
    upper_confidence_bound,
)
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.gp_sampled import GpSampled
from replibo.streams import RunStreams

from .conftest import history

STREAMS = RunStreams("neuralbo", "toy", "gp_botorch", 0)
PAIRS: list[Any] = [
    pytest.param(GpUcbBotorch, GpUcb, {}, id="ucb"),
    pytest.param(GpUcbBotorch, GpUcb, {"beta": 4.0}, id="ucb_constant"),
    pytest.param(GpEiBotorch, GpEi, {}, id="ei"),
]


def ours(algorithm: type[GpSampled], d: int, **settings: Any) -> GpSampled:
    """Ours with BoTorch's start of the fit."""
    return algorithm(Space(d), STREAMS, length_scale_start="single", **settings)


@pytest.mark.parametrize(("theirs", "baseline", "settings"), PAIRS)
@pytest.mark.parametrize("d", [2, 5])
def test_the_acquisition_is_ours_and_better_maximised(
    theirs: type[GpBotorch], baseline: type[GpSampled], settings: dict[str, Any], d: int
) -> None:
    past = history(29, d, 24, noise_std=0.2)  # fitted to 28, and one more
    botorch = theirs(Space(d), STREAMS, **settings)
    model, fitted_on = botorch.model(past)
    gp = ours(baseline, d, **settings).surrogate(past)
    assert fitted_on == gp.fitted_at == 28
    ell = model.covar_module.base_kernel.lengthscale.item()
    h = gp.fitted.hyperparameters
    assert ell == pytest.approx(h.length_scale, rel=1e-2)
    assert model.likelihood.noise.item() == pytest.approx(h.noise_variance, rel=5e-2)

    X, _ = Candidates(Space(d), STREAMS, count=512, local_fraction=0.5).draw(past)
    acquisition = botorch.acquisition(model, 5)
    with torch.no_grad():
        at_candidates = acquisition(torch.tensor(X)[:, None]).numpy()
    if baseline is GpUcb:
        beta = settings.get("beta") or srinivas_beta(5, d, ell, 0.05)
        score = partial(upper_confidence_bound, beta=beta)
    else:
        score = partial(log_expected_improvement, best=float(np.max(gp.observed())), xi=0.01)
    expected = score(*gp.posterior(X))
    good = expected > np.quantile(expected, 0.5)  # log EI of hopeless points multiplies all errors
    assert_allclose(at_candidates[good], expected[good], rtol=0.02, atol=0.02)

    proposal = botorch.ask(past, 5)
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    assert proposal.diagnostics["acquisition"] >= at_candidates.max() - 1e-9
    mean, sd = gp.posterior(proposal.x[None])
    assert proposal.diagnostics["acquisition"] == pytest.approx(float(score(mean, sd)[0]), abs=0.02)
