"""How long work takes and what it needs: from the timings that traces carry.

`replibo.results.runs.collect` keeps, for each problem and algorithm, a profile of the CPU seconds by the
number of the query. A run as long as the measured ones, or shorter, costs what the profile says. A longer
one is extrapolated (`Profile.tail`). Timings without a profile (published before there were any) give the
mean query's time, whatever the horizon: too low for longer runs, too high for shorter ones.

`resources` is asked for every job while Snakemake builds its DAG: this module imports nothing heavy.
"""

from __future__ import annotations

import functools
import heapq
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from replibo.config.load import run_settings, scale_name
from replibo.config.models import SCALES, Config, PaperEntry, RunSettings, seed_list
from replibo.errors import RepliboError, allowed
from replibo.workflow import targets

# CPU seconds, measured with getrusage on the children, one thread, a shared machine with two cores.
#
# What a run's process spends beside its queries and the start that its trace records: Python's start,
# pyarrow, writing, and torch's exit. Eight runs: 0.3 (NumPy only) to 0.9 (torch).
PROCESS_SECONDS = 0.5
# A whole Snakemake: 2.3 where nothing is to be done; and `quick` with 135 jobs took 13 more than its
# jobs did.
SNAKEMAKE_SECONDS = 2.3
SNAKEMAKE_JOB_SECONDS = 0.1
# Figures 1.8 to 2.4, tables 0.6 to 1.2, collecting 0.8 and 1.0, the verdicts of two papers 1.2.
OUTPUT_SECONDS = {"figure": 2.1, "table": 1.0, "collect": 0.9, "claims": 1.2}

# Bytes on disk. A query in its run's own file and in runs.parquet: 22 MB for the 396,000 queries of two
# papers at paper scale, the files' own parts taken off; a run's file with its metadata, and its log: from
# the 111 of `quick`. A figure is a pdf and a png, and the other outputs are small.
QUERY_BYTES = 65
RUN_FILE_BYTES = 15_000
OUTPUT_BYTES = {"figure": 200_000, "table": 10_000, "collect": 20_000, "claims": 40_000}

# What a job asks a cluster for: SAFETY times what was measured (one method's queries differ from seed to
# seed, and a cluster's nodes from the machine that published), plus what the job's two Snakemake
# processes and its start take (two starts of 3 to 6 s, and imports from a shared file system), never
# less than the floors. A job that still hits a limit is sent again with twice as much, and goes on from
# its journal.
MEMORY_SAFETY, MEMORY_EXTRA_MB, MEMORY_FLOOR_MB = 1.5, 400, 700
RUNTIME_SAFETY, RUNTIME_EXTRA_MINUTES, RUNTIME_FLOOR_MINUTES = 3.0, 5, 10

# A surrogate's kernel matrix, its factor, their gradients and copies; an allowance, not a measurement.
MATRICES = 8

LARGEST_SLOPE = 3.0  # of the time against the number of the query: an exact GP's factorisation


class Seconds(NamedTuple):
    """CPU seconds: what is expected, and between which two extrapolations it lies (the same number
    three times where nothing is extrapolated)."""

    expected: float
    low: float
    high: float

    def times(self, factor: float) -> Seconds:
        """Each of them times ``factor``."""
        return Seconds(*(factor * value for value in self))

    def plus(self, other: Seconds | float) -> Seconds:
        """The sum, part by part."""
        more = other if isinstance(other, Seconds) else Seconds(other, other, other)
        return Seconds(*(a + b for a, b in zip(self, more, strict=True)))


NOTHING = Seconds(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Profile:
    """CPU seconds of a mean run by the number of the query (1, 2, …).

    Attributes:
        first: number of each bin's first query; the first bin holds the initial points.
        seconds: CPU seconds of a run in each bin.
        queries: queries of a run, the end of the last bin.
    """

    first: tuple[int, ...]
    seconds: tuple[float, ...]
    queries: int

    def run(self, queries: int) -> Seconds:
        """A run of so many queries."""
        ends = (*self.first[1:], self.queries + 1)
        total = 0.0
        for first, end, seconds in zip(self.first, ends, self.seconds, strict=True):
            share = (min(end, queries + 1) - first) / (end - first)
            total += seconds * min(max(share, 0.0), 1.0)
        within = Seconds(total, total, total)
        return within.plus(self.tail(queries)) if queries > self.queries else within

    def tail(self, queries: int) -> Seconds:
        """The queries beyond the measured ones.

        Two laws are fitted to the mean time of a query in the last bins: a power law, which a fixed
        part of the time makes too flat, and a fixed part plus one that grows with the square, which
        noise makes too steep. Their geometric mean is expected, and they are its bounds. On the
        LB-GP-UCB paper's 74 measured pairs of problem and algorithm (T = 250, 10 or 20 runs), the
        whole run's time foretold from its first queries was, of the real one:

        ======= ==================== ==================== ====================
        from    power law            square               geometric mean
        ======= ==================== ==================== ====================
        T = 20  0.13 to 1.51         0.16 to 7.47         0.16 to 3.35
        T = 60  0.29 to 1.17         0.57 to 2.12         0.45 to 1.56
        T = 120 0.56 to 1.05         0.69 to 1.31         0.65 to 1.16
        ======= ==================== ==================== ====================

        and of the sum over all pairs 0.89, 0.84 and 0.94 for the geometric mean (the mean query's
        time, of T = 60: 0.69).
        """
        ends = (*self.first[1:], self.queries + 1)
        bins = [
            ((first + end - 1) / 2, seconds / (end - first), end - first)
            for first, end, seconds in zip(self.first, ends, self.seconds, strict=True)
        ][1:] or [((self.queries + 1) / 2, sum(self.seconds) / self.queries, self.queries)]
        bins = [(n, max(cost, 1e-9), width) for n, cost, width in bins]
        slope, level = _power_law(bins, self.queries)
        fixed, square = _fixed_and_square(bins, self.queries)
        # The sum over the queries, by their integral.
        a, b = self.queries + 0.5, queries + 0.5
        flat = level * (b ** (slope + 1) - a ** (slope + 1)) / (slope + 1)
        steep = fixed * (b - a) + square * (b**3 - a**3) / 3
        return Seconds(math.sqrt(flat * steep), min(flat, steep), max(flat, steep))


def _power_law(bins: Sequence[tuple[float, float, int]], queries: int) -> tuple[float, float]:
    """(slope, level) of cost = level n^slope: the slope by least squares in the logarithms over the
    last quarter of the measured range and more (n >= queries / 4), the level over its last half."""
    last = [item for item in bins if item[0] >= queries / 4] or list(bins[-1:])
    total = sum(width for *_, width in last)
    x = [math.log(n) for n, *_ in last]
    y = [math.log(cost) for _, cost, _ in last]
    w = [width / total for *_, width in last]
    mx, my = (sum(a * b for a, b in zip(w, v, strict=True)) for v in (x, y))
    spread = sum(a * (b - mx) ** 2 for a, b in zip(w, x, strict=True))
    slope = 0.0
    if spread > 0:
        slope = sum(a * (b - mx) * (c - my) for a, b, c in zip(w, x, y, strict=True)) / spread
    slope = min(max(slope, 0.0), LARGEST_SLOPE)
    end = [item for item in last if item[0] >= queries / 2] or last[-1:]
    total = sum(width for *_, width in end)
    level = sum(width * (math.log(c) - slope * math.log(n)) for n, c, width in end) / total
    return slope, math.exp(level)


def _fixed_and_square(
    bins: Sequence[tuple[float, float, int]], queries: int
) -> tuple[float, float]:
    """(a, b) of cost = a + b n², neither negative: least squares of the relative residuals."""
    last = [item for item in bins if item[0] >= queries / 8] or list(bins[-1:])
    weighted = sorted((n * n, cost, width / cost**2) for n, cost, width in last)

    def total(power: int, of_cost: int) -> float:
        return sum(w * x**power * c**of_cost for x, c, w in weighted)

    s0, s1, s2, t0, t1 = total(0, 0), total(1, 0), total(2, 0), total(0, 1), total(1, 1)
    determinant = s0 * s2 - s1 * s1
    if len(last) > 1 and determinant > 1e-12 * s0 * s2:
        a, b = (s2 * t0 - s1 * t1) / determinant, (s0 * t1 - s1 * t0) / determinant
        if a >= 0 and b >= 0:
            return a, b
        if a < 0:
            return 0.0, t1 / s2
    return t0 / s0, 0.0


@dataclass(frozen=True)
class Timing:
    """What was measured of one problem and algorithm.

    Attributes:
        origin: where: ``quick runs here``, ``published paper runs``.
        here: whether on this machine.
        runs, jobs, queries: their numbers; ``queries`` of one run.
        run_seconds: CPU seconds of a mean run.
        evaluate_seconds: CPU seconds of one evaluation of the problem; None where not recorded.
        start_seconds: CPU seconds of a job's start (imports, data).
        peak_mb: the largest memory of a job.
        profile: None in timings that were collected without one.
    """

    origin: str
    here: bool
    runs: int
    jobs: int
    queries: int
    run_seconds: float
    evaluate_seconds: float | None
    start_seconds: float
    peak_mb: float
    profile: Profile | None

    def run(self, queries: int) -> Seconds:
        """A run of so many queries."""
        if self.profile:
            return self.profile.run(queries)
        mean = self.run_seconds * queries / self.queries
        return Seconds(mean, mean, mean)

    def memory(self, queries: int) -> float:
        """MB of a run of so many queries: what was measured (most of it are libraries), and for a longer
        one so many more matrices of n x n numbers as `MATRICES` says."""
        more = max(queries**2 - self.queries**2, 0)
        return self.peak_mb + MATRICES * 8e-6 * more

    def said(self, queries: int) -> str:
        """How `run` came to its number."""
        if queries == self.queries:
            return self.origin
        if self.profile is None:
            note = ": too low" if queries > self.queries else ""
            return f"mean query of {self.origin}, {self.queries} queries for {queries}{note}"
        if queries < self.queries:
            return f"the first {queries} of {self.queries} queries of {self.origin}"
        return f"extrapolated from {self.queries} to {queries} queries, {self.origin}"


Timings = dict[str, list[Timing]]  # by `problem/algorithm`


def timings(metadata: Mapping[str, Any], origin: str, here: bool) -> dict[str, Timing]:
    """The timings in the metadata of a ``runs.parquet`` or of published traces."""
    found = {}
    for key, entry in metadata.get("timings", {}).items():
        runs, jobs = entry["runs"], entry["jobs"]
        queries = entry["queries"] // runs
        profile = None
        if bins := entry.get("profile"):
            first = tuple(int(name) for name in bins)
            profile = Profile(first, tuple(s / runs for s in bins.values()), queries)
        evaluate = entry.get("evaluate_seconds")
        found[key] = Timing(
            origin=origin,
            here=here,
            runs=runs,
            jobs=jobs,
            queries=queries,
            run_seconds=entry["cpu_seconds"] / runs,
            evaluate_seconds=None if evaluate is None else evaluate / entry["queries"],
            start_seconds=entry["import_seconds"] / jobs,
            peak_mb=entry["peak_mb"],
            profile=profile,
        )
    return found


@functools.cache
def _published(path: Path) -> Timings:
    """The published timings of a paper; none where nothing is published."""
    if not path.exists():
        return {}
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
        found = timings(metadata, f"published {metadata['scale']} runs", here=False)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        raise RepliboError(f"{path}: holds no timings; publish the paper again") from None
    return {key: [timing] for key, timing in found.items()}


def published(paper: str) -> Timings:
    """The published timings of a paper by ``problem/algorithm``; none where nothing is published.

    Raises:
        RepliboError: the metadata are damaged.
    """
    return _published(Path("published", paper, "metadata.json").absolute())


def measured(paper: str) -> Timings:
    """All timings at hand: of the runs on this machine, and the published ones."""
    from replibo.run import traces

    found = {key: list(entries) for key, entries in published(paper).items()}
    for scale in SCALES:
        path = Path("results", scale, paper, "runs.parquet")
        try:
            metadata = traces.read_metadata(traces.read(path, columns=["seed"]))
        except RepliboError:
            continue  # not run at this scale
        for key, timing in timings(metadata, f"{scale} runs here", here=True).items():
            found.setdefault(key, []).append(timing)
    return found


def _best(entries: Iterable[Timing], queries: int) -> Timing | None:
    """The timing that says most about a run of so many queries: one of the same length, else the one
    that covers more of it, else one with a profile, else one of this machine."""
    return max(
        entries,
        key=lambda e: (
            e.queries == queries,
            min(e.queries, queries),
            e.profile is not None,
            e.here,
        ),
        default=None,
    )


class Cost(NamedTuple):
    """What a job needs: CPU seconds, MB of memory, how that was got; and whether from runs of this very
    problem."""

    seconds: Seconds
    memory_mb: float
    how: str
    own: bool


def cost_of_job(
    known: Timings, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """A job of ``runs`` seeds with ``queries`` queries each; None where the algorithm was never run.

    An algorithm that was not run on the problem, but on others of the paper, is taken to cost what it
    does on the dearest of these, with this problem's evaluations instead of that one's.
    """
    own = _best(known.get(f"{problem}/{algorithm}", ()), queries)
    if own:
        seconds, how, timing = own.run(queries), own.said(queries), own
    else:
        others = {
            key.partition("/")[0]: best
            for key, entries in known.items()
            if key.endswith(f"/{algorithm}") and (best := _best(entries, queries))
        }
        if not others:
            return None
        other = max(others, key=lambda name: others[name].run(queries).expected)
        timing = others[other]
        seconds, how = timing.run(queries), f"as on {other}: {timing.said(queries)}"
        evaluations = [
            entry.evaluate_seconds
            for key, entries in known.items()
            if key.startswith(f"{problem}/")
            for entry in entries
            if entry.evaluate_seconds is not None
        ]
        if evaluations and timing.evaluate_seconds is not None:
            other_way = (max(evaluations) - timing.evaluate_seconds) * queries
            floor = max(evaluations) * queries
            seconds = Seconds(*(max(value + other_way, floor) for value in seconds))
    return Cost(
        seconds.times(runs).plus(timing.start_seconds + PROCESS_SECONDS),
        timing.memory(queries),
        how,
        own is not None,
    )


def queries_of(entry: PaperEntry, settings: RunSettings) -> int:
    """Queries of one run, initial points included."""
    assert settings.horizon and settings.initial_points
    return settings.horizon + (settings.initial_points if entry.first_round == "search" else 0)


class Resources(NamedTuple):
    """What one job asks a cluster for, at its first attempt."""

    memory_mb: int
    runtime_minutes: int


def resources(
    config: Config, paper: str, scale: str, problem: str, algorithm: str, block: str
) -> Resources:
    """Memory and time that a block of runs asks a cluster for.

    From the published timings only, which are part of the repository: a DAG must be the same whether
    it is built before or after some of its own runs have ended (Snakemake starts anew inside every
    cluster job), and 10,000 jobs cannot each look into ``results/``. What was never run anywhere asks
    for the config's ``memory_mb`` and ``runtime_minutes``, and what was run on other problems of its
    paper only for no less than these.

    Raises:
        RepliboError: no such paper, scale, problem or algorithm; damaged published metadata.
    """
    settings = run_settings(config, paper, scale, problem, algorithm)
    queries = queries_of(config.paper(paper), settings)
    cost = cost_of_job(published(paper), problem, algorithm, queries, len(seed_list(block)))
    if cost is None:
        return Resources(config.memory_mb, config.runtime_minutes)
    memory = math.ceil(MEMORY_SAFETY * cost.memory_mb + MEMORY_EXTRA_MB)
    minutes = math.ceil(RUNTIME_SAFETY * cost.seconds.high / 60 + RUNTIME_EXTRA_MINUTES)
    least_memory, least_minutes = MEMORY_FLOOR_MB, RUNTIME_FLOOR_MINUTES
    if not cost.own:
        least_memory, least_minutes = config.memory_mb, config.runtime_minutes
    return Resources(max(memory, least_memory), max(minutes, least_minutes))


class Job(NamedTuple):
    """A job of the DAG: ``run``, ``collect``, ``figure``, ``table`` or ``claims``, and which one."""

    kind: str
    scale: str
    paper: str = ""
    names: tuple[str, ...] = ()


_RUN = re.compile(r"results/(\w+)/(\w+)/(\w+)/(\w+)/seeds_(\d+(?:-\d+)?)\.parquet")
_FIGURE = re.compile(rf"figures/(\w+)/(\w+)/(\w+)\.(?:{'|'.join(targets.FIGURE_FORMATS)})")
_TABLE = re.compile(rf"results/(\w+)/(\w+)/(\w+)\.(?:{'|'.join(targets.TABLE_FORMATS)})")
_CLAIMS = re.compile(rf"results/(\w+)/claims\.(?:{'|'.join(targets.CLAIMS_FORMATS)})")
_COLLECT = re.compile(r"results/(\w+)/(\w+)/runs\.parquet")


class Plan:
    """The jobs that targets need, each once, and what each waits for; nothing is taken as done."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs: dict[Job, list[Job]] = {}

    def add(self, target: str, scale: str = "paper") -> None:
        """A target rule, a file, or a paper's figures and tables at ``scale``.

        Raises:
            RepliboError: there is no such target.
        """
        rules = {"all": "paper", **{name: name for name in targets.SCALES if name != "paper"}}
        if target in self.config.papers:
            self._add(Job("collect", scale, target))
            for kind in ("figure", "table"):
                for name in targets.names_at(self.config, f"{kind}s", target, scale):
                    self._add(Job(kind, scale, target, (name,)))
        elif target in rules:
            for path in targets.outputs(self.config, rules[target]):
                self._add(self._job(path))
        else:
            self._add(self._job(target))

    def _job(self, path: str) -> Job:
        """The job that makes a file."""
        if match := _CLAIMS.fullmatch(path):
            return Job("claims", _scale(match[1]))
        if match := _RUN.fullmatch(path):
            scale, paper, problem, algorithm, block = match.groups()
            run_settings(self.config, paper, scale, problem, algorithm)
            return Job("run", scale, paper, (problem, algorithm, block))
        if match := _COLLECT.fullmatch(path):
            self.config.paper(match[2])
            return Job("collect", _scale(match[1]), match[2])
        for kind, pattern in (("figure", _FIGURE), ("table", _TABLE)):
            if match := pattern.fullmatch(path):
                targets.output_entry(self.config, f"{kind}s", match[2], match[3])
                return Job(kind, _scale(match[1]), match[2], (match[3],))
        raise RepliboError(
            f"no target is called {path!r}; allowed: all, published, quick, smoke, a paper "
            f"({allowed(self.config.papers)}), or a file such as "
            "figures/paper/go_ucb/figure_1.pdf"
        )

    def _add(self, job: Job) -> None:
        if job in self.needs:
            return
        needs: list[Job] = []
        if job.kind in ("figure", "table"):
            needs = [Job("collect", job.scale, job.paper)]
        elif job.kind == "claims":
            papers = targets.papers_at(self.config, job.scale)
            needs = [Job("collect", job.scale, paper) for paper in papers]
        elif job.kind == "collect" and job.scale != "published":
            # A figure reads its paper's table of all runs, so it needs all of them.
            needs = [
                self._job(path) for path in targets.run_files(self.config, job.paper, job.scale)
            ]
        for need in needs:
            self._add(need)
        self.needs[job] = needs


def _scale(text: str) -> str:
    return text if text == "published" else scale_name(text)


def makespan(needs: Mapping[Job, Sequence[Job]], seconds: Mapping[Job, float], cores: int) -> float:
    """Seconds from the first job's start to the last one's end on ``cores`` cores.

    List scheduling, as Snakemake does it: whenever a core is free, it takes the next job that waits
    for nothing more. So the longest chain of jobs is a floor, however many cores there are.
    """
    waiting = {job: len(before) for job, before in needs.items()}
    after: dict[Job, list[Job]] = {}
    for job, before in needs.items():
        for need in before:
            after.setdefault(need, []).append(job)
    ready = [job for job, count in waiting.items() if not count]
    ready.reverse()  # a stack: what becomes ready goes before the rest, as Snakemake's short jobs do
    running: list[tuple[float, int, Job]] = []
    now, number = 0.0, 0
    while ready or running:
        while ready and len(running) < cores:
            job = ready.pop()
            number += 1
            heapq.heappush(running, (now + seconds[job], number, job))
        now, _, ended = heapq.heappop(running)
        for job in after.get(ended, ()):
            waiting[job] -= 1
            if not waiting[job]:
                ready.append(job)
    return now


Grouping = Literal["method", "problem"]


@dataclass
class Line:
    """A row of the estimate: the jobs of one paper and method (or problem), or its outputs."""

    paper: str
    name: str
    jobs: int = 0
    runs: int = 0
    queries: int = 0
    seconds: Seconds = NOTHING
    longest: float = 0.0
    memory_mb: float = 0.0
    disk_bytes: int = 0
    unknown: int = 0
    how: dict[str, None] = field(default_factory=dict)


@dataclass
class Estimate:
    """What some targets need.

    Attributes:
        lines: one for each paper and method, or problem, and one for each paper's outputs.
        by: which of them.
        cores: cores that share the work.
        cpu: CPU seconds of all processes, Snakemake's own included.
        wall_seconds: from the start of Snakemake to its end, on ``cores`` free cores.
        jobs: number of jobs.
        unknown: jobs that are not in it, for nothing like them was ever run.
        memory_mb: the ``cores`` hungriest jobs at once.
        disk_bytes: results and figures.
    """

    lines: list[Line]
    by: Grouping
    cores: int
    cpu: Seconds
    wall_seconds: float
    jobs: int
    unknown: int
    memory_mb: float
    disk_bytes: int


def estimate(
    config: Config, targets: Sequence[str], scale: str, cores: int, by: Grouping = "method"
) -> Estimate:
    """What ``targets`` need on ``cores`` cores, from nothing; ``scale`` is that of targets that are
    papers, ``by`` what the lines are of.

    Raises:
        RepliboError: there is no such target; ``cores`` < 1.
    """
    if cores < 1:
        raise RepliboError(f"--cores: {cores} is not allowed; a number >= 1 is")
    plan = Plan(config)
    for target in targets:
        plan.add(target, scale)
    known = {paper: measured(paper) for paper in {job.paper for job in plan.needs} - {""}}
    lines: dict[tuple[str, str], Line] = {}
    seconds: dict[Job, float] = {}
    memory: list[float] = []
    for job in sorted(plan.needs, key=lambda job: job.kind != "run"):
        if job.kind == "run":
            problem, algorithm, block = job.names
            own = (job.paper, algorithm if by == "method" else problem)
            line = lines.setdefault(own, Line(*own))
            line.runs += (runs := len(seed_list(block)))
            entry = config.paper(job.paper)
            queries = queries_of(entry, entry.settings(job.scale, problem))
            line.queries += runs * queries
            line.disk_bytes += runs * queries * QUERY_BYTES + RUN_FILE_BYTES
            cost = cost_of_job(known[job.paper], problem, algorithm, queries, runs)
        else:
            key = (job.paper or "all", "figures, tables, claims")
            line = lines.setdefault(key, Line(*key))
            line.disk_bytes += OUTPUT_BYTES[job.kind]
            spent = OUTPUT_SECONDS[job.kind]
            cost = Cost(Seconds(spent, spent, spent), 250.0, "typical outputs", True)
        line.jobs += 1
        seconds[job] = SNAKEMAKE_JOB_SECONDS
        if cost is None:
            line.unknown += 1
            line.how["never run, not in the sums"] = None
            continue
        seconds[job] += cost.seconds.expected
        line.seconds = line.seconds.plus(cost.seconds)
        line.longest = max(line.longest, cost.seconds.expected)
        line.memory_mb = max(line.memory_mb, cost.memory_mb)
        line.how[cost.how] = None
        memory.append(cost.memory_mb)
    cpu = functools.reduce(Seconds.plus, (line.seconds for line in lines.values()), NOTHING)
    cpu = cpu.plus(SNAKEMAKE_SECONDS + SNAKEMAKE_JOB_SECONDS * len(seconds))
    return Estimate(
        lines=list(lines.values()),
        by=by,
        cores=cores,
        cpu=cpu,
        wall_seconds=SNAKEMAKE_SECONDS + makespan(plan.needs, seconds, cores),
        jobs=len(seconds),
        unknown=sum(line.unknown for line in lines.values()),
        memory_mb=sum(heapq.nlargest(cores, memory)),
        disk_bytes=sum(line.disk_bytes for line in lines.values()),
    )


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.4 h``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


def text(found: Estimate) -> str:
    """The estimate as it is printed: a table, and the sums with how they were got."""
    from replibo.results.tables import Format, Table

    columns = (
        *("paper", found.by, "jobs", "runs", "queries", "core hours", "from – to", "longest job"),
        *("peak MB", "disk MB", "how"),
    )
    rows = []
    for line in found.lines:
        known = line.unknown < line.jobs
        between = None
        if line.seconds.high > 1.01 * line.seconds.low:
            between = f"{line.seconds.low / 3600:.3f} – {line.seconds.high / 3600:.3f}"
        rows.append(
            (
                *(line.paper, line.name, line.jobs, line.runs or None, line.queries or None),
                line.seconds.expected / 3600 if known else None,
                between,
                duration(line.longest) if known else None,
                line.memory_mb if known else None,
                line.disk_bytes / 1e6,
                "; ".join(line.how),
            )
        )
    cpu = found.cpu
    between = ""
    if cpu.high > 1.01 * cpu.low:
        between = f" (extrapolated: {cpu.low / 3600:.2f} to {cpu.high / 3600:.2f})"
    missing = ""
    if found.unknown:
        missing = f" {found.unknown} jobs are not in these sums: nothing like them was ever run."
    caption = (
        f"{found.jobs} jobs, {cpu.expected / 3600:.2f} core hours{between}, "
        f"{duration(found.wall_seconds)} on {found.cores} free cores, {found.memory_mb:.0f} MB of "
        f"memory, {found.disk_bytes / 1e6:.0f} MB of disk.{missing}\n"
        "CPU time of one thread, from an empty results folder, by the machine that was measured; the "
        "starts of the processes and Snakemake's own time are in it. The wall time is what the jobs "
        "take when each free core takes the next one."
    )
    formats: dict[str, Format] = {
        "core hours": lambda value: f"{value:.3f}",
        "peak MB": lambda value: f"{value:.0f}",
        "disk MB": lambda value: f"{value:.1f}",
    }
    return Table.of(
        [dict(zip(columns, row, strict=True)) for row in rows], caption, formats, columns
    ).md()
