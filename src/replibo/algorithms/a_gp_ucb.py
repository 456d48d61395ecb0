"""A-GP-UCB: a length scale that only ever shrinks; the rival with guarantees of the LB-GP-UCB paper.

Berkenkamp, Schoellig and Krause (2019), as Ziomek, Adachi and Osborne (2024) run it in section 5.
The upper bound θ0 and the growth function g are shared with the balancing methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from replibo.algorithms.acquisition import UcbMaximiser
from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.information_gain import TWO_NU
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import (
    LOWER_BOUND,
    LengthScaleFit,
    check_lower_bound,
    fit_length_scale,
    standardise,
)
from replibo.surrogates.kernels import SMALLEST_LENGTH_SCALE, pairwise_distances

CANDIDATES_AT_START = 5
"""t0 is chosen so that at least so many candidates exist at g(1) (section 5)."""

CandidateRatio = Literal["printed", "released"]


def log_candidate_ratio(ratio: CandidateRatio, dim: int) -> float:
    """-ln q(i+1)/q(i): 1/d as printed in Definition 3.1, 1/(d + 2ν) as released."""
    if ratio not in ("printed", "released"):
        raise RepliboError(f"candidate_ratio: {ratio!r} is not allowed; printed or released is")
    return 1.0 / dim if ratio == "printed" else 1.0 / (dim + TWO_NU)


@dataclass(frozen=True)
class Growth:
    """The growth function g(t) = max(t0, t^a) of section 5.

    Attributes:
        t0: its least value, which `for_candidates` derives from the ratio of the candidates.
        exponent: a (paper: 0.5; ablation: 0.25, 0.5, 0.75).
    """

    t0: float
    exponent: float

    @classmethod
    def for_candidates(cls, ratio: CandidateRatio, dim: int, exponent: float) -> Growth:
        """With t0 = θ0/q(5): e^(5/d) for the printed q (148, 3.5, 2.7 for d = 1, 4, 5), e^(5/(d+5))
        for the released one (2.30, 1.74, 1.65)."""
        if not (math.isfinite(exponent) and exponent >= 0):
            raise RepliboError(
                f"growth_exponent: {exponent} is not allowed; a finite number >= 0 is"
            )
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
) -> LengthScaleFit:
    """θ0, the upper bound of the length scales: maximum likelihood on the initial points only
    (section 5)."""
    n = history.n_initial
    if n == 0:
        raise RepliboError("θ0 is fitted to the initial points; allowed: 1 or more initial points")
    X = history.X[:n]
    return fit_length_scale(
        pairwise_distances(X, X),
        standardise(history.y[:n]),
        noise_variance,
        starts=starts,
        lower_bound=lower_bound,
    )


def checked_length_scale(length_scale: float, theta0: float) -> float:
    """``length_scale``, or a `RepliboError` where it has left the range of the kernel."""
    if not SMALLEST_LENGTH_SCALE <= length_scale < math.inf:
        raise RepliboError(
            f"the length scale {length_scale:g} (θ0 = {theta0:g}, by maximum likelihood on the "
            f"initial points) is out of range; allowed: {SMALLEST_LENGTH_SCALE:g} and more, which "
            "other initial points or length_scale_start: multi give"
        )
    return length_scale


def check_start(starts: str, lower_bound: float) -> None:
    """Raise a `RepliboError` where the settings of θ0's fit are not allowed."""
    if starts not in ("single", "multi"):
        raise RepliboError(f"length_scale_start: {starts!r} is not allowed; multi or single is")
    check_lower_bound(lower_bound)


def check_at_least_zero(name: str, value: float) -> float:
    """``value``, or a `RepliboError` where it is not a finite number ≥ 0."""
    if not (math.isfinite(value) and value >= 0):
        raise RepliboError(f"{name}: {value} is not allowed; a finite number >= 0 is")
    return value


THETA0_DIAGNOSTICS = {
    "theta0": "θ0, the maximum-likelihood length scale of the initial points, in units of the cube",
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


class AGpUcb(Algorithm):
    """A-GP-UCB (Berkenkamp, Schoellig and Krause 2019), with known norm: θ_t = θ0/g(t).

    At each round t: θ_t = θ0/g(t), g(t) = max(t0, t^a), then x_t = argmax_x μ(x) + β σ(x) of the GP
    with length scale θ_t, given all data so far. It starts at θ0/t0, not at θ0.

    Args:
        beta: β, the factor of the standard deviation itself; the same for every θ_t.
        noise_variance: σ² of the GP, in units of the standardised y.
        growth_exponent: a.
        t0: "released", e^(5/(d+5)), as the released code has it; "printed", e^(5/d), the value that
            gives five candidates with the ratio of Definition 3.1.
        length_scale_start, length_scale_lower_bound: the fit of θ0
            (`replibo.surrogates.exact_gp.fit_length_scale`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "θ_t, in units of the cube",
        **THETA0_DIAGNOSTICS,
        "beta": "β",
        "jitter": "added to the noise variance where the kernel matrix is singular, else 0",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        beta: float = 1.0,
        noise_variance: float = 1e-4,
        growth_exponent: float = 0.5,
        t0: CandidateRatio = "released",
        length_scale_start: Literal["single", "multi"] = "single",
        length_scale_lower_bound: float = LOWER_BOUND,
    ) -> None:
        super().__init__(space, streams)
        if t0 not in ("printed", "released"):
            raise RepliboError(f"t0: {t0!r} is not allowed; printed or released is")
        check_start(length_scale_start, length_scale_lower_bound)
        self.beta = check_at_least_zero("beta", beta)
        self.noise_variance = noise_variance
        self.growth = Growth.for_candidates(t0, space.dim, growth_exponent)
        self.length_scale_start: Literal["single", "multi"] = length_scale_start
        self.length_scale_lower_bound = length_scale_lower_bound
        self._maximiser = UcbMaximiser(space, noise_variance)
        self._theta0: tuple[bytes, LengthScaleFit] | None = None  # a cache

    def ask(self, history: History, t: int) -> Proposal:
        fit = self._fit(history)
        theta0 = fit.length_scale
        length_scale = checked_length_scale(theta0 / self.growth(t), theta0)
        maximum = self._maximiser.maximise(
            history,
            length_scale,
            self.beta,
            self.streams.algorithm_at(len(history)),
            fixed=self.growth.is_flat(t),
        )
        return Proposal(
            maximum.x,
            maximum.candidate,
            {
                "length_scale": length_scale,
                **theta0_diagnostics(fit),
                "beta": self.beta,
                "jitter": maximum.jitter,
            },
        )

    def _fit(self, history: History) -> LengthScaleFit:
        n = history.n_initial
        data = history.X[:n].tobytes() + history.y[:n].tobytes()
        if self._theta0 is None or self._theta0[0] != data:
            fit = fit_theta0(
                history,
                self.noise_variance,
                self.length_scale_start,
                self.length_scale_lower_bound,
            )
            self._theta0 = data, fit
        return self._theta0[1]
