"""What a claim's measure finds: elementary comparisons, and the rules from these to a verdict.

**From p-values to outcomes**, the same for all papers (`decided`): each test of a claim is one-sided, and
is made in both directions. The p-values of a claim's tests, and by themselves those of their opposites,
are Holm's (1979), so that the chance of a wrong outcome among the claim's comparisons is at most the
level. Two criteria are the papers' own and stand as printed: NeuralBO's Table 2 has the correction of its
caption, and GO-UCB's error bars overlap or do not. Nothing is corrected across claims or readings.

**From outcomes to a verdict** (`judge`), in one vocabulary for runs of any size:

=================== =================================================================================
holds               every comparison is supported
holds in part       some are supported, others contradicted or left open
does not hold       none is supported and at least one is contradicted
open                none is supported and none is contradicted
not run             runs that the claim needs are missing
=================== =================================================================================
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

Word = Literal["holds", "holds in part", "does not hold", "open", "not run"]
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


def judge(comparisons: Sequence[Comparison]) -> Word:
    """The verdict of the rule above; what was left out does not count."""
    outcomes = {comparison.outcome for comparison in comparisons} - {"left out"}
    if outcomes == {"supported"}:
        return "holds"
    if "supported" in outcomes:
        return "holds in part"
    return "does not hold" if "contradicted" in outcomes else "open"
