"""Confidence intervals, on SciPy: Wald, Student, Wilson, jackknife, bootstrap, permutation.

Where there are too few values for an interval its ends are NaN; where there are none, or one is not a
finite number, a `RepliboError` of one line is raised. ``scipy.stats`` is imported late
(`replibo.results.statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replibo.problems.base import Array
from replibo.results.statistics import finite, standard_error
from replibo.streams import generator

CONFIDENCE = 0.95
"""Of all intervals, except where a paper names its own."""


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean (or another statistic) with its confidence interval.

    Attributes:
        mean, low, high: arrays of one shape, of no dimension if there is a single interval. ``low`` and
            ``high`` are NaN where ``n`` is too small to know them.
        n: number of values behind each mean.
        p_above, p_below: one-sided p-values of the statistic's lying above 0, and below, by the method
            of the interval; NaN where it gives none.
    """

    mean: Array
    low: Array
    high: Array
    n: int
    p_above: Array = field(default_factory=lambda: np.asarray(math.nan))
    p_below: Array = field(default_factory=lambda: np.asarray(math.nan))

    @property
    def half_width(self) -> Array:
        """Half the interval's length."""
        return np.asarray((self.high - self.low) / 2)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Mean, low and high of a single interval."""
        return float(self.mean), float(self.low), float(self.high)

    @classmethod
    def around(cls, mean: ArrayLike, half: ArrayLike, n: int) -> Interval:
        """``mean ± half``."""
        middle = np.asarray(mean, dtype=float)
        return cls(middle, np.asarray(middle - half), np.asarray(middle + half), n)

    @classmethod
    def of_student(
        cls,
        mean: ArrayLike,
        error: ArrayLike,
        freedom: ArrayLike,
        n: int,
        confidence: float = CONFIDENCE,
    ) -> Interval:
        """``mean ± t·error``, and Student's p-values; NaN without degrees of ``freedom``."""
        from scipy.special import stdtr, stdtrit

        degrees = np.where(np.asarray(freedom) > 0, freedom, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            half = stdtrit(degrees, (1 + confidence) / 2) * np.asarray(error)
            t = np.where(np.equal(mean, 0), 0.0, np.divide(mean, error))
        above, below = (np.asarray(stdtr(degrees, sign * t)) for sign in (-1, 1))
        return replace(cls.around(mean, half, n), p_above=above, p_below=below)

    def __getitem__(self, i: int) -> Interval:
        """The interval of one element, without p-values."""
        return Interval(self.mean[i], self.low[i], self.high[i], self.n)

    def cut(self, least: float = -math.inf, most: float = math.inf) -> Interval:
        """The interval with its ends cut off at what is possible."""
        low, high = (np.clip(end, least, most) for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    def __neg__(self) -> Interval:
        """The interval and p-values of minus the statistic."""
        return replace(
            self,
            mean=-self.mean,
            low=-self.high,
            high=-self.low,
            p_above=self.p_below,
            p_below=self.p_above,
        )


def wald_interval(samples: ArrayLike, confidence: float) -> Interval:
    """Wald's interval of the mean over the first axis, mean ± z·s/√n, as GO-UCB's error bars (98 %:
    z = 2.326); NaN where n = 1.

    The quantile is the normal one, not Student's, so small samples are covered too rarely: at 98 %,
    normal samples of n = 100, 20 and 10 are covered by 97.8, 96.9 and 95.5 % of the intervals.
    """
    values = finite(samples, "samples")
    half = normal_quantile(confidence) * standard_error(values)
    return Interval.around(values.mean(axis=0), half, len(values))


def student_interval(samples: ArrayLike) -> Interval:
    """Student's interval of the mean over the first axis, mean ± t·s/√n; NaN where n = 1."""
    values = finite(samples, "samples")
    n = len(values)
    return Interval.of_student(values.mean(axis=0), standard_error(values), n - 1, n)


def jackknife_interval(
    values: NDArray[Any], statistic: Callable[[NDArray[Any]], Array]
) -> Interval:
    """A statistic of R runs with Student's interval, by the jackknife's standard error: the spread of the
    statistic over the R sets that leave one run out.

    Args:
        values: ``R x …``.
        statistic: of ``r x …`` to an array; NaN where r is too small for it.
    """
    R = len(values)
    mean = statistic(values)
    if R == 1:
        return Interval.around(mean, math.nan, 1)
    without = np.array([statistic(np.delete(values, i, axis=0)) for i in range(R)])
    error = np.sqrt((R - 1) / R * np.sum((without - without.mean(axis=0)) ** 2, axis=0))
    return Interval.of_student(mean, error, R - 1, R)


def trimmed_mean(values: Array, trim: float) -> Array:
    """The mean over the first axis without the share ``trim`` of the values at each end."""
    if not trim:
        return np.asarray(values.mean(axis=0))
    from scipy.stats import trim_mean

    return np.asarray(trim_mean(values, trim))


def contrast_interval(
    samples: Sequence[Array],
    weights: Sequence[float],
    confidence: float = CONFIDENCE,
    trim: float = 0.0,
) -> Interval:
    """A weighted sum of the means of independent samples, with Welch and Satterthwaite's interval and
    one-sided p-values; NaN if a sample has one value.

    Args:
        samples: ``n_i x …`` each.
        weights: one for each sample.
        trim: of trimmed means, whose variance is that of the values with the trimmed ones moved to the
            nearest that stay (Yuen 1974).
    """
    cuts = [int(trim * len(sample)) for sample in samples]
    sizes = [len(sample) - 2 * cut for sample, cut in zip(samples, cuts, strict=True)]
    mean = sum(w * trimmed_mean(sample, trim) for w, sample in zip(weights, samples, strict=True))
    total = sum(map(len, samples))
    if min(sizes) < 2:
        return Interval.around(mean, math.nan, total)
    parts = []
    for w, sample, cut, n in zip(weights, samples, cuts, sizes, strict=True):
        ordered = np.sort(sample, axis=0)
        moved = np.clip(ordered, ordered[cut], ordered[len(sample) - 1 - cut])
        squares = np.sum((moved - moved.mean(axis=0)) ** 2, axis=0)
        parts.append(w**2 * squares / (n * (n - 1)))
    variance = np.asarray(sum(parts))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
    freedom = np.where(variance > 0, freedom, 1.0)
    return Interval.of_student(mean, np.sqrt(variance), freedom, total, confidence)


def stratified_interval(values: Array, strata: Array) -> Interval:
    """The mean over the first axis, of a sample that was drawn within fixed ``strata``:
    `contrast_interval` of these. NaN if one has a single value, whose spread nothing tells.

    A percentile bootstrap of five values a stratum is too narrow: it has 4/5 of their variance.
    """
    groups = [values[strata == name] for name in np.unique(strata)]
    return contrast_interval(groups, [len(group) / len(values) for group in groups])


PERMUTATIONS = 9_999
"""Of the tests of spreads."""


def by_permutation(value: Array, by_chance: Array, n: int) -> Interval:
    """A statistic that is 0 by symmetry if nothing differs, with the interval and p-values of its values
    `by_chance`."""
    with np.errstate(invalid="ignore"):  # some are infinite
        low, high = value - np.quantile(by_chance, [(1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2])
    above, below = (
        np.asarray((1 + np.sum(sign * by_chance >= sign * value)) / (1 + len(by_chance)))
        for sign in (1, -1)
    )
    return Interval(np.asarray(value), np.asarray(low), np.asarray(high), n, above, below)


def spread_trend(samples: Sequence[Array]) -> Interval:
    """The slope of ln s² over the places of independent samples, with an interval and p-values by
    permutation.

    The values less the median of their sample change places at random. In simulations of five samples
    of 20 values, each far off with a probability of 0 to 15 %, it rejects a true null hypothesis at 5 %
    in 3 to 6 % of the cases, in either direction. The jackknife of ln s² (Miller 1968) does in up to
    20 %: a sample with one such value has a larger variance, and looks as if it had a trend.

    Returns:
        NaN with fewer than two samples, or a sample with fewer than three different values.
    """
    if len(samples) < 2 or any(len(set(sample.tolist())) < 3 for sample in samples):
        return Interval.around(math.nan, math.nan, 1)
    sizes = np.array([len(sample) for sample in samples])
    place = np.arange(len(sizes)) - np.average(np.arange(len(sizes)), weights=sizes)
    weights = sizes * place / (sizes @ place**2)

    def slope(parts: Sequence[Array]) -> Array:
        variances = np.array([part.var(axis=-1, ddof=1) for part in parts])
        return np.asarray(weights @ np.log(np.maximum(variances, np.finfo(float).tiny)))

    values = np.concatenate([sample - np.median(sample) for sample in samples])
    rng = generator("intervals", "spread trend")
    moved = rng.permuted(np.tile(values, (PERMUTATIONS, 1)), axis=1)
    by_chance = slope(np.split(moved, np.cumsum(sizes)[:-1], axis=1))
    return by_permutation(slope(samples), by_chance, int(sizes.sum()) - len(sizes) + 1)


def spread_ratio(first: Array, last: Array) -> Interval:
    """ln of the standard deviation of ``first`` over that of ``last``, of pairs, with an interval and
    p-values by permutation.

    The two values of a pair, each less the median of its side, change places at random. Pitman and
    Morgan's test (1939), which is for normal values, takes two values far off on one side for p < 1e-40.

    Returns:
        NaN with fewer than three pairs, or if neither side varies; no interval if one does not.
    """
    n = len(first)
    if n < 3 or not (np.ptp(first) or np.ptp(last)):
        return Interval.around(math.nan, math.nan, n)

    def ratio(a: Array, b: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(a.std(axis=1) / b.std(axis=1)))

    return of_pairs(first - np.median(first), last - np.median(last), ratio)


def of_pairs(first: Array, second: Array, statistic: Callable[[Array, Array], Array]) -> Interval:
    """A statistic that changes its sign where two samples change places, with an interval and p-values by
    exchanging the two values of each pair: in all ways up to 13 pairs, at random beyond.

    Args:
        first, second: ``n x …``, of the same shape.
        statistic: of two arrays ``m x n x …`` to ``m`` values.
    """
    n = len(first)
    if 2**n <= PERMUTATIONS:  # all ways but the one that was seen
        moved = (np.arange(1, 2**n)[:, None] >> np.arange(n)) % 2 == 1
    else:
        moved = generator("intervals", "pairs").random((PERMUTATIONS, n)) < 0.5
    moved = moved.reshape(*moved.shape, *[1] * (first.ndim - 1))
    by_chance = statistic(np.where(moved, second, first), np.where(moved, first, second))
    return by_permutation(statistic(first[None], second[None])[0], by_chance, n)


def bootstrap_median_interval(
    samples: Sequence[Array], resamples: int, rng: np.random.Generator
) -> Interval:
    """The median of one sample, or the difference of the medians of two paired ones, with its percentile
    bootstrap interval; NaN if n = 1.

    Args:
        samples: one or two arrays of ``n`` values, in the same order of seeds.
        rng: the same state for all methods that are to be resampled together.
    """

    def statistic(*resampled: Array, axis: int = -1) -> Array:
        medians = [np.median(sample, axis=axis) for sample in resampled]
        return np.asarray(medians[0] if len(medians) == 1 else medians[0] - medians[1])

    n, value = len(samples[0]), statistic(*samples)
    if n == 1:
        return Interval.around(value, math.nan, 1)
    from scipy.stats import bootstrap

    result = bootstrap(
        tuple(samples),
        statistic,
        n_resamples=resamples,
        vectorized=True,
        paired=len(samples) > 1,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=rng,
    )
    low, high = result.confidence_interval
    # p: the shares of the resampled values on the other side of 0, the sample itself counted
    above, below = (
        np.asarray((1 + np.sum(sign * result.bootstrap_distribution <= 0)) / (1 + resamples))
        for sign in (1, -1)
    )
    return Interval(value, np.asarray(low), np.asarray(high), n, above, below)


def share_interval(successes: int, n: int) -> Interval:
    """Wilson's interval of a share (JASA 1927), which is right near 0 and 1, too. The share lies in the
    interval, but not in its middle."""
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(CONFIDENCE, method="wilson")
    low, high = np.asarray(interval.low), np.asarray(interval.high)
    return Interval(np.asarray(successes / n), low, high, n)


def normal_quantile(confidence: float) -> float:
    """z such that N(0, 1) lies in [-z, z] with probability ``confidence``."""
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def student_quantile(freedom: float) -> float:
    """t such that Student's distribution lies in [-t, t] with probability `CONFIDENCE`."""
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1), (1 + CONFIDENCE) / 2))
