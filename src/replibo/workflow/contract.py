"""The contract of algorithms with the loop, checked on a class that somebody has just written.

The rule stands in `replibo.algorithms.base.Algorithm`: what is asked is a function of the history and of
the run's random streams. Without it a run cannot be repeated, nor go on after it was killed.
"""

from __future__ import annotations

import contextlib
import importlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.errors import ENDED, RepliboError, of_class
from replibo.problems.base import Problem
from replibo.problems.materials import CrossedBarrel
from replibo.problems.synthetic import Synthetic
from replibo.run.loop import Experiment, run_block
from replibo.run.traces import RUN_COLUMNS, Trace, check_diagnostics
from replibo.settings import checked
from replibo.streams import RunStreams

INITIAL = 5
SEARCHES = 12
"""Queries that the algorithm chooses in each run of the check."""
SEEDS = (0, 1)
STREAM = "draw from self.streams.algorithm_at(len(history))"
TORCH = (
    "take rng = self.streams.algorithm_at(len(history)), and draw in 'with "
    "torch.random.fork_rng():' after 'torch.manual_seed(int(rng.integers(2**31)))'"
)


def check(cls: type[Algorithm], parameters: Mapping[str, Any], *, finite: bool = False) -> None:
    """Run an algorithm for some queries of a small problem, again, and from the middle.

    Args:
        parameters: its settings.
        finite: take a finite problem, whose queries must be rows of its candidates.

    Raises:
        RepliboError: it fails; it leaves the domain; it draws random numbers of its own; its runs differ
            when they are repeated, resumed or run in another block; or it changes the history.
    """
    settings = checked(cls, dict(parameters))
    try:
        _check(cls, settings, finite)
    except RepliboError:
        raise
    except SystemExit as end:
        raise RepliboError(f"{cls.__name__}: {ENDED}") from end
    except Exception as error:
        raise RepliboError(f"{cls.__name__}: {of_class(error, cls)}") from error


def _check(cls: type[Algorithm], settings: dict[str, Any], finite: bool) -> None:
    problem: Problem = CrossedBarrel() if finite else Synthetic(function="Ackley", dim=2)

    if taken := {*cls.diagnostics} & {*RUN_COLUMNS}:
        raise RepliboError(
            f"{cls.__name__}: diagnostics must not be called as a column of the traces, got "
            f"{', '.join(sorted(taken))}"
        )
    told: dict[int, History] = {}

    def make(space: Space, streams: RunStreams) -> Algorithm:
        algorithm = cls(space, streams, **settings)
        ask, tell = algorithm.ask, algorithm.tell

        def typed(history: History, t: int) -> Proposal:
            before = history.X.tobytes() + history.y.tobytes()
            proposal = ask(history, t)
            if history.X.tobytes() + history.y.tobytes() != before:
                raise RepliboError(f"{cls.__name__}: ask must not change the history")
            if not isinstance(proposal, Proposal):
                kind = type(proposal).__name__
                raise RepliboError(f"{cls.__name__}: ask must return a Proposal, got {kind}")
            return proposal

        def keep(history: History) -> None:
            told[streams.seed] = history
            tell(history)

        algorithm.ask = typed  # type: ignore[method-assign]
        algorithm.tell = keep  # type: ignore[method-assign]
        return algorithm

    experiment = Experiment(
        paper="contract",
        problem_name="finite" if finite else "continuous",
        algorithm_name=cls.__name__,
        problem=problem,
        make_algorithm=make,
        horizon=SEARCHES,
        initial_points=INITIAL,
        first_round="search",
    )
    for module in ("scipy.stats", *cls.late_imports):  # SciPy draws examples while it is imported
        importlib.import_module(module)
    with _random_state_watched(cls.__name__):
        first = run_block(experiment, SEEDS)
    check_diagnostics(first)
    of_problem = {*first[0].diagnostics[0]}  # of an initial point
    for row in (row for trace in first for row in trace.diagnostics[INITIAL:]):
        if (carried := {*row} - of_problem) != {*cls.diagnostics}:
            raise RepliboError(
                f"{cls.__name__}: every proposal's diagnostics must be those that the class lists in its "
                f"diagnostics, {', '.join(cls.diagnostics) or 'none'}, got "
                f"{', '.join(sorted(carried)) or 'none'}"
            )
    whole = told[SEEDS[0]]
    again = run_block(experiment, SEEDS)
    if _digests(first) != _digests(again):
        raise RepliboError(
            f"{cls.__name__}: two runs of one seed differ, so that none can be repeated; {STREAM}"
        )
    if run_block(experiment, SEEDS[1:])[0].digest() != first[1].digest():
        raise RepliboError(
            f"{cls.__name__}: a run depends on the other seeds of its block; keep nothing in the class "
            "or module"
        )
    _check_resume(experiment, whole)


def _check_resume(experiment: Experiment, whole: History) -> None:
    """A new object that is told the first queries of the run of seed 0 must go on as the run did."""
    name, problem = experiment.algorithm_name, experiment.problem
    pool = None if problem.candidates is None else problem.to_unit(problem.candidates)
    space = Space(problem.dim, problem.noise_std, pool)
    for length in (INITIAL, INITIAL + 1, INITIAL + SEARCHES // 2, INITIAL + SEARCHES - 1):
        streams = RunStreams(experiment.paper, experiment.problem_name, name, SEEDS[0])
        algorithm = experiment.make_algorithm(space, streams)
        history = History(problem.dim, INITIAL)
        for x, y, row in zip(whole.X[:length], whole.y, whole.candidate, strict=False):
            history.append(x, float(y), int(row))
        algorithm.tell(history)
        asked = np.asarray(algorithm.ask(history, experiment.round(length)).x)
        if not np.array_equal(asked, whole.X[length]):
            raise RepliboError(
                f"{name}: a run that is resumed after {length} queries goes another way; what an object "
                "keeps between calls must be rebuilt from the history"
            )


def _digests(traces: list[Trace]) -> list[str]:
    return [trace.digest() for trace in traces]


@contextlib.contextmanager
def _random_state_watched(name: str) -> Iterator[None]:
    """Raise a `RepliboError` if numbers are drawn from a global generator, or if
    ``numpy.random.default_rng()`` is called without a seed."""
    kept, unseeded = np.random.default_rng, []

    def default_rng(seed: Any = None) -> np.random.Generator:
        if seed is None:
            unseeded.append(True)
        return kept(seed)

    before = _states()
    with mock.patch.object(np.random, "default_rng", default_rng):
        yield
    if unseeded:
        raise RepliboError(f"{name}: calls numpy.random.default_rng() without a seed; {STREAM}")
    after = _states()
    for source, state in before.items():
        if after[source] != state:
            advice = TORCH if source == "torch" else STREAM
            raise RepliboError(f"{name}: draws from the global generator of {source}; {advice}")


def _states() -> dict[str, Any]:
    """The states of the global generators."""
    _, keys, *rest = np.random.get_state(legacy=True)
    states: dict[str, Any] = {
        "numpy.random": (np.asarray(keys).tobytes(), *rest),
        "random": random.getstate(),
    }
    if "torch" in sys.modules:
        import torch

        states["torch"] = torch.get_rng_state().numpy().tobytes()
    return states
