"""Histories that several algorithms' tests ask about."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from replibo.algorithms.base import Algorithm, History, Proposal
from replibo.streams import RunStreams


def history(n: int) -> History:
    """``n`` observations of waves about 3 at uniform points of the cube; the first four are initial."""
    made = History(3, 4)
    for x in np.random.default_rng(0).uniform(size=(n, 3)):
        made.append(x, 3.0 + 2.0 * float(np.sin(5 * x).sum()))
    return made


def on_pool(pool: np.ndarray, f: np.ndarray, rows: Iterable[int], n_initial: int = 8) -> History:
    """The observations of rows of a pool."""
    made = History(pool.shape[1], n_initial, capacity=4)
    for row in rows:
        made.append(pool[row], f[row], int(row))
    return made


def run_on_pool(
    algorithm: Algorithm,
    pool: np.ndarray,
    f: np.ndarray,
    T: int,
    seed: int = 4,
    n_initial: int = 8,
) -> tuple[History, list[Proposal]]:
    """T rounds after ``n_initial`` random rows."""
    rows = np.random.default_rng(seed).choice(len(pool), n_initial, replace=False)
    made, proposals = on_pool(pool, f, rows, n_initial), []
    for t in range(1, T + 1):
        proposal = algorithm.ask(made, t)
        np.testing.assert_array_equal(proposal.x, pool[proposal.candidate])
        made.append(proposal.x, f[proposal.candidate], proposal.candidate)
        algorithm.tell(made)
        proposals.append(proposal)
    return made, proposals


class Hill:
    """A hill with its top at (0.37, …)."""

    @staticmethod
    def objective(x: np.ndarray) -> float:
        return -float(np.sum((x - 0.37) ** 2))

    def initial(self, dim: int, n: int, streams: RunStreams) -> History:
        """``n`` initial points."""
        history = History(dim, n)
        for x in streams.initial().random((n, dim)):
            history.append(x, self.objective(x))
        return history

    @staticmethod
    def past(history: History, n: int) -> History:
        """The history as it was at ``n`` observations."""
        shorter = History(history.X.shape[1], history.n_initial)
        for x, y, candidate in zip(history.X[:n], history.y, history.candidate, strict=False):
            shorter.append(x, float(y), int(candidate))
        return shorter


@pytest.fixture
def hill() -> Hill:
    return Hill()
