"""What every algorithm owes the loop, whatever paper it belongs to.

The cases are the algorithm entries of every paper listed in ``config/config.yaml``, each on the first
continuous and the first finite problem that lists it, with stand-in data and a few queries: a new
entry is held to the contract as soon as it is there. Of entries that differ in numbers alone the first
stands for all.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from replibo import settings
from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.config import load, registry
from replibo.problems.base import Problem
from replibo.run import build
from replibo.run.loop import Experiment, run_block
from replibo.run.traces import Trace
from replibo.streams import RunStreams

CONFIG = load.load(Path(__file__).parents[2] / "config")
for _entry in CONFIG.entries["neuralbo"].algorithms.values():
    if _entry.parameters.get("variance") == "printed":
        # a p x p matrix, p = m (d + 2): at the paper's m = 500 each of some 30 queries would take 1.2 s
        _entry.parameters["width"] = 50
    if _entry.parameters.get("candidates", 0) > 1000:
        _entry.parameters["candidates"] = 256  # 0.8 s a query otherwise
    if _entry.type.startswith("gp_botorch."):
        _entry.parameters.update({"restarts": 2, "raw_samples": 32})
for _entry in CONFIG.entries["lb_gp_ucb"].algorithms.values():
    if _entry.type.startswith("gp_ucb_mcmc."):
        _entry.parameters.update({"warmup": 15, "samples": 15})
for _problem in CONFIG.entries["bbo"].problems.values():
    _problem.parameters["iterations"] = 2  # of SGD, for each of hundreds of queries
SEARCHES = 2  # queries after the initial points
SEEDS = (0, 1)


LISTED = {
    (paper, problem, algorithm)
    for paper in CONFIG.papers
    for problem in CONFIG.paper(paper).problems
    for algorithm in CONFIG.paper(paper).settings("paper", problem).algorithms or []
}


def _cases() -> Iterator[tuple[str, str, str]]:
    """(paper, problem, algorithm)"""
    seen = set()
    for paper in CONFIG.papers:
        entry = CONFIG.paper(paper)
        for name, algorithm in entry.algorithms.items():
            kind = _kind(algorithm.type, algorithm.parameters)
            for problem, problem_entry in entry.problems.items():
                if (paper, problem, name) in LISTED:
                    made = (algorithm.type, repr(kind), _is_finite(problem_entry.type))
                    if made not in seen:
                        yield paper, problem, name
                    seen.add(made)


def _kind(name: str, given: dict[str, object]) -> dict[str, object]:
    """All settings, the defaults among them; numbers stand for each other, but 0, which may switch a part
    off."""
    known = settings.parameters(registry.load("algorithms", name))
    values = {key: given.get(key, own.default) for key, own in known.items()}
    return {
        key: "a number" if type(value) in (int, float) and value else value
        for key, value in values.items()
    }


@functools.cache
def _is_finite(problem: str) -> bool:
    """Whether the class sets its candidates; by its source, for some take half a minute to be made."""
    own = [c for c in registry.load("problems", problem).__mro__ if c not in Problem.__mro__]
    return any(re.search(r"self\.candidates\b.* = ", inspect.getsource(cls)) for cls in own)


CASES = list(_cases())
Case = tuple[str, str, str]


@functools.cache
def _experiment(case: Case) -> Experiment:
    paper, problem, algorithm = case
    experiment = build.experiment(CONFIG, paper, "smoke", problem, algorithm)
    last_query = experiment.initial_points + SEARCHES - 1
    return replace(experiment, horizon=experiment.round(last_query))


@dataclass
class Record:
    """One run, and its history as the algorithm was told it after each query."""

    trace: Trace
    X: np.ndarray
    y: np.ndarray
    candidate: np.ndarray


def _record(experiment: Experiment, seeds: Sequence[int]) -> dict[int, Record]:
    """Run the seeds by the loop; the histories are those that `Algorithm.tell` was given."""
    told: dict[int, History] = {}

    def make(space: Space, streams: RunStreams) -> Algorithm:
        algorithm = experiment.make_algorithm(space, streams)
        tell = algorithm.tell

        def spy(history: History) -> None:
            told[streams.seed] = history
            tell(history)

        algorithm.tell = spy  # type: ignore[method-assign]
        return algorithm

    traces = run_block(replace(experiment, make_algorithm=make), seeds)
    return {
        trace.seed: Record(
            trace,
            told[trace.seed].X.copy(),
            told[trace.seed].y.copy(),
            told[trace.seed].candidate.copy(),
        )
        for trace in traces
    }


@functools.cache
def _reference(case: Case) -> dict[int, Record]:
    """The runs of `SEEDS` in one block."""
    return _record(_experiment(case), SEEDS)


def _history(case: Case, seed: int, n: int) -> History:
    """The first n queries of the reference run."""
    record = _reference(case)[seed]
    history = History(record.X.shape[1], _experiment(case).initial_points)
    for i in range(n):
        history.append(record.X[i], float(record.y[i]), int(record.candidate[i]))
    return history


def _space(case: Case) -> Space:
    problem = _experiment(case).problem
    pool = None if problem.candidates is None else problem.to_unit(problem.candidates)
    return Space(problem.dim, problem.noise_std, pool)


def _fresh(case: Case, seed: int, history: History) -> Algorithm:
    """A new object, told the whole history once, as when a killed run is resumed."""
    made = _experiment(case).make_algorithm(_space(case), RunStreams(*case, seed))
    made.tell(history)
    return made


def _assert_recorded(case: Case, seed: int, length: int, proposal: Proposal) -> None:
    """Bit for bit what the reference run, told after every query, asked at this length."""
    record = _reference(case)[seed]
    assert proposal.x.tobytes() == record.X[length].tobytes()
    assert proposal.candidate == record.candidate[length]
    told = record.trace.diagnostics[length]
    for name, value in proposal.diagnostics.items():
        assert np.float64(value).tobytes() == np.float64(told[name]).tobytes(), name


def _disturb_global_generators(seed: int) -> None:
    np.random.seed(seed)
    if "torch" in sys.modules:
        import torch

        torch.manual_seed(seed)


@pytest.fixture(params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param  # type: ignore[no-any-return]


# The contract:


def test_every_entry_is_listed_by_a_problem_and_every_type_is_tested() -> None:
    for paper in CONFIG.papers:
        listed = {algorithm for p, _, algorithm in LISTED if p == paper}
        assert listed == set(CONFIG.paper(paper).algorithms), "an entry that no problem lists"
    types = {
        entry.type for paper in CONFIG.papers for entry in CONFIG.paper(paper).algorithms.values()
    }
    assert {CONFIG.paper(paper).algorithms[name].type for paper, _, name in CASES} == types


def test_proposals_lie_in_the_domain(case: Case) -> None:
    experiment, space = _experiment(case), _space(case)
    paper, problem, _ = case
    finite = _is_finite(CONFIG.paper(paper).problems[problem].type)
    assert finite == (space.candidates is not None)
    n = experiment.initial_points
    for record in _reference(case).values():
        assert record.X.shape == (n + SEARCHES, space.dim)
        assert np.all((record.X >= 0) & (record.X <= 1))
        if space.candidates is None:
            assert np.all(record.candidate == -1)
        else:
            np.testing.assert_array_equal(space.candidates[record.candidate], record.X)


def test_ask_is_a_function_of_history_and_round(case: Case) -> None:
    n = _experiment(case).initial_points
    for length, asks in ((n, 1), (n + SEARCHES - 1, 2)):
        history = _history(case, 0, length)
        X, y = history.X.copy(), history.y.copy()
        algorithm = _fresh(case, 0, history)
        for _ in range(asks):
            _disturb_global_generators(length)
            proposal = algorithm.ask(history, _experiment(case).round(length))
            _assert_recorded(case, 0, length, proposal)
        assert set(proposal.diagnostics) == set(algorithm.diagnostics)
        # asking changes nothing in the history
        assert len(history) == length
        np.testing.assert_array_equal(history.X, X)
        np.testing.assert_array_equal(history.y, y)


def test_ask_block_is_ask_for_each_run(case: Case) -> None:
    length = _experiment(case).initial_points + 1
    histories = [_history(case, seed, length) for seed in SEEDS]
    runs = [_fresh(case, seed, h) for seed, h in zip(SEEDS, histories, strict=True)]
    block = type(runs[0]).ask_block(runs, histories, _experiment(case).round(length))
    for seed, proposal in zip(SEEDS, block, strict=True):
        _assert_recorded(case, seed, length, proposal)


def test_a_seed_does_not_depend_on_its_block(case: Case) -> None:
    experiment = _experiment(case)
    expected = {seed: record.trace.digest() for seed, record in _reference(case).items()}
    assert len(set(expected.values())) == len(SEEDS)
    _disturb_global_generators(1)
    (alone,) = run_block(experiment, (1,))
    assert alone.seed == 1
    assert alone.digest() == expected[1]


def test_diagnostics_are_those_declared(case: Case) -> None:
    experiment = _experiment(case)
    n = experiment.initial_points
    declared = type(experiment.make_algorithm(_space(case), RunStreams(*case, 1))).diagnostics
    assert all(isinstance(text, str) and text.strip() for text in declared.values())
    for record in _reference(case).values():
        for query, told in enumerate(record.trace.diagnostics):
            searching = query >= n
            assert (set(declared) <= set(told)) if searching else not set(declared) & set(told)
            for name in declared if searching else ():
                assert isinstance(told[name], float), name
                assert not math.isnan(told[name]), name


def test_phases_and_rounds(case: Case) -> None:
    experiment = _experiment(case)
    n = experiment.initial_points
    first = 1 if experiment.first_round == "initial" else 1 - n
    for record in _reference(case).values():
        assert record.trace.phase == ["initial"] * n + ["search"] * SEARCHES
        assert record.trace.t == list(range(first, first + n + SEARCHES))


@pytest.mark.parametrize(
    ("paper", "problem"), sorted({case[:2] for case in CASES}), ids=lambda name: name
)
def test_initial_points_are_shared_by_the_algorithms_of_a_problem(paper: str, problem: str) -> None:
    cases = [case for case in CASES if case[:2] == (paper, problem)]
    n = _experiment(cases[0]).initial_points
    for seed in SEEDS:
        first = _reference(cases[0])[seed]
        for case in cases[1:]:
            other = _reference(case)[seed]
            np.testing.assert_array_equal(other.X[:n], first.X[:n])
            np.testing.assert_array_equal(other.y[:n], first.y[:n])  # the noise is shared too
            assert other.trace.x[:n] == first.trace.x[:n]
    one, other = (_reference(cases[0])[seed] for seed in SEEDS)
    assert not np.array_equal(one.X[:n], other.X[:n])


def test_docstrings(case: Case) -> None:
    cls = type(_experiment(case).make_algorithm(_space(case), RunStreams(*case, 0)))
    for found in (cls.__doc__, sys.modules[cls.__module__].__doc__):
        assert found and found.strip()
    # each setting of its own is explained in the class's docstring, or in that of a base
    explained = " ".join(inspect.cleandoc(base.__doc__ or "") for base in cls.__mro__)
    for base in cls.__mro__:
        if "__init__" in vars(base) and base not in (Algorithm, object):
            for parameter in inspect.signature(base).parameters.values():
                if parameter.kind is parameter.KEYWORD_ONLY:
                    assert parameter.name in explained, parameter.name
