"""The papers' algorithms on synthetic problems at one budget: curves, mean values and ranks. No paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.problems.base import Array
from replibo.results import standings
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves_by_problem(runs: Runs, entry: FigureEntry) -> Figure:
    """The simple regret of each algorithm so far, a panel for each problem; the best value where no
    optimum is known."""
    from replibo.results import curves

    problems = runs.problems(entry.problems)
    panels = {
        runs.problem_label(problem): curves.of_runs(
            runs, problem, runs.algorithms(problem, entry.algorithms)
        )
        for problem in problems
    }
    caption = (
        f"{entry.caption} Means over the seeds; bars at the right: 95 % intervals of the mean at the "
        f"last round. {_note(runs, problems)}"
    )
    return curves.best_so_far(panels, caption)


def ranks(runs: Runs, entry: FigureEntry) -> Table:
    """The mean rank of each algorithm on each problem, its relative rank over all problems, and how often
    it is significantly better or worse than another; the best algorithm first, and last those that ran on
    fewer problems.

    An algorithm that a problem lacks has no rank there.
    """
    values = _by_label(runs, entry)
    by_problem = {problem: standings.ranks(of_problem) for problem, of_problem in values.items()}
    rows: list[dict[str, Any]] = []
    for label in _labels(runs, values):
        relative: list[float] = []
        duels: list[standings.Duel] = []
        for problem, mean_ranks in by_problem.items():
            if label in mean_ranks:
                relative.append((mean_ranks[label] - 1) / (len(mean_ranks) - 1))
                rivals = {name: f for name, f in values[problem].items() if name != label}
                duels += standings.against("cross", problem, values[problem][label], rivals)
        won, tied, lost = standings.counts(duels)
        total = {"relative rank": float(np.mean(relative)), "problems": len(relative)}
        cells = {runs.problem_label(p): by_label.get(label) for p, by_label in by_problem.items()}
        rows.append(
            {"algorithm": label, **total, "wins": won, "ties": tied, "losses": lost, **cells}
        )
    rows.sort(key=lambda row: (-row["problems"], row["relative rank"]))
    labels = [runs.problem_label(problem) for problem in values]
    caption = (
        f"{entry.caption} Relative rank: the mean over the problems, from 0 (always the best) to 1 "
        "(always the last). Wins and losses: significant at 5 % by Wilcoxon's signed-rank test, Holm "
        f"over the other algorithms on a problem. {_note(runs, list(values))}"
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
        "(always the best) to 1 (always the last). Their differences are not tested."
    )


def values(runs: Runs, entry: FigureEntry) -> Table:
    """The mean of the best noise-free value of each algorithm on each problem, with the half width of its
    interval."""
    by_label = _by_label(runs, entry)
    rows: list[dict[str, Any]] = []
    for label in _labels(runs, by_label):
        row: dict[str, Any] = {"algorithm": label}
        for problem, of_problem in by_label.items():
            title = runs.problem_label(problem)
            row[title] = row[f"± ({title})"] = None
            if label in of_problem:
                best = [f.max() for f in of_problem[label].values()]
                mean, low, _ = student_interval(best).ends
                row |= {title: mean, f"± ({title})": mean - low}
        rows.append(row)
    caption = (
        f"{entry.caption} ±: half of the 95 % interval of the mean. {_note(runs, list(by_label))}"
    )
    return Table.of(rows, caption, dict.fromkeys(list(rows[0])[1:], ".4g"))


def _note(runs: Runs, problems: Sequence[str]) -> str:
    """How much was run, and which algorithms of the config were not."""
    ran = {name for problem in problems for name in runs.algorithms(problem)}
    missing = [entry.label for name, entry in runs.entry.algorithms.items() if name not in ran]
    note = runs.note(problems).replace("As configured at paper scale.", "The size is our choice.")
    return note + (f" Not run: {', '.join(missing)}." if missing else "")


Values = dict[str, dict[str, Mapping[int, Array]]]
"""For each problem and label, which may be of other settings on another problem, the noise-free values
of each seed's queries."""


def _by_label(runs: Runs, entry: FigureEntry) -> Values:
    return {
        problem: {
            runs.entry.algorithms[name].label: dict(
                zip(runs.seeds(problem, name).tolist(), runs.f(problem, name), strict=True)
            )
            for name in runs.algorithms(problem, entry.algorithms)
        }
        for problem in runs.problems(entry.problems)
    }


def _labels(runs: Runs, values: Values) -> list[str]:
    """The labels of the algorithms that were run, each once, in the order of the config."""
    labels = dict.fromkeys(algorithm.label for algorithm in runs.entry.algorithms.values())
    return [label for label in labels if any(label in cells for cells in values.values())]
