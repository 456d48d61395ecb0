"""The ask-tell loop: runs a block of seeds of one problem with one algorithm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.run.journal import Journal
from replibo.run.memory import peak_mib
from replibo.run.traces import Trace
from replibo.streams import RunStreams
from replibo.threads import one_thread


@dataclass
class Record:
    """One query, as the journal keeps it.

    Attributes:
        x: the point, in the unit cube.
        candidate: its row in the pool of a finite problem, -1 elsewhere.
        y, f: the observed value and the noise-free one.
        diagnostics: the algorithm's and the problem's.
        ask_seconds, tell_seconds, evaluate_seconds: CPU seconds.
        peak_mib: the most memory that the process has held so far.
    """

    x: list[float]
    candidate: int
    y: float
    f: float
    diagnostics: dict[str, float]
    ask_seconds: float
    tell_seconds: float
    evaluate_seconds: float
    peak_mib: float


@dataclass(frozen=True)
class Experiment:
    """What the runs of one problem and algorithm have in common.

    Attributes:
        paper, problem_name, algorithm_name: the names in the config; random streams are named by
            them.
        problem: the black box.
        make_algorithm: called with (space, streams) for each run.
        horizon: T, the last round.
        initial_points: number of initial points.
        first_round: which query is t = 1, the first ``initial`` point or the first ``search`` one.
        given_points: ``n x d``, native coordinates: initial points given by hand instead of drawn;
            then ``initial_points`` is n.
    """

    paper: str
    problem_name: str
    algorithm_name: str
    problem: Problem
    make_algorithm: Callable[[Space, RunStreams], Algorithm]
    horizon: int
    initial_points: int
    first_round: Literal["initial", "search"]
    given_points: Array | None = None

    @property
    def queries(self) -> int:
        """Number of queries of a run."""
        return self.query_of(self.horizon) + 1

    def round(self, query: int) -> int:
        """The round t of the ``query``-th query (0, 1, …)."""
        return query + 1 - (self.initial_points if self.first_round == "search" else 0)

    def query_of(self, t: int) -> int:
        """The query (0, 1, …) made at round t."""
        return t - 1 + (self.initial_points if self.first_round == "search" else 0)


class _Run:
    """One seed: its history, its algorithm, its trace, its journal."""

    def __init__(
        self,
        experiment: Experiment,
        seed: int,
        journal: Journal | None,
        spaces: dict[Problem, Space],
    ) -> None:
        self.experiment = experiment
        self.streams = RunStreams(
            experiment.paper, experiment.problem_name, experiment.algorithm_name, seed
        )
        problem = self.problem = experiment.problem.of_seed(seed)
        # Runs of one problem share its space: a pool may be hundreds of megabytes.
        if problem not in spaces:
            spaces[problem] = _space(problem)
        self.space = spaces[problem]
        self.history = History(problem.dim, experiment.initial_points, experiment.queries)
        self.algorithm = experiment.make_algorithm(self.space, self.streams)
        self.trace = Trace(seed)
        self.journal = journal
        if journal and journal.records:
            for kept in journal.records[: experiment.queries]:
                record = _record(kept, journal)
                self._observed(record)
                self._recorded(record)
            self.algorithm.tell(self.history)

    def __len__(self) -> int:
        return len(self.history)

    def initial_proposals(self) -> list[Proposal]:
        """The initial points: uniform in the cube, or distinct rows of a finite problem's pool; or
        those that were given."""
        n, rng = self.experiment.initial_points, self.streams.initial()
        pool, given = self.space.candidates, self.experiment.given_points
        if given is not None:
            if pool is None:
                return [Proposal(x) for x in self.problem.to_unit(given)]
            found = [pool_row(self.problem, x) for x in given]
            return [Proposal(pool[row], row) for row in found]
        if pool is None:
            return [Proposal(x) for x in rng.uniform(size=(n, self.space.dim))]
        rows = rng.choice(len(pool), size=n, replace=False)
        return [Proposal(pool[row], int(row)) for row in rows]

    def query(self, proposal: Proposal, ask_seconds: float) -> None:
        """Make the proposed query, tell the algorithm, and write it into trace and journal."""
        problem, n = self.problem, len(self.history)
        start = time.process_time()
        x = self._checked(proposal)
        observation = problem.observe(self._native(x, proposal.candidate), self.streams, n)
        for name, value in (("y", observation.y), ("f", observation.f)):
            if not math.isfinite(value):
                raise RepliboError(
                    f"{_where(self)}: the observation {name} must be finite, got {value}"
                )
        evaluated = time.process_time()
        record = Record(
            x=x.tolist(),
            candidate=proposal.candidate,
            y=float(observation.y),
            f=float(observation.f),
            diagnostics={**proposal.diagnostics, **observation.diagnostics},
            ask_seconds=ask_seconds,
            tell_seconds=0.0,
            evaluate_seconds=evaluated - start,
            peak_mib=0.0,
        )
        # The algorithm is told before the journal is written, so that the time and the memory this
        # takes are in the record. A kill in between costs one query: the resumed run makes it again,
        # bit for bit.
        self._observed(record)
        self.algorithm.tell(self.history)
        record.tell_seconds = time.process_time() - evaluated
        # An algorithm that computes on a GPU has it as its setting ``device``.
        record.peak_mib = peak_mib(getattr(self.algorithm, "device", "cpu"))
        self._recorded(record)
        if self.journal:
            self.journal.append(astuple(record))

    def _native(self, x: Array, candidate: int) -> Array:
        """The point in native coordinates. For a pool it is the pool's own row, as a conversion to
        the unit cube and back need not keep its bits."""
        pool = self.problem.candidates
        native: Array = self.problem.to_native(x) if pool is None else pool[candidate]
        return native

    def _checked(self, proposal: Proposal) -> Array:
        """The proposed point, or a `RepliboError` where it is not in the domain."""
        x = np.asarray(proposal.x, dtype=np.float64)
        row, pool = proposal.candidate, self.space.candidates
        if x.shape != (self.space.dim,) or not np.all((x >= 0) & (x <= 1)):
            raise RepliboError(
                f"{_where(self)}: the algorithm's proposal must have the shape ({self.space.dim},), got "
                f"{x.shape}"
                if x.shape != (self.space.dim,)
                else f"{_where(self)}: the algorithm's proposal must be numbers, got {x}"
                if np.isnan(x).any()
                else f"{_where(self)}: the algorithm's proposal must be a point of the "
                f"{self.space.dim}-D unit cube, got {x}"
            )
        if pool is not None and not (0 <= row < len(pool) and np.array_equal(pool[row], x)):
            raise RepliboError(
                f"{_where(self)}: the algorithm's proposal must be row {row} of the pool, got {x}"
                if 0 <= row < len(pool)
                else f"{_where(self)}: the algorithm's Proposal.candidate must be a row of the "
                f"pool, 0 to {len(pool) - 1}, got {row}"
            )
        return x

    def _observed(self, record: Record) -> None:
        """Append a query to what the algorithm sees."""
        self.history.append(np.asarray(record.x), record.y, record.candidate)

    def _recorded(self, record: Record) -> None:
        """Append a query, the last one of the history, to the trace."""
        experiment, trace, n = self.experiment, self.trace, len(self.trace)
        trace.t.append(experiment.round(n))
        trace.phase.append("initial" if n < experiment.initial_points else "search")
        trace.x.append(self._native(np.asarray(record.x), record.candidate).tolist())
        trace.y.append(record.y)
        trace.f.append(record.f)
        trace.seconds.append([record.ask_seconds, record.tell_seconds, record.evaluate_seconds])
        trace.diagnostics.append(record.diagnostics)
        trace.peak_mib.append(record.peak_mib)


def _record(kept: list[Any], journal: Journal) -> Record:
    """A journal's line as a record."""
    if len(kept) != len(fields(Record)):
        raise RepliboError(
            f"{journal.path}: a record must have {len(fields(Record))} fields, got {len(kept)}; "
            "delete the file, and the run starts from the beginning"
        )
    return Record(*kept)


def _where(run: _Run) -> str:
    """The query that a run is about to make, for messages."""
    e = run.experiment
    query = len(run.history) + 1
    return f"{e.paper} {e.problem_name} {e.algorithm_name}, seed {run.trace.seed}, query {query}"


def _space(problem: Problem) -> Space:
    candidates = None if problem.candidates is None else problem.to_unit(problem.candidates)
    return Space(problem.dim, problem.noise_std, candidates)


def pool_row(problem: Problem, x: Array) -> int:
    """The row of a finite problem's ``candidates`` that is ``x`` (native; to 1e-9 of the ranges).

    Raises:
        RepliboError: there is none.
    """
    assert problem.candidates is not None
    lower, upper = problem.bounds
    distances = np.max(np.abs(problem.candidates - x) / (upper - lower), axis=1)
    row = int(np.argmin(distances))
    if not distances[row] <= 1e-9:
        raise RepliboError(
            f"initial points: must be one of the pool's {len(problem.candidates)} points, "
            f"got {x.tolist()}; the nearest is {problem.candidates[row].tolist()}"
        )
    return row


LARGEST_BLOCK = 10**8
"""Coordinates of all queries of a block of seeds, at most: they are kept in memory."""


def check_experiment(experiment: Experiment, runs: int = 1) -> None:
    """Raise a `RepliboError` where the problem and the settings do not go together."""
    pool, n = experiment.problem.candidates, experiment.initial_points
    if experiment.given_points is not None:
        _check_given(experiment.given_points, experiment.problem)
    if pool is not None and len(pool) < n:
        raise RepliboError(
            f"{experiment.paper} {experiment.problem_name}: initial_points must be at most "
            f"{len(pool)}, the size of the pool, got {n}"
        )
    if (numbers := runs * experiment.queries * experiment.problem.dim) > LARGEST_BLOCK:
        raise RepliboError(
            f"{experiment.paper} {experiment.problem_name}: {runs} runs of {experiment.queries} "
            f"{experiment.problem.dim}-D queries must be at most {LARGEST_BLOCK} numbers, got {numbers}; "
            "allowed: fewer seeds or a smaller horizon"
        )
    if experiment.queries <= n:
        raise RepliboError(
            f"{experiment.paper} {experiment.problem_name}: horizon must be at least "
            f"{experiment.round(n)}, one query after the {n} initial points, "
            f"got {experiment.horizon}"
        )


def _check_given(points: Array, problem: Problem) -> None:
    """Raise a `RepliboError` where a given initial point is not in the domain."""
    if points.ndim != 2 or points.shape[1] != problem.dim or len(points) == 0:
        raise RepliboError(
            f"initial points: must be an array of shape n x {problem.dim}, got shape {points.shape}"
        )
    lower, upper = problem.bounds
    for x in points:
        if not np.all((x >= lower) & (x <= upper)):
            raise RepliboError(
                f"initial points: must lie between {lower.tolist()} and {upper.tolist()}, "
                f"got {x.tolist()}"
            )
        if problem.candidates is not None:
            pool_row(problem, x)


@one_thread()
def run_block(
    experiment: Experiment,
    seeds: Sequence[int],
    *,
    journal_folder: Path | None = None,
    identity: str = "",
    report: Callable[[int, int], None] | None = None,
) -> list[Trace]:
    """Run the seeds of a block, all standing at the same round, and return their traces.

    Args:
        experiment: problem, algorithm and settings.
        seeds: the seeds; each one's trace is the same whatever block it is run in.
        journal_folder: where the journals are kept while the runs go on; None keeps none. The
            caller removes them (`journal_path`) once the traces are in place.
        identity: the digest under which journals are found again.
        report: called with (queries done, queries in all) now and then.

    Raises:
        RepliboError: an observation is not finite, a proposal lies outside the domain, a journal is
            damaged. What had been observed stays in the journals.
    """
    check_experiment(experiment, len(seeds))
    journals: list[Journal] = []
    try:
        for seed in seeds if journal_folder else ():
            journals.append(Journal(journal_path(journal_folder, seed), identity, seed))  # type: ignore[arg-type]
        spaces: dict[Problem, Space] = {}
        runs = [
            _Run(experiment, seed, journals[i] if journals else None, spaces)
            for i, seed in enumerate(seeds)
        ]
        total = experiment.queries
        while waiting := [run for run in runs if len(run) < total]:
            # The runs that are furthest behind (after a kill, journals differ in length) go first,
            # so that runs at the same round share one vectorised ask.
            n = min(len(run) for run in waiting)
            group = [run for run in waiting if len(run) == n]
            start = time.process_time()
            if n < experiment.initial_points:
                proposals = [run.initial_proposals()[n] for run in group]
            else:
                proposals = type(group[0].algorithm).ask_block(
                    [run.algorithm for run in group],
                    [run.history for run in group],
                    experiment.round(n),
                )
            share = (time.process_time() - start) / len(group)
            for run, proposal in zip(group, proposals, strict=True):
                run.query(proposal, share)
            if report:
                report(sum(len(run) for run in runs), total * len(runs))
        return [run.trace for run in runs]
    finally:
        for journal in journals:
            journal.close()


def journal_path(folder: Path, seed: int) -> Path:
    """The journal of one seed."""
    return folder / f"seed_{seed}.jsonl"
