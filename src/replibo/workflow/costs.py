"""The cost of a run: what was measured of each problem and algorithm, and what a job costs by it.

``estimate``, ``status``, ``check``, the verdicts' missing runs and the progress line take their hours
from here.
`replibo.run.collect` keeps, for each problem and algorithm, a profile of the CPU seconds by the number of
the query. A run as long as the measured ones, or shorter, costs what the profile says. A longer one is
extrapolated (`Timing.tail`).

`resources` is asked for every job while Snakemake builds its DAG: this module imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replibo import paths
from replibo.config.load import run_settings
from replibo.config.models import SCALES, Config, PaperEntry, seed_list
from replibo.errors import RepliboError
from replibo.run import published as published_runs
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


@dataclass(frozen=True)
class Timing:
    """Measured costs of one problem and algorithm.

    Attributes:
        origin: ``quick runs here`` or ``published paper runs``.
        first: number (1, 2, …) of each bin's first query; the first bin holds the initial points.
        seconds: CPU seconds of a mean run in each bin.
        queries: queries of a run, the end of the last bin.
        start_seconds: CPU seconds of a job's start (imports, data).
        peak_mb: the largest memory of a job.
        code: the digest of the code that made the runs.
        current: whether today's code made them.
    """

    origin: str
    first: tuple[int, ...]
    seconds: tuple[float, ...]
    queries: int
    start_seconds: float
    peak_mb: float
    code: str
    current: bool = True

    def run(self, queries: int) -> float:
        """CPU seconds of a run of so many queries; a longer one is extrapolated."""
        ends = (*self.first[1:], self.queries + 1)
        total = 0.0
        for first, end, seconds in zip(self.first, ends, self.seconds, strict=True):
            share = (min(end, queries + 1) - first) / (end - first)
            total += seconds * min(max(share, 0.0), 1.0)
        return total + (self.tail(queries) if queries > self.queries else 0.0)

    def tail(self, queries: int) -> float:
        """CPU seconds of the queries beyond the measured ones, N.

        A query takes a + b (n/N) + c (n/N)², none negative: a fixed part, a part that grows with the
        observations as a training does, and one with their square as a variance does. They are fitted
        to the relative times of the bins from N / 8 on, the initial points left out.
        """
        import numpy as np
        from scipy.optimize import nnls

        ends = np.array([*self.first[1:], self.queries + 1])
        first, seconds, N = np.array(self.first), np.array(self.seconds), self.queries
        late = ((first >= N / 8) & (first > 1)) | (ends > N)
        middles, widths = ((first + ends - 1) / 2 / N)[late], (ends - first)[late]
        times = np.maximum(seconds[late] / widths, 1e-9)
        weights = np.sqrt(widths) / times
        powers = np.arange(3)
        parts, _ = nnls(middles[:, None] ** powers * weights[:, None], times * weights)
        end, start = (queries + 0.5) / N, (N + 0.5) / N  # the sum over the queries, by its integral
        return float(N * parts @ ((end ** (powers + 1) - start ** (powers + 1)) / (powers + 1)))

    def faster(self, factor: float) -> Timing:
        """These runs on a machine that is ``factor`` times as fast."""
        return dataclasses.replace(
            self,
            seconds=tuple(value / factor for value in self.seconds),
            start_seconds=self.start_seconds / factor,
        )

    def memory(self, queries: int) -> float:
        """MB of a run of so many queries: what was measured (most of it are libraries), and for a longer
        one so many more matrices of n x n numbers as `MATRICES` says."""
        more = max(queries**2 - self.queries**2, 0)
        return self.peak_mb + MATRICES * 8e-6 * more

    def said(self, queries: int) -> str:
        """How `run` came to its number."""
        if queries == self.queries:
            return self.origin
        if queries < self.queries:
            return f"the first {queries} of {self.queries} queries of {self.origin}"
        return f"extrapolated from {self.queries} to {queries} queries, {self.origin}"


Timings = dict[str, Timing]  # by `problem/algorithm`


def timing_of(entry: Mapping[str, Any], origin: str, code: str) -> Timing:
    """The timing in the metadata of a pair's runs, which this code made."""
    runs, bins = entry["runs"], entry["profile"]
    return Timing(
        origin=origin,
        first=tuple(map(int, bins)),
        seconds=tuple(seconds / runs for seconds in bins.values()),
        queries=entry["queries"] // runs,
        start_seconds=entry["import_seconds"] / entry["jobs"],
        peak_mb=entry["peak_mb"],
        code=code,
    )


@functools.cache
def _published(paper: str, folder: Path) -> Timings:
    """The published timings of a paper in the project ``folder``, the working one."""
    try:
        return {
            key: timing_of(runs.timing, f"published {runs.scale} runs", runs.code)
            for key, runs in published_runs.of_paper(paper).items()
        }
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        path = paths.published_folder(paper)
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
        return timing_of(entry, origin, metadata["identity"]["code"])
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
            worth = timing.queries, timing.current
            if other is None or worth > (other.queries, other.current):
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
    for problem, algorithm in itertools.product(entry.problems, entry.algorithms):
        if timing := known.get(key := f"{problem}/{algorithm}"):
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
            seconds = here.run(both), there.run(both)
            if min(seconds) > 0:
                ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios) if ratios else None


class Cost(NamedTuple):
    """What a job needs: CPU seconds, MB of memory, the source of these numbers, whether the source is
    runs of this very problem and as long, and whether today's code made all of them."""

    seconds: float
    memory_mb: float
    how: str
    measured: bool
    current: bool = True


def cost_of_job(
    known: Timings, problem: str, algorithm: str, queries: int, runs: float
) -> Cost | None:
    """The cost of a job of ``runs`` seeds with ``queries`` queries each; None if the algorithm was never
    run. A mean job may have a fraction of a run. `_carried_on` and `_from_elsewhere` say where the
    seconds of longer and of missing runs come from.

    Published runs of NeuralBO's and LB-GP-UCB's problems with 240 queries or more were predicted as if
    less of them were known. Predicted over measured time: quantiles .1, .5 and .9, and all of them
    together (`benchmarks/estimate.py` of commit 8dc61a90):

    ====================================================== ======================
    known                                                  predicted / measured
    ====================================================== ======================
    nothing                                                0.38, 1.00, 1.54; 0.95
    the first quarter                                      0.91, 1.00, 1.09; 1.03
    the first quarter, and the same on all other problems  0.87, 1.00, 1.09; 0.91
    ====================================================== ======================

    A shorter run of older code is left aside where today's code ran further on another problem: six
    methods on Ackley at D = 50 were so predicted at 0.64 to 1.4 times what they took, and at 0.33 to 4.1
    times from a quarter of their runs by older code.
    """
    here = known.get(f"{problem}/{algorithm}")
    elsewhere = {
        key.partition("/")[0]: timing
        for key, timing in known.items()
        if key.endswith(f"/{algorithm}") and key != f"{problem}/{algorithm}"
    }
    reach = max((timing.queries for timing in elsewhere.values() if timing.current), default=0)
    measured = here is not None and here.queries >= ABOUT_AS_LONG * queries
    if here and (measured or here.current or here.queries >= reach):
        seconds, how, sources = _carried_on(here, elsewhere, queries)
    elif elsewhere:
        seconds, how, sources = _from_elsewhere(known, problem, elsewhere, queries)
    else:
        return None
    alike = [here] if here else sources
    return Cost(
        runs * seconds + alike[0].start_seconds + PROCESS_SECONDS,
        max(timing.memory(queries) for timing in alike),
        how,
        measured,
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
    costs = [
        cost._replace(how=f"as {name}: {cost.how}")
        for name, other in entry.algorithms.items()
        if other.type == kind and (cost := cost_of_job(known, problem, name, queries, runs))
    ]
    best = max(costs, key=lambda cost: (cost.measured, cost.seconds), default=None)
    return best and best._replace(measured=False)


ABOUT_AS_LONG = 0.9
"""The share of the longest run's length from which a run counts as equally long. Initial points
alone make runs of one horizon differ."""

NEAR = 4.0
"""Algorithms whose costs differ by less than this factor are taken to grow in proportion."""

Source = tuple[float, str, list[Timing]]
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


def _carried_on(here: Timing, elsewhere: Mapping[str, Timing], queries: int) -> Source:
    """A run that may be longer than the measured ones.

    It goes on as the same algorithm's longest runs on another problem, times what it took more or less
    up to its last measured query: on the problem nearest in cost. If none is longer, `Timing.tail`
    extrapolates.
    """
    spent = here.run(here.queries)
    factors = {
        name: spent / timing.run(here.queries)
        for name, timing in _longest(elsewhere, queries).items()
        if here.queries < min(timing.queries, queries)
        if min(spent, timing.run(here.queries)) > 0
    }
    if not factors:
        return here.run(queries), here.said(queries), [here]
    nearest = min(factors, key=lambda name: abs(math.log(factors[name])))
    timing = elsewhere[nearest]
    how = f"after {here.queries} queries as on {nearest}: {timing.said(queries)}"
    return factors[nearest] * timing.run(queries), how, [here, timing]


def _from_elsewhere(
    known: Timings, problem: str, elsewhere: Mapping[str, Timing], queries: int
) -> Source:
    """A run on a problem on which the algorithm was never run.

    It costs what the algorithm does on each other problem, corrected by what the algorithm nearest in
    cost took on both: in proportion, or by the difference if that one is far cheaper (`NEAR`). The
    geometric mean over the problems is expected.
    """
    longest = _longest(elsewhere, queries)
    corrected, plain = {}, {}
    for other_problem, timing in longest.items():
        plain[other_problem] = seconds = timing.run(queries)
        shared = []
        for key, here in known.items():
            there = known.get(key.replace(f"{problem}/", f"{other_problem}/", 1))
            if key.startswith(f"{problem}/") and there:
                until = min(queries, here.queries, there.queries)
                times = [t.run(until) for t in (here, there, timing)]
                if min(times) > 0:
                    shared.append((abs(math.log(times[1] / times[2])), *times[:2]))
        if shared:
            _, ours, theirs = min(shared)
            cheap = NEAR * theirs < seconds  # most of it are evaluations
            corrected[other_problem] = (
                max(seconds + ours - theirs, ours) if cheap else seconds * ours / theirs
            )
    ways = corrected or plain
    expected = math.exp(statistics.fmean(math.log(max(way, 1e-9)) for way in ways.values()))
    sources = [longest[name] for name in ways]
    names = next(iter(ways)) if len(ways) == 1 else f"{len(ways)} other problems"
    return expected, f"as on {names}: {sources[0].said(queries)}", sources


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
    return cost.seconds


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
    only, or not as long, for no less than these.

    Raises:
        RepliboError: no such paper, scale, problem or algorithm; damaged published metadata.
    """
    settings = run_settings(config, paper, scale, problem, algorithm)
    queries = config.paper(paper).queries(settings)
    cost = _published_cost(paper, Path.cwd(), problem, algorithm, queries, len(seed_list(block)))
    if cost is None:
        return Resources(config.memory_mb, config.runtime_minutes)
    memory = math.ceil(MEMORY_SAFETY * cost.memory_mb + MEMORY_EXTRA_MB)
    minutes = math.ceil(RUNTIME_SAFETY * cost.seconds / 60 + RUNTIME_EXTRA_MINUTES)
    least_memory, least_minutes = MEMORY_FLOOR_MB, RUNTIME_FLOOR_MINUTES
    if not cost.measured:
        least_memory, least_minutes = config.memory_mb, config.runtime_minutes
    return Resources(max(memory, least_memory), max(minutes, least_minutes))


def check_cores(cores: int) -> None:
    """Raise a `RepliboError` unless there is a core."""
    if cores < 1:
        raise RepliboError(f"--cores: must be a number >= 1, got {cores}")


def wall_seconds(seconds: Collection[float], cores: int) -> float:
    """Seconds that jobs take on ``cores`` free cores: their share of a core, or the longest job."""
    return max(sum(seconds) / cores, max(seconds, default=0.0))
