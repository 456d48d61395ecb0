"""UCB with the balancing coefficients of Bayesian bilevel optimisation (Fu et al. 2024, Theorem 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from replibo.algorithms.base import History, Space
from replibo.algorithms.parts.acquisition_functions import upper_confidence_bound
from replibo.algorithms.parts.gp_sampled import GpSampled, Scores
from replibo.errors import allowed
from replibo.problems.base import Array
from replibo.settings import Count, NonNegative, SettingError
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression


class BboUcb(GpSampled):
    """Algorithm 2 of Fu et al. (2024) with the β_t of its Theorem 4: the largest μ(x) + β_t σ(x).

    (The paper minimises the loss: -μ + β_t σ in eq. 3.2. Here μ is of minus the loss.) Theorem 4 has

        β_t = √(B² + σ⁻² t φ²(N) N⁻¹),   φ(N) = O(log^{3/2} N) by Theorem 1,

    with the noise variance σ² and φ's constants unknown (they hold the loss's Lipschitz constant K, its
    bound M, and δ). They are one number here:

        β_t = √(B² + c t N⁻¹ log³ N).

    t is the round of the query that is chosen (β_{t+1} in Algorithm 2, line 7), counted from 1. The
    paper counts its first training as λ_0, so that β is one round further on here. `GpUcb` with the
    constant ``beta`` = B², whose root it takes, is the case c = 0.

    Args:
        iterations: N, the SGD iterations of the inner level; one number, or one for each problem by its
            name in the config.
        norm_bound: B ≥ 0, the bound on the norm of the loss in the kernel's space, in units of the
            standardised y (unknown too). The default makes β_t tend to the constant 1.96 as N grows.
        factor: c ≥ 0, in units of the standardised y, squared.
        settings: of `replibo.algorithms.parts.gp_sampled`.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        **GpSampled.diagnostics,
        "beta": "β_t, the factor of the standard deviation itself",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        iterations: Count | Mapping[str, Count],
        norm_bound: NonNegative = 1.96,
        factor: NonNegative = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        if isinstance(iterations, Mapping):
            if streams.problem not in iterations:
                raise SettingError(
                    "iterations", f"must hold {streams.problem}, got {allowed(iterations)}"
                )
            iterations = iterations[streams.problem]
        self.iterations, self.norm_bound, self.factor = iterations, norm_bound, factor

    def beta_at(self, t: int) -> float:
        """β_t, the factor of σ, at the round ``t`` = 1, 2, …"""
        growth = t * math.log(self.iterations) ** 3 / self.iterations
        return math.sqrt(self.norm_bound**2 + self.factor * growth)

    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        beta = self.beta_at(t)
        mean, sd = gp.posterior(X)
        return Scores(upper_confidence_bound(mean, sd, beta**2), mean, sd, {"beta": beta})
