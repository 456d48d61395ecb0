"""One query at the centre of the box, then random search: what the centre alone is worth."""

from __future__ import annotations

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal


class CentreThenRandom(Algorithm):
    """The first query after the initial points is the centre of the domain, all others are uniform.

    A control for NeuralBO, whose network peaks at the centre. On a finite problem the first query is the
    point of the pool nearest to the centre (ties go to the first).
    """

    def ask(self, history: History, t: int) -> Proposal:
        rng, pool = self.streams.algorithm_at(len(history)), self.space.candidates
        first = len(history) == history.n_initial
        if pool is None:
            return Proposal(
                np.full(self.space.dim, 0.5) if first else rng.uniform(size=self.space.dim)
            )
        nearest = int(np.argmin(np.sum((pool - 0.5) ** 2, axis=1)))
        row = nearest if first else int(rng.integers(len(pool)))
        return Proposal(pool[row], row)
