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
        part of the time makes too flat, and a fixed part plus one that grows with the square, which
        noise makes too steep. Their geometric mean is expected, and they are its bounds. On the
        LB-GP-UCB paper's 74 measured pairs of problem and algorithm (T = 250, 10 or 20 runs), the
        predicted time of the whole run was, as a share of the real one:

        ======= ==================== ==================== ====================
        from    power law            square               geometric mean
        ======= ==================== ==================== ====================
        T = 20  0.13 to 1.51         0.16 to 7.47         0.16 to 3.35
        T = 60  0.29 to 1.17         0.57 to 2.12         0.45 to 1.56
        T = 120 0.56 to 1.05         0.69 to 1.31         0.65 to 1.16
        ======= ==================== ==================== ====================

        and of the sum over all pairs 0.89, 0.84 and 0.94 for the geometric mean (the mean query's
        time, of T = 60: 0.69).
        """
        ends = (*self.first[1:], self.queries + 1)
        bins = [
            ((first + end - 1) / 2, seconds / (end - first), end - first)
            for first, end, seconds in zip(self.first, ends, self.seconds, strict=True)
        ][1:] or [((self.queries + 1) / 2, sum(self.seconds) / self.queries, self.queries)]
        bins = [(n, max(cost, 1e-9), width) for n, cost, width in bins]
        slope, level = _power_law(bins, self.queries)
        fixed, square = _fixed_and_square(bins, self.queries)
        # The sum over the queries, by their integral.
        a, b = self.queries + 0.5, queries + 0.5
        flat = level * (b ** (slope + 1) - a ** (slope + 1)) / (slope + 1)
        steep = fixed * (b - a) + square * (b**3 - a**3) / 3
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


def _fixed_and_square(
    bins: Sequence[tuple[float, float, int]], queries: int
) -> tuple[float, float]:
    """(a, b) of cost = a + b n², neither negative: least squares of the relative residuals."""
    last = [item for item in bins if item[0] >= queries / 8] or list(bins[-1:])
    weighted = sorted((n * n, cost, width / cost**2) for n, cost, width in last)

    def total(power: int, of_cost: int) -> float:
        return sum(w * x**power * c**of_cost for x, c, w in weighted)

    s0, s1, s2, t0, t1 = total(0, 0), total(1, 0), total(2, 0), total(0, 1), total(1, 1)
    determinant = s0 * s2 - s1 * s1
    if len(last) > 1 and determinant > 1e-12 * s0 * s2:
        a, b = (s2 * t0 - s1 * t1) / determinant, (s0 * t1 - s1 * t0) / determinant
        if a >= 0 and b >= 0:
            return a, b
        if a < 0:
            return 0.0, t1 / s2
    return t0 / s0, 0.0
