"""Beyond NeuralBO's paper: does its network win because it peaks at the centre of the box?

Without a bias and with y as observed, NeuralBO's network is 0 at the centre of the box and below 0
around it where all y are below 0. Ackley's optimum is the centre, Levy's lies beside it. The controls are
the same functions with their optimum elsewhere (`replibo.problems.synthetic.Shifted`), one query at the
centre followed by random search, and the factorial study of what takes the peak away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from replibo.config.models import FigureEntry
from replibo.papers.common import (
    Summary,
    labelled_rows,
    mean_and_deviation,
    problem_panels,
    shown_by,
)
from replibo.papers.neuralbo.synthetic import DIVERGED
from replibo.papers.neuralbo.traces import final_values_of, mean_cells
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCE = "distance_to_centre"
"""The diagnostic that `replibo.problems.synthetic.Synthetic` records."""

WINDOW = 10
"""Queries over which the distance is averaged."""

VALUES = ("smallest value, mean", "standard deviation")


def distances(runs: Runs, problem: str, algorithm: str) -> Array:
    """Distance of each query after the initial points from the centre, ``seeds x T``: 1 at a corner, NaN
    where not recorded."""
    values = runs.held(problem, algorithm, DISTANCE)
    if values is None:
        values = np.full_like(runs.f(problem, algorithm), np.nan)
    return values[:, runs.initial_points(problem) :]


def figure_1_centre_distance(
    runs: Runs, entry: FigureEntry, *, rounds: int | None = None
) -> Figure:
    """How far the queries lie from the centre up to a round, a function and its sister side by side."""
    runs = runs if rounds is None else runs.until(rounds)
    problems = shown_by(runs, entry, DISTANCE)

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        values = distances(runs, problem, name)
        width = min(WINDOW, values.shape[1])
        smooth = sliding_window_view(values, width, axis=1).mean(axis=2)
        t = np.arange(float(width), values.shape[1] + 1)
        return t, mean_and_deviation(smooth).cut(0.0)

    labels = ("iteration $t$", "distance to the centre")
    figure, panels = problem_panels(runs, problems, summary, labels=labels)
    for ax in panels.values():
        plotting.from_zero(ax)
    caption = (
        f"{entry.caption} Root mean square of a query's coordinates in [−1, 1]ᴰ: 0 at the centre, 1 at a "
        f"corner, about 0.58 at uniform points; mean over the seeds and the last {WINDOW} queries, "
        f"{plotting.intervals_said(problems, '± one standard deviation over the seeds')}. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def _finals(runs: Runs, problem: str, name: str, rounds: int) -> dict[str, float]:
    """T, mean and standard deviation of the values after T ``rounds``."""
    values = final_values_of(runs, problem, name, rounds)
    return {"T": rounds} | mean_cells("smallest value", values)


def centre_final(runs: Runs, entry: FigureEntry) -> Table:
    """What each method reached on a function and on its sister after as many rounds; where it asked."""
    distance = "distance to the centre, last 10 queries"
    problems = shown_by(runs, entry)
    order = entry.problems or list(problems)
    last: dict[str, int] = {}  # T: the smaller one of a function and its sister
    for i in range(0, len(order), 2):
        ran = [problem for problem in order[i : i + 2] if problem in problems]
        last |= dict.fromkeys(ran, min(map(runs.horizon, ran), default=0))
    rows = [
        {
            **row,
            **_finals(runs, problem, name, rounds := last[problem]),
            distance: float(distances(runs, problem, name)[:, :rounds][:, -WINDOW:].mean()),
        }
        for problem, name, row in labelled_rows(runs, entry, problems)
    ]
    caption = (
        f"{entry.caption} Smallest noise-free value after T iterations, as the paper minimises. "
        "Distance: root mean square of a query's coordinates in [−1, 1]ᴰ, 0 at the centre, about 0.58 "
        f"at uniform points. {runs.note(list(problems), entry.algorithms)}"
    )
    return Table.of(rows, caption, dict.fromkeys([*VALUES, distance], ".4g"))


FACTORS: dict[str, tuple[str, dict[Any, str]]] = {
    "constant_input": ("constant input", {False: "no", True: "yes"}),
    "y_scaling": ("y", {"none": "as observed", "standardise": "standardised"}),
    "batch_loss": ("loss of a batch", {"mean": "mean", "sum": "sum"}),
    "input_scaling": ("inputs", {"root_dim": "[−1, 1]/√D", "none": "[−1, 1]"}),
}
"""The parameters of the factorial study, and how they and their values are called."""


def factorial(runs: Runs, entry: FigureEntry) -> Table:
    """What each combination of the four repairs reaches, and the share of its trainings that diverge."""
    rows = []
    for problem, name, row in labelled_rows(runs, entry):
        parameters = runs.entry.algorithms[name].parameters
        diverged = runs.diagnostic(problem, name, DIVERGED)[:, runs.initial_points(problem) :]
        rows.append(
            {
                "problem": row["problem"],
                **{label: words[parameters[key]] for key, (label, words) in FACTORS.items()},
                "seeds": row["seeds"],
                **_finals(runs, problem, name, runs.horizon(problem)),
                "rounds diverged (share)": float(diverged.mean()),
            }
        )
    caption = (
        f"{entry.caption} NeuralBO trained at every round, ν = 1. Smallest noise-free value after T "
        "iterations, as the paper minimises; share of the rounds whose training ended in weights that "
        "are NaN or infinite, whose query is a candidate at random. "
        f"{runs.note(runs.problems(entry.problems), entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(VALUES, ".4g")
    return Table.of(rows, caption, formats | {"rounds diverged (share)": ".1%"})
