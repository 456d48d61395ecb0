"""How far a run has come, for its log: time, share, expected end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from replibo import messages

INTERVAL = 10.0
"""Seconds from one line to the next, at least."""
STEEPEST = 3.0  # a query's time against its number: an exact GP's factorisation


def forecast(points: Sequence[tuple[int, float]], total: int) -> float | None:
    """Seconds until ``total`` queries are done; None as long as too little is done to say: fewer than
    three queries, or less than a tenth of what this process has to do.

    A query's time is taken to grow as a power of its number; which one, the first half of the process's
    queries and the second say. The first queries, which took less than a hundredth of the time together,
    are left out: an initial design costs an algorithm nothing.

    Args:
        points: numbers of queries done, each with the seconds gone by then.
    """
    points = [(n, seconds) for n, seconds in points if seconds >= points[-1][1] / 100]
    if len(points) < 3:
        return None
    (first, start), (done, end) = points[0], points[-1]
    if done - first < (total - first) / 10:
        return None
    middle, between = points[len(points) // 2]
    low, high = 1.0, STEEPEST + 1
    for _ in range(30):  # bisection: of steeper powers the first half has a smaller share
        power = (low + high) / 2
        share = (middle**power - first**power) / (done**power - first**power)
        if share * (end - start) > between - start:
            low = power
        else:
            high = power
    rest = (total**power - done**power) / (done**power - first**power)
    return rest * (end - start)


def reporter(name: str) -> Callable[[int, int], None]:
    """Reports progress on standard error (the rule's log), at most every ten seconds."""
    started = last = time.monotonic()
    points: list[tuple[int, float]] = []

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        points.append((done, now - started))
        if done == total or now - last > INTERVAL:
            last = now
            left = None if done == total else forecast(points, total)
            line = said(datetime.now(UTC), done / total, now - started, left)
            messages.tell(f"{line}: {name}: {done} of {total} queries")

    return report


def said(now: datetime, share: float, gone: float, left: float | None) -> str:
    """``2026-01-02 10:00 UTC, 80 %, 12 min gone, 3 min left (10:03)``."""
    line = f"{now:%Y-%m-%d %H:%M} UTC, {100 * share:.0f} %, {duration(gone)} gone"
    if left is None:
        return line
    end = now + timedelta(seconds=left)
    when = f"{end:%H:%M}" if end.date() == now.date() else f"{end:%Y-%m-%d %H:%M}"
    return f"{line}, {duration(left)} left ({when})"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.4 h``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"
