"""The measures of the BBO paper's claims (Fu et al. 2024, section 5; ``config/claims/``).

The tests and their correction are those of all papers (`replibo.results.comparisons`). Problems of
different N share no random numbers, so they are compared as independent samples. EI and UCB on one
problem share initial points, initial weights and batches, so they are compared in pairs of the same
seed. "Independent" is meant given the validation and the test set, which are the same in all runs.
The three T of a claim share runs (prefixes), so that their verdicts do not confirm each other
independently.

Claims 1 to 3 and 6 compare means, which the tables print. A rare stuck run can decide them: with
``trimmed`` they compare means without the `TRIMMED` share of the runs at each end (Yuen 1974).

A cell (T, N) that was not run is an open comparison of its own, so that a claim never holds on a part of
its table.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from replibo.papers.bbo.printed import (
    ACQUISITIONS,
    Steps,
    equal_cost,
    half_of_largest,
    iterations_of,
)
from replibo.papers.bbo.traces import READINGS, Cell, ReadingName, shown_ratio
from replibo.papers.common import tested, with_missing
from replibo.problems.base import Array
from replibo.results.comparisons import (
    Comparison,
    MissingRunsError,
    Undecided,
    decided,
    t_tested,
    together,
)
from replibo.results.effects import BEYOND, DEVIATIONS, TRIMMED_BEYOND
from replibo.results.intervals import contrast_interval, spread_trend, trimmed_mean
from replibo.results.runs import Runs, of_common_seeds

MARGIN = 0.25
"""A curve has levelled off where it changes by less than this share of its fall before. The printed
tables of UCB change by .15, .17 and -.03 of it."""

TRIMMED = 0.2
"""The share of the runs that a trimmed mean leaves out at each end."""

NO_WORSE = 1.1
"""UCB is "at least as good" as EI if its loss is less than this many times EI's; the margin is ours."""


def _by_algorithm(
    runs: Runs,
    algorithms: Iterable[str],
    steps: int,
    numbers: Sequence[int],
    reading: ReadingName,
    test: Callable[[str, Sequence[Cell]], Undecided],
    least: int | None = None,
) -> list[Comparison]:
    """Decide on one test for each algorithm, of its cells with some N at one T; an open comparison names
    the cells that were not run.

    Args:
        test: of the text ``EI, T = 20`` and the cells that were run, in the order of ``numbers``.
        least: the cells that a test needs; all if it is None.
    """
    tests, missing = [], []
    for algorithm in algorithms:
        label = f"{runs.label(algorithm)}, T = {steps}"
        cells = {n: READINGS[reading].cell(runs, algorithm, steps, n) for n in numbers}
        ran = [cell for cell in cells.values() if cell is not None]
        missing += [f"{label}, N = {n}" for n, cell in cells.items() if cell is None]
        if len(ran) >= (least or len(cells)):
            tests.append(test(label, ran))
    return with_missing(decided(tests), missing)


def _smaller(
    text: str,
    less: Array,
    more: Array,
    *,
    paired: bool,
    trimmed: bool,
    seeds: Sequence[Sequence[int]] = (),
    unit: str = DEVIATIONS,
) -> Undecided:
    """The test of mean(less) < mean(more), by seed or Welch's; of trimmed means Yuen's.

    Args:
        seeds, unit: of `t_tested`; ``unit`` is `BEYOND` if ``more`` is a limit.
    """
    if not trimmed:
        return t_tested(text, less, more, paired=paired, seeds=seeds, unit=unit)
    samples = [more - less] if paired else [more, less]
    interval = contrast_interval(samples, (1.0, -1.0)[: len(samples)], trim=TRIMMED)
    shift = TRIMMED_BEYOND if unit == BEYOND else "difference of trimmed means"
    return tested(text, interval, shift, sizes=[len(sample) for sample in samples])


def _changes(label: str, cells: Sequence[Cell], *, falls: bool, trimmed: bool) -> Undecided:
    """The test that the mean of the second cell is smaller than that of the first, or larger."""
    less, more = reversed(cells) if falls else cells
    text = f"{label}: {cells[0].at_its_n}, {cells[1].at_its_n}"
    seeds = [less.seeds.tolist(), more.seeds.tolist()]
    return _smaller(text, less.values, more.values, paired=False, trimmed=trimmed, seeds=seeds)


# Claim 1


def improves_at_first(
    runs: Runs, *, steps: Steps, reading: ReadingName = "reported", trimmed: bool = False
) -> list[Comparison]:
    """At fixed T the performance is better (smaller) at half of the table's largest N than at its
    smallest: Welch's test, for each acquisition function."""
    numbers = iterations_of(steps)[0], half_of_largest(steps)
    test = functools.partial(_changes, falls=True, trimmed=trimmed)
    return _by_algorithm(runs, ACQUISITIONS, steps, numbers, reading, test)


# Claim 2


def turns_up(
    runs: Runs,
    *,
    steps: Steps,
    since: int | None = None,
    reading: ReadingName = "reported",
    trimmed: bool = False,
) -> list[Comparison]:
    """At fixed T the performance is worse (larger) at the table's largest N than at the one before, or at
    N = ``since``: Welch's test."""
    before, largest = iterations_of(steps)[-2:]
    test = functools.partial(_changes, falls=False, trimmed=trimmed)
    return _by_algorithm(runs, ("gp_ei",), steps, (since or before, largest), reading, test)


def levels_off(
    runs: Runs, *, steps: Steps, reading: ReadingName = "reported", trimmed: bool = False
) -> list[Comparison]:
    """At fixed T the performance changes little from the N before the largest to the largest: by less
    than `MARGIN` times its fall from the smallest N to the one before the largest.

    By the test of `levelling`. A stuck run in 350 would move the mean at T = 60 by the margin, and 20
    seeds cannot exclude one: of trimmed means they can.
    """
    trim = TRIMMED if trimmed else 0.0

    def test(label: str, cells: Sequence[Cell]) -> Undecided:
        first, before, last = cells
        ends = [float(trimmed_mean(cell.values, trim)) for cell in cells]
        text = (
            f"{label}: a fall of {ends[0] - ends[1]:.3g} to N = {before.iterations}, then a "
            f"change of {ends[2] - ends[1]:+.3g} from {before} to {last.at_its_n}"
        )
        seeds = [cell.seeds.tolist() for cell in cells]
        return levelling(text, first.values, before.values, last.values, seeds, trim)

    smallest, *_, before, largest = iterations_of(steps)
    return _by_algorithm(runs, ("gp_ucb",), steps, (smallest, before, largest), reading, test)


def levelling(
    text: str,
    first: Array,
    before: Array,
    last: Array,
    seeds: Sequence[Sequence[int]] = (),
    trim: float = 0.0,
) -> Undecided:
    """The test that the last of three samples differs little from the second.

    Both contrasts MARGIN·(first - before) ± (last - before) of the means are above 0 (Welch's tests of
    contrasts). Contradicted if one of them is shown to be below 0: the change is larger, or there is
    no fall.

    In simulations of five seeds it supports a change of the margin in 5 %, and contradicts it in 3 %.
    After a fall of eight standard deviations it supports no change in 74 %. With the printed means
    and deviations it would support the claim in 10, 0 and 1 % (T = 20, 40, 60): five seeds are few.
    """
    values = (first, before, last)
    sizes = [len(sample) for sample in values]
    tests = []
    for sign in (1, -1):
        weights = (MARGIN, -MARGIN - sign, sign)
        # a trimmed mean is no mean of all seeds
        samples = [
            dict(zip(ids, (weight * sample).tolist(), strict=True))
            for ids, weight, sample in zip(seeds if not trim else (), weights, values, strict=False)
        ]
        interval = contrast_interval(values, weights, trim=trim)
        tests.append(tested(text, interval, "quarter of the fall − change", samples, sizes))
        text = ""
    return together(tests)


# Claim 3


def ucb_at_least_as_good(
    runs: Runs, *, steps: Steps, reading: ReadingName = "reported", trimmed: bool = False
) -> list[Comparison]:
    """At fixed T and equal N the mean loss of UCB is less than `NO_WORSE` times that of EI: a t-test
    paired by seed for each N of the table."""
    tests, missing = [], []
    for n in iterations_of(steps):
        ei, ucb = (READINGS[reading].cell(runs, name, steps, n) for name in ACQUISITIONS)
        if ei is None or ucb is None:
            missing.append(f"T = {steps}, N = {n}")
            continue
        seeds, pair = of_common_seeds((cell.seeds, cell.values) for cell in (ei, ucb))
        if not len(seeds):
            missing.append(f"T = {steps}, N = {n} with a seed in common")
            continue
        lead = NO_WORSE * pair[0] - pair[1]
        text = f"T = {steps}, N = {n}: {ucb} with UCB, {ei} with EI"
        zeros, both = np.zeros_like(lead), [seeds.tolist()] * 2
        test = _smaller(text, zeros, lead, paired=True, trimmed=trimmed, seeds=both, unit=BEYOND)
        tests.append(test)
    return with_missing(decided(tests), missing)


# Claim 4


def spread_shrinks(
    runs: Runs, *, steps: Steps, algorithm: str, reading: ReadingName = "reported"
) -> list[Comparison]:
    """At fixed T the standard deviation over the seeds shrinks with N: the trend of the log variance
    (`intervals.spread_trend`).

    Each table, of one T and acquisition function, is a claim and a family of its own.
    """

    def test(label: str, cells: Sequence[Cell]) -> Undecided:
        trend = spread_trend([cell.values for cell in cells])
        ends = [
            f"{cell.sd:.2g} ({cell.sd / cell.mean:.0%} of the mean) at N = {cell.iterations}"
            for cell in (cells[0], cells[-1])
        ]
        text = (
            f"{label}: deviation {' and '.join(ends)}, a factor of "
            f"{math.exp(trend.mean / 2):.2f} from one N to the next of {len(cells)}"
        )
        sizes = [len(cell.values) for cell in cells]
        return tested(text, -trend, "fall of the log variance", sizes=sizes)

    return _by_algorithm(runs, (algorithm,), steps, iterations_of(steps), reading, test, least=2)


# Claim 5


def advised_horizon(
    runs: Runs,
    *,
    power: Literal[1, 2] = 1,
    constant: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0,
    reading: ReadingName = "reported",
) -> list[Comparison]:
    """The cell nearer to the paper's advice is better, in each pair of cells with equal T·N (SGD steps in
    total).

    The advice is N ≍ T (``power`` 1; section 4.2) or, if the loss is not convex, N ≍ T² (``power`` 2;
    section F.1). The nearer cell has the smaller |log(N/(constant T^power))|. The paper has no constant.
    All cells have N ≥ 5 T. So for N ≍ T the nearer cell has the larger T, for each constant up to 12. For
    N ≍ T² it has the larger T in all pairs below 0.88, and the smaller T above 1.77.

    ln(performance of the nearer / of the other), which is the same at any level of performance: Student's
    t-test of the seeds.
    """
    tests, missing = [], []
    for algorithm, pair in itertools.product(ACQUISITIONS, equal_cost()):
        near, far = sorted(pair, key=lambda at: distance_to_advice(at[0], at[1], power, constant))
        label = f"{runs.label(algorithm)}, {near[0] * near[1]:,} SGD steps"
        cells = [READINGS[reading].cell(runs, algorithm, t, n) for t, n in (near, far)]
        ran = [(cell.seeds, np.log(cell.values)) for cell in cells if cell is not None]
        if len(ran) < 2 or not len(np.intersect1d(ran[0][0], ran[1][0])):
            missing.append(label)
            continue
        seeds, logs = of_common_seeds(ran)
        ratios = logs[0] - logs[1]
        ratio, interval = shown_ratio(ratios)
        text = f"{label}: with T = {near[0]} the loss or error is {ratio} times that with T = {far[0]} "
        zeros, both = np.zeros_like(ratios), [seeds.tolist()] * 2
        tests.append(t_tested(text + interval, ratios, zeros, paired=True, seeds=both))
    return with_missing(decided(tests), missing)


def distance_to_advice(steps: int, iterations: int, power: int, constant: float = 1.0) -> float:
    """|log(N/(constant T^power))|."""
    return abs(math.log(iterations / (constant * steps**power)))


def more_steps_help(
    runs: Runs,
    *,
    steps: Sequence[int],
    iterations: int,
    algorithm: str,
    reading: ReadingName = "reported",
    trimmed: bool = False,
) -> list[Comparison]:
    """At N = ``iterations`` the performance is better at the second T of ``steps`` than at the
    first. The t-test is paired by seed, as the run to the smaller T is the beginning of the longer
    one."""
    label = f"{runs.label(algorithm)}, N = {iterations}"
    first, second = (READINGS[reading].cell(runs, algorithm, t, iterations) for t in steps)
    if first is None or second is None:
        raise MissingRunsError(f"not run: {label}, T = {steps[1]}")
    text = f"{label}: {first} at T = {steps[0]}, {second} at T = {steps[1]}"
    seeds = [second.seeds.tolist(), first.seeds.tolist()]
    less, more = second.values, first.values
    return decided([_smaller(text, less, more, paired=True, trimmed=trimmed, seeds=seeds)])
