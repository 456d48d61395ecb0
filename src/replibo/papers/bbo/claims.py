"""The measures of the BBO paper's claims (Fu et al. 2024, section 5; ``config/claims/``).

The tests and their correction are those of all papers (`replibo.results.comparisons`). Problems of
different N share no random numbers, so they are compared as independent samples. EI and UCB on one
problem share initial points, initial weights and batches, so they are compared in pairs of the same
seed. "Independent" is meant given the validation and the test set, which are the same in all runs.
The three T of a claim share runs (prefixes), so that their verdicts do not confirm each other
independently.

A cell (T, N) that was not run is an open comparison of its own, so that a claim never holds on a part of
its table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from replibo.errors import RepliboError, allowed
from replibo.papers.bbo.printed import (
    ACQUISITIONS,
    PERFORMANCE,
    STEPS,
    equal_cost,
    half_of_largest,
    iterations_of,
)
from replibo.papers.bbo.traces import REPORTED, Cell, Reading, reading_of
from replibo.papers.common import label_of, tested
from replibo.problems.base import Array
from replibo.results import statistics
from replibo.results.comparisons import (
    LEVEL,
    Comparison,
    MissingRunsError,
    Undecided,
    decided,
    sign_tested,
    t_tested,
)
from replibo.results.effects import of_interval
from replibo.results.intervals import contrast_interval, spread_trend, student_interval
from replibo.results.runs import Runs
from replibo.results.tables import p_value

MARGIN = 0.25
"""A curve has levelled off where it changes by less than this share of its fall before. The printed
tables of UCB change by .15, .17 and -.03 of it."""

NO_WORSE = 1.1
"""UCB is "at least as good" as EI if its loss is less than this many times EI's; the margin is ours."""

EI_AND_UCB = tuple(ACQUISITIONS)


def _shown(cell: Cell) -> str:
    """``0.31 ± 0.04 (5 seeds)``, mean and standard deviation."""
    sd = "" if math.isnan(cell.sd) else f" ± {cell.sd:.2g}"
    return f"{cell.mean:.3g}{sd} ({len(cell.seeds)} seed{'s' * (len(cell.seeds) != 1)})"


def _check_steps(steps: Sequence[int]) -> None:
    for value in steps:
        if value not in STEPS:
            raise RepliboError(f"options.steps: must be {allowed(STEPS)}, got {value!r}")


def _table_by_table(
    steps: Sequence[int],
    compare: Callable[[int], tuple[list[Comparison], list[str]]],
) -> list[Comparison]:
    """The comparisons of each T, and an open one that names what was not run.

    Args:
        compare: of one T, the comparisons and the cells that are missing.

    Raises:
        MissingRunsError: nothing can be compared.
    """
    _check_steps(steps)
    comparisons, missing = [], []
    for value in steps:
        found, absent = compare(value)
        comparisons += found
        missing += absent
    absent = list(dict.fromkeys(missing))
    if not comparisons:
        raise MissingRunsError(f"not run: {'; '.join(absent) or 'any such cell'}")
    if absent:
        comparisons.append(Comparison("open", f"not run: {'; '.join(absent)}"))
    return comparisons


def _between(
    runs: Runs,
    steps: int,
    algorithms: Sequence[str],
    numbers: tuple[int, int],
    reading: Reading,
) -> tuple[list[tuple[str, Cell, Cell]], list[str]]:
    """The cells of two N at one T, for each algorithm that has both, and the missing ones."""
    found, missing = [], []
    for algorithm in algorithms:
        pair = [reading.cell(runs, algorithm, steps, n) for n in numbers]
        label = label_of(runs, algorithm)
        if pair[0] is not None and pair[1] is not None:
            found.append((label, pair[0], pair[1]))
        missing += [
            f"{label}, T = {steps}, N = {n}"
            for n, cell in zip(numbers, pair, strict=True)
            if cell is None
        ]
    return found, missing


def _changed(
    runs: Runs,
    steps: int,
    algorithms: Sequence[str],
    numbers: tuple[int, int],
    reading: Reading,
    claimed: Literal["smaller", "larger"],
) -> tuple[list[Comparison], list[str]]:
    """Welch's tests, at one T, that the performance at the second of two N is what is claimed, for each
    algorithm that has both; and the missing cells."""
    pairs, missing = _between(runs, steps, algorithms, numbers, reading)
    tests = []
    for label, first, second in pairs:
        text = (
            f"{label}, T = {steps}: {_shown(first)} at N = {numbers[0]}, {_shown(second)} at "
            f"N = {numbers[1]}"
        )
        pair = (second, first) if claimed == "smaller" else (first, second)
        tests.append(
            t_tested(
                text,
                *(cell.values for cell in pair),
                paired=False,
                seeds=[cell.seeds.tolist() for cell in pair],
            )
        )
    return decided(tests), missing


# Claim 1


def improves_at_first(
    runs: Runs,
    *,
    steps: Sequence[int] = STEPS,
    algorithms: Sequence[str] = EI_AND_UCB,
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """At fixed T the performance is better (smaller) at half of the table's largest N than at its
    smallest: Welch's test, for each acquisition function."""

    def compare(t: int) -> tuple[list[Comparison], list[str]]:
        numbers = iterations_of(t)[0], half_of_largest(t)
        return _changed(runs, t, algorithms, numbers, reading_of(reading), "smaller")

    return _table_by_table(steps, compare)


# Claim 2


def turns_up(
    runs: Runs,
    *,
    steps: Sequence[int] = STEPS,
    since: int | None = None,
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """At fixed T the performance is worse (larger) at the table's largest N than at the one before, or at
    N = ``since``: Welch's test."""

    def compare(t: int) -> tuple[list[Comparison], list[str]]:
        before, largest = iterations_of(t)[-2:]
        numbers = before if since is None else since, largest
        return _changed(runs, t, ("gp_ei",), numbers, reading_of(reading), "larger")

    return _table_by_table(steps, compare)


def levels_off(
    runs: Runs,
    *,
    steps: Sequence[int] = STEPS,
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """At fixed T the performance changes little from the N before the largest to the largest: by less
    than `MARGIN` times its fall from the smallest N to the one before the largest.

    By the test of `levelling`, at each T.
    """

    def compare(t: int) -> tuple[list[Comparison], list[str]]:
        numbers = iterations_of(t)
        smallest, before, largest = numbers[0], *numbers[-2:]
        read = reading_of(reading)
        ends, missing = _between(runs, t, ("gp_ucb",), (before, largest), read)
        starts, absent = _between(runs, t, ("gp_ucb",), (smallest, before), read)
        firsts = {label: first for label, first, _ in starts}
        tests = []
        for label, second, last in ends:
            if label not in firsts:
                continue
            first = firsts[label]
            text = (
                f"{label}, T = {t}: a fall of {first.mean - second.mean:.3g} to N = {before}, then a "
                f"change of {last.mean - second.mean:+.3g} from {_shown(second)} to {_shown(last)} at "
                f"N = {largest}"
            )
            seeds = [cell.seeds.tolist() for cell in (first, second, last)]
            tests.append(levelling(text, first.values, second.values, last.values, seeds))
        return decided(tests), [*absent, *missing]

    return _table_by_table(steps, compare)


def levelling(
    text: str, first: Array, before: Array, last: Array, seeds: Sequence[Sequence[int]] = ()
) -> Undecided:
    """The test that the last of three samples changes little from the one before.

    Both contrasts MARGIN·(first - before) ± (last - before) of the means are above 0 (Welch's tests of
    contrasts; the larger p). Contradicted where one of them is shown to be below 0 (twice the smaller
    p): the change is larger, or there is no fall.

    In simulations of five seeds it supports a change of the margin in 5 %, and contradicts it in 3 %.
    After a fall of eight standard deviations it supports no change in 74 %. With the printed means
    and deviations it would support the claim in 10, 0 and 1 % (T = 20, 40, 60): five seeds are few.
    """
    values = (first, before, last)
    weights = [(MARGIN, -MARGIN - sign, sign) for sign in (1, -1)]
    both = [contrast_interval(values, contrast, 0.95) for contrast in weights]
    i = int(np.argmax([float(np.nan_to_num(interval.p_above, nan=1.0)) for interval in both]))
    samples = [
        dict(zip(names, (weight * own).tolist(), strict=True))
        for names, weight, own in zip(seeds, weights[i], values, strict=False)
    ]
    return Undecided(
        text,
        float(both[i].p_above),
        2 * min(float(own.p_below) for own in both),
        of_interval(both[i], "quarter of the fall − change", samples, [len(own) for own in values]),
    )


# Claim 3


def ucb_at_least_as_good(
    runs: Runs, *, steps: Sequence[int] = STEPS, reading: str | Reading = REPORTED
) -> list[Comparison]:
    """At equal (T, N) UCB is no worse than EI in most cells, up to the factor `NO_WORSE`.

    A comparison for each T. The sign test over the pairs (N, seed) asks whether UCB's loss is less
    than `NO_WORSE` times EI's in more than half of them. Given the fixed validation and test sets
    the pairs are independent. The text counts the cells by their means, and names those with a
    difference by paired t-tests, Holm's p-values within the table.
    """

    def compare(t: int) -> tuple[list[Comparison], list[str]]:
        pairs, missing = _paired_cells(runs, t, reading_of(reading))
        if not pairs:
            return [], missing
        better = sum(int(np.sum(ucb < ei)) for _, ei, ucb in pairs)
        no_worse = sum(int(np.sum(ucb < NO_WORSE * ei)) for _, ei, ucb in pairs)
        worse = sum(int(np.sum(ucb > NO_WORSE * ei)) for _, ei, ucb in pairs)
        means = sum(float(ucb.mean()) <= float(ei.mean()) for _, ei, ucb in pairs)
        printed = [n for n, _, _ in pairs if _printed_ucb_is_at_least_as_good(t, n)]
        text = (
            f"T = {t}: UCB's mean is at most EI's in {means} of {len(pairs)} cells "
            f"({len(printed)} of them in the paper); of {sum(len(ei) for _, ei, _ in pairs)} pairs "
            f"UCB is better in {better}, and worse by more than {NO_WORSE - 1:.0%} in {worse}"
        )
        (found,) = decided([sign_tested(text, no_worse, worse)])
        return [replace(found, ours=f"{found.ours}; {_single_cells(pairs)}")], missing

    return _table_by_table(steps, compare)


def _printed_ucb_is_at_least_as_good(steps: int, iterations: int) -> bool:
    ei, ucb = (PERFORMANCE[name][steps][iterations][0] for name in EI_AND_UCB)
    return ucb <= ei


def _paired_cells(
    runs: Runs, steps: int, reading: Reading
) -> tuple[list[tuple[int, Array, Array]], list[str]]:
    """For each N at one T: EI's and UCB's values on the seeds that both have; and what is missing."""
    pairs, missing = [], []
    for n in iterations_of(steps):
        ei, ucb = (reading.cell(runs, name, steps, n) for name in EI_AND_UCB)
        if ei is None or ucb is None:
            missing.append(f"T = {steps}, N = {n}")
            continue
        common = np.intersect1d(ei.seeds, ucb.seeds)
        if not len(common):
            missing.append(f"T = {steps}, N = {n} with a seed in common")
            continue
        pairs.append(
            (n, ei.values[np.isin(ei.seeds, common)], ucb.values[np.isin(ucb.seeds, common)])
        )
    return pairs, missing


def _single_cells(pairs: Sequence[tuple[int, Array, Array]]) -> str:
    """Which cells differ, by paired t-tests: ``single cells: UCB better at N = 100 (p 0.0100)``."""
    tests = [statistics.t_tests(ucb, ei, paired=True) for _, ei, ucb in pairs]
    shown = []
    for i, word in enumerate(("better", "worse")):
        p_values = statistics.holm([p[i] for p in tests])
        cells = [
            f"{n} (p {p_value(p)})"
            for (n, _, _), p in zip(pairs, p_values, strict=True)
            if p < LEVEL
        ]
        if cells:
            shown.append(f"UCB {word} at N = {', '.join(cells)}")
    return f"single cells: {'; '.join(shown) or 'no difference shown'}"


# Claim 4


def spread_shrinks(
    runs: Runs,
    *,
    steps: Sequence[int] = STEPS,
    algorithms: Sequence[str] = EI_AND_UCB,
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """At fixed T the standard deviation over the seeds shrinks with N: the trend of the log variance
    (`intervals.spread_trend`), for each acquisition function.

    Each table, of one T and acquisition function, is a claim and a family of its own.
    """

    def compare(t: int) -> tuple[list[Comparison], list[str]]:
        read, tests, missing = reading_of(reading), [], []
        for algorithm in algorithms:
            label = label_of(runs, algorithm)
            cells = read.cells(runs, algorithm, t)
            ran = {cell.iterations for cell in cells}
            missing += [f"{label}, T = {t}, N = {n}" for n in iterations_of(t) if n not in ran]
            if len(cells) < 2:
                continue
            trend = spread_trend([cell.values for cell in cells], 0.95)
            ends = [
                f"{cell.sd:.2g} ({cell.sd / cell.mean:.0%} of the mean) at N = {cell.iterations}"
                for cell in (cells[0], cells[-1])
            ]
            text = (
                f"{label}, T = {t}: deviation {' and '.join(ends)}, a factor of "
                f"{math.exp(trend.mean / 2):.2f} from one N to the next of {len(cells)}"
            )
            sizes = [len(cell.values) for cell in cells]
            tests.append(tested(text, -trend, "fall of the log variance", sizes=sizes))
        return [found for test in tests for found in decided([test])], missing

    return _table_by_table(steps, compare)


# Claim 5


def advised_horizon(
    runs: Runs,
    *,
    power: int = 1,
    constant: float = 1.0,
    algorithms: Sequence[str] = EI_AND_UCB,
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """The cell nearer to the paper's advice is better, over all pairs of cells with equal T·N (SGD
    steps in total).

    The advice is N ≍ T (``power`` 1; section 4.2) or, if the loss is not convex, N ≍ T² (``power`` 2;
    section F.1). The nearer cell has the smaller |log(N/(constant T^power))|. The paper has no constant.
    All cells have N ≥ 5 T. So for N ≍ T the nearer cell has the larger T, for each constant up to 12. For
    N ≍ T² it has the larger T in all pairs below 0.88, and the smaller T above 1.77.

    Per seed the mean over the pairs of ln(performance of the nearer / of the other), which is the same at
    any level of performance; Student's t-test of the seeds. Pairs share runs (a run to the smaller T is
    the beginning of that to the larger), which the mean over a seed's pairs allows for.
    """
    if power not in (1, 2):
        raise RepliboError(f"options.power: must be 1 or 2, got {power}")
    if not 0 < constant < math.inf:
        raise RepliboError(f"options.constant: must be a number above 0, got {constant}")
    read = reading_of(reading)
    tests, missing = [], []
    for algorithm in algorithms:
        label = label_of(runs, algorithm)
        logs: list[dict[int, float]] = []
        for pair in equal_cost():
            near, far = (
                read.cell(runs, algorithm, *cell)
                for cell in sorted(
                    pair, key=lambda at: distance_to_advice(at[0], at[1], power, constant)
                )
            )
            if near is None or far is None:
                missing.append(f"{label}, {pair[0][0] * pair[0][1]} SGD steps")
                continue
            values = [
                dict(zip(cell.seeds.tolist(), np.log(cell.values), strict=True))
                for cell in (near, far)
            ]
            logs.append(
                {
                    seed: values[0][seed] - values[1][seed]
                    for seed in values[0].keys() & values[1].keys()
                }
            )
        common = sorted(set.intersection(*(set(own) for own in logs))) if logs else []
        if not common:
            continue
        means = np.array([np.mean([own[seed] for own in logs]) for seed in common])
        interval = student_interval(means, 0.95)
        text = (
            f"{label}, {len(logs)} pairs: the nearer's loss or error is {math.exp(interval.mean):.2f} "
            f"times the other's [{math.exp(interval.low):.2f}, {math.exp(interval.high):.2f}] "
            f"({len(common)} seeds)"
        )
        tests.append(
            t_tested(text, means, np.zeros_like(means), paired=True, seeds=[common, common])
        )
    if not tests:
        raise MissingRunsError(f"not run: {'; '.join(missing)}")
    absent = [Comparison("open", f"not run: {'; '.join(missing)}")] if missing else []
    return decided(tests) + absent


def more_steps_help(
    runs: Runs,
    *,
    steps: Sequence[int],
    iterations: int,
    algorithms: Sequence[str],
    reading: str | Reading = REPORTED,
) -> list[Comparison]:
    """At N = ``iterations`` the performance is better at the second T of ``steps`` than at the
    first. The t-tests are paired by seed, as the run to the smaller T is the beginning of the
    longer one."""
    read = reading_of(reading)
    tests, missing = [], []
    for algorithm in algorithms:
        label = label_of(runs, algorithm)
        first, second = (read.cell(runs, algorithm, t, iterations) for t in steps)
        if first is None or second is None:
            missing.append(f"{label}, N = {iterations}, T = {steps[1]}")
            continue
        text = (
            f"{label}, N = {iterations}: {_shown(first)} at T = {steps[0]}, {_shown(second)} at "
            f"T = {steps[1]}"
        )
        tests.append(
            t_tested(
                text,
                second.values,
                first.values,
                paired=True,
                seeds=[second.seeds.tolist(), first.seeds.tolist()],
            )
        )
    if missing:
        raise MissingRunsError(f"not run: {'; '.join(missing)}")
    return decided(tests)


def distance_to_advice(steps: int, iterations: int, power: int, constant: float = 1.0) -> float:
    """|log(N/(constant T^power))|."""
    return abs(math.log(iterations / (constant * steps**power)))
