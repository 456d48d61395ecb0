"""Parts that the papers' figures, tables and measures share: labels, checks of runs, outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError, allowed
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError, Outcome, Undecided
from replibo.results.effects import Sample, of_interval
from replibo.results.intervals import Interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def initial_points_of(runs: Runs, problems: Iterable[str]) -> str:
    """The number of initial points of some problems, or the numbers."""
    return " or ".join(map(str, sorted({runs.initial_points(problem) for problem in problems})))


def shown_by(runs: Runs, entry: FigureEntry, diagnostic: str | None = None) -> dict[str, list[str]]:
    """The problems that an output shows, with the algorithms run on each; those alone whose runs hold
    the ``diagnostic``, if one is named.

    Raises:
        RepliboError: there are none.
    """
    names_by_problem = {
        problem: algorithms
        for problem in runs.problems(entry.problems)
        if (algorithms := runs.algorithms(problem, entry.algorithms, diagnostic))
    }
    if not names_by_problem and diagnostic:
        raise RepliboError(f"no run holds {diagnostic}")
    if not names_by_problem:
        raise RepliboError(
            f"there are no runs on {allowed(entry.problems or runs.entry.problems)}; at least one method "
            f"must have been run{' (' + allowed(entry.algorithms) + ')' if entry.algorithms else ''}"
        )
    return names_by_problem


def cpu_seconds(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds of all runs of a problem and algorithm, imports not counted; NaN where nothing was
    recorded."""
    timings = timings_of(runs, problem, algorithm)
    return float(timings["cpu_seconds"]) if timings else math.nan


def cpu_seconds_a_query(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds over the queries that the algorithm chose; NaN if nothing was recorded."""
    timings = timings_of(runs, problem, algorithm)
    initial = runs.initial_points(problem) if runs.entry.first_round == "search" else 0
    queries = timings.get("queries", 0) - timings.get("runs", 0) * initial
    return cpu_seconds(runs, problem, algorithm) / queries if queries else math.nan


def cpu_seconds_by_query(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """The growth of a query's mean CPU seconds: the number of the query in the middle of each bin,
    and its seconds. The bins are those of `replibo.run.collect.timings` without the first. Both are
    empty if nothing was recorded."""
    timings = timings_of(runs, problem, algorithm)
    bins = {int(first): seconds for first, seconds in timings.get("profile", {}).items()}
    if not bins:
        return np.empty(0), np.empty(0)
    edges = np.array([*bins, timings["queries"] // timings["runs"] + 1], dtype=float)
    seconds = np.array(list(bins.values())) / timings["runs"] / np.diff(edges)
    return (edges[:-1] + edges[1:] - 1)[1:] / 2, seconds[1:]


def timings_of(runs: Runs, problem: str, algorithm: str) -> dict[str, Any]:
    """What was recorded of the CPU times of all runs of a problem and algorithm; empty if nothing was."""
    timings: dict[str, Any] = runs.metadata.get("timings", {}).get(f"{problem}/{algorithm}", {})
    return timings


def named(runs: Runs, problem: str, algorithm: str) -> dict[str, Any]:
    """The first cells of a table's row: the labels of a problem and algorithm, and the number of
    seeds."""
    return {
        "problem": runs.problem_label(problem),
        "algorithm": runs.label(algorithm),
        "seeds": len(runs.seeds(problem, algorithm)),
    }


def labelled_rows(
    runs: Runs, entry: FigureEntry, names_by_problem: Mapping[str, Sequence[str]] | None = None
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each problem and algorithm that a table shows (`shown_by`, or ``names_by_problem``), with the first
    cells of its row (`named`)."""
    shown = shown_by(runs, entry) if names_by_problem is None else names_by_problem
    for problem, names in shown.items():
        for name in names:
            yield problem, name, named(runs, problem, name)


# Curves


Summary = tuple[Array, Interval]
"""Rounds, and the curve with its interval (NaN if there is none), ``n`` each."""


def mean_and_deviation(values: Array) -> Interval:
    """The mean over the seeds ± one standard deviation, of ``seeds x n``."""
    return Interval.around(values.mean(axis=0), standard_deviation(values), len(values))


def problem_panels(
    runs: Runs,
    names_by_problem: Mapping[str, Sequence[str]],
    summary: Callable[[Runs, str, str], Summary],
    *,
    labels: tuple[str, str],
    columns: int = 2,
    step: bool = False,
    logarithmic_x: bool = False,
) -> tuple[Figure, dict[str, Axes]]:
    """Draw the curves of each problem in a panel; the figure, and the panel of each problem.

    Args:
        names_by_problem: for each problem its algorithms.
        summary: the curve of a problem and algorithm.
        labels, columns: of the two axes, the most panels in a row.
        step: as of `plotting.draw`.
    """
    figure, axes = plotting.grid(len(names_by_problem), columns)
    panels = dict(zip(names_by_problem, axes, strict=True))
    for problem, ax in panels.items():
        if logarithmic_x:
            ax.set_xscale("log")
        draw_problem(ax, runs, problem, names_by_problem, summary, labels=labels, step=step)
    return figure, panels


def draw_problem(
    ax: Axes,
    runs: Runs,
    problem: str,
    names_by_problem: Mapping[str, Sequence[str]],
    summary: Callable[[Runs, str, str], Summary],
    *,
    labels: tuple[str, str],
    step: bool = False,
) -> None:
    """Draw the curves of one problem, and say in what its runs are smaller than configured.

    Arguments as of `problem_panels`.
    """
    curves = []
    for name in names_by_problem[problem]:
        t, interval = summary(runs, problem, name)
        ends = (interval.mean, interval.low, interval.high)
        curves.append(plotting.Curve(runs.entry.algorithms[name], t, *ends))
    plotting.draw(ax, curves, bands=plotting.has_bands(names_by_problem), step=step)
    ax.set_title(runs.problem_label(problem))
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", integer=True)
    else:
        plotting.plain_numbers(ax, "x")
    if not plotting.has_bands(names_by_problem):
        plotting.end_axis_at(ax, max(curve.t[-1] for curve in curves))
    notes = [", ".join(runs.reductions([problem], names_by_problem[problem]))]
    if lacking := runs.lacking(problem, dict.fromkeys(itertools.chain(*names_by_problem.values()))):
        notes.append(f"not run: {', '.join(lacking)}")
    plotting.say_in_panel(ax, notes)


# Outcomes of comparisons


def outcome(supported: bool, contradicted: bool) -> Outcome:
    """Supported, else contradicted, else open."""
    return "supported" if supported else "contradicted" if contradicted else "open"


def tested(
    text: str,
    difference: Interval,
    unit: str,
    samples: Sequence[Sample] = (),
    sizes: Sequence[int] = (),
) -> Undecided:
    """The test of a difference that is claimed to be positive, by the method of its interval.

    ``unit``, ``samples`` and ``sizes`` as of `replibo.results.effects.of_interval`."""
    effect = of_interval(difference, unit, samples, sizes)
    return Undecided(text, float(difference.p_above), float(difference.p_below), effect)


def with_missing(comparisons: Sequence[Comparison], missing: Iterable[str]) -> list[Comparison]:
    """The comparisons, and an open one that names what was not run.

    Raises:
        MissingRunsError: nothing can be compared.
    """
    text = f"not run: {'; '.join(missing) or 'with a seed in common'}"
    if not comparisons:
        raise MissingRunsError(text)
    return [*comparisons, Comparison("open", text)] if missing else [*comparisons]


def shown_difference(interval: Interval, digits: str = "+.3f") -> str:
    """``difference +0.100 [+0.050, +0.150]``; of one seed without an interval."""
    value, low, high = (format(end, digits) for end in interval.ends)
    return f"difference {value}" + ("" if math.isnan(interval.low) else f" [{low}, {high}]")


def of_each_baseline(
    runs: Runs,
    problems: Iterable[str],
    algorithm: str,
    baselines: Sequence[str],
    compare: Callable[[str, str], Undecided | Comparison],
) -> list[Undecided | Comparison]:
    """The comparison of an algorithm with each baseline on each problem; open if that was not run.

    Args:
        compare: of a problem and a baseline that was run on it.

    Raises:
        MissingRunsError: ``algorithm`` or every baseline was not run on a problem.
    """
    comparisons: list[Undecided | Comparison] = []
    for problem in problems:
        runs.require(problem, algorithm)
        if not runs.algorithms(problem, baselines):
            raise MissingRunsError(f"no baseline was run on {problem}")
        for baseline in baselines:
            if runs.has(problem, baseline):
                comparisons.append(compare(problem, baseline))
            else:
                text = f"{runs.problem_label(problem)}: {runs.label(baseline)} was not run"
                comparisons.append(Comparison("open", text))
    return comparisons
