"""``replibo status``: what of a scale's runs is done, runs, failed and is left, and what that costs."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from replibo import paths
from replibo.config.models import Config, Pair, seed_list
from replibo.errors import RepliboError
from replibo.messages import counted
from replibo.run import metadata, published
from replibo.run.block import kernels
from replibo.run.identity import identity_digest, journal_digest, library_versions, run_identity
from replibo.run.loop import journal_path
from replibo.run.progress import duration
from replibo.stopping import STOPPED
from replibo.verdict_tables import wrapped
from replibo.workflow import costs, targets, terminal


@dataclass
class Standing:
    """The progress of the runs of one problem and algorithm.

    Attributes:
        wanted: seeds.
        finished: seeds whose runs are whole, here or published.
        running: seeds that a process is at work on.
        failed: seeds whose last try ended with an error.
        left: seconds of CPU that each other seed takes; None where nothing like it was ever run.
        done_seconds: of CPU, of what is finished and of what stands in journals.
        blocks: the blocks with a seed that is not finished; each is a job.
        longest: seconds of CPU of the longest of these jobs.
        asked: the most memory and the most minutes that one of these jobs asks a cluster for.
    """

    paper: str
    problem: str
    algorithm: str
    wanted: list[int]
    finished: set[int]
    left: list[float] | None
    done_seconds: float
    running: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    blocks: list[str] = field(default_factory=list)
    longest: float = 0.0
    asked: costs.Resources = field(default_factory=lambda: costs.Resources(0, 0))

    @property
    def todo(self) -> list[int]:
        """The seeds that are not finished."""
        return [seed for seed in self.wanted if seed not in self.finished]

    @property
    def state(self) -> str:
        """``finished``, ``untouched``, or empty for all between."""
        if not self.todo:
            return "finished"
        begun = self.finished or self.running or self.failed or self.done_seconds
        return "" if begun else "untouched"


def survey(config: Config, scale: str, papers: Sequence[str] = ()) -> list[Standing]:
    """The progress of the runs of some papers at a scale; of all papers if none is named.

    Published runs of the whole horizon count as finished: all seeds, whatever code made them, or those
    that this code made.
    """
    scale = config.scale(scale)
    papers = list(dict.fromkeys(papers or config.papers))
    timings, _ = costs.measured(config, config.papers)
    return [
        _standing(config, paper, scale, *pair, timings[paper])
        for paper in papers
        for pair in config.paper(paper).pairs(scale)
    ]


def _standing(
    config: Config,
    paper: str,
    scale: str,
    problem: str,
    algorithm: str,
    timings: costs.Timings,
) -> Standing:
    entry = config.paper(paper)
    wanted = entry.seeds(scale, problem, algorithm)
    queries = entry.queries(entry.settings(scale, problem, algorithm))
    identity = run_identity(entry, scale, problem, algorithm)
    digest = identity_digest(identity)
    finished = _published(paper, scale, (problem, algorithm), queries, wanted, digest)
    block = Path(paths.block(scale, paper, problem, algorithm, "0"))
    for path in block.parent.glob("seeds_*.parquet"):
        with contextlib.suppress(OSError):  # Snakemake has just removed it
            if path.is_file():
                finished |= _seeds(path, path.stat().st_mtime_ns, digest).intersection(wanted)
    # as `replibo estimate` has it: the seeds of a job share its start
    blocks = entry.blocks(scale, problem, algorithm)
    per_job = len(wanted) / len(blocks)

    def seconds(length: int) -> float | None:
        cost = costs.cost_in_paper(entry, timings, problem, algorithm, length, per_job)
        return cost.seconds / per_job if cost else None

    whole = seconds(queries)
    standing = Standing(
        *(paper, problem, algorithm, wanted, finished),
        left=None if whole is None else [],
        done_seconds=len(finished) * (whole or 0.0),
    )
    journal = journal_digest(identity, paper, library_versions(), kernels())
    journals = paths.journal_folder(block, scale, paper, problem, algorithm)
    left: dict[int, float] = {}
    for seed in standing.todo:
        length, running = _journal(journal_path(journals, seed), journal)
        standing.running |= {seed} if running else set()
        done = min(seconds(length) or 0.0, whole) if whole and length else 0.0
        standing.done_seconds += done
        left[seed] = (whole or 0.0) - done
        if standing.left is not None:
            standing.left.append(left[seed])
    for name in blocks:
        todo = left.keys() & seed_list(name)
        if not todo:
            continue
        standing.blocks.append(name)
        standing.longest = max(standing.longest, sum(left[seed] for seed in todo))
        request = costs.resources(config, paper, scale, problem, algorithm, name)
        standing.asked = costs.Resources(*map(max, standing.asked, request))
        log = Path("logs", *block.parts[1:-1], f"seeds_{name}.log")
        if not todo & standing.running and _failed(log):
            standing.failed |= todo
    return standing


def _published(
    paper: str, scale: str, pair: Pair, queries: int, wanted: Sequence[int], identity: str
) -> set[int]:
    """Those of the ``wanted`` seeds whose whole runs are published. Runs of other code count only if they
    are all: no further seed can join them."""
    runs = published.of_pair(paper, *pair)
    if runs is None or runs.scale != scale or runs.queries != queries:
        return set()
    seeds = set(runs.seeds.intersection(wanted))
    return seeds if runs.identity == identity or seeds.issuperset(wanted) else set()


@functools.cache
def _seeds(path: Path, changed: int, identity: str) -> frozenset[int]:
    """The seeds of the runs in a file; none if it cannot be read, or holds other runs."""
    try:
        content = metadata.of_file(path)
        same = identity_digest(content["identity"]) == identity
        return frozenset(map(int, content["digests"]) if same else ())
    except (RepliboError, KeyError, ValueError):
        return frozenset()


def _journal(path: Path, identity: str) -> tuple[int, bool]:
    """The queries in a journal (0 where it is another run's), and whether a process is at work on it."""
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline().split(b" ", 2)[2])
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(2**20), b""))
            running = _is_held(os.fstat(file.fileno()))
    except (OSError, ValueError, IndexError):
        return 0, False
    return (lines if head.get("identity") == identity else 0), running


def _is_held(journal: os.stat_result) -> bool:
    """Whether a process holds a journal's lock, or (it may be on another machine) has written to it in
    the last two minutes. The lock itself is not tried: a run that starts just then would refuse."""
    if time.time() - journal.st_mtime < 120:
        return True
    with contextlib.suppress(OSError):
        locks = Path("/proc/locks").read_text(encoding="ascii")
        return f":{journal.st_ino} " in locks
    return False


def _failed(log: Path) -> bool:
    """Whether a run's log ends with an error; a run that was stopped has none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.startswith(("replibo: ", "Traceback ")) for line in lines[-50:]) and not (
        lines[-1].endswith((" queries", STOPPED.partition("{}")[2]))
    )


NUMBERS = ("seeds", "done", "runs", "failed", "h left")
COLUMNS = ("problem", *NUMBERS, "algorithm")
LONGEST_NAMES = terminal.WIDTH - 58
"""Characters; longer lists of algorithms are counted."""


def rows(standings: Iterable[Standing]) -> list[tuple[str, ...]]:
    """One row a problem and algorithm of a paper, `COLUMNS`; of each problem those that are finished,
    those that nothing was begun of, and those that rest equally far share one."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for standing in standings:
        moving = standing.running or standing.failed
        resting = f"{len(standing.finished)} of {len(standing.wanted)}"
        state = standing.state or (standing.algorithm if moving else resting)
        groups.setdefault((standing.problem, state), []).append(standing)
    lines = []
    for (problem, _), group in groups.items():
        name = ", ".join(standing.algorithm for standing in group)
        if len(name) > LONGEST_NAMES:
            name = f"{len(group)} algorithms"
        counts = (
            sum(len(getattr(standing, key)) for standing in group)
            for key in ("wanted", "finished", "running", "failed")
        )
        unknown = any(standing.left is None and standing.todo for standing in group)
        hours = sum(sum(standing.left or ()) for standing in group) / 3600
        left = "? " * unknown + (f"{hours:.2f}" if hours or not unknown else "")
        lines.append((problem, *(str(count or "") for count in counts), left.strip(), name))
    return lines


def summary(standings: Sequence[Standing], cores: int, now: datetime) -> str:
    """The progress of all runs, by cost, and when they would end on ``cores`` cores."""
    left = [seconds for standing in standings for seconds in standing.left or ()]
    done = sum(standing.done_seconds for standing in standings)
    whole = done + sum(left)
    share = 100 * done / whole if whole else 100.0
    finished = sum(len(standing.finished) for standing in standings)
    wanted = sum(len(standing.wanted) for standing in standings)
    text = (
        f"{share:.0f} % by cost: {done / 3600:.1f} of {whole / 3600:.1f} core hours, {finished} of "
        f"{wanted} runs.\n"
    )
    if left:
        wall = costs.wall_seconds(left, cores)
        text += (
            f"{sum(left) / 3600:.1f} core hours are left: {duration(wall)} on "
            f"{counted(cores, 'free core')}, until {now + timedelta(seconds=wall):%Y-%m-%d %H:%M} UTC,\n"
            "by the fastest machine that published."
        )
    if jobs := sum(len(standing.blocks) for standing in standings):
        memory, minutes = map(max, zip(*(standing.asked for standing in standings), strict=True))
        longest = max(standing.longest for standing in standings)
        text += (
            f"\nOn a cluster: {counted(jobs, 'job')}, the longest of {duration(longest)}; one asks "
            f"for at most {memory} MB and {minutes} min."
        )
    if unknown := sum(len(standing.todo) for standing in standings if standing.left is None):
        text += (
            f"\nNot in these hours, as nothing like it was ever run: {counted(unknown, 'run')} (?)."
        )
    return text.strip()


def text(
    standings: Sequence[Standing], cores: int, *, shown: Sequence[Standing] | None = None
) -> str:
    """The survey as it is printed: a table for each paper, of all or of those ``shown``, and how far all
    of it has come."""
    tables = [
        f"{paper}\n{terminal.table(COLUMNS, rows(group), NUMBERS)}"
        for paper, group in groupby(standings if shown is None else shown, attrgetter("paper"))
    ]
    return "\n\n".join([*tables, summary(standings, cores, datetime.now(UTC))])


def outputs(config: Config, scale: str, standings: Sequence[Standing]) -> Iterator[str]:
    """For each paper, how many of its figures and tables have all their runs finished, and which have
    not."""
    scale = config.scale(scale)
    for paper, group in groupby(standings, attrgetter("paper")):
        finished = {(s.problem, s.algorithm) for s in group if not s.todo}
        counts, lacking = [], []
        for kind in targets.FILES:
            names = targets.names_at(config, kind, paper, scale)
            waiting = [
                name
                for name in names
                if not finished.issuperset(targets.output_pairs(config, kind, paper, name, scale))
            ]
            counts.append(f"{len(names) - len(waiting)} of {counted(len(names), kind[:-1])}")
            lacking += waiting
        line = f"{paper}: all runs finished for {' and '.join(counts)}"
        line += f"; not for {', '.join(lacking)}" * bool(lacking)
        yield from wrapped("", f"{line}.")


def watch(config: Config, scale: str, papers: Sequence[str], cores: int) -> None:
    """Show what runs and what failed, how far all has come, and a bar, again every half minute until it
    is interrupted."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    def drawn() -> Group:
        standings = survey(config, scale, papers)
        done = sum(standing.done_seconds for standing in standings)
        left = sum(sum(standing.left or ()) for standing in standings)
        bar = ProgressBar(total=done + left or 1.0, completed=done, width=terminal.WIDTH - 20)
        moving = [standing for standing in standings if standing.running or standing.failed]
        return Group(Text(text(standings, cores, shown=moving)), bar)

    console = Console(width=terminal.WIDTH)
    with Live(drawn(), console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            time.sleep(30)
            live.update(drawn(), refresh=True)


def as_csv(standings: Sequence[Standing]) -> str:
    """Every problem and algorithm, for other programs."""
    names = ("paper", "problem", "algorithm", "wanted", "finished", "running", "failed")
    lines = [
        (
            *(s.paper, s.problem, s.algorithm),
            *map(len, (s.wanted, s.finished, s.running, s.failed)),
            s.done_seconds / 3600,
            None if s.left is None else sum(s.left) / 3600,
        )
        for s in standings
    ]
    return terminal.as_csv((*names, "core_hours_done", "core_hours_left"), lines)
