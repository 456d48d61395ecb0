"""The length scales from θ0/g(t) to θ0 of the LB-GP-UCB paper: θ0, g, and the candidates' ratio.

Ziomek, Adachi and Osborne 2024, Definition 3.1 and section 5. The methods that shorten length scales
as rounds go by share it: A-GP-UCB takes θ0/g(t) itself, the balancing methods the candidates above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from replibo.algorithms.base import History
from replibo.algorithms.parts.information_gain import TWO_NU
from replibo.errors import RepliboError
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import (
    KERNELS,
    SMALLEST_LENGTH_SCALE,
    KernelName,
    pairwise_distances,
)
from replibo.surrogates.length_scale_fit import LengthScaleFit, fit_length_scale

CANDIDATES_AT_START = 5
"""t0 is chosen so that at least so many candidates exist at g(1) (section 5)."""

CandidateRatio = Literal["printed", "released"]


def log_candidate_ratio(ratio: CandidateRatio, dim: int) -> float:
    """-ln q(i+1)/q(i): 1/d as printed in Definition 3.1, 1/(d + 2ν) as released."""
    return 1.0 / dim if ratio == "printed" else 1.0 / (dim + TWO_NU)


@dataclass(frozen=True)
class Growth:
    """The growth function g(t) = max(t0, t^a) of section 5; a is 0.5, in an ablation 0.25 to 0.75."""

    t0: float
    exponent: float

    @classmethod
    def for_candidates(cls, ratio: CandidateRatio, dim: int, exponent: float) -> Growth:
        """With t0 = θ0/q(5): e^(5/d) for the printed q (148, 3.5, 2.7 for d = 1, 4, 5), e^(5/(d+5))
        for the released one (2.30, 1.74, 1.65)."""
        return cls(math.exp(CANDIDATES_AT_START * log_candidate_ratio(ratio, dim)), exponent)

    def __call__(self, t: int) -> float:
        return max(self.t0, float(t) ** self.exponent)

    def is_flat(self, t: int) -> bool:
        """Whether g(t) is still its least value t0."""
        return float(t) ** self.exponent <= self.t0


def fit_theta0(
    history: History,
    noise_variance: float,
    starts: Literal["single", "multi"],
    lower_bound: float,
    kernel: KernelName,
    given: float | None = None,
) -> LengthScaleFit:
    """θ0, the upper bound of the length scales: maximum likelihood on the initial points only
    (section 5), or the number ``given``."""
    if given is not None:
        return LengthScaleFit(given, math.nan, True, 0, False, False, False, 0.0, given)
    n = history.n_initial
    if n == 0:
        raise RepliboError("initial_points: must be at least 1, got 0 (θ0 is fitted to them)")
    X = history.X[:n]
    return fit_length_scale(
        pairwise_distances(X, X),
        standardise(history.y[:n]),
        noise_variance,
        starts=starts,
        lower_bound=lower_bound,
        kernel=KERNELS[kernel],
    )


def checked_length_scale(length_scale: float, theta0: float) -> float:
    """``length_scale``, or a `RepliboError` where it has left the range of the kernel."""
    if not SMALLEST_LENGTH_SCALE <= length_scale < math.inf:
        raise RepliboError(
            f"length scale: must be at least {SMALLEST_LENGTH_SCALE:g} and finite, got "
            f"{length_scale:g} (θ0 = {theta0:g}, by maximum likelihood on the initial points); try "
            "length_scale_start: multi, or other initial points"
        )
    return length_scale


THETA0_DIAGNOSTICS = {
    "theta0": "θ0, in units of the cube; by default the maximum-likelihood one of the initial points",
    "theta0_collapsed": "1 where θ0 reads the initial points as white noise, else 0",
    "theta0_exploded": "1 where θ0 reads the initial points as one constant, else 0",
}


def theta0_diagnostics(fit: LengthScaleFit) -> dict[str, float]:
    """The numbers of `THETA0_DIAGNOSTICS`."""
    return {
        "theta0": fit.length_scale,
        "theta0_collapsed": float(fit.collapsed),
        "theta0_exploded": float(fit.exploded),
    }
