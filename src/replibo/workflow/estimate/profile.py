"""CPU seconds of runs by the number of the query, and what longer runs would take.

A run as long as the measured ones, or shorter, costs what the profile says. A longer one is extrapolated
(`Profile.tail`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LARGEST_SLOPE = 3.0  # of the time against the number of the query: an exact GP's factorisation


class Seconds(NamedTuple):
    """CPU seconds: what is expected, and between which two extrapolations it lies (the same number
    three times where nothing is extrapolated)."""

    expected: float
    low: float
    high: float

    def times(self, factor: float) -> Seconds:
        """Each of them times ``factor``."""
        return Seconds(*(factor * value for value in self))

    def plus(self, other: Seconds | float) -> Seconds:
        """The sum, part by part."""
        more = other if isinstance(other, Seconds) else Seconds(other, other, other)
        return Seconds(*(a + b for a, b in zip(self, more, strict=True)))


NOTHING = Seconds(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Profile:
    """CPU seconds of a mean run by the number of the query (1, 2, …).

    Attributes:
        first: number of each bin's first query; the first bin holds the initial points.
        seconds: CPU seconds of a run in each bin.
        queries: queries of a run, the end of the last bin.
    """

    first: tuple[int, ...]
    seconds: tuple[float, ...]
    queries: int

    def run(self, queries: int) -> Seconds:
        """A run of so many queries."""
        ends = (*self.first[1:], self.queries + 1)
        total = 0.0
        for first, end, seconds in zip(self.first, ends, self.seconds, strict=True):
            share = (min(end, queries + 1) - first) / (end - first)
            total += seconds * min(max(share, 0.0), 1.0)
        within = Seconds(total, total, total)
        return within.plus(self.tail(queries)) if queries > self.queries else within

    def tail(self, queries: int) -> Seconds:
        """The queries beyond the measured ones.

        Two laws are fitted to the mean time of a query in the last bins: a power law, which a fixed
        part of the time makes too flat, and a quadratic one whose parts are a surrogate's (what does not
        grow, what grows with the observations as a training does, and with their square as a variance
        does), which noise makes too steep. Their geometric mean is expected, and they are its bounds.
        """
        ends = (*self.first[1:], self.queries + 1)
        bins = [
            ((first + end - 1) / 2, seconds / (end - first), end - first)
            for first, end, seconds in zip(self.first, ends, self.seconds, strict=True)
        ][1:] or [((self.queries + 1) / 2, sum(self.seconds) / self.queries, self.queries)]
        bins = [(n, max(cost, 1e-9), width) for n, cost, width in bins]
        slope, level = _power_law(bins, self.queries)
        # The sum over the queries, by their integral.
        a, b = self.queries + 0.5, queries + 0.5
        flat = level * (b ** (slope + 1) - a ** (slope + 1)) / (slope + 1)
        steep = sum(
            part * self.queries**-power * (b ** (power + 1) - a ** (power + 1)) / (power + 1)
            for power, part in enumerate(_polynomial(bins, self.queries))
        )
        return Seconds(math.sqrt(flat * steep), min(flat, steep), max(flat, steep))


def _power_law(bins: Sequence[tuple[float, float, int]], queries: int) -> tuple[float, float]:
    """(slope, level) of cost = level n^slope: the slope by least squares in the logarithms over the
    last quarter of the measured range and more (n >= queries / 4), the level over its last half."""
    last = [item for item in bins if item[0] >= queries / 4] or list(bins[-1:])
    total = sum(width for *_, width in last)
    x = [math.log(n) for n, *_ in last]
    y = [math.log(cost) for _, cost, _ in last]
    w = [width / total for *_, width in last]
    mx, my = (sum(a * b for a, b in zip(w, v, strict=True)) for v in (x, y))
    spread = sum(a * (b - mx) ** 2 for a, b in zip(w, x, strict=True))
    slope = 0.0
    if spread > 0:
        slope = sum(a * (b - mx) * (c - my) for a, b, c in zip(w, x, y, strict=True)) / spread
    slope = min(max(slope, 0.0), LARGEST_SLOPE)
    end = [item for item in last if item[0] >= queries / 2] or last[-1:]
    total = sum(width for *_, width in end)
    level = sum(width * (math.log(c) - slope * math.log(n)) for n, c, width in end) / total
    return slope, math.exp(level)


def _polynomial(
    bins: Sequence[tuple[float, float, int]], queries: int
) -> tuple[float, float, float]:
    """(a, b, c) of cost = a + b (n/N) + c (n/N)², N = ``queries``, none negative: least squares of the
    relative residuals over n >= N / 8."""
    import numpy as np
    from scipy.optimize import nnls

    n, cost, width = np.array([item for item in bins if item[0] >= queries / 8] or bins[-1:]).T
    weights = np.sqrt(width) / cost
    powers = (n[:, None] / queries) ** np.arange(3)
    a, b, c = nnls(powers * weights[:, None], cost * weights)[0]
    return float(a), float(b), float(c)
