"""The convex problem of `replibo.problems.mnist_softmax` with labels that are random in part: its best
learning rate lies inside the search box, so that Bayesian optimisation can matter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from replibo.data.mnist import CLASSES
from replibo.problems.base import Array, Observation
from replibo.problems.mnist_softmax import Floats, MnistSoftmax, descend, inputs
from replibo.settings import Count, Probability


class MnistNoisyLabels(MnistSoftmax):
    """Softmax regression where a share of the labels is drawn uniformly from the ten digits.

    The noise of the labels makes the upper end of the box, η = N^-1/2, too large a learning rate.
    The problem stays convex, and the loss's bounds are those of `MnistSoftmax`. The validation loss is
    the mean over the labels' noise, in closed form; SGD draws its labels' noise after its rows.

    Args:
        iterations: N, steps of stochastic gradient descent.
        noise: the share of random labels.
        data: as of `MnistSoftmax`.
    """

    def __init__(
        self,
        *,
        iterations: Count,
        noise: Probability = 0.5,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        super().__init__(iterations=iterations, data=data)
        self.noise = noise

    def _trained(self, x: Array, rng: np.random.Generator) -> Observation:
        images, labels = self.sets.train
        rows = rng.integers(len(images), size=self.iterations)
        drawn = rng.integers(CLASSES, size=self.iterations).astype(np.uint8)
        random = rng.random(self.iterations) < self.noise
        examples = inputs(images[rows])
        weights = descend(examples, np.where(random, drawn, labels[rows]), 10.0 ** float(x[0]))
        validation = noisy_loss(weights, *self._held_out[0], self.noise)
        return Observation(
            y=-validation,
            f=-validation,
            diagnostics={
                "log10_learning_rate": float(x[0]),
                "validation_cross_entropy": validation,
            },
        )


def noisy_loss(weights: Floats, examples: Floats, labels: NDArray[np.uint8], noise: float) -> float:
    """Mean cross-entropy (nats) on ``n`` examples, over labels of which a share ``noise`` is uniform."""
    logarithms = log_softmax((examples @ weights.T).astype(np.float64), axis=1)
    right = logarithms[np.arange(len(labels)), labels]
    return -float(((1.0 - noise) * right + noise * logarithms.mean(axis=1)).mean())
