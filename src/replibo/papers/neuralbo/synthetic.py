"""NeuralBO's synthetic study (Phan-Trong, Tran-The and Gupta 2023, section 7.1): Figure 1, the values
that its statistics start from, the search for its constant, and what the printed recipe does.

Everything here is in the paper's sense: the smaller, the better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError
from replibo.papers.common import (
    cpu_seconds,
    cpu_seconds_a_query,
    labelled_rows,
)
from replibo.papers.neuralbo.traces import final_values_of, synthetic_problems
from replibo.problems.base import Array
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation
from replibo.results.tables import Format, Table

DIVERGED = "diverged"
"""The diagnostic that is 1 in rounds whose network's training diverged."""


# Tables


def final_values(runs: Runs, entry: FigureEntry) -> Table:
    """The value that each method reached after T iterations, with 95 % intervals, and the cost of a
    query."""
    columns = (
        *("problem", "algorithm", "seeds", "T", "smallest value, mean", "standard deviation"),
        *("95 % interval, low", "95 % interval, high", "CPU s a query"),
    )
    rows = []
    problems = synthetic_problems(runs, entry.problems)
    for problem, name, row in labelled_rows(runs, entry.model_copy(update={"problems": problems})):
        values = final_values_of(runs, problem, name)
        mean, low, high = student_interval(values).ends
        numbers = (mean, float(standard_deviation(values)), low, high)
        cost = cpu_seconds_a_query(runs, problem, name)
        rows.append((*row.values(), runs.horizon(problem), *numbers, cost))
    caption = (
        f"{entry.caption} Smallest noise-free value after T iterations, as the paper minimises: mean, "
        "standard deviation and Student's 95 % interval of the mean over the seeds. CPU seconds of "
        f"one thread, imports not counted, over the T queries. {runs.note(problems, entry.algorithms)}"
    )
    formats = dict.fromkeys(columns[4:8], ".4g") | {"CPU s a query": ".3g"}
    return Table.of(rows, caption, formats, columns)


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
    constants = {name: constant_of(runs, name, parameter) for name in (*grid, algorithm)}
    cost = {
        name: math.fsum(cpu_seconds(runs, p, name) for p in problems if runs.has(p, name))
        for name in grid
    }
    for problem in problems:
        names = runs.algorithms(problem, grid)
        values = [final_values_of(runs, problem, name) for name in names]
        ranks = rankdata([sample.mean() for sample in values])
        for name, own, rank in zip(names, values, ranks, strict=True):
            best = len(names) == len(grid) and rank == ranks.min()
            rows.append(
                (
                    *(
                        runs.problem_label(problem),
                        constants[name],
                        len(own),
                        runs.horizon(problem),
                    ),
                    *(float(own.mean()), float(standard_deviation(own)), float(rank)),
                    *("yes" if best else "", cpu_seconds(runs, problem, name)),
                )
            )
    choice = chosen(runs, problems, grid)
    for name, rank in zip(grid, mean_ranks(runs, problems, grid), strict=True):
        whole = ("all, mean rank", constants[name], *4 * (None,), float(rank))
        rows.append((*whole, "yes" if name == choice else "", cost[name]))
    used = f"{runs.label(algorithm)} runs with {symbol} = {constants[algorithm]:g}"
    words = f"No problem was run with every {symbol}, so none is chosen; {used}"
    if choice is not None:
        same = "" if constants[algorithm] == constants[choice] else "not "
        words = (
            f"Chosen for all problems: {symbol} = {constants[choice]:g}, by the smallest mean rank of "
            f"the mean value over the problems. {used}, which is {same}the choice of these runs"
        )
    caption = f"{entry.caption} {words}. {_seeds_of_the_grid(runs, problems, grid, algorithm)}"
    total = math.fsum(cost.values())
    if problems and not math.isnan(total):
        caption += f" The grid cost {total:.3g} CPU s."
    caption = f"{caption} {runs.note(problems, grid)}"
    formats = {symbol: "g", "rank": ".3g", "CPU s": ".3g"} | dict.fromkeys(columns[4:6], ".4g")
    return Table.of(rows, caption, formats, columns)


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
    rows: list[tuple[Any, ...]] = []
    problems = runs.problems(entry.problems)  # COCO's too
    synthetic = synthetic_problems(runs, problems)
    for problem, name, _ in labelled_rows(runs, entry):
        if (held := runs.held(problem, name, DIVERGED)) is None:
            continue
        first = runs.initial_points(problem)
        recorded = held[:, first:]
        known = int(np.sum(~np.isnan(recorded)))
        diverged = recorded > 0.5  # NaN is not
        t = runs.rounds(problem, name)[first:][diverged.any(axis=0)]
        # The mean over different functions would say nothing.
        ends = final_values_of(runs, problem, name) if problem in synthetic else None
        rows.append(
            (
                *(runs.problem_label(problem), runs.label(name), len(recorded), known),
                *(float(diverged.sum() / known), int(diverged.any(axis=1).sum())),
                int(t[0]) if len(t) else None,
                None if ends is None else float(ends.mean()),
            )
        )
    caption = (
        f"{entry.caption} Rounds (of all seeds) whose network came out of its training with NaN "
        "or infinite weights. "
        f"{runs.note(problems, entry.algorithms)}"
    )
    formats: dict[str, Format] = {columns[4]: ".1%", columns[7]: ".4g"}
    return Table.of(rows, caption, formats, columns)
