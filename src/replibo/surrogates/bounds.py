"""The largest of many values that have cheap upper bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from replibo.problems.base import Array

BOUNDING = 64
"""Observations that bound a posterior deviation: given them alone, σ is at least what it is given all."""

BLOCK = 16
"""Points evaluated at a time, where there are some hundred."""


def worth_bounding(observations: int) -> bool:
    """Whether a bound by the last `BOUNDING` of so many observations saves anything."""
    return observations >= 4 * BOUNDING


def evaluate_where_best(
    upper: Array, values: Callable[[NDArray[np.intp]], Array], block: int = BLOCK
) -> None:
    """Evaluate points in the order of their bounds, until none that is left can have the largest value.

    Points that are equal up to rounding are evaluated, too.

    Args:
        upper: ``m``, upper bounds of the values.
        values: the values of the points whose rows it is given, ``k`` of both; it keeps them.
        block: points evaluated at a time.
    """
    best = -np.inf
    order = np.argsort(-upper, kind="stable")
    for first in range(0, len(order), block):
        rows = order[first : first + block]
        if upper[rows[0]] < best - 1e-8 * (1.0 + abs(best)):
            break
        best = max(best, float(np.max(values(rows))))
