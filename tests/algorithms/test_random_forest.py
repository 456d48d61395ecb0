"""The forest's expected improvement against scikit-learn and SciPy, and the contract."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor

from replibo.algorithms.base import History, Space
from replibo.algorithms.candidates import Candidates
from replibo.algorithms.random_forest import RandomForest
from replibo.algorithms.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.forest import Forest

STREAMS = RunStreams("paper", "problem", "random_forest", 0)
FAST = {"trees": 20, "candidates": 64}


def objective(x: np.ndarray) -> float:
    return -float(np.sum((x - 0.37) ** 2))


def initial(dim: int, n: int, streams: RunStreams = STREAMS) -> History:
    history = History(dim, n)
    for x in streams.initial().random((n, dim)):
        history.append(x, objective(x))
    return history


def past(history: History, n: int) -> History:
    shorter = History(history.X.shape[1], history.n_initial)
    for x, y, candidate in zip(history.X[:n], history.y, history.candidate, strict=False):
        shorter.append(x, float(y), int(candidate))
    return shorter


def test_proposal_is_the_maximiser_of_expected_improvement() -> None:
    """scikit-learn's forest with its defaults, fitted three observations ago; the incumbent is one
    of those three."""
    history = initial(3, 10)
    for x in np.random.default_rng(5).random((11, 3)):
        history.append(x, objective(x))
    history.append(np.full(3, 0.37), 0.0)
    proposal = RandomForest(Space(3), STREAMS, trees=50, candidates=64, refit_growth=0.9).ask(
        history, 13
    )
    size = RefitSchedule(0.9).in_force(22, 10)
    assert size == 19
    y = history.y[:size]
    standardised = (y - y.mean()) / y.std(ddof=1)
    state = int(STREAMS.surrogate_at(size).integers(2**32))
    forest = RandomForestRegressor(50, random_state=state).fit(history.X[:size], standardised)
    X, _ = Candidates(Space(3), STREAMS, count=64, local_fraction=0.5).draw(history)
    predictions = np.array([tree.predict(X) for tree in forest.estimators_])
    mean, sd = predictions.mean(axis=0), predictions.std(axis=0)
    gain = mean - (0.0 - y.mean()) / y.std(ddof=1) - 0.01
    improvement = gain * norm.cdf(gain / sd) + sd * norm.pdf(gain / sd)
    best = int(improvement.argmax())
    assert improvement[best] > 0
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.candidate == -1
    assert proposal.diagnostics == {
        "mean": pytest.approx(mean[best], rel=1e-9),
        "sd": pytest.approx(sd[best], rel=1e-9),
    }


@pytest.mark.parametrize("growth", [0.0, 0.25])
def test_rebuilt_from_the_history_bit_for_bit(growth: float) -> None:
    live = RandomForest(Space(2), STREAMS, refit_growth=growth, **FAST)
    history = initial(2, 3)
    proposals = []
    for t in range(1, 16):
        proposals.append(live.ask(history, t))
        history.append(proposals[-1].x, objective(proposals[-1].x))
    for n in range(3, 18):
        fresh = RandomForest(Space(2), STREAMS, refit_growth=growth, **FAST)
        again = fresh.ask(past(history, n), n - 2)
        np.testing.assert_array_equal(again.x, proposals[n - 3].x)
        assert again.diagnostics == proposals[n - 3].diagnostics


def test_another_history_leaves_no_trace() -> None:
    histories = [initial(2, n, RunStreams("p", "q", "a", s)) for n, s in ((6, 1), (6, 2), (9, 1))]
    shared = RandomForest(Space(2), STREAMS, **FAST)
    for history in [*histories, *reversed(histories)]:
        fresh = RandomForest(Space(2), STREAMS, **FAST).ask(history, 1)
        proposal = shared.ask(history, 1)
        np.testing.assert_array_equal(proposal.x, fresh.x)
        assert proposal.diagnostics == fresh.diagnostics


def test_forest_is_fitted_by_the_schedule_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    fit = Forest.__init__

    def counted(self: Forest, X: np.ndarray, *args: object, **settings: object) -> None:
        sizes.append(len(X))
        fit(self, X, *args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Forest, "__init__", counted)
    algorithm = RandomForest(Space(2), STREAMS, refit_growth=0.5, **FAST)
    history = initial(2, 4)
    for t in range(1, 12):
        proposal = algorithm.ask(history, t)
        history.append(proposal.x, objective(proposal.x))
    assert sizes == [4, 6, 9, 14]


def test_it_climbs() -> None:
    history = initial(2, 5)
    algorithm = RandomForest(Space(2), STREAMS, trees=50)
    for t in range(1, 26):
        proposal = algorithm.ask(history, t)
        assert set(proposal.diagnostics) == set(RandomForest.diagnostics)
        assert all(type(value) is float for value in proposal.diagnostics.values())
        history.append(proposal.x, objective(proposal.x))
    assert history.y.max() > 0.5 * history.y[:5].max()
    assert history.y[-10:].mean() > history.y[:5].mean()


def test_finite_pool() -> None:
    pool = np.random.default_rng(0).random((30, 2))
    history = History(2, 4)
    for row in range(4):
        history.append(pool[row], objective(pool[row]), row)
    for candidates in (512, 10):
        algorithm = RandomForest(
            Space(2, candidates=pool), STREAMS, trees=20, candidates=candidates
        )
        proposal = algorithm.ask(history, 1)
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
def test_degenerate_data(X: np.ndarray, y: list[float]) -> None:
    """Where all trees agree everywhere, the first candidate is taken."""
    history = History(X.shape[1], len(X))
    for x, value in zip(X, y, strict=True):
        history.append(x, value)
    space = Space(X.shape[1])
    proposal = RandomForest(space, STREAMS, **FAST).ask(history, 1)
    assert all(math.isfinite(value) for value in proposal.diagnostics.values())
    if len(set(y)) == 1:
        first = Candidates(space, STREAMS, count=64, local_fraction=0.5).draw(history)[0][0]
        np.testing.assert_array_equal(proposal.x, first)
        assert proposal.diagnostics == {"mean": 0.0, "sd": 0.0}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"trees": 0}, "trees: 0 is not allowed; an integer >= 1 is"),
        ({"jitter": -0.1}, "jitter: -0.1 is not allowed"),
        ({"jitter": math.nan}, "jitter: nan is not allowed"),
        ({"candidates": 0}, "candidates: 0 is not allowed"),
        ({"candidates": 10**12}, "candidates: 1000000000000 would need"),
        ({"local_fraction": 2.0}, "local_fraction: 2.0 is not allowed"),
        ({"refit_growth": -0.1}, "refit_growth: -0.1 is not allowed"),
    ],
)
def test_bad_settings(setting: dict[str, object], message: str) -> None:
    with pytest.raises(RepliboError, match=message):
        RandomForest(Space(2), STREAMS, **setting)  # type: ignore[arg-type]


def test_no_data_is_refused() -> None:
    with pytest.raises(RepliboError, match="needs data"):
        RandomForest(Space(2), STREAMS).ask(History(2, 0), 1)
