"""When a surrogate is fitted anew: one rule for all algorithms of the NeuralBO paper.

The paper fits at every round; at 2,000 rounds that costs hours per run. Here a surrogate is fitted to the
initial points, and again whenever the observations have grown by a given share. Between two fits the
hyperparameters or the weights stay; what can be updated exactly (a Cholesky factor, a Bayesian linear
regression) takes in every observation.
"""

from __future__ import annotations

import math

LATE = 200
"""Observations from which on `RefitSchedule.late_growth` holds."""


class RefitSchedule:
    """The sizes of the history at which a surrogate is fitted: n₀, then n ← max(n + 1, ⌈(1 + growth) n⌉).

    Which fit is in force at a given history is a function of its length alone, so that a resumed run
    makes the same fit again.

    Args:
        growth: ≥ 0; 0 fits at every query.
        late_growth: in its place from `LATE` observations on; the same where it is left out.
    """

    def __init__(self, growth: float, late_growth: float | None = None) -> None:
        self.growth = growth
        self.late_growth = growth if late_growth is None else late_growth
        self._sizes: list[int] = []

    def in_force(self, n: int, n_initial: int) -> int:
        """The size of the history that the fit in force at size ``n`` was made from, at most ``n``."""
        if n <= n_initial:
            return n
        if not self._sizes or self._sizes[0] != n_initial:
            self._sizes = [n_initial]
        while (following := self.after(self._sizes[-1])) <= n:
            self._sizes.append(following)
        # Asked in the order of a run, the answer is the last; a shorter history may be asked too.
        return next(size for size in reversed(self._sizes) if size <= n)

    def up_to(self, size: int, n_initial: int) -> list[int]:
        """The sizes of the history at the fits up to the one at ``size``, which is the last."""
        if size <= n_initial:
            return [size]
        self.in_force(size, n_initial)
        return [one for one in self._sizes if one <= size]

    def after(self, n: int) -> int:
        """The size of the history at the fit that follows the one at size ``n``."""
        growth = self.growth if n < LATE else self.late_growth
        # 1e-9: 1.05 times 20 is 21, whatever binary fractions make of it
        return max(n + 1, math.ceil((1 + growth) * n - 1e-9))
