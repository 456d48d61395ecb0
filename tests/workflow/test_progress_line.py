"""The line of progress."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from replibo.config import load
from replibo.workflow import progress_line
from replibo.workflow.progress_line import LogHandler, Progress

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def test_the_end_is_expected_by_the_pace_so_far() -> None:
    progress = Progress(cores=2, expected={n: 600.0 for n in range(10)}, total=10, start=0.0)
    # nothing has ended: 6000 CPU seconds on two cores
    progress.started = {0: 0.0, 1: 0.0}
    assert progress.line(0.0, NOON) == (
        "0 of 10 jobs, 2 run, 0.0 of 1.7 core hours, 0 s gone, 50 min left (12:50 UTC)"
    )
    # four jobs of ten took 40 minutes on two cores, twice what was expected: 60 more
    progress.ended, progress.started = {0, 1, 2, 3}, {4: 2400.0, 5: 2400.0}
    assert progress.line(2400.0, NOON) == (
        "4 of 10 jobs, 2 run, 0.7 of 1.7 core hours, 40 min gone, 60 min left (13:00 UTC)"
    )
    # the last job takes its whole time, however many cores there are
    progress.cores, progress.ended, progress.started = 2, set(range(9)), {9: 5400.0}
    assert "20 min left" in progress.line(5400.0, NOON)


def test_the_end_says_no_time_left_and_failures_are_counted() -> None:
    progress = Progress(expected={0: 1.0, 1: 1.0}, total=2, start=0.0, ended={0}, failed=1)
    assert progress.line(5.0, NOON) == "1 of 2 jobs, 1 failed, 5 s gone"


def test_all_that_is_published_of_a_paper_takes_longer_than_one_output(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "PROGRESS", Progress())
    jobs = [
        SimpleNamespace(jobid=number, rule=SimpleNamespace(name=name))
        for number, name in enumerate(["published", "published_bbo"])
    ]
    progress_line.expect(load.load(), jobs, 1)
    assert list(progress_line.PROGRESS.expected.values()) == [1.0, 18.0]


def test_a_stop_of_snakemake_is_shown_and_its_chatter_is_not() -> None:
    handler = SimpleNamespace(plans=True)  # after "Building DAG"
    for message, shown in (
        ("Terminating processes on user request, this might take some time.", True),
        ("Will exit after finishing currently running jobs (scheduler).", True),
        ("Using shell: /usr/bin/bash", False),
    ):
        record = logging.makeLogRecord({"msg": message, "levelno": logging.INFO})
        assert LogHandler._is_told(cast("LogHandler", handler), record) is shown
