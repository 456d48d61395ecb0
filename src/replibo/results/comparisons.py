"""What a claim's measure finds: elementary comparisons, and the rule from these to a label.

**From p-values to outcomes**, the same for all papers (`decided`): each test of a claim is one-sided, and
is made in both directions. The p-values of a claim's tests, and by themselves those of their opposites,
are Holm's (1979), so that the chance of a wrong outcome among the claim's comparisons is at most the
level in each direction. Two criteria are the papers' own and stand as printed: NeuralBO's Table 2 has the
correction of its caption, and GO-UCB's error bars overlap or do not. Nothing is corrected across claims
or readings.

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
from dataclasses import dataclass
from typing import Literal

from replibo.errors import RepliboError
from replibo.results import statistics
from replibo.results.tables import p_value

Outcome = Literal["supported", "contradicted", "open", "left out"]
"""What a comparison shows; it is left out, and said to be, where there is nothing to compare."""

Label = Literal["holds", "holds with exceptions", "mixed", "fails", "undecided"]
"""What the comparisons say together."""

Word = Literal["holds", "holds with exceptions", "mixed", "fails", "undecided", "not run"]
"""The verdict on a claim in one reading."""

LEVEL = 0.05
"""Of the tests behind the claims where a paper names none; one-sided."""


class MissingRunsError(RepliboError):
    """Runs that a measure needs are missing; the message says which."""


@dataclass(frozen=True)
class Comparison:
    """One elementary comparison of a claim: its outcome, and our numbers in words."""

    outcome: Outcome
    ours: str


@dataclass(frozen=True)
class Undecided:
    """A comparison before it is decided: our numbers in words, p of what is claimed, and p of its
    opposite; NaN where there are too few runs for a test."""

    ours: str
    p: float
    reverse: float


def decided(found: Sequence[Undecided | Comparison], level: float = LEVEL) -> list[Comparison]:
    """The outcomes of a claim's tests by their p-values after Holm's correction, each direction a family;
    what is decided already stays as it is.

    The text ends with the p-value that decides.
    """
    tests = [own for own in found if isinstance(own, Undecided)]
    corrected = zip(
        statistics.holm([test.p for test in tests]),
        statistics.holm([test.reverse for test in tests]),
        strict=True,
    )
    return [
        own if isinstance(own, Comparison) else _decided(own, *next(corrected), level)
        for own in found
    ]


def _decided(test: Undecided, p: float, reverse: float, level: float) -> Comparison:
    if math.isnan(p) and math.isnan(reverse):
        return Comparison("open", f"{test.ours}, too few runs for a test")
    if reverse < level:
        return Comparison("contradicted", f"{test.ours}, p of the opposite {p_value(reverse)}")
    return Comparison("supported" if p < level else "open", f"{test.ours}, p {p_value(p)}")


def counts(comparisons: Sequence[Comparison]) -> tuple[int, int, int]:
    """How many comparisons are supported, contradicted, and there at all; what was left out does not
    count."""
    outcomes = [comparison.outcome for comparison in comparisons]
    k = len(outcomes) - outcomes.count("left out")
    return outcomes.count("supported"), outcomes.count("contradicted"), k


def label_of_counts(s: int, c: int, k: int) -> Label:
    """The label by the table above: ``s`` supported and ``c`` contradicted of ``k``."""
    if k == 0:
        return "undecided"
    if s == k:
        return "holds"
    if 4 * s >= 3 * k or (c == 0 and 2 * s >= k):
        return "holds with exceptions"
    if 4 * c >= 3 * k or (s == 0 and 2 * c >= k):
        return "fails"
    return "mixed" if s and c else "undecided"


def judge(comparisons: Sequence[Comparison]) -> Label:
    """The label of a claim's comparisons."""
    return label_of_counts(*counts(comparisons))
