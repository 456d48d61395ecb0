"""Regret balancing with elimination: Algorithm 2 of the LB-GP-UCB paper, the core of Algorithms 1, 3.

Ziomek, Adachi and Osborne 2024, Appendix B (after Pacchiano et al. 2020). Here is the whole of its
book-keeping, and no Gaussian process: which hyperparameter is played (line 3), which ones are
eliminated (lines 9 to 12), which ones are added (line 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from replibo.problems.base import Array


@dataclass(frozen=True)
class Hyperparameter:
    """A hyperparameter u = (θ, N): the ``length_scale`` θ, in units of the cube, and the bound
    ``norm`` N of the function's norm at θ0."""

    length_scale: float
    norm: float


class HyperparameterBalancing:
    """Algorithm 2, rounds t = 1, 2, …: `select`, query the black box, `observe`, and so on.

    Hyperparameters go by their numbers 0, 1, … in the order in which they were created; none gets
    a new number, so that what is eliminated does not come back.

    Args:
        propose: a(t), what is added after round t (t = 0: what is there at the start), given all
            hyperparameters created so far.
        log_suspected_regret: ln R^u(n), up to a constant.
        xi: ξ_t.
        width: factor of the mean β σ in line 11 (paper: 2).
        xi_sign: sign of √(ξ_t/|S^u|) on the left side of line 11; -1 by lines 10 and 11 as
            printed, +1 by the proof of Lemma B.2. On the right side it is always -1.

    Attributes:
        created: all hyperparameters so far, A.
        considered: the numbers of those in U_t, in the order of their creation.
        played: the number of u_τ for the rounds τ = 1 … t - 1.
        confidence: β_τ σ_{τ-1}(x_τ), as they were when the rounds τ = 1 … t - 1 were played.
        eliminated: (t, number) of each hyperparameter that line 11 removed, t the round after which.
    """

    def __init__(
        self,
        propose: Callable[[int, Sequence[Hyperparameter]], Sequence[Hyperparameter]],
        log_suspected_regret: Callable[[Hyperparameter, int], float],
        xi: Callable[[int], float],
        *,
        width: float = 2.0,
        xi_sign: float = -1.0,
    ) -> None:
        self.propose, self.log_suspected_regret, self.xi = propose, log_suspected_regret, xi
        self.width, self.xi_sign = width, xi_sign
        self.created: list[Hyperparameter] = []
        self.considered: list[int] = []
        self.played: list[int] = []
        self.confidence: list[float] = []
        self.eliminated: list[tuple[int, int]] = []
        self._plays: list[int] = []  # |S^u| for each number
        self._log_regret_next: list[float] = []  # ln R^u(|S^u| + 1) for each number
        self._extend(0)  # line 1

    def select(self) -> int:
        """Line 3: u_t = argmin over U_t of R^u(|S^u| + 1); ties go to the first created."""
        return min(self.considered, key=self._log_regret_next.__getitem__)

    def observe(self, confidence: float, y: Array) -> None:
        """Lines 7 to 13, after round t, in which `select`'s choice was played.

        Args:
            confidence: β_t σ_{t-1}(x_t) of that choice.
            y: ``t``, the observations of rounds 1 … t, all standardised with the scale of now.
        """
        u = self.select()
        self.played.append(u)
        self.confidence.append(confidence)
        self._plays[u] += 1
        self._log_regret_next[u] = self.log_suspected_regret(self.created[u], self._plays[u] + 1)
        t = len(self.played)
        if all(self._plays[u] for u in self.considered):  # line 9
            self._eliminate(t, y)
        self._extend(t)

    def _eliminate(self, t: int, y: Array) -> None:
        """Lines 10 and 11. The one with the largest L_t always stays: its own width is not negative.

        (That all of U_t were played means that all ever created were, since an earlier elimination
        asked for the same: the released code's condition is no other.)
        """
        plays = np.array(self._plays)
        mean_y = np.bincount(self.played, weights=y) / plays
        mean_confidence = np.bincount(self.played, weights=self.confidence) / plays
        noise = np.sqrt(self.xi(t) / plays)
        lower = (mean_y - noise)[self.considered]
        upper = (mean_y + self.xi_sign * noise + self.width * mean_confidence)[self.considered]
        kept = upper >= lower.max()
        self.eliminated += [(t, u) for u, k in zip(self.considered, kept, strict=True) if not k]
        self.considered = [u for u, k in zip(self.considered, kept, strict=True) if k]

    def _extend(self, t: int) -> None:
        """Line 13: U_{t+1} = U_{t+1} ∪ a(t)."""
        for hyperparameter in self.propose(t, self.created):
            self.considered.append(len(self.created))
            self.created.append(hyperparameter)
            self._plays.append(0)
            self._log_regret_next.append(self.log_suspected_regret(hyperparameter, 1))


def lemma_b5_xi(noise_std: float, delta: float, log_count: float, t: int) -> float:
    """ξ_t = 2σ_N² ln(|A| π² t² / (3δ)): Lemma B.5 with δ_B = δ/2.

    Theorems 4.1 and F.1 print the "- log 3δ" outside of the factor 2σ_N². With δ = 0.01 this makes
    ξ_t > 3, however small the noise is. Lines 10 and 12 of Algorithm 1 print a minus before √(ξ_t/|S|)
    on both sides, so that the printed ξ_t eliminates what was seldom played
    (`replibo.algorithms.length_scale_readings.LbGpUcbPrintedXi`). ``log_count`` is ln |A|, A being all
    hyperparameters up to now.
    """
    return 2 * noise_std**2 * (log_count + 2 * math.log(math.pi * t) - math.log(3 * delta))
