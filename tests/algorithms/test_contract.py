"""What every algorithm owes the loop, whatever paper it belongs to.

The cases are the algorithm entries of every paper listed in ``config/config.yaml``, each on the first
continuous and the first finite problem that lists it, with stand-in data and a few queries: a new
entry is held to the contract as soon as it is there. Of entries that differ in numbers alone the first
stands for all.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from replibo import settings
from replibo.algorithms.base import Algorithm
from replibo.config import load, registry
from replibo.problems.base import Problem
from replibo.run import build
from replibo.run.loop import run_block

CONFIG = load.load(Path(__file__).parents[2] / "config")
_neuralbo = CONFIG.entries["neuralbo"]
for _name, _problem in _neuralbo.problems.items():
    if _problem.type == "synthetic.Synthetic":  # BoTorch's fits in 10-D take 0.5 s
        _small = {"parameters": {**_problem.parameters, "dim": 3}, "initial_points": 4}
        _neuralbo.problems[_name] = _problem.model_copy(update=_small)
for _entry in _neuralbo.algorithms.values():
    if "epochs" in _entry.parameters:  # of the released code, which trains after every query
        _entry.parameters["epochs"] = 5
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
                    case = (algorithm.type, repr(kind), _is_finite(problem_entry.type))
                    if case not in seen:
                        yield paper, problem, name
                    seen.add(case)


def _kind(name: str, given: dict[str, object]) -> dict[str, object]:
    """All settings, the defaults among them; numbers stand for each other, but 0, which may switch a part
    off."""
    defaults = settings.parameters(registry.load("algorithms", name))
    values = {key: given.get(key, parameter.default) for key, parameter in defaults.items()}
    return {
        key: "a number" if type(value) in (int, float) and value else value
        for key, value in values.items()
    }


@functools.cache
def _is_finite(problem: str) -> bool:
    """Whether the class sets its candidates; by its source, for some take half a minute to be made."""
    classes = {*registry.load("problems", problem).__mro__} - {*Problem.__mro__}
    return any(re.search(r"self\.candidates\b.* = ", inspect.getsource(cls)) for cls in classes)


CASES = list(_cases())
TYPES = {e.type for paper in CONFIG.papers for e in CONFIG.paper(paper).algorithms.values()}


def _disturb_global_generators(seed: int) -> None:
    np.random.seed(seed)
    torch.manual_seed(seed)


def test_every_entry_is_listed_by_a_problem_and_every_type_is_tested() -> None:
    for paper in CONFIG.papers:
        listed = {algorithm for p, _, algorithm in LISTED if p == paper}
        assert listed == set(CONFIG.paper(paper).algorithms), "an entry that no problem lists"
    assert {CONFIG.paper(paper).algorithms[name].type for paper, _, name in CASES} == TYPES


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_run_is_the_same_bit_for_bit_in_a_block_alone_and_resumed(
    case: tuple[str, str, str], tmp_path: Path
) -> None:
    paper, problem, algorithm = case
    experiment = build.experiment(CONFIG, paper, "smoke", problem, algorithm)
    assert _is_finite(CONFIG.paper(paper).problems[problem].type) == (
        experiment.problem.candidates is not None
    )
    last_query = experiment.initial_points + SEARCHES - 1
    experiment = replace(experiment, horizon=experiment.round(last_query))

    def digests(seeds: tuple[int, ...], folder: Path | None = None) -> list[str]:
        return [t.digest() for t in run_block(experiment, seeds, journal_folder=folder)]

    expected = digests(SEEDS, tmp_path)
    assert len(set(expected)) == len(SEEDS)
    # killed before the last query: new objects are told the queries before it at once
    for journal in tmp_path.iterdir():
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    _disturb_global_generators(0)
    assert digests(SEEDS, tmp_path) == expected
    _disturb_global_generators(1)
    assert digests(SEEDS[1:]) == expected[1:]


@pytest.mark.parametrize("name", sorted(TYPES))
def test_docstrings(name: str) -> None:
    """Each setting is explained in the docstring of the class, or in that of a base."""
    cls = registry.load("algorithms", name)
    texts = [cls.__doc__, sys.modules[cls.__module__].__doc__, *cls.diagnostics.values()]
    assert all(text and text.strip() for text in texts)
    explained = " ".join(inspect.cleandoc(base.__doc__ or "") for base in cls.__mro__)
    for base in cls.__mro__:
        if "__init__" in vars(base) and base not in (Algorithm, object):
            for parameter in inspect.signature(base).parameters.values():
                if parameter.kind is parameter.KEYWORD_ONLY:
                    assert parameter.name in explained, parameter.name
