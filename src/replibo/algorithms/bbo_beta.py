"""UCB with a fixed kernel (Fu et al. 2024, section 3.2.2) and two of section 4.2.2's coefficients:
Theorem 4's and Chowdhury and Gopalan's (2017). `GpUcbFixed` without a ``beta`` has Theorem 2's of
Srinivas et al. (2010), not the one that section 4.2.2 prints."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.bbo_gp import FixedKernel
from replibo.algorithms.bbo_ucb import BboUcb
from replibo.algorithms.parts.acquisition_functions import upper_confidence_bound
from replibo.algorithms.parts.gp_sampled import GpSampled, Scores
from replibo.algorithms.parts.information_gain import MaximumInformationGain
from replibo.problems.base import Array
from replibo.settings import NonNegative, Positive, Probability
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression

GRID = 201
"""Points of [0, 1] on which the largest information gain is computed."""


class BboUcbFixed(FixedKernel, BboUcb):
    """Algorithm 2 of Fu et al. (2024) as Theorem 4 has it: a fixed kernel, and β_t with its σ⁻².

    β_t = √(B² + σ⁻² c t N⁻¹ log³ N), where σ² is the process's noise variance and c = ``factor`` holds
    the square of φ's unknown constant alone (in `BboUcb` it holds σ⁻², too).
    """

    def beta_at(self, t: int) -> float:
        """β_t, the factor of σ, at the round ``t`` = 1, 2, …"""
        growth = t * math.log(self.iterations) ** 3 / self.iterations
        return math.sqrt(self.norm_bound**2 + self.factor * growth / self.noise_variance)


class ChowdhuryUcbFixed(FixedKernel):
    """UCB with β_t = B + R √(2(γ_{t-1} + 1 + ln(1/δ))) of Chowdhury and Gopalan (2017), a fixed kernel.

    γ is the largest information gain of the RBF kernel on [0, 1], found greedily on a grid
    (`MaximumInformationGain`). R, the noise's sub-Gaussian constant, is the process's σ.

    Args:
        norm_bound: B, in units of the standardised y.
        delta: δ, the probability that the bounds fail.
        length_scale, noise_variance, settings: of `FixedKernel`.
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
        length_scale: Positive,
        noise_variance: Positive,
        norm_bound: NonNegative = 1.96,
        delta: Probability = 0.05,
        **settings: Any,
    ) -> None:
        super().__init__(
            space, streams, length_scale=length_scale, noise_variance=noise_variance, **settings
        )
        self.norm_bound, self.delta = norm_bound, delta
        grid = np.linspace(0.0, 1.0, GRID)[:, None]
        self._gain = MaximumInformationGain(grid, length_scale, noise_variance, "rbf")

    def beta_at(self, t: int) -> float:
        """β_t, the factor of σ, at the round ``t`` = 1, 2, …"""
        width = 2.0 * (self._gain(t - 1) + 1.0 - math.log(self.delta))
        return self.norm_bound + math.sqrt(self.noise_variance * width)

    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        beta = self.beta_at(t)
        mean, sd = gp.posterior(X)
        return Scores(upper_confidence_bound(mean, sd, beta**2), mean, sd, {"beta": beta})
