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
    """

    look: AlgorithmEntry
    t: Array
    f: Array
    bold: bool = False


def of_runs(
    runs: Runs,
    problem: str,
    algorithms: Iterable[str],
    *,
    bold: bool = False,
    **look: object,
) -> list[Curve]:
    """The curves of some algorithms on a problem, each as long as its runs.

    Args:
        bold: see `Curve`.
        look: what differs from the config's entry of each algorithm; a label is put behind its own.
    """
    found = []
    for name in runs.algorithms(problem, list(algorithms)):
        own = runs.of([(problem, name)])
        entry = runs.entry.algorithms[name]
        changed = {**look, "label": f"{entry.label}{look.get('label', '')}"}
        rounds, f = own.rounds(problem, name), own.f(problem, name)
        found.append(Curve(entry.model_copy(update=changed), rounds, f, bold))
    return found


def best_so_far(
    panels: Mapping[str, Sequence[Curve]], optima: Mapping[str, float | None], caption: str
) -> Figure:
    """A panel for each problem: simple regret, or the best value so far if no optimum is known; means
    over the seeds, with Student's intervals.

    Args:
        panels: by the title of each problem.
        optima: f* of each, by the same titles.
    """
    figure, axes = plotting.grid(len(panels), COLUMNS)
    bands = max(map(len, panels.values())) <= plotting.BANDS
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        optimum, drawn = optima[title], []
        for curve in curves:
            best = np.maximum.accumulate(curve.f, axis=1)
            values = best if optimum is None else regret.best_regret(curve.f, optimum)
            shown = student_interval(values)
            low = shown.low if optimum is None else np.maximum(shown.low, 0.0)
            ends = (curve.look, curve.t, shown.mean, low, shown.high)
            drawn.append(plotting.Curve(*ends, bold=curve.bold))
        plotting.draw(ax, drawn, bands=bands)
        ax.set_title(title)
        ax.set_xlabel("round t")
        ax.set_ylabel("best value so far" if optimum is None else "simple regret")
        if optimum is not None:
            plotting.logarithmic(ax)
    return plotting.finish(figure, caption)
