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
_neuralbo = CONFIG.entries["neuralbo"]
for _name, _problem in _neuralbo.problems.items():
    if _problem.type == "synthetic.Synthetic":  # BoTorch's fits in 10-D take 0.5 s
        _small = {"parameters": {**_problem.parameters, "dim": 3}, "initial_points": 4}
        _neuralbo.problems[_name] = _problem.model_copy(update=_small)
for _entry in _neuralbo.algorithms.values():
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


def test_ask_is_a_function_of_history_and_round(case: Case) -> None:
    """New objects that are asked as a block, as after a resume, and one that is asked again."""
    length = _experiment(case).initial_points + SEARCHES - 1
    t = _experiment(case).round(length)
    histories = [_history(case, seed, length) for seed in SEEDS]
    before = [(history.X.tobytes(), history.y.tobytes()) for history in histories]
    runs = [_fresh(case, seed, h) for seed, h in zip(SEEDS, histories, strict=True)]
    _disturb_global_generators(0)
    for seed, proposal in zip(SEEDS, type(runs[0]).ask_block(runs, histories, t), strict=True):
        _assert_recorded(case, seed, length, proposal)
        assert proposal.diagnostics.keys() == runs[0].diagnostics.keys()
        assert all(type(v) is float and not math.isnan(v) for v in proposal.diagnostics.values())
    _disturb_global_generators(1)
    _assert_recorded(case, SEEDS[0], length, runs[0].ask(histories[0], t))
    assert before == [(history.X.tobytes(), history.y.tobytes()) for history in histories]


def test_a_seed_does_not_depend_on_its_block(case: Case) -> None:
    experiment = _experiment(case)
    assert _is_finite(CONFIG.paper(case[0]).problems[case[1]].type) == (
        experiment.problem.candidates is not None
    )
    expected = {seed: record.trace.digest() for seed, record in _reference(case).items()}
    assert len(set(expected.values())) == len(SEEDS)
    _disturb_global_generators(1)
    (alone,) = run_block(experiment, (1,))
    assert alone.seed == 1
    assert alone.digest() == expected[1]


def test_docstrings(case: Case) -> None:
    cls = type(_experiment(case).make_algorithm(_space(case), RunStreams(*case, 0)))
    assert all(isinstance(text, str) and text.strip() for text in cls.diagnostics.values())
    for found in (cls.__doc__, sys.modules[cls.__module__].__doc__):
        assert found and found.strip()
    # each setting of its own is explained in the class's docstring, or in that of a base
    explained = " ".join(inspect.cleandoc(base.__doc__ or "") for base in cls.__mro__)
    for base in cls.__mro__:
        if "__init__" in vars(base) and base not in (Algorithm, object):
            for parameter in inspect.signature(base).parameters.values():
                if parameter.kind is parameter.KEYWORD_ONLY:
                    assert parameter.name in explained, parameter.name
