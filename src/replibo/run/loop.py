"""The ask-tell loop: runs a block of seeds of one problem with one algorithm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

# A journal's record: x, candidate, y, f, diagnostics, seconds, peak memory.
RECORD_FIELDS = 7


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
        given_points: ``n x d``, native coordinates: initial points given by hand (`given_points`)
            instead of drawn; then ``initial_points`` is n.
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
            for record in journal.records[: experiment.queries]:
                if len(record) != RECORD_FIELDS:
                    raise RepliboError(
                        f"{journal.path}: a record of {len(record)} fields is not allowed; one of "
                        f"{RECORD_FIELDS} is; delete the file, and the run starts from its beginning"
                    )
                self._store(*record)
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
        """Ask the problem, and write the query into journal, history and trace."""
        problem, space, n = self.problem, self.space, len(self.history)
        start = time.process_time()
        x = _checked(proposal, space, self._where(n))
        observation = problem.observe(
            problem.to_native(x)
            if space.candidates is None
            # a pool's own row: what was converted to the unit cube and back need not be the same bits
            else problem.candidates[proposal.candidate],  # type: ignore[index]
            self.streams,
            n,
        )
        for name, value in (("y", observation.y), ("f", observation.f)):
            if not math.isfinite(value):
                raise RepliboError(
                    f"{self._where(n)}: the observation {name} is {value}; allowed: finite numbers"
                )
        evaluated = time.process_time()
        record: list[Any] = [
            [float(v) for v in x],
            proposal.candidate,
            float(observation.y),
            float(observation.f),
            {**proposal.diagnostics, **observation.diagnostics},
            [ask_seconds, 0.0, evaluated - start],
            0.0,
        ]
        # The algorithm is told before the journal is written, so that the time and the memory this
        # takes are in the record; a kill in between costs one query, which the resumed run makes again,
        # equal.
        self._store(*record)
        self.algorithm.tell(self.history)
        self.trace.seconds[-1][1] = time.process_time() - evaluated
        # An algorithm that computes on a GPU has it as its setting ``device``.
        record[-1] = self.trace.peak_mib[-1] = peak_mib(getattr(self.algorithm, "device", "cpu"))
        if self.journal:
            self.journal.append(record)

    def _store(
        self,
        x: list[float],
        candidate: int,
        y: float,
        f: float,
        diagnostics: dict[str, float],
        seconds: list[float],
        peak: float,
    ) -> None:
        experiment, n = self.experiment, len(self.history)
        unit = np.asarray(x)
        pool = self.problem.candidates
        native = self.problem.to_native(unit) if pool is None else pool[candidate]
        self.history.append(unit, y, candidate)
        trace = self.trace
        trace.t.append(experiment.round(n))
        trace.phase.append("initial" if n < experiment.initial_points else "search")
        trace.x.append([float(v) for v in native])
        trace.y.append(y)
        trace.f.append(f)
        trace.seconds.append(seconds)
        trace.diagnostics.append(diagnostics)
        trace.peak_mib.append(peak)

    def _where(self, query: int) -> str:
        e = self.experiment
        return f"{e.paper} {e.problem_name} {e.algorithm_name}, seed {self.trace.seed}, query {query + 1}"


def _space(problem: Problem) -> Space:
    candidates = None if problem.candidates is None else problem.to_unit(problem.candidates)
    return Space(problem.dim, problem.noise_std, candidates)


def _checked(proposal: Proposal, space: Space, where: str) -> np.ndarray:
    """The proposed point, or a `RepliboError` where it is not in the domain."""
    x = np.asarray(proposal.x, dtype=np.float64)
    if x.shape != (space.dim,) or not np.all((x >= 0) & (x <= 1)):
        raise RepliboError(
            f"{where}: the algorithm proposed {x}; allowed: a point of the {space.dim}-D unit cube"
        )
    if space.candidates is not None and not (
        0 <= proposal.candidate < len(space.candidates)
        and np.array_equal(space.candidates[proposal.candidate], x)
    ):
        raise RepliboError(
            f"{where}: the algorithm proposed {x}, which is not row {proposal.candidate} of the pool"
        )
    return x


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
            f"initial points: {x.tolist()} is not in the pool; allowed: one of its "
            f"{len(problem.candidates)} points, the nearest is {problem.candidates[row].tolist()}"
        )
    return row


def check_experiment(experiment: Experiment) -> None:
    """Raise a `RepliboError` where the problem and the settings do not go together."""
    pool, n = experiment.problem.candidates, experiment.initial_points
    if experiment.given_points is not None:
        _check_given(experiment.given_points, experiment.problem)
    if pool is not None and len(pool) < n:
        raise RepliboError(
            f"{experiment.paper} {experiment.problem_name}: the pool has {len(pool)} points, fewer "
            f"than the {n} initial points"
        )
    if experiment.queries <= n:
        raise RepliboError(
            f"{experiment.paper} {experiment.problem_name}: horizon {experiment.horizon} leaves no "
            f"query after the {n} initial points; allowed: a larger horizon"
        )


def _check_given(points: Array, problem: Problem) -> None:
    """Raise a `RepliboError` where a given initial point is not in the domain."""
    if points.ndim != 2 or points.shape[1] != problem.dim or len(points) == 0:
        raise RepliboError(
            f"initial points: an array of shape {points.shape} is not allowed; one of shape "
            f"n x {problem.dim} is"
        )
    lower, upper = problem.bounds
    for x in points:
        if not np.all((x >= lower) & (x <= upper)):
            raise RepliboError(
                f"initial points: {x.tolist()} is not in the domain; allowed: from {lower.tolist()} "
                f"to {upper.tolist()}"
            )
        if problem.candidates is not None:
            pool_row(problem, x)


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
    check_experiment(experiment)
    journals: list[Journal] = []
    try:
        for seed in seeds if journal_folder else ():
            journals.append(Journal(journal_path(journal_folder, seed), identity))  # type: ignore[arg-type]
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
