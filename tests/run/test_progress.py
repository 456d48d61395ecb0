"""The progress of a run: what is left, and how its log says so."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate

import pytest

from replibo.run import progress


@pytest.mark.parametrize(
    ("first", "before", "power"),
    [(1, 0.0, 0), (1, 0.0, 1), (1, 0.0, 2), (500, 7.0, 0), (500, 7.0, 2)],
)
def test_the_rest_of_a_run_whose_queries_cost_a_power_of_their_number(
    first: int, before: float, power: int
) -> None:
    """A resumed run is judged by what its process did after the seconds before its first query."""
    cost = {n: 1e-6 * n**power for n in range(first, first + 1200)}
    queries = [*cost][:500]
    gone = accumulate((cost[n] for n in queries), initial=before)
    points = [*zip(queries, [*gone][1:], strict=True)]
    rest = sum(cost[n] for n in [*cost][500:])
    assert progress.forecast(points, max(cost)) == pytest.approx(rest, rel=0.05)


def test_an_initial_design_that_costs_nothing_is_left_out() -> None:
    points = [(n, 0.001 * n if n <= 100 else 0.1 + 0.45 * (n - 100)) for n in range(1, 221)]
    assert progress.forecast(points, 1110) == pytest.approx(0.45 * (1110 - 220), rel=0.05)


def test_few_queries_say_nothing_of_the_rest() -> None:
    points = [(n, 1.01**n) for n in range(1, 100)]
    assert all(progress.forecast(points[:n], 10) is None for n in (1, 2))
    assert progress.forecast(points, 1000) is None
    assert progress.forecast(points, 900) is not None


def test_a_log_says_how_far_a_run_is_and_ends_with_the_last_query(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = datetime(2026, 1, 2, 23, 50, tzinfo=UTC)
    assert progress.said(now, 0.8, 720, 240) == (
        "2026-01-02 23:50 UTC, 80 %, 12 min gone, 4 min left (23:54)"
    )
    assert progress.said(now, 0.8, 72, 1200).endswith("20 min left (2026-01-03 00:10)")
    report = progress.reporter("the run")
    for done in range(1, 6):
        report(done, 5)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" UTC, 100 %, 0 s gone: the run: 5 of 5 queries")
