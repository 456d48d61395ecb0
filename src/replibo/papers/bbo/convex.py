"""A convex inner problem, to which the BBO paper's Theorem 1 applies
(`replibo.problems.mnist_softmax`): the regret against its bound, and N against T at equal cost. The
paper has no such experiment."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.bbo.printed import ACQUISITIONS
from replibo.papers.bbo.traces import largest_mean, process_of, shown_ratio
from replibo.problems.base import Array
from replibo.problems.mnist_cnn import LOG10_LEARNING_RATE
from replibo.results import intervals, plotting, regret
from replibo.results.comparisons import (
    Comparison,
    MissingRunsError,
    Undecided,
    decided,
    t_tested,
    together,
)
from replibo.results.effects import BEYOND
from replibo.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cells = Sequence[Sequence[int]]
"""Some (T, N)."""

CONVEX = "softmax_{}"
"""The name of the convex problem with N iterations; another one can stand for it in a reading."""

FIXED = ("orange", "brown", "sky_blue")
SHADES = ("blue", "green", "purple")
"""Colours of the fixed N, and of the budgets; their markers are those of `plotting.MARKER_OF_COLOR`."""


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
        fixed, budgets: the fixed N, and the T·N.
    """
    problems = runs.problems(entry.problems)
    by_algorithm = {
        name: regrets(runs, name, smallest_loss, problems=problems)
        for name in entry.algorithms or runs.entry.algorithms
    }
    names = [name for name, values in by_algorithm.items() if values]
    if not names:
        raise RepliboError("no algorithm was run on a convex problem")
    figure, axes = plotting.panels(len(names), 2)
    for (left, right), name in zip(axes, names, strict=True):
        values = by_algorithm[name]
        _against_bound(left, values, fixed)
        _at_equal_cost(right, values, budgets)
        left.set_title(runs.label(name))
        right.set_title(f"{runs.label(name)}, equal T·N joined")
    caption = (
        f"{entry.caption} Regret: validation cross-entropy minus {smallest_loss}, the smallest of the "
        "model trained to convergence; of every query. Means over the seeds, bars: 95 % intervals. γ_T = "
        "ln² T, the order of an RBF kernel's in one dimension. Left: dotted, proportional to √(T γ_T); "
        "written in the panel, the exponent of R_T in √(T γ_T) with its 95 % interval (1 is the bound's "
        "order). Right: solid, R_T/T; dashed, the smallest regret of the T queries; a ring, the best of "
        "a budget. "
        f"{runs.note(problems, names)}"
    )
    return plotting.finish(figure, caption)


def regrets(
    runs: Runs,
    algorithm: str,
    smallest_loss: float,
    *,
    incumbents: bool = False,
    rivals: Sequence[str] = (),
    problems: Collection[str] | None = None,
) -> dict[int, Array]:
    """For each N that was run, ascending, the regret of every query, ``seeds x T``, of the seeds that all
    these N have; nothing if there is none.

    Args:
        incumbents: the regret of λ_t⁺ in place of λ_t (`incumbents_of`).
        rivals: algorithms that have these seeds, too.
        problems: these only; all if it is None.
    """
    by_steps = {
        int(entry.parameters["iterations"]): problem
        for problem, entry in runs.entry.problems.items()
        if problem == CONVEX.format(entry.parameters.get("iterations"))
        and (problems is None or problem in problems)
    }
    seeds = [
        runs.seeds(problem, name)
        for problem, name in itertools.product(by_steps.values(), (algorithm, *rivals))
        if runs.has(problem, name)
    ]
    common = functools.reduce(np.intersect1d, seeds) if seeds else ()
    values = {}
    for n, problem in sorted(by_steps.items()):
        if len(common) and runs.has(problem, algorithm):
            losses = regret.instantaneous_regret(runs.f(problem, algorithm), -smallest_loss)
            if incumbents:
                chosen = incumbents_of(runs, problem, algorithm)
                losses = np.take_along_axis(losses, chosen, axis=1)
            values[n] = losses[np.isin(runs.seeds(problem, algorithm), common)]
    return values


def incumbents_of(runs: Runs, problem: str, algorithm: str) -> NDArray[np.int64]:
    """Which query is λ_t⁺ of Theorem 3, ``seeds x T``: of the first t the one of the best posterior mean
    (ties go to the first). Its regret is that of its own training, as no other was made of it."""
    lower = LOG10_LEARNING_RATE[0]
    upper = -0.5 * math.log10(runs.entry.problems[problem].parameters["iterations"])
    rates = runs.diagnostic(problem, algorithm, "log10_learning_rate").astype(np.float32)
    points = (rates.astype(float) - lower) / (upper - lower)
    process = process_of(runs.entry.algorithms[algorithm])
    return np.array(
        [
            [largest_mean(x[:t, None], y[:t], process) for t in range(1, len(x) + 1)]
            for x, y in zip(points, runs.f(problem, algorithm), strict=True)
        ]
    )


def root(T: Array, kernel: Sequence[float] = ()) -> Array:
    """√(T γ_T), γ_T = ln² T: the information gain's order for the RBF kernel in one dimension.

    Args:
        kernel: ℓ and σ²; γ_T is then the largest information gain of this kernel itself.
    """
    if not kernel:
        return np.asarray(np.sqrt(T) * np.log(T))
    from replibo.algorithms.bbo_beta import GRID
    from replibo.algorithms.parts.information_gain import MaximumInformationGain

    length_scale, noise_variance = kernel
    grid = np.linspace(0.0, 1.0, GRID)[:, None]
    gain = MaximumInformationGain(grid, length_scale, noise_variance, "rbf")
    return np.sqrt([t * gain(int(t)) for t in T])


def exponents(x: Array, values: Array) -> Array:
    """The exponent of the values (``seeds x k``) in x (``k``) for each seed, by least squares on
    logarithms."""
    return np.asarray(np.polyfit(np.log(x), np.log(values).T, 1)[0])


def totals_at_equal(values: Mapping[int, Array]) -> tuple[Array, Array]:
    """T = N and R_T, ``k`` and ``seeds x k``, of the N whose runs are at least as long.

    Args:
        values: for each N the regrets, ``seeds x T``.
    """
    iterations = [n for n, regrets in values.items() if regrets.shape[1] >= n]
    totals = [values[n][:, :n].sum(axis=1) for n in iterations]
    return np.array(iterations, dtype=float), np.array(totals).T


# Measures of the claims


def order_of_the_bound(
    runs: Runs,
    *,
    smallest_loss: float,
    cells: Cells,
    incumbents: bool = False,
    kernel: Sequence[float] = (),
) -> list[Comparison]:
    """Along some (T, N) the regret R_T grows no faster than √(T γ_T): Student's test, over the seeds, of
    its exponent in that against 1, for EI and for UCB.

    Args:
        cells: (T, N), at least three.
        incumbents: of EI the regret of λ_t⁺ in place of λ_t (`incumbents_of`).
        kernel: as of `root`.
    """
    tests = []
    T = np.array([t for t, _ in cells], dtype=float)
    even = [(t, t) for t, n in cells if n != t]
    for name in ACQUISITIONS:
        of_incumbents = incumbents and name == "gp_ei"
        values = regrets(runs, name, smallest_loss, incumbents=of_incumbents)
        totals = _totals(runs, name, values, cells)
        powers = exponents(root(T, kernel), totals)
        text = (
            f"{runs.label(name)}, {_cells(cells)}: R_T grows as √(T γ_T) to the "
            f"{_interval_text(intervals.student_interval(powers))} ({len(totals)} seeds)"
        )
        if even and all(_first(values, *cell) is not None for cell in even):
            logs = np.log(totals / _totals(runs, name, values, even))
            ratio, interval = shown_ratio(logs.mean(axis=1))
            text += f"; R_T is {ratio} times that with N = T {interval}"
        tests.append(t_tested(text, powers, np.ones_like(powers), paired=True, unit=BEYOND))
    return decided(tests)


def slower_growth(
    runs: Runs,
    *,
    smallest_loss: float,
    algorithm: str,
    cells: Cells,
    rival: str,
    rival_cells: Cells,
    below_1: bool = False,
) -> list[Comparison]:
    """The regret R_T of an algorithm along some (T, N) grows more slowly than that of a rival along
    others: Student's test, over the seeds that both have, of the exponents in T.

    Args:
        cells, rival_cells: (T, N).
        below_1: the exponent is below 1 as well (the regret is sublinear), a comparison of its own.
    """
    powers, texts = [], []
    problems = [CONVEX.format(n) for _, n in (*cells, *rival_cells)]
    for name, other, side in ((algorithm, rival, cells), (rival, algorithm, rival_cells)):
        values = regrets(runs, name, smallest_loss, rivals=[other], problems=problems)
        T = np.array([t for t, _ in side], dtype=float)
        powers.append(exponents(T, _totals(runs, name, values, side)))
        interval = _interval_text(intervals.student_interval(powers[-1]))
        texts.append(f"{runs.label(name)}, {_cells(side)}: R_T goes as T to the {interval}")
    seeds = f" ({len(powers[0])} seeds)"
    tests = [t_tested("; ".join(texts) + seeds, *powers, paired=True)]
    if below_1:
        ones = np.ones_like(powers[0])
        tests.append(t_tested(texts[0] + seeds, powers[0], ones, paired=True, unit=BEYOND))
    return decided(tests)


def balance(
    runs: Runs,
    *,
    smallest_loss: float,
    more_steps: Sequence[int],
    more_queries: Sequence[int],
    constant: PositiveInt = 1,
    incumbents: bool = False,
) -> list[Comparison]:
    """At equal cost T·N the average regret R_T/T of EI is smaller with N = c T than with four times as
    many steps for a query, and than with a quarter of them: both are shown. It is contradicted if one of
    them is shown to be smaller. Student's tests over the seeds, of the mean over the budgets of ln(with
    N = c T / with the other). A budget of which one side was not run to its T is an open comparison.

    Args:
        more_steps: the budgets T·N of N = c T against N = 4 c T.
        more_queries: those of N = c T against N = c T / 4.
        constant: c.
        incumbents: as of `regrets`.
    """
    values = regrets(runs, "gp_ei", smallest_loss, incumbents=incumbents)
    label, order = runs.label("gp_ei"), _ratio(constant)
    tests, missing = [], []
    for times, budgets in ((4.0, more_steps), (0.25, more_queries)):
        other_order, logs = _ratio(constant * times), []
        for budget in budgets:
            both = [_first(values, *_cell(budget, c)) for c in (constant, constant * times)]
            means = [sample.mean(axis=1) for sample in both if sample is not None]
            if len(means) < 2:
                missing.append(f"{label}, {order} against {other_order} at T·N = {budget:,}")
            else:
                logs.append(np.log(means[0] / means[1]))
        if logs:
            quantity = f"{label}, {len(logs)} budgets: R_T/T with {order}"
            tests.append(_ratio_tested(quantity, np.mean(logs, axis=0), f"with {other_order}"))
    if len(tests) < 2:
        raise MissingRunsError(f"not run: {'; '.join(missing)}")
    comparisons = decided([together(tests)])
    return comparisons + [Comparison("open", f"not run: {budget}") for budget in missing]


def _cell(budget: int, ratio: float) -> tuple[int, int]:
    """(T, N) with T·N = ``budget`` and N = ``ratio`` T."""
    return round((budget / ratio) ** 0.5), round((budget * ratio) ** 0.5)


def _ratio(ratio: float) -> str:
    """``N = T``, ``N = 4 T`` or ``T = 4 N``."""
    if ratio == 1:
        return "N = T"
    return f"N = {ratio:g} T" if ratio > 1 else f"T = {1 / ratio:g} N"


def smaller_regret(
    runs: Runs,
    *,
    smallest_loss: float,
    cells: Cells,
    algorithm: str,
    rivals: Sequence[str],
    incumbents: bool = False,
) -> list[Comparison]:
    """The regret R_T of an algorithm is smaller than that of each rival: Student's test, over the seeds,
    of the mean over the cells (T, N) of ln(R_T of the algorithm / of the rival).

    Args:
        incumbents: as of `regrets`, for both.
    """
    tests, problems = [], [CONVEX.format(n) for _, n in cells]
    for rival in rivals:
        totals = []
        for name, other in ((algorithm, rival), (rival, algorithm)):
            values = regrets(
                runs, name, smallest_loss, incumbents=incumbents, rivals=[other], problems=problems
            )
            totals.append(_totals(runs, name, values, cells))
        means = np.mean(np.log(totals[0] / totals[1]), axis=1)
        quantity = f"{runs.label(algorithm)}, {_cells(cells)}: R_T"
        tests.append(_ratio_tested(quantity, means, f"of {runs.label(rival)}"))
    return decided(tests)


def _totals(runs: Runs, algorithm: str, values: Mapping[int, Array], cells: Cells) -> Array:
    """R_T of each (T, N), ``seeds x k``, from the `regrets` of an algorithm.

    Raises:
        MissingRunsError: a cell was not run.
    """
    samples = [_first(values, t, n) for t, n in cells]
    totals = [sample.sum(axis=1) for sample in samples if sample is not None]
    if len(totals) < len(cells):
        why = "not run" if values else "not run, or with no seed in common"
        raise MissingRunsError(f"{why}: {runs.label(algorithm)} at each of {_cells(cells)}")
    return np.array(totals).T


def _cells(cells: Cells) -> str:
    """``N = T = 20, 40``, or ``(T, N) = (25, 5), (81, 9)``."""
    if all(t == n for t, n in cells):
        return f"N = T = {', '.join(str(t) for t, _ in cells)}"
    return f"(T, N) = {', '.join(f'({t}, {n})' for t, n in cells)}"


def _first(values: Mapping[int, Array], t: int, n: int) -> Array | None:
    """The regrets of the first ``t`` queries with N = ``n``, ``seeds x t``; None if not run."""
    return values[n][:, :t] if n in values and t <= values[n].shape[1] else None


def _ratio_tested(quantity: str, logs: Array, reference: str) -> Undecided:
    """Student's test that ``quantity`` is smaller than at ``reference``; ``logs`` are the logarithms of
    their ratios, one for each seed."""
    ratio, interval = shown_ratio(logs)
    text = f"{quantity} is {ratio} times that {reference} {interval}"
    return t_tested(text, logs, np.zeros_like(logs), paired=True)


def _interval_text(interval: intervals.Interval) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*interval.ends)


# What is drawn


def _against_bound(ax: Axes, values: Mapping[int, Array], fixed: Sequence[int]) -> None:
    T, totals = totals_at_equal(values)
    lines = {"N = T": ("black", T, totals)}
    for n, color in zip([n for n in fixed if n in values], FIXED, strict=False):
        longer = T[values[n].shape[1] >= T]
        sums = np.cumsum(values[n], axis=1)[:, longer.astype(int) - 1]
        lines[f"N = {n}"] = color, longer, sums
    lines = {label: line for label, line in lines.items() if len(line[1]) > 1}
    for label, (color, at, sums) in lines.items():
        middle = intervals.student_interval(sums)
        _bars(ax, root(at), middle.mean, middle.half_width, color, label=f"$R_T$, {label}")
        ax.annotate(
            f"{label}: {_interval_text(intervals.student_interval(exponents(root(at), sums)))}",
            (0.03, 0.99 - 0.1 * len(ax.texts)),
            xycoords="axes fraction",
            va="top",
            color=COLORS[color],
        )
    if lines:
        ends = root(T[[0, -1]])
        ax.plot(ends, totals[:, 0].mean() * ends / ends[0], ":", color="0.4", lw=1)
    _logarithmic(ax, r"$\sqrt{T\,\gamma_T}$", "cumulative regret $R_T$")


def _bars(ax: Axes, x: Any, means: Any, half: Any, color: str, **look: Any) -> None:
    """A line with bars of ± ``half``; none where it is NaN."""
    look |= {"color": COLORS[color], "marker": plotting.MARKER_OF_COLOR[color], "capsize": 1.5}
    ax.errorbar(x, means, yerr=np.nan_to_num(half), **look)


def _logarithmic(ax: Axes, *labels: str) -> None:
    """Logarithmic axes with these labels."""
    ax.set(xscale="log", yscale="log", xlabel=labels[0], ylabel=labels[1])
    plotting.plain_numbers(ax)
    plotting.plain_numbers(ax, "x")


def cells_of(values: Mapping[int, Array], budget: int) -> list[tuple[int, int]]:
    """The (T, N) with T·N = ``budget`` that were run, by ascending N; at least ten queries."""
    return [
        (budget // n, n)
        for n in values
        if budget % n == 0 and 10 <= budget // n <= values[n].shape[1]
    ]


def _at_equal_cost(ax: Axes, values: Mapping[int, Array], budgets: Sequence[int]) -> None:
    for budget, color in zip(budgets, SHADES, strict=False):
        cells = cells_of(values, budget)
        if len(cells) < 2:
            continue
        ratio = [n / t for t, n in cells]
        for style, reduce in (("-", np.mean), ("--", np.min)):
            regrets = np.array([reduce(values[n][:, :t], axis=1) for t, n in cells])
            means = regrets.mean(axis=1)
            half = intervals.student_interval(regrets.T).half_width
            label = f"T·N = {budget:,}" if style == "-" else None
            _bars(ax, ratio, means, half, color, linestyle=style, label=label)
            best = int(np.argmin(means))
            ring: dict[str, Any] = {"mfc": "none", "ms": 9, "color": COLORS[color], "ls": "none"}
            ax.plot(ratio[best], means[best], "o", **ring)
    ax.axvline(1, color=COLORS["black"], lw=0.8, label="N = T")
    _logarithmic(ax, "$N/T$", "regret")
