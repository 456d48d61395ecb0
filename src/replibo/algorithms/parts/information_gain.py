"""Information gain and suspected regret: Proposition 2.2 and Theorem 2.3 of the LB-GP-UCB paper.

Ziomek, Adachi and Osborne 2024. γ grows like θ^-d, and so does R: at the end of a long growth of
the candidate set they leave the range of floating-point numbers, which is why these functions give
logarithms. Regret balancing compares suspected bounds with each other only; constants that all
candidates share (the O(·) of the paper, the factor 0.01 of the released code) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from replibo.problems.base import Array
from replibo.surrogates.exact_gp import GrowingGP
from replibo.surrogates.kernels import KERNELS, KernelName

TWO_NU = 5.0
"""2ν of the paper's kernel, Matérn-5/2."""

Rate = Literal["matern", "matern_appendix", "rbf"]


def log_information_gain_bound(rate: Rate, length_scale: float, dim: int, n: int) -> float:
    """ln γ_n(k^θ) of Proposition 2.2, up to a constant; -inf at n = 1, where γ is 0.

    Args:
        rate: "matern", the Matérn line of the proposition as printed,
            θ^-d n^(d(d+1)/(2ν+d(d+1))) (ln n)^(2ν/(2ν+d)); "matern_appendix", what its proof in
            Appendix A arrives at, θ^-d n^(d/(2ν+d)) (ln n)^(2ν/(2ν+d)); "rbf", the RBF line, which
            the released code takes for its Matérn kernel too, θ^-d (ln n)^(d+1).
        length_scale: θ > 0, in units of the cube.
    """
    if n == 1:
        return -math.inf
    d = float(dim)
    if rate == "rbf":
        of_n, of_log_n = 0.0, d + 1.0
    else:
        of_n = d / (TWO_NU + d)
        if rate == "matern":
            of_n = d * (d + 1.0) / (TWO_NU + d * (d + 1.0))
        of_log_n = TWO_NU / (TWO_NU + d)
    log_n = math.log(n)
    return -d * math.log(length_scale) + of_n * log_n + of_log_n * math.log(log_n)


def scaled_norm(norm: float, theta0: float, length_scale: float, dim: int) -> float:
    """B(θ, N) = (θ0/θ)^(d/2) N: the norm bound that a length scale θ allows for free (section 2)."""
    return norm * (theta0 / length_scale) ** (0.5 * dim)


def theoretical_beta(norm_bound: float, noise_std: float, delta: float, gain: float) -> float:
    """β = B + σ_N √(2(γ + 1 + ln(2/δ))) of Theorem 4.1; γ in nats, σ_N in units of the standardised y."""
    noise = noise_std * math.sqrt(2.0 * (gain + 1.0 + math.log(2.0 / delta)))
    return norm_bound + noise


def log_suspected_regret(log_gamma: float, norm_bound: float, n: int) -> float:
    """ln R^θ(n), R^θ(n) = √n (B √γ_n + γ_n), up to a constant (Theorem 2.3).

    R^θ(1) = 0, so that a candidate is tried once at no price."""
    if log_gamma == -math.inf:
        return -math.inf
    exploration = math.log(norm_bound) + 0.5 * log_gamma  # ln B√γ
    larger, smaller = max(exploration, log_gamma), min(exploration, log_gamma)
    return 0.5 * math.log(n) + larger + math.log1p(math.exp(smaller - larger))


def log_bounded_increments(log_values: Sequence[float], log_step: float) -> float:
    """ln of the last value of the largest sequence that is nowhere above the given one, starts with it,
    and never rises by more than a step: min over m of R(m) + (n - m) step.

    "As otherwise the bound can be trivially improved" (section 2): R(t + 1) - R(t) ≤ 2B. The given values
    ln R(1), …, ln R(n) must not fall."""
    values = np.array(log_values)
    behind = np.arange(len(values) - 1, -1, -1.0)  # n - m
    with np.errstate(divide="ignore"):
        return float(np.min(np.logaddexp(values, np.log(behind) + log_step)))


class MaximumInformationGain:
    """max ½ log det(I + σ⁻²K) over n points of a domain, n = 0, 1, …, found greedily.

    The greedy choice, always the point of largest posterior variance, is within a factor 1 - 1/e of
    the maximum (Srinivas et al. 2010, section IV). The paper takes it from the code of Hong, Li and
    Tewari (its Appendix I).

    Args:
        domain: ``m x d``, the points to choose from, in the unit cube; one may be chosen again.
        length_scale, noise_variance: of the GP; in units of the cube, σ² > 0.
    """

    def __init__(
        self,
        domain: Array,
        length_scale: float,
        noise_variance: float,
        kernel: KernelName = "matern52",
    ) -> None:
        self.domain = domain
        self._gp = GrowingGP(
            length_scale, noise_variance, domain.shape[1], pool=domain, kernel=KERNELS[kernel]
        )
        self._gains = [0.0]

    def __call__(self, n: int) -> float:
        """The gain of ``n`` observations, in nats."""
        while len(self._gains) <= n:
            _, variance = self._gp.pool_posterior(np.zeros(len(self._gp)))
            best = int(np.argmax(variance))
            self._gp.append(self.domain[best])
            # The chain rule of mutual information: each point adds ½ ln(1 + σ⁻² σ_n²(x)).
            ratio = float(variance[best]) / self._gp.noise_variance
            self._gains.append(self._gains[-1] + 0.5 * math.log1p(ratio))
        return self._gains[n]
