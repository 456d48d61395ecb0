"""The inputs that NeuralBO's networks see: maps of the unit cube. ``U`` is ``n x d``."""

from __future__ import annotations

from typing import Literal

import numpy as np

from replibo.problems.base import Array

InputScaling = Literal["fixed", "raw"]


def network_inputs(U: Array, scaling: InputScaling) -> Array:
    """``fixed``: ([−1, 1]^d, 1)/√d, ``n x (d + 1)``; ``raw``: [−1, 1]^d, ``n x d``.

    ``fixed`` is what the printed recipe needs to work at all. A step of SGD on one observation is stable
    where η m ‖x‖² < 2; at η = 0.001 and m = 500 that is ‖x‖² < 4, and 1/√d makes ‖x‖² ≤ 1 + 1/d where
    [−1, 1]^d alone has up to d. Without a bias h(cx) = c h(x) for c > 0: along each ray from the centre
    h is linear, and it has no peak inside. The constant input takes that away; it is 1/√d, as large as
    any other input can be, as if a 1 had stood among the coordinates before they were scaled.

    ``raw`` is the recipe without these, in [−1, 1]^d instead of the problem's own coordinates, which an
    algorithm does not know here (mostly larger still). Measured on Ackley, 100 queries after the initial
    points: every training diverged, at d = 10 and at d = 100.
    """
    inputs = 2.0 * U - 1.0
    if scaling == "raw":
        return inputs
    return with_constant(inputs, 1.0) / np.sqrt(U.shape[1])


def with_constant(inputs: Array, value: float) -> Array:
    """``inputs`` and a column that is ``value`` everywhere: its weights are a bias."""
    return np.column_stack([inputs, np.full(len(inputs), value)])
