"""Random search: the reference that shows what a curve is worth."""

from __future__ import annotations

from replibo.algorithms.base import Algorithm, History, Proposal


class RandomSearch(Algorithm):
    """Each query is uniform over the domain (over the pool, repeats allowed, where it is finite)."""

    def ask(self, history: History, t: int) -> Proposal:
        rng = self.streams.algorithm_at(len(history))
        pool = self.space.candidates
        if pool is None:
            return Proposal(rng.uniform(size=self.space.dim))
        row = int(rng.integers(len(pool)))
        return Proposal(pool[row], row)
