"""Bayesian linear regression on given features, its two precisions by marginal likelihood.

f(x) = φ(x)ᵀw with w ~ N(0, α⁻¹I), y = f(x) + ε with ε ~ N(0, β⁻¹) (Bishop 2006, section 3.3; eqs.
3 to 6 of Snoek et al. 2015). No constant feature is added: what the weights cannot say is zero, so
that the targets should be standardised.

The reading of α and β. Snoek et al. integrate them out by slice sampling; pybnn, which the NeuralBO
paper uses, averages over 20 walkers of a Markov chain on log α, log β, uniform on [-10, 10]², whose
likelihood takes a norm where its square belongs. Here they are the maximum of the likelihood itself
(type II, Bishop, section 3.5) on the same square. The square matters: with no more data than
features, or with equal observations, the likelihood may grow without bound as β does.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import qr
from scipy.optimize import minimize_scalar

from replibo.problems.base import Array

LOG_PRECISIONS = (-10.0, 10.0)
"""Bounds of ln α and of ln β."""

# Grid of ln β/α, 0.25 apart; the maximum is then searched between the neighbours of the best.
_GRID = np.linspace(
    LOG_PRECISIONS[0] - LOG_PRECISIONS[1], LOG_PRECISIONS[1] - LOG_PRECISIONS[0], 161
)


class BayesianLinearRegression:
    """The posterior of w given ``Phi`` (``n x k``, the features) and ``y`` (``n``); n, k ≥ 1.

    O(n k² + k³), and nothing of size n is kept: cheap enough to be made anew for every observation.

    Attributes:
        alpha: α, the prior precision of the weights.
        beta: β, the precision of the noise, in (units of y)⁻².
        log_evidence: ln p(y | Phi, α, β), in nats.
    """

    def __init__(self, Phi: Array, y: Array) -> None:
        n, k = Phi.shape
        # [Φ y] = Q R: of the n data, R (k + 1 rows) says all that is asked below. Rows of zeros
        # change none of it, and make the R of fewer data as large.
        rows = np.zeros((max(n, k + 1), k + 1))
        rows[:n, :k], rows[:n, k] = Phi, y
        R: Array = qr(rows, mode="r", overwrite_a=True)[0]
        U, s, self._Vt = np.linalg.svd(R[:k, :k])
        self._n = n
        self._lambda = s**2  # k, the eigenvalues of ΦᵀΦ
        self._u = U.T @ R[:k, k]  # k, y in the directions that features reach
        self._residual = float(R[k, k]) ** 2  # what of yᵀy no weights explain
        self.alpha, self.beta = self._maximise()
        self.log_evidence = float(
            self._profile(np.array([math.log(self.beta / self.alpha)]), self.beta)[0]
        )
        precision = self.alpha + self.beta * self._lambda
        self._mean = self.beta * s * self._u / precision  # k, of Vᵀw
        self._variance = 1.0 / precision  # k

    def posterior(self, Phi: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of f, each ``m``, at the features ``Phi``, ``m x k``.

        The variance is that of f = φᵀw; an observation's is 1/β more.
        """
        rotated = Phi @ self._Vt.T
        return rotated @ self._mean, rotated**2 @ self._variance

    def _maximise(self) -> tuple[float, float]:
        """(α, β) of the largest evidence with both logarithms in `LOG_PRECISIONS`."""
        best = int(np.argmax(self._profile(_GRID)))
        bounds = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
        found = minimize_scalar(
            lambda log_ratio: -self._profile(np.array([log_ratio]))[0],
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-6},
        )
        # the bounded search never tries its bounds, and the maximum may be at the square's corner
        logs = np.array([found.x, _GRID[best]])
        log_ratio = logs[[int(np.argmax(self._profile(logs)))]]
        beta = float(self._best_beta(log_ratio)[0])
        return beta / math.exp(float(log_ratio[0])), beta

    def _profile(self, log_ratio: Array, beta: float | None = None) -> Array:
        """The log evidence at the given ln β/α (``g``), at the best admissible β or at ``beta``.

        With r = β/α, the covariance of y is β⁻¹(I + r ΦΦᵀ): its eigenvalues are β⁻¹(1 + r λ_i), and
        β⁻¹ for the rest.
        """
        b = self._best_beta(log_ratio) if beta is None else beta
        log_det = np.sum(np.log1p(np.exp(log_ratio)[:, None] * self._lambda), axis=1)
        evidence: Array = -0.5 * (
            self._n * (math.log(2 * math.pi) - np.log(b)) + log_det + b * self._quadratic(log_ratio)
        )
        return evidence

    def _best_beta(self, log_ratio: Array) -> Array:
        """argmax over β at a given ln β/α: n over the quadratic form, within the square.

        In ln β the evidence has one maximum, so that a bound is the best where it is crossed.
        """
        low, high = LOG_PRECISIONS
        with np.errstate(divide="ignore"):  # infinite where y is zero
            log_beta = np.log(self._n / self._quadratic(log_ratio))
        return np.exp(
            np.clip(log_beta, np.maximum(low, low + log_ratio), np.minimum(high, high + log_ratio))
        )

    def _quadratic(self, log_ratio: Array) -> Array:
        """yᵀ(I + r ΦΦᵀ)⁻¹y for each ln r."""
        shrunk = self._u**2 / (1.0 + np.exp(log_ratio)[:, None] * self._lambda)
        return self._residual + np.sum(shrunk, axis=1)
