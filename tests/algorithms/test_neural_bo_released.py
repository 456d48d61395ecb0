"""The released variant, against PyTorch's own layers, autograd and a dense Sherman-Morrison."""

import math

import numpy as np
import pytest
import torch

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo_released import NeuralBOReleased
from replibo.streams import RunStreams
from replibo.surrogates.biased_network import BiasedNetwork

from .conftest import history

SMALL = {"width": 20, "epochs": 5, "candidates": 64, "weight_decay": 0.05}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_bo_released", 0)


class Reference:
    """The same weights in PyTorch's layers, trained by its Adam and autograd."""

    def __init__(self, layers, width=20, decay=0.05):
        made = BiasedNetwork(
            STREAMS.surrogate_at(0),
            inputs=3,
            layers=layers,
            width=width,
            learning_rate=0.001,
            weight_decay=decay,
        )
        modules = []
        for weights, bias in zip(made.weights, made.biases, strict=True):
            linear = torch.nn.Linear(weights.shape[1], weights.shape[0], dtype=torch.float64)
            linear.weight.data.copy_(weights.detach())
            linear.bias.data.copy_(bias.detach())
            modules += [linear, torch.nn.ReLU()]
        self.net, self.width = torch.nn.Sequential(*modules[:-1]), width
        self.adam = torch.optim.Adam(self.net.parameters(), lr=0.001, weight_decay=decay)

    def h(self, X):
        return math.sqrt(self.width) * self.net(torch.tensor(X))[:, 0]

    def train(self, X, y, steps):
        for _ in range(steps):
            self.adam.zero_grad()
            torch.nn.functional.mse_loss(self.h(X), torch.tensor(y)).backward()
            self.adam.step()

    def feature(self, x):
        by = torch.autograd.grad(self.h(x[None, :])[0], list(self.net.parameters()))
        return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(self.width)


@pytest.mark.parametrize(
    ("layers", "cycle", "window", "n"),
    [(2, 1, None, 4), (2, 1, None, 12), (3, 1, 5, 12), (3, 4, None, 15)],
)
def test_the_query_is_the_maximum_of_the_sample(layers, cycle, window, n):
    past = history(n)
    algorithm = NeuralBOReleased(
        Space(3),
        STREAMS,
        layers=layers,
        update_cycle=cycle,
        training_window=window,
        nu=3.0,
        **SMALL,
    )
    proposal = algorithm.ask(past, n - 3)
    X, _ = algorithm._candidates(past)

    reference, trained, inputs = Reference(layers), 0, 2 * past.X - 1
    inverse = None  # U^-1, which begins as I/λ
    for size in range(4, n + 1):
        if size > 4:  # the query, at the weights of that moment; the initial points are not in U
            phi = reference.feature(inputs[size - 1])
            if inverse is None:
                inverse = np.eye(len(phi)) / 0.05
            step = inverse @ phi
            inverse -= np.outer(step, step) / (1.0 + phi @ step)
        if (size - 4) % cycle == 0:
            since = 0 if window is None else max(size - window, 0)
            reference.train(inputs[since:size], past.y[since:size], 5)
            trained = size
    phi = np.array([reference.feature(x) for x in 2 * X - 1])
    if inverse is None:
        inverse = np.eye(phi.shape[1]) / 0.05
    sigma = np.sqrt(0.05 * np.sum(phi * (phi @ inverse), axis=1))
    h = reference.h(2 * X - 1).detach().numpy()
    best = int(np.argmax(STREAMS.algorithm_at(n).normal(h, 3.0 * sigma)))
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.diagnostics["mean"] == pytest.approx(h[best], rel=1e-8)
    assert proposal.diagnostics["sigma"] == pytest.approx(sigma[best], rel=1e-6)
    assert proposal.diagnostics["trained_on"] == trained


def test_without_exploration_h_itself_is_maximised():
    past = history(9)
    algorithm = NeuralBOReleased(Space(3), STREAMS, nu=0.0, **SMALL)
    proposal = algorithm.ask(past, 6)
    X, _ = algorithm._candidates(past)
    h = algorithm._after(past).network.predict(algorithm.inputs(X))
    np.testing.assert_array_equal(proposal.x, X[np.argmax(h)])
    assert proposal.diagnostics["sigma"] == 0.0


def test_start_weights():
    """Hidden layers N(0, 1/W), the last layer and the biases as PyTorch draws them: uniform."""
    made = BiasedNetwork(
        np.random.default_rng(0),
        inputs=400,
        layers=3,
        width=400,
        learning_rate=0.1,
        weight_decay=0.1,
    )
    for weights in made.weights[:2]:
        assert float(weights.std()) == pytest.approx(1 / 20, rel=0.02)
        assert float(weights.abs().max()) > 3 / 20
    for uniform in (made.weights[2], *made.biases):
        assert float(uniform.abs().max()) <= 1 / 20
    assert float(made.biases[0].std()) == pytest.approx(1 / 20 / math.sqrt(3), rel=0.1)


def test_candidates_are_sobol_points_of_the_query():
    algorithm = NeuralBOReleased(Space(3), STREAMS, **SMALL)
    one, again, other = (algorithm._candidates(history(n))[0] for n in (5, 5, 6))
    np.testing.assert_array_equal(one, again)
    assert not np.any(one == other)
    # 64 scrambled Sobol points have one in each of 64 equal slices of an axis
    for axis in range(3):
        np.testing.assert_array_equal(np.sort((64 * one[:, axis]).astype(int)), np.arange(64))


def test_a_diverged_network_proposes_at_random_and_says_so():
    past = history(12)
    algorithm = NeuralBOReleased(Space(3), STREAMS, learning_rate=1e200, **SMALL)
    proposal = algorithm.ask(past, 13)
    assert proposal.diagnostics["diverged"] == 1.0
    assert proposal.diagnostics["training_loss"] == math.inf and proposal.diagnostics["mean"] == 0.0
    X, _ = algorithm._candidates(past)
    best = np.argmax(STREAMS.algorithm_at(12).uniform(size=len(X)))
    np.testing.assert_array_equal(proposal.x, X[best])
