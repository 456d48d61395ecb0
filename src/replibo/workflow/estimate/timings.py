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
from replibo.run.identity import code_digest
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
        start_seconds: CPU seconds of a job's start (imports, data).
        peak_mb: the largest memory of a job.
        profile: None in timings that were collected without one.
        code: the digest of the code that made the runs; empty if it was not recorded.
        current: whether today's code made them.
    """

    origin: str
    here: bool
    runs: int
    jobs: int
    queries: int
    run_seconds: float
    start_seconds: float
    peak_mb: float
    profile: Profile | None
    code: str = ""
    current: bool = True

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
        pair = metadata.get("pairs", {}).get(key, {})
        profile = None
        if bins := entry.get("profile"):
            first = tuple(int(name) for name in bins)
            profile = Profile(first, tuple(s / runs for s in bins.values()), queries)
        found[key] = Timing(
            origin=origin,
            here=here,
            runs=runs,
            jobs=jobs,
            queries=queries,
            run_seconds=entry["cpu_seconds"] / runs,
            start_seconds=entry["import_seconds"] / jobs,
            peak_mb=entry["peak_mb"],
            profile=profile,
            code=pair.get("code", ""),
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
    by a factor of four. They say whether today's code made them.

    How fast a machine was, a job's start says: all jobs with one type of problem and one of algorithm
    load the same libraries. Whole runs of seven methods on Levy at D = 10 (T = 2,000), predicted from
    their first quarter on other machines, came out at 1.1 to 4.2 times what they took, and at 0.7 to
    2.4 times at one speed.
    """
    kinds, today = {}, {}
    fastest: dict[tuple[str, str], float] = {}
    for key, found in known.items():
        problem, algorithm = key.split("/")
        if problem in entry.problems and algorithm in entry.algorithms:
            kind = entry.problems[problem].type, entry.algorithms[algorithm].type
            if kind not in today:
                today[kind] = code_digest(entry, problem, algorithm)
            starts = [one.start_seconds for one in found if not one.here and one.start_seconds > 0]
            fastest[kind] = min([*starts, fastest.get(kind, math.inf)])
            kinds[key] = kind
    return {
        key: [
            one
            if one.here
            else dataclasses.replace(
                one.faster(one.start_seconds / fastest[kind] or 1.0),
                current=one.code == today[kind],
            )
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
    """What a job needs: CPU seconds, MB of memory, the source of these numbers, whether the source is
    runs of this very problem, and whether today's code made all of them."""

    seconds: Seconds
    memory_mb: float
    how: str
    own: bool
    current: bool = True


def cost_of_job(
    known: Timings, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """The cost of a job of ``runs`` seeds with ``queries`` queries each; None if the algorithm was never
    run. Shorter runs are carried on (`_carried_on`), missing ones taken from other problems
    (`_from_elsewhere`).

    Published runs of NeuralBO's and LB-GP-UCB's problems with 240 queries or more were predicted as if
    less of them were known. Predicted over measured time: quantiles .1, .5 and .9, and all of them
    together (`benchmarks/estimate.py --cut 0 0.25`):

    ====================================================== ======================
    known                                                  predicted / measured
    ====================================================== ======================
    nothing                                                0.51, 0.95, 1.46; 0.84
    the first quarter                                      0.84, 0.99, 1.11; 0.96
    the first quarter, and the same on all other problems  0.83, 0.99, 1.29; 1.01
    ====================================================== ======================
    """
    best = {key: timing for key, entries in known.items() if (timing := _best(entries, queries))}
    own = best.get(f"{problem}/{algorithm}")
    elsewhere = {
        key.partition("/")[0]: timing
        for key, timing in best.items()
        if key.endswith(f"/{algorithm}") and key != f"{problem}/{algorithm}"
    }
    here = {
        key.partition("/")[2]: timing
        for key, timing in best.items()
        if key.startswith(f"{problem}/") and not key.endswith(f"/{algorithm}")
    }
    family = algorithm.partition("_")[0]
    relatives = {name: other for name, other in here.items() if name.partition("_")[0] == family}
    if own:
        seconds, how, sources = _carried_on(own, elsewhere, relatives, queries)
    elif elsewhere:
        seconds, how, sources = _from_elsewhere(best, here, elsewhere, queries)
    else:
        return None
    return Cost(
        seconds.times(runs).plus(sources[0].start_seconds + PROCESS_SECONDS),
        max(timing.memory(queries) for timing in sources[: 1 if own else None]),
        how,
        own is not None,
        all(timing.current for timing in sources),
    )


def cost_in_paper(
    entry: PaperEntry, known: Timings, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """`cost_of_job`, and for an algorithm that was never run what others of its type cost (same class,
    other parameters): on this problem if they were run on it; of several the most expensive."""
    if cost := cost_of_job(known, problem, algorithm, queries, runs):
        return cost
    kind = entry.algorithms[algorithm].type
    found = [
        cost._replace(how=f"as {name}: {cost.how}")
        for name, own in entry.algorithms.items()
        if own.type == kind and (cost := cost_of_job(known, problem, name, queries, runs))
    ]
    best = max(found, key=lambda cost: (cost.own, cost.seconds.expected), default=None)
    return best and best._replace(own=False)


ABOUT_AS_LONG = 0.9
"""Of the longest run: initial points alone make runs of one horizon differ in length."""

NEAR = 4.0
"""Algorithms whose costs differ by less than this factor are taken to grow in proportion."""

Source = tuple[Seconds, str, list[Timing]]
"""CPU seconds of a run, how they were got, and the timings behind them."""


def _longest(candidates: Mapping[str, Timing], queries: int) -> dict[str, Timing]:
    """The timings that cover most of the queries; of these, those of today's code if there are any."""
    reach = max((min(timing.queries, queries) for timing in candidates.values()), default=0)
    longest = {
        name: timing
        for name, timing in candidates.items()
        if min(timing.queries, queries) >= ABOUT_AS_LONG * reach
    }
    current = {name: timing for name, timing in longest.items() if timing.current}
    return current or longest


def _carried_on(
    own: Timing, elsewhere: Mapping[str, Timing], relatives: Mapping[str, Timing], queries: int
) -> Source:
    """A run that may be longer than the measured ones.

    It goes on as the same algorithm's longest runs on other problems, times what it took more or less up
    to its last measured query. The one nearest in cost is expected, and all of them are the bounds. If
    none is longer, `Profile.tail` extrapolates.

    If these are too short, too, a relative's whole runs on the same problem are another law
    (`_in_step`): the geometric mean of both is expected, and both are bounds.

    Args:
        elsewhere: the algorithm's timings by problem.
        relatives: the timings on the same problem by algorithm of the same family (the first word of
            the names: ``gp``, ``neural``).
    """
    spent = own.run(own.queries).expected
    seconds, how, reach, sources = own.run(queries), own.said(queries), own.queries, [own]
    longer = {
        name: timing
        for name, timing in elsewhere.items()
        if timing.profile
        and own.queries < min(timing.queries, queries)
        and timing.run(own.queries).expected > 0
    }
    if longer and spent > 0:
        factors = {
            name: spent / timing.run(own.queries).expected
            for name, timing in _longest(longer, queries).items()
        }
        ways = {name: longer[name].run(queries).times(factors[name]) for name in factors}
        nearest = min(factors, key=lambda name: abs(math.log(factors[name])))
        low, high = min(way.low for way in ways.values()), max(way.high for way in ways.values())
        seconds = Seconds(ways[nearest].expected, low, high)
        how = f"after {own.queries} queries as on {nearest}: {longer[nearest].said(queries)}"
        reach, sources = longer[nearest].queries, [own, longer[nearest]]
    if reach < ABOUT_AS_LONG * queries and (step := _in_step(own, relatives, queries)):
        other, name = step
        seconds = Seconds(
            math.sqrt(seconds.expected * other), min(seconds.low, other), max(seconds.high, other)
        )
        how, sources = f"{how}; as {name} here", [*sources, relatives[name]]
    return seconds, how, sources


def _in_step(
    own: Timing, relatives: Mapping[str, Timing], queries: int
) -> tuple[float, str] | None:
    """Seconds of a longer run that goes on in step with another algorithm's, and the name of that one:
    among the relatives that were run whole and are `NEAR`, the one to which its own times were most
    nearly proportional so far."""

    def ratios(other: Timing) -> list[float]:
        """Own time over the other's in the last half of the measured queries, the half before, ..."""
        ends = [own.queries >> power for power in range(4)]
        times = [[timing.run(n).expected for n in ends] for timing in (own, other)]
        parts = [[end - start for end, start in itertools.pairwise(part)] for part in times]
        return [a / b if a > 0 and b > 0 else math.inf for a, b in zip(*parts, strict=True)]

    steps = {
        name: [math.log(ratio) for ratio in found]
        for name, other in relatives.items()
        if own.profile and other.profile and other.queries >= ABOUT_AS_LONG * queries
        if max(found := ratios(other)) < math.inf
    }
    near = {name: logs for name, logs in steps.items() if abs(logs[0]) <= math.log(NEAR)}
    if not near:
        return None
    name = min(near, key=lambda name: statistics.pstdev(near[name]))
    start, end = (relatives[name].run(n).expected for n in (own.queries, queries))
    return own.run(own.queries).expected + math.exp(near[name][0]) * (end - start), name


def _from_elsewhere(
    best: Mapping[str, Timing],
    here: Mapping[str, Timing],
    elsewhere: Mapping[str, Timing],
    queries: int,
) -> Source:
    """A run on a problem on which the algorithm was never run.

    It costs what the algorithm does on each other problem, corrected by what the algorithm nearest in
    cost took on both: in proportion, or by the difference if that one is far cheaper (`NEAR`). The
    geometric mean over the problems is expected, and the extremes are the bounds.
    """
    longest = _longest(elsewhere, queries)
    corrected, plain = {}, {}
    for problem, timing in longest.items():
        plain[problem] = seconds = timing.run(queries)
        shared = []
        for name, other in here.items():
            there = best.get(f"{problem}/{name}")
            until = min(queries, other.queries, there.queries if there else 0)
            times = [t.run(until).expected for t in (other, there, timing) if t]
            if len(times) == 3 and min(times) > 0:
                shared.append((abs(math.log(times[1] / times[2])), times[0], times[1]))
        if shared:
            _, ours, theirs = min(shared)
            cheap = NEAR * theirs < seconds.expected  # most of it are evaluations
            corrected[problem] = Seconds(
                *(max(v + ours - theirs, ours) if cheap else v * ours / theirs for v in seconds)
            )
    ways = corrected or plain
    expected = math.exp(statistics.fmean(math.log(max(w.expected, 1e-9)) for w in ways.values()))
    low, high = min(way.low for way in ways.values()), max(way.high for way in ways.values())
    sources = [longest[name] for name in ways]
    names = next(iter(ways)) if len(ways) == 1 else f"{len(ways)} other problems"
    return Seconds(expected, low, high), f"as on {names}: {sources[0].said(queries)}", sources


@functools.cache
def _published_cost(
    paper: str, folder: Path, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """`cost_of_job` by the published timings: a pair's blocks, most of them alike, ask several times."""
    return cost_of_job(_published(paper, folder), problem, algorithm, queries, runs)


UNKNOWN_QUERY_SECONDS = 2e-4
"""CPU seconds of a query of an algorithm that was never run: the loop's own part of random search."""


def expected_seconds(
    config: Config, paper: str, scale: str, problem: str, algorithm: str, block: str
) -> float:
    """CPU seconds that a block of runs is expected to take, by the published timings."""
    entry, runs = config.paper(paper), len(seed_list(block))
    queries = entry.queries(entry.settings(scale, problem, algorithm))
    cost = _published_cost(paper, Path.cwd(), problem, algorithm, queries, runs)
    if cost is None:
        return PROCESS_SECONDS + UNKNOWN_QUERY_SECONDS * queries * runs
    return cost.seconds.expected


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
