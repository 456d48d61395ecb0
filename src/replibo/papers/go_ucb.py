"""GO-UCB (Liu and Wang 2022): Figure 1, the table of final regret, the claims' measures."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from replibo.algorithms.go_ucb import FAMILIES
from replibo.config.models import FigureEntry
from replibo.errors import RepliboError
from replibo.papers.common import (
    Summary,
    labelled_rows,
    named,
    outcome,
    problem_panels,
    shown_by,
    tested,
)
from replibo.problems.base import Array
from replibo.results import intervals, plotting, regret, statistics
from replibo.results.comparisons import (
    Comparison,
    MissingRunsError,
    Undecided,
    decided,
    t_tested,
    together,
)
from replibo.results.effects import of_samples
from replibo.results.runs import Runs, of_common_seeds
from replibo.results.tables import Format, Table, p_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# "The error bar is measured by Wald's test with 98% confidence" (section 4).
CONFIDENCE = 0.98

LEVEL = 0.01
"""Level of the one-sided tests behind the claims."""

Regret = Literal["average", "instantaneous"]
REGRETS: dict[Regret, tuple[Callable[[Array, float], Array], str]] = {
    "average": (regret.average_regret, "average regret $R_t/(t-n)$"),
    "instantaneous": (regret.instantaneous_regret, "regret $r_t$"),
}
"""The function and the label of each regret."""


def phase_two_regret(
    runs: Runs, problem: str, algorithm: str, kind: Regret = "average"
) -> tuple[Array, Array]:
    """The rounds of Phase II, and the regret in Phase II, ``seeds x rounds``.

    The average regret is R_t/(t - n), the regret of rounds n + 1 … t divided by their number.
    """
    runs.require(problem, algorithm)
    n = runs.initial_points(problem)
    regrets = REGRETS[kind][0](runs.f(problem, algorithm)[:, n:], runs.optimal_value(problem))
    return runs.rounds(problem, algorithm)[n:], regrets


def final_phase_two_regret(
    runs: Runs, problem: str, algorithm: str, kind: Regret = "average"
) -> Array:
    """The regret in Phase II at t = T, one number per seed; the average is R_T/(T - n)."""
    return phase_two_regret(runs, problem, algorithm, kind)[1][:, -1]


def paired_final_regret(
    runs: Runs, problem: str, algorithms: Sequence[str], kind: Regret = "average"
) -> list[Array]:
    """The regret at t = T of each algorithm, on the seeds that all of them have.

    Raises:
        MissingRunsError: an algorithm was not run, or they have fewer than two seeds in common.
    """
    runs.require(problem, *algorithms)
    seeds, regrets = of_common_seeds(
        (runs.seeds(problem, name), final_phase_two_regret(runs, problem, name, kind))
        for name in algorithms
    )
    if len(seeds) < 2:
        raise MissingRunsError(f"{problem} has fewer than two seeds of {' and '.join(algorithms)}")
    return regrets


def regret_panels(
    runs: Runs, entry: FigureEntry, *, regret: Regret = "average", linear: bool = False
) -> Figure:
    """Figure 1: one panel for each problem, regret in Phase II with 98 % Wald intervals.

    Args:
        linear: a linear axis, if no method comes near zero.
    """
    problems = shown_by(runs, entry)

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        t, values = phase_two_regret(runs, problem, name, regret)
        return t, intervals.wald_interval(values, CONFIDENCE).cut(0.0)

    labels = ("round $t$", REGRETS[regret][1])
    figure, panels = problem_panels(runs, problems, summary, labels=labels)
    for ax in panels.values():
        (plotting.from_zero if linear else plotting.logarithmic_from_zero)(ax)
    scale = f" The axis is linear below {plotting.LINEAR_BELOW:g}, logarithmic above."
    caption = (
        f"{entry.caption} Mean over the seeds of noise-free regret, "
        f"{plotting.intervals_said(problems, '98 % Wald intervals, cut off at 0')}."
        f"{'' if linear else scale} {runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def final_regret(runs: Runs, entry: FigureEntry) -> Table:
    """Average regret at t = T: mean, 98 % interval, and tests of GO-UCB's being lower."""
    rows = []
    problems = shown_by(runs, entry)
    for problem, names in problems.items():
        tests = {}
        for name in names:
            if name == "go_ucb" or "go_ucb" not in names:
                continue
            with contextlib.suppress(MissingRunsError):
                regrets, rival = paired_final_regret(runs, problem, ["go_ucb", name])
                tests[name] = statistics.t_test_less(regrets, rival, paired=True)
        p_values = statistics.benjamini_hochberg([test.p_value for test in tests.values()])
        adjusted = dict(zip(tests, p_values.tolist(), strict=True))
        for name in names:
            values = final_phase_two_regret(runs, problem, name)
            interval = intervals.wald_interval(values, CONFIDENCE)
            test = tests.get(name)
            rows.append(
                {
                    **named(runs, problem, name),
                    "average regret at T": float(interval.mean),
                    "98 % interval, low": float(interval.low),
                    "98 % interval, high": float(interval.high),
                    "GO-UCB lower: difference": test and test.difference,
                    "p (paired t, one-sided)": test and test.p_value,
                    "p, Benjamini-Hochberg": adjusted.get(name),
                    "effect size d_z": test and test.effect_size,
                }
            )
    formats: dict[str, Format] = dict.fromkeys(rows[0], ".4f")
    formats |= {"problem": str, "algorithm": str, "seeds": str, "effect size d_z": ".2f"}
    formats |= dict.fromkeys(("p (paired t, one-sided)", "p, Benjamini-Hochberg"), p_value)
    return Table.of(rows, f"{entry.caption} {runs.note(list(problems), entry.algorithms)}", formats)


# Beyond the paper: the returned point, the scaling with T

P_NO_BONUS = "p against no bonus (paired)"

STUCK_ROUNDS, STUCK_REGRET = 5, 0.2
"""A run is stuck if the regret of each of its last five queries is above 0.2. On `two_bumps` all of
these are then away from the higher bump, as the top of the lower one has regret 0.3."""


def returned_regret(runs: Runs, problem: str, algorithm: str) -> Array:
    """f* - f(x̂), one number per seed: x̂ is the query with the largest y, the earliest of equal ones
    (Algorithm 1, output)."""
    f, y = runs.f(problem, algorithm), runs.diagnostic(problem, algorithm, "y")
    best = np.nanargmax(y, axis=1)  # published traces keep y of the best queries only
    values: Array = runs.optimal_value(problem) - f[np.arange(len(f)), best]
    return values


def stuck_runs(runs: Runs, problem: str, algorithm: str) -> int:
    """Number of stuck runs (`STUCK_REGRET`)."""
    last = runs.optimal_value(problem) - runs.f(problem, algorithm)[:, -STUCK_ROUNDS:]
    return int(np.sum(np.all(last > STUCK_REGRET, axis=1)))


def p_against_no_bonus(runs: Runs, problem: str, algorithm: str) -> float | None:
    """p of a two-sided paired t-test of the average regret, with and without a bonus. Both have the
    same learning rate and number of restarts. None for the run without a bonus, or if there is
    none."""
    from scipy.stats import ttest_rel

    def fit(name: str) -> tuple[Any, Any]:
        parameters = runs.entry.algorithms[name].parameters
        return parameters.get("learning_rate"), parameters.get("restarts", 1)

    plain = [
        name
        for name in runs.algorithms(problem)
        if runs.entry.algorithms[name].type == "go_greedy.GoGreedy" and fit(name) == fit(algorithm)
    ]
    if plain and algorithm not in plain:
        with contextlib.suppress(MissingRunsError):
            regrets, rival = paired_final_regret(runs, problem, [algorithm, plain[0]])
            return float(ttest_rel(regrets, rival).pvalue)
    return None


def returned(runs: Runs, entry: FigureEntry) -> Table:
    """The regret of x̂ and the average regret of Phase II, with 98 % intervals; the latter's test against
    no bonus."""
    rows = []
    measures = {"regret of x̂": returned_regret, "average regret": final_phase_two_regret}
    formats: dict[str, Format] = {P_NO_BONUS: p_value}
    for problem, name, row in labelled_rows(runs, entry):
        for quantity, function in measures.items():
            interval = intervals.wald_interval(function(runs, problem, name), CONFIDENCE)
            row |= {quantity: float(interval.mean), f"± ({quantity})": float(interval.half_width)}
            formats |= {quantity: ".4f", f"± ({quantity})": ".4f"}
        row["stuck runs"] = stuck_runs(runs, problem, name)
        row[P_NO_BONUS] = p_against_no_bonus(runs, problem, name)
        rows.append(row)
    caption = (
        f"{entry.caption} ±: half of the 98 % Wald interval. A run is stuck if the regret of each of its "
        f"last {STUCK_ROUNDS} queries is above {STUCK_REGRET:g}. "
        f"{runs.note(runs.problems(entry.problems), entry.algorithms)}"
    )
    return Table.of(rows, caption, formats)


TRUE_PARAMETERS = {
    "network": [(1.0, 1.0, 1.0, 1.0), (-1.0, -1.0, -1.0, 2.0)],
    "two_bumps": [(0.7, -0.5, 1.0, 0.45), (1.0, 0.45, 0.7, -0.5)],
}
"""w* of f1 and of the two bumps. Each has two, which are the same function: 1 - sigmoid(z) is
sigmoid(-z), and the bumps can be exchanged."""


def estimate_errors(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array, Array]:
    """Errors of the estimate in Phase II; three arrays, ``seeds x rounds``.

    The first is ‖ŵ_t - w*‖, to the nearer w* (`TRUE_PARAMETERS`). The second says whether section 4's
    bonus σ ‖∇f̂(x)‖ √(U/t) + U/t is at least |f̂(x; ŵ_t) - f(x)| at all x of the grid (Theorem 10). The
    third leaves out U/t, which does not depend on x.
    """
    runs.require(problem, algorithm)
    rounds = runs.rounds(problem, algorithm)
    phase_two = slice(runs.initial_points(problem), None)
    settings = runs.entry.algorithms[algorithm].parameters
    family = settings.get("family", "network")
    noise_std = runs.metadata["problems"][problem]["noise_std"]
    parameters = ("w1", "b1", "w2", "b2")
    w = np.stack([runs.diagnostic(problem, algorithm, name)[:, phase_two] for name in parameters])
    truths = np.array(TRUE_PARAMETERS[family])
    distance = np.min(np.linalg.norm(w - truths[:, :, None, None], axis=1), axis=0)
    lower, upper = settings["model_domain"]
    x = np.linspace(lower, upper, settings["grid_points"])[:, None]
    model = FAMILIES[family]
    f = model.predict(truths[:1].T, x)
    covered, covered_by_x = np.empty(distance.shape), np.empty(distance.shape)
    for i, t in enumerate(rounds[phase_two]):
        error = np.abs(model.predict(w[:, :, i], x) - f)
        norm = np.linalg.norm(model.gradient(w[:, :, i], x), axis=0)
        bonus = noise_std * norm * np.sqrt(settings["U"] / t)
        covered[:, i] = np.all(error <= bonus + settings["U"] / t, axis=0)
        covered_by_x[:, i] = np.all(error <= bonus, axis=0)
    return distance, covered, covered_by_x


def estimates(runs: Runs, entry: FigureEntry) -> Table:
    """Theorems 8 and 10: ‖ŵ_t - w*‖ and √t times it in the first and the last round of Phase II, and in
    how many percent of the rounds the bonus covers the error."""
    rows = []
    for problem, name, row in labelled_rows(runs, entry):
        distance, covered, covered_by_x = estimate_errors(runs, problem, name)
        scaled = distance * np.sqrt(phase_two_regret(runs, problem, name)[0])
        for quantity, values, q in (
            ("median ‖ŵ − w*‖", distance, 0.5),
            ("median √t ‖ŵ − w*‖", scaled, 0.5),
            ("90 % of √t ‖ŵ − w*‖", scaled, 0.9),
        ):
            for end, i in (("t = n + 1", 0), ("t = T", -1)):
                row[f"{quantity}, {end}"] = float(np.quantile(values[:, i], q))
        row["covered, %"] = 100 * float(covered.mean())
        row["covered without U/t, %"] = 100 * float(covered_by_x.mean())
        rows.append(row)
    formats = {name: ".0f" if name.endswith("%") else ".2f" for name in list(rows[0])[3:]}
    note = runs.note(runs.problems(entry.problems), entry.algorithms)
    return Table.of(rows, f"{entry.caption} {note}", formats)


def scaling_slope(
    runs: Runs, problems: Sequence[str], algorithm: str, minus: float = 0.0
) -> intervals.Interval:
    """The exponent p of R_T ~ T^p, less ``minus``, on ``problems`` that differ in T, over their common
    seeds (`exponent_interval`).

    Raises:
        MissingRunsError: they have none in common.
    """
    T = [runs.horizon(problem) for problem in problems]
    seeds, values = of_common_seeds(
        (runs.seeds(problem, algorithm), total_regret(runs, problem, algorithm))
        for problem in problems
    )
    if not len(seeds):
        raise MissingRunsError(f"{', '.join(problems)}: no common seeds of {algorithm}")
    return exponent_interval(T, np.stack(values, axis=1), minus)


def exponent_interval(T: Sequence[int], values: Array, minus: float) -> intervals.Interval:
    """The exponent of mean regret in T, less ``minus``, with the jackknife's 95 % interval: by least
    squares on the logarithms of the means of R_T (``values``, ``seeds x len(T)``)."""

    def slope(samples: Array) -> Array:
        return np.asarray(np.polyfit(np.log(T), np.log(samples.mean(axis=0)), 1)[0] - minus)

    return intervals.jackknife_interval(values, slope)


def total_regret(runs: Runs, problem: str, algorithm: str) -> Array:
    """R_T of a whole run, Phase I included, one number per seed."""
    f, best = runs.f(problem, algorithm), runs.optimal_value(problem)
    values: Array = regret.cumulative_regret(f, best)[:, -1]
    return values


def scaling(runs: Runs, entry: FigureEntry) -> Figure:
    """R_T against T on logarithmic axes, with the fitted exponent of each algorithm.

    Theorem 12 says Õ(√T) of GO-UCB with n = √T, Lemma 15 Õ(T^(2/3)) of exploration-first with n =
    T^(2/3): the problems of each algorithm are those of its own n.
    """
    figure, axes = plotting.panels(1, 1, height=3.0)
    ax = axes[0, 0]
    for name in entry.algorithms or runs.entry.algorithms:
        problems = [p for p in runs.problems(entry.problems) if runs.has(p, name)]
        if len(problems) < 2:
            continue
        problems.sort(key=runs.horizon)
        T = [runs.horizon(problem) for problem in problems]
        values = [total_regret(runs, problem, name) for problem in problems]
        bars = [1.96 * float(np.nan_to_num(statistics.standard_error(v))) for v in values]
        p = scaling_slope(runs, problems, name)
        style = plotting.line_style(runs.entry.algorithms[name])
        style["label"] += f": $T^{{{float(p.mean):.2f}}}$ [{float(p.low):.2f}, {float(p.high):.2f}]"
        ax.errorbar(T, [v.mean() for v in values], yerr=bars, capsize=2, **style)
    if not ax.lines:
        raise RepliboError("no algorithm was run on two problems that differ in T")
    ax.set(xscale="log", yscale="log", xlabel="$T$", ylabel="cumulative regret $R_T$")
    plotting.plain_numbers(ax)
    ran = sorted({runs.horizon(problem) for problem in runs.problems(entry.problems)})
    ax.set_xticks(ran, [str(t) for t in ran])
    ax.set_xticks([], minor=True)
    caption = (
        f"{entry.caption} Mean over the seeds, bars: 95 % intervals; in the legend the exponent of the "
        "line fitted to the seeds that all T have, with its 95 % interval. The theorems have n = √T and "
        "exponent 1/2 (GO-UCB), n = T^(2/3) and exponent 2/3 (exploration-first), as upper bounds. "
        f"{runs.note(runs.problems(entry.problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


# Measures of the claims


def below_each_baseline(
    runs: Runs,
    *,
    problem: str,
    algorithm: str,
    baselines: Sequence[str],
    regret: Regret = "average",
) -> list[Comparison]:
    """Final regret below each baseline's, with disjoint 98 % intervals, the paper's criterion.

    Supported: the algorithm's interval lies below the baseline's; contradicted: above it; open: they
    overlap.
    """
    values, wald, texts = {}, {}, {}
    for name in (algorithm, *baselines):
        values[name] = final_phase_two_regret(runs, problem, name, regret)
        if len(values[name]) < 2:
            raise MissingRunsError(
                f"{name} on {problem} has a single seed, which gives no interval"
            )
        wald[name] = intervals.wald_interval(values[name], CONFIDENCE)
        bar = f"{float(wald[name].mean):.4f} ± {float(wald[name].half_width):.4f}"
        texts[name] = f"{runs.label(name)} {bar}"
    interval = wald[algorithm]
    # With equal deviations disjoint intervals are a test of the difference at √2 their quantile.
    level = NormalDist().cdf(math.sqrt(2) * NormalDist().inv_cdf((1 - CONFIDENCE) / 2))
    return [
        Comparison(
            outcome(bool(interval.high < wald[name].low), bool(interval.low > wald[name].high)),
            texts[name] if i else f"{texts[algorithm]}; {texts[name]}",
            of_samples(values[algorithm], values[name], paired=False),
            level=level,
        )
        for i, name in enumerate(baselines)
    ]


def larger_lead(
    runs: Runs,
    *,
    problem: str,
    other_problem: str,
    algorithm: str,
    baselines: Sequence[str],
    regret: Regret = "average",
    ranges: Mapping[str, float] | None = None,
) -> list[Comparison]:
    """The lead over each baseline, its final regret minus ``algorithm``'s, is larger on ``problem`` than
    on ``other_problem``, and is one: above 0 on ``problem``.

    One number per seed, of the seeds that both methods have. The two problems share no random numbers, so
    that their leads are compared by Welch's t-test, one-sided at 1 % in both directions; the lead itself,
    by Student's.

    Args:
        ranges: max f - min f by problem, in whose units the leads are compared; None takes them as
            they are.
    """
    tests = []
    for baseline in baselines:
        leads = {}
        for name in (problem, other_problem):
            regrets, rival = paired_final_regret(runs, name, [algorithm, baseline], regret)
            leads[name] = (rival - regrets) / (ranges[name] if ranges else 1.0)
        text = f"lead over {runs.label(baseline)}: " + ", ".join(
            f"{lead.mean():.4f} on {runs.problem_label(name)}" for name, lead in leads.items()
        )
        larger = t_tested(text, leads[other_problem], leads[problem], paired=False)
        ahead = t_tested("", np.zeros_like(leads[problem]), leads[problem], paired=True)
        tests.append(together([larger, replace(ahead, effect=larger.effect)]))
    return decided(tests, LEVEL)


def performs_similarly(
    runs: Runs,
    *,
    algorithm: str,
    baseline: str,
    ranges: Mapping[str, float],
    margin: float,
    regret: Regret = "average",
) -> list[Comparison]:
    """The final regret of ``baseline`` differs from that of ``algorithm`` by less than a margin.

    On each problem the two one-sided tests of equivalence are made (Schuirmann 1987), by t-tests
    paired by seed at 1 %. Supported if both show that the mean difference lies within the margin,
    contradicted if it is shown to lie outside.

    Args:
        ranges: max f - min f of each problem.
        margin: in units of the range.
    """
    tests = []
    for problem, width in ranges.items():
        regrets, rival = paired_final_regret(runs, problem, [algorithm, baseline], regret)
        ends = (margin * width, -margin * width)
        above, below = (statistics.t_tests(regrets, rival + end, paired=True) for end in ends)
        text = (
            f"{runs.problem_label(problem)}: {runs.label(baseline)} minus "
            f"{runs.label(algorithm)} {np.mean(rival - regrets):.4f}, margin {margin * width:.4f}"
        )
        # outside: each of the two directions
        p, reverse = max(above[0], below[1]), 2 * min(above[1], below[0])
        effect = of_samples(regrets, rival, paired=True)
        equal = effect and replace(effect, equality=True)
        tests.append(Undecided(text, p, min(reverse, 1.0), equal))
    return decided(tests, LEVEL)


def shrinking_error_bars(
    runs: Runs, *, problems: Sequence[str], algorithms: Sequence[str], regret: Regret = "average"
) -> list[Comparison]:
    """The 98 % error bar at t = T is smaller than at the first round of Phase II.

    The two standard deviations are of the same seeds. They are compared by permutation within the
    pairs (`intervals.spread_ratio`), one-sided at 1 % in both directions. A method whose seeds do not
    differ at either round has no error bar, and is left out.
    """
    comparisons: list[Undecided | Comparison] = []
    for problem in problems:
        for algorithm in algorithms:
            t, values = phase_two_regret(runs, problem, algorithm, regret)
            bars = intervals.wald_interval(values, CONFIDENCE).half_width
            first, last = values[:, 0], values[:, -1]
            name = f"{runs.problem_label(problem)}, {runs.label(algorithm)}"
            text = f"{name}: {bars[0]:.4f} at t = {t[0]}, {bars[-1]:.4f} at t = {t[-1]}"
            if len(values) > 1 and not np.ptp(first) and not np.ptp(last):
                comparisons.append(Comparison("left out", f"{text}: no error bar to compare"))
            else:
                ratio = intervals.spread_ratio(first, last)
                test = tested(text, ratio, "log ratio of spreads")
                # of the exchanges of n pairs one is the smallest p
                comparisons.append(replace(test, smallest=(0.5 ** len(values),) * 2))
    return decided(comparisons, LEVEL)


def order_of_regret(
    runs: Runs, *, problems: Sequence[str], algorithm: str, power: float, margin: float
) -> list[Comparison]:
    """R_T grows more slowly than T to the ``power`` + ``margin``.

    Supported: the exponent (`scaling_slope`) is shown to lie below that, by Student's test of its
    jackknife; contradicted: above; open otherwise. The theorem's power alone decides nothing: Õ hides
    logarithms, which over these T add to the exponent. In simulations with the spread of our 40 seeds the
    rule errs in 5 % at the limit, supports the theorem's power in 69 %, and contradicts T itself.

    Args:
        problems: the same function with different T and the theorem's n.
        power: the theorem's, of a bound: 1/2 (Theorem 12) or 2/3 (Lemma 15).
        margin: the exponent may exceed the power by less than this.
    """
    for problem in problems:
        runs.require(problem, algorithm)
    excess = scaling_slope(runs, problems, algorithm, power + margin)
    mean, low, high = (end + power + margin for end in excess.ends)
    T = ", ".join(str(runs.horizon(problem)) for problem in problems)
    text = (
        f"{runs.label(algorithm)}, T = {T}: R_T grows as T to the "
        f"{mean:.2f} [{low:.2f}, {high:.2f}] ({excess.n} seeds), against {power + margin:.2f}"
    )
    return decided([tested(text, -excess, "exponent below the limit")])


def less_regret(
    runs: Runs,
    *,
    problems: Sequence[str],
    other_problems: Sequence[str],
    algorithm: str,
    others: Sequence[str],
) -> list[Comparison]:
    """R_T of ``algorithm``, Phase I included, is below that of each of the ``others``, for each T.

    One-sided t-tests at 1 % in both directions: paired by seed if both have the same problem, and with
    it the same Phase I; Welch's where each has its own n.

    Args:
        problems, other_problems: of the algorithm and of the others, in the same order of T.
    """
    tests = []
    pairs = zip(problems, other_problems, strict=True)
    for baseline, (first, second) in itertools.product(others, pairs):
        runs.require(first, algorithm)
        runs.require(second, baseline)
        samples = [
            (runs.seeds(problem, name), total_regret(runs, problem, name))
            for problem, name in ((first, algorithm), (second, baseline))
        ]
        paired = first == second
        regrets, rival = of_common_seeds(samples)[1] if paired else (v for _, v in samples)
        if min(len(regrets), len(rival)) < 2:
            raise MissingRunsError(f"{first} and {second} have fewer than two seeds")
        text = (
            f"T = {runs.horizon(first)}: {runs.label(algorithm)} {regrets.mean():.2f}, "
            f"{runs.label(baseline)} {rival.mean():.2f}"
        )
        tests.append(t_tested(text, regrets, rival, paired=paired))
    return decided(tests, LEVEL)
