"""The cost of a run: what was measured of each problem and algorithm, and what a job costs by it.

``estimate``, ``status``, ``check``, the verdicts' missing runs and the progress line take their hours
from here.
`replibo.run.collect` keeps, for each problem and algorithm, a profile of the CPU seconds by the number of
the query. A run as long as the measured ones, or shorter, costs what the profile says. A longer one is
extrapolated (`Profile.tail`). Timings without a profile (published before there were any) give the mean
query's time, whatever the horizon: too low for longer runs, too high for shorter ones.

`resources` is asked for every job while Snakemake builds its DAG: this module imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replibo import paths
from replibo.config.load import run_settings
from replibo.config.models import SCALES, Config, PaperEntry, seed_list
from replibo.errors import RepliboError
from replibo.run import pairs
from replibo.run.identity import code_digest

# CPU seconds, measured with getrusage on the children, one thread, a shared machine with two cores.
#
# What a run's process spends beside its queries and the start that its trace records: Python's start,
# pyarrow, writing, and torch's exit. Eight runs: 0.3 (NumPy only) to 0.9 (torch).
PROCESS_SECONDS = 0.5

# A job asks a cluster for SAFETY times what was measured, plus what its two Snakemake processes and
# its start take, and never less than the floors. Queries differ from seed to seed, and a cluster's
# nodes from the machine that published. A start takes 3 to 6 s, more if imports come from a shared
# file system. A job that still hits a limit is sent again with twice as much, and goes on from its
# journal.
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

        Two laws are fitted to the mean time of a query in the last bins. A power law is too flat if
        a part of the time is fixed. A quadratic one is too steep if the times are noisy; its parts
        are a surrogate's: a fixed part, one that grows with the observations as a training does,
        and one with their square as a variance does. Their geometric mean is expected, and they are
        its bounds.
        """
        ends = (*self.first[1:], self.queries + 1)
        bins = [
            ((first + end - 1) / 2, seconds / (end - first), end - first)
            for first, end, seconds in zip(self.first, ends, self.seconds, strict=True)
        ][1:] or [((self.queries + 1) / 2, sum(self.seconds) / self.queries, self.queries)]
        bins = [(n, max(cost, 1e-9), width) for n, cost, width in bins]
        slope, level = _power_law(bins, self.queries)
        # The sum over the queries, by their integral.
        a, b = self.queries + 0.5, queries + 0.5
        flat = level * (b ** (slope + 1) - a ** (slope + 1)) / (slope + 1)
        steep = sum(
            part * self.queries**-power * (b ** (power + 1) - a ** (power + 1)) / (power + 1)
            for power, part in enumerate(_polynomial(bins, self.queries))
        )
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


def _polynomial(
    bins: Sequence[tuple[float, float, int]], queries: int
) -> tuple[float, float, float]:
    """(a, b, c) of cost = a + b (n/N) + c (n/N)², N = ``queries``, none negative: least squares of the
    relative residuals over n >= N / 8."""
    import numpy as np
    from scipy.optimize import nnls

    n, cost, width = np.array([item for item in bins if item[0] >= queries / 8] or bins[-1:]).T
    weights = np.sqrt(width) / cost
    powers = (n[:, None] / queries) ** np.arange(3)
    a, b, c = nnls(powers * weights[:, None], cost * weights)[0]
    return float(a), float(b), float(c)


@dataclass(frozen=True)
class Timing:
    """Measured costs of one problem and algorithm.

    Attributes:
        origin: ``quick runs here`` or ``published paper runs``.
        runs, jobs, queries: their numbers; ``queries`` of one run.
        run_seconds: CPU seconds of a mean run.
        start_seconds: CPU seconds of a job's start (imports, data).
        peak_mb: the largest memory of a job.
        profile: None in timings that were collected without one.
        code: the digest of the code that made the runs; empty if it was not recorded.
        current: whether today's code made them.
    """

    origin: str
    runs: int
    jobs: int
    queries: int
    run_seconds: float
    start_seconds: float
    peak_mb: float
    profile: Profile | None
    code: str = ""
    current: bool = True

    @property
    def worth(self) -> tuple[int, bool]:
        """The larger, the more the timing says of long runs today."""
        return self.queries, self.current

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


Timings = dict[str, Timing]  # by `problem/algorithm`


def timings(metadata: Mapping[str, Any], origin: str) -> Timings:
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
        return timings(metadata, f"published {metadata['scale']} runs")
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        path = paths.published_metadata(paper)
        raise RepliboError(f"{path}: holds no timings; publish the paper again") from None


def published(paper: str) -> Timings:
    """The published timings of a paper by ``problem/algorithm``; none where nothing is published.

    Raises:
        RepliboError: the metadata are damaged.
    """
    return _published(paper, Path.cwd())


def of_this_machine(config: Config, paper: str) -> Timings:
    """The timings of one file of each pair that was run here, at the largest scale that has one."""
    entry = config.paper(paper)
    found = {}
    for scale in map(config.scale, SCALES):
        for problem, algorithm in entry.pairs(scale):
            folder = Path(
                paths.PAIR.format(scale=scale, paper=paper, problem=problem, algorithm=algorithm)
            )
            for path in sorted(folder.glob("seeds_*.parquet")):
                with contextlib.suppress(OSError):  # Snakemake has just removed it
                    if timing := _of_file(path, path.stat().st_mtime_ns, f"{scale} runs here"):
                        current = timing.code == code_digest(entry, problem, algorithm)
                        found[f"{problem}/{algorithm}"] = dataclasses.replace(
                            timing, current=current
                        )
                        break
    return found


@functools.cache
def _of_file(path: Path, changed: int, origin: str) -> Timing | None:
    """The timings of a block's file; None if it cannot be read."""
    from replibo.run import collect, traces

    try:
        content = traces.read(path)
        metadata = traces.read_metadata(content)
        entry = collect.timings(content, metadata)
        found = {"timings": {"": entry}, "pairs": {"": {"code": metadata["identity"]["code"]}}}
        return timings(found, origin)[""]
    except (RepliboError, KeyError):
        return None


def measured(config: Config, papers: Iterable[str]) -> tuple[dict[str, Timings], float | None]:
    """The timings of some papers, at the speed of the fastest machine that published.

    If a pair was run here, too, the longer runs count; among equally long ones those of today's
    code, else the published ones.

    Returns:
        The timings by paper, and the `slowness` of this machine.
    """
    there = {paper: at_one_speed(config.paper(paper), published(paper)) for paper in papers}
    here = {paper: of_this_machine(config, paper) for paper in there}
    slower = slowness([(here[paper], there[paper]) for paper in there])
    for paper, known in there.items():
        for key, timing in here[paper].items():
            other = known.get(key)
            if other is None or timing.worth > other.worth:
                known[key] = timing.faster(slower or 1.0)
    return there, slower


def at_one_speed(entry: PaperEntry, known: Timings) -> Timings:
    """The published timings as of the fastest machine that published: they are of several, which differ
    by a factor of four. They say whether today's code made them.

    How fast a machine was, a job's start says: all jobs with one type of problem and one of algorithm
    load the same libraries. We predicted whole runs of seven methods on Levy at D = 10 (T = 2,000)
    from their first quarter on other machines. The predictions were 1.1 to 4.2 times what the runs
    took, and 0.7 to 2.4 times at one speed.
    """
    kinds, today = {}, {}
    fastest: dict[tuple[str, str], float] = {}
    for key, timing in known.items():
        problem, algorithm = key.split("/")
        if problem in entry.problems and algorithm in entry.algorithms:
            kind = entry.problems[problem].type, entry.algorithms[algorithm].type
            if kind not in today:
                today[kind] = code_digest(entry, problem, algorithm)
            start = timing.start_seconds or math.inf
            fastest[kind] = min(start, fastest.get(kind, math.inf))
            kinds[key] = kind
    return {
        key: dataclasses.replace(
            known[key].faster(known[key].start_seconds / fastest[kind] or 1.0),
            current=known[key].code == today[kind],
        )
        for key, kind in kinds.items()
    }


def slowness(known: Iterable[tuple[Timings, Timings]]) -> float | None:
    """How many times as long this machine takes as the one of the published timings: the median over
    the problems and algorithms that were run on both, each up to where both were; None where there are
    none.

    Args:
        known: the timings of this machine and the published ones, of several papers.
    """
    ratios = []
    for ours, published in known:
        for key in ours.keys() & published.keys():
            here, there = ours[key], published[key]
            both = min(here.queries, there.queries)
            if here.covers(both) and there.covers(both):
                seconds = here.run(both).expected, there.run(both).expected
                if min(seconds) > 0:
                    ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios) if ratios else None


class Cost(NamedTuple):
    """What a job needs: CPU seconds, MB of memory, the source of these numbers, whether the source is
    runs of this very problem, and whether today's code made all of them."""

    seconds: Seconds
    memory_mb: float
    how: str
    own: bool
    current: bool = True


def cost_of_job(
    known: Timings, problem: str, algorithm: str, queries: int, runs: float
) -> Cost | None:
    """The cost of a job of ``runs`` seeds with ``queries`` queries each; None if the algorithm was never
    run. A mean job may have a fraction of a run. Shorter runs are carried on (`_carried_on`), missing
    ones taken from other problems (`_from_elsewhere`).

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
    own = known.get(f"{problem}/{algorithm}")
    elsewhere = {
        key.partition("/")[0]: timing
        for key, timing in known.items()
        if key.endswith(f"/{algorithm}") and key != f"{problem}/{algorithm}"
    }
    here = {
        key.partition("/")[2]: timing
        for key, timing in known.items()
        if key.startswith(f"{problem}/") and not key.endswith(f"/{algorithm}")
    }
    family = algorithm.partition("_")[0]
    relatives = {name: other for name, other in here.items() if name.partition("_")[0] == family}
    if own:
        seconds, how, sources = _carried_on(own, elsewhere, relatives, queries)
    elif elsewhere:
        seconds, how, sources = _from_elsewhere(known, here, elsewhere, queries)
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
    entry: PaperEntry, known: Timings, problem: str, algorithm: str, queries: int, runs: float
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
"""The share of the longest run's length from which a run counts as equally long. Initial points
alone make runs of one horizon differ."""

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
    known: Mapping[str, Timing],
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
            there = known.get(f"{problem}/{name}")
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
    """The resources that one job asks a cluster for, at its first attempt."""

    memory_mb: int
    runtime_minutes: int


def resources(
    config: Config, paper: str, scale: str, problem: str, algorithm: str, block: str
) -> Resources:
    """Memory and time that a block of runs asks a cluster for.

    Only the published timings count, which are part of the repository. A DAG must be the same
    before and after some of its runs have ended, as Snakemake starts anew inside every cluster job.
    And 10,000 jobs cannot each look into ``results/``. What was never run anywhere asks for the
    config's ``memory_mb`` and ``runtime_minutes``, and what was run on other problems of its paper
    only for no less than these.

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
