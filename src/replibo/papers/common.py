"""Parts that the papers' figures, tables and measures share: labels, checks of runs, outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import MissingRunsError, Outcome, Undecided
from replibo.results.effects import Sample, of_interval
from replibo.results.intervals import Interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bounds = tuple[Array, Array, Array]


def label_of(runs: Runs, algorithm: str) -> str:
    """An algorithm's name in figures and tables; its name in the config where it has no entry."""
    known = runs.entry.algorithms
    return known[algorithm].label if algorithm in known else algorithm


def problem_label(runs: Runs, problem: str) -> str:
    """A problem's title in figures and tables; its name in the config where it has no entry."""
    known = runs.entry.problems
    return known[problem].label if problem in known else problem


def initial_points_of(runs: Runs, problems: Iterable[str]) -> str:
    """The number of initial points of some problems, or the numbers."""
    return " or ".join(map(str, sorted({runs.initial_points(problem) for problem in problems})))


def require(runs: Runs, problem: str, *algorithms: str) -> None:
    """Raise a `MissingRunsError` where one of the algorithms was not run on the problem."""
    if missing := [name for name in algorithms if not runs.has(problem, name)]:
        raise MissingRunsError(f"{', '.join(missing)} was not run on {problem}")


def runs_of_type(
    runs: Runs, entry: FigureEntry, task: str, *problem_types: str
) -> dict[str, list[str]]:
    """The problems of some types that an output shows, with the algorithms that were run on each.

    Args:
        task: what the problems are called in the message.
        problem_types: as in the config, e.g. ``coco.Bbob``.

    Raises:
        RepliboError: there are none.
    """
    found = {
        problem: algorithms
        for problem in runs.problems(entry.problems)
        if runs.entry.problems[problem].type in problem_types
        and (algorithms := runs.algorithms(problem, entry.algorithms))
    }
    if not found:
        raise RepliboError(f"there are no runs {task}; at least one method must have been run")
    return found


def cpu_seconds(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds of all runs of a problem and algorithm, imports not counted; NaN where nothing was
    recorded."""
    timings = _timings(runs, problem, algorithm)
    return float(timings["cpu_seconds"]) if timings else math.nan


def cpu_seconds_a_query(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds over the queries that the algorithm chose; NaN where nothing was recorded."""
    timings = _timings(runs, problem, algorithm)
    initial = runs.initial_points(problem) if runs.entry.first_round == "search" else 0
    asked = timings.get("queries", 0) - timings.get("runs", 0) * initial
    return cpu_seconds(runs, problem, algorithm) / asked if asked else math.nan


def cpu_seconds_by_query(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """The growth of a query's mean CPU seconds: the number of the query in the middle of each bin,
    and its seconds. The bins are those of `replibo.run.collect.timings` without the first. Both are
    empty if nothing was recorded."""
    timings = _timings(runs, problem, algorithm)
    bins = {int(first): seconds for first, seconds in timings.get("profile", {}).items()}
    if not bins:
        return np.empty(0), np.empty(0)
    edges = np.array([*bins, timings["queries"] // timings["runs"] + 1], dtype=float)
    seconds = np.array(list(bins.values())) / timings["runs"] / np.diff(edges)
    return (edges[:-1] + edges[1:] - 1)[1:] / 2, seconds[1:]


def _timings(runs: Runs, problem: str, algorithm: str) -> dict[str, Any]:
    found: dict[str, Any] = runs.metadata.get("timings", {}).get(f"{problem}/{algorithm}", {})
    return found


# Curves


Summary = tuple[Array, Array, Array, Array]
"""Rounds, curve, and the two ends of its interval (NaN if there is none), ``n`` each."""


def mean_and_deviation(values: Array, low: float = -np.inf, high: float = np.inf) -> Bounds:
    """The mean over the seeds ± one standard deviation, cut off at what is possible.

    Args:
        values: ``seeds x n``.
    """
    deviation = standard_deviation(values)
    return plotting.plus_minus(values.mean(axis=0), deviation, low, high)


def mean_and_interval(interval: Interval) -> Bounds:
    """The mean, and the ends of its interval."""
    return interval.mean, interval.low, interval.high


def draw_problem(
    ax: Axes,
    runs: Runs,
    problem: str,
    shown: Mapping[str, Sequence[str]],
    summary: Callable[[Runs, str, str], Summary],
    *,
    labels: tuple[str, str],
    step: bool = False,
    title: str = "",
) -> None:
    """Draw the curves of one problem, and say in what its runs are smaller than configured.

    Args:
        shown: for each problem of the figure its algorithms.
        summary: the curve of a problem and algorithm.
        labels: of the x and the y axis.
        step: as of `plotting.draw`.
        title: in place of the problem's label.
    """
    curves = [
        plotting.Curve(runs.entry.algorithms[name], *summary(runs, problem, name))
        for name in shown[problem]
    ]
    plotting.draw(ax, curves, bands=plotting.has_bands(shown), step=step)
    ax.set_title(title or problem_label(runs, problem))
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", integer=True)
    else:
        plotting.plain_numbers(ax, "x")
    if not plotting.has_bands(shown):
        plotting.end_axis_at(ax, max(curve.t[-1] for curve in curves))
    notes = [", ".join(runs.reductions([problem], shown[problem]))]
    if lacking := runs.lacking(problem, plotting.in_legend(shown)):
        notes.append(f"not run: {', '.join(lacking)}")
    plotting.say_in_panel(ax, notes)


# Outcomes of comparisons


def outcome(supported: bool, contradicted: bool) -> Outcome:
    """Supported, else contradicted, else open."""
    return "supported" if supported else "contradicted" if contradicted else "open"


def tested(
    text: str, difference: Interval, samples: Sequence[Sample] = (), unit: str = "difference"
) -> Undecided:
    """The test of a difference that is claimed to be positive, by the method of its interval.

    Args:
        samples: by seed, whose means add up to the difference (`replibo.results.effects.Effect`).
        unit: of the difference, in words.
    """
    effect = of_interval(difference, unit, samples)
    return Undecided(text, float(difference.p_above), float(difference.p_below), effect)


def shown_difference(interval: Interval, digits: str = "+.3f") -> str:
    """``difference +0.100 [+0.050, +0.150]``."""
    value, low, high = (
        format(float(end), digits) for end in (interval.mean, interval.low, interval.high)
    )
    return f"difference {value} [{low}, {high}]"


def ran_or_required(
    runs: Runs, problem: str, algorithm: str, baselines: Sequence[str]
) -> list[str]:
    """The baselines that were run on a problem.

    Raises:
        MissingRunsError: ``algorithm`` or every baseline was not run.
    """
    require(runs, problem, algorithm)
    ran = runs.algorithms(problem, list(baselines))
    if not ran:
        raise MissingRunsError(f"no baseline was run on {problem}")
    return ran
