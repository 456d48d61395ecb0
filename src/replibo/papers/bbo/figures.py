"""Figures of the BBO paper's experiment (Fu et al. 2024, section 5), which has none: its six tables, and
performance against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.papers.bbo.printed import ACQUISITIONS, CELLS, PERFORMANCE, STEPS, UNIFORM_GUESS
from replibo.papers.bbo.traces import (
    LEVELS,
    METRICS,
    READINGS,
    Metric,
    Reading,
    ReadingName,
    problems_run,
)
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {20: "o", 40: "s", 60: "^"}

Samples = Mapping[tuple[int, int], Array]
"""For each (T, N) the values of the seeds."""
Means = Mapping[tuple[int, int], float]
"""For each (T, N) the mean."""


def performance(runs: Runs, entry: FigureEntry, *, reading: ReadingName = "reported") -> Figure:
    """The six tables as one figure: performance against N, a row for each T that was run, a line for each
    algorithm. Ours as test cross-entropy and as test error, the paper's on the axes of the latter."""
    names = entry.algorithms or list(ACQUISITIONS)
    readings = {metric: replace(READINGS[reading], metric=metric) for metric in METRICS}
    samples = {
        (name, metric): _samples(runs, name, readings[metric])
        for name in names
        for metric in METRICS
    }
    ran = [t for t in STEPS if any(t == steps for cells in samples.values() for steps, _ in cells)]
    figure, axes = plotting.panels(len(ran) or 1, len(METRICS))
    for row, steps in zip(axes, ran or STEPS[:1], strict=True):
        for ax, metric in zip(row, METRICS, strict=True):
            ax.set_title(f"T = {steps}")
            if not ran:
                plotting.say_not_run(ax)
                continue
            for i, name in enumerate(names):
                _line(ax, samples[name, metric], runs, name, steps, shift=1 + 0.05 * (i - 1))
            if metric == "test_error":
                for i, name in enumerate(name for name in names if name in PERFORMANCE):
                    _printed_line(ax, runs, name, steps, shift=1 + 0.05 * (i - 0.5))
            else:
                dots: Any = (0, (1, 3))
                ax.axhline(UNIFORM_GUESS, color="k", ls=dots, lw=1, label="ln 10, a uniform guess")
            _finish_performance(ax, METRICS[metric])
    for column in axes.T if ran else ():  # one scale for all T
        ends = [end for ax in column for end in ax.get_ylim()]
        for ax in column:
            ax.set_ylim(min(ends), max(ends))
            plotting.plain_numbers(ax)
    problems = problems_run(runs)
    caption = (
        f"{entry.caption} Points: the seeds; lines: their means; of the hyperparameters returned after T "
        "steps, by their network on the test set. Dashed, with bars: the printed mean ± standard "
        f"deviation (not said of what). {_agreement(samples)}{LEVELS} {runs.note(problems, names)}"
    )
    return plotting.finish(figure, caption)


def _agreement(samples: Mapping[tuple[str, Metric], Samples]) -> str:
    """How our test error agrees with the printed numbers, by Spearman's ρ and by the root mean square
    difference, and how their mean as a constant does; empty with fewer than three cells."""
    from scipy.stats import spearmanr

    cells = [
        (mean, _printed_means(name)[cell])
        for (name, metric), losses in samples.items()
        if metric == "test_error" and name in PERFORMANCE
        for cell, mean in _means(losses).items()
    ]
    if len(cells) < 3:
        return ""
    ours, printed = np.array(cells).T
    return (
        f"Test error against the printed numbers, {len(cells)} cells: rank correlation "
        f"{spearmanr(ours, printed).statistic:.2f}; root mean square difference "
        f"{np.sqrt(np.mean((ours - printed) ** 2)):.2f}, and "
        f"{printed.std():.2f} of their mean as a constant. "
    )


def frontier(runs: Runs, entry: FigureEntry, *, reading: ReadingName = "reported") -> Figure:
    """Performance against cost, the total number T·N of SGD steps: a row for each acquisition function.

    Every cell (T, N), with the best that each budget buys; left ours, right the paper's."""
    names = [name for name in entry.algorithms or ACQUISITIONS if name in PERFORMANCE]
    figure, axes = plotting.panels(len(names), 2)
    for row, name in zip(axes, names, strict=True):
        means = _means(_samples(runs, name, READINGS[reading]))
        for ax, points, whose, label in (
            (row[0], means, "ours", METRICS[READINGS[reading].metric]),
            (row[1], _printed_means(name), "paper", "performance"),
        ):
            ax.set_title(f"{runs.label(name)}, {whose}")
            if not points:
                plotting.say_not_run(ax)
                continue
            _against_cost(ax, points, runs, name)
            ax.set_ylabel(label)
        if means:
            row[0].set_yscale("log")
            plotting.plain_numbers(row[0])
    caption = (
        f"{entry.caption} Means over the seeds; labels: N, where a cell is better than all cheaper ones "
        f"and there is room. Line: the best that a budget buys. {LEVELS} "
        f"{runs.note(problems_run(runs), names)}"
    )
    return plotting.finish(figure, caption)


# The numbers


def _samples(runs: Runs, algorithm: str, reading: Reading) -> Samples:
    """The cells that were run."""
    cells = ((t, n, reading.cell(runs, algorithm, t, n)) for t, n in CELLS)
    return {(t, n): cell.values for t, n, cell in cells if cell is not None}


def _means(samples: Samples) -> Means:
    return {cell: float(values.mean()) for cell, values in samples.items()}


def _printed_means(algorithm: str) -> Means:
    """The paper's means."""
    return {
        (t, n): mean
        for t, table in PERFORMANCE[algorithm].items()
        for n, (mean, _) in table.items()
    }


# What is drawn


def _marker(steps: int) -> dict[str, Any]:
    return {"marker": MARKERS[steps], "ms": 4.5, "linestyle": "none"}


def _line(
    ax: Axes, samples: Samples, runs: Runs, algorithm: str, steps: int, *, shift: float
) -> None:
    """The means of one T as a line, and a point for each seed, beside those of the other methods."""
    losses = {n: values for (t, n), values in samples.items() if t == steps}
    look = plotting.line_style(runs.entry.algorithms[algorithm])
    for n, values in losses.items():
        places = np.full(len(values), n * shift)
        ax.scatter(places, values, s=7, color=look["color"], alpha=0.45, lw=0, zorder=1.5)
    ax.plot([n * shift for n in losses], [values.mean() for values in losses.values()], **look)


def _printed_line(ax: Axes, runs: Runs, algorithm: str, steps: int, *, shift: float) -> None:
    """The printed mean ± standard deviation of one T."""
    table = PERFORMANCE[algorithm][steps]
    means, deviations = np.array(list(table.values())).T
    look = plotting.line_style(runs.entry.algorithms[algorithm])
    look |= {"linestyle": "--", "markerfacecolor": "white", "label": f"{look['label']}, printed"}
    look |= {"markeredgecolor": look["color"], "markeredgewidth": 0.8}
    ax.errorbar(
        [n * shift for n in table], means, yerr=deviations, elinewidth=0.8, capsize=1.5, **look
    )


def _finish_performance(ax: Axes, label: str) -> None:
    ax.set_yscale("log")
    ax.set_xscale("log")
    ticks = sorted({n for table in PERFORMANCE["gp_ei"].values() for n in table})
    ax.set_xticks(ticks, ["" if n == 3000 else _short(n) for n in ticks])  # no room
    ax.set_xticks([], minor=True)
    ax.set_xlim(ticks[0] / 1.2, ticks[-1] * 1.25)
    ax.set_xlabel("SGD iterations $N$")
    ax.set_ylabel(label)


def _short(n: int) -> str:
    """``4k`` of 4,000."""
    return f"{n // 1000}k" if n % 1000 == 0 else str(n)


def _against_cost(ax: Axes, points: Means, runs: Runs, algorithm: str) -> None:
    """Every cell by its T·N, with its N, and the best for each budget."""
    color = COLORS[runs.entry.algorithms[algorithm].color]
    for steps in STEPS:
        ax.plot([], [], **_marker(steps), color="0.3", label=f"T = {steps}")
    for (t, n), mean in points.items():
        ax.plot(t * n, mean, **_marker(t), color=color)
    _label_best(ax, points)
    costs = sorted({t * n for t, n in points})
    cheapest = [min(points[c] for c in points if c[0] * c[1] == cost) for cost in costs]
    best: Sequence[float] = np.minimum.accumulate(cheapest) if cheapest else []  # type: ignore[assignment]
    ax.step(costs, best, where="post", color=color, lw=1, alpha=0.6)
    ax.set_xscale("log")
    ax.set_xlim(1e3, 7e5)
    ax.margins(y=0.15)  # room for the labels
    ax.set_xlabel("total SGD steps $T·N$")


def _label_best(ax: Axes, points: Means) -> None:
    """N beside each cell that is better than all cheaper ones. A label that would lie over the last one
    is left out: the next cell must cost 1.9 times as much and be clearly better."""
    best, last, paid = np.inf, np.inf, 0.0
    for t, n in sorted(points, key=lambda cell: (cell[0] * cell[1], points[cell])):
        mean = points[t, n]
        apart = t * n >= 1.9 * paid and (
            mean < 0.9 * last or (mean < 0.97 * last and t * n >= 3 * paid)
        )
        if mean < best and apart:
            ax.annotate(
                *(_short(n), (t * n, mean)),
                xytext=(-3, -3),
                textcoords="offset points",
                ha="right",
                va="top",
            )
            last, paid = mean, t * n
        best = min(best, mean)
