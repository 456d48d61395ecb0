"""The exploration-first strategy of the GO-UCB paper (Lemma 15)."""

from __future__ import annotations

from typing import Any

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.go_ucb import GoUcb
from replibo.problems.base import Array
from replibo.streams import RunStreams


class ExplorationFirst(GoUcb):
    """Exploration-first (Lemma 15, proof in Lemma 29): ŵ_n is estimated once, after Phase I.

    Every query of Phase II is x̂ = argmax_x f̂(x; ŵ_n); step (89) of the proof needs just that.
    With ``bonus_of_phase_one`` it is the maximum of the upper confidence bound at the end of Phase
    I, f̂(x; ŵ_n) + σ ‖∇_w f̂(x; ŵ_n)‖ √(U/n). This is the other way to read "relies on the
    convergence bound of ŵ_n, rather than ŵ_t".
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        bonus_of_phase_one: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.bonus_of_phase_one = bonus_of_phase_one

    def data_used(self, history: History) -> int:
        """The n points of Phase I; ŵ_n does not change after it."""
        return history.n_initial

    def bonus(self, w: Array, history: History, t: int) -> Array:
        """None, or Phase I's (`bonus_of_phase_one`), on the grid, shape ``m``."""
        if self.bonus_of_phase_one:
            return super().bonus(w, history, history.n_initial)
        return np.zeros_like(self.grid)
