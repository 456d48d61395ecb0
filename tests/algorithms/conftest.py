"""Histories that several algorithms' tests ask about."""

from __future__ import annotations

import numpy as np
import pytest

from replibo.algorithms.base import History
from replibo.streams import RunStreams


def history(n: int) -> History:
    """``n`` observations of waves about 3 at uniform points of the cube; the first four are initial."""
    made = History(3, 4)
    for x in np.random.default_rng(0).uniform(size=(n, 3)):
        made.append(x, 3.0 + 2.0 * float(np.sin(5 * x).sum()))
    return made


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
