"""LB-GP-UCB: length scales balanced by their suspected regret, as printed.

Ziomek, Adachi and Osborne 2024, Algorithm 1 and section 5. The book-keeping (which length scale is
played, eliminated, added) is `replibo.algorithms.parts.balancing`; here is what makes it a Bayesian
optimiser: the candidates, β, ξ, and the maximisation of the UCB. Each setting in which the released
code differs can be chosen; `replibo.algorithms.lb_gp_ucb_released` chooses them all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition import Sigma, UcbMaximiser
from replibo.algorithms.parts.balancing import Hyperparameter, HyperparameterBalancing, lemma_b5_xi
from replibo.algorithms.parts.information_gain import (
    MaximumInformationGain,
    Rate,
    log_bounded_increments,
    log_information_gain_bound,
    log_suspected_regret,
    scaled_norm,
    theoretical_beta,
)
from replibo.algorithms.parts.length_scale_range import (
    CANDIDATES_AT_START,
    THETA0_DIAGNOSTICS,
    CandidateRatio,
    Growth,
    checked_length_scale,
    fit_theta0,
    log_candidate_ratio,
    theta0_diagnostics,
)
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import NonNegative, Positive, Probability
from replibo.streams import RunStreams, generator
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import KernelName
from replibo.surrogates.length_scale_fit import LOWER_BOUND, LengthScaleFit, LowerBound

DOMAIN_POINTS = 512
"""Points that stand for the cube where the information gain is maximised over the domain."""


@dataclass
class _State:
    """What follows from a history: θ0, and the balancing after its rounds."""

    theta0: LengthScaleFit
    balancing: HyperparameterBalancing
    n_initial: int  # and X, n x d, and y, n: the history it follows from
    X: Array
    y: Array

    def follows_from(self, history: History) -> bool:
        """Whether it follows from the first n queries of ``history``."""
        n = len(self.y)
        return (
            self.n_initial == history.n_initial
            and n <= len(history)
            and np.array_equal(self.y, history.y[:n])
            and np.array_equal(self.X, history.X[:n])
        )


class LbGpUcb(Algorithm):
    """LB-GP-UCB: Algorithm 1 of Ziomek, Adachi and Osborne 2024, with the readings of READINGS.md.

    Before round 1, θ0 is fitted to the initial points; the candidates q(0) = θ0, …, q(4) are there
    (line 1 prints θ0 alone), and ξ_t is that of Lemma B.5.
    At each round t (line numbers of Algorithm 1):

    - θ_t = argmin over Θ_t of R^θ(|S^θ| + 1) (line 3);
    - x_t = argmax_x μ(x) + β_t σ(x) of the GP with length scale θ_t, given all data so far, whoever
      asked for them (line 4), β_t = B(θ_t, N) + σ_N √(2(γ + 1 + ln(2/δ))) (Theorem 4.1);
    - once all of Θ_t were played, some are eliminated (lines 9 to 12). L_t(θ) is the mean of y over the
      rounds of θ minus √(ξ_t/|S^θ|). θ is eliminated if L_t(θ) plus twice the mean of β σ over these
      rounds is below the largest L_t. y is standardised with the scale of now; β and σ are as they were
      when θ was played;
    - q(l) is added when q(l) ≥ θ0/g(t), l being the number of candidates so far (lines 14 to 16;
      printed is q(l + 1) ≤ θ0/g(t), which read literally adds too early).

    On a pool no random number is drawn. Rounds are counted from the first query after the initial
    points.

    Args:
        noise_variance: σ² of the GP, in units of the standardised y.
        noise_std: σ_N of β and ξ; by default the square root of ``noise_variance``.
        delta: δ.
        norm: N, the bound of the function's norm at θ0, in units of the standardised y.
        growth_exponent: a of g(t) = max(t0, t^a).
        candidate_ratio: "printed", q(i) = θ0 e^(-i/d); "released", θ0 e^(-i/(d+5)). t0 = θ0/q(5).
        extension: "printed", add one candidate after round t if q(l) ≥ θ0/g(t); "released", add them
            while q(l) > θ0/g(t + 1), and in one dimension start with six.
        gamma: γ of R^θ (`replibo.algorithms.parts.information_gain.log_information_gain_bound`).
        regret_increments: of R^θ: "any"; "2B", R^θ(n) cut so that it never rises by more than 2B from one
            play to the next (section 2), its unknown constant taken as 1.
        norm_bound: "printed", B = (θ0/θ)^(d/2) N in R and in β; "released", B = N.
        beta: β where it is a constant; None takes that of Theorem 4.1.
        information_gain: γ in β: "visited", the information gain ½ log det(I + σ_N⁻²K) of the
            points visited so far; "maximum", the greatest of as many points of the domain (the pool, or
            512 points of the cube).
        sigma: the σ that β multiplies, in line 4 and in line 12: "latent", of f; "predictive", with
            the noise, as the released code has it.
        kernel: of the GP; the paper's theory covers both, its released code runs Matérn-5/2 (with
            ``gamma="rbf"`` for it, too). The RBF kernel's own ``gamma`` is "rbf".
        width: factor of the mean β σ in line 12.
        width_sd: σ in line 12: "posterior"; "raw_x", σ at un-normalised coordinates, as the
            released code has it. This is the prior's, 1 for f, except in one dimension, where the
            paper's problem lives on [0, 1].
        xi_sign: "printed", -√(ξ_t/|S|) on both sides of line 12; "proof", plus on the
            left, as in the proof of Lemma B.2.
        elimination_scale: the mean and deviation that standardise y in line 12: "now", of all y so
            far; "round_start", of those before the round, as the released code has it.
        theta0: θ0, where it is not fitted, in units of the cube.
        length_scale_start, length_scale_lower_bound: the fit of θ0
            (`replibo.surrogates.length_scale_fit.fit_length_scale`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "θ_t, in units of the cube",
        **THETA0_DIAGNOSTICS,
        "candidates": "number of candidates in Θ_t",
        "smallest_candidate": "the shortest length scale in Θ_t, in units of the cube",
        "largest_candidate": "the longest length scale in Θ_t, in units of the cube",
        "candidate_set": "Θ_t, as Σ 2^i over the numbers i (0, 1, …) of its candidates in the order "
        "of their creation; exact for the first 53",
        "eliminated": "number of candidates eliminated after the last round",
        "beta": "β_t",
        "jitter": "added to the noise variance where the kernel matrix is singular, else 0",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        noise_variance: NonNegative = 1e-4,
        noise_std: NonNegative | None = None,
        delta: Probability = 0.01,
        norm: Positive = 1.0,
        growth_exponent: NonNegative = 0.5,
        candidate_ratio: CandidateRatio = "printed",
        extension: Literal["printed", "released"] = "printed",
        gamma: Rate = "matern",
        regret_increments: Literal["any", "2B"] = "any",
        norm_bound: Literal["printed", "released"] = "printed",
        beta: NonNegative | None = None,
        information_gain: Literal["visited", "maximum"] = "visited",
        sigma: Sigma = "latent",
        kernel: KernelName = "matern52",
        width: NonNegative = 2.0,
        width_sd: Literal["posterior", "raw_x"] = "posterior",
        xi_sign: Literal["printed", "proof"] = "printed",
        elimination_scale: Literal["now", "round_start"] = "now",
        theta0: Positive | None = None,
        length_scale_start: Literal["single", "multi"] = "single",
        length_scale_lower_bound: LowerBound = LOWER_BOUND,
    ) -> None:
        super().__init__(space, streams)
        self._maximiser = UcbMaximiser(space, noise_variance, sigma=sigma, kernel=kernel)
        self.sigma = sigma
        self.kernel: KernelName = kernel
        # β has the information gain of a GP whose noise variance is σ_N².
        self._gain_variance = noise_variance if noise_std is None else noise_std**2
        self._gain_model = (
            self._maximiser
            if noise_std is None
            else UcbMaximiser(space, self._gain_variance, kernel=kernel)
        )
        self.noise_variance = noise_variance
        self.noise_std = math.sqrt(noise_variance) if noise_std is None else noise_std
        self.delta, self.norm = delta, norm
        self.log_ratio = log_candidate_ratio(candidate_ratio, space.dim)
        self.growth = Growth.for_candidates(candidate_ratio, space.dim, growth_exponent)
        self.extension, self.gamma, self.norm_bound = extension, gamma, norm_bound
        self.regret_increments = regret_increments
        self.beta = beta
        self.information_gain = information_gain
        self.width, self.width_sd = width, width_sd
        self.xi_sign = -1.0 if xi_sign == "printed" else 1.0
        self.elimination_scale = elimination_scale
        self.given_theta0 = theta0
        self.length_scale_start: Literal["single", "multi"] = length_scale_start
        self.length_scale_lower_bound = length_scale_lower_bound
        # Caches, both rebuilt from the history.
        self._state: _State | None = None
        self._maximum_gain: dict[float, MaximumInformationGain] = {}

    # What a user may look at: as of the history given last.

    @property
    def theta0(self) -> float:
        """θ0, in units of the cube."""
        return self._known().theta0.length_scale

    @property
    def candidates(self) -> tuple[Hyperparameter, ...]:
        """Θ_t of the coming round, in the order of creation."""
        balancing = self._known().balancing
        return tuple(balancing.created[u] for u in balancing.considered)

    @property
    def created(self) -> tuple[Hyperparameter, ...]:
        """All candidates so far, the eliminated ones included, in the order of creation."""
        return tuple(self._known().balancing.created)

    @property
    def played(self) -> tuple[Hyperparameter, ...]:
        """The candidate played in each round so far."""
        balancing = self._known().balancing
        return tuple(balancing.created[u] for u in balancing.played)

    @property
    def eliminations(self) -> tuple[tuple[int, Hyperparameter], ...]:
        """(t, candidate) of each elimination so far, t the round after which it happened."""
        balancing = self._known().balancing
        return tuple((t, balancing.created[u]) for t, u in balancing.eliminated)

    # The algorithm

    def ask(self, history: History, t: int) -> Proposal:
        state = self._follow(history)
        balancing = state.balancing
        theta_t = balancing.created[balancing.select()]  # line 3
        beta = self._beta(theta_t, state.theta0.length_scale, history, len(history))
        maximum = self._maximiser.maximise(  # line 4
            history,
            theta_t.length_scale,
            beta,
            self.streams.algorithm_at(len(history)),
            fixed=True,
        )
        length_scales = [u.length_scale for u in self.candidates]
        last_round = len(balancing.played)
        return Proposal(
            maximum.x,
            maximum.candidate,
            {
                "length_scale": theta_t.length_scale,
                **theta0_diagnostics(state.theta0),
                "candidates": float(len(length_scales)),
                "smallest_candidate": min(length_scales),
                "largest_candidate": max(length_scales),
                "candidate_set": float(sum(2**u for u in balancing.considered)),
                "eliminated": float(sum(t == last_round for t, _ in balancing.eliminated)),
                "beta": beta,
                "jitter": maximum.jitter,
            },
        )

    def tell(self, history: History) -> None:
        """Bring the candidates up to date (`ask` would do it, too)."""
        if len(history) >= history.n_initial > 0:
            self._follow(history)

    def _follow(self, history: History) -> _State:
        """The state after all rounds of the history. Replaying a round takes no maximisation: which
        candidate was played follows from the rounds before, and where from the history."""
        state = self._state
        if state is None or not state.follows_from(history):
            state = self._start(history)
        self._state = None  # until it is up to date
        balancing, n_initial = state.balancing, history.n_initial
        theta0 = state.theta0.length_scale
        for n in range(
            len(state.y), len(history)
        ):  # the query asked when n observations were there
            u = balancing.created[balancing.select()]
            confidence = self._beta(u, theta0, history, n) * self._width_sd(u, history, n)
            balancing.observe(confidence, self._standardised(history.y, n)[n_initial:])
        if len(state.y) < len(history):
            state.X, state.y = history.X.copy(), history.y.copy()
        self._state = state
        return state

    def _start(self, history: History) -> _State:
        """The state before round 1: θ0 is fitted to the initial points, and no candidate was played."""
        fit = fit_theta0(
            history,
            self.noise_variance,
            self.length_scale_start,
            self.length_scale_lower_bound,
            self.kernel,
            self.given_theta0,
        )
        theta0, n = fit.length_scale, history.n_initial
        balancing = HyperparameterBalancing(
            lambda t, created: self._propose(t, created, theta0),
            lambda u, plays: self._log_suspected_regret(u, plays, theta0),
            self._xi,
            width=self.width,
            xi_sign=self.xi_sign,
        )
        return _State(fit, balancing, n, history.X[:n].copy(), history.y[:n].copy())

    def _standardised(self, y: Array, n: int) -> Array:
        """The first ``n + 1`` of y for line 12, the last of them of this round: shape ``n + 1``."""
        if self.elimination_scale == "now":
            return standardise(y[: n + 1])
        sd = float(np.std(y[:n], ddof=1)) if n > 1 else 0.0
        return np.asarray((y[: n + 1] - np.mean(y[:n])) / (sd or 1.0))

    def _propose(
        self, t: int, created: Sequence[Hyperparameter], theta0: float
    ) -> list[Hyperparameter]:
        """a(t) of Algorithm 2: the candidates at the start (t = 0), later lines 14 to 16."""
        if t == 0:
            return [
                Hyperparameter(self._q(i, theta0), self.norm)
                for i in range(self._candidates_at_start())
            ]
        if self._is_due(len(created), t):
            return [Hyperparameter(self._q(len(created), theta0), self.norm)]
        return []

    def _q(self, i: int, theta0: float) -> float:
        """q(i) (Definition 3.1); q(0) = θ0."""
        return checked_length_scale(theta0 * math.exp(-i * self.log_ratio), theta0)

    def _candidates_at_start(self) -> int:
        """Those above θ0/g(1) = q(5). (In the released code rounding lets q(5) itself pass in one
        dimension. Here rounding decides nothing.)"""
        released_1d = self.extension == "released" and self.space.dim == 1
        return CANDIDATES_AT_START + 1 if released_1d else CANDIDATES_AT_START

    def _is_due(self, i: int, t: int) -> bool:
        """Line 14: whether q(i) is added after round t."""
        # q(i) and θ0/g are compared by the logarithms of θ0/q(i) and g, up to rounding.
        if self.extension == "released":
            return i * self.log_ratio < math.log(self.growth(t + 1)) - 1e-9
        return i * self.log_ratio <= math.log(self.growth(t)) + 1e-9

    def _norm_bound(self, u: Hyperparameter, theta0: float) -> float:
        if self.norm_bound == "released":
            return u.norm
        return scaled_norm(u.norm, theta0, u.length_scale, self.space.dim)

    def _log_suspected_regret(self, u: Hyperparameter, plays: int, theta0: float) -> float:
        norm = self._norm_bound(u, theta0)

        def log_regret(n: int) -> float:
            log_gamma = log_information_gain_bound(self.gamma, u.length_scale, self.space.dim, n)
            return log_suspected_regret(log_gamma, norm, n)

        if self.regret_increments == "any":
            return log_regret(plays)
        return log_bounded_increments(
            [log_regret(n) for n in range(1, plays + 1)], math.log(2.0 * norm)
        )

    def _log_count(self, t: int) -> float:
        """ln |A|, |A| = d ln g(t), of Theorem 4.1. With the printed ratio of the candidates |A| is their
        number up to round t."""
        return math.log(self.space.dim * math.log(self.growth(t)))

    def _xi(self, t: int) -> float:
        return lemma_b5_xi(self.noise_std, self.delta, self._log_count(t), t)

    def _beta(self, u: Hyperparameter, theta0: float, history: History, n: int) -> float:
        """β of Theorem 4.1 for the query asked when ``n`` observations were there."""
        if self.beta is not None:
            return self.beta
        # Without noise σ_N √γ → 0, though γ, of a GP with σ_N² = 0, is unbounded.
        gain = self._information_gain(u.length_scale, history, n) if self.noise_std else 0.0
        return theoretical_beta(self._norm_bound(u, theta0), self.noise_std, self.delta, gain)

    def _information_gain(self, length_scale: float, history: History, n: int) -> float:
        """γ of β, in nats, of a GP with this length scale after ``n`` observations: of the observed
        points, or the largest that ``n`` points of the domain have."""
        if self.information_gain == "visited":
            return self._gain_model.information_gain(history, length_scale, n)
        if length_scale not in self._maximum_gain:
            domain = self.space.candidates
            if domain is None:
                rng = generator("lb_gp_ucb", "domain", self.space.dim)
                domain = rng.random((DOMAIN_POINTS, self.space.dim))
            self._maximum_gain[length_scale] = MaximumInformationGain(
                domain, length_scale, self._gain_variance, self.kernel
            )
        return self._maximum_gain[length_scale](n)

    def _width_sd(self, u: Hyperparameter, history: History, n: int) -> float:
        """σ_{τ-1}(x_τ) of line 12, x_τ being the query asked when ``n`` observations were there."""
        if self.width_sd == "raw_x" and self.space.dim > 1:
            return 1.0 if self.sigma == "latent" else math.sqrt(1.0 + self.noise_variance)
        asked = history.X[n] if self.space.candidates is None else int(history.candidate[n])
        return self._maximiser.posterior_sd(history, n, u.length_scale, asked)

    def _known(self) -> _State:
        if self._state is None:
            raise RepliboError("nothing is known before the initial points; call ask or tell first")
        return self._state
