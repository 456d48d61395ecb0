"""LB-GP-UCB (Ziomek, Adachi and Osborne 2024): Figure 3 and final regrets from traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import plotting, statistics
from replibo.config.models import FigureEntry
from replibo.problems.base import Array
from replibo.runs import Runs
from replibo.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cumulative_regret(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Rounds 1 … T and the regret summed over them, ``seeds x T``; initial points do not count."""
    n = runs.initial_points(problem)
    f = runs.f(problem, algorithm)[:, n:]
    regret = statistics.cumulative_regret(f, runs.optimal_value(problem))
    return runs.rounds(problem, algorithm)[n:], regret


def best_regret(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Rounds 1 … T and the regret of the best query so far, ``seeds x T``; initial points count."""
    n = runs.initial_points(problem)
    regret = statistics.best_regret(runs.f(problem, algorithm), runs.optimal_value(problem))
    return runs.rounds(problem, algorithm)[n:], regret[:, n:]


METRICS = {"cumulative regret": cumulative_regret, "best regret": best_regret}


def figure_3(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 3: cumulative (top) and best regret (bottom) for each problem, mean ± standard error."""
    problems = runs.problems(entry.problems)
    figure, axes = plotting.panels(len(METRICS), len(problems))
    for row, (title, metric) in zip(axes, METRICS.items(), strict=True):
        for ax, problem in zip(row, problems, strict=True):
            for algorithm in runs.algorithms(problem, entry.algorithms):
                t, values = metric(runs, problem, algorithm)
                plotting.band(
                    ax,
                    t,
                    values.mean(axis=0),
                    np.nan_to_num(statistics.standard_error(values)),
                    runs.entry.algorithms[algorithm],
                )
            seeds = max(len(runs.seeds(problem, a)) for a in runs.algorithms(problem))
            ax.set_title(f"{runs.entry.problems[problem].label} ({seeds} seeds)")
            ax.set_xlabel("round $t$")
            ax.set_ylabel(title)
            ax.set_ylim(bottom=0)
    caption = (
        f"{entry.caption} Mean over the seeds; shaded: ± one standard error. {runs.note(problems)}"
    )
    return plotting.finish(figure, caption)


def final_regret(runs: Runs, entry: FigureEntry) -> Table:
    """Cumulative and best regret at t = T, mean and standard error."""
    columns = (
        "problem",
        "algorithm",
        "seeds",
        "T",
        "cumulative regret",
        "its standard error",
        "best regret",
        "standard error of it",
        "optimum found (share of seeds)",
    )
    rows: list[tuple[Any, ...]] = []
    problems = runs.problems(entry.problems)
    for problem in problems:
        for algorithm in runs.algorithms(problem, entry.algorithms):
            total = cumulative_regret(runs, problem, algorithm)[1][:, -1]
            best = best_regret(runs, problem, algorithm)[1][:, -1]
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    runs.entry.algorithms[algorithm].label,
                    len(total),
                    runs.horizon(problem),
                    float(total.mean()),
                    float(statistics.standard_error(total)),
                    float(best.mean()),
                    float(statistics.standard_error(best)),
                    float(np.mean(best <= 1e-9)),
                )
            )
    formats = {name: lambda v: f"{v:.4g}" for name in columns[4:]}
    return Table(columns, rows, f"{entry.caption} {runs.note(problems)}", formats)
