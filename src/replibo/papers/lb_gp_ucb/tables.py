"""Tables 1 and 2 of LB-GP-UCB (Ziomek, Adachi and Osborne 2024), and those beyond the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.papers.common import label_of
from replibo.papers.lb_gp_ucb.traces import (
    GROWTH_EXPONENT,
    METRICS,
    best_regret,
    compare,
    cpu_time,
    final_regret_of,
    first_rounds,
)
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

    g(t) = max(t0, √t), b(t) = max(1, √t). A-GP-UCB with the released t0 = e^(5/(d+5)), LB-GP-UCB
    with e^(5/d), each as it is run; and with the other one's.
    """
    b = BOUNDS_AT**0.5
    rows: list[Row] = []
    for problem in runs.problems(entry.problems):
        d = runs.dim(problem)
        released, printed = math.exp(5 / (d + 5)), math.exp(5 / d)
        for agp in (True, False):
            for t0 in (released, printed) if agp else (printed, released):
                g = max(t0, BOUNDS_AT**GROWTH_EXPONENT)
                # Regret over the oracle's bound: Table 1, left and right column; Appendix H.
                value = g**d if agp else d * math.log(g)
                rows.append(
                    {
                        "problem": runs.entry.problems[problem].label,
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
        "and b(t) = max(1, t^0.5). The paper's text gives the rates and no numbers. t0: first as the "
        "method is run here, then the other one of e^(5/(d+5)) (released) and e^(5/d) (which gives "
        "five candidates with the printed q). Computed, not from runs."
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
    columns = (
        *("problem", "method", "runs", "T", "ours, CPU s a run", "standard error"),
        *("ours, CPU ms a query", "paper, wall s a run", "paper, standard error"),
    )
    rows: list[Row] = []
    for problem in runs.problems(entry.problems):
        paper = PAPER_SECONDS.get(problem, {})
        for name in entry.algorithms or list(runs.entry.algorithms):
            time = cpu_time(runs, problem, name) if runs.has(problem, name) else None
            if time is None and name not in paper:
                continue
            row = (
                runs.entry.problems[problem].label,
                label_of(runs, name),
                time.runs if time else 0,
                runs.horizon(problem),
                time.mean if time else None,
                time.standard_error if time else None,
                1e3 * time.mean * time.runs / time.queries if time else None,
                *paper.get(name, (None, None)),
            )
            rows.append(dict(zip(columns, row, strict=True)))
    caption = (
        f"{entry.caption} Ours: CPU seconds of one thread, imports not counted, mean and standard "
        "error over the runs. The paper's: wall seconds with four cores of a Ryzen Threadripper "
        f"3990X a run (Table 2). {runs.note(runs.problems(entry.problems))}"
    )
    formats = dict.fromkeys(columns[4:7], ".3g") | dict.fromkeys(columns[7:], "g")
    return Table.of(rows, caption, formats, columns)


# Final regrets

OWN = "lb_gp_ucb"


def final_regret(runs: Runs, entry: FigureEntry, *, rounds: int | None = None) -> Table:
    """Cumulative and best regret at t = T, and tests of LB-GP-UCB's being lower.

    The tests are paired by seed; the adjusted p-values are of Benjamini and Hochberg, a family
    being all methods that it is compared with on one problem, by one metric.

    Args:
        rounds: T, where it is not that of the runs. (No method knows T, so that a run's first
            rounds are a shorter run.)
    """
    runs = first_rounds(runs, rounds)
    rows: list[Row] = []
    problems = runs.problems(entry.problems)
    for problem in problems:
        names = runs.algorithms(problem, entry.algorithms)
        tests = {metric: _tests(runs, problem, names, metric) for metric in METRICS}
        found = FOUND * abs(runs.optimal_value(problem))
        for name in names:
            row: Row = {
                "problem": runs.entry.problems[problem].label,
                "algorithm": label_of(runs, name),
                "seeds": len(runs.seeds(problem, name)),
                "T": runs.horizon(problem),
            }
            for metric in METRICS:
                values = final_regret_of(runs, problem, name, metric)  # type: ignore[arg-type]
                p, adjusted = tests[metric].get(name, (None, None))
                row |= {
                    f"{metric} regret": float(values.mean()),
                    f"standard error ({metric})": float(statistics.standard_error(values)),
                    f"p ({metric})": p,
                    f"adjusted p ({metric})": adjusted,
                }
            best = best_regret(runs, problem, name)[1][:, -1]
            rows.append({**row, FOUND_COLUMN: float(np.mean(best <= found))})
    caption = (
        f"{entry.caption} Regret in the unit of each objective. p: {label_of(runs, OWN)}'s mean "
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
    runs: Runs, problem: str, names: Sequence[str], metric: str
) -> dict[str, tuple[float, float]]:
    """For each other algorithm p and adjusted p of LB-GP-UCB's being lower, where there are two common
    seeds at least."""
    if not runs.has(problem, OWN):
        return {}
    others = [
        name
        for name in names
        if name != OWN
        and len(np.intersect1d(runs.seeds(problem, name), runs.seeds(problem, OWN))) > 1
    ]
    if not others:
        return {}
    p = [compare(runs, problem, OWN, name, metric)[0] for name in others]  # type: ignore[arg-type]
    adjusted = statistics.benjamini_hochberg(p)
    return {name: (float(a), float(b)) for name, a, b in zip(others, p, adjusted, strict=True)}
