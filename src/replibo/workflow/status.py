"""``replibo status``: what of a scale's runs is done, runs, failed and is left, and what that costs."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from replibo import paths
from replibo.config.models import Config, Pair, seed_list
from replibo.errors import RepliboError
from replibo.messages import counted
from replibo.run import metadata, published
from replibo.run.block import kernels
from replibo.run.identity import (
    identity_digest,
    journal_digest,
    library_versions,
    run_identity,
)
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
    running: set[int]
    failed: set[int]
    left: list[float] | None
    done_seconds: float
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
        return (
            "" if self.finished or self.running or self.failed or self.done_seconds else "untouched"
        )


def survey(config: Config, scale: str, papers: Sequence[str] = ()) -> list[Standing]:
    """The progress of the runs of some papers at a scale; of all papers if none is named.

    Published runs of the whole horizon count as finished: all seeds, whatever code made them, or those
    that this code made.

    Raises:
        RepliboError: no such scale or paper; damaged published metadata.
    """
    scale = config.scale(scale)
    papers = list(dict.fromkeys(papers or config.papers))
    known, _ = costs.measured(config, config.papers)
    return [
        _standing(config, paper, scale, *pair, known[paper])
        for paper in papers
        for pair in config.paper(paper).pairs(scale)
    ]


def _standing(
    config: Config,
    paper: str,
    scale: str,
    problem: str,
    algorithm: str,
    known: costs.Timings,
) -> Standing:
    entry = config.paper(paper)
    settings = entry.settings(scale, problem, algorithm)
    wanted, queries = entry.seeds(scale, problem, algorithm), entry.queries(settings)
    pair = {"scale": scale, "paper": paper, "problem": problem, "algorithm": algorithm}
    own = run_identity(entry, scale, problem, algorithm)
    identity = identity_digest(own)
    finished = _published(paper, scale, (problem, algorithm), queries, wanted, identity)
    folder = Path(paths.PAIR.format(**pair))
    for path in folder.glob("seeds_*.parquet"):
        try:
            found = path.stat()
        except OSError:  # Snakemake has just removed it
            continue
        if not stat.S_ISREG(found.st_mode):
            continue
        made_as, seeds = _made(path, found.st_mtime_ns)
        if made_as == identity:
            finished |= seeds.intersection(wanted)
    # as `replibo estimate` has it: the seeds of a job share its start
    per_job = len(wanted) / len(entry.blocks(scale, problem, algorithm))

    def seconds(length: int) -> float | None:
        cost = costs.cost_in_paper(entry, known, problem, algorithm, length, per_job)
        return cost.seconds / per_job if cost else None

    each = seconds(queries)
    running, left, done = set(), {}, len(finished) * (each or 0.0)
    journal = journal_digest(own, paper, library_versions(), kernels())
    block = Path(paths.block(**pair, block="0"))
    journals = paths.journal_folder(block, scale, paper, problem, algorithm)
    for seed in wanted:
        if seed in finished:
            continue
        made, held = _journal(journal_path(journals, seed), journal)
        running |= {seed} if held else set()
        begun = 0.0
        if each is not None and made:
            begun = min(seconds(made) or 0.0, each)
        done += begun
        left[seed] = (each or 0.0) - begun
    failed: set[int] = set()
    blocks: dict[str, float] = {}
    asked = costs.Resources(0, 0)
    for name in entry.blocks(scale, problem, algorithm):
        todo = left.keys() & seed_list(name)
        if not todo:
            continue
        blocks[name] = sum(left[seed] for seed in todo)
        asked = costs.Resources(*map(max, asked, costs.resources(config, **pair, block=name)))
        if not todo & running and _failed(Path("logs", *folder.parts[1:], f"seeds_{name}.log")):
            failed |= todo
    return Standing(
        *(paper, problem, algorithm, wanted, finished, running, failed),
        left=None if each is None else [*left.values()],
        done_seconds=done,
        blocks=[*blocks],
        longest=max(blocks.values(), default=0.0),
        asked=asked,
    )


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
def _made(path: Path, changed: int) -> tuple[str, frozenset[int]]:
    """The identity of the runs in a file, and their seeds; nothing where it cannot be read."""
    try:
        content = metadata.of_file(path)
        return identity_digest(content["identity"]), frozenset(map(int, content["digests"]))
    except (RepliboError, KeyError, ValueError):
        return "", frozenset()


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


def rows(found: Iterable[Standing]) -> list[tuple[str, ...]]:
    """One row a problem and algorithm of a paper, `COLUMNS`; of each problem those that are finished,
    those that nothing was begun of, and those that rest equally far share one."""
    groups: dict[tuple[str, ...], list[Standing]] = {}
    for one in found:
        moving = one.running or one.failed
        resting = one.algorithm if moving else f"{len(one.finished)} of {len(one.wanted)}"
        groups.setdefault((one.problem, one.state or resting), []).append(one)
    made = []
    for (problem, _), own in groups.items():
        name = ", ".join(one.algorithm for one in own)
        if len(name) > LONGEST_NAMES:
            name = f"{len(own)} algorithms"
        counts = (
            sum(len(getattr(one, key)) for one in own)
            for key in ("wanted", "finished", "running", "failed")
        )
        unknown = any(one.left is None and one.todo for one in own)
        hours = sum(sum(one.left or ()) for one in own) / 3600
        left = ("? " if unknown else "") + (f"{hours:.2f}" if hours or not unknown else "")
        made.append((problem, *(str(count or "") for count in counts), left.strip(), name))
    return made


def summary(found: Sequence[Standing], cores: int, now: datetime) -> str:
    """The progress of all runs, by cost, and when they would end on ``cores`` cores."""
    left = [seconds for one in found for seconds in one.left or ()]
    done = sum(one.done_seconds for one in found)
    unknown = sum(len(one.todo) for one in found if one.left is None)
    whole = done + sum(left)
    share = 100 * done / whole if whole else 100.0
    text = f"{share:.0f} % by cost: {done / 3600:.1f} of {whole / 3600:.1f} core hours"
    finished = sum(len(one.finished) for one in found)
    text += f", {finished} of {sum(len(one.wanted) for one in found)} runs.\n"
    if left:
        wall = costs.wall_seconds(left, cores)
        end = now + timedelta(seconds=wall)
        text += (
            f"{sum(left) / 3600:.1f} core hours are left: {duration(wall)} on "
            f"{counted(cores, 'free core')}, until {end:%Y-%m-%d %H:%M} UTC,\n"
            "by the fastest machine that published."
        )
    if blocks := sum(len(one.blocks) for one in found):
        asked = [max(values) for values in zip(*(one.asked for one in found), strict=True)]
        longest = max(one.longest for one in found)
        text += (
            f"\nOn a cluster: {counted(blocks, 'job')}, the longest of {duration(longest)}; one asks "
            f"for at most {asked[0]} MB and {asked[1]} min."
        )
    if unknown:
        text += (
            f"\nNot in these hours, as nothing like it was ever run: {counted(unknown, 'run')} (?)."
        )
    return text.strip()


def text(found: Sequence[Standing], cores: int, *, shown: Sequence[Standing] | None = None) -> str:
    """The survey as it is printed: a table for each paper, of all or of those ``shown``, and how far all
    of it has come."""
    shown = found if shown is None else shown
    parts = []
    for paper in dict.fromkeys(one.paper for one in shown):
        own = [one for one in shown if one.paper == paper]
        parts.append(f"{paper}\n{terminal.table(COLUMNS, rows(own), NUMBERS)}")
    return "\n\n".join([*parts, summary(found, cores, datetime.now(UTC))])


def outputs(config: Config, scale: str, found: Sequence[Standing]) -> Iterator[str]:
    """For each paper, how many of its figures and tables have all their runs finished, and which have
    not."""
    scale = config.scale(scale)
    for paper in dict.fromkeys(one.paper for one in found):
        finished = {(o.problem, o.algorithm) for o in found if o.paper == paper and not o.todo}
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
        said = f"{paper}: all runs finished for {' and '.join(counts)}"
        said += f"; not for {', '.join(lacking)}" * bool(lacking)
        yield from wrapped("", f"{said}.")


def watch(config: Config, scale: str, papers: Sequence[str], cores: int) -> None:
    """Show what runs and what failed, how far all has come, and a bar, again every half minute until it
    is interrupted."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    def drawn() -> Group:
        found = survey(config, scale, papers)
        done = sum(one.done_seconds for one in found)
        left = sum(sum(one.left or ()) for one in found)
        bar = ProgressBar(total=done + left or 1.0, completed=done, width=terminal.WIDTH - 20)
        moving = [one for one in found if one.running or one.failed]
        return Group(Text(text(found, cores, shown=moving)), bar)

    console = Console(width=terminal.WIDTH)
    with Live(drawn(), console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            time.sleep(30)
            live.update(drawn(), refresh=True)


def as_csv(found: Sequence[Standing]) -> str:
    """Every problem and algorithm, for other programs."""
    names = ("paper", "problem", "algorithm", "wanted", "finished", "running", "failed")
    made = []
    for one in found:
        counts = (len(own) for own in (one.wanted, one.finished, one.running, one.failed))
        left = None if one.left is None else sum(one.left) / 3600
        pair = (one.paper, one.problem, one.algorithm)
        made.append((*pair, *counts, one.done_seconds / 3600, left))
    return terminal.as_csv((*names, "core_hours_done", "core_hours_left"), made)
