"""Figures that the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024) does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.common import Summary, mean_and_interval, problem_panels
from replibo.papers.lb_gp_ucb.traces import GROWTH_EXPONENT, cumulative_regret
from replibo.problems.base import Array
from replibo.results import intervals, plotting
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
ORACLE = "oracle"


def optimality(runs: Runs, entry: FigureEntry) -> Figure:
    """R_t over the oracle's, beside d ln g(t), to which LB-GP-UCB's bound is proportional.

    "For a fixed choice of growth function, we get R_T/R^θ*(T) = O(d ln g(T))" (section 4), where
    A-GP-UCB has O(g(T)^d). R^θ* is the oracle's bound; here it is the regret of GP-UCB at θ̂*, with
    β = 1 in place of Theorem 2.3's β^θ*. g(t) = max(t0, √t), t0 = e^(5/d), as LB-GP-UCB is printed.
    """
    problems = [p for p in runs.problems(entry.problems) if runs.has(p, ORACLE)]
    if not problems:
        raise RepliboError(f"{ORACLE} must have been run on a problem")
    shown = {
        problem: [name for name in runs.algorithms(problem, entry.algorithms) if name != ORACLE]
        for problem in problems
    }

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        t, ratio = ratio_to_oracle(runs, problem, name)
        return t, *mean_and_interval(ratio)

    labels = ("round $t$", "$R_t$ over the oracle's")
    figure, panels = problem_panels(runs, shown, summary, labels=labels, columns=4)
    for problem, ax in panels.items():
        d = runs.dim(problem)
        rounds = np.arange(1, runs.horizon(problem) + 1)
        growth = np.maximum(np.exp(5 / d), rounds**GROWTH_EXPONENT)
        ax.plot(
            rounds, d * np.log(growth), color=COLORS["black"], ls="dotted", label=r"$d\,\ln g(t)$"
        )
        ax.axhline(1.0, color=COLORS["grey"], lw=0.8)
        ax.set_yscale("log")
        plotting.plain_numbers(ax)
    caption = (
        f"{entry.caption} Ratio of the mean cumulative regrets over the common seeds; "
        f"{plotting.intervals_said(shown, f'{CONFIDENCE:.0%} by the jackknife')}. "
        f"The rate is up to "
        f"a constant, a vertical shift on this axis: what the theorem bounds is how fast a curve rises. "
        f"{runs.note(problems)}"
    )
    return plotting.finish(figure, caption)


def ratio_to_oracle(runs: Runs, problem: str, algorithm: str) -> tuple[Array, intervals.Interval]:
    """The rounds, and the ratio of mean cumulative regrets in each, over the seeds that both have."""
    seeds = [runs.seeds(problem, name) for name in (algorithm, ORACLE)]
    common = np.intersect1d(seeds[0], seeds[1])
    both = []
    for name, own in zip((algorithm, ORACLE), seeds, strict=True):
        t, values = cumulative_regret(runs, problem, name)
        both.append(values[np.isin(own, common)])

    def ratio(values: Array) -> Array:  # r x 2 x T
        mine, theirs = values.mean(axis=0)
        quotient: Array = np.divide(mine, theirs, out=np.full_like(mine, np.nan), where=theirs > 0)
        return quotient

    return t, intervals.jackknife_interval(np.stack(both, axis=1), ratio, CONFIDENCE)
