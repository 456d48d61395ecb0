"""GP-EI, expected improvement under a Gaussian process: a baseline of the NeuralBO paper."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Literal

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.parts.acquisition_functions import (
    expected_improvement,
    log_expected_improvement,
)
from replibo.algorithms.parts.gp_sampled import GpSampled, Scores
from replibo.problems.base import Array
from replibo.settings import NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression


class GpEi(GpSampled):
    """GP-EI (Jones et al. 1998): the candidate of largest expected improvement on the incumbent by ξ.

    Its logarithm is maximised, which has the same maximiser and does not underflow where no candidate
    has much hope.

    Args:
        xi: ξ ≥ 0, in units of y standardised by the observations of the fit in force.
        incumbent: the value to improve on; ``observed``, the largest y so far; ``posterior_mean``, the
            largest posterior mean over the points queried so far (μ⁺).
        settings: of `replibo.algorithms.parts.gp_sampled`.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        **GpSampled.diagnostics,
        "incumbent": "the value to improve on, in units of y",
        "expected_improvement": "at the query, over incumbent + ξ, in units of y",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        xi: NonNegative = 0.01,
        incumbent: Literal["observed", "posterior_mean"] = "observed",
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.xi, self.incumbent = xi, incumbent

    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        values = gp.observed() if self.incumbent == "observed" else gp.mean_at_data()
        best = float(np.max(values))
        acquisition = functools.partial(log_expected_improvement, best=best, xi=self.xi)
        mean, sd = gp.posterior_where_best(X, acquisition)
        improvement = expected_improvement(mean, sd, best, self.xi)
        return Scores(
            acquisition(mean, sd),
            mean,
            sd,
            {
                "incumbent": gp.centre + gp.scale * best,
                "expected_improvement": gp.scale * improvement,
            },
        )
