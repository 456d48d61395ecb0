"""NeuralBO's choice, computed again by automatic differentiation and dense matrices."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.streams import RunStreams
from replibo.surrogates.two_layer_network import TwoLayerNetwork, train_sgd

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_bo", 0)


def history(n, dim=3, n_initial=4):
    rng = np.random.default_rng(0)
    made = History(dim, n_initial)
    for x in rng.uniform(size=(n, dim)):
        made.append(x, 3.0 + 2.0 * float(np.sin(5 * x).sum()))
    return made


def inputs(U):
    return np.column_stack([2 * U - 1, np.ones(len(U))]) / math.sqrt(U.shape[1])


def feature(x, hidden, output):
    """g(x; θ₀)/√m by automatic differentiation."""
    W1, w2 = (torch.tensor(v, requires_grad=True) for v in (hidden, output))
    h = math.sqrt(len(output)) * (w2 @ torch.relu(W1 @ torch.tensor(x)))
    by = torch.autograd.grad(h, [W1, w2])
    return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(len(output))


def by_hand(past, trained_on, nu, setting):
    """Lines 3 to 6 of Algorithm 1: (candidates, h, σ, sample), in standardised units."""
    rng, m = STREAMS.surrogate_at(0), setting["width"]
    hidden = rng.standard_normal((m, past.X.shape[1] + 1)) / math.sqrt(m)
    output = rng.standard_normal(m) / math.sqrt(m)
    y = past.y[:trained_on]
    training = train_sgd(
        TwoLayerNetwork(hidden, output),
        inputs(past.X[:trained_on]),
        (y - y.mean()) / y.std(ddof=1),
        rng=STREAMS.surrogate_at(trained_on),
        learning_rate=0.001,
        epochs=setting["epochs"],
        batch_size=50,
        regularizer=0.01,
    )
    algorithm = NeuralBO(Space(past.X.shape[1]), STREAMS, **setting)
    X, _ = algorithm.candidates.draw(past)
    phi = np.array([feature(x, hidden, output) for x in inputs(X)])
    seen = np.array([feature(x, hidden, output) for x in inputs(past.X)])
    U = 0.01 * np.eye(phi.shape[1]) + seen.T @ seen
    sigma = np.sqrt(0.01 * np.sum(phi * np.linalg.solve(U, phi.T).T, axis=1))
    h = training.network.predict(inputs(X))
    return X, h, sigma, STREAMS.algorithm_at(len(past)).normal(h, nu * sigma), training


@pytest.mark.parametrize("nu", [0.0, 0.1, 10.0])
# trainings at 4, 6, 9, 14, …; σ takes in all 12
@pytest.mark.parametrize(("n", "trained_on"), [(4, 4), (12, 9)])
def test_the_query_is_the_maximum_of_a_thompson_sample(nu, n, trained_on):
    past = history(n)
    setting = {**SMALL, "refit_growth": 0.5}
    algorithm = NeuralBO(Space(3), STREAMS, nu=nu, **setting)
    proposal = algorithm.ask(past, len(past) + 1)
    X, h, sigma, sample, training = by_hand(past, trained_on, nu, setting)
    best = int(np.argmax(sample))
    np.testing.assert_array_equal(proposal.x, X[best])
    mean, sd = past.y[:trained_on].mean(), past.y[:trained_on].std(ddof=1)
    assert proposal.diagnostics == pytest.approx(
        {
            "mean": mean + sd * h[best],
            "sigma": sd * sigma[best],
            "training_loss": training.loss,
            "diverged": 0.0,
            "trained_on": trained_on,
        },
        rel=1e-6,
    )


def test_samples_have_the_moments_of_line_4():
    """Over many queries of one posterior: independent normals of mean h and standard deviation νσ."""
    draws, past = [], history(10)
    algorithm = NeuralBO(Space(3), STREAMS, nu=2.0, **SMALL)
    seen = []
    algorithm.candidates.best = lambda X, rows, acquisition, d: seen.append(acquisition)
    fixed = algorithm.candidates.draw(past)
    algorithm.candidates.draw = lambda history: fixed
    fit = algorithm.fit(past)
    h = algorithm.prediction(fixed[0], fit)
    sigma = algorithm._variance.after(past).variance(algorithm.inputs(fixed[0])) ** 0.5
    for seed in range(200):
        algorithm.streams = RunStreams("neuralbo", "ackley_3", "neural_bo", seed)
        algorithm.ask(past, 11)
        draws.append((seen.pop() - h) / (2.0 * sigma))
    z = np.array(draws)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    correlations = np.corrcoef(z.T)[np.triu_indices(z.shape[1], 1)]
    assert np.std(correlations) == pytest.approx(1 / math.sqrt(len(z)), rel=0.15)
