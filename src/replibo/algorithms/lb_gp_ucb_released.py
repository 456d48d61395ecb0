"""LB-GP-UCB as its released code runs it, after repairs without which it stops (Ziomek, Adachi and
Osborne 2024)."""

from __future__ import annotations

from typing import Any, Literal

from replibo.algorithms.base import Space
from replibo.algorithms.lb_gp_ucb import LbGpUcb
from replibo.algorithms.parts.acquisition import Sigma
from replibo.algorithms.parts.information_gain import Rate
from replibo.algorithms.parts.length_scale_range import CandidateRatio
from replibo.settings import NonNegative
from replibo.streams import RunStreams


class LbGpUcbReleased(LbGpUcb):
    """LB-GP-UCB as the repaired released code runs it, except β: `LbGpUcb` with other settings.

    It departs from Algorithm 1 in seven points. The candidates lie closer. They are added by another
    rule (``extension``). R^θ takes the RBF kernel's γ and no norm. β = 1.000355 (Theorem 4.1 with
    σ_N = 1e-4 and no information gain) multiplies the predictive σ. Eliminations take once the mean
    β σ, with σ at un-normalised coordinates. On their left side √ξ has a plus, as in the proof of
    Lemma B.2. For them y is standardised by the observations before the round. The factor 0.01 of its
    R^θ makes no difference.

    One thing is not followed. The released β has an information gain, which makes it 1.0004 to
    1.0007 on the pools. It rests on a Cholesky factor without noise, which can break off where
    points are asked again. With that β put in, the queries on the pools are the release's.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        noise_std: NonNegative | None = 1e-4,
        candidate_ratio: CandidateRatio = "released",
        extension: Literal["printed", "released"] = "released",
        gamma: Rate = "rbf",
        norm_bound: Literal["printed", "released"] = "released",
        beta: NonNegative | None = 1.000355,
        sigma: Sigma = "predictive",
        width: NonNegative = 1.0,
        width_sd: Literal["posterior", "raw_x"] = "raw_x",
        xi_sign: Literal["printed", "proof"] = "proof",
        elimination_scale: Literal["now", "round_start"] = "round_start",
        **settings: Any,
    ) -> None:
        super().__init__(
            space,
            streams,
            noise_std=noise_std,
            candidate_ratio=candidate_ratio,
            extension=extension,
            gamma=gamma,
            norm_bound=norm_bound,
            beta=beta,
            sigma=sigma,
            width=width,
            width_sd=width_sd,
            xi_sign=xi_sign,
            elimination_scale=elimination_scale,
            **settings,
        )
