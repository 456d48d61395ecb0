"""Other readings of the methods of the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024).

BoTorch searches for the maximum of the UCB; t0 is the smallest that gives five candidates; ξ_t is that of
Theorem 4.1 word for word; the oracle has the theory's β.

They are classes apart, so that the runs of the methods as printed remain those of the code as it is.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from replibo.algorithms.a_gp_ucb import AGpUcb
from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.gp_ucb_mle import GpUcbMle
from replibo.algorithms.lb_gp_ucb import LbGpUcb
from replibo.algorithms.oracle import Oracle
from replibo.algorithms.parts.acquisition import Sigma, UcbMaximiser
from replibo.algorithms.parts.botorch_search import BotorchUcbMaximiser
from replibo.algorithms.parts.information_gain import scaled_norm, theoretical_beta
from replibo.algorithms.parts.length_scale_range import (
    CANDIDATES_AT_START,
    THETA0_DIAGNOSTICS,
    Growth,
    fit_theta0,
    log_candidate_ratio,
    theta0_diagnostics,
)
from replibo.settings import NonNegative, Positive, Probability
from replibo.streams import RunStreams
from replibo.surrogates.kernels import KernelName
from replibo.surrogates.length_scale_fit import LOWER_BOUND


class BotorchSearch(Algorithm):
    """Before an algorithm of this paper among the bases: the algorithm with `BotorchUcbMaximiser`, which
    draws its own starts (``best_observed`` of `GpUcbMle` has no part in them)."""

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        noise_variance: NonNegative = 1e-4,
        sigma: Sigma = "latent",
        kernel: KernelName = "matern52",
        **settings: Any,
    ) -> None:
        of_gp: dict[str, Any] = {"sigma": sigma, "kernel": kernel}
        super().__init__(space, streams, noise_variance=noise_variance, **of_gp, **settings)  # type: ignore[call-arg]
        self._maximiser: UcbMaximiser = BotorchUcbMaximiser(space, noise_variance, **of_gp)


class AGpUcbBotorchSearch(BotorchSearch, AGpUcb):
    """`AGpUcb` with `BotorchUcbMaximiser`."""


class GpUcbMleBotorchSearch(BotorchSearch, GpUcbMle):
    """`GpUcbMle` with `BotorchUcbMaximiser`."""


class LbGpUcbBotorchSearch(BotorchSearch, LbGpUcb):
    """`LbGpUcb` with `BotorchUcbMaximiser`."""


def smallest_growth(dim: int, exponent: float) -> Growth:
    """g with t0 = θ0/q(4) = e^(4/d), the smallest t0 with which q(0), …, q(4) exist at t = 1.

    The candidates are those of Definition 3.1. (`Growth.for_candidates` takes θ0/q(5).)"""
    log_t0 = (CANDIDATES_AT_START - 1) * log_candidate_ratio("printed", dim)
    return Growth(math.exp(log_t0), exponent)


class AGpUcbSmallestT0(AGpUcb):
    """`AGpUcb` with the g of `smallest_growth`."""

    def __init__(self, space: Space, streams: RunStreams, **settings: Any) -> None:
        super().__init__(space, streams, **settings)
        self.growth = smallest_growth(space.dim, self.growth.exponent)


class LbGpUcbSmallestT0(LbGpUcb):
    """`LbGpUcb` with the g of `smallest_growth`: it starts with five candidates, and none follows at
    once."""

    def __init__(self, space: Space, streams: RunStreams, **settings: Any) -> None:
        super().__init__(space, streams, **settings)
        self.growth = smallest_growth(space.dim, self.growth.exponent)


class LbGpUcbPrintedXi(LbGpUcb):
    """`LbGpUcb` with the ξ_t that Theorem 4.1 prints, 2σ_N² ln(d ln g(t) π² t²) - ln 3δ.

    The last term does not shrink with σ_N, as that of Lemma B.5 does (`balancing.lemma_b5_xi`). With
    minus on both sides of line 12 a candidate that was seldom played is then eliminated sooner.
    """

    def _xi(self, t: int) -> float:
        log_of_rounds = self._log_count(t) + 2 * math.log(math.pi * t)
        return 2 * self.noise_std**2 * log_of_rounds - math.log(3 * self.delta)


class OracleTheory(Oracle):
    """`Oracle` with the β that LB-GP-UCB takes for a candidate θ̂*, β = B + σ_N √(2(γ + 1 + ln(2/δ))).

    That is β of Theorem 4.1, with B = (θ0/θ̂*)^(d/2) N (section 2). θ0 is fitted to the initial points as
    LB-GP-UCB does it. γ is the information gain of the visited points.

    Args:
        delta: δ.
        norm: N, the bound of the function's norm at θ0, in units of the standardised y.
        settings: of `Oracle`.
    """

    diagnostics: ClassVar[dict[str, str]] = {**Oracle.diagnostics, **THETA0_DIAGNOSTICS}

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        delta: Probability = 0.01,
        norm: Positive = 1.0,
        noise_variance: NonNegative = 1e-4,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, noise_variance=noise_variance, **settings)
        self.delta, self.norm, self.noise_variance = delta, norm, noise_variance

    def ask(self, history: History, t: int) -> Proposal:
        fit = fit_theta0(history, self.noise_variance, "single", LOWER_BOUND, "matern52")
        bound = scaled_norm(self.norm, fit.length_scale, self.length_scale, self.space.dim)
        gain = self._maximiser.information_gain(history, self.length_scale)
        self.beta = theoretical_beta(bound, math.sqrt(self.noise_variance), self.delta, gain)
        proposal = super().ask(history, t)
        return Proposal(
            proposal.x,
            proposal.candidate,
            {**proposal.diagnostics, **theta0_diagnostics(fit)},
        )
