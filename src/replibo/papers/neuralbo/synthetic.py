"""NeuralBO's synthetic study (Phan-Trong, Tran-The and Gupta 2023, section 7.1): Figure 1, the values
that its statistics start from, the search for its constant, and what the printed recipe does.

Everything here is in the paper's sense: the smaller, the better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError
from replibo.papers.common import (
    cpu_seconds,
    cpu_seconds_a_query,
    label_of,
)
from replibo.papers.neuralbo.traces import (
    final_values_of,
    synthetic_problems,
)
from replibo.problems.base import Array
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation
from replibo.results.tables import Format, Table

DIVERGED = "diverged"
"""The diagnostic that is 1 in rounds whose network's training diverged."""


# Tables


COLUMNS = (
    *("problem", "algorithm", "seeds", "T", "smallest value, mean", "standard deviation"),
    *("95 % interval, low", "95 % interval, high", "CPU s a query"),
)


def final_values(runs: Runs, entry: FigureEntry) -> Table:
    """The value that each method reached after T iterations, with 95 % intervals, and the cost of a
    query."""
    rows = []
    problems = synthetic_problems(runs, entry.problems)
    for problem in problems:
        for name in runs.algorithms(problem, entry.algorithms):
            values = final_values_of(runs, problem, name)
            interval = student_interval(values, 0.95)
            rows.append(
                {
                    "problem": runs.entry.problems[problem].label,
                    "algorithm": label_of(runs, name),
                    "seeds": len(values),
                    "T": runs.horizon(problem),
                    "smallest value, mean": float(interval.mean),
                    "standard deviation": float(standard_deviation(values)),
                    "95 % interval, low": float(interval.low),
                    "95 % interval, high": float(interval.high),
                    "CPU s a query": cpu_seconds_a_query(runs, problem, name),
                }
            )
    caption = (
        f"{entry.caption} Smallest noise-free value after T iterations, as the paper minimises: mean, "
        "standard deviation and Student's 95 % interval of the mean over the seeds. CPU seconds of "
        f"one thread, imports not counted, over the T queries. {runs.note(problems, entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(COLUMNS[4:8], ".4g")
    return Table.of(rows, caption, formats | {"CPU s a query": ".3g"}, COLUMNS)


# The grid search for a constant: ν of NeuralBO (section 7), β of GP-UCB


def constant_of(runs: Runs, algorithm: str, parameter: str) -> float:
    """A constant of an algorithm's entry in the config.

    Raises:
        RepliboError: the config has no such algorithm, or its entry does not name the constant.
    """
    entry = runs.entry.algorithms.get(algorithm)
    if entry is None or not isinstance(entry.parameters.get(parameter), int | float):
        raise RepliboError(
            f"algorithms.{algorithm}.parameters.{parameter}: must be a number, got nothing"
        )
    return float(entry.parameters[parameter])


def mean_ranks(runs: Runs, problems: Sequence[str], grid: Sequence[str]) -> Array:
    """The mean over the problems of each value's rank by its mean final value, 1 being the best.

    Problems on which not all of the grid was run do not count; all are NaN where none does.

    Returns:
        One number for each of ``grid``.
    """
    from scipy.stats import rankdata

    ranks = [
        rankdata([final_values_of(runs, problem, name).mean() for name in grid])
        for problem in problems
        if all(runs.has(problem, name) for name in grid)
    ]
    return np.mean(ranks, axis=0) if ranks else np.full(len(grid), np.nan)


def chosen(runs: Runs, problems: Sequence[str], grid: Sequence[str]) -> str | None:
    """The algorithm of ``grid`` with the smallest mean rank, ties go to the first; None
    where no problem has runs of the whole grid."""
    ranks = mean_ranks(runs, problems, grid)
    return None if np.isnan(ranks).any() else grid[int(np.argmin(ranks))]


def grid_search(
    runs: Runs,
    entry: FigureEntry,
    *,
    grid: Sequence[str],
    algorithm: str,
    parameter: str = "nu",
    symbol: str = "ν",
) -> Table:
    """The grid search for ν (section 7): what each value reached, the choice, and what the grid cost.
    The same for another constant of another algorithm.

    One value is chosen for all problems: the one with the smallest mean rank, as the values of
    different functions have no common unit. The paper does not say whether it chose one for each
    problem.

    Args:
        grid: the algorithms with each value, in the order of the values.
        algorithm: the one that the reported runs use.
        parameter, symbol: the constant's name in the config, and in the table.
    """
    columns = (
        *("problem", symbol, "seeds", "T", "smallest value, mean", "standard deviation"),
        *("rank", "chosen", "CPU s"),
    )
    from scipy.stats import rankdata

    rows: list[tuple[object, ...]] = []
    problems = [p for p in synthetic_problems(runs, entry.problems) if runs.algorithms(p, grid)]
    for problem in problems:
        names = runs.algorithms(problem, grid)
        values = [final_values_of(runs, problem, name) for name in names]
        ranks = rankdata([v.mean() for v in values])
        for name, own, rank in zip(names, values, ranks, strict=True):
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    constant_of(runs, name, parameter),
                    len(own),
                    runs.horizon(problem),
                    float(own.mean()),
                    float(standard_deviation(own)),
                    float(rank),
                    "yes" if len(names) == len(grid) and rank == ranks.min() else "",
                    cpu_seconds(runs, problem, name),
                )
            )
    choice = chosen(runs, problems, grid)
    cost = [
        math.fsum(cpu_seconds(runs, p, name) for p in problems if runs.has(p, name))
        for name in grid
    ]
    for name, rank, seconds in zip(grid, mean_ranks(runs, problems, grid), cost, strict=True):
        whole = (
            "all, mean rank",
            constant_of(runs, name, parameter),
            None,
            None,
            None,
            None,
            float(rank),
        )
        rows.append((*whole, "yes" if name == choice else "", seconds))
    used = constant_of(runs, algorithm, parameter)
    words = (
        f"No problem was run with every {symbol}, so none is chosen; {label_of(runs, algorithm)} "
    )
    if choice is not None:
        words = (
            f"Chosen for all problems: {symbol} = {constant_of(runs, choice, parameter):g}, by the "
            f"smallest mean rank of the mean value over the problems. {label_of(runs, algorithm)} "
        )
    words += f"runs with {symbol} = {used:g}"
    if choice is not None:
        same = used == constant_of(runs, choice, parameter)
        words += f", which is {'' if same else 'not '}the choice of these runs"
    caption = f"{entry.caption} {words}. {_seeds_of_the_grid(runs, problems, grid, algorithm)}"
    if problems and not any(map(math.isnan, cost)):
        caption += f" The grid cost {math.fsum(cost):.3g} CPU s."
    caption = f"{caption} {runs.note(problems, grid)}"
    formats: dict[str, Format] = {
        symbol: "g",
        "smallest value, mean": ".4g",
        "standard deviation": ".4g",
        "rank": ".3g",
        "CPU s": ".3g",
    }
    return Table.of(
        [dict(zip(columns, row, strict=True)) for row in rows], caption, formats, columns
    )


def _seeds_of_the_grid(
    runs: Runs, problems: Sequence[str], grid: Sequence[str], algorithm: str
) -> str:
    """Which seeds the grid was run on, and whether reported runs use them too."""

    def seeds(problem: str, names: Sequence[str]) -> set[int]:
        ran = runs.algorithms(problem, names)
        return {int(seed) for name in ran for seed in runs.seeds(problem, name)}

    own = sorted({seed for p in problems for seed in seeds(p, grid)})
    shared = sorted({seed for p in problems for seed in seeds(p, grid) & seeds(p, [algorithm])})
    if not own:
        return "The grid was not run."
    listed = str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"
    if shared:
        return f"Seeds {listed}; {len(shared)} of them are those of reported runs, too."
    return f"Seeds {listed}, which no reported run uses."


# What the printed recipe does


def literal_recipe(runs: Runs, entry: FigureEntry) -> Table:
    """In how many rounds the training of the network diverged, for each method that records it."""
    columns = (
        *("problem", "algorithm", "seeds", "rounds", "rounds diverged (share)"),
        *("seeds with such rounds", "first such round", "smallest value, mean"),
    )
    rows = []
    problems = runs.problems(entry.problems)  # COCO's too
    synthetic = synthetic_problems(runs, problems)
    if DIVERGED not in runs.table.column_names:
        problems = []
    for problem in problems:
        first = runs.initial_points(problem)
        for name in runs.algorithms(problem, entry.algorithms):
            recorded = runs.diagnostic(problem, name, DIVERGED)[:, first:]
            known = ~np.isnan(recorded)
            if not known.any():
                continue
            diverged = recorded > 0.5  # NaN is not
            t = runs.rounds(problem, name)[first:][diverged.any(axis=0)]
            values = (
                runs.entry.problems[problem].label,
                label_of(runs, name),
                len(recorded),
                int(known.sum()),
                float(diverged.sum() / known.sum()),
                int(diverged.any(axis=1).sum()),
                int(t[0]) if len(t) else None,
                # The mean over different functions would say nothing.
                float(final_values_of(runs, problem, name).mean())
                if problem in synthetic
                else None,
            )
            rows.append(dict(zip(columns, values, strict=True)))
    caption = (
        f"{entry.caption} Rounds (of all seeds) whose network came out of its training with NaN "
        "or infinite weights. "
        f"{runs.note(problems, entry.algorithms)}"
    )
    formats: dict[str, Format] = {columns[4]: ".1%", columns[7]: ".4g"}
    return Table.of(rows, caption, formats, columns)
