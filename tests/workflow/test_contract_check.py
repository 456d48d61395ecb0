"""The contract as it is checked on a class of a reader's file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import ClassVar

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


class Unseeded(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.random.default_rng().uniform(size=self.space.dim))


class Global(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.random.uniform(size=self.space.dim))


class Python(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.array([random.random(), 0.5]))


class Counter(Algorithm):
    """A count that no resumed run has."""

    asked = 0

    def ask(self, history: History, t: int) -> Proposal:
        self.asked += 1
        return Proposal(np.full(self.space.dim, 1 / (1 + self.asked)))


_SHARED: list[int] = []


class Shared(Algorithm):
    """State that the runs of a process share."""

    def ask(self, history: History, t: int) -> Proposal:
        _SHARED.append(t)
        return Proposal(np.full(self.space.dim, 1 / (1 + len(_SHARED))))


class Outside(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.full(self.space.dim, 1.5))


class Bare(Algorithm):
    def ask(self, history: History, t: int) -> np.ndarray:  # type: ignore[override]
        return np.full(self.space.dim, 0.5)


class Failing(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(history.no_such_thing)  # type: ignore[attr-defined]


class Empty(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        raise AssertionError


class Innermost(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.linalg.inv(history.X))


class Torch(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(torch.rand(self.space.dim).double().numpy())


class Forked(Algorithm):
    """Keeps the contract."""

    def ask(self, history: History, t: int) -> Proposal:
        rng = self.streams.algorithm_at(len(history))
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            return Proposal(torch.rand(self.space.dim).double().numpy())


class Column(RandomSearch):
    diagnostics: ClassVar[dict[str, str]] = {"f": "a column of the traces"}


class Declared(RandomSearch):
    diagnostics: ClassVar[dict[str, str]] = {"bonus": "carried by no proposal"}


class Undeclared(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        x = self.streams.algorithm_at(len(history)).uniform(size=self.space.dim)
        return Proposal(x, diagnostics={"bonus": 1.0})


class Changing(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        history.y[:] = 0.0
        return Proposal(self.streams.algorithm_at(len(history)).uniform(size=self.space.dim))


class Ending(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        raise SystemExit


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (
            Unseeded,
            r"^Unseeded: calls numpy\.random\.default_rng\(\) without a seed; draw from self\.",
        ),
        (Global, r"^Global: draws from the global generator of numpy\.random; "),
        (Python, r"^Python: draws from the global generator of random; "),
        (Counter, r"^Counter: a run that is resumed after 6 queries goes another way; "),
        (Shared, r"^Shared: two runs of one seed differ"),
        (Outside, r"must be a point of the 2-D unit cube"),
        (Bare, r"^Bare: ask must return a Proposal, got ndarray$"),
        (
            Failing,
            r"^Failing: AttributeError: 'History' object has no attribute 'no_such_thing' "
            r"\(test_contract_check\.py, line \d+\)$",
        ),
        (Changing, r"^Changing: ask must not change the history$"),
        (Ending, r"^Ending: the algorithm or the problem ended the program"),
        (Empty, r"^Empty: AssertionError \(test_contract_check\.py, line \d+\)$"),
        (Innermost, r"^Innermost: LinAlgError: .* \(test_contract_check\.py, line \d+\)$"),
        (Torch, r"^Torch: draws from the global generator of torch; take rng = .*fork_rng"),
        (Column, r"^Column: diagnostics must not be called as a column of the traces, got f$"),
        (Declared, r"^Declared: every proposal's .* in its diagnostics, bonus, got none$"),
        (Undeclared, r"^Undeclared: every proposal's .* in its diagnostics, none, got bonus$"),
    ],
)
def test_what_breaks_the_contract_is_found(cls: type[Algorithm], said: str) -> None:
    with pytest.raises(RepliboError, match=said):
        contract.check(cls, {})


def test_a_generator_that_was_imported_by_its_name_is_found(tmp_path: Path) -> None:
    """The watch on numpy.random does not see it; the repetition does."""
    path = tmp_path / "mine.py"
    drawn = "default_rng().uniform(size=self.space.dim)"
    text = FILE.replace(
        "self.streams.algorithm_at(len(history)).uniform(size=self.space.dim)", drawn
    )
    path.write_text("from numpy.random import default_rng\n" + text, encoding="utf-8")
    with pytest.raises(RepliboError, match=r"^Uniform: two runs of one seed differ"):
        contract.check(registry.load("algorithms", f"{path}:Uniform"), {})


def test_an_algorithm_that_keeps_it_passes(tmp_path: Path) -> None:
    for finite in (False, True):
        contract.check(RandomSearch, {}, finite=finite)
    contract.check(Forked, {})
    contract.check(GpTs, {})
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    own = registry.load("algorithms", f"{path}:Uniform")
    contract.check(own, {})
    with pytest.raises(RepliboError, match=r"row of the pool, 0 to 599, got -1"):
        contract.check(own, {}, finite=True)
    with pytest.raises(RepliboError, match="epsilon"):
        contract.check(own, {"epsilon": 0.1})
