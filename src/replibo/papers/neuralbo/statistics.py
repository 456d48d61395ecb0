"""NeuralBO's statistics (Phan-Trong, Tran-The and Gupta 2023, section 7.1): Tables 1 and 2, ours cell by
cell beside the paper's.

The paper prints T (true) if the null hypothesis is rejected after Benjamini and Hochberg's correction,
else F (false). The hypothesis is that the baseline's mean final value is at most NeuralBO's. Here these
are words, as T is the number of rounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.papers.neuralbo.printed import BASELINES, KS_P_VALUES, T_TESTS
from replibo.papers.neuralbo.traces import (
    FUNCTIONS,
    final_values_of,
    function_of,
    synthetic_problems,
)
from replibo.problems.base import Array
from replibo.results import statistics
from replibo.results.effects import Effect, of_samples
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

LEVEL = 0.05
"""Level of the KS tests, and false discovery rate of the t-tests."""

MARGIN = 1.0
"""Margin of equivalence and of non-inferiority, in pooled standard deviations. With ten seeds an
equivalence within less than 0.775 can never be shown: the standard error of the difference is
√(2/10) = 0.447, and the quantile 1.734 at least. With five seeds none within 1 can be: .632 and
1.860."""

PROPOSED = "neural_bo"
"""The paper's NeuralBO, or what a reading has in its place."""

PRINTED_SEEDS = 10
"""Runs of each method behind the printed p-values: "averaged over 10 runs"."""


def _p(value: float) -> str:
    """A p-value with the digits of the paper's Table 1."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.3g}"


_WORDS = {True: "true", False: "false", None: None}
_ANSWERS = {True: "yes", False: "no", None: None}


# Table 1


def table_1(runs: Runs, entry: FigureEntry) -> Table:
    """Table 1: are the final values of each method normally distributed? p of the KS test."""
    rows: list[dict[str, Any]] = []
    problems = synthetic_problems(runs, entry.problems)
    methods = list(dict.fromkeys([PROPOSED, *(entry.algorithms or BASELINES)]))
    for problem, name in itertools.product(problems, methods):
        values = _values(runs, problem, name)
        distance, p = statistics.ks_normality(values) if len(values) else (math.nan, math.nan)
        rows.append(
            {
                "function": FUNCTIONS[function_of(problem)],
                "D": runs.dim(problem),
                "method": runs.label(name),
                "seeds": len(values),
                "KS distance": distance,
                "p, ours": p,
                "p, paper": KS_P_VALUES.get(problem, {}).get(name),
                "p, Lilliefors": statistics.lilliefors(values)[1] if len(values) else math.nan,
            }
        )
    ks_p = [row["p, ours"] for row in rows if not math.isnan(row["p, ours"])]
    caption = (
        f"{entry.caption} Test of the values after T iterations against the normal distribution with "
        f"the sample's own mean and standard deviation. Ours: {sum(p > LEVEL for p in ks_p)} of "
        f"{len(ks_p)} p-values exceed {LEVEL:g}. That says little: with mean and deviation estimated "
        "from the same values, as the paper does it, p comes out far too large. Lilliefors' test (1967) "
        "judges the same distance by its own distribution: "
        f"{sum(row['p, Lilliefors'] > LEVEL for row in rows)} of {len(ks_p)} exceed {LEVEL:g}. No "
        f"p-value: fewer than two seeds, or no spread. {runs.note(problems, methods)}"
    )
    p_values = ("p, ours", "p, paper", "p, Lilliefors")
    formats: dict[str, Format] = {"KS distance": ".4g", **dict.fromkeys(p_values, _p)}
    return Table.of(rows, caption, formats)


# Table 2


@dataclass
class Cell:
    """One cell of Table 2: a baseline against NeuralBO on one problem.

    Attributes:
        problem, baseline: their names in the config.
        seeds: of the baseline and of NeuralBO; 0 where it was not run.
        printed_p, printed: the paper's p-value, and its true or false; None if it has no such cell.
        difference: of the mean final values, baseline - NeuralBO, in the function's unit.
        effect_size: the difference over the pooled standard deviation (Cohen's d).
        effect: the effect size as all claims give it.
        p: of each alternative. ``better``: the baseline's mean is larger. ``worse``: NeuralBO's is.
            ``not worse``: NeuralBO's is larger by less than `MARGIN` pooled standard deviations, or is
            smaller. ``equivalent``: the means differ by less than `MARGIN` pooled standard deviations
            (the larger p of the two one-sided tests).
        adjusted: the same, adjusted within the function's family.

    Where there is no test (fewer than two seeds of one of them), the numbers are NaN and the rest is
    empty. ``effect_size`` is also NaN where neither of them has a spread and the means are equal.
    """

    problem: str
    baseline: str
    seeds: tuple[int, int]
    printed_p: float | None
    printed: bool | None
    difference: float = math.nan
    effect_size: float = math.nan
    effect: Effect | None = None
    p: dict[str, float] = field(default_factory=dict)
    adjusted: dict[str, float] = field(default_factory=dict)

    def shown(self, alternative: str) -> bool:
        """Whether an alternative is shown, after the correction."""
        return self.adjusted.get(alternative, math.nan) <= LEVEL

    @property
    def rejected(self) -> bool | None:
        """True or false of ours; None where there is no test."""
        return self.shown("better") if self.p else None

    @property
    def printed_effect(self) -> float | None:
        """Cohen's d that belongs to the paper's p-value, by Student's t-test of ten seeds each; None if
        it has no such cell."""
        from scipy.stats import t

        if self.printed_p is None:
            return None
        return float(t.isf(self.printed_p, 2 * PRINTED_SEEDS - 2) * math.sqrt(2 / PRINTED_SEEDS))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the effect size, by Hedges and Olkin's normal approximation (1985); NaN if
        there is no effect size."""
        n, m = self.seeds
        if math.isnan(self.effect_size):
            return math.nan, math.nan
        error = math.sqrt((n + m) / (n * m) + self.effect_size**2 / (2 * (n + m)))
        return self.effect_size - 1.96 * error, self.effect_size + 1.96 * error

    @property
    def smaller(self) -> bool | None:
        """Whether the printed effect lies above the interval of ours; None if the paper prints no
        true."""
        if not self.printed or self.printed_effect is None or math.isnan(self.effect_size):
            return None
        return self.interval[1] < self.printed_effect

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the paper's true or false; None where one of them is missing."""
        if self.rejected is None or self.printed is None:
            return None
        return self.rejected == self.printed


def compare(
    runs: Runs,
    problems: Sequence[str],
    *,
    baselines: Sequence[str] = BASELINES,
    pooled: bool = False,
) -> list[Cell]:
    """The cells of Table 2, problem by problem.

    The family of the correction is a function: its dimensions times the baselines, 24 tests in the
    paper, which does not name its families; if less was run, what was run. The printed p-values
    with this family give every printed true and false. So does any family within a function, and no
    correction at all; all 72 together, by dimension or by baseline, give one false too many. Equivalence,
    which the paper does not test, has two families: the cells printed true and the others. In one family
    with the many that differ, ten seeds could show it of no cell.

    A problem that was not run has no cells. All problems of a function that are to be one family must be
    among ``problems``. ``pooled``: the t-test with equal variances instead of Welch's.
    """
    cells, ran = [], synthetic_problems(runs, problems)
    finals = {pair: _values(runs, *pair) for pair in itertools.product(ran, (PROPOSED, *baselines))}
    for problem, baseline in itertools.product(ran, baselines):
        neural_bo, rival = finals[problem, PROPOSED], finals[problem, baseline]
        printed = T_TESTS.get(problem, {}).get(baseline, (None, None))
        cell = Cell(problem, baseline, (len(rival), len(neural_bo)), *printed)
        cells.append(cell)
        if min(cell.seeds) < 2:
            continue
        ways = ((neural_bo, rival), (rival, neural_bo))
        better, worse = (
            statistics.t_test_less(*pair, paired=False, equal_variances=pooled) for pair in ways
        )
        within = [within_margin(*pair, pooled) for pair in ways]
        seeds = [runs.seeds(problem, name).tolist() for name in (PROPOSED, baseline)]
        cell.difference, cell.effect_size = worse.difference, worse.effect_size
        cell.effect = of_samples(neural_bo, rival, paired=False, seeds=seeds)
        cell.p = {"better": better.p_value, "worse": worse.p_value}
        cell.p |= {"not worse": within[0], "equivalent": max(within)}
    for function in FUNCTIONS:
        group = [cell for cell in cells if cell.p and function_of(cell.problem) == function]
        families = {alternative: [group] for alternative in ("better", "worse", "not worse")}
        by_word = [[cell for cell in group if bool(cell.printed) == word] for word in (True, False)]
        for alternative, parts in {**families, "equivalent": by_word}.items():
            for family in parts:
                adjusted = statistics.benjamini_hochberg([cell.p[alternative] for cell in family])
                for cell, p in zip(family, adjusted.tolist(), strict=True):
                    cell.adjusted[alternative] = p
    return cells


def within_margin(a: Array, b: Array, pooled: bool) -> float:
    """p of mean(a) < mean(b) + `MARGIN` pooled standard deviations: one of the two one-sided tests of
    equivalence (Schuirmann 1987)."""
    n, m = len(a), len(b)
    squares = (n - 1) * a.var(ddof=1) + (m - 1) * b.var(ddof=1)
    margin = MARGIN * math.sqrt(squares / (n + m - 2))
    return statistics.t_test_less(a - margin, b, paired=False, equal_variances=pooled).p_value


def _values(runs: Runs, problem: str, algorithm: str) -> Array:
    """The final values; none where the algorithm was not run."""
    ran = runs.has(problem, algorithm)
    return final_values_of(runs, problem, algorithm) if ran else np.empty(0)


def _families(cells: Sequence[Cell]) -> str:
    """The number of tests in each function's family, for captions."""
    sizes = {
        label: sum(function_of(c.problem) == function and c.rejected is not None for c in cells)
        for function, label in FUNCTIONS.items()
    }
    run = [f"{label} {size}" for label, size in sizes.items() if size]
    full = "as in the paper" if set(sizes.values()) == {24} else "24 each in the paper"
    return f"{', '.join(run) if run else 'none'} tests ({full})"


def table_2(runs: Runs, entry: FigureEntry, *, pooled: bool = False) -> Table:
    """Table 2: is each baseline's mean final value larger than NeuralBO's? Ours beside the paper's."""
    baselines = [name for name in entry.algorithms or BASELINES if name != PROPOSED]
    problems = synthetic_problems(runs, entry.problems)
    cells = compare(runs, problems, baselines=baselines, pooled=pooled)
    rows = [
        {
            "function": FUNCTIONS[function_of(cell.problem)],
            "D": runs.dim(cell.problem),
            "baseline": runs.label(cell.baseline),
            "seeds, baseline": cell.seeds[0],
            "seeds, NeuralBO": cell.seeds[1],
            "baseline - NeuralBO": cell.difference,
            "p, ours": cell.p.get("better"),
            "adjusted p, ours": cell.adjusted.get("better"),
            "p, equivalence": cell.adjusted.get("equivalent"),
            "ours": _WORDS[cell.rejected],
            "p, paper": cell.printed_p,
            "paper": _WORDS[cell.printed],
            "agree": _ANSWERS[cell.agrees],
            "d, ours": cell.effect_size,
            "d, low": cell.interval[0],
            "d, high": cell.interval[1],
            "d, paper": cell.printed_effect,
            "smaller than printed": _ANSWERS[cell.smaller],
        }
        for cell in cells
    ]
    judged = [cell.smaller for cell in cells if cell.smaller is not None]
    agreeing = [cell.agrees for cell in cells if cell.agrees is not None]
    test = "Student's t-test (pooled variance)" if pooled else "Welch's t-test"
    caption = (
        f"{entry.caption} {test}, one-sided, of the values after T iterations, alternative: the "
        f"baseline's mean is larger (worse) than that of {runs.label(PROPOSED)}. True: rejected after "
        f"Benjamini and Hochberg's correction at {LEVEL:g} within each function, false: not. Families of "
        f"what was run: {_families(cells)}. {sum(agreeing)} of {len(agreeing)} cells have the paper's "
        f"word. {runs.note(problems, [PROPOSED, *baselines])} A false of ours shows nothing by itself. "
        f"p, equivalence: of two one-sided tests that the means differ by less than {MARGIN:g} pooled "
        "standard deviation, adjusted within the printed true and the others. d: the difference in "
        "pooled deviations (Cohen's d), positive if NeuralBO is better, with its 95 % interval; d, "
        f"paper: that of the printed p, by Student's t-test of {PRINTED_SEEDS} seeds each. Of "
        f"{len(judged)} printed true, {sum(judged)} have a printed d above our interval: smaller than "
        "printed."
    )
    of_words = ("function", "D", "baseline", "ours", "paper", "agree", "smaller than printed")
    numbers = [name for name in rows[0] if name not in of_words and not name.startswith("seeds")]
    return Table.of(rows, caption, dict.fromkeys(numbers, ".3g"))
