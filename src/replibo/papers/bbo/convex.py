"""Where the BBO paper's Theorem 1 applies, a convex inner problem (`replibo.problems.mnist_softmax`): the
regret against its bound, and N against T at equal cost. The paper has no such experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.bbo.printed import ACQUISITIONS
from replibo.papers.common import label_of
from replibo.problems.base import Array
from replibo.results import intervals, plotting, regret, statistics
from replibo.results.comparisons import Comparison, MissingRunsError, Undecided, decided
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EI_AND_UCB = tuple(ACQUISITIONS)

CONVEX = "mnist_softmax.MnistSoftmax"

FIXED = ("orange", "brown", "sky_blue")
SHADES = ("blue", "green", "purple")
"""Colours of the fixed N, and of the budgets."""


def theorem(
    runs: Runs,
    entry: FigureEntry,
    *,
    smallest_loss: float,
    fixed: Sequence[int],
    budgets: Sequence[int],
) -> Figure:
    """A row for each algorithm. Left: R_T against √(T γ_T), with N = T and with fixed N. Right: average
    and smallest regret against N/T, cells (T, N) of equal T·N joined.

    Args:
        smallest_loss: L*, nats: of the inner model trained to convergence.
        fixed: the fixed N.
        budgets: the T·N.

    Raises:
        RepliboError: nothing that it shows was run.
    """
    found = {
        name: regrets(runs, name, smallest_loss)
        for name in entry.algorithms or runs.entry.algorithms
    }
    names = [name for name, values in found.items() if values]
    if not names:
        raise RepliboError("no algorithm was run on a convex problem")
    figure, axes = plotting.panels(len(names), 2)
    for (left, right), name in zip(axes, names, strict=True):
        values = found[name]
        _against_bound(left, values, fixed)
        _at_equal_cost(right, values, budgets)
        left.set_title(label_of(runs, name))
        right.set_title(f"{label_of(runs, name)}, equal T·N joined")
    caption = (
        f"{entry.caption} Regret: validation cross-entropy minus {smallest_loss}, the smallest of the "
        "model trained to convergence; of every query. Means over the seeds, bars: 95 % intervals. γ_T = "
        "ln² T, the order of an RBF kernel's in one dimension. Left: dotted, proportional to √(T γ_T); "
        "written in the panel, the exponent of R_T in √(T γ_T) with its 95 % interval (1 is the bound's "
        "order). Right: solid, R_T/T; dashed, the smallest regret of the T queries; a ring, the best of "
        "a budget. "
        f"{runs.note(runs.problems(entry.problems), names)}"
    )
    return plotting.finish(figure, caption)


def regrets(runs: Runs, algorithm: str, smallest_loss: float) -> dict[int, Array]:
    """For each N that was run, ascending, the regret of every query, ``seeds x T``."""
    own = {
        int(entry.parameters["iterations"]): problem
        for problem, entry in runs.entry.problems.items()
        if entry.type == CONVEX and runs.has(problem, algorithm)
    }
    return {
        n: regret.instantaneous_regret(runs.f(own[n], algorithm), -smallest_loss)
        for n in sorted(own)
    }


def root(T: Array) -> Array:
    """√(T γ_T), γ_T = ln² T: the information gain's order for the RBF kernel in one dimension."""
    return np.asarray(np.sqrt(T) * np.log(T))


def slopes(T: Array, totals: Array) -> Array:
    """The exponent of R_T in √(T γ_T) for each seed: least squares on logarithms.

    Args:
        T: ``k``.
        totals: R_T, ``seeds x k``.
    """
    return np.asarray(np.polyfit(np.log(root(T)), np.log(totals).T, 1)[0])


def exponent(T: Array, totals: Array) -> intervals.Interval:
    """The mean of `slopes`, 95 % by Student over the seeds."""
    return intervals.student_interval(slopes(T, totals), 0.95)


def totals_at_equal(values: dict[int, Array]) -> tuple[Array, Array]:
    """T = N and R_T, ``k`` and ``seeds x k``, of the N whose runs are at least as long.

    Args:
        values: for each N the regrets, ``seeds x T``.
    """
    own = [n for n, regrets in values.items() if regrets.shape[1] >= n]
    seeds = min((len(values[n]) for n in own), default=0)
    totals = [values[n][:seeds, :n].sum(axis=1) for n in own]
    return np.array(own, dtype=float), np.array(totals).T


# Measures of the claims


def order_of_the_bound(
    runs: Runs, *, smallest_loss: float, algorithms: Sequence[str] = EI_AND_UCB
) -> list[Comparison]:
    """With N = T the regret R_T grows no faster than √(T γ_T): Student's test of its exponent in that
    against 1, for each algorithm."""
    tests = []
    for name in algorithms:
        T, totals = totals_at_equal(regrets(runs, name, smallest_loss))
        if len(T) < 3:
            raise MissingRunsError(f"not run: {label_of(runs, name)} with N = T at three T")
        text = (
            f"{label_of(runs, name)}, N = T = {', '.join(f'{t:g}' for t in T)}: R_T grows as √(T γ_T) "
            f"to the {_shown(exponent(T, totals))} ({len(totals)})"
        )
        own = slopes(T, totals)
        tests.append(Undecided(text, *statistics.t_tests(own, np.ones_like(own), paired=True)))
    return decided(tests)


def balance(
    runs: Runs,
    *,
    smallest_loss: float,
    budgets: Sequence[int],
    algorithms: Sequence[str] = EI_AND_UCB,
) -> list[Comparison]:
    """At equal cost T·N the average regret R_T/T is smaller with N = T than with N = 4 T, and than with
    T = 4 N: Student's test, over the seeds, of the mean over the budgets of ln(with N = T / with the
    other)."""
    tests = []
    for name in algorithms:
        values = regrets(runs, name, smallest_loss)
        for label, times in (("N = 4 T", 2.0), ("T = 4 N", 0.5)):
            logs = []
            for budget in budgets:
                side = round(budget**0.5)
                n, t = round(side * times), round(side / times)
                if side in values and n in values and t <= values[n].shape[1]:
                    ratio = values[side][:, :side].mean(axis=1) / values[n][:, :t].mean(axis=1)
                    logs.append(np.log(ratio))
            if not logs:
                raise MissingRunsError(f"not run: {label_of(runs, name)} with {label}")
            means = np.mean(logs, axis=0)
            found = intervals.student_interval(means, 0.95)
            mean, low, high = (float(np.exp(end)) for end in (found.mean, found.low, found.high))
            text = (
                f"{label_of(runs, name)}, {len(logs)} budgets: R_T/T with N = T is {mean:.2f} times "
                f"that with {label} [{low:.2f}, {high:.2f}] ({len(means)})"
            )
            p = statistics.t_tests(means, np.zeros_like(means), paired=True)
            tests.append(Undecided(text, *p))
    return decided(tests)


def _shown(interval: intervals.Interval) -> str:
    mean, low, high = (float(end) for end in (interval.mean, interval.low, interval.high))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


# What is drawn


def _against_bound(ax: Axes, values: dict[int, Array], fixed: Sequence[int]) -> None:
    own = [n for n in fixed if n in values]
    T, totals = totals_at_equal(values)
    lines = [("N = T", COLORS["black"], T, totals)] if len(T) > 1 else []
    for n, color in zip(own, FIXED, strict=False):
        longer = np.array([t for t in T if t <= values[n].shape[1]])
        sums = np.cumsum(values[n], axis=1)[:, longer.astype(int) - 1]
        if len(longer) > 1:
            lines.append((f"N = {n}", COLORS[color], longer, sums))
    for label, color, at, sums in lines:
        slope, middle = exponent(at, sums), intervals.student_interval(sums, 0.95)
        ax.errorbar(
            root(at),
            middle.mean,
            yerr=np.nan_to_num(middle.half_width),
            color=color,
            marker="o",
            ms=3.5,
            lw=1.2,
            capsize=1.5,
        )
        ax.annotate(
            f"{label}: {_shown(slope)}",
            (0.03, 0.97 - 0.08 * len(ax.texts)),
            xycoords="axes fraction",
            va="top",
            color=color,
            fontsize=7,
        )
    if lines:
        ends = root(T[[0, -1]])
        ax.plot(ends, totals[:, 0].mean() * ends / ends[0], ":", color="0.4", lw=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    plotting.plain_numbers(ax)
    plotting.plain_numbers(ax, "x")
    ax.set_xlabel(r"$\sqrt{T\,\gamma_T}$")
    ax.set_ylabel("cumulative regret $R_T$")


def cells_of(values: dict[int, Array], budget: int) -> list[tuple[int, int]]:
    """The (T, N) with T·N = ``budget`` that were run, by ascending N; at least ten queries."""
    return [
        (budget // n, n)
        for n in values
        if budget % n == 0 and 10 <= budget // n <= values[n].shape[1]
    ]


def _at_equal_cost(ax: Axes, values: dict[int, Array], budgets: Sequence[int]) -> None:
    for budget, color in zip(budgets, SHADES, strict=False):
        cells = cells_of(values, budget)
        if len(cells) < 2:
            continue
        ratio = [n / t for t, n in cells]
        for style, reduce in (("-", np.mean), ("--", np.min)):
            found = [reduce(values[n][:, :t], axis=1) for t, n in cells]
            means = np.array([own.mean() for own in found])
            half = [float(intervals.student_interval(own, 0.95).half_width) for own in found]
            ax.errorbar(
                ratio,
                means,
                yerr=np.nan_to_num(half),
                color=COLORS[color],
                linestyle=style,
                lw=1.2,
                capsize=1.5,
                label=f"T·N = {budget:,}" if style == "-" else None,
            )
            best = int(np.argmin(means))
            ax.plot(
                ratio[best],
                means[best],
                "o",
                mfc="none",
                ms=7,
                color=COLORS[color],
                linestyle="none",
            )
    ax.axvline(1, color=COLORS["black"], lw=0.8, label="N = T")
    ax.set_xscale("log")
    ax.set_yscale("log")
    plotting.plain_numbers(ax)
    plotting.plain_numbers(ax, "x")
    ax.set_xlabel("$N/T$")
    ax.set_ylabel("regret")
