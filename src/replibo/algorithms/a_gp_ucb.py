"""A-GP-UCB: a length scale that only ever shrinks; the rival with guarantees of the LB-GP-UCB paper.

Berkenkamp, Schoellig and Krause (2019), as Ziomek, Adachi and Osborne (2024) run it in section 5.
The upper bound θ0 and the growth function g, which the balancing methods take as well, are
`replibo.algorithms.parts.length_scale_range`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition import UcbMaximiser
from replibo.algorithms.parts.length_scale_range import (
    THETA0_DIAGNOSTICS,
    CandidateRatio,
    Growth,
    checked_length_scale,
    fit_theta0,
    theta0_diagnostics,
)
from replibo.settings import NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.length_scale_fit import LOWER_BOUND, LengthScaleFit, LowerBound


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
            (`replibo.surrogates.length_scale_fit.fit_length_scale`).
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
        beta: NonNegative = 1.0,
        noise_variance: NonNegative = 1e-4,
        growth_exponent: NonNegative = 0.5,
        t0: CandidateRatio = "released",
        length_scale_start: Literal["single", "multi"] = "single",
        length_scale_lower_bound: LowerBound = LOWER_BOUND,
    ) -> None:
        super().__init__(space, streams)
        self.beta = beta
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
