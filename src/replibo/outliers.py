"""Outliers among the values that a user tells: penalties, failed evaluations, single glitches.

Only `replibo.library.Optimizer` uses it; the papers' runs see their observations as they are. Most
algorithms divide y by its standard deviation. One penalty of 1e10 among values of order 1 makes that
deviation so large that all other values look equal.
"""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array

# A value is an outlier if it lies this many ranges of the ordinary values away from them.
FAR = 1000.0

# From this distance on, in the same ranges, a distance grows as its logarithm; this is done twice.
LOGARITHMIC_FROM = 3.0

# A range below this share of the values is rounding.
ROUNDING = 1e-12


def without_outliers(y: Array) -> Array:
    """The values ``y`` (``n``, to be made small) as an algorithm is to see them.

    Outliers are drawn in: their distance to the ordinary values grows as the logarithm of its logarithm.
    All values keep their order. A NaN, a failed evaluation, becomes the worst ordinary value (0 if all
    failed). Without outliers every number stays as it is. The result scales with the unit of ``y``.
    """
    failed = np.isnan(y)
    told = y[~failed] / 4.0  # a power of two; no difference overflows
    few = max(1, len(told) // 10)  # as many may be glitches
    drawn = _penalties_drawn_in(_penalties_drawn_in(told, 0), few)
    drawn = _glitches_drawn_in(drawn, few)
    ordinary = drawn == told
    values = np.zeros(len(y))
    values[~failed] = np.where(ordinary, y[~failed], 4.0 * drawn)
    values[failed] = np.max(values[~failed], where=ordinary, initial=-np.inf) if len(told) else 0.0
    return values


def _penalties_drawn_in(values: Array, few: int) -> Array:
    """Draw in values that lie far above the best quarter, not counting the best ``few``.

    The quarter has three values at least. It is enlarged until its range is more than rounding.
    """
    ascending = np.sort(values)[few:]
    for size in range(max(3, -(-len(values) // 4)), len(ascending)):
        best, spread = ascending[0], ascending[size - 1] - ascending[0]
        if spread > ROUNDING * max(abs(best), abs(ascending[size - 1])):
            return _drawn_in(values, best, spread)
    return values


def _glitches_drawn_in(values: Array, few: int) -> Array:
    """Draw in the best ``few`` values if they lie far below all others."""
    ascending = np.sort(values)
    if len(values) < few + 3:
        return values
    best, spread = ascending[few], ascending[-1] - ascending[few]
    if not spread > ROUNDING * max(abs(best), abs(ascending[-1])):
        return values
    return -_drawn_in(-values, -best, spread)


def _drawn_in(values: Array, start: float, spread: float) -> Array:
    """Draw in what lies above ``start``, if any lies `FAR` ranges ``spread`` away."""
    with np.errstate(over="ignore"):
        distances = np.minimum((values - start) / spread, np.finfo(float).max)
    if not distances.max() > FAR:
        return values
    drawn = np.maximum(distances, 1.0)
    first = LOGARITHMIC_FROM
    for _ in range(2):
        drawn = np.where(drawn > first, first * (1.0 + np.log(drawn / first)), drawn)
    return np.where(distances > first, start + spread * drawn, values)
