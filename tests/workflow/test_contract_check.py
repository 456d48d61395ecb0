"""The contract as it is checked on a class of a reader's file."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from replibo.algorithms.base import Algorithm, History, Proposal
from replibo.algorithms.gp_ts import GpTs
from replibo.algorithms.random_search import RandomSearch
from replibo.config import registry
from replibo.errors import RepliboError
from replibo.workflow import contract

FILE = '''
"""Uniform points."""

from replibo.algorithms.base import Algorithm, History, Proposal


class Uniform(Algorithm):
    """Uniform points in the cube."""

    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(self.streams.algorithm_at(len(history)).uniform(size=self.space.dim))
'''


DRAWN = "self.streams.algorithm_at(len(history)).uniform(size=self.space.dim)"


def asking(name: str, ask: Callable[[Any, History], object], **listed: str) -> type[Algorithm]:
    """An algorithm of this name that asks for what ``ask`` returns, a proposal or its point, and lists
    these diagnostics."""

    def proposed(self: Algorithm, history: History, t: int) -> Proposal:
        x: Any = ask(self, history)
        return x if isinstance(x, Proposal) else Proposal(x)

    body = {"ask": proposed, "diagnostics": listed, "__module__": __name__}
    return type(name, (Algorithm,), body)


def uniform(algorithm: Algorithm, history: History) -> np.ndarray:
    return algorithm.streams.algorithm_at(len(history)).uniform(size=algorithm.space.dim)


def counted(algorithm: Any, history: History) -> np.ndarray:
    """By a count that no resumed run has."""
    algorithm.asked = getattr(algorithm, "asked", 0) + 1
    return np.full(2, 1 / (1 + algorithm.asked))


_SHARED: list[int] = []


def shared(algorithm: Algorithm, history: History) -> np.ndarray:
    """By state that the runs of a process share."""
    _SHARED.append(len(history))
    return np.full(2, 1 / (1 + len(_SHARED)))


def changing(algorithm: Algorithm, history: History) -> np.ndarray:
    history.y[:] = 0.0
    return uniform(algorithm, history)


def forked(algorithm: Algorithm, history: History) -> np.ndarray:
    """Keeps the contract."""
    rng = algorithm.streams.algorithm_at(len(history))
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        return torch.rand(algorithm.space.dim).double().numpy()


class Bare(Algorithm):
    def ask(self, history: History, t: int) -> np.ndarray:  # type: ignore[override]
        return np.full(self.space.dim, 0.5)


LINE = r"\(test_contract_check\.py, line \d+\)$"


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (
            asking("Unseeded", lambda algorithm, history: np.random.default_rng().uniform(size=2)),
            r"^Unseeded: calls numpy\.random\.default_rng\(\) without a seed; draw from self\.",
        ),
        (
            asking("Global", lambda algorithm, history: np.random.uniform(size=2)),
            r"^Global: draws from the global generator of numpy\.random; ",
        ),
        (
            asking("Python", lambda algorithm, history: np.array([random.random(), 0.5])),
            r"^Python: draws from the global generator of random; ",
        ),
        (
            asking("Torch", lambda algorithm, history: torch.rand(2).double().numpy()),
            r"^Torch: draws from the global generator of torch; take rng = .*fork_rng",
        ),
        (
            asking("Counter", counted),
            r"^Counter: a run that is resumed after 6 queries goes another way; ",
        ),
        (asking("Shared", shared), r"^Shared: two runs of one seed differ"),
        (
            asking("Outside", lambda algorithm, history: np.full(2, 1.5)),
            r"must be a point of the 2-D unit cube",
        ),
        (Bare, r"^Bare: ask must return a Proposal, got ndarray$"),
        (
            asking("Failing", lambda algorithm, history: history.no_such_thing),  # type: ignore[attr-defined]
            rf"^Failing: AttributeError: 'History' object has no attribute 'no_such_thing' {LINE}",
        ),
        (
            asking("Innermost", lambda algorithm, history: np.linalg.inv(history.X)),
            rf"^Innermost: LinAlgError: .* {LINE}",
        ),
        (
            asking("Ending", lambda algorithm, history: sys.exit()),
            r"^Ending: the algorithm or the problem ended the program",
        ),
        (asking("Changing", changing), r"^Changing: ask must not change the history$"),
        (
            asking("Column", uniform, f="a column of the traces"),
            r"^Column: diagnostics must not be called as a column of the traces, got f$",
        ),
        (
            asking("Declared", uniform, bonus="carried by no proposal"),
            r"^Declared: every proposal's .* in its diagnostics, bonus, got none$",
        ),
        (
            asking("Undeclared", lambda a, h: Proposal(uniform(a, h), diagnostics={"bonus": 1.0})),
            r"^Undeclared: every proposal's .* in its diagnostics, none, got bonus$",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_breaks_the_contract_is_found(cls: type[Algorithm], said: str) -> None:
    with pytest.raises(RepliboError, match=said):
        contract.check(cls, {})


def test_a_generator_that_was_imported_by_its_name_is_found(tmp_path: Path) -> None:
    """The watch on numpy.random does not see it; the repetition does."""
    path = tmp_path / "mine.py"
    text = FILE.replace(DRAWN, "default_rng().uniform(size=self.space.dim)")
    path.write_text("from numpy.random import default_rng\n" + text, encoding="utf-8")
    with pytest.raises(RepliboError, match=r"^Uniform: two runs of one seed differ"):
        contract.check(registry.load("algorithms", f"{path}:Uniform"), {})


def test_an_algorithm_that_keeps_it_passes(tmp_path: Path) -> None:
    for finite in (False, True):
        contract.check(RandomSearch, {}, finite=finite)
    contract.check(asking("Forked", forked), {})
    contract.check(GpTs, {})
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    cls = registry.load("algorithms", f"{path}:Uniform")
    contract.check(cls, {})
    with pytest.raises(RepliboError, match=r"row of the pool, 0 to 599, got -1"):
        contract.check(cls, {}, finite=True)
    with pytest.raises(RepliboError, match="epsilon"):
        contract.check(cls, {"epsilon": 0.1})
