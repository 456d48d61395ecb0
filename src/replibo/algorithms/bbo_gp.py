"""EI and UCB of Bayesian bilevel optimisation (Fu et al. 2024) with other outer Gaussian processes: the
fixed kernel that section 3.2.2 assumes, and a fit that looks for the best of several maxima."""

from __future__ import annotations

from typing import Any

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.gp_ucb import GpUcb
from replibo.algorithms.parts.gp_sampled import GpSampled
from replibo.settings import Positive
from replibo.streams import RunStreams
from replibo.surrogates.gp_given import GpFixed, GpGiven
from replibo.surrogates.gp_regression import GpRegression


class FixedKernel(GpSampled):
    """A zero-mean process with a fixed RBF kernel, k(x, x) = 1 (section 3.2.2).

    The paper gives neither ℓ nor σ², nor the units of y, which is standardised here: raw, the prior
    mean of 0 would lie below every loss.

    Args:
        length_scale: ℓ, in units of the cube.
        noise_variance: σ², in units of the standardised y, squared.
        settings: of `replibo.algorithms.parts.gp_sampled`.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        length_scale: Positive,
        noise_variance: Positive,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.length_scale, self.noise_variance = length_scale, noise_variance

    def surrogate(self, history: History) -> GpRegression:
        return GpFixed(
            history.X,
            history.y,
            length_scale=self.length_scale,
            noise_variance=self.noise_variance,
        )


class GpEiFixed(FixedKernel, GpEi):
    """Algorithm 1 of Fu et al. (2024), expected improvement, with the fixed kernel of section 3.2.2."""


class GpUcbFixed(FixedKernel, GpUcb):
    """Algorithm 2 of Fu et al. (2024), UCB, with the fixed kernel of section 3.2.2."""


class GpEiSeveralStarts(GpEi):
    """Expected improvement with a Gaussian process fitted at every query from several starts, its length
    scale bounded from below (`replibo.surrogates.gp_regression.fit_from_several`)."""

    def surrogate(self, history: History) -> GpRegression:
        return GpGiven(history.X, history.y)
