"""Every query at the upper end of the box: what a search is worth if that end is the optimum."""

from __future__ import annotations

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal


class UpperEnd(Algorithm):
    """Each query is the corner (1, …, 1) of the unit cube; on a pool, the point nearest to it (ties go
    to the first).

    A control for BBO on a convex problem, where the largest learning rate of the box is the best.
    """

    def ask(self, history: History, t: int) -> Proposal:
        pool = self.space.candidates
        if pool is None:
            return Proposal(np.ones(self.space.dim))
        row = int(np.argmin(np.sum((pool - 1.0) ** 2, axis=1)))
        return Proposal(pool[row], row)
