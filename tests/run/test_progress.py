"""The progress of a run: what is left, and how its log says so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from replibo.run import progress


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_rest_of_a_run_whose_queries_cost_a_power_of_their_number(power: float) -> None:
    seconds = [0.01 * n**power for n in range(1, 2001)]
    forecast, gone = progress.Forecast(), 0.0
    for n, cost in enumerate(seconds[:800], 1):
        gone += cost
        forecast.add(n, gone)
    left = forecast.left(2000)
    assert left == pytest.approx(sum(seconds[800:]), rel=0.05)


@pytest.mark.parametrize("power", [0.0, 2.0])
def test_a_resumed_run_is_judged_by_what_its_process_did(power: float) -> None:
    forecast, gone = progress.Forecast(), 7.0  # seconds before its first query
    for n in range(500, 600):
        gone += 1e-6 * n**power
        forecast.add(n, gone)
    left = sum(1e-6 * n**power for n in range(600, 701))
    assert forecast.left(700) == pytest.approx(left, rel=0.03)


def test_an_initial_design_that_costs_nothing_is_left_out() -> None:
    forecast = progress.Forecast()
    for n in range(1, 221):
        forecast.add(n, 0.001 * n if n <= 100 else 0.1 + 0.45 * (n - 100))
    assert forecast.left(1110) == pytest.approx(0.45 * (1110 - 220), rel=0.05)


def test_few_queries_say_nothing_of_the_rest() -> None:
    forecast = progress.Forecast()
    for n in range(1, 100):
        assert n > 3 or forecast.left(10) is None
        forecast.add(n, 1.01**n)
    assert forecast.left(1000) is None
    assert forecast.left(900) is not None


def test_the_words() -> None:
    now = datetime(2026, 1, 2, 23, 50, tzinfo=UTC)
    assert progress.said(now, 0.8, 720, 240) == (
        "2026-01-02 23:50 UTC, 80 %, 12 min gone, 4 min left (23:54)"
    )
    assert progress.said(now, 0.8, 72, 1200).endswith("20 min left (2026-01-03 00:10)")
    assert progress.said(now, 1, 72, None) == "2026-01-02 23:50 UTC, 100 %, 72 s gone"


def test_a_log_ends_with_the_last_query(capsys: pytest.CaptureFixture[str]) -> None:
    report = progress.reporter("the run")
    for done in range(1, 6):
        report(done, 5)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" UTC, 100 %, 0 s gone: the run: 5 of 5 queries")
