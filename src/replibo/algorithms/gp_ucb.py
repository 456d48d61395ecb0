"""GP-UCB with the confidence parameter of Srinivas et al.: a baseline of the NeuralBO paper."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

from replibo.algorithms.base import History, Space
from replibo.algorithms.parts.acquisition_functions import upper_confidence_bound
from replibo.algorithms.parts.gp_sampled import GpSampled, Scores
from replibo.problems.base import Array
from replibo.settings import NonNegative, Probability
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression


def srinivas_beta(t: int, dim: int, length_scale: float, delta: float) -> float:
    """β_t of Srinivas et al. (2010), Theorem 2, on the unit cube (r = 1), with a = 1:

        β_t = 2 ln(2π²t²/(3δ)) + 2d ln(t² d b r √(ln(4da/δ)))
            = (4d + 4) ln t + 2 ln(2π²/(3δ)) + 2d ln(d b r √(ln(4da/δ))),   b = 1/(√2 ℓ).

    The second term counts the points of a discretisation of the cube, (t² d b r √…)^d of them. For
    long length scales and small t that is less than one point; the term is then 0 and β_t that of a
    single point, never negative. (The inner logarithm is above ln 4, as δ < 1 ≤ d.)

    This b is half of what the theorem's condition needs, P(|∂f/∂x_j| > L) ≤ a exp(−(L/b)²). With the
    RBF kernel of variance 1, ∂f/∂x_j is N(0, ℓ⁻²), so that b must be √2/ℓ at least. So β_t lacks
    2d ln 2, and √β_t is about 2 % too small from t = 100 on.

    Args:
        t: the round, 1, 2, …; the theorem's t of the present round, not the horizon T.
        length_scale: ℓ, in units of the cube.
        delta: δ, the probability that the bounds fail.
    """
    b, r, a = 1.0 / (math.sqrt(2.0) * length_scale), 1.0, 1.0
    points = t**2 * dim * b * r * math.sqrt(math.log(4 * dim * a / delta))
    return 2 * math.log(2 * math.pi**2 * t**2 / (3 * delta)) + 2 * dim * max(math.log(points), 0.0)


class GpUcb(GpSampled):
    """GP-UCB (Srinivas et al. 2010): the candidate of largest μ(x) + √β_t σ(x).

    Args:
        beta: β itself, the same at every round; None: β_t of Theorem 2 (`srinivas_beta`), with the
            length scale of the fit in force and the rounds counted by the paper (t = 1 is the first
            query after the initial points; where initial points are rounds too, it starts behind
            them).
        delta: δ of the theorem; used where ``beta`` is None.
        settings: of `replibo.algorithms.parts.gp_sampled`.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        **GpSampled.diagnostics,
        "beta": "β_t; the standard deviation is multiplied by its root",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        beta: NonNegative | None = None,
        delta: Probability = 0.05,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.beta, self.delta = beta, delta

    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        beta = self.beta
        if beta is None:
            length_scale = gp.fitted.hyperparameters.length_scale
            beta = srinivas_beta(max(t, 1), self.space.dim, length_scale, self.delta)
        acquisition = functools.partial(upper_confidence_bound, beta=beta)
        mean, sd = gp.posterior_where_best(X, acquisition)
        return Scores(acquisition(mean, sd), mean, sd, {"beta": beta})
