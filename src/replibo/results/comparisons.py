"""Elementary comparisons of a claim's measure, and the rule from these to a label.

**From p-values to outcomes**, the same for all papers (`decided`): each test is one-sided at 5 %, and is
made in both directions. A claim says that all of its comparisons come out one way. If every p-value is
below the level, all do, without a correction: a claim that is false in one comparison gets there with a
chance of at most 5 % (an intersection-union test, Berger 1982). Otherwise single comparisons are picked
out, and the p-values of a direction are Holm's (1979), so that the chance of any wrong outcome among them
is at most 5 %. Both ways together: at most 10 % in a direction. Nothing is corrected across claims or
readings.

Papers' own criteria stand as printed: NeuralBO's Table 2 has the correction of its caption, GO-UCB's
error bars of 98 % overlap or do not, and the tests beside them are at the 1 % that goes with them.

A comparison carries its effect with its interval, the sizes of the samples and the detectable effect
(`replibo.results.effects`). It says so if its test cannot give an outcome with so few runs, whatever
their values.

**From outcomes to a label** (`label_of_counts`), in one vocabulary for runs of any size: of k comparisons
s are supported and c contradicted. The first line that applies:

====================== ==============================================================================
undecided              k = 0
holds                  s = k
holds with exceptions  s ≥ ¾ k, or c = 0 and s ≥ ½ k; the others are the exceptions
fails                  c ≥ ¾ k, or s = 0 and c ≥ ½ k
mixed                  s ≥ 1 and c ≥ 1
undecided              otherwise; it leans for the claim if s > c, against it if c > s
====================== ==============================================================================

A reading whose runs are missing is *not run*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.results import effects, statistics
from replibo.results.effects import Effect
from replibo.results.tables import p_value

Outcome = Literal["supported", "contradicted", "open", "left out"]
"""The outcome of a comparison; it is left out, and said to be, if there is nothing to compare."""

Label = Literal["holds", "holds with exceptions", "mixed", "fails", "undecided"]
"""The verdict of the comparisons together."""

Word = Literal[Label, "not run", "not printed"]
"""The verdict on a claim in one reading."""

LEVEL = 0.05
"""Of the one-sided tests behind the claims, except where a paper names its own."""

MARGIN = 0.5
"""A difference below this many standard deviations does not matter: an open comparison whose interval
lies within it shows no relevant difference."""


class MissingRunsError(RepliboError):
    """Runs that a measure needs are missing; the message says which."""


@dataclass(frozen=True)
class Comparison:
    """One elementary comparison of a claim.

    Attributes:
        outcome: what it shows.
        ours: our numbers in words.
        effect: how large the difference is; None if it has no size.
        unreachable: the outcomes that its test cannot give at its number of runs.
        level: of its one-sided test against 0, corrected by Bonferroni for the tests beside it; None if
            it has another test.
    """

    outcome: Outcome
    ours: str
    effect: Effect | None = None
    unreachable: tuple[Outcome, ...] = ()
    level: float | None = LEVEL

    def said(self) -> str:
        """Our numbers, the effect, and of an open comparison what it leaves open."""
        parts = [self.ours] + ([str(self.effect)] if self.effect else [])
        if self.outcome == "open":
            for outcome in self.unreachable:
                parts.append(f"cannot be {outcome} with so few runs")
            if self.effect and self.effect.within(MARGIN):
                parts.append(f"no relevant difference (below {MARGIN:g} either way)")
            elif self.effect and self.level and self.effect.by_t_test:
                n = " and ".join(str(size) for size in dict.fromkeys(self.effect.n))
                least = f"an effect of {self.effect.detectable(self.level):.2g} or more"
                parts.append(f"undecided: with n = {n} only {least} is likely to show")
        return "; ".join(parts)


@dataclass(frozen=True)
class Undecided:
    """A comparison before it is decided.

    Attributes:
        ours: our numbers in words.
        p, reverse: p of what is claimed, and of its opposite; NaN with too few runs for a test.
        effect: how large the difference is.
        smallest: the smallest p and reverse that the test can give at its number of runs.
    """

    ours: str
    p: float
    reverse: float
    effect: Effect | None = None
    smallest: tuple[float, float] = (0.0, 0.0)


def decided(results: Sequence[Undecided | Comparison], level: float = LEVEL) -> list[Comparison]:
    """The outcomes of a claim's tests by their p-values, each direction a family; what is decided already
    stays as it is. The text ends with the p-value that decides."""
    tests = [entry for entry in results if isinstance(entry, Undecided)]
    settled = {entry.outcome for entry in results if isinstance(entry, Comparison)} - {"left out"}
    directions: tuple[tuple[Outcome, list[float]], ...] = (
        ("supported", [test.p for test in tests]),
        ("contradicted", [test.reverse for test in tests]),
    )
    p_values, reverses = (
        p if settled <= {outcome} and all(value < level for value in p) else statistics.holm(p)
        for outcome, p in directions
    )
    corrected = iter(zip(p_values, reverses, strict=True))
    comparisons = []
    for entry in results:
        if isinstance(entry, Undecided):
            p, reverse = next(corrected)
            entry = replace(_decided(entry, p, reverse, level), level=level / len(tests))
        comparisons.append(entry)
    return comparisons


def _decided(test: Undecided, p: float, reverse: float, level: float) -> Comparison:
    if math.isnan(p) and math.isnan(reverse):
        return Comparison("open", f"{test.ours}, too few runs for a test", test.effect)
    ways: tuple[Outcome, Outcome] = ("supported", "contradicted")
    unreachable = tuple(
        outcome
        for outcome, smallest in zip(ways, test.smallest, strict=True)
        if not smallest < level
    )
    if reverse < level:
        text, outcome = f"{test.ours}, p of the opposite claim {p_value(reverse)}", ways[1]
    else:
        text = f"{test.ours}, p {p_value(p)}"
        outcome = ways[0] if p < level else "open"
    return Comparison(outcome, text, test.effect, unreachable)


def t_tested(
    text: str,
    less: Array,
    more: Array,
    *,
    paired: bool,
    seeds: Sequence[Sequence[int]] = (),
    unit: str = effects.DEVIATIONS,
) -> Undecided:
    """The t-tests of mean(less) < mean(more), by seed or Welch's, with the effect (`effects.of_samples`);
    its ``unit`` is `effects.BEYOND` if ``more`` is a limit that the claim sets."""
    effect = effects.of_samples(less, more, paired=paired, seeds=seeds, unit=unit)
    return Undecided(text, *statistics.t_tests(less, more, paired=paired), effect)


def sign_tested(text: str, values: Array, seeds: Sequence[int] = ()) -> Undecided:
    """The sign tests of more wins than losses, with the share of wins.

    Args:
        values: ``n``, above 0 for a win, below 0 for a loss.
        seeds: of the values; none if they are not one for each seed.
    """
    wins, losses = int(np.sum(values > 0)), int(np.sum(values < 0))
    smallest = 0.5 ** (wins + losses)
    samples = [dict(zip(seeds, values.tolist(), strict=True))] if len(seeds) else ()
    p, reverse = statistics.sign_test(wins, losses)
    return Undecided(
        text, p, reverse, effects.of_share(wins, losses, samples), (smallest, smallest)
    )


def rank_tested(text: str, less: Array, unit: str = effects.DEVIATIONS) -> Undecided:
    """Wilcoxon's signed-rank tests of paired differences that are claimed to lie below 0; ``unit`` as in
    `t_tested`."""
    smallest = 0.5 ** len(less)
    p, reverse = (statistics.signed_rank_less(sign * less) for sign in (1, -1))
    effect = effects.of_samples(less, np.zeros_like(less), paired=True, unit=unit)
    return Undecided(text, p, reverse, effect, (smallest, smallest))


def together(tests: Sequence[Undecided]) -> Undecided:
    """One comparison of several tests: supported if all of them are (an intersection-union test),
    contradicted if one of them is (Bonferroni). Its effect is that of the test with the largest p."""
    last = max(tests, key=lambda test: 1.0 if math.isnan(test.p) else test.p)
    reverse = np.minimum(1.0, len(tests) * np.min([test.reverse for test in tests]))
    text = "; ".join(test.ours for test in tests if test.ours)
    return replace(last, ours=text, reverse=float(reverse))


def counts(comparisons: Sequence[Comparison]) -> tuple[int, int, int]:
    """How many comparisons are supported, contradicted, and there at all; what was left out does not
    count."""
    outcomes = [comparison.outcome for comparison in comparisons]
    k = len(outcomes) - outcomes.count("left out")
    return outcomes.count("supported"), outcomes.count("contradicted"), k


def label_of_counts(s: int, c: int, k: int, mixed: int = 0) -> Label:
    """The label by the table above: ``s`` supported and ``c`` contradicted of ``k``; ``mixed`` are in
    themselves (readings may be), neither of the two, and leave no label but mixed if neither has ¾ k."""
    if k == 0:
        return "undecided"
    if s == k:
        return "holds"
    if 4 * s >= 3 * k or (c == mixed == 0 and 2 * s >= k):
        return "holds with exceptions"
    if 4 * c >= 3 * k or (s == mixed == 0 and 2 * c >= k):
        return "fails"
    return "mixed" if mixed or (s and c) else "undecided"


def judge(comparisons: Sequence[Comparison]) -> Label:
    """The label of a claim's comparisons."""
    return label_of_counts(*counts(comparisons))
