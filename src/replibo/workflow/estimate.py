"""What targets need, as ``replibo estimate`` says it: their jobs, and how long these take."""

from __future__ import annotations

import heapq
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from replibo import paths
from replibo.config import claims
from replibo.config.models import Config, seed_list
from replibo.errors import RepliboError, allowed, meant
from replibo.messages import counted
from replibo.run.progress import duration
from replibo.workflow import targets, terminal
from replibo.workflow.costs import Cost, Resources, cost_in_paper, measured, resources, wall_seconds
from replibo.workflow.targets import OutputKind

# A whole Snakemake: 2.3 where nothing is to be done; and `quick` with 135 jobs took 13 more than its
# jobs did.
SNAKEMAKE_SECONDS = 2.3
SNAKEMAKE_JOB_SECONDS = 0.1
# Figures 1.8 to 2.4, tables 0.6 to 1.2, collecting 0.8 and 1.0, the verdicts of two papers 1.2; what is
# published of a paper, its verdicts too, 5 to 44.
OUTPUT_SECONDS = {"figure": 2.1, "table": 1.0, "outputs": 18.0, "collect": 0.9, "verdicts": 1.2}
OUTPUT_SECONDS["claim"] = OUTPUT_SECONDS["verdicts"]

# Bytes on disk. Bytes of a query in its run's own file and in runs.parquet: 22 MB for the 396,000
# queries of two papers at paper scale, without the files' own parts. Bytes of a run's file with its
# metadata, and of its log: from the 111 of `quick`. A figure is a pdf and a png, and the other
# outputs are small.
QUERY_BYTES = 65
RUN_FILE_BYTES = 15_000
OUTPUT_BYTES = {
    **{"figure": 200_000, "table": 10_000, "outputs": 4_000_000},
    **{"collect": 20_000, "verdicts": 300_000, "claim": 10_000},
}

FILES = (
    ("verdicts", paths.VERDICTS, paths.VERDICTS_FORMATS),
    ("verdicts", paths.VERDICT_MAP, paths.FIGURE_FORMATS),
    ("verdicts", paths.PAPER_MAP, paths.FIGURE_FORMATS),
    ("verdicts", paths.JUDGED, ()),
    ("claim", paths.CLAIM, ()),
    ("run", paths.BLOCK, ()),
    ("collect", paths.COLLECTED, ()),
    ("figure", paths.FIGURE, paths.FIGURE_FORMATS),
    ("table", paths.TABLE, paths.TABLE_FORMATS),
)
"""For each kind of job the files that it makes: a template, and the endings that follow it."""

OUTPUTS: dict[str, OutputKind] = {"figure": "figures", "table": "tables"}
"""For these kinds of job the key of their entries in the config."""


class Job(NamedTuple):
    """A job of the DAG: its kind (`FILES`; ``outputs`` makes all that is published of a paper), and the
    words that fill its template."""

    kind: str
    scale: str
    paper: str = ""
    names: tuple[str, ...] = ()


def plan(config: Config, wanted: Sequence[str], scale: str = "paper") -> list[Job]:
    """The jobs that targets need, each once; nothing is taken as done.

    Args:
        wanted: target rules, files, claims, and papers.
        scale: of the outputs of papers.
    """
    jobs: dict[Job, None] = {}

    def add(files: list[str]) -> None:
        for job in (_job(config, file) for file in files):
            if job not in jobs:
                jobs[job] = None
                add(_inputs(config, job))

    for target in wanted:
        add(_files(config, target, scale))
    return list(jobs)


def _files(config: Config, target: str, scale: str) -> list[str]:
    """The files that a target stands for."""
    if target in config.papers:
        return targets.of_paper(config, target, scale)
    if target in ("all", "smoke", "quick", paths.PUBLISHED):
        return targets.outputs(config, "paper" if target == "all" else target)
    if paper := claims.names(config).get(target):
        return [paths.claim(config.scale("paper"), paper, target, claims.PRINTED)]
    return [target]


def _job(config: Config, path: str) -> Job:
    """The job that makes a file."""
    for kind, template, endings in FILES:
        if words := paths.match(template, path, endings):
            scale, paper = words.pop("scale"), words.pop("paper", "")
            names = tuple(words.values())
            if kind in ("claim", "run", "collect"):
                return Job(kind, config.scale(scale), paper, names)
            if kind in OUTPUTS:
                targets.output_entry(config, OUTPUTS[kind], paper, *names)
            scale = targets.scale_of(config, scale)
            if scale == paths.PUBLISHED and paper and not any("." in name for name in names):
                return Job("outputs", scale, paper)
            return Job(kind, scale, paper, names)
    raise RepliboError(
        f"no target is called {path!r}; allowed: all, published, quick, smoke, a paper "
        f"({allowed(config.papers)}), a claim, or a file such as "
        f"figures/paper/go_ucb/figure_1.pdf{meant(path, list(claims.names(config)))}"
    )


def _inputs(config: Config, job: Job) -> list[str]:
    """The files that a job waits for; no runs where traces are published."""
    if job.kind == "verdicts" and not job.paper:
        return targets.judged_files(config, job.scale)
    if job.kind == "run":
        targets.check_block(config, job.paper, job.scale, *job.names)
    if job.kind == "run" or job.scale == paths.PUBLISHED:
        return []
    if job.kind in OUTPUTS:
        return targets.output_files(config, OUTPUTS[job.kind], job.paper, job.names[0], job.scale)
    files: dict[str, Callable[..., list[str]]] = {
        "verdicts": targets.verdict_files,
        "claim": targets.claim_files,
        "collect": targets.block_files,
    }
    return files[job.kind](config, job.paper, job.scale, *job.names)


Grouping = Literal["method", "problem"]


@dataclass
class Line:
    """A row of the estimate: the jobs of one paper and method (or problem), or its outputs.

    Attributes:
        guessed: whether its hours rest on other problems or shorter runs.
        asked: the most memory and the most minutes that a job asks a cluster for.
    """

    paper: str
    name: str
    jobs: int = 0
    runs: int = 0
    queries: int = 0
    seconds: float = 0.0
    guessed: bool = False
    longest: float = 0.0
    memory_mb: float = 0.0
    disk_bytes: int = 0
    unknown: int = 0
    asked: Resources = field(default_factory=lambda: Resources(0, 0))
    how: dict[str, None] = field(default_factory=dict)


@dataclass
class Estimate:
    """What some targets need.

    Attributes:
        lines: one for each paper and method, or problem, and one for each paper's outputs.
        by: which of them.
        cores: cores that share the work.
        older_seconds: CPU seconds that rest on timings of other code than today's.
        wall_seconds: from the start of Snakemake to its end, on ``cores`` free cores.
        memory_mb: of the ``cores`` jobs that need the most, at once.
        slowness: how many times as long this machine takes as the fastest one that published, by which
            all the seconds are; None where it is not known.
    """

    lines: list[Line]
    by: Grouping
    cores: int
    older_seconds: float
    wall_seconds: float
    memory_mb: float
    slowness: float | None

    def total(self, name: str) -> Any:
        """The sum of a number over the lines."""
        return sum(getattr(line, name) for line in self.lines)

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes, Snakemake's own included."""
        snakemake = SNAKEMAKE_SECONDS + SNAKEMAKE_JOB_SECONDS * self.total("jobs")
        return float(self.total("seconds") + snakemake)


def estimate(
    config: Config,
    wanted: Sequence[str],
    scale: str | None = None,
    cores: int = 1,
    by: Grouping = "method",
) -> Estimate:
    """What the targets ``wanted`` (all of the scale if there are none) need on ``cores``, from nothing.

    Args:
        scale: of targets that are papers; ``paper`` where it is None.
        by: what the lines are of.
    """
    others = [target for target in wanted if target not in config.papers]
    if scale and others:
        raise RepliboError(
            f"--scale: must be left out with {others[0]}, which has a scale of its own, got {scale!r}"
        )
    scale = config.scale(scale or "paper")
    wanted = wanted or ["all" if scale.startswith("paper") else scale.partition("@")[0]]
    timings, slower = measured(config, config.papers)
    lines: dict[tuple[str, str], Line] = {}
    seconds: list[float] = []
    memory: list[float] = []
    older_seconds = 0.0
    for job in sorted(plan(config, wanted, scale), key=lambda job: job.kind != "run"):
        cost: Cost | None
        if job.kind == "run":
            problem, algorithm, block = job.names
            key = (job.paper, algorithm if by == "method" else problem)
            line = lines.setdefault(key, Line(*key))
            runs, entry = len(seed_list(block)), config.paper(job.paper)
            queries = entry.queries(entry.settings(job.scale, problem, algorithm))
            line.runs += runs
            line.queries += runs * queries
            line.disk_bytes += runs * queries * QUERY_BYTES + RUN_FILE_BYTES
            cost = cost_in_paper(entry, timings[job.paper], problem, algorithm, queries, runs)
            request = resources(config, job.paper, job.scale, *job.names)
            line.asked = Resources(*map(max, line.asked, request))
        else:
            key = (job.paper or "all", "figures, tables, verdicts")
            line = lines.setdefault(key, Line(*key))
            line.disk_bytes += OUTPUT_BYTES[job.kind]
            cost = Cost(OUTPUT_SECONDS[job.kind], 250.0, "typical outputs", True)
        line.jobs += 1
        seconds.append(SNAKEMAKE_JOB_SECONDS)
        if cost is None:
            line.unknown += 1
            line.how["never run, not in the sums"] = None
            continue
        seconds[-1] += cost.seconds
        memory.append(cost.memory_mb)
        line.seconds += cost.seconds
        line.guessed |= not cost.measured
        line.longest = max(line.longest, cost.seconds)
        line.memory_mb = max(line.memory_mb, cost.memory_mb)
        line.how[cost.how if cost.current else f"{cost.how} (older code)"] = None
        older_seconds += 0.0 if cost.current else cost.seconds
    return Estimate(
        *([*lines.values()], by, cores, older_seconds),
        wall_seconds=SNAKEMAKE_SECONDS + wall_seconds(seconds, cores),
        memory_mb=sum(heapq.nlargest(cores, memory)),
        slowness=slower,
    )


COLUMNS = (
    *("jobs", "runs", "queries", "core hours", "longest job, s"),
    *("peak MB", "disk MB", "MB asked", "minutes asked", "jobs not in the sums", "how"),
)


def in_full(needs: Estimate) -> str:
    """All columns of the estimate, as CSV."""
    rows = [
        (
            *(line.paper, line.name, line.jobs, line.runs, line.queries),
            *(line.seconds / 3600, line.longest, line.memory_mb, line.disk_bytes / 1e6),
            *(*line.asked, line.unknown),
            "; ".join(line.how),
        )
        for line in needs.lines
    ]
    return terminal.as_csv(("paper", needs.by, *COLUMNS), rows)


def text(needs: Estimate) -> str:
    """The estimate as it is printed: a table, and the sums with how they were got."""
    numbers = ("jobs", "runs", "core h", "longest", "MB", "MB asked", "min asked")
    rows = []
    for line in needs.lines:
        cost, sign = ("–", "–", "–"), ""
        if line.unknown < line.jobs:
            hours = f"{line.seconds / 3600:.3f}"
            cost = (hours, duration(line.longest), f"{line.memory_mb:.0f}")
            sign = "≈" * line.guessed
        asked = [f"{value or ''}" for value in line.asked]
        rows.append((line.paper, line.name, f"{line.jobs}", f"{line.runs}", *cost, *asked, sign))
    sums = (
        f"{counted(needs.total('jobs'), 'job')}, {needs.cpu / 3600:.2f} core hours, "
        f"{duration(needs.wall_seconds)} on {counted(needs.cores, 'free core')}, "
        f"{needs.total('disk_bytes') / 1e6:.0f} MB of disk, {needs.memory_mb:.0f} MB of memory for the "
        f"{counted(needs.cores, 'largest job')} at once."
    )
    if unknown := needs.total("unknown"):
        sums += f" Not in these sums, as nothing like it was ever run: {counted(unknown, 'job')}."
    if needs.older_seconds:
        sums += (
            f" {needs.older_seconds / 3600:.2f} of the core hours rest on timings of older code, which "
            "may have been slower."
        )
    machine = "by the fastest machine that was measured"
    if needs.slowness is not None:
        machine = (
            "by the fastest machine that published (this one takes "
            f"{needs.slowness:.2g} times as long, by the median of what was run on both)"
        )
    how = (
        f"CPU time of one thread, from an empty results folder, {machine}; the "
        "starts of the processes and Snakemake's own time are in it. The wall time is the "
        "cores' equal share, or the longest job. ≈: extrapolated; –: never run; --csv prints all "
        "columns, and how each number was got."
    )
    table = terminal.table(("paper", needs.by, *numbers, ""), rows, numbers)
    parts = [textwrap.fill(part, terminal.WIDTH) for part in (sums, _largest(needs), how) if part]
    return "\n".join([table, "", *parts])


def _largest(needs: Estimate) -> str:
    """The longest job, the largest requests to a cluster, and whose they are; empty without runs."""
    lines = [line for line in needs.lines if line.runs]
    if not lines:
        return ""
    longest = max(lines, key=lambda line: line.longest)
    memory = max(lines, key=lambda line: line.asked.memory_mb)
    time = max(lines, key=lambda line: line.asked.runtime_minutes)
    return (
        f"Longest job: {duration(longest.longest)} ({longest.paper}, {longest.name}). "
        f"Largest requests to a cluster: {memory.asked.memory_mb} MB ({memory.paper}, {memory.name}), "
        f"{time.asked.runtime_minutes} min ({time.paper}, {time.name}); a second attempt asks for "
        "twice as much."
    )
