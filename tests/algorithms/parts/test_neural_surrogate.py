"""What NeuralBO, its released variants and NeuralGreedy have in common."""

import math

import numpy as np
import pytest
import torch

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.neural_bo_compiled import NeuralBOCompiled
from replibo.algorithms.neural_bo_released import NeuralBOReleased
from replibo.algorithms.neural_greedy import NeuralGreedy
from replibo.algorithms.neural_greedy_released import NeuralGreedyReleased
from replibo.algorithms.parts.devices import torch_device
from replibo.algorithms.parts.network_inputs import network_inputs
from replibo.errors import RepliboError
from replibo.streams import RunStreams

from ..conftest import history, observed

STREAMS = RunStreams("neuralbo", "ackley_3", "a", 0)
SMALL = {"width": 30, "epochs": 5, "candidates": 40}
ALL = pytest.mark.parametrize(
    "cls", [NeuralBO, NeuralBOReleased, NeuralBOCompiled, NeuralGreedy, NeuralGreedyReleased]
)
FROM_START = pytest.mark.parametrize("cls", [NeuralBO, NeuralGreedy])


@ALL
@pytest.mark.parametrize(
    ("n", "dim", "y"), [(9, 3, [5.0] * 9), (3, 2, [1e6, -1e6, 0.0])], ids=["constant", "huge"]
)
def test_the_paper_s_width_diverges_on_no_data(cls, n, dim, y):
    past = observed(np.random.default_rng(0).uniform(size=(n, dim)), y, n_initial=1)
    units = {} if issubclass(cls, NeuralBOReleased) else {"y_scaling": "divide"}
    algorithm = cls(Space(dim), STREAMS, **{**SMALL, "width": 500, "epochs": 50, **units})
    assert algorithm.ask(past, n + 1).diagnostics["diverged"] == 0.0


@FROM_START
@pytest.mark.parametrize("initialization", ["section_7", "section_4"])
def test_every_training_starts_from_the_same_weights(cls, initialization):
    """A training of no effect leaves h(·; θ₀), whatever the history."""
    still = {**SMALL, "learning_rate": 1e-60, "initialization": initialization}
    algorithm = cls(Space(3), STREAMS, **still)
    X = np.random.default_rng(0).uniform(size=(5, 3))
    first, second = (algorithm.prediction(X, algorithm.fit(history(n, seed=n))) for n in (4, 20))
    np.testing.assert_array_equal(first, second)
    assert np.any(first) == (initialization == "section_7")


@FROM_START
@pytest.mark.parametrize("scaling", ["root_dim", "none"])
def test_the_literal_recipe_diverges_and_the_run_goes_on(cls, scaling):
    """Inputs [−1, 1]^d at the paper's learning rate and width."""
    algorithm = cls(
        Space(20),
        STREAMS,
        input_scaling=scaling,
        y_scaling="standardise",
        batch_loss="sum",
        candidates=64,
    )
    X = np.random.default_rng(0).uniform(size=(40, 20))
    past = observed(X, -np.sum((X - 0.4) ** 2, axis=1), n_initial=21)
    chosen = []
    for n in (40, 41, 42):
        proposal = algorithm.ask(past, n + 1)
        diverged = scaling == "none"
        assert proposal.diagnostics["diverged"] == diverged
        assert (proposal.diagnostics["training_loss"] == math.inf) == diverged
        assert all(not math.isnan(value) for value in proposal.diagnostics.values())
        if diverged:
            X, _ = algorithm.candidates.draw(past)
            chosen.append(int(np.flatnonzero((proposal.x == X).all(axis=1))[0]))
            assert proposal.diagnostics["mean"] == pytest.approx(algorithm.fit(past).centre)
        past.append(proposal.x, 0.0)
    assert len(set(chosen)) == len(chosen)  # at random, not always the first


@ALL
def test_more_candidates_than_memory_allows_are_refused(cls):
    with pytest.raises(RepliboError, match=r": candidates must be at most \d+, got 10000000000: "):
        cls(Space(2), STREAMS, candidates=10**10)


def test_a_gpu_where_there_is_none_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_device("cuda") == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RepliboError, match=r": device must be cpu, got cuda: torch finds no GPU"):
        NeuralBO(Space(2), STREAMS, device="cuda")


@pytest.mark.parametrize(
    ("scaling", "constant", "expected"),
    [
        ("none", False, [-1.0, 0.0, 1.0, -0.5]),
        ("none", True, [-1.0, 0.0, 1.0, -0.5, 1.0]),
        ("root_dim", False, [-0.5, 0.0, 0.5, -0.25]),
        ("root_dim", True, [-0.5, 0.0, 0.5, -0.25, 0.5]),
        ("corner", False, [0.0, 0.25, 0.5, 0.125]),
    ],
)
def test_the_networks_inputs(scaling, constant, expected):
    U = np.array([[0.0, 0.5, 1.0, 0.25]])
    np.testing.assert_allclose(network_inputs(U, scaling, constant), [expected])
