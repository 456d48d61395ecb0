"""LNB-GP-UCB: length scale and norm both unknown (Algorithm 3 of the LB-GP-UCB paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replibo.algorithms.base import Space
from replibo.algorithms.lb_gp_ucb import LbGpUcb
from replibo.algorithms.parts.balancing import Hyperparameter
from replibo.settings import NonNegative
from replibo.streams import RunStreams


class LnbGpUcb(LbGpUcb):
    """LNB-GP-UCB: Algorithm 3 of Ziomek, Adachi and Osborne 2024 (Appendix F).

    As LB-GP-UCB, but the candidates are pairs u = (θ, N), N = v(j) = N0 e^j. After each round line
    14 may add the next length scale, with all norms so far (lines 15 and 16). Line 18 may add the
    next norm, v(|B|) < N0 b(t) with b(t) = max(1, t^c), with all length scales so far (lines 19 and
    20). Eliminated pairs do not come back.

    Lines 18 and 19 print v(|B_t| + 1), and line 20 prints v(|B_{t+1}| + 1). Taken literally, they skip
    the norm e N0: the second norm is e² N0, and it is added after round 55 if c = 0.5. We take v(|B|) in
    all three lines. The second norm then is e N0, and it is added after round 8.

    Args:
        norm_growth_exponent: c; the paper names no b. At c = 0.5, three norms exist by t = 250.
        settings: those of `LbGpUcb`; ``norm`` is N0.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        norm_growth_exponent: NonNegative = 0.5,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.norm_growth_exponent = norm_growth_exponent

    def norm_growth(self, t: int) -> float:
        """b(t)."""
        return max(1.0, float(t) ** self.norm_growth_exponent)

    def _propose(
        self, t: int, created: Sequence[Hyperparameter], theta0: float
    ) -> list[Hyperparameter]:
        if t == 0:  # lines 1 and 2
            return super()._propose(t, created, theta0)
        length_scales = list(dict.fromkeys(u.length_scale for u in created))  # Θ_t
        norms = list(dict.fromkeys(u.norm for u in created))  # B_t
        added = []
        if self._is_due(len(length_scales), t):  # lines 14 to 17
            length_scales.append(self._q(len(length_scales), theta0))
            added += [Hyperparameter(length_scales[-1], norm) for norm in norms]
        next_norm = self.norm * math.exp(len(norms))  # v(|B_t|); v(0) = N0
        if next_norm < self.norm * self.norm_growth(t):  # lines 18 to 21
            added += [Hyperparameter(length_scale, next_norm) for length_scale in length_scales]
        return added

    def _log_count(self, t: int) -> float:
        """ln |A|, with |A| = d ln g(t) (1 + ln b(t)), the number of pairs up to round t.

        Theorem F.1 has d ln g(T) ln b(T). Here t takes the place of T, and 1 is added for N0 itself, as
        ln b(1) = 0."""
        return super()._log_count(t) + math.log1p(math.log(self.norm_growth(t)))
