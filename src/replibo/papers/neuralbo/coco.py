"""NeuralBO, Figure 2: the bbob suite of COCO (Phan-Trong, Tran-The and Gupta 2023, section 7.1).

The measure is COCO's: of every (function, instance, target) the number of evaluations after which a
run has come within the target of the optimum, and of these numbers the empirical distribution (ECDF).
A run is one (function, instance), picked by its seed (`replibo.problems.coco.member`). Methods are
compared on the pairs that all of them ran: on other functions an ECDF would be another quantity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import FigureEntry
from replibo.papers.common import (
    Summary,
    of_each_baseline,
    problem_panels,
    shown_by,
    shown_difference,
    tested,
)
from replibo.papers.neuralbo.traces import interval_cells
from replibo.problems.base import Array
from replibo.problems.coco import FUNCTIONS, GROUPS, INSTANCES, member
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError, Undecided, decided
from replibo.results.intervals import Interval, stratified_interval
from replibo.results.regret import best_regret
from replibo.results.runs import Runs, of_common_seeds
from replibo.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# 51 precisions f - f_opt, five to a decade.
TARGETS: Array = 10.0 ** (np.arange(10, -41, -1) / 5)
# "We set the number of evaluations for our optimizers to be 20 times the dimension of the problem."
EVALUATIONS_PER_DIMENSION = 20

INTERVALS = (
    "95 % intervals (Welch's, of the means of the functions) over the instances of each function: the "
    "functions are the suite's, its instances a sample; none where a function has one instance"
)


def shares_reached(f: Array, optimal_value: float) -> Array:
    """The share of the 51 targets that each run has reached after each evaluation, ``n x evaluations``;
    its mean over the runs is the ECDF. Initial points are evaluations, too."""
    best = best_regret(f, optimal_value)
    return np.asarray(np.mean(best[:, :, None] <= TARGETS, axis=2))


def functions_of(seeds: Array) -> Array:
    """The number of the function that each seed runs."""
    return np.array([member(int(seed))[0] for seed in seeds])


def interval_of(values: Array, seeds: Array) -> Interval:
    """The mean over the runs, ``n x …``, with its 95 % interval over the instances of each function; NaN
    where a function has one instance."""
    return stratified_interval(values, functions_of(seeds))


def common_shares(
    runs: Runs, problem: str, algorithms: Sequence[str]
) -> tuple[Array, dict[str, Array]]:
    """The seeds that all the algorithms ran, and `shares_reached` of each algorithm in their order.

    Evaluations beyond 20·D do not count. A run that ended earlier has the columns that it has.
    """
    budget, optimum = EVALUATIONS_PER_DIMENSION * runs.dim(problem), runs.optimal_value(problem)
    seeds, values = of_common_seeds(
        (runs.seeds(problem, name), shares_reached(runs.f(problem, name)[:, :budget], optimum))
        for name in algorithms
    )
    if not len(seeds):
        raise MissingRunsError(
            f"{problem}: no (function, instance) was run by all of {', '.join(algorithms)}"
        )
    return seeds, dict(zip(algorithms, values, strict=True))


def coverage(seeds: Sequence[int] | Array) -> str:
    """How much of the suite these seeds are, e.g. ``24 of 24 functions, 5 of 15 instances each``."""
    pairs = [member(int(seed)) for seed in seeds]
    functions = sorted({function for function, _ in pairs})
    counts = [sum(function == number for number, _ in pairs) for function in functions]
    few, many = min(counts), max(counts)
    text = f"{len(functions)} of {FUNCTIONS} functions"
    if len(functions) < FUNCTIONS:
        text += f" ({', '.join(f'f{function}' for function in functions)})"
    return f"{text}, {few if few == many else f'{few} to {many}'} of {INSTANCES} instances each"


def _covered(runs: Runs, seeds: dict[str, Array]) -> str:
    """`coverage` in a sentence, once if it is the same for all problems."""
    texts = {problem: coverage(problem_seeds) for problem, problem_seeds in seeds.items()}
    clauses = [*texts.values()][:1]
    if len(set(texts.values())) > 1:
        clauses = [f"{runs.problem_label(problem)} {text}" for problem, text in texts.items()]
    return f"Run by all methods shown: {'; '.join(clauses)}."


def figure_2(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 2: the ECDF against the evaluations over D, one panel for each dimension."""
    problems = shown_by(runs, entry)
    shares_by_problem = {
        problem: common_shares(runs, problem, names) for problem, names in problems.items()
    }
    covered = {problem: seeds for problem, (seeds, _) in shares_by_problem.items()}

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        seeds, shares = shares_by_problem[problem]
        x = np.arange(1, shares[name].shape[1] + 1) / runs.dim(problem)
        return x, interval_of(shares[name], seeds)

    labels = ("evaluations / $D$", "share of targets")
    figure, panels = problem_panels(
        runs, problems, summary, labels=labels, step=True, logarithmic_x=True
    )
    for problem, ax in panels.items():
        initial = runs.initial_points(problem) / runs.dim(problem)
        ax.axvline(initial, color="0.6", lw=0.8, ls=":")
        plotting.from_zero(ax)
    caption = (
        f"{entry.caption} Share of (function, instance, target) triples reached, 51 targets "
        f"f − f* from 10² to 10⁻⁸, up to {EVALUATIONS_PER_DIMENSION} D evaluations, initial "
        f"points included (dotted line: the last of them); "
        f"{plotting.intervals_said(problems, INTERVALS)}. "
        f"{_covered(runs, covered)} {runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def coco_final(runs: Runs, entry: FigureEntry) -> Table:
    """The ECDF at the budget of 20·D evaluations, of all functions and of each group of the suite."""
    rows = []
    problems = shown_by(runs, entry)
    covered = {}
    for problem, algorithms in problems.items():
        seeds, shares = common_shares(runs, problem, algorithms)
        covered[problem] = seeds
        functions = functions_of(seeds)
        for name, values in shares.items():
            final = values[:, -1]
            row = {
                "problem": runs.problem_label(problem),
                "algorithm": runs.label(name),
                "functions x instances": len(final),
                "evaluations": values.shape[1],
                **interval_cells(interval_of(final, seeds), mean="targets reached"),
            }
            for group, (first, last) in GROUPS.items():
                part = final[(first <= functions) & (functions <= last)]
                row[f"f{first}-f{last}, {group}"] = float(part.mean()) if len(part) else None
            rows.append(row)
    formats = dict.fromkeys(list(rows[0])[4:], ".3f")
    caption = (
        f"{entry.caption} Share of (function, instance, target) triples reached, 51 targets from 10² "
        f"to 10⁻⁸, after at most {EVALUATIONS_PER_DIMENSION} D evaluations, initial points included; "
        f"{INTERVALS}. Last columns: the share within each group of functions. "
        f"{_covered(runs, covered)} {runs.note(list(problems), entry.algorithms)}"
    )
    return Table.of(rows, caption, formats)


# Measure of the claim


def highest_ecdf_at_budget(
    runs: Runs, *, problems: Sequence[str], algorithm: str, baselines: Sequence[str]
) -> list[Comparison]:
    """``algorithm`` reaches a larger share of the targets in 20·D evaluations than each baseline.

    For each problem (a dimension) and baseline, the shares are subtracted run by run, on the
    (function, instance) pairs that both ran, and the mean difference is tested over each function's
    instances (`interval_of`).
    """
    last_coverage = ""

    def compare(problem: str, baseline: str) -> Undecided:
        nonlocal last_coverage
        seeds, shares = common_shares(runs, problem, (algorithm, baseline))
        reached, rival = (shares[name][:, -1] for name in (algorithm, baseline))
        interval = interval_of(reached - rival, seeds)
        text = (
            f"{runs.problem_label(problem)}: {runs.label(algorithm)} {reached.mean():.3f}, "
            f"{runs.label(baseline)} {rival.mean():.3f}, {shown_difference(interval)}"
        )
        if (covered := coverage(seeds)) != last_coverage:  # once, and again where it changes
            text, last_coverage = f"{text} ({covered})", covered
        by_seed = dict(zip(seeds.tolist(), (reached - rival).tolist(), strict=True))
        return tested(text, interval, "difference of shares", [by_seed])

    return decided(of_each_baseline(runs, problems, algorithm, baselines, compare))
