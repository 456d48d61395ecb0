"""The measures of NeuralBO's claims about its synthetic study (``config/claims/``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from replibo.errors import RepliboError
from replibo.papers.common import cpu_seconds_by_query, outcome
from replibo.papers.neuralbo.printed import BASELINES, T_TESTS
from replibo.papers.neuralbo.statistics import LEVEL, MARGIN, PROPOSED, Cell, compare
from replibo.papers.neuralbo.traces import final_values_of, function_of, synthetic_problems
from replibo.problems.base import Array
from replibo.results import regret, statistics
from replibo.results.comparisons import (
    Comparison,
    MissingRunsError,
    Outcome,
    decided,
    t_tested,
)
from replibo.results.effects import BEYOND
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.statistics import equivalence_reachable
from replibo.results.tables import p_value

# Claims 1 and 10


def pattern_of_table_2(
    runs: Runs,
    *,
    problems: Sequence[str],
    baselines: Sequence[str] = BASELINES,
    pooled: bool = False,
) -> list[Comparison]:
    """The cells of Table 2 on ``problems`` are true or false as in the paper, by its test and correction.

    The correction's family is all that was run of a function, so that the cells are those of the table,
    whichever of them a claim is about. A baseline that was not run is an open cell.
    """
    comparisons = []
    for cell in _cells_of(runs, problems, baselines, pooled):
        if cell.printed is None:
            continue
        text = f"{runs.problem_label(cell.problem)}: {_cell_text(runs, cell)}"
        effect = cell.effect and replace(
            cell.effect, printed=cell.printed_effect, equality=not cell.printed
        )
        reachable = cell.printed or equivalence_reachable(*cell.seeds, MARGIN, LEVEL)
        unreachable: tuple[Outcome, ...] = () if reachable else ("supported",)
        comparisons.append(Comparison(_outcome(cell), text, effect, unreachable, level=None))
    return comparisons


def comparable_or_better(
    runs: Runs,
    *,
    problems: Sequence[str],
    baselines: Sequence[str] = BASELINES,
    pooled: bool = False,
) -> list[Comparison]:
    """NeuralBO's final values are comparable to or better than each baseline's (section 7.1, Figure 1).

    By the tests of Table 2. Supported if its mean is shown to be larger by less than `MARGIN`
    pooled standard deviations (non-inferiority, with the same correction). Contradicted if it is
    shown to be worse and not supported.
    """

    def said(cell: Cell) -> str:
        if cell.rejected is None:
            return "(no test)"
        for alternative in ("better", "not worse", "worse"):
            if cell.shown(alternative):
                return f"(NeuralBO is {alternative}, {_p(cell, alternative)})"
        return f"(better: {_p(cell, 'better')}, worse: {p_value(cell.adjusted['worse'])})"

    return [
        Comparison(
            outcome(cell.rejected or cell.shown("not worse"), cell.shown("worse")),
            f"{runs.problem_label(cell.problem)}: {runs.label(cell.baseline)} {said(cell)}",
            cell.effect,
            level=None,
        )
        for cell in _cells_of(runs, problems, baselines, pooled)
    ]


def _cells_of(
    runs: Runs, problems: Sequence[str], baselines: Sequence[str], pooled: bool
) -> list[Cell]:
    """The cells of ``problems``, corrected in the family of all that was run of their functions."""
    for problem in problems:
        if problem not in T_TESTS:
            raise RepliboError(f"options.problems: must be of Table 2, got {problem!r}")
        runs.require(problem, PROPOSED)
    functions = {function_of(problem) for problem in problems}
    family = [p for p in synthetic_problems(runs, list(T_TESTS)) if function_of(p) in functions]
    cells = compare(runs, family, baselines=baselines, pooled=pooled)
    return [cell for cell in cells if cell.problem in problems]


def _outcome(cell: Cell) -> Outcome:
    """The verdict of our test on the paper's true or false."""
    if cell.rejected is None:
        return "open"
    if cell.printed:
        return outcome(cell.rejected, cell.shown("worse") or cell.shown("equivalent"))
    # A printed *false* means that the test did not reject. This alone shows no equality: with few seeds a
    # test seldom rejects.
    return outcome(cell.shown("worse") or cell.shown("equivalent"), cell.rejected)


def _cell_text(runs: Runs, cell: Cell) -> str:
    """``RF, printed: true (p 0.0012)``; the paper's word, and the adjusted p that decides the cell."""
    text = f"{runs.label(cell.baseline)}, printed: {'true' if cell.printed else 'false'}"
    if cell.rejected is None:
        return f"{text} (no test)"
    if not cell.rejected and cell.shown("worse"):
        return f"{text} (NeuralBO is worse, {_p(cell, 'worse')})"
    if not cell.rejected and cell.shown("equivalent"):
        return f"{text} (equivalent, {_p(cell, 'equivalent')})"
    return f"{text} ({_p(cell, 'better')})"


def _p(cell: Cell, alternative: str) -> str:
    """``p 0.0012``, adjusted."""
    return f"p {p_value(cell.adjusted[alternative])}"


# Claim 2


TESTS = {"kolmogorov_smirnov": statistics.ks_normality, "lilliefors": statistics.lilliefors}
"""Tests of normality: as printed, with the sample's own mean and deviation as if they were known; and
by a distribution that takes into account that they are not."""


def normally_distributed(
    runs: Runs,
    *,
    problems: Sequence[str],
    algorithms: Sequence[str],
    test: Literal["kolmogorov_smirnov", "lilliefors"] = "kolmogorov_smirnov",
) -> list[Comparison]:
    """All p-values of Table 1 exceed 0.05. The claim is about the p-values themselves, which are not
    corrected. A cell is open if its p exceeds 0.05 whatever the values (`statistics.smallest_ks_p`).
    """
    comparisons = []
    for problem in problems:
        runs.require(problem, *algorithms)
        for name in algorithms:
            values = final_values_of(runs, problem, name)
            _, p = TESTS[test](values)
            p_text = "no test" if np.isnan(p) else f"p {p:.2f}" if p >= 0.01 else f"p {p_value(p)}"
            text = f"{runs.problem_label(problem)}: {runs.label(name)} {p_text} (n = {len(values)})"
            smallest_p = statistics.smallest_ks_p(len(values)) if test != "lilliefors" else 0.0
            unreachable: tuple[Outcome, ...] = () if smallest_p <= LEVEL else ("contradicted",)
            word = outcome(p > LEVEL and not unreachable, p <= LEVEL)  # NaN is open
            comparisons.append(Comparison(word, text, unreachable=unreachable))
    return comparisons


# Claims 8 and 9


def sublinear_regret(runs: Runs, *, problems: Sequence[str]) -> list[Comparison]:
    """NeuralBO's cumulative regret R_t grows as a power of t below 1 (Theorem 1): Student's test of its
    exponent in the last three quarters of the rounds, over the seeds, for each problem."""
    tests = []
    for problem in problems:
        runs.require(problem, PROPOSED)
        after_start = runs.rounds(problem, PROPOSED) > 0
        if (T := int(after_start.sum())) < FEWEST_ROUNDS:
            raise MissingRunsError(f"{problem}: {T} rounds, fewer than {FEWEST_ROUNDS}")
        f = runs.f(problem, PROPOSED)[:, after_start]
        slopes = exponents(regret.cumulative_regret(f, runs.optimal_value(problem)))
        interval = student_interval(slopes)
        text = (
            f"{runs.problem_label(problem)}: R_t of {runs.label(PROPOSED)} grows as t to the "
            f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}] from t = {T // 4} to {T} "
            f"({len(slopes)} seeds)"
        )
        tests.append(t_tested(text, slopes, np.ones_like(slopes), paired=True, unit=BEYOND))
    return decided(tests)


FEWEST_ROUNDS = 100
"""Rounds that a run must have for its growth to be judged."""
SINCE = 256
"""The number of observations from which on the growth of a round's time is judged."""


def exponents(totals: Array) -> Array:
    """The exponent p of R_t ~ t^p for each seed: 2^p is what R_t, ``seeds x T``, gains from T/2 to T over
    what it gains from T/4 to T/2.

    What a run gains before T/4 makes no difference. A fit of ln R_t takes an early fall to a level, after
    which regret is linear, for a power below 1.
    """
    T = totals.shape[1]
    gains = np.diff(totals[:, [T // 4 - 1, T // 2 - 1, T - 1]], axis=1)
    return np.asarray(np.diff(np.log2(np.maximum(gains, np.finfo(float).tiny)))[:, 0])


def cost_of_a_round(runs: Runs, *, problems: Sequence[str]) -> list[Comparison]:
    """The CPU time of a round of NeuralBO grows with the number n of observations nearer to linearly than
    to quadratically: its exponent in n, from `SINCE` on, is below 1.5, for each problem. Mean times of
    all runs, and no test."""
    comparisons = []
    for problem in problems:
        runs.require(problem, PROPOSED)
        n, seconds = cpu_seconds_by_query(runs, problem, PROPOSED)
        late = n >= SINCE
        if late.sum() < 3:
            where = f"{runs.label(PROPOSED)} on {runs.problem_label(problem)}"
            raise MissingRunsError(f"no CPU times of {where} far beyond n = {SINCE}")
        slope = np.polyfit(np.log(n[late]), np.log(seconds[late]), 1)[0]
        text = (
            f"{runs.problem_label(problem)}: a round of {runs.label(PROPOSED)} takes "
            f"{seconds[late][0]:.3g} CPU s at n = {n[late][0]:.0f}, {seconds[-1]:.3g} at {n[-1]:.0f}, "
            f"n to the {slope:.2f}"
        )
        comparisons.append(Comparison("supported" if slope < 1.5 else "contradicted", text))
    return comparisons
