"""A-GP-UCB: a length scale that only ever shrinks; the rival with guarantees of the LB-GP-UCB paper.

Berkenkamp, Schoellig and Krause (2019), as Ziomek, Adachi and Osborne (2024) run it in section 5.
The upper bound θ0 and the growth function g, which the balancing methods take as well, are
`replibo.algorithms.parts.length_scale_range`.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition import Sigma, UcbMaximiser
from replibo.algorithms.parts.information_gain import theoretical_beta
from replibo.algorithms.parts.length_scale_range import (
    THETA0_DIAGNOSTICS,
    CandidateRatio,
    Growth,
    checked_length_scale,
    fit_theta0,
    theta0_diagnostics,
)
from replibo.settings import NonNegative, Positive, Probability
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import ExactGP
from replibo.surrogates.kernels import KERNELS, KernelName
from replibo.surrogates.length_scale_fit import LOWER_BOUND, LengthScaleFit, LowerBound


class AGpUcb(Algorithm):
    """A-GP-UCB (Berkenkamp, Schoellig and Krause 2019): θ_t = θ0/g(t), and a norm that may grow.

    At each round t: θ_t = θ0/g(t), g(t) = max(t0, t^a), then x_t = argmax_x μ(x) + β σ(x) of the GP
    with length scale θ_t, given all data so far. It starts at θ0/t0, not at θ0.

    The theory's β is LB-GP-UCB's, β_t = B_t + σ_N √(2(γ + 1 + ln(2/δ))). A-GP-UCB scales the norm
    bound up as the length scale shrinks: B_t = b(t) g(t)^(d/2) N. γ is the information gain ½ log
    det(I + σ⁻²K) of the points visited so far. b(t) = max(1, t^c); c = 0 where the norm is known.

    Args:
        beta: β, the factor of the standard deviation itself, the same for every θ_t; None takes the
            theory's.
        sigma: the σ that β multiplies: "latent", of f; "predictive", with the noise, as released.
        kernel: of the GP; the paper's theory covers both, its released code runs Matérn-5/2.
        delta: δ.
        norm: N, the bound of the function's norm at θ0, in units of the standardised y.
        norm_growth_exponent: c of b(t); only the theory's β knows of a norm.
        noise_variance: σ² of the GP, in units of the standardised y.
        growth_exponent: a.
        t0: "printed", e^(5/d), with which LB-GP-UCB, too, has five candidates (section 5: one growth
            function for both methods); "released", e^(5/(d+5)), as the released code has it.
        theta0: θ0, where it is not fitted, in units of the cube.
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
        beta: NonNegative | None = 1.0,
        sigma: Sigma = "latent",
        kernel: KernelName = "matern52",
        noise_variance: NonNegative = 1e-4,
        delta: Probability = 0.01,
        norm: Positive = 1.0,
        norm_growth_exponent: NonNegative = 0.0,
        growth_exponent: NonNegative = 0.5,
        t0: CandidateRatio = "printed",
        theta0: Positive | None = None,
        length_scale_start: Literal["single", "multi"] = "single",
        length_scale_lower_bound: LowerBound = LOWER_BOUND,
    ) -> None:
        super().__init__(space, streams)
        self.beta = beta
        self.noise_variance = noise_variance
        self.kernel: KernelName = kernel
        self.delta, self.norm = delta, norm
        self.norm_growth_exponent = norm_growth_exponent
        self.growth = Growth.for_candidates(t0, space.dim, growth_exponent)
        self.length_scale_start: Literal["single", "multi"] = length_scale_start
        self.length_scale_lower_bound = length_scale_lower_bound
        self.theta0 = theta0
        self._maximiser = UcbMaximiser(space, noise_variance, sigma=sigma, kernel=kernel)
        self._theta0: tuple[bytes, LengthScaleFit] | None = None  # a cache

    def ask(self, history: History, t: int) -> Proposal:
        fit = self._fit(history)
        theta0 = fit.length_scale
        length_scale = checked_length_scale(theta0 / self.growth(t), theta0)
        beta = self._beta(history, length_scale, t)
        maximum = self._maximiser.maximise(
            history,
            length_scale,
            beta,
            self.streams.algorithm_at(len(history)),
            fixed=self.growth.is_flat(t),
        )
        return Proposal(
            maximum.x,
            maximum.candidate,
            {
                "length_scale": length_scale,
                **theta0_diagnostics(fit),
                "beta": beta,
                "jitter": maximum.jitter,
            },
        )

    def _beta(self, history: History, length_scale: float, t: int) -> float:
        """β_t."""
        if self.beta is not None:
            return self.beta
        norm_growth = max(1.0, float(t) ** self.norm_growth_exponent)  # b(t)
        norm_bound = norm_growth * self.growth(t) ** (0.5 * self.space.dim) * self.norm
        distances = self._maximiser.distances(history)
        model = ExactGP(distances, length_scale, self.noise_variance, KERNELS[self.kernel])
        gain = model.information_gain()
        return theoretical_beta(norm_bound, math.sqrt(self.noise_variance), self.delta, gain)

    def _fit(self, history: History) -> LengthScaleFit:
        n = history.n_initial
        data = history.X[:n].tobytes() + history.y[:n].tobytes()
        if self._theta0 is None or self._theta0[0] != data:
            fit = fit_theta0(
                history,
                self.noise_variance,
                self.length_scale_start,
                self.length_scale_lower_bound,
                self.kernel,
                self.theta0,
            )
            self._theta0 = data, fit
        return self._theta0[1]
