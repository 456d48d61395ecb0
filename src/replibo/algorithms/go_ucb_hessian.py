"""GO-UCB with the Hessian-weighted bonus of the paper's Appendix E."""

from __future__ import annotations

from typing import Any

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.go_ucb import GoUcb
from replibo.problems.base import Array
from replibo.settings import NonNegative, Positive
from replibo.streams import RunStreams


class GoUcbHessian(GoUcb):
    """GO-UCB with x_t = argmax_x f̂(x; ŵ_t) + B_U(t) ‖∇f̂(x; ŵ_t)‖_{Ĥ⁻¹} + C B_U(t)² / (2 √B_L), eq. (99).

    Ĥ is the Hessian of the empirical loss, eq. (94), which need not be positive definite: its
    eigenvalues are raised to at least B_L, which makes B_L the lower bound that eq. (99) asks for.
    The paper leaves B_U and B_L open. By Lemma 23, ‖ŵ - w*‖_H ≤ √(128 σ² ln(|W|/δ) / t), which is
    (σ/2) √(μ U / t) with section 4's U for the 512 ln(|W|/δ)/μ of Algorithm 1; so
    B_U(t) = ``B_U`` · σ √(U/t) with ``B_U`` = ½ (μ = 1).

    The last term does not depend on x and moves no query. Neither does section 4's U/t, which `GoUcb`
    adds and eq. (99) does not have. The diagnostic ``bonus`` has the last term and leaves out U/t.

    Args:
        B_U: factor of σ √(U/t).
        B_L: lower bound of Ĥ's eigenvalues, > 0.
        C: smoothness constant of Assumption 6.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        B_U: NonNegative = 0.5,
        B_L: Positive = 0.01,
        C: NonNegative = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.B_U, self.B_L, self.C = B_U, B_L, C

    def bonus(self, w: Array, history: History, t: int) -> Array:
        """B_U(t) ‖∇f̂(x; ŵ_t)‖_{Ĥ⁻¹} + C B_U(t)² / (2 √B_L) on the grid, shape ``m`` (eq. 99)."""
        x, y = self.to_model(history.X), history.y[:, None]
        eigenvalues, vectors = np.linalg.eigh(self.family.loss_hessian(w, x, y)[:, :, 0])
        eigenvalues = np.maximum(eigenvalues, self.B_L)
        rotated = vectors.T @ self.family.gradient(w, self.model_grid)[:, :, 0]
        norm = np.sqrt(np.sum(rotated**2 / eigenvalues[:, None], axis=0))
        B_U = self.B_U * self.space.noise_std * np.sqrt(self.U / t)
        return B_U * norm + self.C * B_U**2 / (2.0 * np.sqrt(self.B_L))
