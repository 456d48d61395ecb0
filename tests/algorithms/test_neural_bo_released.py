"""The released variants, against PyTorch's own layers, autograd and a dense Sherman-Morrison."""

import math

import numpy as np
import pytest
import torch

from replibo.algorithms import neural_bo_released
from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo_compiled import NeuralBOCompiled, growing_coefficient
from replibo.algorithms.neural_bo_released import NeuralBOReleased
from replibo.algorithms.neural_greedy_released import NeuralGreedyReleased, warm_up
from replibo.streams import RunStreams
from replibo.surrogates.biased_network import BiasedNetwork

from .conftest import history, waves

SMALL = {"width": 20, "epochs": 5, "candidates": 64, "weight_decay": 0.05}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_bo_released", 0)


class Reference:
    """The same weights in PyTorch's layers, trained by its Adam and autograd."""

    def __init__(self, layers, width=20, decay=0.05, scale=None, xavier=False):
        network = BiasedNetwork(
            STREAMS.surrogate_at(0),
            inputs=3,
            layers=layers,
            width=width,
            learning_rate=0.001,
            weight_decay=decay,
            scale=(scale := scale or math.sqrt(width)),
            xavier=xavier,
        )
        modules = []
        for weights, bias in zip(network.weights, network.biases, strict=True):
            linear = torch.nn.Linear(weights.shape[1], weights.shape[0], dtype=torch.float64)
            linear.weight.data.copy_(weights.detach())
            linear.bias.data.copy_(bias.detach())
            modules += [linear, torch.nn.ReLU()]
        self.net, self.width, self.scale = torch.nn.Sequential(*modules[:-1]), width, scale
        self.adam = torch.optim.Adam(self.net.parameters(), lr=0.001, weight_decay=decay)

    def h(self, X):
        return self.scale * self.net(torch.tensor(X))[:, 0]

    def train(self, X, y, steps):
        for _ in range(steps):
            self.adam.zero_grad()
            torch.nn.functional.mse_loss(self.h(X), torch.tensor(y)).backward()
            self.adam.step()

    def feature(self, x):
        by = torch.autograd.grad(self.h(x[None, :])[0], list(self.net.parameters()))
        return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(self.width)


def dense(reference, past, cycle, regulariser):
    """Trains the reference on the history and returns U⁻¹ at its end, and at how many it was trained."""
    inputs, n, trained, inverse = 2 * past.X - 1, len(past), 0, None
    for size in range(4, n + 1):
        phi = reference.feature(inputs[size - 1])
        if inverse is None:
            inverse = np.eye(len(phi)) / regulariser
        if size > 4:  # the query, at the weights of that moment; the initial points are not in U
            step = inverse @ phi
            inverse -= np.outer(step, step) / (1.0 + phi @ step)
        if (size - 4) % cycle == 0:
            reference.train(inputs[:size], past.y[:size], 5)
            trained = size
    return inverse, trained


def h_and_sigma(reference, inverse, X, regulariser):
    phi = np.array([reference.feature(x) for x in 2 * X - 1])
    sigma = np.sqrt(regulariser * np.sum(phi * (phi @ inverse), axis=1))
    return reference.h(2 * X - 1).detach().numpy(), sigma


@pytest.mark.parametrize(("layers", "cycle", "n"), [(2, 1, 4), (2, 1, 12), (3, 1, 12), (3, 4, 15)])
def test_the_query_is_the_maximum_of_the_sample(layers, cycle, n):
    past = history(n)
    algorithm = NeuralBOReleased(
        Space(3), STREAMS, layers=layers, update_cycle=cycle, nu=3.0, **SMALL
    )
    proposal = algorithm.ask(past, n - 3)
    X, _ = algorithm._candidates(past)

    reference = Reference(layers)
    inverse, trained = dense(reference, past, cycle, 0.05)
    h, sigma = h_and_sigma(reference, inverse, X, 0.05)
    best = int(np.argmax(STREAMS.algorithm_at(n).normal(h, 3.0 * sigma)))
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.diagnostics["mean"] == pytest.approx(h[best], rel=1e-8)
    assert proposal.diagnostics["sigma"] == pytest.approx(sigma[best], rel=1e-6)
    assert proposal.diagnostics["trained_on"] == trained


class AtAllCandidates(NeuralBOReleased):
    """σ is computed at all of them, not only where the sample may be the largest."""

    def _samples(self, state, X, t, rng):
        h, sigma = self._h_and_sigma(state, X, self._variance(state).posterior)
        return h, sigma, h + self.nu * sigma * rng.standard_normal(len(X))


@pytest.mark.parametrize(("layers", "nu"), [(2, 3.0), (3, 1.0)])
def test_bounds_of_sigma_change_no_query_of_a_whole_run(layers, nu, monkeypatch):
    asked = []
    posterior = neural_bo_released._Variance.posterior
    monkeypatch.setattr(
        neural_bo_released._Variance,
        "posterior",
        lambda self, gradients: (
            asked.append(len(gradients.incoming[0])) or posterior(self, gradients)
        ),
    )
    settings = {**SMALL, "candidates": 3000, "layers": layers, "nu": nu}
    past, evaluated = history(4), 0
    bounded = NeuralBOReleased(Space(3), STREAMS, **settings)
    whole = AtAllCandidates(Space(3), STREAMS, **settings)
    for t in range(1, 41):
        ours = bounded.ask(past, t)
        evaluated += sum(asked)
        theirs = whole.ask(past, t)
        np.testing.assert_array_equal(ours.x, theirs.x)
        for name in ("mean", "sigma"):
            assert ours.diagnostics[name] == pytest.approx(theirs.diagnostics[name], rel=1e-8)
        asked.clear()
        past.append(ours.x, waves(ours.x))
    assert evaluated < 0.4 * 40 * 3000


@pytest.mark.parametrize("nu", [0.0, 10.0])
def test_the_compiled_code_samples_twice(nu):
    n, cycle, regulariser = 15, 4, 0.01
    past = history(n)
    algorithm = NeuralBOCompiled(
        Space(3),
        STREAMS,
        width=20,
        learning_rate=0.001,
        regulariser=regulariser,
        epochs=5,
        update_cycle=cycle,
        nu=nu,
        candidates=64,
        restarts=6,
    )
    proposal = algorithm.ask(past, n - 3)
    X = STREAMS.candidates(n).uniform(size=(64, 3))

    # Adam's weight decay: 20 · 0.01/2
    reference = Reference(3, decay=0.1, scale=1.0, xavier=True)
    inverse, trained = dense(reference, past, cycle, regulariser)
    h, sigma = h_and_sigma(reference, inverse, X, regulariser)
    m = 12 / math.log(13)
    sd = (nu or math.sqrt(m * math.log(1 + 12 * m))) * sigma
    rng = STREAMS.algorithm_at(n)
    few = np.argsort(rng.normal(h, sd))[-6:]
    best = few[np.argmax(rng.normal(h[few], sd[few]))]
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.diagnostics["mean"] == pytest.approx(h[best], rel=1e-8)
    assert proposal.diagnostics["sigma"] == pytest.approx(sigma[best], rel=1e-6)
    assert proposal.diagnostics["trained_on"] == trained


@pytest.mark.parametrize("n", [5, 8, 14])
def test_the_compiled_greedy_code(n):
    """Uniform points in the first rounds (here 3), then the maximum of h; trainings after 0, 3, 4, 8 …"""
    past = history(n)
    settings = {"width": 20, "epochs": 5, "update_cycle": 4, "rounds": 40, "candidates": 64}
    proposal = NeuralGreedyReleased(Space(3), STREAMS, **settings).ask(past, n - 3)

    reference = Reference(2, decay=0.01, scale=0.1, xavier=True)
    for queries in range(n - 3):
        if queries in (0, 3, 4, 8):
            trained = 4 + queries
            reference.train(2 * past.X[:trained] - 1, past.y[:trained], 5)
    X = STREAMS.candidates(n).uniform(size=(64, 3))
    h = reference.h(2 * X - 1).detach().numpy()
    best = int(np.argmax(STREAMS.algorithm_at(n).uniform(size=64) if n - 3 <= 3 else h))
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.diagnostics["mean"] == pytest.approx(h[best], rel=1e-8)
    assert proposal.diagnostics["trained_on"] == trained


def test_the_uniform_rounds_of_the_compiled_greedy_code():
    assert [warm_up(dim, 2000) for dim in (2, 10, 20, 50)] == [50, 50, 100, 150]
    assert warm_up(10, 500) == 37


def test_the_growing_coefficient():
    assert growing_coefficient(1) == pytest.approx(
        math.sqrt(math.log(1 + 1 / math.log(2)) / math.log(2))
    )
    assert growing_coefficient(20) == pytest.approx(5.67, abs=0.01)
    assert growing_coefficient(2000) == pytest.approx(58.9, abs=0.1)


@pytest.mark.parametrize("xavier", [False, True])
def test_start_weights(xavier):
    """Hidden layers N(0, 1/W) or Xavier's, the last layer and the biases as PyTorch draws them: uniform."""
    network = BiasedNetwork(
        np.random.default_rng(0),
        inputs=100,
        layers=3,
        width=400,
        learning_rate=0.1,
        weight_decay=0.1,
        scale=1.0,
        xavier=xavier,
    )
    for weights in network.weights[:2]:
        drawn = torch.empty_like(weights)
        torch.nn.init.xavier_normal_(drawn) if xavier else torch.nn.init.normal_(drawn, std=1 / 20)
        assert float(weights.detach().std()) == pytest.approx(float(drawn.std()), rel=0.02)
        assert float(weights.detach().abs().max()) > 3 * float(drawn.std())
    for uniform in (network.weights[2], *network.biases[1:]):
        assert float(uniform.detach().abs().max()) <= 1 / 20
    assert float(network.biases[1].detach().std()) == pytest.approx(1 / 20 / math.sqrt(3), rel=0.1)


def test_candidates_are_sobol_points_of_the_query():
    algorithm = NeuralBOReleased(Space(3), STREAMS, **SMALL)
    points, again, other = (algorithm._candidates(history(n))[0] for n in (5, 5, 6))
    np.testing.assert_array_equal(points, again)
    assert not np.any(points == other)
    # 64 scrambled Sobol points have one in each of 64 equal slices of an axis
    for axis in range(3):
        np.testing.assert_array_equal(np.sort((64 * points[:, axis]).astype(int)), np.arange(64))


def test_a_diverged_network_proposes_at_random_and_says_so():
    past = history(12)
    algorithm = NeuralBOReleased(Space(3), STREAMS, learning_rate=1e200, **SMALL)
    proposal = algorithm.ask(past, 13)
    assert proposal.diagnostics["diverged"] == 1.0
    assert proposal.diagnostics["training_loss"] == math.inf and proposal.diagnostics["mean"] == 0.0
    X, _ = algorithm._candidates(past)
    best = np.argmax(STREAMS.algorithm_at(12).uniform(size=len(X)))
    np.testing.assert_array_equal(proposal.x, X[best])
