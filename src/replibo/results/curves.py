"""Curves of runs from several sources in one figure: published ones, and those of the reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import AlgorithmEntry
from replibo.problems.base import Array
from replibo.results import plotting, regret
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3
"""Panels in a row, at most."""


@dataclass(frozen=True)
class Curve:
    """The runs of one algorithm on one problem.

    Attributes:
        look: label, colour, line and marker.
        t: rounds, shape ``n``.
        f: noise-free values, ``seeds x n``.
        bold: whether the line is thick.
        start: the number of initial points.
        optimum: f* of the problem; None if it is not known.
    """

    look: AlgorithmEntry
    t: Array
    f: Array
    bold: bool = False
    start: int = 0
    optimum: float | None = None


def of_runs(
    runs: Runs,
    problem: str,
    algorithms: Iterable[str],
    seeds: Sequence[int] | None = None,
    *,
    bold: bool = False,
    **look: object,
) -> list[Curve]:
    """The curves of some algorithms on a problem, each as long as its runs.

    Args:
        seeds: these only; all if it is None.
        bold: see `Curve`.
        look: what differs from the config's entry of each algorithm; a label is put behind its own.
    """
    optimum, curves = runs.metadata["problems"][problem]["optimal_value"], []
    for name in runs.algorithms(problem, list(algorithms)):
        full_runs = runs.of([(problem, name)])
        entry = runs.entry.algorithms[name]
        changed = {**look, "label": f"{entry.label}{look.get('label', '')}"}
        rounds, f = full_runs.rounds(problem, name), full_runs.f(problem, name)
        if seeds is not None:
            f = f[np.isin(full_runs.seeds(problem, name), seeds)]
        start = full_runs.initial_points(problem)
        curves.append(Curve(entry.model_copy(update=changed), rounds, f, bold, start, optimum))
    return curves


def best_so_far(
    panels: Mapping[str, Sequence[Curve]], caption: str, *, cumulative: bool = False
) -> Figure:
    """A panel for each problem: simple regret, or the best value so far if no optimum is known; means
    over the seeds, with Student's intervals.

    Args:
        panels: by the title of each problem.
        cumulative: draw the cumulative regret after the initial points, too, in a second panel of each
            problem with a known optimum.
    """
    optima = {title: curves[0].optimum for title, curves in panels.items()}
    plots = [
        (title, summed)
        for title, optimum in optima.items()
        for summed in ((False, True) if cumulative and optimum is not None else (False,))
    ]
    figure, axes = plotting.grid(len(plots), 2 if cumulative else COLUMNS)
    bands = plotting.has_bands(panels)
    of_f = {True: regret.cumulative_regret, False: regret.best_regret}
    for ax, (title, summed) in zip(axes, plots, strict=True):
        optimum, drawn = optima[title], []
        for curve in panels[title]:
            first = curve.start if summed else 0
            if optimum is None:
                interval = student_interval(np.maximum.accumulate(curve.f, axis=1))
            else:
                interval = student_interval(of_f[summed](curve.f[:, first:], optimum)).cut(0.0)
            ends = (curve.look, curve.t[first:], interval.mean, interval.low, interval.high)
            drawn.append(plotting.Curve(*ends, bold=curve.bold))
        plotting.draw(ax, drawn, bands=bands)
        ax.set_title(title)
        ax.set_xlabel("round t")
        if optimum is None:
            ax.set_ylabel("best value so far")
        elif summed:
            ax.set_ylabel("cumulative regret")
            plotting.from_zero(ax)
        else:
            ax.set_ylabel("simple regret")
            plotting.logarithmic(ax)
        if cumulative and not bands:
            plotting.end_axis_at(ax, max(curve.t[-1] for curve in drawn))
    return plotting.finish(figure, caption)
