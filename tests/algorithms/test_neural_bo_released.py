"""The released variant: its ν_t, its network, and its warm start by hand."""

import math

import numpy as np
import pytest
import torch

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo_released import NeuralBOReleased, released_nu
from replibo.streams import RunStreams

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_bo_released", 0)


def history(n, n_initial=4):
    rng = np.random.default_rng(0)
    made = History(3, n_initial)
    for x in rng.uniform(size=(n, 3)):
        made.append(x, 3.0 + 2.0 * float(np.sin(5 * x).sum()))
    return made


def inputs(U):
    return np.column_stack([2 * U - 1, np.ones(len(U))])


def test_nu():
    for t in (1, 10, 2000):
        a = t / math.log(t + 1)
        assert released_nu(t) ** 2 == pytest.approx(a * math.log(1 + t * a))
    assert released_nu(1) == pytest.approx(1.13511, abs=1e-5)


def start_weights(dim, m):
    rng = STREAMS.surrogate_at(0)
    hidden, output = rng.standard_normal((m, dim)), rng.standard_normal(m + 1)
    return hidden / math.sqrt(m), output / math.sqrt(m)


def h(W1, w, X):
    m = len(W1)
    return math.sqrt(m) * (torch.relu(X @ W1.T) @ w[:m] + w[m])


def warm_started(past, sizes, epochs=10, m=40):
    """Trainings one after the other, by autograd and PyTorch's Adam (single precision)."""
    W1, w = (torch.tensor(v, dtype=torch.float32, requires_grad=True) for v in start_weights(4, m))
    for n in sizes:
        X = torch.tensor(inputs(past.X[:n]), dtype=torch.float32)
        y = torch.tensor(past.y[:n], dtype=torch.float32)
        optimizer = torch.optim.Adam([W1, w], lr=0.001)
        for _ in range(epochs):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(h(W1, w, X), y).backward()
            optimizer.step()
    return W1, w


@pytest.mark.parametrize(("n", "sizes"), [(4, [4]), (13, [4]), (14, [4, 14]), (30, [4, 14, 24])])
def test_each_training_goes_on_from_the_last(n, sizes):
    past = history(n)
    algorithm = NeuralBOReleased(Space(3), STREAMS, **SMALL)
    proposal = algorithm.ask(past, n + 1)
    W1, w = warm_started(past, sizes)
    X, _ = algorithm.candidates.draw(past)
    chosen = int(np.flatnonzero((proposal.x == X).all(axis=1))[0])
    expected = h(W1, w, torch.tensor(inputs(X), dtype=torch.float32)).detach().numpy()
    assert proposal.diagnostics["mean"] == pytest.approx(float(expected[chosen]), abs=1e-3)
    assert proposal.diagnostics["trained_on"] == sizes[-1]
    if len(sizes) > 1:  # and not from the start
        W1, w = warm_started(past, sizes[-1:])
        other = h(W1, w, torch.tensor(inputs(X), dtype=torch.float32)).detach().numpy()
        assert abs(proposal.diagnostics["mean"] - float(other[chosen])) > 0.01


def test_the_query_is_the_maximum_of_a_sample_with_the_growing_nu():
    past, t = history(17), 5
    algorithm = NeuralBOReleased(Space(3), STREAMS, **SMALL)
    proposal = algorithm.ask(past, t)
    X, _ = algorithm.candidates.draw(past)
    hidden, output = start_weights(4, 40)
    m = 40

    def feature(x):
        W1, w = (torch.tensor(v, requires_grad=True) for v in (hidden, output))
        by = torch.autograd.grad(h(W1, w, torch.tensor(x)[None, :])[0], [W1, w])
        return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(m)

    phi, seen = (np.array([feature(x) for x in inputs(U)]) for U in (X, past.X))
    U = 0.01 * np.eye(phi.shape[1]) + seen.T @ seen
    sigma = np.sqrt(0.01 * np.sum(phi * np.linalg.solve(U, phi.T).T, axis=1))
    mean = algorithm._trained(past).training.network.predict(inputs(X))
    sample = STREAMS.algorithm_at(17).normal(mean, released_nu(t) * sigma)
    best = int(np.argmax(sample))
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.diagnostics["nu"] == released_nu(t)
    assert proposal.diagnostics["sigma"] == pytest.approx(sigma[best], rel=1e-6)


def test_a_diverged_network_proposes_at_random_and_says_so():
    past = history(12)
    algorithm = NeuralBOReleased(Space(3), STREAMS, learning_rate=1e20, **SMALL)
    proposal = algorithm.ask(past, 13)
    assert proposal.diagnostics["diverged"] == 1.0
    assert proposal.diagnostics["training_loss"] == math.inf and proposal.diagnostics["mean"] == 0.0
    X, _ = algorithm.candidates.draw(past)
    best = np.argmax(STREAMS.algorithm_at(12).uniform(size=len(X)))
    np.testing.assert_array_equal(proposal.x, X[best])


def test_memory_held():
    for n, capacity in ((4, 64), (64, 64), (65, 128)):
        algorithm = NeuralBOReleased(Space(3), STREAMS, **SMALL)
        proposal = algorithm.ask(history(n), n + 1)
        # the factor, inputs and features, two buffers; W₁ and W₂ in double, with b₂ in single precision
        rows = 8 * capacity * (capacity + 4 + 2 * 40 + 2 * 60)
        assert proposal.diagnostics["surrogate_bytes"] == rows + 8 * 200 + 4 * 201
