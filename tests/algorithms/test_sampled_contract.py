"""What DNGO and the random forest have in common: a surrogate fitted by the schedule, and the shared
candidates. Their contract at every history size, which the general one (test_contract) does not walk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from replibo.algorithms.base import Algorithm, History, Space
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.random_forest import RandomForest
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.forest import Forest
from replibo.surrogates.tanh_network import TanhNetwork


@dataclass(frozen=True)
class Case:
    """An algorithm with fast settings, and where its surrogate is fitted."""

    algorithm: type[Algorithm]
    fast: dict[str, Any]
    fit: tuple[type, str]

    @property
    def streams(self) -> RunStreams:
        return RunStreams("paper", "problem", self.algorithm.__name__, 0)

    def make(self, space: Space, **settings: Any) -> Algorithm:
        return self.algorithm(space, self.streams, **{**self.fast, **settings})


@pytest.fixture(
    params=[
        Case(Dngo, {"epochs": 20, "candidates": 64}, (TanhNetwork, "_see")),
        Case(RandomForest, {"trees": 20, "candidates": 64}, (Forest, "__init__")),
    ],
    ids=lambda case: case.algorithm.__name__,
)
def case(request):
    return request.param


@pytest.mark.parametrize("growth", [0.0, 0.25])
def test_rebuilt_from_the_history_bit_for_bit(case, hill, growth):
    live = case.make(Space(2), refit_growth=growth)
    history = hill.initial(2, 3, case.streams)
    proposals = []
    for t in range(1, 16):
        proposals.append(live.ask(history, t))
        history.append(proposals[-1].x, hill.objective(proposals[-1].x))
    for n in range(3, 18):
        fresh = case.make(Space(2), refit_growth=growth)
        again = fresh.ask(hill.past(history, n), n - 2)
        np.testing.assert_array_equal(again.x, proposals[n - 3].x)
        assert again.diagnostics == proposals[n - 3].diagnostics


def test_another_history_leaves_no_trace(case, hill):
    histories = [
        hill.initial(2, n, RunStreams("p", "q", "a", seed)) for n, seed in ((6, 1), (6, 2), (9, 1))
    ]
    shared = case.make(Space(2))
    for history in [*histories, *reversed(histories)]:
        fresh = case.make(Space(2)).ask(history, 1)
        proposal = shared.ask(history, 1)
        np.testing.assert_array_equal(proposal.x, fresh.x)
        assert proposal.diagnostics == fresh.diagnostics


def test_the_surrogate_is_fitted_by_the_schedule_only(case, hill, monkeypatch):
    sizes = []
    owner, name = case.fit
    fit = getattr(owner, name)

    def counted(self, X, *args, **settings):
        sizes.append(len(X))
        return fit(self, X, *args, **settings)

    monkeypatch.setattr(owner, name, counted)
    algorithm = case.make(Space(2), refit_growth=0.5)
    history = hill.initial(2, 4, case.streams)
    for t in range(1, 12):
        proposal = algorithm.ask(history, t)
        history.append(proposal.x, hill.objective(proposal.x))
    assert sizes == [4, 6, 9, 14]


def test_diagnostics_are_those_declared_and_floats(case, hill):
    proposal = case.make(Space(2)).ask(hill.initial(2, 5, case.streams), 1)
    assert set(proposal.diagnostics) == set(case.algorithm.diagnostics)
    assert all(type(value) is float for value in proposal.diagnostics.values())


@pytest.mark.parametrize("candidates", [512, 10])
def test_on_a_finite_problem_a_row_of_the_pool_is_asked(case, hill, candidates):
    pool = np.random.default_rng(0).random((30, 2))
    history = History(2, 4)
    for row in range(4):
        history.append(pool[row], hill.objective(pool[row]), row)
    proposal = case.make(Space(2, candidates=pool), candidates=candidates).ask(history, 1)
    np.testing.assert_array_equal(proposal.x, pool[proposal.candidate])


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.2]]), [1.0]),
        (np.array([[0.2], [0.2], [0.2]]), [1.0, 1.0, 1.0]),
        (np.array([[0.2], [0.2], [0.7]]), [1.0, 2.0, 0.0]),
        (np.random.default_rng(0).random((15, 3)), [5.0] * 15),
    ],
    ids=["one observation", "one point thrice", "a repeated point, D = 1", "equal observations"],
)
def test_degenerate_data(case, X, y):
    history = History(X.shape[1], len(X))
    for x, value in zip(X, y, strict=True):
        history.append(x, value)
    algorithm = case.make(Space(X.shape[1]))
    proposal = algorithm.ask(history, 1)
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    assert all(math.isfinite(value) for value in proposal.diagnostics.values())
    if case.algorithm is RandomForest and len(set(y)) == 1:
        # where all trees agree everywhere, the first candidate is taken
        np.testing.assert_array_equal(proposal.x, algorithm.candidates.draw(history)[0][0])
        assert proposal.diagnostics == {"mean": 0.0, "sd": 0.0}


def test_no_data_is_refused(case):
    with pytest.raises(RepliboError, match="initial_points: must be at least 1, got 0"):
        case.make(Space(2)).ask(History(2, 0), 1)
