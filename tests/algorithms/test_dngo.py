"""DNGO: its parts put together again from independent ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from replibo.algorithms import dngo
from replibo.algorithms.base import Space
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.streams import RunStreams
from replibo.surrogates.bayesian_linear_regression import BayesianLinearRegression
from replibo.surrogates.tanh_network import TanhNetwork

STREAMS = RunStreams("paper", "problem", "dngo", 0)
FAST = {"epochs": 20, "candidates": 64}


def test_proposal_is_the_maximiser_of_expected_improvement(hill) -> None:
    """EI as E[max(f - best - ξ, 0)] of SciPy's normal, network and regression as they stand alone,
    three observations after the last training."""
    history = hill.initial(3, 10, STREAMS)
    for x in np.random.default_rng(5).random((12, 3)):
        history.append(x, hill.objective(x))
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


def test_the_runs_of_a_block_are_asked_as_each_alone(hill, monkeypatch) -> None:
    """More of them than are trained together, and one that has its network already."""
    monkeypatch.setattr(dngo, "TOGETHER", 3)
    streams = [RunStreams("paper", "problem", "dngo", seed) for seed in range(7)]
    histories = [hill.initial(2, 6, own) for own in streams]
    runs = [Dngo(Space(2), own, **FAST) for own in streams]
    runs[2].ask(histories[2], 1)
    trained = []
    together = dngo.train_together

    def spy(networks, *data, **settings) -> None:
        trained.append(len(networks))
        together(networks, *data, **settings)

    monkeypatch.setattr(dngo, "train_together", spy)
    block = Dngo.ask_block(runs, histories, 1)
    assert trained == [3, 3]
    for own, history, proposal in zip(streams, histories, block, strict=True):
        alone = Dngo(Space(2), own, **FAST).ask(history, 1)
        assert proposal.x.tobytes() == alone.x.tobytes()
        assert proposal.diagnostics == alone.diagnostics


def test_divergence_is_recorded_and_the_run_goes_on(hill) -> None:
    history = hill.initial(2, 20, STREAMS)
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
    history.append(choices[0], 0.0)
    assert not np.array_equal(algorithm.ask(history, 2).x, choices[0])
