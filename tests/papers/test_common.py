"""What the measures of several papers share."""

from __future__ import annotations

import pytest

from replibo.papers.common import of_each_baseline
from replibo.results.comparisons import Comparison, MissingRunsError

from .conftest import made_paper, pair, runs_of

ENTRY = made_paper(
    {"f1": {"type": "go_ucb.F1", "label": "F1"}},
    {"go_ucb": "blue", "a": "orange", "b": "grey"},
    {"horizon": 6},
)


@pytest.mark.parametrize(
    ("ran", "line"),
    [(["go_ucb"], "no baseline was run on f1"), (["a", "b"], "go_ucb was not run on f1")],
)
def test_without_baselines_or_the_algorithm_nothing_is_compared(ran: list[str], line: str) -> None:
    """One baseline that was not run is open: `test_neuralbo_retrieval.py`."""
    runs = runs_of(ENTRY, [pair(("f1", name), [[0.0]]) for name in ran], {"f1": {}})
    with pytest.raises(MissingRunsError, match=line):
        of_each_baseline(runs, ["f1"], "go_ucb", ["a", "b"], lambda *_: Comparison("open", ""))
