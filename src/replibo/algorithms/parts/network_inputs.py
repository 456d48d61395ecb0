"""The inputs that NeuralBO's networks see: maps of the unit cube. ``U`` is ``n x d``."""

from __future__ import annotations

from typing import Literal

import numpy as np

from replibo.problems.base import Array

InputScaling = Literal["root_dim", "none", "corner"]


def network_inputs(U: Array, scaling: InputScaling, constant: bool) -> Array:
    """``none``: [−1, 1]^d, ``n x d``; ``root_dim``: the same over √d; ``corner``: [0, 1]^d over √d, whose
    zero is a corner of the box; with ``constant`` one column more.

    The paper feeds x itself; an algorithm does not know a problem's own coordinates here. [−1, 1]^d is
    the released code's ``normalized_inputs``; where the paper's x = 0 is not the centre of the box, as
    on Michalewicz, it is another place. A step of SGD on one observation is stable where η m ‖x‖² < 2;
    at η = 0.001 and m = 500 that is ‖x‖² < 4. [−1, 1]^d has ‖x‖² up to d; ``root_dim`` makes it at most
    1 (1 + 1/d with the constant).

    The network has no bias, so that h(cx) = c h(x) for c > 0: along each ray from x = 0, h is linear, and
    it is 0 there. This x is the centre of the box, with ``corner`` a corner. A constant input (1 before
    the scaling) is a bias of the hidden units. It takes this away, and the paper does not print it.
    """
    inputs = U if scaling == "corner" else 2.0 * U - 1.0
    if constant:
        inputs = with_constant(inputs, 1.0)
    return inputs if scaling == "none" else inputs / np.sqrt(U.shape[1])


def with_constant(inputs: Array, value: float) -> Array:
    """``inputs`` and a column that is ``value`` everywhere: its weights are a bias."""
    return np.column_stack([inputs, np.full(len(inputs), value)])
