"""What was measured of each problem and algorithm, and what a job costs by it.

`replibo.run.collect` keeps, for each problem and algorithm, a profile of the CPU seconds by the number of
the query. Timings without a profile (published before there were any) give the mean query's time,
whatever the horizon: too low for longer runs, too high for shorter ones.

`resources` is asked for every job while Snakemake builds its DAG: this module imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replibo import paths
from replibo.config.load import run_settings
from replibo.config.models import SCALES, Config, PaperEntry, seed_list
from replibo.errors import RepliboError
from replibo.run import pairs
from replibo.workflow.estimate.profile import Profile, Seconds

# CPU seconds, measured with getrusage on the children, one thread, a shared machine with two cores.
#
# What a run's process spends beside its queries and the start that its trace records: Python's start,
# pyarrow, writing, and torch's exit. Eight runs: 0.3 (NumPy only) to 0.9 (torch).
PROCESS_SECONDS = 0.5

# What a job asks a cluster for: SAFETY times what was measured (one method's queries differ from seed to
# seed, and a cluster's nodes from the machine that published), plus what the job's two Snakemake
# processes and its start take (two starts of 3 to 6 s, and imports from a shared file system), never
# less than the floors. A job that still hits a limit is sent again with twice as much, and goes on from
# its journal.
MEMORY_SAFETY, MEMORY_EXTRA_MB, MEMORY_FLOOR_MB = 1.5, 400, 700
RUNTIME_SAFETY, RUNTIME_EXTRA_MINUTES, RUNTIME_FLOOR_MINUTES = 3.0, 5, 10

# A surrogate's kernel matrix, its factor, their gradients and copies; an allowance, not a measurement.
MATRICES = 8


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
        dim: of the problem; None where not recorded.
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
    dim: int | None = None

    def run(self, queries: int) -> Seconds:
        """A run of so many queries."""
        if self.profile:
            return self.profile.run(queries)
        mean = self.run_seconds * queries / self.queries
        return Seconds(mean, mean, mean)

    def faster(self, factor: float) -> Timing:
        """These runs on a machine that is ``factor`` times as fast."""
        profile = self.profile
        if profile:
            seconds = tuple(value / factor for value in profile.seconds)
            profile = dataclasses.replace(profile, seconds=seconds)
        return dataclasses.replace(
            self,
            run_seconds=self.run_seconds / factor,
            evaluate_seconds=None
            if self.evaluate_seconds is None
            else self.evaluate_seconds / factor,
            start_seconds=self.start_seconds / factor,
            profile=profile,
        )

    def covers(self, queries: int) -> bool:
        """Whether it says what a run of so many queries takes, and not only what the mean query does."""
        return self.queries == queries or (self.profile is not None and self.queries > queries)

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
    """The timings in the metadata of collected or of published traces."""
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
            dim=metadata.get("problems", {}).get(key.partition("/")[0], {}).get("dim"),
        )
    return found


@functools.cache
def _published(paper: str, folder: Path) -> Timings:
    """The published timings of a paper in the project ``folder``, the working one."""
    if not paths.published_metadata(paper).exists():
        return {}
    metadata = pairs.published_metadata(paper)
    try:
        found = timings(metadata, f"published {metadata['scale']} runs", here=False)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        path = paths.published_metadata(paper)
        raise RepliboError(f"{path}: holds no timings; publish the paper again") from None
    return {key: [timing] for key, timing in found.items()}


def published(paper: str) -> Timings:
    """The published timings of a paper by ``problem/algorithm``; none where nothing is published.

    Raises:
        RepliboError: the metadata are damaged.
    """
    return _published(paper, Path.cwd())


def measured(config: Config, paper: str) -> Timings:
    """All timings at hand: of the runs on this machine, and the published ones."""
    from replibo.run import collect, traces

    found = {key: list(entries) for key, entries in published(paper).items()}
    entry = config.paper(paper)
    for scale in map(config.scale, SCALES):
        for pair in entry.pairs(scale):
            if not Path(pairs.file(entry, paper, scale, *pair)).exists():
                continue
            try:
                content = collect.read_pair(config, paper, scale, *pair)
            except RepliboError:
                continue  # a damaged file, or runs with other settings
            metadata = traces.read_metadata(content)
            for key, timing in timings(metadata, f"{scale} runs here", here=True).items():
                found.setdefault(key, []).append(timing)
    return found


def at_one_speed(entry: PaperEntry, known: Timings) -> Timings:
    """The published timings as of the fastest machine that published: they are of several, which differ
    by a factor of four.

    How fast a machine was, a job's start says: all jobs with one type of problem and one of algorithm
    load the same libraries. Whole runs of seven methods on Levy at D = 10 (T = 2,000), predicted from
    their first quarter on other machines, came out at 1.1 to 4.2 times what they took, and at 0.7 to
    2.4 times at one speed.
    """
    kinds = {}
    fastest: dict[tuple[str, str], float] = {}
    for key, found in known.items():
        problem, algorithm = key.split("/")
        if problem in entry.problems and algorithm in entry.algorithms:
            kind = entry.problems[problem].type, entry.algorithms[algorithm].type
            starts = [one.start_seconds for one in found if not one.here and one.start_seconds > 0]
            fastest[kind] = min([*starts, fastest.get(kind, math.inf)])
            kinds[key] = kind
    return {
        key: [
            one if one.here else one.faster(one.start_seconds / fastest[kind] or 1.0)
            for one in known[key]
        ]
        for key, kind in kinds.items()
    }


def slowness(known: Mapping[str, Timings]) -> float | None:
    """How many times as long this machine takes as the one of the published timings: the median over
    the problems and algorithms that were run on both, each up to where both were; None where there are
    none.

    Args:
        known: of several papers.
    """
    ratios = []
    for entries in (entries for of_paper in known.values() for entries in of_paper.values()):
        for here, there in itertools.product(entries, entries):
            both = min(here.queries, there.queries)
            if here.here and not there.here and here.covers(both) and there.covers(both):
                seconds = here.run(both).expected, there.run(both).expected
                if min(seconds) > 0:
                    ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios) if ratios else None


def at_published_speed(known: Timings, factor: float) -> Timings:
    """The timings with this machine's own divided by its `slowness`, so that all of them are of one
    machine, and an estimate before some runs is one after them."""
    return {
        key: [entry.faster(factor) if entry.here else entry for entry in entries]
        for key, entries in known.items()
    }


def _best(entries: Iterable[Timing], queries: int) -> Timing | None:
    """The timing that says most about a run of so many queries: the one that covers more of it, else one
    that says more than the mean query's time, else a published one, else one of the same length."""
    return max(
        entries,
        key=lambda e: (
            min(e.queries, queries),
            e.covers(queries) or e.profile is not None,
            not e.here,
            e.queries == queries,
        ),
        default=None,
    )


class Cost(NamedTuple):
    """What a job needs: CPU seconds, MB of memory, the source of these numbers, and whether the source is
    runs of this very problem."""

    seconds: Seconds
    memory_mb: float
    how: str
    own: bool


def cost_of_job(
    known: Timings, problem: str, algorithm: str, queries: int, runs: int, dim: int | None = None
) -> Cost | None:
    """A job of ``runs`` seeds with ``queries`` queries each; None where the algorithm was never run.

    Runs that are too short to say are carried on as those of another problem of the paper
    (`_carried_on`). An algorithm that was not run on the problem, but on others, is taken to cost what it
    does on that one whose runs cover most of the queries (of several, one whose dimension is nearest to
    ``dim`` where this is given; of these, the most expensive), with this problem's evaluations instead
    of that one's.
    """
    own = _best(known.get(f"{problem}/{algorithm}", ()), queries)
    others: dict[str, Timing] = {}
    if own is None or own.queries < queries:
        others = {
            key.partition("/")[0]: best
            for key, entries in known.items()
            if key.endswith(f"/{algorithm}") and (best := _best(entries, queries))
        }
    if own:
        seconds, how, timing = *_carried_on(own, others, queries), own
    else:
        if not others:
            return None
        other = max(
            others,
            key=lambda name: (
                min(others[name].queries, queries),
                -_apart(others[name].dim, dim),
                others[name].run(queries).expected,
            ),
        )
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


def _apart(one: int | None, other: int | None) -> float:
    """How far two dimensions are from each other, on a log scale; 0 where the second is not known."""
    if other is None:
        return 0.0
    return abs(math.log(one / other)) if one else math.inf


def cost_in_paper(
    entry: PaperEntry, known: Timings, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """`cost_of_job`, and for an algorithm that was never run what others of its type cost (same class,
    other parameters): on this problem if they were run on it; of several the most expensive."""
    dim = entry.problems[problem].parameters.get("dim")
    if cost := cost_of_job(known, problem, algorithm, queries, runs, dim):
        return cost
    kind = entry.algorithms[algorithm].type
    found = [
        cost._replace(how=f"as {name}: {cost.how}")
        for name, own in entry.algorithms.items()
        if own.type == kind and (cost := cost_of_job(known, problem, name, queries, runs, dim))
    ]
    best = max(found, key=lambda cost: (cost.own, cost.seconds.expected), default=None)
    return best and best._replace(own=False)


ABOUT_AS_LONG = 0.9
"""Of the longest run: initial points alone make runs of one horizon differ in length."""


def _carried_on(own: Timing, others: Mapping[str, Timing], queries: int) -> tuple[Seconds, str]:
    """A run that may be longer than the measured ones, and how its time was got.

    Where it is: as the same algorithm's runs on the other problem that are longest, times what these
    took more or less up to the last measured query. Of several about as long, the one nearest in cost is
    expected, and all of them are the bounds. Where none is longer, `Profile.tail` is asked. On the
    published runs of NeuralBO's and LB-GP-UCB's problems with 240 queries or more, cut to a share of
    them, the predicted time of the whole run was, as a share of the real one (quantiles .1, .5 and .9;
    all runs together; `benchmarks/estimate.py --cut`):

    ==== ========================== ==========================
    cut  as another problem's       `Profile.tail`
    ==== ========================== ==========================
    0.05 0.57, 1.01, 2.08; 1.04     0.02, 0.86, 1.77; 4.25
    0.25 0.73, 0.99, 1.28; 1.00     0.58, 0.93, 1.52; 0.93
    0.5  0.86, 0.99, 1.17; 1.00     0.80, 0.98, 1.27; 0.98
    ==== ========================== ==========================
    """
    spent = own.run(own.queries).expected
    there = {
        name: seconds
        for name, other in others.items()
        if other.profile
        and own.queries < min(other.queries, queries)
        and (seconds := other.run(own.queries).expected) > 0
    }
    if not there or spent <= 0:
        return own.run(queries), own.said(queries)
    reach = max(min(others[name].queries, queries) for name in there)
    there = {
        name: s
        for name, s in there.items()
        if min(others[name].queries, queries) >= ABOUT_AS_LONG * reach
    }
    ways = {name: others[name].run(queries).times(spent / there[name]) for name in there}
    nearest = min(there, key=lambda name: abs(math.log(there[name] / spent)))
    low, high = min(way.low for way in ways.values()), max(way.high for way in ways.values())
    how = f"after {own.queries} queries as on {nearest}: {others[nearest].said(queries)}"
    return Seconds(ways[nearest].expected, low, high), how


@functools.cache
def _published_cost(
    paper: str, folder: Path, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """`cost_of_job` by the published timings: a pair's blocks, most of them alike, ask several times."""
    return cost_of_job(_published(paper, folder), problem, algorithm, queries, runs)


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
    queries = config.paper(paper).queries(settings)
    cost = _published_cost(paper, Path.cwd(), problem, algorithm, queries, len(seed_list(block)))
    if cost is None:
        return Resources(config.memory_mb, config.runtime_minutes)
    memory = math.ceil(MEMORY_SAFETY * cost.memory_mb + MEMORY_EXTRA_MB)
    minutes = math.ceil(RUNTIME_SAFETY * cost.seconds.high / 60 + RUNTIME_EXTRA_MINUTES)
    least_memory, least_minutes = MEMORY_FLOOR_MB, RUNTIME_FLOOR_MINUTES
    if not cost.own:
        least_memory, least_minutes = config.memory_mb, config.runtime_minutes
    return Resources(max(memory, least_memory), max(minutes, least_minutes))
