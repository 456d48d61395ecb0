"""Figures 1 to 4 of LB-GP-UCB (Ziomek, Adachi and Osborne 2024)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.common import Summary, draw_problem, problem_panels, shown_by
from replibo.papers.lb_gp_ucb.traces import (
    GROWTH_EXPONENT,
    METRICS,
    Metric,
    cumulative_regret,
    diagnostic,
    final_regret_of,
    growth_exponent,
    oracle_length_scale,
)
from replibo.problems.base import Array
from replibo.results import intervals, plotting, statistics
from replibo.results.runs import Runs, of_common_seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGRET_LABELS: dict[Metric, str] = {
    "cumulative": "cumulative regret $R_t$",
    "best": "best regret",
}

OPTIMUM_LABEL = r"optimal length scale $\hat{\theta}{}^*$"


# Figure 1

QUERIES = 20
"""Rounds whose queries are marked."""
NOISE_VARIANCE = 1e-4
"""In units of the standardised y."""


def figure_1(
    runs: Runs,
    entry: FigureEntry,
    *,
    points: Annotated[Sequence[Annotated[float, Field(ge=0, le=1)]], Field(min_length=2)],
    optimal_length_scale: float,
) -> Figure:
    """Figure 1: the Berkenkamp function, and GPs fitted to the same points at two length scales; where
    GP-UCB asks in the rounds that follow.

    Left at ``optimal_length_scale``; right at that of maximum likelihood on the points, fitted anew
    in each round. Computed here, not from traces. y is standardised for the fit, as in the runs, and
    shown in its own unit.
    """
    from replibo.problems.berkenkamp import Berkenkamp
    from replibo.surrogates.exact_gp import ExactGP, standardise
    from replibo.surrogates.kernels import pairwise_distances
    from replibo.surrogates.length_scale_fit import fit_length_scale

    problem = Berkenkamp()
    x = np.asarray(points, dtype=float)
    grid = np.linspace(0.0, 1.0, 2001)

    def f(u: Array) -> Array:
        return problem.evaluate_true(problem.to_native(u[:, None]))

    def by_likelihood(u: Array) -> float:
        distances = pairwise_distances(u[:, None], u[:, None])
        return fit_length_scale(distances, standardise(f(u)), NOISE_VARIANCE).length_scale

    def posterior(u: Array, length_scale: float) -> tuple[Array, Array]:
        """Mean and standard deviation of the standardised f on the grid, given f at ``u``."""
        between, to_grid = (pairwise_distances(u[:, None], v[:, None]) for v in (u, grid))
        gp = ExactGP(between, length_scale, NOISE_VARIANCE)
        mean, variance = gp.posterior(standardise(f(u)), to_grid)
        return mean, np.sqrt(variance)

    best = problem.to_unit(problem.optimizers)

    figure, axes = plotting.panels(1, 2)
    panels: dict[str, Callable[[Array], float]] = {
        "a length scale that suits": lambda _: optimal_length_scale,
        "length scale by MLE": by_likelihood,
    }
    largest = []
    black: dict[str, Any] = {"color": COLORS["black"]}
    brown: dict[str, Any] = {"color": COLORS["brown"]}  # as no method of the paper has
    for ax, (name, length_scale) in zip(axes[0], panels.items(), strict=True):
        u = x
        for _ in range(QUERIES):
            mean, sd = posterior(u, length_scale(u))
            u = np.append(u, grid[np.argmax(mean + sd)])
        queries = u[len(x) :]
        largest.append(float(np.max(f(queries))))
        mean, sd = (f(x).std(ddof=1) * part for part in posterior(x, length_scale(x)))
        mean = f(x).mean() + mean
        ax.plot(grid, f(grid), lw=1.2, label="objective $f$", **black)
        ax.plot(grid, mean, linestyle="dashed", label="posterior mean", **brown)
        ax.fill_between(grid, mean - sd, mean + sd, alpha=0.2, lw=0, label="± 1 sd", **brown)
        ax.plot(x, f(x), "o", ms=4.5, label="observations", **black)
        star: dict[str, Any] = {"ms": 10, "clip_on": False, "label": "optimum $x^*$"}
        ax.plot(best[0], [problem.optimal_value], "*", **star, **black)
        ticks: dict[str, Any] = {"color": "0.35", "ms": 9, "mew": 1.2, "clip_on": False}
        ticks |= {"transform": ax.get_xaxis_transform()}
        ticks |= {"label": f"next {QUERIES} queries (UCB)"}
        ax.plot(queries, np.full(QUERIES, 0.04), "|", **ticks)
        ax.set_title(rf"{name}, $\theta$ = {length_scale(x):.3g}")
        ax.set(xlabel="$x$", ylabel="$f(x)$")
    limits = np.array([ax.get_ylim() for ax in axes[0]])
    for ax in axes[0]:
        ax.set_ylim(limits.min(), limits.max())
    caption = (
        f"{entry.caption} Observations at x = {', '.join(f'{v:g}' for v in x)}. Matérn-5/2, noise "
        f"variance {NOISE_VARIANCE:g} of the standardised values. Ticks: the next {QUERIES} queries of "
        f"GP-UCB (β = 1), left at the same length scale, right at one fitted in each round; the "
        f"largest f among them is {largest[0]:.4g} (left) and {largest[1]:.4g} (right). Optimum: x* = "
        f"{best[0, 0]:.4g}, f* = {problem.optimal_value:.4g}. Computed, not from runs."
    )
    return plotting.finish(figure, caption)


# Figure 2

DASHES = ("dotted", "dashdot", "dashed", "solid")
"""Of the outlines, whose places have no markers."""
LIMITS = 1e-3, 10.0
"""Of the length scales shown, in units of the cube; what is outside counts in the outermost bins."""


def figure_2(runs: Runs, entry: FigureEntry, *, problem: str) -> Figure:
    """Figure 2: how often each method chose a length scale, as a share of the rounds of all seeds."""
    low, high = LIMITS
    figure, axes = plotting.panels(1, 1, height=2.8)
    ax = axes[0, 0]
    outside, used = [], []
    names = runs.algorithms(problem, entry.algorithms, "length_scale")
    for name, dashes in zip(names, itertools.cycle(DASHES)):
        values = diagnostic(runs, problem, name, "length_scale").ravel()
        style = plotting.line_style(runs.entry.algorithms[name])
        look = {key: style[key] for key in ("color", "label", "zorder")}
        clipped = np.clip(values, low, high)
        used += [clipped.min(), clipped.max()]
        bins: dict[str, Any] = {
            "bins": np.geomspace(low, high, 41),
            "weights": np.full(len(values), 1 / len(values)),
        }
        ax.hist(clipped, **bins, histtype="stepfilled", alpha=0.15, color=look["color"])
        ax.hist(clipped, **bins, histtype="step", lw=1.6, linestyle=dashes, **look)
        share = float(np.mean((values < low) | (values > high)))
        if share > 0:
            outside.append(f"{look['label']} {share:.1%}")
    ax.set_xscale("log")
    if used:  # no empty decades
        ax.set_xlim(0.8 * min(used), 1.25 * max(used))
    else:
        plotting.say_not_run(ax)
    _mark_optimum(ax.axvline, oracle_length_scale(runs, problem))
    ax.set_title(runs.problem_label(problem))
    ax.set(xlabel=r"length scale $\theta_t$, in units of the cube", ylabel="share of rounds")
    caption = f"{entry.caption} All rounds of all seeds; bins of equal width in log θ."
    if outside:
        caption += (
            f" Counted in the outermost bins, being outside of {low:g} to {high:g}: "
            f"{', '.join(outside)}."
        )
    return plotting.finish(figure, f"{caption} {runs.note(runs.problems([problem]))}")


# Figure 3


def figure_3(runs: Runs, entry: FigureEntry, *, log_best: bool = False) -> Figure:
    """Figure 3: cumulative (top) and best regret (bottom) for each problem, mean ± standard error.

    Args:
        log_best: best regret on a logarithmic axis, linear near 0 if a curve comes near it.
    """
    problems = shown_by(runs, entry)
    figure, axes = plotting.panels(len(METRICS), len(problems))
    for row, (metric, function) in zip(axes, METRICS.items(), strict=True):

        def summary(runs: Runs, problem: str, name: str, function: Any = function) -> Summary:
            t, values = function(runs, problem, name)
            mean, error = values.mean(axis=0), statistics.standard_error(values)
            return t, intervals.Interval.around(mean, error, len(values)).cut(0.0)

        for ax, problem in zip(row, problems, strict=True):
            labels = ("round $t$", REGRET_LABELS[metric])
            draw_problem(ax, runs, problem, problems, summary, labels=labels)
            if metric == "best" and log_best:
                plotting.logarithmic(ax)
            else:
                plotting.from_zero(ax)
    caption = (
        f"{entry.caption} Regret in the unit of each objective; mean over the seeds, "
        f"{plotting.intervals_said(problems, '± one standard error')}. {runs.note(list(problems))}"
    )
    return plotting.finish(figure, caption)


# Figure 4

ABLATION = {
    method: (f"{method}_a025", method, f"{method}_a075")
    for method in ("a_gp_ucb", "lb_gp_ucb", "lb_gp_ucb_released")
}
"""For each method, whose label and colour are taken, its entries with a = 0.25, 0.5 and 0.75."""


def figure_4(runs: Runs, entry: FigureEntry, *, problem: str) -> Figure:
    """Figure 4: regret at t = T, and the length scales chosen, for several a of g(t) = max(t0, t^a)."""
    figure, axes = plotting.panels(1, 3)
    ran = {
        method: sorted(variants, key=lambda a: growth_exponent(runs, a))
        for method, names in ABLATION.items()
        if (variants := runs.algorithms(problem, names))
    }
    positions = sorted({growth_exponent(runs, name) for names in ran.values() for name in names})
    place = {a: i for i, a in enumerate(positions)}
    for i, (method, names) in enumerate(ran.items()):
        style: dict[str, Any] = plotting.line_style(runs.entry.algorithms[method])
        # The boxes of the methods stand side by side, not on top of each other.
        shift = 0.3 * (i - (len(ran) - 1) / 2)
        at = {name: place[growth_exponent(runs, name)] for name in names}
        metrics: tuple[Metric, Metric] = ("best", "cumulative")
        for ax, metric in zip(axes[0, :2], metrics, strict=True):
            values = [final_regret_of(runs, problem, name, metric) for name in names]
            errors = [float(np.nan_to_num(statistics.standard_error(v))) for v in values]
            means = [float(v.mean()) for v in values]
            ax.errorbar(list(at.values()), means, yerr=errors, capsize=3, **style)
        for name in runs.algorithms(problem, names, "length_scale"):
            scales = diagnostic(runs, problem, name, "length_scale").ravel()
            _box(axes[0, 2], scales, at[name] + shift, style)
    labels = ("best regret at $T$", "cumulative regret $R_T$", r"length scale $\theta_t$")
    for ax, label in zip(axes[0], labels, strict=True):
        ax.set_xticks(range(len(positions)), [f"{a:g}" for a in positions])
        ax.set_xlim(-0.6, max(len(positions), 1) - 0.4)
        ax.set(xlabel="$a$ in $g(t) = \\max(t_0, t^a)$", ylabel=label)
        if not ran:
            plotting.say_not_run(ax)
    for ax in axes[0, :2]:
        plotting.from_zero(ax)
    axes[0, 2].set_yscale("log")
    _mark_optimum(axes[0, 2].axhline, oracle_length_scale(runs, problem))
    caption = (
        f"{entry.caption} {runs.problem_label(problem)}. Regret: mean over the seeds ± one standard "
        "error. Length scales: all rounds of all seeds; thick bars: quartiles; "
        f"thin: 5 % to 95 %; markers: medians. {runs.note(runs.problems([problem]))}"
    )
    return plotting.finish(figure, caption)


# Beyond the paper

ORACLE = "oracle"


def optimality(runs: Runs, entry: FigureEntry) -> Figure:
    """R_t over the oracle's, beside d ln g(t), to which LB-GP-UCB's bound is proportional.

    "For a fixed choice of growth function, we get R_T/R^θ*(T) = O(d ln g(T))" (section 4), where
    A-GP-UCB has O(g(T)^d). R^θ* is the oracle's bound; here it is the regret of GP-UCB at θ̂*, with
    β = 1 in place of Theorem 2.3's β^θ*. g(t) = max(t0, √t), t0 = e^(5/d), as printed.
    """
    problems = [p for p in runs.problems(entry.problems) if runs.has(p, ORACLE)]
    if not problems:
        raise RepliboError(f"{ORACLE} must have been run on a problem")
    methods = {
        problem: [name for name in runs.algorithms(problem, entry.algorithms) if name != ORACLE]
        for problem in problems
    }

    labels = ("round $t$", "$R_t$ over the oracle's")
    figure, panels = problem_panels(runs, methods, ratio_to_oracle, labels=labels, columns=4)
    for problem, ax in panels.items():
        d = runs.dim(problem)
        rounds = np.arange(1, runs.horizon(problem) + 1)
        growth = np.maximum(np.exp(5 / d), rounds**GROWTH_EXPONENT)
        dotted: dict[str, Any] = {"color": COLORS["black"], "ls": "dotted"}
        ax.plot(rounds, d * np.log(growth), label=r"$d\,\ln g(t)$", **dotted)
        ax.axhline(1.0, color=COLORS["grey"], lw=0.8)
        ax.set_yscale("log")
        plotting.plain_numbers(ax)
    caption = (
        f"{entry.caption} Ratio of the mean cumulative regrets over the common seeds; "
        f"{plotting.intervals_said(methods, '95% by the jackknife')}. The rate is up to a constant, a "
        "vertical shift on this axis: what the theorem bounds is how fast a curve rises. "
        f"{runs.note(problems)}"
    )
    return plotting.finish(figure, caption)


def ratio_to_oracle(runs: Runs, problem: str, algorithm: str) -> tuple[Array, intervals.Interval]:
    """The rounds, and the ratio of mean cumulative regrets in each, over the seeds that both have."""
    names = (algorithm, ORACLE)
    _, regrets = of_common_seeds(
        (runs.seeds(problem, name), cumulative_regret(runs, problem, name)[1]) for name in names
    )

    def ratio(values: Array) -> Array:  # r x 2 x T
        mean, oracle = values.mean(axis=0)
        quotient: Array = np.divide(mean, oracle, out=np.full_like(mean, np.nan), where=oracle > 0)
        return quotient

    rounds = cumulative_regret(runs, problem, algorithm)[0]
    return rounds, intervals.jackknife_interval(np.stack(regrets, axis=1), ratio)


# What the figures share


def _box(ax: Axes, values: Array, position: float, style: dict[str, Any]) -> None:
    """One sample: a thick bar for the quartiles, a thin one from 5 to 95 %, a marker at the median."""
    ends = np.quantile(values, [0.05, 0.25, 0.75, 0.95])
    ax.vlines(position, ends[0], ends[3], color=style["color"], lw=1)
    ax.vlines(position, ends[1], ends[2], color=style["color"], lw=7, alpha=0.4)
    ax.plot([position], [np.median(values)], **{**style, "label": "_median", "zorder": 5.0})


def _mark_optimum(line: Any, length_scale: float | None) -> None:
    """A line at θ̂*, where it is known."""
    if length_scale is not None:
        label = f"{OPTIMUM_LABEL} = {length_scale:.3g}"
        line(length_scale, color=COLORS["black"], linestyle="dashdot", lw=1.2, label=label)
