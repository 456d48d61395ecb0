"""The BBO paper's convex inner problem against PyTorch and scikit-learn, and what Theorem 1 asks of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from replibo.problems.mnist_cnn_large import MnistCnnLarge
from replibo.problems.mnist_noisy_labels import MnistNoisyLabels, noisy_loss
from replibo.problems.mnist_softmax import NORM, MnistSoftmax, descend, inputs, losses
from replibo.streams import RunStreams

STREAMS = RunStreams("bbo", "softmax_20", "gp_ei", 0)


@pytest.fixture(scope="module")
def problem() -> MnistSoftmax:
    return MnistSoftmax(iterations=20)


def test_descent_is_that_of_pytorch(problem: MnistSoftmax) -> None:
    images, labels = problem.sets.train
    X, labels = inputs(images[:20]), labels[:20]
    theta = torch.zeros(10, X.shape[1], requires_grad=True)
    optimizer = torch.optim.SGD([theta], lr=0.2)
    for x, label in zip(torch.tensor(X), torch.tensor(labels.astype(np.int64)), strict=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy((theta @ x)[None], label[None]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    np.testing.assert_allclose(descend(X, labels, 0.2), theta.detach().numpy(), atol=1e-5)


def test_losses_are_those_of_scikit_learn(problem: MnistSoftmax) -> None:
    images, labels = problem.sets.test
    X = inputs(images)
    theta = np.random.default_rng(0).normal(size=(10, X.shape[1])).astype(np.float32)
    probabilities = torch.softmax(torch.tensor(X @ theta.T).double(), 1).numpy()
    cross_entropy, error = losses(theta, X, labels)
    assert cross_entropy == pytest.approx(log_loss(labels, probabilities), rel=1e-5)
    assert error == pytest.approx(100 * np.mean(probabilities.argmax(1) != labels))


def test_the_conditions_of_theorem_1(problem: MnistSoftmax) -> None:
    """η ≤ N^-1/2 ≤ 2/γ, with γ the largest eigenvalue of the Hessian of a single loss."""
    assert 10 ** problem.bounds[1, 0] == pytest.approx(20**-0.5)
    assert -math.log(10) < problem.observe(np.array([-2.0]), STREAMS, 0).y < 0
    X = inputs(problem.sets.train[0][:50])
    np.testing.assert_allclose(np.linalg.norm(X[:, :-1], axis=1), NORM, rtol=1e-5)
    p = np.random.default_rng(1).dirichlet(np.full(10, 0.2), size=200)
    curvature = max(np.linalg.eigvalsh(np.diag(one) - np.outer(one, one))[-1] for one in p)
    assert curvature <= 0.5 and 2 / (0.5 * (NORM**2 + 1)) >= 20**-0.5


def test_the_larger_network_learns_and_diverges() -> None:
    large = MnistCnnLarge(iterations=3)
    good, again = (large.observe(np.array([-1.5]), STREAMS, 0) for _ in range(2))
    assert good == again and good.diagnostics["diverged"] == 0 and -3 < good.y < 0
    assert [tuple(p.shape) for p in large.network.parameters()] == [
        *((16, 1, 5, 5), (16,), (32, 16, 5, 5), (32,), (10, 32 * 49), (10,))
    ]
    X = large.pixels(large.train)
    assert abs(float(X.mean())) < 1e-4 and float(X.std()) == pytest.approx(1, abs=1e-3)


def test_noisy_labels_are_the_mean_over_draws(problem: MnistSoftmax) -> None:
    images, labels = problem.sets.test
    X, labels = inputs(images[:20]), labels[:20]
    rng = np.random.default_rng(0)
    theta = (0.3 * rng.normal(size=(10, X.shape[1]))).astype(np.float32)
    draws = [
        losses(theta, X, np.where(rng.random(20) < 0.3, rng.integers(10, size=20), labels))[0]
        for _ in range(4000)
    ]
    error = np.std(draws) / math.sqrt(len(draws))
    assert noisy_loss(theta, X, labels, 0.3) == pytest.approx(np.mean(draws), abs=4 * error)


def test_noisy_labels_make_large_steps_worse_than_none() -> None:
    """Of 100 examples nine labels in ten are random: little is to be learnt, and a large η learns the noise."""
    noisy = MnistNoisyLabels(iterations=100, noise=0.9)
    assert noisy.bounds[1, 0] == pytest.approx(-1.0)
    large, none = (
        np.mean([noisy.observe(np.array([x]), STREAMS, q).y for q in range(10)])
        for x in (-1.0, -4.0)
    )
    assert none == pytest.approx(-math.log(10), abs=0.01) and large < none - 0.05
