"""Curves of runs from several sources in one figure: published ones, and those of the reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import COLORS, AlgorithmEntry
from replibo.problems.base import Array
from replibo.results import plotting, regret
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
COLUMNS = 3
"""Panels in a row, at most."""


@dataclass(frozen=True)
class Curve:
    """The runs of one algorithm on one problem.

    Attributes:
        look: label, colour, line and marker.
        t: rounds, shape ``n``.
        f: noise-free values, ``seeds x n``.
        band: whether the interval of the mean is drawn as a band; else as a bar at the end.
        bold: whether the line is thick.
    """

    look: AlgorithmEntry
    t: Array
    f: Array
    band: bool = True
    bold: bool = False


def of_runs(
    runs: Runs,
    problem: str,
    algorithms: Iterable[str],
    *,
    band: bool = True,
    bold: bool = False,
    **look: object,
) -> list[Curve]:
    """The curves of some algorithms on a problem, each as long as its runs.

    Args:
        band, bold: see `Curve`.
        look: what differs from the config's entry of each algorithm; a label is put behind its own.
    """
    found = []
    for name in runs.algorithms(problem, list(algorithms)):
        own = runs.of([(problem, name)])
        entry = runs.entry.algorithms[name]
        changed = {**look, "label": f"{entry.label}{look.get('label', '')}"}
        rounds, f = own.rounds(problem, name), own.f(problem, name)
        found.append(Curve(entry.model_copy(update=changed), rounds, f, band, bold))
    return found


def best_so_far(
    panels: Mapping[str, Sequence[Curve]], optima: Mapping[str, float | None], caption: str
) -> Figure:
    """A panel for each problem: simple regret, or the best value so far if no optimum is known; means
    over the seeds, with Student's intervals as bands.

    Args:
        panels: by the title of each problem.
        optima: f* of each, by the same titles.
    """
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plotting.panels(rows, columns)
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        optimum = optima[title]
        smallest, largest = np.inf, 0.0
        for number, curve in enumerate(curves):
            best = np.maximum.accumulate(curve.f, axis=1)
            values = best if optimum is None else regret.best_regret(curve.f, optimum)
            shown = student_interval(values, CONFIDENCE)
            ends = (shown.low, shown.high)
            if optimum is not None:
                ends = (np.maximum(shown.low, 0.0), shown.high)
            smallest = min(smallest, float(shown.mean.min()))
            largest = max(largest, float(shown.mean.max()))
            plotting.curve(ax, curve.t, shown.mean, curve.look, ends if curve.band else None)
            if curve.bold:
                ax.lines[-1].set(linewidth=2.2, zorder=5)
            if not curve.band and np.isfinite(shown.low[-1]):
                # Side by side, not over each other.
                place = curve.t[-1] + 0.008 * (number + 1) * np.ptp(curve.t)
                ax.vlines(place, ends[0][-1], ends[1][-1], color=COLORS[curve.look.color], lw=1.2)
        ax.set_title(title)
        ax.set_xlabel("round t")
        ax.set_ylabel("best value so far" if optimum is None else "simple regret")
        if optimum is not None:
            _logarithmic(ax, smallest, largest)
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_axis_off()
    return plotting.finish(figure, caption)


def _logarithmic(ax: Axes, smallest: float, largest: float) -> None:
    """A logarithmic axis that holds the means; linear near 0 if they come near it."""
    if smallest <= plotting.LINEAR_BELOW:
        plotting.logarithmic_from_zero(ax)
        return
    ax.set_yscale("log")
    ax.set_ylim(smallest / 1.5, 1.3 * largest)
    plotting.plain_numbers(ax)
