"""DNGO: its parts put together again from independent ones, and the contract of an algorithm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from replibo.algorithms.base import History, Space
from replibo.algorithms.candidates import Candidates
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.bayesian_linear_regression import BayesianLinearRegression
from replibo.surrogates.tanh_network import TanhNetwork

STREAMS = RunStreams("paper", "problem", "dngo", 0)
FAST = {"epochs": 20, "candidates": 64}


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
    """EI as E[max(f - best - ξ, 0)] of SciPy's normal, network and regression as they stand alone,
    three observations after the last training."""
    history = initial(3, 10)
    for x in np.random.default_rng(5).random((12, 3)):
        history.append(x, objective(x))
    algorithm = Dngo(Space(3), STREAMS, refit_growth=0.9, **FAST)
    proposal = algorithm.ask(history, 13)
    size = RefitSchedule(0.9).in_force(22, 10)
    assert size == 19
    rng = STREAMS.surrogate_at(size)
    network = TanhNetwork(3, rng)
    y = history.y[:size]
    network.train(history.X[:size], (y - y.mean()) / y.std(ddof=1), rng, epochs=20)
    y = (history.y - history.y.mean()) / history.y.std(ddof=1)
    regression = BayesianLinearRegression(network.features(history.X), y)
    X, _ = Candidates(Space(3), STREAMS, count=64, local_fraction=0.5).draw(history)
    mean, variance = regression.posterior(network.features(X))
    sd = np.sqrt(variance)
    gain = mean - y.max() - 0.01
    improvement = gain * norm.cdf(gain / sd) + sd * norm.pdf(gain / sd)
    best = int(improvement.argmax())
    assert improvement[best] > 0
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.candidate == -1
    assert proposal.diagnostics == {
        "mean": pytest.approx(mean[best], rel=1e-9),
        "sd": pytest.approx(sd[best], rel=1e-9),
        "alpha": pytest.approx(regression.alpha),
        "beta": pytest.approx(regression.beta),
        "training_loss": network.training_loss,
        "diverged": 0.0,
    }


@pytest.mark.parametrize("growth", [0.0, 0.25])
def test_rebuilt_from_the_history_bit_for_bit(growth: float) -> None:
    live = Dngo(Space(2), STREAMS, refit_growth=growth, **FAST)
    history = initial(2, 3)
    proposals = []
    for t in range(1, 16):
        proposals.append(live.ask(history, t))
        history.append(proposals[-1].x, objective(proposals[-1].x))
    for n in range(3, 18):
        again = Dngo(Space(2), STREAMS, refit_growth=growth, **FAST).ask(past(history, n), n - 2)
        np.testing.assert_array_equal(again.x, proposals[n - 3].x)
        assert again.diagnostics == proposals[n - 3].diagnostics


def test_another_history_leaves_no_trace() -> None:
    histories = [initial(2, n, RunStreams("p", "q", "a", s)) for n, s in ((6, 1), (6, 2), (9, 1))]
    shared = Dngo(Space(2), STREAMS, **FAST)
    for history in [*histories, *reversed(histories)]:
        fresh = Dngo(Space(2), STREAMS, **FAST).ask(history, 1)
        proposal = shared.ask(history, 1)
        np.testing.assert_array_equal(proposal.x, fresh.x)
        assert proposal.diagnostics == fresh.diagnostics


def test_network_is_trained_by_the_schedule_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    train = TanhNetwork.train

    def counted(self: TanhNetwork, X: np.ndarray, *args: object, **settings: object) -> None:
        sizes.append(len(X))
        train(self, X, *args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(TanhNetwork, "train", counted)
    algorithm = Dngo(Space(2), STREAMS, refit_growth=0.5, **FAST)
    history = initial(2, 4)
    for t in range(1, 12):
        proposal = algorithm.ask(history, t)
        history.append(proposal.x, objective(proposal.x))
    assert sizes == [4, 6, 9, 14]


def test_every_observation_counts_between_trainings() -> None:
    """The same network, one y changed after its training: another posterior."""
    history = initial(2, 8)
    one, two = past(history, 8), past(history, 8)
    x = np.array([0.9, 0.1])
    one.append(x, -0.5)
    two.append(x, 0.5)
    diagnostics = [
        Dngo(Space(2), STREAMS, refit_growth=1.0, **FAST).ask(h, 2).diagnostics for h in (one, two)
    ]
    assert diagnostics[0]["training_loss"] == diagnostics[1]["training_loss"]
    assert diagnostics[0]["mean"] != diagnostics[1]["mean"]


def test_scale_of_y_does_not_matter() -> None:
    """Powers of two, so that not even rounding differs."""
    history = initial(2, 9)
    stretched = History(2, 9)
    for x, y in zip(history.X, history.y, strict=True):
        stretched.append(x, 1024.0 * float(y))
    one, two = (Dngo(Space(2), STREAMS, **FAST).ask(h, 1) for h in (history, stretched))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.diagnostics == two.diagnostics


def test_it_finds_the_top_of_a_hill() -> None:
    history = initial(2, 5)
    algorithm = Dngo(Space(2), STREAMS, epochs=100)
    for t in range(1, 21):
        proposal = algorithm.ask(history, t)
        assert set(proposal.diagnostics) == set(Dngo.diagnostics)
        assert all(type(value) is float for value in proposal.diagnostics.values())
        history.append(proposal.x, objective(proposal.x))
    assert history.y.max() > -1e-3  # 25 random points: -0.01


def test_finite_pool() -> None:
    pool = np.random.default_rng(0).random((30, 2))
    history = History(2, 4)
    for row in range(4):
        history.append(pool[row], objective(pool[row]), row)
    for candidates in (512, 10):
        proposal = Dngo(Space(2, candidates=pool), STREAMS, epochs=20, candidates=candidates).ask(
            history, 1
        )
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
    history = History(X.shape[1], len(X))
    for x, value in zip(X, y, strict=True):
        history.append(x, value)
    proposal = Dngo(Space(X.shape[1]), STREAMS, **FAST).ask(history, 1)
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    assert all(math.isfinite(value) for value in proposal.diagnostics.values())


def test_divergence_is_recorded_and_the_run_goes_on() -> None:
    history = initial(2, 20)
    choices = []
    for _ in range(2):
        algorithm = Dngo(Space(2), STREAMS, learning_rate=1e38, **FAST)
        proposal = algorithm.ask(history, 1)
        assert set(proposal.diagnostics) == set(Dngo.diagnostics)
        assert proposal.diagnostics["diverged"] == 1.0
        assert math.isnan(proposal.diagnostics["mean"])
        choices.append(proposal.x)
    np.testing.assert_array_equal(*choices)
    X, _ = Candidates(Space(2), STREAMS, count=64, local_fraction=0.5).draw(history)
    assert np.any(np.all(choices[0] == X, axis=1))
    longer = past(history, 20)
    longer.append(choices[0], 0.0)
    assert not np.array_equal(algorithm.ask(longer, 2).x, choices[0])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs: 0 is not allowed; an integer >= 1 is"),
        ({"batch_size": -1}, "batch_size: -1 is not allowed"),
        ({"learning_rate": 0.0}, "learning_rate: 0.0 is not allowed"),
        ({"learning_rate": math.inf}, "learning_rate: inf is not allowed"),
        ({"xi": -0.1}, "xi: -0.1 is not allowed"),
        ({"xi": math.nan}, "xi: nan is not allowed"),
        ({"device": "tpu"}, "device: tpu is not allowed; cpu or cuda is"),
        ({"candidates": 0}, "candidates: 0 is not allowed"),
        ({"candidates": 10**12}, "candidates: 1000000000000 would need"),
        ({"local_fraction": 2.0}, "local_fraction: 2.0 is not allowed"),
        ({"refit_growth": -0.1}, "refit_growth: -0.1 is not allowed"),
    ],
)
def test_bad_settings(setting: dict[str, object], message: str) -> None:
    with pytest.raises(RepliboError, match=message):
        Dngo(Space(2), STREAMS, **setting)  # type: ignore[arg-type]


def test_no_data_is_refused() -> None:
    with pytest.raises(RepliboError, match="needs data"):
        Dngo(Space(2), STREAMS).ask(History(2, 0), 1)
