"""The cost of a run: what was measured of each problem and algorithm, and what a job costs by it.

``estimate``, ``status``, ``check``, the verdicts' missing runs and the progress line take their hours
from here.
`replibo.run.collect` keeps, for each problem and algorithm, a profile of the CPU seconds by the number of
the query. A run as long as the measured ones, or shorter, costs what the profile says. `cost_of_job` says
what longer and missing runs cost.

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
    """The published timings of a paper by ``problem/algorithm``; none where nothing is published."""
    return _published(paper, Path.cwd())


def of_this_machine(config: Config, paper: str) -> Timings:
    """The timings of one file of each pair that was run here, at the largest scale that has one."""
    entry = config.paper(paper)
    timings = {}
    for scale in map(config.scale, SCALES):
        for pair in entry.pairs(scale):
            # The folder's glob sees files of other blocks than the config's, too.
            for path in sorted(
                Path(paths.block(scale, paper, *pair, "")).parent.glob("seeds_*.parquet")
            ):
                with contextlib.suppress(OSError):  # Snakemake has just removed it
                    if timing := _of_file(path, path.stat().st_mtime_ns, f"{scale} runs here"):
                        current = timing.code == code_digest(entry, *pair)
                        timings["/".join(pair)] = dataclasses.replace(timing, current=current)
                        break
    return timings


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
    timings = {paper: at_one_speed(config.paper(paper), published(paper)) for paper in papers}
    here = {paper: of_this_machine(config, paper) for paper in timings}
    slower = slowness([(here[paper], timings[paper]) for paper in timings])
    for paper, of_paper in timings.items():
        for key, timing in here[paper].items():
            other = of_paper.get(key)
            if not other or (timing.queries, timing.current) > (other.queries, other.current):
                of_paper[key] = timing.faster(slower or 1.0)
    return timings, slower


def at_one_speed(entry: PaperEntry, timings: Timings) -> Timings:
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
        if timing := timings.get(key := f"{problem}/{algorithm}"):
            kinds[key] = kind = entry.problems[problem].type, entry.algorithms[algorithm].type
            if kind not in today:
                today[kind] = code_digest(entry, problem, algorithm)
            start = timing.start_seconds or math.inf
            fastest[kind] = min(start, fastest.get(kind, math.inf))
    return {
        key: dataclasses.replace(
            timings[key].faster(timings[key].start_seconds / fastest[kind] or 1.0),
            current=timings[key].code == today[kind],
        )
        for key, kind in kinds.items()
    }


def slowness(timings: Iterable[tuple[Timings, Timings]]) -> float | None:
    """How many times as long this machine takes as the one of the published timings: the median over
    the problems and algorithms that were run on both, each up to where both were; None where there are
    none.

    Args:
        timings: those of this machine and the published ones, of several papers.
    """
    ratios = []
    for ours, theirs in timings:
        for key in ours.keys() & theirs.keys():
            both = min(ours[key].queries, theirs[key].queries)
            seconds = ours[key].run(both), theirs[key].run(both)
            if min(seconds) > 0:
                ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios) if ratios else None


class Cost(NamedTuple):
    """What a job needs: CPU seconds, MB of memory, the source of these numbers, whether the source is
    runs of this very problem and as long, and whether today's code made them."""

    seconds: float
    memory_mb: float
    how: str
    measured: bool
    current: bool = True


ABOUT_AS_LONG = 0.9
"""The share of the longest run's length from which a run counts as equally long. Initial points
alone make runs of one horizon differ."""


NEAR = 4.0
"""Algorithms whose costs differ by less than this factor are taken to grow in proportion."""


def cost_of_job(
    timings: Timings, problem: str, algorithm: str, queries: int, runs: float
) -> Cost | None:
    """The cost of a job of ``runs`` seeds with ``queries`` queries each; None if the algorithm was never
    run. A mean job may have a fraction of a run.

    A run that is longer than the measured ones goes on as the algorithm's longer runs on the problem
    nearest in cost, times what this problem costs more or less. If there are none, `Timing.tail`
    extrapolates. Runs of older code that are too short are left aside if those longer ones are of today's
    code. On a problem without runs the algorithm costs what it does on the others, corrected by
    what the algorithm nearest in cost took on both: the geometric mean over the problems.

    Published runs of NeuralBO's and LB-GP-UCB's problems with 240 queries or more were predicted as if
    less of them were known. Predicted over measured time: quantiles .1, .5 and .9, and all of them
    together (`benchmarks/estimate.py` of commit 8dc61a90, on the runs published since):

    ====================================================== ======================
    known                                                  predicted / measured
    ====================================================== ======================
    nothing                                                0.49, 0.96, 1.41; 0.80
    the first quarter                                      0.80, 1.00, 1.15; 0.86
    the first quarter, and the same on all other problems  0.82, 1.04, 2.09; 1.19
    ====================================================== ======================
    """
    here = timings.get(f"{problem}/{algorithm}")
    others = {
        name: timing
        for name, timing in _longest(timings, problem, algorithm, queries).items()
        if here is None or here.queries < min(timing.queries, queries)
    }
    measured = here is not None and here.queries >= ABOUT_AS_LONG * queries
    if here and not (measured or here.current) and any(t.current for t in others.values()):
        here, timings = None, {**timings}
        del timings[f"{problem}/{algorithm}"]
    if here and (measured or not others):
        seconds, how, sources = here.run(queries), here.said(queries), [here]
    elif others:
        seconds, names = _by_others(timings, problem, here, others, queries)
        sources = [others[name] for name in names]
        how = names[0] if len(names) == 1 else f"{len(names)} other problems"
        how = f"as on {how}: {sources[0].said(queries)}"
        if here:
            how, sources = f"after {here.queries} queries {how}", [here, *sources]
    else:
        return None
    return Cost(
        runs * seconds + sources[0].start_seconds + PROCESS_SECONDS,
        max(timing.memory(queries) for timing in ([here] if here else sources)),
        how,
        measured,
        all(timing.current for timing in sources),
    )


def _longest(timings: Timings, problem: str, algorithm: str, queries: int) -> Timings:
    """The algorithm's timings on other problems, by problem: those that cover most of the queries, and
    of these those of today's code if there are any."""
    others = {
        key.partition("/")[0]: timing
        for key, timing in timings.items()
        if key.endswith(f"/{algorithm}") and key != f"{problem}/{algorithm}"
    }
    reach = max((min(timing.queries, queries) for timing in others.values()), default=0)
    longest = {
        name: timing
        for name, timing in others.items()
        if min(timing.queries, queries) >= ABOUT_AS_LONG * reach
    }
    return {name: timing for name, timing in longest.items() if timing.current} or longest


def _by_others(
    timings: Timings, problem: str, here: Timing | None, others: Timings, queries: int
) -> tuple[float, list[str]]:
    """Seconds of a run by the algorithm's timings on other problems, and the problems that say so.

    Args:
        here: the algorithm's own runs, which are too short.
    """
    both: dict[str, tuple[float, float]] = {}  # what the nearest algorithm took here and there
    for other, timing in others.items():
        shared = []
        for key, ours in timings.items():
            theirs = timings.get(key.replace(f"{problem}/", f"{other}/", 1))
            if key.startswith(f"{problem}/") and theirs:
                until = min(queries, ours.queries, theirs.queries)
                times = ours.run(until), theirs.run(until), timing.run(until)
                if min(times) > 0:
                    shared.append((abs(math.log(times[1] / times[2])), times[0], times[1]))
        if shared:
            both[other] = min(shared)[1:]
    if here and both:
        factors = {name: cost_here / there for name, (cost_here, there) in both.items()}
        nearest = min(factors, key=lambda name: abs(math.log(factors[name])))
        return factors[nearest] * others[nearest].run(queries), [nearest]
    seconds = []
    for name in both or others:
        whole = others[name].run(queries)
        cost_here, there = both.get(name, (1.0, 1.0))
        if NEAR * there < whole:  # most of what the other algorithm took are evaluations
            seconds.append(max(whole + cost_here - there, cost_here))
        else:
            seconds.append(whole * cost_here / there)
    mean = math.exp(statistics.fmean(math.log(max(value, 1e-9)) for value in seconds))
    return mean, [*(both or others)]


def cost_in_paper(
    entry: PaperEntry, timings: Timings, problem: str, algorithm: str, queries: int, runs: float
) -> Cost | None:
    """`cost_of_job`, and for an algorithm that was never run what others of its type cost (same class,
    other parameters): on this problem if they were run on it; of several the most expensive."""
    if cost := cost_of_job(timings, problem, algorithm, queries, runs):
        return cost
    kind = entry.algorithms[algorithm].type
    costs = [
        cost._replace(how=f"as {name}: {cost.how}")
        for name, other in entry.algorithms.items()
        if other.type == kind and (cost := cost_of_job(timings, problem, name, queries, runs))
    ]
    best = max(costs, key=lambda cost: (cost.measured, cost.seconds), default=None)
    return best and best._replace(measured=False)


@functools.cache
def _published_cost(
    paper: str, folder: Path, problem: str, algorithm: str, queries: int, runs: int
) -> Cost | None:
    """`cost_of_job` by the published timings: a pair's blocks, most of them alike, ask several times."""
    return cost_of_job(_published(paper, folder), problem, algorithm, queries, runs)


def published_cost(
    config: Config, paper: str, scale: str, problem: str, algorithm: str, block: str
) -> Cost | None:
    """The cost of a block of runs by the published timings alone."""
    settings = run_settings(config, paper, scale, problem, algorithm)
    queries, runs = config.paper(paper).queries(settings), len(seed_list(block))
    return _published_cost(paper, Path.cwd(), problem, algorithm, queries, runs)


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
    """
    cost = published_cost(config, paper, scale, problem, algorithm, block)
    least = Resources(config.memory_mb, config.runtime_minutes)
    if cost is None:
        return least
    if cost.measured:
        least = Resources(MEMORY_FLOOR_MB, RUNTIME_FLOOR_MINUTES)
    memory = math.ceil(MEMORY_SAFETY * cost.memory_mb + MEMORY_EXTRA_MB)
    minutes = math.ceil(RUNTIME_SAFETY * cost.seconds / 60 + RUNTIME_EXTRA_MINUTES)
    return Resources(*map(max, least, (memory, minutes)))


def check_cores(cores: int) -> None:
    """Raise a `RepliboError` unless there is a core."""
    if cores < 1:
        raise RepliboError(f"--cores: must be a number >= 1, got {cores}")


def wall_seconds(seconds: Collection[float], cores: int) -> float:
    """Seconds that jobs take on ``cores`` free cores: their share of a core, or the longest job."""
    return max(sum(seconds) / cores, max(seconds, default=0.0))
