"""Tables that the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024) does not have: θ0 and what it
decides, the starts of the maximum-likelihood fit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from replibo.config.models import FigureEntry
from replibo.papers.common import label_of
from replibo.papers.lb_gp_ucb.tables import Row
from replibo.papers.lb_gp_ucb.traces import (
    METRICS,
    diagnostic,
    final_regret_of,
    has_diagnostic,
    theta0_of,
)
from replibo.problems.base import Array
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table, p_value

# θ0


def theta0(runs: Runs, entry: FigureEntry) -> Table:
    """θ0 of every seed, and the regrets of the methods that start from it."""
    problems = runs.problems(entry.problems)
    with_theta0 = {problem: _using_theta0(runs, entry, problem) for problem in problems}
    names = [
        name
        for name in entry.algorithms or list(runs.entry.algorithms)
        if any(name in used for used in with_theta0.values())
    ]
    regrets = [(name, metric) for name in names for metric in METRICS]
    labels = [f"{label_of(runs, name)}, {metric}" for name, metric in regrets]
    columns = ("problem", "seed", "θ0", *labels)
    rows: list[Row] = []
    for problem, used in with_theta0.items():
        # The methods' θ0 are equal but where they are fitted in another way: then a row for each.
        found: dict[tuple[int, float], dict[tuple[str, str], float]] = {}
        for name in used:
            thetas = theta0_of(runs, problem, name).tolist()
            seeds = runs.seeds(problem, name).tolist()
            for metric in METRICS:
                values = final_regret_of(runs, problem, name, metric)  # type: ignore[arg-type]
                for seed, theta, value in zip(seeds, thetas, values.tolist(), strict=True):
                    found.setdefault((seed, theta), {})[name, metric] = value
        for (seed, theta), row in sorted(found.items()):
            found_regrets = (row.get(regret) for regret in regrets)
            values_of_row = (runs.entry.problems[problem].label, seed, theta, *found_regrets)
            rows.append(dict(zip(columns, values_of_row, strict=True)))
    caption = (
        f"{entry.caption} θ0: length scale of maximum likelihood on the initial points, in units of "
        f"the cube. Cumulative and best regret at t = T. {runs.note(problems)}"
    )
    return Table.of(rows, caption, dict.fromkeys(columns[2:], ".4g"), columns)


def theta0_correlation(runs: Runs, entry: FigureEntry) -> Table:
    """Spearman's and Pearson's correlation over the seeds of θ0 with the regret at t = T."""
    columns = (
        *("problem", "algorithm", "seeds", "smallest θ0", "median θ0", "largest θ0"),
        *("read as white noise (share of seeds)", "metric"),
        *("Spearman", "p (Spearman)", "Pearson (log θ0)", "p (Pearson)"),
    )
    rows: list[Row] = []
    problems = runs.problems(entry.problems)
    for problem in problems:
        for name in _using_theta0(runs, entry, problem):
            thetas = theta0_of(runs, problem, name)
            collapsed = None
            if has_diagnostic(runs, problem, name, "theta0_collapsed"):
                first = diagnostic(runs, problem, name, "theta0_collapsed")[:, 0]
                collapsed = float(first.mean())
            for metric in METRICS:
                values = final_regret_of(runs, problem, name, metric)  # type: ignore[arg-type]
                row = (
                    runs.entry.problems[problem].label,
                    label_of(runs, name),
                    len(thetas),
                    float(thetas.min()),
                    float(np.median(thetas)),
                    float(thetas.max()),
                    collapsed,
                    metric,
                    *_correlations(thetas, values),
                )
                rows.append(dict(zip(columns, row, strict=True)))
    caption = (
        f"{entry.caption} Correlation over the seeds of θ0 with the regret at t = T; Pearson's of "
        f"log θ0; p: two-sided. {runs.note(problems)}"
    )
    formats: dict[str, Format] = dict.fromkeys(columns[3:7], ".3g")
    formats |= {"Spearman": ".2f", "Pearson (log θ0)": ".2f"}
    formats |= {"p (Spearman)": p_value, "p (Pearson)": p_value}
    return Table.of(rows, caption, formats, columns)


def _using_theta0(runs: Runs, entry: FigureEntry, problem: str) -> list[str]:
    return [
        name
        for name in runs.algorithms(problem, entry.algorithms)
        if has_diagnostic(runs, problem, name, "theta0")
    ]


def _correlations(thetas: Array, values: Array) -> tuple[float | None, ...]:
    """Spearman's correlation and p, Pearson's of log θ0 and p; None where one side does not vary or
    there are too few seeds for a p-value."""
    if len(values) < 3 or np.ptp(thetas) == 0 or np.ptp(values) == 0:
        return None, None, None, None
    from scipy.stats import pearsonr, spearmanr

    rank, line = spearmanr(thetas, values), pearsonr(np.log(thetas), values)
    return float(rank.statistic), float(rank.pvalue), float(line.statistic), float(line.pvalue)


# Starts of the maximum-likelihood fit

DIFFERENT = 0.01
"""Length scales that differ by more than this share are two optima, not one found twice."""


def mle_starts(runs: Runs, entry: FigureEntry) -> Table:
    """The shares of fits of the length scale that collapse, stop early, or depend on their starts.

    Single and multi-start are compared on the same data, in the rounds of a run that takes several
    starts (``length_scale_start: multi``). They differ if another start found a higher maximum,
    more than 1 % of the length scale away.
    """
    flags = {
        "read as white noise": "fit_collapsed",
        "not converged": "fit_converged",
        "at the lower bound": "fit_at_bound",
    }
    columns = (
        "problem",
        "algorithm",
        "seeds",
        "rounds",
        *flags,
        "single start ends elsewhere",
        "seeds where it does",
    )
    rows: list[Row] = []
    problems = runs.problems(entry.problems)
    for problem in problems:
        for name in runs.algorithms(problem, entry.algorithms):
            if not has_diagnostic(runs, problem, name, "fit_collapsed"):
                continue
            shares: list[float | None] = []
            for column in flags.values():
                share = None
                if has_diagnostic(runs, problem, name, column):
                    share = float(diagnostic(runs, problem, name, column).mean())
                    share = 1 - share if column == "fit_converged" else share
                shares.append(share)
            elsewhere = _single_start_elsewhere(runs, problem, name)
            rounds = diagnostic(runs, problem, name, "fit_collapsed")
            row = (
                runs.entry.problems[problem].label,
                label_of(runs, name),
                len(rounds),
                rounds.size,
                *shares,
                None if elsewhere is None else float(elsewhere.mean()),
                None if elsewhere is None else float(elsewhere.any(axis=1).mean()),
            )
            rows.append(dict(zip(columns, row, strict=True)))
    caption = (
        f"{entry.caption} Shares of the rounds, in the last column of the seeds. Read as white "
        "noise: no two points correlate by more than 1 %. Single start ends elsewhere: by more "
        f"than {DIFFERENT:.0%} of the length scale, on the same data. {runs.note(problems)}"
    )
    return Table.of(rows, caption, dict.fromkeys(columns[4:], ".1%"), columns)


def _single_start_elsewhere(runs: Runs, problem: str, name: str) -> NDArray[np.bool_] | None:
    """Whether the single start ended at another length scale, ``seeds x T``; None where a single
    start is all that the algorithm takes, or nothing was recorded."""
    if runs.entry.algorithms[name].parameters.get("length_scale_start") != "multi":
        return None
    if not has_diagnostic(runs, problem, name, "length_scale_single_start"):
        return None
    single = diagnostic(runs, problem, name, "length_scale_single_start")
    multi = diagnostic(runs, problem, name, "length_scale")
    return np.abs(np.log(single / multi)) > math.log1p(DIFFERENT)
