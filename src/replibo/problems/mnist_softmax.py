"""A convex inner problem, as Theorem 1 of the BBO paper asks for (Fu et al., ICLR 2024): softmax
regression on MNIST, by stochastic gradient descent on one example a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from replibo.data.mnist import CLASSES
from replibo.problems.base import Array, Observation, Problem
from replibo.problems.mnist_cnn import LOG10_LEARNING_RATE, MnistCnn
from replibo.settings import Count
from replibo.streams import RunStreams, generator

Floats = NDArray[np.float32]

NORM = 4.0
"""Every image enters with this Euclidean norm, and a 1 for the bias. The gradient of the loss is
then bounded by √(2 (NORM² + 1)). Its smoothness γ is bounded by (NORM² + 1)/2 = 8.5, as the Hessian
of the softmax's loss in the logits is at most 1/2. The other condition, N^-1/2 ≤ 2/γ, holds from N
= 19 on."""


class MnistSoftmax(Problem):
    """Minus the validation cross-entropy of softmax regression after N steps of SGD from θ = 0.

    ``x`` is log10 of the learning rate η, on [-4, log10 N^-1/2]: Theorem 1 asks for η of the order of
    N^-1/2. It gives no constant, so that the upper end of this box is ours. The examples come from the
    query's stream of noise, as in `replibo.problems.mnist_cnn`, whose training, validation and test sets
    these are; f of an observation is y.

    Args:
        iterations: N, steps of stochastic gradient descent.
        data: as of `MnistCnn`.
    """

    optimal_value = None
    dim = 1

    def __init__(self, *, iterations: Count, data: Mapping[str, Path] | None = None) -> None:
        self.iterations = iterations
        self.bounds = np.array([[LOG10_LEARNING_RATE[0]], [-0.5 * math.log10(iterations)]])
        images = MnistCnn(data=data)
        self.sets, self.stand_in = images.sets, images.stand_in

    def evaluate_true(self, X: Array) -> Array:
        return np.array([self._trained(x, generator("mnist_softmax", "training")).y for x in X])

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        return self._trained(x, streams.noise(query))

    @cached_property
    def _held_out(self) -> tuple[tuple[Floats, NDArray[np.uint8]], ...]:
        return tuple((inputs(images), labels) for images, labels in self.sets[1:])

    def _trained(self, x: Array, rng: np.random.Generator) -> Observation:
        images, labels = self.sets.train
        rows = rng.integers(len(images), size=self.iterations)
        weights = descend(inputs(images[rows]), labels[rows], 10.0 ** float(x[0]))
        (validation, _), (test, error) = (losses(weights, *own) for own in self._held_out)
        return Observation(
            y=-validation,
            f=-validation,
            diagnostics={
                "log10_learning_rate": float(x[0]),
                "validation_cross_entropy": validation,
                "test_cross_entropy": test,
                "test_error": error,
            },
        )


def inputs(images: NDArray[np.uint8]) -> Floats:
    """``n x 785``: the images (``n x 784``) with the norm `NORM`, and a 1 for the bias."""
    made: Floats = np.ones((len(images), images.shape[1] + 1), np.float32)
    made[:, :-1] = images
    made[:, :-1] *= (NORM / np.linalg.norm(made[:, :-1], axis=1))[:, None]
    return made


def descend(examples: Floats, labels: NDArray[np.uint8], learning_rate: float) -> Floats:
    """θ, ``10 x 785``, after a step of gradient descent on each example (``N x 785``), from 0."""
    weights: Floats = np.zeros((CLASSES, examples.shape[1]), np.float32)
    rate = np.float32(learning_rate)
    for example, label in zip(examples, labels, strict=True):
        logits = weights @ example
        residual = np.exp(logits - logits.max())
        residual /= residual.sum()
        residual[label] -= np.float32(1.0)
        weights -= np.outer(rate * residual, example)
    return weights


def losses(weights: Floats, examples: Floats, labels: NDArray[np.uint8]) -> tuple[float, float]:
    """Mean cross-entropy (nats) and error (percent) on ``n`` examples."""
    logits = (examples @ weights.T).astype(np.float64)
    right = log_softmax(logits, axis=1)[np.arange(len(labels)), labels]
    return -float(right.mean()), 100.0 * float(np.mean(logits.argmax(1) != labels))
