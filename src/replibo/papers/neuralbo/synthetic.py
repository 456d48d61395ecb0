"""NeuralBO's synthetic study (Phan-Trong, Tran-The and Gupta 2023, section 7.1): Figure 1, the values
that its statistics start from, the search for ν.

The paper minimises; traces hold f = -(value of the function), to be maximised. Everything here is in
the paper's sense: the smaller, the better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError, allowed
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import MissingRunsError
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[Any, ...]

FUNCTIONS = {"ackley": "Ackley", "levy": "Levy", "michalewicz": "Michalewicz"}
"""The functions of Figure 1: a problem is called ``FUNCTION_DIMENSION``, e.g. ``ackley_10``."""

NU_GRID = ("neural_bo_nu_01", "neural_bo_nu_1", "neural_bo_nu_10")
"""NeuralBO with each ν of the paper's grid {0.1, 1, 10}, run on seeds of their own."""

DIVERGED = "diverged"
"""The diagnostic that is 1 in rounds whose network's training diverged."""


# What is read from the traces


def function_of(problem: str) -> str:
    """``ackley_10`` → ``ackley``."""
    return problem.rpartition("_")[0]


def dim_of(runs: Runs, problem: str) -> int:
    """D."""
    return int(runs.metadata["problems"][problem]["dim"])


def synthetic_problems(runs: Runs, wanted: Sequence[str] | None = None) -> list[str]:
    """The problems of the synthetic study that were run, in the order of ``wanted`` or the config."""
    return [problem for problem in runs.problems(wanted) if function_of(problem) in FUNCTIONS]


def label_of(runs: Runs, algorithm: str) -> str:
    """An algorithm's name in figures and tables; its name in the config where it is not there."""
    known = runs.entry.algorithms
    return known[algorithm].label if algorithm in known else algorithm


def largest_so_far(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the largest f so far, ``seeds x (T + 1)``.

    Iteration 0 is the best of the initial points, which all methods share.

    Raises:
        MissingRunsError: the algorithm was not run on the problem.
    """
    if not runs.has(problem, algorithm):
        raise MissingRunsError(f"{algorithm} was not run on {problem}")
    first = runs.initial_points(problem) - 1
    values = np.maximum.accumulate(runs.f(problem, algorithm), axis=1)
    return runs.rounds(problem, algorithm)[first:], values[:, first:]


def smallest_value(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the smallest noise-free value so far, ``seeds x (T + 1)``.

    Iteration 0 is the best of the initial points, which all methods share.

    Raises:
        MissingRunsError: the algorithm was not run on the problem.
    """
    t, values = largest_so_far(runs, problem, algorithm)
    return t, -values


def final_values_of(runs: Runs, problem: str, algorithm: str) -> Array:
    """The smallest noise-free value after T iterations, one number per seed; what Tables 1 and 2
    test."""
    return smallest_value(runs, problem, algorithm)[1][:, -1]


def standard_deviation(values: Array) -> Array:
    """Over the first axis, with n - 1; nan where n = 1, without a warning."""
    if len(values) == 1:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1))


# Figure 1


def legend_columns(labels: Sequence[str], width: int) -> int:
    """The largest number of columns in which a legend, filled column by column, is at most ``width``
    characters wide; a handle and the gaps take the room of twelve."""
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        longest = [max(map(len, labels[i : i + rows])) for i in range(0, len(labels), rows)]
        if sum(longest) + 12 * len(longest) <= width:
            return columns
    return 1


def figure_1(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 1: the smallest noise-free value so far against the iteration, functions by dimensions.

    One panel for each of the problems that were run; the place of one that was not stays empty.
    """
    shown = {
        problem: names
        for problem in synthetic_problems(runs, entry.problems)
        if (names := runs.algorithms(problem, entry.algorithms))
    }
    if not shown:
        wanted = allowed(entry.algorithms or runs.entry.algorithms)
        raise RepliboError(f"no runs on the synthetic functions; one of {wanted} is needed")
    functions = list(dict.fromkeys(function_of(problem) for problem in shown))
    dims = sorted({dim_of(runs, problem) for problem in shown})
    # The longer side lies horizontally: the whole study is 3 x 4, its smallest part 1 x 3.
    across = len(functions) > len(dims)
    shape = (len(dims), len(functions)) if across else (len(functions), len(dims))
    figure, axes = plotting.panels(*shape)
    empty = set(axes.flat)
    for problem, names in shown.items():
        place = (functions.index(function_of(problem)), dims.index(dim_of(runs, problem)))
        ax = axes[place[::-1] if across else place]
        empty.discard(ax)
        for name in names:
            t, values = smallest_value(runs, problem, name)
            mean, style = values.mean(axis=0), runs.entry.algorithms[name]
            if len(values) > 1:
                plotting.band(ax, t, mean, standard_deviation(values), style)
            else:
                ax.plot(t, mean, **plotting.line_style(style))
        ax.set_title(runs.entry.problems[problem].label)
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("smallest value so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
    for ax in empty:
        ax.remove()
    single = any(len(runs.seeds(p, name)) == 1 for p, names in shown.items() for name in names)
    caption = (
        f"{entry.caption} Smallest noise-free value so far, as the paper minimises: mean over the "
        f"seeds, shaded: ± one standard deviation{' (none of a single seed)' if single else ''}. "
        "t = 0 is the best of the D + 1 initial points, which all methods of a seed share. "
        f"{runs.note(list(shown), entry.algorithms)}"
    )
    labels = [
        label_of(runs, name) for name in dict.fromkeys(n for ns in shown.values() for n in ns)
    ]
    return plotting.finish(figure, caption, columns=legend_columns(labels, 52 * shape[1]))


# Tables


def number(value: float) -> str:
    """Four significant digits; a dash where the value is not known."""
    return "–" if math.isnan(value) else f"{value:.4g}"


def or_none(value: float) -> float | None:
    """``value``, or None where it is not known (nan)."""
    return None if math.isnan(value) else float(value)


def cpu_seconds(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds of all runs of a problem and algorithm, imports not counted; nan where nothing was
    recorded."""
    timings = runs.metadata.get("timings", {}).get(f"{problem}/{algorithm}")
    return float(timings["cpu_seconds"]) if timings else math.nan


def cpu_seconds_a_query(runs: Runs, problem: str, algorithm: str) -> float:
    """CPU seconds over the queries that the algorithm chose; nan where nothing was recorded."""
    timings = runs.metadata.get("timings", {}).get(f"{problem}/{algorithm}", {})
    asked = timings.get("runs", 0) * runs.horizon(problem)
    return cpu_seconds(runs, problem, algorithm) / asked if asked else math.nan


def final_values(runs: Runs, entry: FigureEntry) -> Table:
    """What each method has reached after T iterations, with 95 % intervals, and what a query costs."""
    from scipy.special import stdtrit

    columns = (
        "problem",
        "algorithm",
        "seeds",
        "T",
        "smallest value, mean",
        "standard deviation",
        "95 % interval, low",
        "95 % interval, high",
        "CPU s a query",
    )
    rows: list[Row] = []
    problems = synthetic_problems(runs, entry.problems)
    for problem in problems:
        for name in runs.algorithms(problem, entry.algorithms):
            values = final_values_of(runs, problem, name)
            n, mean, sd = len(values), float(values.mean()), float(standard_deviation(values))
            half = math.nan if n == 1 else float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    label_of(runs, name),
                    n,
                    runs.horizon(problem),
                    mean,
                    or_none(sd),
                    or_none(mean - half),
                    or_none(mean + half),
                    or_none(cpu_seconds_a_query(runs, problem, name)),
                )
            )
    caption = (
        f"{entry.caption} Smallest noise-free value after T iterations, as the paper minimises: mean, "
        "standard deviation and Student's 95 % interval of the mean over the seeds. CPU seconds of "
        f"one thread, imports not counted, over the T queries. {runs.note(problems, entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(columns[4:8], number)
    return Table(columns, rows, caption, formats | {columns[8]: lambda v: f"{v:.3g}"})


# The grid search for ν


def nu_of(runs: Runs, algorithm: str) -> float:
    """ν of an algorithm's entry in the config.

    Raises:
        RepliboError: the config has no such algorithm, or its entry does not name ν.
    """
    entry = runs.entry.algorithms.get(algorithm)
    if entry is None or not isinstance(entry.parameters.get("nu"), int | float):
        raise RepliboError(
            f"algorithms.{algorithm}.parameters.nu: not in the config; a number is needed"
        )
    return float(entry.parameters["nu"])


def nu_mean_ranks(runs: Runs, problems: Sequence[str], grid: Sequence[str] = NU_GRID) -> Array:
    """The mean over the problems of each ν's rank by its mean final value, 1 being the best.

    Problems on which not every ν of the grid was run do not count; all are nan where none does.

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


def chosen_nu(runs: Runs, problems: Sequence[str], grid: Sequence[str] = NU_GRID) -> str | None:
    """The algorithm of ``grid`` with the smallest mean rank, the earlier one where two are equal; None
    where no problem has runs of the whole grid."""
    ranks = nu_mean_ranks(runs, problems, grid)
    return None if np.isnan(ranks).any() else grid[int(np.argmin(ranks))]


def nu_grid(
    runs: Runs,
    entry: FigureEntry,
    *,
    grid: Sequence[str] = NU_GRID,
    algorithm: str = "neural_bo",
) -> Table:
    """The grid search for ν (section 7): what each ν reached, the choice, and what the grid cost.

    One ν is chosen for all problems, the one with the smallest mean rank over them: the paper does not
    say whether it chose one for each problem, and the values of different functions have no common
    unit.

    Args:
        grid: the algorithms with each ν, in the order of ν.
        algorithm: the one that the reported runs use.
    """
    columns = (
        "problem",
        "ν",
        "seeds",
        "T",
        "smallest value, mean",
        "standard deviation",
        "rank",
        "chosen",
        "CPU s",
    )
    from scipy.stats import rankdata

    rows: list[Row] = []
    problems = [p for p in synthetic_problems(runs, entry.problems) if runs.algorithms(p, grid)]
    for problem in problems:
        names = runs.algorithms(problem, grid)
        values = [final_values_of(runs, problem, name) for name in names]
        ranks = rankdata([v.mean() for v in values])
        for name, own, rank in zip(names, values, ranks, strict=True):
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    nu_of(runs, name),
                    len(own),
                    runs.horizon(problem),
                    float(own.mean()),
                    or_none(float(standard_deviation(own))),
                    float(rank),
                    "yes" if len(names) == len(grid) and rank == ranks.min() else "",
                    or_none(cpu_seconds(runs, problem, name)),
                )
            )
    choice = chosen_nu(runs, problems, grid)
    cost = [
        math.fsum(cpu_seconds(runs, p, name) for p in problems if runs.has(p, name))
        for name in grid
    ]
    for name, rank, seconds in zip(grid, nu_mean_ranks(runs, problems, grid), cost, strict=True):
        whole = ("all, mean rank", nu_of(runs, name), None, None, None, None, or_none(float(rank)))
        rows.append((*whole, "yes" if name == choice else "", or_none(seconds)))
    used = nu_of(runs, algorithm)
    words = f"No problem was run with every ν, so none is chosen; {label_of(runs, algorithm)} "
    if choice is not None:
        words = (
            f"Chosen for all problems: ν = {nu_of(runs, choice):g}, by the smallest mean rank of the "
            f"mean value over the problems. {label_of(runs, algorithm)} "
        )
    words += f"runs with ν = {used:g}"
    if choice is not None:
        words += (
            f", which is {'' if used == nu_of(runs, choice) else 'not '}the choice of these runs"
        )
    caption = f"{entry.caption} {words}. {_seeds_of_the_grid(runs, problems, grid, algorithm)}"
    if problems and not any(map(math.isnan, cost)):
        caption += f" The grid cost {math.fsum(cost):.3g} CPU s."
    caption = f"{caption} {runs.note(problems, grid)}"
    formats: dict[str, Format] = dict.fromkeys(columns[4:6], number)
    formats |= {
        "ν": lambda v: f"{v:g}",
        "rank": lambda v: f"{v:.3g}",
        "CPU s": lambda v: f"{v:.3g}",
    }
    return Table(columns, rows, caption, formats)


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
        "problem",
        "algorithm",
        "seeds",
        "rounds",
        "rounds diverged (share)",
        "seeds with such rounds",
        "first such round",
        "smallest value, mean",
    )
    rows: list[Row] = []
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
            diverged = recorded > 0.5  # nan is not
            t = runs.rounds(problem, name)[first:][diverged.any(axis=0)]
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    label_of(runs, name),
                    len(recorded),
                    int(known.sum()),
                    float(diverged.sum() / known.sum()),
                    int(diverged.any(axis=1).sum()),
                    int(t[0]) if len(t) else None,
                    # the mean over different functions would say nothing
                    float(final_values_of(runs, problem, name).mean())
                    if problem in synthetic
                    else None,
                )
            )
    caption = (
        f"{entry.caption} Rounds (of all seeds) whose network came out of its training with weights "
        "that are no numbers. "
        f"{runs.note(problems, entry.algorithms)}"
    )
    formats: dict[str, Format] = {columns[4]: lambda v: f"{v:.1%}", columns[7]: number}
    return Table(columns, rows, caption, formats)
