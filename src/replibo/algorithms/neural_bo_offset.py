"""NeuralBO on y plus a constant: what the sign of y decides (a control, beyond the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.parts.neural_surrogate import Fit
from replibo.errors import allowed
from replibo.problems.base import Array
from replibo.settings import Finite, SettingError
from replibo.streams import RunStreams


class NeuralBOOffset(NeuralBO):
    """NeuralBO (Algorithm 1) with its network fitted to y + c in place of y.

    The best x stays the best, and a surrogate with a mean of its own does not notice the constant. The
    printed network has no such mean. It is 0 at the centre of the box: if all y are negative it is
    largest there, and if all are positive it rises from there outwards.

    Args:
        offset: c, one number or one for each problem by its name in the config; in units of y (of the
            scaled y, with a ``y_scaling``).
        settings: those of `NeuralBO`.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        offset: Finite | Mapping[str, Finite],
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        if isinstance(offset, Mapping):
            if streams.problem not in offset:
                raise SettingError("offset", f"must hold {streams.problem}, got {allowed(offset)}")
            offset = offset[streams.problem]
        self.offset = offset

    def targets(self, y: Array, rng: np.random.Generator) -> Array:
        return y + self.offset

    def prediction(self, X: Array, fit: Fit) -> Array:
        return super().prediction(X, fit) - self.offset
