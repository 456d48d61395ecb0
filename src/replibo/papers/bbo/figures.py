"""Figures of the BBO paper's experiment (Fu et al. 2024, section 5), which has none: its six tables, and
performance against cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.papers.bbo.printed import ACQUISITIONS, PERFORMANCE, STEPS, UNIFORM_GUESS, equal_cost
from replibo.papers.bbo.traces import (
    LEVELS,
    METRICS,
    Cell,
    Metric,
    Reading,
    check_metric,
    problems_run,
)
from replibo.papers.common import label_of
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# For each T, in every figure.
LINES = {20: "solid", 40: "dashed", 60: "dotted"}
MARKERS = {20: "o", 40: "s", 60: "^"}

Points = Mapping[tuple[int, int], tuple[float, float]]
"""For each (T, N) the mean and the standard deviation."""


def performance(runs: Runs, entry: FigureEntry) -> Figure:
    """The six tables as one figure: performance against N, a row for each T, a line for each algorithm;
    ours as test cross-entropy and as test error, the paper's on the same axes as the latter."""
    figure, axes = plotting.panels(len(STEPS), len(METRICS))
    names = entry.algorithms or list(ACQUISITIONS)
    ours = {
        (name, metric): _ours(runs, name, metric)  # type: ignore[arg-type]
        for name in names
        for metric in METRICS
    }
    for row, steps in zip(axes, STEPS, strict=True):
        for ax, metric in zip(row, METRICS, strict=True):
            drawn = [_line(ax, ours[name, metric], runs, name, steps) for name in names]
            if metric == "test_error":
                for name in (name for name in names if name in PERFORMANCE):
                    _line(ax, _printed(name), runs, name, steps, printed=True)
            ax.set_yscale("log" if any(drawn) else "linear")
            ax.set_title(f"T = {steps}")
            _finish_performance(ax, METRICS[metric], points=any(drawn))
        _mark_uniform_guess(row[0])
    for column in axes.T:
        shown = [ax for ax in column if ax.containers]
        ends = [end for ax in shown for end in ax.get_ylim()]
        for ax in shown:  # one scale for all T
            ax.set_ylim(min(ends), max(ends))
    problems = problems_run(runs)
    caption = (
        f"{entry.caption} Mean ± standard deviation over the seeds (the paper: not said of what); of "
        "the hyperparameters returned after T steps, by their network on the test set. Dashed: the "
        f"printed numbers. {_agreement(ours)}{LEVELS} {runs.note(problems, names)}"
    )
    return plotting.finish(figure, caption)


def _agreement(ours: Mapping[tuple[str, str], Points]) -> str:
    """How our test error agrees with the printed numbers, and how a constant does; empty with fewer
    than three cells."""
    cells = [
        (mean, _printed(name)[cell][0])
        for (name, metric), points in ours.items()
        if metric == "test_error" and name in PERFORMANCE
        for cell, (mean, _) in points.items()
    ]
    if len(cells) < 3:
        return ""
    found = agreement(*np.array(cells).T)
    return (
        f"Test error against the printed numbers, {len(cells)} cells: rank correlation "
        f"{found.rank_correlation:.2f}; root mean square difference {found.error:.2f}, and "
        f"{found.error_of_constant:.2f} of their mean as a constant. "
    )


class Agreement(NamedTuple):
    """Spearman's ρ, and the root mean square differences from the printed numbers: of ours, and of
    their mean."""

    rank_correlation: float
    error: float
    error_of_constant: float


def agreement(ours: Array, printed: Array) -> Agreement:
    """How ``ours`` agree with the ``printed`` numbers, ``n`` each."""
    from scipy.stats import spearmanr

    return Agreement(
        float(spearmanr(ours, printed).statistic),
        float(np.sqrt(np.mean((ours - printed) ** 2))),
        float(printed.std()),
    )


def frontier(runs: Runs, entry: FigureEntry, *, metric: Metric = "test_cross_entropy") -> Figure:
    """Performance against cost, the total number T·N of SGD steps: a row for each acquisition function.

    Left: ours, every cell (T, N), with the best that each budget buys. Middle: the same cells against
    N/T, equal budgets joined, with the paper's advice N = T and N = T². Right: the paper's numbers.
    """
    check_metric(metric)
    names = [name for name in entry.algorithms or ACQUISITIONS if name in PERFORMANCE]
    figure, axes = plotting.panels(len(names), 3)
    for row, name in zip(axes, names, strict=True):
        label = label_of(runs, name)
        ours, printed = _ours(runs, name, metric), _printed(name)
        for ax, points, title in (
            (row[0], ours, f"{label}, ours"),
            (row[2], printed, f"{label}, paper"),
        ):
            _against_cost(ax, points, runs, name)
            ax.set_title(title)
            ax.set_ylabel("performance" if points is printed else METRICS[metric])
        _against_ratio(row[1], ours, runs, name)
        row[1].set_title(f"{label}, ours, equal T·N joined")
        row[1].set_ylabel(METRICS[metric])
        for ax in row[:2]:
            if ours:
                ax.set_yscale("log")
                plotting.plain_numbers(ax)
            else:
                _say_missing(ax)
    caption = (
        f"{entry.caption} Means over the seeds; labels: N, where a cell is better than all cheaper ones "
        "and there is room. Line: the best that a budget buys. Middle: points joined by a line cost the "
        "same; vertical lines: the paper's advice N = T (convex losses) and N = T² (not convex, for each "
        f"T), with a constant of 1. {LEVELS} {runs.note(problems_run(runs), names)}"
    )
    return plotting.finish(figure, caption)


# The numbers


def _ours(runs: Runs, algorithm: str, metric: Metric) -> Points:
    """The cells that were run."""
    reading = Reading(metric=metric)
    cells: Iterable[Cell] = (c for t in STEPS for c in reading.cells(runs, algorithm, t))
    return {(c.steps, c.iterations): (c.mean, float(np.nan_to_num(c.sd))) for c in cells}


def _printed(algorithm: str) -> Points:
    """The paper's."""
    return {
        (t, n): cell for t, table in PERFORMANCE[algorithm].items() for n, cell in table.items()
    }


# What is drawn


def _color(runs: Runs, algorithm: str) -> str:
    entry = runs.entry.algorithms.get(algorithm)
    return COLORS[entry.color] if entry else COLORS["black"]


def _marker(steps: int) -> dict[str, Any]:
    return {"marker": MARKERS[steps], "ms": 4.5, "linestyle": "none"}


def _line(
    ax: Axes, points: Points, runs: Runs, algorithm: str, steps: int, *, printed: bool = False
) -> bool:
    """A line with error bars for one T, dashed for the paper's; whether there was anything to draw."""
    numbers = [n for t, n in points if t == steps]
    if not numbers:
        return False
    means, deviations = np.array([points[steps, n] for n in numbers]).T
    # The bars of the lines stand side by side, not on top of each other.
    shift = {"gp_ei": 0.96, "gp_ucb": 1.04}.get(algorithm, 1.0)
    ax.errorbar(
        np.array(numbers) * shift,
        means,
        # On a logarithmic axis a bar down to 0 has no end.
        yerr=[np.minimum(deviations, 0.9 * means), deviations],
        color=_color(runs, algorithm),
        marker=MARKERS[steps],
        ms=3.5,
        lw=1.2,
        elinewidth=0.8,
        capsize=1.5,
        linestyle="--" if printed else "-",
        mfc="white" if printed else None,
        label=f"{label_of(runs, algorithm)}, printed" if printed else label_of(runs, algorithm),
    )
    return True


def _finish_performance(ax: Axes, label: str, *, points: bool = True) -> None:
    ax.set_xscale("log")
    ticks = sorted({n for table in PERFORMANCE["gp_ei"].values() for n in table})
    ax.set_xticks(ticks, ["" if n == 3000 else _short(n) for n in ticks], fontsize=7)  # no room
    ax.set_xticks([], minor=True)
    ax.set_xlim(ticks[0] / 1.2, ticks[-1] * 1.25)
    ax.set_xlabel("SGD iterations $N$")
    ax.set_ylabel(label)
    if not points:
        _say_missing(ax)
    elif ax.get_yscale() == "log":
        plotting.plain_numbers(ax)


def _short(n: int) -> str:
    """``4k`` of 4,000."""
    return f"{n // 1000}k" if n % 1000 == 0 else str(n)


def _mark_uniform_guess(ax: Axes) -> None:
    ax.axhline(
        UNIFORM_GUESS,
        color=COLORS["black"],
        linestyle=(0, (1, 3)),
        lw=1,
        label="ln 10, a uniform guess",
    )


def _against_cost(ax: Axes, points: Points, runs: Runs, algorithm: str) -> None:
    """Every cell by its T·N, with its N, and the best for each budget."""
    for steps in STEPS:
        ax.plot([], [], **_marker(steps), color="0.3", label=f"T = {steps}")
    for (t, n), (mean, _) in points.items():
        ax.plot(t * n, mean, **_marker(t), color=_color(runs, algorithm))
    _label_best(ax, points)
    costs = sorted({t * n for t, n in points})
    cheapest = [min(points[c][0] for c in points if c[0] * c[1] == cost) for cost in costs]
    best: Sequence[float] = np.minimum.accumulate(cheapest) if cheapest else []  # type: ignore[assignment]
    ax.step(costs, best, where="post", color=_color(runs, algorithm), lw=1, alpha=0.6)
    ax.set_xscale("log")
    ax.set_xlim(1e3, 7e5)
    ax.margins(y=0.1)  # room for the labels
    ax.set_xlabel("total SGD steps $T·N$")


def _label_best(ax: Axes, points: Points) -> None:
    """N beside each cell that no cheaper one equals, where there is room: the labels of all overprint."""
    best, last, paid = np.inf, np.inf, 0.0
    for t, n in sorted(points, key=lambda cell: (cell[0] * cell[1], points[cell][0])):
        mean = points[t, n][0]
        apart = mean < 0.9 * last or (mean < 0.97 * last and t * n >= 2 * paid)
        if mean < best and apart:
            ax.annotate(
                *(_short(n), (t * n, mean)),
                xytext=(-3, -3),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=6,
            )
            last, paid = mean, t * n
        best = min(best, mean)


def _against_ratio(ax: Axes, points: Points, runs: Runs, algorithm: str) -> None:
    """Every cell by its N/T, equal T·N joined, and the advice."""
    color = _color(runs, algorithm)
    for first, second in equal_cost():
        if first in points and second in points:
            ax.plot(
                [n / t for t, n in (first, second)],
                [points[first][0], points[second][0]],
                color=color,
                lw=1.2,
            )
    for (t, n), (mean, _) in points.items():
        ax.plot(n / t, mean, **_marker(t), color=color)
    ax.axvline(1, color=COLORS["black"], lw=1.2, label="N = T")
    for steps in STEPS:
        ax.axvline(
            steps,
            color=COLORS["black"],
            linestyle=LINES[steps],
            lw=0.8,
            alpha=0.6,
            label=f"N = T² at T = {steps}",
        )
    ax.set_xscale("log")
    ax.set_xlabel("$N/T$")


def _say_missing(ax: Axes) -> None:
    """Say so in the panel where nothing was run: a partial run still makes every figure."""
    ax.text(
        0.5, 0.5, "no cell of the tables was run", ha="center", va="center", transform=ax.transAxes
    )
