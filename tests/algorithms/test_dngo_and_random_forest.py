"""DNGO and the random forest: their parts put together again, and when they are fitted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from replibo.algorithms import dngo
from replibo.algorithms.base import Space
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.random_forest import RandomForest
from replibo.streams import RunStreams
from replibo.surrogates.bayesian_linear_regression import BayesianLinearRegression
from replibo.surrogates.forest import Forest
from replibo.surrogates.tanh_network import TanhNetwork

from .conftest import expected_improvement, history, observed, waves

STREAMS = RunStreams("paper", "problem", "algorithm", 0)
FAST = {"epochs": 20, "candidates": 64}


@pytest.mark.parametrize("algorithm", [Dngo, RandomForest])
def test_proposal_is_the_maximiser_of_expected_improvement(algorithm: Any) -> None:
    """Three observations after the last fit; the incumbent is one of those three."""
    X = np.vstack([np.random.default_rng(5).random((21, 3)), np.full(3, np.pi / 10)])
    past, size, rng = observed(X, waves(X), n_initial=10), 19, STREAMS.surrogate_at(19)
    early, late = ((past.y - past.y[:n].mean()) / past.y[:n].std(ddof=1) for n in (size, len(past)))
    C, _ = Candidates(Space(3), STREAMS, count=64, local_fraction=0.5).draw(past)
    extra, budget = {}, {"trees": 50} if algorithm is RandomForest else {"epochs": 20}
    if algorithm is RandomForest:
        mean, sd = Forest(X[:size], early[:size], trees=50, rng=rng).moments(C)
        best = early.max()
    else:
        network = TanhNetwork(3, rng)
        network.train(X[:size], early[:size], rng, epochs=20)
        regression = BayesianLinearRegression(network.features(X), late)
        mean, variance = regression.posterior(network.features(C))
        sd, best = np.sqrt(variance), late.max()
        extra = {
            "alpha": pytest.approx(regression.alpha),
            "beta": pytest.approx(regression.beta),
            "training_loss": network.training_loss,
            "diverged": 0.0,
        }
    settings: Any = {"refit_growth": 0.9, "candidates": 64, **budget}
    proposal = algorithm(Space(3), STREAMS, **settings).ask(past, 13)
    improvement = expected_improvement(mean, sd, best)
    i = int(improvement.argmax())
    assert improvement[i] > 0
    np.testing.assert_array_equal(proposal.x, C[i])
    moments = {"mean": pytest.approx(mean[i], rel=1e-9), "sd": pytest.approx(sd[i], rel=1e-9)}
    assert proposal.diagnostics == moments | extra


@pytest.mark.parametrize(
    ("algorithm", "fast", "surrogate", "name"),
    [(Dngo, {"epochs": 5}, TanhNetwork, "_see"), (RandomForest, {"trees": 5}, Forest, "__init__")],
)
def test_the_surrogate_is_fitted_by_the_schedule_only(
    monkeypatch, algorithm, fast, surrogate, name
) -> None:
    sizes, fit = [], getattr(surrogate, name)

    def counted(self, X, *args, **settings):
        sizes.append(len(X))
        return fit(self, X, *args, **settings)

    monkeypatch.setattr(surrogate, name, counted)
    run = algorithm(Space(2), STREAMS, refit_growth=0.5, candidates=64, **fast)
    for n in range(4, 15):
        run.ask(history(n, 2), n - 3)
    assert sizes == [4, 6, 9, 14]


def test_the_runs_of_a_block_are_asked_as_each_alone(monkeypatch) -> None:
    """More of them than are trained together, and one that has its network already."""
    monkeypatch.setattr(dngo, "TOGETHER", 3)
    streams = [RunStreams("paper", "problem", "dngo", seed) for seed in range(7)]
    histories = [history(6, 2, 6, seed) for seed in range(7)]
    runs = [Dngo(Space(2), stream, **FAST) for stream in streams]
    runs[2].ask(histories[2], 1)
    trained = []
    together = dngo.train_together

    def spy(networks, *data, **settings) -> None:
        trained.append(len(networks))
        together(networks, *data, **settings)

    monkeypatch.setattr(dngo, "train_together", spy)
    block = Dngo.ask_block(runs, histories, 1)
    assert trained == [3, 3]
    for stream, past, proposal in zip(streams, histories, block, strict=True):
        alone = Dngo(Space(2), stream, **FAST).ask(past, 1)
        assert proposal.x.tobytes() == alone.x.tobytes()
        assert proposal.diagnostics == alone.diagnostics


def test_divergence_is_recorded_and_the_run_goes_on() -> None:
    past = history(20, 2)
    algorithm = Dngo(Space(2), STREAMS, learning_rate=1e38, **FAST)
    proposal = algorithm.ask(past, 1)
    assert set(proposal.diagnostics) == set(Dngo.diagnostics)
    assert proposal.diagnostics["diverged"] == 1.0
    assert math.isnan(proposal.diagnostics["mean"])
    assert proposal.x in Candidates(Space(2), STREAMS, count=64, local_fraction=0.5).draw(past)[0]
    past.append(proposal.x, 0.0)
    assert not np.array_equal(algorithm.ask(past, 2).x, proposal.x)
