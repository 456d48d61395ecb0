"""NeuralBO's synthetic study (Phan-Trong, Tran-The and Gupta 2023, section 7.1): the values that its
statistics start from, the search for its constant, and what the printed recipe does.

Everything here is in the paper's sense: the smaller, the better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replibo.config.models import FigureEntry, Pair
from replibo.errors import RepliboError
from replibo.papers.common import cpu_seconds, cpu_seconds_a_query, labelled_rows, shown_by
from replibo.papers.neuralbo.traces import (
    FUNCTIONS,
    final_values_of,
    function_of,
    interval_cells,
    mean_cells,
)
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

DIVERGED = "diverged"
"""The diagnostic that is 1 in rounds whose network's training diverged."""


# Tables


def final_values(runs: Runs, entry: FigureEntry) -> Table:
    """The value that each method reached after T iterations, and the cost of a query."""
    problems = shown_by(runs, entry)
    rows = []
    for problem, name, row in labelled_rows(runs, entry, problems):
        values = final_values_of(runs, problem, name)
        rows.append(
            {
                **row,
                "T": runs.horizon(problem),
                **mean_cells("smallest value", values),
                **interval_cells(student_interval(values)),
                "CPU s a query": cpu_seconds_a_query(runs, problem, name),
            }
        )
    caption = (
        f"{entry.caption} Smallest noise-free value after T iterations, as the paper minimises: mean, "
        "standard deviation and Student's 95 % interval of the mean over the seeds. CPU seconds of "
        "one thread, imports not counted, over the T queries. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    formats = dict.fromkeys(list(rows[0])[4:8], ".4g") | {"CPU s a query": ".3g"}
    return Table.of(rows, caption, formats)


# The grid search for a constant: ν of NeuralBO (section 7), β of GP-UCB


def constant_of(runs: Runs, algorithm: str, parameter: str) -> float:
    """A constant of an algorithm's entry in the config; a `RepliboError` if it has none."""
    entry = runs.entry.algorithms.get(algorithm)
    if entry is None or not isinstance(entry.parameters.get(parameter), int | float):
        raise RepliboError(
            f"algorithms.{algorithm}.parameters.{parameter}: must be a number, got nothing"
        )
    return float(entry.parameters[parameter])


def grid_search(
    runs: Runs,
    entry: FigureEntry,
    *,
    grid: Sequence[str],
    algorithm: str,
    parameter: str = "nu",
    symbol: str = "ν",
) -> Table:
    """The grid search for ν (section 7), or for another constant: what each value reached and cost.

    One value is chosen for all problems: the one with the smallest mean rank, as the values of
    different functions have no common unit. The paper does not say whether it chose one for each
    problem. Problems on which not all of the grid was run do not count.

    Args:
        grid: the algorithms with each value, in the order of the values.
        algorithm: the one that the reported runs use.
        parameter, symbol: the constant's name in the config, and in the table.
    """
    import pandas as pd

    columns = (
        *("problem", symbol, "seeds", "T", "smallest value, mean", "standard deviation"),
        *("rank", "chosen", "CPU s"),
    )
    problems = [p for p in runs.problems(entry.problems) if runs.algorithms(p, grid)]
    constants = {name: constant_of(runs, name, parameter) for name in (*grid, algorithm)}
    finals = {
        (problem, name): final_values_of(runs, problem, name)
        for problem in problems
        for name in runs.algorithms(problem, grid)
    }
    means = [
        [finals[p, a].mean() if (p, a) in finals else math.nan for a in grid] for p in problems
    ]
    ranks = pd.DataFrame(means, problems, [*grid], dtype=float).rank(axis=1)
    whole = ranks.dropna()
    mean_ranks = whole.mean()
    choice = None if whole.empty else str(mean_ranks.idxmin())
    rows: list[dict[str, object]] = []
    for (problem, name), values in finals.items():
        best = problem in whole.index and ranks.loc[problem, name] == ranks.loc[problem].min()
        rows.append(
            {
                "problem": runs.problem_label(problem),
                symbol: constants[name],
                "seeds": len(values),
                "T": runs.horizon(problem),
                **mean_cells("smallest value", values),
                "rank": ranks.loc[problem, name],
                "chosen": "yes" if best else "",
                "CPU s": cpu_seconds(runs, problem, name),
            }
        )
    costs = {
        name: math.fsum(cpu_seconds(runs, *pair) for pair in finals if pair[1] == name)
        for name in grid
    }
    rows += [
        {
            "problem": "all, mean rank",
            symbol: constants[name],
            "rank": mean_ranks[name],
            "chosen": "yes" if name == choice else "",
            "CPU s": cost,
        }
        for name, cost in costs.items()
    ]
    used = f"{runs.label(algorithm)} runs with {symbol} = {constants[algorithm]:g}"
    words = f"No problem was run with every {symbol}, so none is chosen; {used}"
    if choice:
        same = "" if constants[algorithm] == constants[choice] else "not "
        words = (
            f"Chosen for all problems: {symbol} = {constants[choice]:g}, by the smallest mean rank of "
            f"the mean value over the problems. {used}, which is {same}the choice of these runs"
        )
    caption = f"{entry.caption} {words}. {_seeds_of_the_grid(runs, [*finals], algorithm)}"
    total = math.fsum(costs.values())
    if finals and not math.isnan(total):
        caption += f" The grid cost {total:.3g} CPU s."
    caption = f"{caption} {runs.note(problems, grid)}"
    formats = {symbol: "g", "rank": ".3g", "CPU s": ".3g"}
    formats |= dict.fromkeys(columns[4:6], ".4g")
    return Table.of(rows, caption, formats, columns)


def _seeds_of_the_grid(runs: Runs, pairs: Sequence[Pair], algorithm: str) -> str:
    """Which seeds the grid was run on, and whether reported runs use them too."""
    if not pairs:
        return "The grid was not run."
    seeds, shared = set(), set()
    for problem, name in pairs:
        pair_seeds = set(runs.seeds(problem, name).tolist())
        seeds |= pair_seeds
        if runs.has(problem, algorithm):
            shared |= pair_seeds & set(runs.seeds(problem, algorithm).tolist())
    listed = str(*seeds) if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
    if shared:
        return f"Seeds {listed}; {len(shared)} of them are those of reported runs, too."
    return f"Seeds {listed}, which no reported run uses."


# What the printed recipe does


def literal_recipe(runs: Runs, entry: FigureEntry) -> Table:
    """In how many rounds the training of the network diverged, for each method that records it."""
    rows, problems = [], shown_by(runs, entry, DIVERGED)  # COCO's problems too
    for problem, name, row in labelled_rows(runs, entry, problems):
        first = runs.initial_points(problem)
        recorded = runs.diagnostic(problem, name, DIVERGED)[:, first:]
        trained = int(np.sum(~np.isnan(recorded)))
        diverged = recorded > 0.5  # NaN is not
        t = runs.rounds(problem, name)[first:][diverged.any(axis=0)]
        # COCO's seeds are different functions, whose mean would say nothing.
        one_function = function_of(problem) in FUNCTIONS
        rows.append(
            {
                **row,
                "rounds": trained,
                "rounds diverged (share)": float(diverged.sum() / trained),
                "seeds with such rounds": int(diverged.any(axis=1).sum()),
                "first such round": int(t[0]) if len(t) else None,
                "smallest value, mean": (
                    float(final_values_of(runs, problem, name).mean()) if one_function else None
                ),
            }
        )
    caption = (
        f"{entry.caption} Rounds (of all seeds) whose network came out of its training with NaN "
        f"or infinite weights. {runs.note(list(problems), entry.algorithms)}"
    )
    formats: dict[str, Format] = {"rounds diverged (share)": ".1%", "smallest value, mean": ".4g"}
    return Table.of(rows, caption, formats)
