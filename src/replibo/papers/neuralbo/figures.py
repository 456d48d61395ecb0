"""The best value so far against the iteration: Figures 1, 4 and 5 of NeuralBO (Phan-Trong, Tran-The and
Gupta 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from replibo.config.models import FigureEntry, Rounds
from replibo.papers.common import (
    Summary,
    initial_points_of,
    mean_and_deviation,
    problem_panels,
    shown_by,
)
from replibo.papers.neuralbo.traces import largest_so_far
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.intervals import Interval, student_interval
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Spread = Literal["deviation", "quartiles", "interval"]


def _quartiles(values: Array) -> Interval:
    """The median over the seeds, and the quartiles; NaN of a single seed."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    n = len(values)
    return Interval(middle, low, high, n) if n > 1 else Interval.around(middle, np.nan, n)


SPREADS = {
    "deviation": ("mean", "± one standard deviation", mean_and_deviation),
    "quartiles": ("median", "the quartiles", _quartiles),
    "interval": ("mean", "Student's 95 % interval of the mean", student_interval),
}


def best_so_far(
    runs: Runs,
    entry: FigureEntry,
    *,
    value: str = "smallest value so far",
    largest: bool = False,
    spread: Spread = "deviation",
    columns: int = 4,
    rounds: Rounds | None = None,
    simple_regret: bool = False,
) -> Figure:
    """Draw the best noise-free value so far against the iteration, a panel for each problem.

    Args:
        value: the label of the y axis.
        largest: the largest f; otherwise the smallest value of -f, as the paper minimises.
        spread: which interval over the seeds to draw.
        columns: the most panels in a row.
        rounds: the last round to show; None shows all.
        simple_regret: draw the value above the optimum on a logarithmic axis, where the optimum is known.
    """
    if rounds is not None:
        runs = runs.until(rounds)
    optima = {name: facts["optimal_value"] for name, facts in runs.metadata["problems"].items()}
    problems = shown_by(runs, entry)
    if simple_regret:
        problems = {p: names for p, names in problems.items() if optima[p] is not None}
    middle, kind, summarise = SPREADS[spread]

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        t, f = largest_so_far(runs, problem, name)
        best = summarise(f)
        if (optimum := optima[problem]) is not None:  # no value exceeds it
            best = best.cut(most=optimum)
        if largest:
            return t, best
        zero = optimum if simple_regret else 0.0
        return t, Interval(zero - best.mean, zero - best.high, zero - best.low, best.n)

    label = "simple regret" if simple_regret else value
    labels = ("iteration $t$", label)
    figure, panels = problem_panels(runs, problems, summary, labels=labels, columns=columns)
    if simple_regret:
        for ax in panels.values():
            plotting.logarithmic(ax)
    of_dimension = all(runs.initial_points(p) == runs.dim(p) + 1 for p in problems)
    initial = "D + 1" if of_dimension else initial_points_of(runs, problems)
    smallest = "" if largest else ", without noise, as the paper minimises"
    regret = ", the smallest value so far without noise minus the optimum"
    caption = (
        f"{entry.caption} {label[0].upper()}{label[1:]}{regret if simple_regret else smallest}: {middle} "
        f"over the seeds, {plotting.intervals_said(problems, kind)}. t = 0 is the best of the "
        f"{initial} initial points, which all methods of a seed share. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)
