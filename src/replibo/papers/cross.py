"""Every algorithm on every synthetic problem at one budget: curves, mean values and ranks. No paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.papers.common import problem_label
from replibo.problems.base import Array
from replibo.results import standings
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


def curves_by_problem(runs: Runs, entry: FigureEntry) -> Figure:
    """The simple regret of each algorithm so far, a panel for each problem; the best value where no
    optimum is known."""
    from replibo.results import curves

    panels, optima = {}, {}
    problems = runs.problems(entry.problems)
    for problem in problems:
        names = runs.algorithms(problem, entry.algorithms)
        title = problem_label(runs, problem)
        panels[title] = curves.of_runs(runs, problem, names)
        optima[title] = runs.metadata["problems"][problem]["optimal_value"]
    caption = (
        f"{entry.caption} Means over the seeds; bars at the right: 95 % intervals of the mean at the "
        f"last round. {_note(runs, problems)}"
    )
    return curves.best_so_far(panels, optima, caption)


def ranks(runs: Runs, entry: FigureEntry) -> Table:
    """The mean rank of each algorithm on each problem, its relative rank over all problems, and how often
    it is significantly better or worse than another; the best algorithm first.

    An algorithm that a problem lacks has no rank there.
    """
    problems = runs.problems(entry.problems)
    finals = {problem: _finals(runs, problem, entry.algorithms) for problem in problems}
    by_problem = {problem: standings.ranks(values) for problem, values in finals.items()}
    rows: list[dict[str, Any]] = []
    for label, names in _by_label(runs, entry.algorithms).items():
        relative, cells = [], {}
        duels: list[standings.Duel] = []
        for problem, mean_ranks in by_problem.items():
            name = next((name for name in names if name in mean_ranks), None)
            cells[problem_label(runs, problem)] = mean_ranks[name] if name else None
            if name:
                relative.append((mean_ranks[name] - 1) / (len(mean_ranks) - 1))
                others = {key: f for key, f in finals[problem].items() if key != name}
                duels += standings.against("cross", problem, finals[problem][name], others)
        won, tied, lost = standings.counts(duels)
        total = {"relative rank": float(np.mean(relative)), "problems": len(relative)}
        rows.append(
            {"algorithm": label, **total, "wins": won, "ties": tied, "losses": lost, **cells}
        )
    rows.sort(key=lambda row: row["relative rank"])
    labels = [problem_label(runs, problem) for problem in problems]
    caption = (
        f"{entry.caption} Relative rank: the mean over the problems, from 0 (always the best) to 1 "
        "(always the last). Wins and losses: significant at 5 % by Wilcoxon's signed-rank test, Holm "
        f"over the other algorithms on a problem. {_note(runs, problems)}"
    )
    return Table.of(rows, caption, {"relative rank": ".2f", **dict.fromkeys(labels, ".1f")})


def conclusion(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the rows of `ranks` say, in one sentence; empty without two algorithms that ran everywhere."""
    problems = max((int(row["problems"]) for row in rows), default=0)
    everywhere = [row for row in rows if int(row["problems"]) == problems]
    if len(everywhere) < 2:
        return ""
    first, last = (
        f"{row['algorithm']} ({float(row['relative rank']):.2f})"
        for row in (everywhere[0], everywhere[-1])
    )
    return (
        f"Over {problems} problems {first} has the best relative rank and {last} the worst, from 0 "
        "(always the best) to 1 (always the last)."
    )


def values(runs: Runs, entry: FigureEntry) -> Table:
    """The mean of the best noise-free value of each algorithm on each problem, with the half width of its
    interval."""
    problems = runs.problems(entry.problems)
    rows: list[dict[str, Any]] = []
    for label, names in _by_label(runs, entry.algorithms).items():
        row: dict[str, Any] = {"algorithm": label}
        for problem in problems:
            name = next((name for name in names if runs.has(problem, name)), None)
            title = problem_label(runs, problem)
            row[title] = row[f"± ({title})"] = None
            if name:
                interval = student_interval(runs.f(problem, name).max(axis=1), CONFIDENCE)
                row[title] = float(interval.mean)
                row[f"± ({title})"] = float(interval.mean - interval.low)
        rows.append(row)
    caption = f"{entry.caption} ±: half of the 95 % interval of the mean. {_note(runs, problems)}"
    return Table.of(rows, caption, dict.fromkeys(list(rows[0])[1:], ".4g"))


def _note(runs: Runs, problems: Sequence[str]) -> str:
    """How much was run, and which algorithms of the config were not."""
    ran = {name for problem in problems for name in runs.algorithms(problem)}
    missing = [entry.label for name, entry in runs.entry.algorithms.items() if name not in ran]
    said = runs.note(problems).replace("As configured at paper scale.", "The size is our choice.")
    return said + (f" Not run: {', '.join(missing)}." if missing else "")


def _by_label(runs: Runs, wanted: Sequence[str] | None) -> dict[str, list[str]]:
    """The algorithms under each label: one algorithm may have other settings on another problem."""
    labels: dict[str, list[str]] = {}
    for name, algorithm in runs.entry.algorithms.items():
        ran = any(runs.has(problem, name) for problem in runs.problems())
        if ran and (wanted is None or name in wanted):
            labels.setdefault(algorithm.label, []).append(name)
    return labels


def _finals(
    runs: Runs, problem: str, wanted: Sequence[str] | None
) -> dict[str, Mapping[int, Array]]:
    """By algorithm and seed the noise-free values of the queries."""
    return {
        name: dict(zip(runs.seeds(problem, name).tolist(), runs.f(problem, name), strict=True))
        for name in runs.algorithms(problem, wanted)
    }
