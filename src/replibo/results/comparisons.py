"""What a claim's measure finds: elementary comparisons, and the rule from these to a verdict.

=================== =================================================================================
replicated          every comparison is supported
partly              some are supported, others contradicted or left open
not replicated      none is supported and at least one is contradicted
inconclusive        none is supported and none is contradicted
=================== =================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replibo.errors import RepliboError

Outcome = Literal["supported", "contradicted", "open"]


class MissingRunsError(RepliboError):
    """Runs that a measure needs are missing; the message says which."""


@dataclass(frozen=True)
class Comparison:
    """One elementary comparison of a claim: its outcome, and our numbers in words."""

    outcome: Outcome
    ours: str


def judge(comparisons: Sequence[Comparison]) -> str:
    """The verdict of the rule above, before the size of the runs is looked at."""
    outcomes = {comparison.outcome for comparison in comparisons}
    if outcomes == {"supported"}:
        return "replicated"
    if "supported" in outcomes:
        return "partly"
    return "not replicated" if "contradicted" in outcomes else "inconclusive"


def qualified(word: str, reason: str) -> str:
    """The verdict in words that say no more than the runs: never "replicated" of reduced ones.

    Args:
        reason: why the runs are less than the paper's; empty where they are not.
    """
    return f"{WORDS_OF_REDUCED[word]} ({reason})" if reason else word


WORDS_OF_REDUCED = {
    "replicated": "holds",
    "partly": "holds in part",
    "not replicated": "does not hold",
    "inconclusive": "inconclusive",
}
"""For each verdict the word that stands for it where the runs are reduced."""
