"""What the measures of several papers share."""

from __future__ import annotations

import pytest

from replibo.papers import common
from replibo.results.comparisons import Comparison, MissingRunsError

from .conftest import made_paper, pair, runs_of

ENTRY = made_paper(
    {name: {"type": "go_ucb.F1", "label": name.upper()} for name in ("f1", "f2")},
    {"own": "blue", "a": "orange", "b": "grey"},
    {"horizon": 6, "initial_points": 2, "seeds": "0-9", "seeds_per_job": 1},
)


def compared(*ran: tuple[str, str]) -> list[tuple[str, str]]:
    """Outcome and text of the comparisons with a and b on f1, of which each supports the claim."""
    runs = runs_of(ENTRY, [pair(key, [[0.0]]) for key in ran], {"f1": {}, "f2": {}})

    def compare(problem: str, baseline: str) -> Comparison:
        return Comparison("supported", f"{problem}, {baseline}")

    found = common.of_each_baseline(runs, ["f1"], "own", ["a", "b"], compare)
    return [(comparison.outcome, comparison.ours) for comparison in found]  # type: ignore[union-attr]


def test_a_baseline_that_was_not_run_is_open_and_named() -> None:
    own = ("f1", "own")
    assert compared(own, ("f1", "a")) == [("supported", "f1, a"), ("open", "F1: B was not run")]
    with pytest.raises(MissingRunsError, match="no baseline was run on f1"):
        compared(own, ("f2", "a"))
    with pytest.raises(MissingRunsError, match="own was not run on f1"):
        compared(("f1", "a"), ("f1", "b"))
