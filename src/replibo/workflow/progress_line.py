"""One line of progress in place of Snakemake's messages; its log file keeps all of them.

``profiles/default`` chooses this logger. ``-p`` (``--printshellcmds``), ``--verbose``, ``--debug-dag`` or
``--quiet`` bring Snakemake's own messages back.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, get_event
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from replibo.config.models import Config
from replibo.run.progress import duration
from replibo.workflow import costs
from replibo.workflow.estimate import OUTPUT_SECONDS

OTHER_SECONDS = 1.0
"""CPU seconds of a job that makes figures or tables, collects, or runs what was never run."""
REFRESH_SECONDS = 2.0
"""Seconds between two states of the line on a terminal."""
LINE_SECONDS = 60.0
"""Seconds between two lines where the output is a file."""


@dataclass
class Progress:
    """The progress of a workflow.

    Attributes:
        cores: jobs that run at one time, at most.
        expected: CPU seconds of each job by its number, from the published timings.
        started: when the jobs that run started (`time.monotonic`), by their number.
        ended: numbers of the jobs that ended well.
        failed: how many tries failed.
        total: number of jobs.
        start: when the first job started.
    """

    cores: int = 1
    expected: dict[int, float] = field(default_factory=dict)
    started: dict[int, float] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    failed: int = 0
    total: int = 0
    start: float = field(default_factory=time.monotonic)

    def seconds_of(self, job: int) -> float:
        """The CPU seconds that a job is expected to take."""
        return self.expected.get(job, OTHER_SECONDS)

    def line(self, now: float, clock: datetime) -> str:
        """``12 of 123 jobs, 2 run, 0.4 of 2.3 core hours, 5 min gone, 12 min left (14:05)``. ``clock`` is
        the time of day at ``now``."""
        done = sum(map(self.seconds_of, self.ended))
        for job, since in self.started.items():
            done += min(now - since, 0.95 * self.seconds_of(job))
        # What Snakemake gave no number of is a short job.
        whole = sum(self.expected.values()) + OTHER_SECONDS * (self.total - len(self.expected))
        parts = [f"{len(self.ended)} of {self.total} jobs"]
        parts += [f"{len(self.started)} run"] if self.started else []
        parts += [f"{self.failed} failed"] if self.failed else []
        if whole > 360:
            parts.append(f"{done / 3600:.1f} of {whole / 3600:.1f} core hours")
        parts.append(f"{duration(now - self.start)} gone")
        if (left := self._left(now - self.start, done, whole)) is not None:
            end = clock + timedelta(seconds=left)
            same_day = end.date() == clock.date()
            parts.append(f"{duration(left)} left ({end:{'%H:%M' if same_day else '%a %H:%M'}} UTC)")
        return ", ".join(parts)

    def _left(self, gone: float, done: float, whole: float) -> float | None:
        """Wall seconds until the end: by the pace so far, at first by the published timings."""
        if len(self.ended) >= self.total or not self.started:
            return None
        left = max(whole - done, 0.0)
        slowness = 1.0
        if done > 0.05 * whole:  # this machine against the one of the timings, start-up included
            slowness = min(max(gone * min(self.cores, self.total) / done, 0.2), 20.0)
        longest = max(self.seconds_of(job) for job in self.started)
        return slowness * max(left / self.cores, min(longest, left))


PROGRESS = Progress()
"""The progress of this process's workflow. The Snakefile says what to expect, Snakemake's messages
what happens."""


def expect(config: Config, jobs: Iterable[Any], cores: int | None) -> None:
    """Take over Snakemake's jobs, before the first one starts, and how many run at one time."""
    PROGRESS.cores = max(cores or 1, 1)
    papers = {f"published_{paper}" for paper in config.papers}
    for job in jobs:
        seconds = OUTPUT_SECONDS["outputs"] if job.rule.name in papers else OTHER_SECONDS
        if job.rule.name == "run" and (
            cost := costs.published_cost(config, **dict(job.wildcards.items()))
        ):
            seconds = cost.seconds
        PROGRESS.expected[job.jobid] = seconds
    PROGRESS.total = len(PROGRESS.expected)
    PROGRESS.start = time.monotonic()


class LogHandler(LogHandlerBase):
    """The handler that Snakemake makes of this logger."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        asked = self.common_settings
        self.stream = sys.stdout if asked.stdout else sys.stderr
        self.terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.shown, self.last = "", -LINE_SECONDS
        self.tables, self.told, self.plans = 0, False, False
        self.lock_of_line = threading.RLock()
        self.plain: logging.Handler | None = None
        if asked.printshellcmds or asked.verbose or asked.debug_dag or asked.quiet:
            self.plain = ColorizingTextHandler(nocolor=asked.nocolor, stream=self.stream)
            self.plain.setFormatter(DefaultFormatter(asked.quiet, asked.show_failed_logs))
            self.plain.addFilter(
                DefaultFilter(
                    *(asked.quiet, asked.debug_dag, asked.verbose, asked.dryrun),
                    asked.printshellcmds,
                )
            )
        self.stopping = threading.Event()
        if self.terminal and not self.plain:
            threading.Thread(target=self._refresh, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take one of Snakemake's messages."""
        if self.plain is not None:
            self.plain.handle(record)
            return
        try:
            with self.lock_of_line:
                self._take(record)
        except BrokenPipeError:
            raise
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Leave the last state of the line."""
        self.stopping.set()
        with self.lock_of_line:
            if self.shown:
                self.stream.write("\n")
                self.shown = ""
        super().close()

    def _take(self, record: logging.LogRecord) -> None:
        event, said = get_event(record), vars(record)
        if event == LogEvent.JOB_INFO:
            if not self.common_settings.dryrun:
                PROGRESS.started[said["jobid"]] = time.monotonic()
                if not self.told:
                    self._show()
        elif event == LogEvent.JOB_FINISHED:
            PROGRESS.started.pop(said["job_id"], None)
            PROGRESS.ended.add(said["job_id"])
        elif event == LogEvent.JOB_ERROR:
            PROGRESS.started.pop(said["jobid"], None)
            PROGRESS.failed += 1
            self._say(*failure(said))
        elif event == LogEvent.PROGRESS:
            PROGRESS.total = max(PROGRESS.total, said["total"])
            self._show()
        elif event == LogEvent.RUN_INFO:
            self.tables += 1
            if self.common_settings.dryrun and self.tables == 1:
                self._say(str(record.msg))
        elif event == LogEvent.ERROR or (event is None and self._is_told(record)):
            self._say(str(record.msg))

    def _is_told(self, record: logging.LogRecord) -> bool:
        """Whether a message without a kind is shown: errors, the end, and what needs no jobs (lint)."""
        text = str(record.msg)
        if record.levelno >= logging.WARNING:
            return True
        if text.startswith("Building DAG"):
            self.plans = True
        if not self.plans:
            return not text.startswith(("Assuming unrestricted shared filesystem", "Config file "))
        first = ("Nothing to be done", "Complete log(s)", "This was a dry-run", "Shutting down")
        stops = ("Terminating processes", "Will exit after finishing")
        return text.startswith((*first, *stops, "Unlocked", "SLURM run ID"))

    def _say(self, *lines: str) -> None:
        """Write lines above the line of progress, or below it once all has ended."""
        goes_on = bool(self.shown) and len(PROGRESS.ended) < PROGRESS.total
        if self.shown:
            self.stream.write("\r\033[K" if goes_on else "\n")
        self.shown = ""
        self.stream.write("".join(f"{line}\n" for line in lines))
        if goes_on:
            self._show()
        self.stream.flush()

    def _line(self) -> str:
        return PROGRESS.line(time.monotonic(), datetime.now(UTC))

    def _show(self) -> None:
        """The line of progress as it stands now: in its place, or in a file now and then."""
        now = time.monotonic()
        if self.terminal:
            self.shown = self._line()
            self.stream.write(f"\r\033[K{self.shown[:99]}")
        elif now - self.last >= LINE_SECONDS or len(PROGRESS.ended) >= PROGRESS.total:
            self.last = now
            self.stream.write(f"{self._line()}\n")
        self.told = True
        self.stream.flush()

    def _refresh(self) -> None:
        while not self.stopping.wait(REFRESH_SECONDS):
            with self.lock_of_line:
                if self.shown:
                    self._show()


def failure(said: dict[str, Any]) -> list[str]:
    """The message about a failed job: its output, the last line of its log, and where that lies.
    ``said`` are the attributes of Snakemake's message."""
    logs = [str(path).partition(" (")[0] for path in said["log"]]
    lines = [f"failed: {', '.join(said['output'][:1]) or said['rule_name']}"]
    for path in map(Path, logs):
        try:
            text = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            text = []
        messages = [line for line in text if line.startswith("replibo: ")] or text[-1:]
        lines += [f"  {line}" for line in messages]
        lines.append(f"  log: {path}")
    if said["rule_msg"]:
        lines.append(f"  {said['rule_msg']}")
    return lines
