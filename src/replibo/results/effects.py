"""Effect sizes with intervals, detectable effects, and tests of whether two readings differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from replibo.problems.base import Array
from replibo.results.intervals import (
    CONFIDENCE,
    Interval,
    contrast_interval,
    share_interval,
    student_quantile,
)

POWER = 0.8

DEVIATIONS = "standard deviations"
BEYOND = "standard deviations beyond the limit"
WINS = "share of wins above ½"
TRIMMED_BEYOND = "trimmed mean beyond the limit"
IN_DEVIATIONS = (DEVIATIONS, BEYOND)

UNITS = {
    DEVIATIONS: (
        "A difference of two means, in standard deviations over the seeds. 0 means equal means. If "
        "the seeds hardly differ, it is huge, and we say only that it is more than 20."
    ),
    BEYOND: (
        "How far a mean lies on the claimed side of the claim's limit, in standard deviations over "
        "the seeds. 0 means just at the limit."
    ),
    WINS: (
        "The share of the cases that agree with the claim, minus one half. A case is a seed or a "
        "pair of runs in which the two sides differ; ties do not count. It lies between −0.5 (none "
        "agrees) and +0.5 (all agree). 0 means that half of them agree."
    ),
    "difference of shares": (
        "One share minus the other. It lies between −1 and +1. 0 means equal shares."
    ),
    "difference of medians": (
        "One median minus the other, in the unit of the values. 0 means equal medians."
    ),
    "difference of means": (
        "One mean minus the other, in the unit of the values. 0 means equal means."
    ),
    "difference of trimmed means": (
        "One mean minus the other, in the unit of the values; a fifth of the values at each end is "
        "left out. 0 means equal means."
    ),
    TRIMMED_BEYOND: (
        "How far a mean lies on the claimed side of the claim's limit, in the unit of the values; a "
        "fifth of the values at each end is left out. 0 means just at the limit."
    ),
    "share above the least": (
        "A share minus the smallest one that agrees with the claim. It lies between −1 and +1. 0 "
        "means just this smallest share."
    ),
    "log ratio of spreads": (
        "The natural logarithm of the ratio of two standard deviations over the seeds. 0 means "
        "equal deviations; at 0.69 one is twice the other."
    ),
    "exponent below the limit": (
        "The largest exponent that agrees with the claim, minus the measured one. 0 means that they "
        "are equal."
    ),
    "quarter of the fall − change": (
        "A quarter of the first fall of the loss, minus the size of its last change. 0 means that "
        "the change is just a quarter of the fall."
    ),
    "fall of the log variance": (
        "How much the natural logarithm of the variance over the seeds falls from one N to the "
        "next. 0 means no fall; at 1.39 the standard deviation halves."
    ),
    "difference of deviations": (
        "One standard deviation of the regret minus the other. 0 means equal deviations."
    ),
    "log time ratio beyond the factor": (
        "The natural logarithm of a ratio of CPU times, minus that of the claim's factor. It is "
        "positive as claimed. 0 means that the ratio is just the factor."
    ),
}
"""The units of effects. For each: what the effect is, its range if it has one, and what 0 means."""

LARGE = 1e9
"""So many degrees of freedom that Student's distribution is the normal one."""

LARGEST = 20.0
"""Standard deviations beyond which only this number is said: the seeds hardly differ."""

Sample = Mapping[int, float]
"""A number for each seed."""


@dataclass(frozen=True)
class Effect:
    """The size of a difference, positive in the claimed direction.

    Attributes:
        value, low, high: the difference with its 95 % interval.
        n: the sizes of the samples behind it.
        error, freedom: the difference's standard error, and its degrees of freedom.
        unit: of all these numbers; one of `UNITS`.
        printed: the paper's own effect in this unit; None if it prints none.
        equality: whether the claim is that the difference is near 0. It has then no claimed sign.
        samples: independent samples by seed, whose means add up to the difference in the measure's own
            unit; empty if it is no sum of means. They are not written to files.
    """

    value: float
    low: float
    high: float
    n: tuple[int, ...]
    error: float
    freedom: float
    unit: str = DEVIATIONS
    printed: float | None = None
    equality: bool = False
    samples: Annotated[tuple[Sample, ...], Field(exclude=True)] = field(
        default=(), compare=False, repr=False
    )

    def within(self, margin: float) -> bool:
        """Whether the interval shows that the difference is below ``margin`` either way."""
        return self.unit == DEVIATIONS and -margin < self.low and self.high < margin

    @property
    def by_t_test(self) -> bool:
        """Whether a t-test against 0 belongs to it: it is no share of wins, and no equality."""
        return not self.equality and self.unit != WINS

    def detectable(self, level: float) -> float:
        """The true difference that a one-sided t-test at ``level`` shows with probability 80 %: t of
        1 − level plus t of 0.8 standard errors."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, [1 - level, POWER]).sum()) * self.error

    def __str__(self) -> str:
        value, low, high = (shown(end, self.unit) for end in (self.value, self.low, self.high))
        off_scale = self.unit in IN_DEVIATIONS and (self.low > LARGEST or self.high < -LARGEST)
        text = f"{short(self.unit)} {value}" + ("" if off_scale else f" [{low}, {high}]")
        return text + (f" (paper {self.printed:+.2f})" if self.printed is not None else "")


def short(unit: str) -> str:
    """A unit as it stands before a value: d for standard deviations."""
    return "d" if unit == DEVIATIONS else unit


def shown(value: float, unit: str) -> str:
    """A number in a unit: ``+0.52``, or ``more than +20`` standard deviations."""
    if unit in IN_DEVIATIONS and abs(value) > LARGEST:
        return f"{'more' if value > 0 else 'less'} than {math.copysign(LARGEST, value):+g}"
    return f"{value + 0:+.2f}".replace("-0.00", "+0.00")


def of_interval(
    interval: Interval, unit: str, samples: Sequence[Sample] = (), sizes: Sequence[int] = ()
) -> Effect | None:
    """The effect of a difference with its interval; None if this has no ends. The ``sizes`` of samples
    are those of the interval if none are given."""
    ends, freedom = interval.ends, interval.n - 1
    if not all(map(math.isfinite, ends)):
        return None
    error = float(interval.half_width) / student_quantile(freedom)
    n = tuple(sizes) or (interval.n,)
    return Effect(*ends, n, error, freedom, unit, samples=tuple(samples))


def of_samples(
    less: Array,
    more: Array,
    *,
    paired: bool,
    seeds: Sequence[Sequence[int]] = (),
    unit: str = DEVIATIONS,
) -> Effect | None:
    """How much larger ``more`` is than ``less`` in standard deviations, as claimed: of the differences
    if paired (d_z), else pooled (Cohen's d; Hedges and Olkin's interval, 1985). None with fewer than two
    values, or without spread.

    Args:
        seeds: of the two samples; their places if it is empty.
        unit: one of `IN_DEVIATIONS`.
    """
    n, m = len(less), len(more)
    if min(n, m) < 2:
        return None
    first, second = (
        dict(zip(seeds[i] if seeds else range(len(sample)), sample.tolist(), strict=True))
        for i, sample in enumerate((-less, more))
    )
    samples: tuple[Sample, ...]
    if paired:
        values = more - less
        mean, sd, freedom = float(values.mean()), float(values.std(ddof=1)), n - 1
        scale, sizes = 1 / n, [n]
        samples = ({seed: first[seed] + second[seed] for seed in first},)
    else:
        squares = (n - 1) * less.var(ddof=1) + (m - 1) * more.var(ddof=1)
        mean, freedom = float(more.mean() - less.mean()), n + m - 2
        sd, scale = math.sqrt(squares / freedom), 1 / n + 1 / m
        sizes, samples = [n, m], (first, second)
    if not sd > 1e-12 * (abs(mean) + max(np.abs(less).max(), np.abs(more).max())):
        return None
    d = mean / sd
    half = student_quantile(freedom) * math.sqrt(scale + d**2 / (2 * sum(sizes)))
    error = math.sqrt(scale)
    return Effect(d, d - half, d + half, tuple(sizes), error, freedom, unit, samples=samples)


def of_share(wins: int, losses: int, samples: Sequence[Sample]) -> Effect | None:
    """The excess of the share of wins over one half (Wilson's interval); None without cases."""
    if not (n := wins + losses):
        return None
    share = share_interval(wins, n)
    value, low, high = (float(end) - 0.5 for end in (share.mean, share.low, share.high))
    error, unit = 0.5 / math.sqrt(n), WINS
    return Effect(value, low, high, (n,), error, LARGE, unit, samples=tuple(samples))


def differ(printed: Sequence[Effect | None], other: Sequence[Effect | None], scaled: bool) -> bool:
    """Whether two readings differ in an effect: printed minus other, paired by seed, has a 95 % interval
    without 0 (Welch's, corrected by Bonferroni for the number of comparisons).

    Args:
        scaled: in standard deviations of each reading, for readings that measure something else.
    """
    pairs = [
        (a, b)
        for a, b in zip(printed, other, strict=False)
        if a and b and a.samples and len(a.samples) == len(b.samples)
    ]
    if len(printed) != len(other) or not pairs:
        return False
    confidence = 1 - (1 - CONFIDENCE) / len(pairs)
    for a, b in pairs:
        units = [_scale(effect.samples) if scaled else 1.0 for effect in (a, b)]
        differences = [
            np.array([x[s] / units[0] - y[s] / units[1] for s in sorted(x.keys() & y.keys())])
            for x, y in zip(a.samples, b.samples, strict=True)
        ]
        if min(map(len, differences)) < 2:
            continue
        interval = contrast_interval(differences, [1.0] * len(differences), confidence)
        if interval.low > 0 or interval.high < 0:
            return True
    return False


def _scale(samples: Sequence[Sample]) -> float:
    """The pooled standard deviation of samples; 1 if they have none."""
    variances = [np.var(list(sample.values()), ddof=1) for sample in samples if len(sample) > 1]
    return math.sqrt(float(np.mean(variances))) or 1.0 if variances else 1.0
