"""The bbob suite of COCO: 24 noiseless functions in many instances (NeuralBO, section 7.1, Figure 2).

The functions are those of ``coco-experiment`` (Hansen et al., "COCO: a platform for comparing
continuous optimizers in a black-box setting", 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from replibo.errors import RepliboError
from replibo.problems.base import Array, Observation, Problem
from replibo.settings import SettingError
from replibo.streams import RunStreams

if TYPE_CHECKING:
    from cocoex import BareProblem

SUITE = "bbob"
FUNCTIONS = 24
INSTANCES = 15  # of each function, in the paper
DIMENSIONS = (2, 3, 5, 10, 20, 40)

# The suite's own five groups of functions: first and last of each.
GROUPS = {
    "separable": (1, 5),
    "moderate conditioning": (6, 9),
    "high conditioning, unimodal": (10, 14),
    "multimodal, strong structure": (15, 19),
    "multimodal, weak structure": (20, 24),
}

# Successive seeds take functions that are so far apart: one of each group in five seeds. 5 and 24
# have no common divisor, so 24 successive seeds from a multiple of 24 take every function once.
_STRIDE = 5


def member(seed: int) -> tuple[int, int]:
    """The (function, instance) that the runs of ``seed`` optimise, both counted from 1.

    Seeds 0 … 359 are the 24 functions in 15 instances; seeds 0 … 4 are f1, f6, f11, f16 and f21, one
    of each group; more seeds are more instances.

    Raises:
        RepliboError: the seed is negative.
    """
    if seed < 0:
        raise RepliboError(f"seed: must be at least 0, got {seed}")
    return 1 + _STRIDE * seed % FUNCTIONS, 1 + seed // FUNCTIONS


class Bbob(Problem):
    """The bbob suite in one dimension; the seed varies the function and its instance (`member`).

    ``f`` is f_opt - f_bbob, so that each member's maximum is 0 and COCO's precision, f_bbob - f_opt,
    is the regret. Near the optimum it may exceed 0 by round-off (measured: 4e-15). The domain is
    [-5, 5]^d, without noise.

    f_opt is the documented ``best_value`` of ``cocoex.BareProblem``, which computes it in memory: no
    file is written and nothing is shared between processes.

    Args:
        dim: d; one of `DIMENSIONS`, those of the suite.
        offset: the constant f_opt that COCO adds to each member, from -1,000 to 1,000: ``removed`` from y
            (which is f), or ``kept`` (y = -f_bbob, f as above), as in COCO's own experiments. No method
            that standardises y sees a difference; one that takes y as it is does.

    Attributes:
        function: 1 … 24; of the object itself, before `of_seed`, that of seed 0.
        instance: 1, 2, …; likewise.
        f_opt: the member's minimum as COCO has it.
        optimizers: ``1 x d``, the native point at which the member's maximum is reached.
    """

    optimizers: Array

    def __init__(self, *, dim: int, offset: Literal["removed", "kept"] = "removed") -> None:
        if dim not in DIMENSIONS:
            raise SettingError("dim", f"must be 2, 3, 5, 10, 20 or 40, got {dim}")
        self.dim, self.offset = dim, offset
        self.bounds = np.array([[-5.0] * self.dim, [5.0] * self.dim])
        self.optimal_value = 0.0
        self._take(*member(0))

    def of_seed(self, seed: int) -> Bbob:
        """The member of ``seed``: its function and instance (`member`)."""
        made = Bbob(dim=self.dim, offset=self.offset)
        made._take(*member(seed))
        return made

    def _take(self, function: int, instance: int) -> None:
        from cocoex import BareProblem

        self.function, self.instance = function, instance
        self._bare: BareProblem = BareProblem(SUITE, function, self.dim, instance)
        self.f_opt: float = self._bare.best_value()
        self.optimizers = np.array([self._bare.best_parameter()])

    def evaluate_true(self, X: Array) -> Array:
        """f_opt - f_bbob, shape ``n``, at the native points ``X``, ``n x d``."""
        f: Array = self._bare(np.ascontiguousarray(X, dtype=np.float64))
        return self.f_opt - f

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        """f without noise; y is f, or -f_bbob with ``offset="kept"``."""
        seen = super().observe(x, streams, query)
        return seen if self.offset == "removed" else Observation(y=seen.f - self.f_opt, f=seen.f)
