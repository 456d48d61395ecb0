"""Tables 1 and 2 of LB-GP-UCB (Ziomek, Adachi and Osborne 2024), and those beyond the paper: final
regrets, θ0 and what it decides, the starts of the maximum-likelihood fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from replibo.config.models import FigureEntry, Rounds
from replibo.errors import RepliboError
from replibo.papers.common import labelled_rows, named, shown_by
from replibo.papers.lb_gp_ucb.traces import (
    GROWTH_EXPONENT,
    METRICS,
    TESTS,
    Metric,
    cpu_time,
    diagnostic,
    final_losses,
    final_regret_of,
    first_rounds,
    theta0_of,
)
from replibo.problems.base import Array
from replibo.results import statistics
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table, p_value

Row = dict[str, Any]

FOUND = 1e-3
"""The optimum counts as found where the best regret is at most this share of its absolute value: a
continuous domain has no exact hit."""

FOUND_COLUMN = "optimum found (share of seeds)"


# Table 1


BOUNDS_AT = 250
"""T of Table 1's numbers."""


def table_1(runs: Runs, entry: FigureEntry) -> Table:
    """Table 1: how far each method's regret bound is from the oracle's, with the numbers at t = T.

    g(t) = max(t0, √t), b(t) = max(1, √t), with the printed t0 = e^(5/d) and the released e^(5/(d+5)).
    """
    b = BOUNDS_AT**0.5
    rows: list[Row] = []
    for problem in runs.problems(entry.problems):
        d = runs.dim(problem)
        for agp in (True, False):
            for t0 in (math.exp(5 / d), math.exp(5 / (d + 5))):
                g = max(t0, BOUNDS_AT**GROWTH_EXPONENT)
                # Regret over the oracle's bound: Table 1, left and right column; Appendix H.
                value = g**d if agp else d * math.log(g)
                rows.append(
                    {
                        "problem": runs.problem_label(problem),
                        "d": d,
                        "method": "A-GP-UCB" if agp else "LB-GP-UCB / LNB-GP-UCB",
                        "t0": t0,
                        "g(T)": g,
                        "b(T)": b,
                        "rate, unknown length scale": "O(g(T)^d)" if agp else "O(d ln g(T))",
                        "its value": value,
                        "rate, unknown norm as well": (
                            "O(b(T) g(T)^d)" if agp else "O(d ln g(T) ln b(T))"
                        ),
                        "value of it": value * (b if agp else math.log(b)),
                    }
                )
    caption = (
        f"{entry.caption} R_T/R*(T) up to constants, at T = {BOUNDS_AT}, with g(t) = max(t0, t^0.5) "
        "and b(t) = max(1, t^0.5). The paper's text gives the rates and no numbers. t0: first e^(5/d), "
        "which gives five candidates with the printed q, then e^(5/(d+5)), as released. Computed, not "
        "from runs."
    )
    formats = dict.fromkeys(("t0", "g(T)", "b(T)", "its value", "value of it"), ".4g")
    return Table.of(rows, caption, formats)


# Table 2

# Seconds of a run, mean and standard error over the seeds (Table 2): wall time, four cores each.
PAPER_SECONDS = {
    problem: dict(zip(("mle", "a_gp_ucb", "lb_gp_ucb", "mcmc"), row, strict=True))
    for problem, row in {
        "berkenkamp": ((438, 0.66), (443, 1.5), (442, 1.7), (1653, 26)),
        "michalewicz5": ((237, 2.4), (167, 0.9), (181, 0.5), (3388, 369)),
        "crossed_barrel": ((55, 0.1), (48, 0.4), (48, 0.5), (471, 25)),
        "agnp": ((53, 0.05), (49, 0.18), (49, 0.16), (246, 3.6)),
    }.items()
}


def table_2(runs: Runs, entry: FigureEntry) -> Table:
    """Table 2: running time per method and problem, ours beside the paper's."""
    rows: list[Row] = []
    for problem in runs.problems(entry.problems):
        paper = PAPER_SECONDS.get(problem, {})
        for name in entry.algorithms or list(runs.entry.algorithms):
            time = cpu_time(runs, problem, name) if runs.has(problem, name) else None
            if time is None and name not in paper:
                continue
            seconds, error = paper.get(name, (None, None))
            rows.append(
                {
                    "problem": runs.problem_label(problem),
                    "method": runs.label(name),
                    "runs": time.runs if time else 0,
                    "T": runs.horizon(problem),
                    "ours, CPU s a run": time and time.mean,
                    "standard error": time and time.standard_error,
                    "ours, CPU ms a query": time and 1e3 * time.mean * time.runs / time.queries,
                    "paper, wall s a run": seconds,
                    "paper, standard error": error,
                }
            )
    if not rows:
        raise RepliboError("no run holds its time")
    caption = (
        f"{entry.caption} Ours: CPU seconds of one thread, imports not counted, mean and standard "
        "error over the runs. The paper's: wall seconds with four cores of a Ryzen Threadripper "
        f"3990X a run (Table 2). {runs.note(runs.problems(entry.problems))}"
    )
    formats = dict.fromkeys(list(rows[0])[4:7], ".3g") | dict.fromkeys(list(rows[0])[7:], "g")
    return Table.of(rows, caption, formats)


# Final regrets

PROPOSED = "lb_gp_ucb"


def final_regret(runs: Runs, entry: FigureEntry, *, rounds: Rounds | None = None) -> Table:
    """Cumulative and best regret at t = T, and tests of LB-GP-UCB's being lower.

    ``rounds`` is T, if it is not that of the runs. (No method knows T, so that a run's first rounds are a
    shorter run.)
    """
    runs = first_rounds(runs, rounds)
    rows: list[Row] = []
    problems = runs.problems(entry.problems)
    for problem in problems:
        names = runs.algorithms(problem, entry.algorithms)
        tests = {metric: _tests(runs, problem, names, metric) for metric in METRICS}
        tolerance = FOUND * abs(runs.optimal_value(problem))
        for name in names:
            row = named(runs, problem, name) | {"T": runs.horizon(problem)}
            for metric in METRICS:
                values = final_regret_of(runs, problem, name, metric)
                p, adjusted = tests[metric].get(name, (None, None))
                row |= {
                    f"{metric} regret": float(values.mean()),
                    f"standard error ({metric})": float(statistics.standard_error(values)),
                    f"p ({metric})": p,
                    f"adjusted p ({metric})": adjusted,
                }
            best = final_regret_of(runs, problem, name, "best")
            rows.append({**row, FOUND_COLUMN: float(np.mean(best <= tolerance))})
    caption = (
        f"{entry.caption} Regret in the unit of each objective. p: {runs.label(PROPOSED)}'s mean "
        "regret is lower (one-sided t-test, paired by seed); adjusted by Benjamini and Hochberg, a "
        "family for each problem and metric. Optimum found: best regret at most "
        f"{FOUND:.1%} of the optimum's absolute value. {runs.note(problems)}"
    )
    formats: dict[str, Format] = {FOUND_COLUMN: ".4g"}
    for metric in METRICS:
        formats |= {f"{metric} regret": ".4g", f"standard error ({metric})": ".4g"}
        formats |= {f"p ({metric})": p_value, f"adjusted p ({metric})": p_value}
    return Table.of(rows, caption, formats)


def _tests(
    runs: Runs, problem: str, names: Sequence[str], metric: Metric
) -> dict[str, tuple[float, float]]:
    """For each other algorithm p and adjusted p of LB-GP-UCB's being lower, if there are at least two
    common seeds."""
    if not runs.has(problem, PROPOSED):
        return {}
    seeds = runs.seeds(problem, PROPOSED)
    rivals = [
        name
        for name in names
        if name != PROPOSED and len(np.intersect1d(runs.seeds(problem, name), seeds)) > 1
    ]
    p = [TESTS["t"](*final_losses(runs, problem, (PROPOSED, name), metric))[0] for name in rivals]
    adjusted = statistics.benjamini_hochberg(p)
    return {name: (float(a), float(b)) for name, a, b in zip(rivals, p, adjusted, strict=True)}


# θ0


def theta0(runs: Runs, entry: FigureEntry) -> Table:
    """θ0 of every seed, and the regrets of the methods that start from it."""
    with_theta0 = shown_by(runs, entry, "theta0")
    rows: list[Row] = []
    for problem, used in with_theta0.items():
        # The methods' θ0 are equal unless they are fitted in another way: then a row for each.
        by_theta: dict[tuple[int, float], Row] = {}
        for name in used:
            seeds = runs.seeds(problem, name).tolist()
            keys = list(zip(seeds, theta0_of(runs, problem, name).tolist(), strict=True))
            for metric in METRICS:
                values = final_regret_of(runs, problem, name, metric)
                for key, value in zip(keys, values.tolist(), strict=True):
                    by_theta.setdefault(key, {})[f"{runs.label(name)}, {metric}"] = value
        for (seed, theta), regrets in sorted(by_theta.items()):
            first = {"problem": runs.problem_label(problem), "seed": seed, "θ0": theta}
            rows.append(first | regrets)
    regrets_of = [
        f"{runs.label(name)}, {metric}"
        for name in dict.fromkeys(itertools.chain(*with_theta0.values()))
        for metric in METRICS
    ]
    caption = (
        f"{entry.caption} θ0: length scale of maximum likelihood on the initial points, in units of "
        f"the cube. Cumulative and best regret at t = T. {runs.note(list(with_theta0))}"
    )
    columns = ["problem", "seed", "θ0", *regrets_of]
    return Table.of(rows, caption, dict.fromkeys(columns[2:], ".4g"), columns)


def theta0_correlation(runs: Runs, entry: FigureEntry) -> Table:
    """Spearman's and Pearson's correlation over the seeds of θ0 with the regret at t = T."""
    rows: list[Row] = []
    problems = shown_by(runs, entry, "theta0")
    for problem, name, cells in labelled_rows(runs, entry, problems):
        thetas = theta0_of(runs, problem, name)
        collapsed = diagnostic(runs, problem, name, "theta0_collapsed")[:, 0]
        cells |= {
            "smallest θ0": float(thetas.min()),
            "median θ0": float(np.median(thetas)),
            "largest θ0": float(thetas.max()),
            "read as white noise (share of seeds)": float(collapsed.mean()),
        }
        for metric in METRICS:
            correlations = _correlations(thetas, final_regret_of(runs, problem, name, metric))
            rows.append(cells | {"metric": metric} | correlations)
    caption = (
        f"{entry.caption} Correlation over the seeds of θ0 with the regret at t = T; Pearson's of "
        f"log θ0; p: two-sided. {runs.note(list(problems))}"
    )
    formats: dict[str, Format] = dict.fromkeys(list(rows[0])[3:7], ".3g")
    formats |= {"Spearman": ".2f", "Pearson (log θ0)": ".2f"}
    formats |= {"p (Spearman)": p_value, "p (Pearson)": p_value}
    return Table.of(rows, caption, formats)


def _correlations(thetas: Array, values: Array) -> Row:
    """Spearman's correlation and p, Pearson's of log θ0 and p; None if one side does not vary or there
    are too few seeds for a p-value."""
    names = ("Spearman", "p (Spearman)", "Pearson (log θ0)", "p (Pearson)")
    if len(values) < 3 or np.ptp(thetas) == 0 or np.ptp(values) == 0:
        return dict.fromkeys(names)
    from scipy.stats import pearsonr, spearmanr

    return dict(
        zip(names, (*spearmanr(thetas, values), *pearsonr(np.log(thetas), values)), strict=True)
    )


# Starts of the maximum-likelihood fit

DIFFERENT = 0.01
"""Length scales that differ by more than this share are two optima, not one found twice."""


def mle_starts(runs: Runs, entry: FigureEntry) -> Table:
    """The shares of fits of the length scale that collapse, stop early, or depend on their starts.

    Single and multi-start are compared on the same data, in the rounds of a run that takes several
    starts (``length_scale_start: multi``). They differ if another start found a higher maximum,
    more than 1 % of the length scale away.
    """
    rows: list[Row] = []
    problems = shown_by(runs, entry, "fit_collapsed")
    for problem, name, row in labelled_rows(runs, entry, problems):
        collapsed, converged, at_bound = (
            diagnostic(runs, problem, name, f"fit_{flag}")
            for flag in ("collapsed", "converged", "at_bound")
        )
        row |= {
            "rounds": collapsed.size,
            "read as white noise": float(collapsed.mean()),
            "not converged": 1 - float(converged.mean()),
            "at the lower bound": float(at_bound.mean()),
            "single start ends elsewhere": None,
            "seeds where it does": None,
        }
        if runs.entry.algorithms[name].parameters.get("length_scale_start") == "multi":
            single, multi = (
                diagnostic(runs, problem, name, kind)
                for kind in ("length_scale_single_start", "length_scale")
            )
            elsewhere = np.abs(np.log(single / multi)) > math.log1p(DIFFERENT)
            row["single start ends elsewhere"] = float(elsewhere.mean())
            row["seeds where it does"] = float(elsewhere.any(axis=1).mean())
        rows.append(row)
    caption = (
        f"{entry.caption} Shares of the rounds, in the last column of the seeds. Read as white "
        "noise: no two points correlate by more than 1 %. Single start ends elsewhere: by more "
        f"than {DIFFERENT:.0%} of the length scale, on the same data. {runs.note(list(problems))}"
    )
    return Table.of(rows, caption, dict.fromkeys(list(rows[0])[4:], ".1%"))
