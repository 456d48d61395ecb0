"""GO-UCB without its bonus."""

from __future__ import annotations

import numpy as np

from replibo.algorithms.base import History
from replibo.algorithms.go_ucb import GoUcb
from replibo.problems.base import Array


class GoGreedy(GoUcb):
    """x_t = argmax_x f̂(x; ŵ_t): GO-UCB with no exploration bonus at all.

    Not in the paper. It shows how much of GO-UCB's result comes from the parametric family alone.
    """

    def bonus(self, w: Array, history: History, t: int) -> Array:
        """None: 0 on the whole grid."""
        return np.zeros_like(self.grid)
