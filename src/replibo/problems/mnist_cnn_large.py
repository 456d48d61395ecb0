"""A larger network for the inner problem of the BBO paper (Fu et al., ICLR 2024, section 5), whose test
error at few SGD steps comes closer to the printed numbers than that of `replibo.problems.mnist_cnn`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replibo.data.mnist import CLASSES, SIZE
from replibo.problems.base import Array, Observation, Problem
from replibo.problems.mnist_cnn import LOG10_LEARNING_RATE, PENALTY, PENALTY_ERROR, MnistCnn
from replibo.settings import Count
from replibo.streams import RunStreams, generator

if TYPE_CHECKING:
    from torch import Tensor, nn

TRAINING, BATCH, MOMENTUM = 5000, 256, 0.9
"""Training images (where there are so many), images a step, momentum."""

EVALUATED = 500
"""Images in a pass without a gradient."""


class MnistCnnLarge(Problem):
    """Minus the validation cross-entropy of a larger network, in PyTorch, after N steps of SGD.

    Two convolutions (16 and 32 channels, 5×5, padding 2), each with a ReLU and a 2×2 max-pool, and
    one linear layer; momentum 0.9, batches of 256 of 5,000 training images. The paper names none of
    it: this is a guess at what it may have run. Validation and test sets, ``x`` (log10 of the
    learning rate), random streams and diverged trainings are those of
    `replibo.problems.mnist_cnn.MnistCnn`.

    Args:
        iterations: N.
        data: as of `MnistCnn`.
    """

    optimal_value = None
    dim = 1

    def __init__(self, *, iterations: Count, data: Mapping[str, Path] | None = None) -> None:
        self.iterations = iterations
        self.bounds = np.array([LOG10_LEARNING_RATE]).T
        images = MnistCnn(data=data)
        self.sets, self.stand_in = images.sets, images.stand_in
        train, labels = self.sets.train
        order = generator("mnist_cnn_large", "training").permutation(len(train))[:TRAINING]
        self.train, self.labels = train[order], labels[order].astype(np.int64)

    @cached_property
    def network(self) -> nn.Sequential:
        """The network; each training draws all its weights anew."""
        from torch import nn

        layers = [
            layer
            for into, out in ((1, 16), (16, 32))
            for layer in (nn.Conv2d(into, out, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        ]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * (SIZE // 4) ** 2, CLASSES))

    def evaluate_true(self, X: Array) -> Array:
        return np.array([self._trained(x, generator("mnist_cnn_large", "query")).y for x in X])

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        return self._trained(x, streams.noise(query))

    def _trained(self, x: Array, rng: np.random.Generator) -> Observation:
        import torch
        from torch.nn.functional import cross_entropy

        network = self.network
        with torch.no_grad():
            for parameter in network.parameters():  # PyTorch's default: ±1/sqrt(inputs), biases too
                if parameter.dim() > 1:
                    limit = 1.0 / math.sqrt(parameter[0].numel())
                drawn = rng.uniform(-limit, limit, size=tuple(parameter.shape))
                parameter.copy_(torch.tensor(drawn))
        optimizer = torch.optim.SGD(network.parameters(), lr=10.0 ** float(x[0]), momentum=MOMENTUM)
        for rows in rng.integers(len(self.train), size=(self.iterations, BATCH)):
            loss = cross_entropy(
                network(self.pixels(self.train[rows])), torch.tensor(self.labels[rows])
            )
            if not torch.isfinite(loss):
                break
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        validation, test = self._looked_at(*self.sets.validation), self._looked_at(*self.sets.test)
        diverged = not validation[0] <= PENALTY  # NaN compares as False
        if diverged:
            validation = (PENALTY, PENALTY_ERROR)
        if diverged or not math.isfinite(test[0]):
            test = (PENALTY, PENALTY_ERROR)
        return Observation(
            y=-validation[0],
            f=-validation[0],
            diagnostics={
                "log10_learning_rate": float(x[0]),
                "validation_cross_entropy": validation[0],
                "validation_error": validation[1],
                "test_cross_entropy": test[0],
                "test_error": test[1],
                "diverged": float(diverged),
            },
        )

    def _looked_at(self, images: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        """Mean cross-entropy (nats) and error (percent)."""
        import torch
        from torch.nn.functional import cross_entropy

        with torch.inference_mode():
            parts = [
                self.network(self.pixels(images[start : start + EVALUATED]))
                for start in range(0, len(images), EVALUATED)
            ]
            logits, right = torch.cat(parts).double(), torch.tensor(labels.astype(np.int64))
            wrong = (logits.argmax(1) != right).double().mean()
            return float(cross_entropy(logits, right)), 100.0 * float(wrong)

    def pixels(self, images: np.ndarray) -> Tensor:
        """``n x 1 x 28 x 28``, standardised by mean and deviation of the training images."""
        import torch

        mean, sd = self._moments
        return (torch.tensor(images.reshape(-1, 1, SIZE, SIZE)).float() - mean) / sd

    @cached_property
    def _moments(self) -> tuple[float, float]:
        return float(self.train.mean()), float(self.train.std())
