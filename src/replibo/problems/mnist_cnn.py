"""The inner problem of the BBO paper (Fu et al., ICLR 2024, section 5 and Appendix A): a small
convolutional network, trained on MNIST by N steps of stochastic gradient descent.

The outer level proposes hyperparameters λ, the inner level trains (Algorithms 1 and 2, lines 2-4) and
observes the validation loss L^val(λ, θ_λ^N, S^val) (line 5). The paper names neither the network nor
the learning rates nor the sizes of batch and validation set: what is read into it stands at the
arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replibo.data.mnist import CLASSES, SIZE, Digits, read_mnist
from replibo.problems.base import Array, Observation, Problem
from replibo.problems.networks.cnn import ConvolutionalNetwork, evaluate, train
from replibo.settings import Count
from replibo.streams import RunStreams, generator

VALIDATION = 10_000
"""Training images that are held out, of MNIST's 60,000."""

LOG10_LEARNING_RATE = (-4.0, 0.0)
MOMENTUM = (0.0, 0.99)

PENALTY = 2.0 * math.log(CLASSES)
"""Cross-entropy recorded for a training that diverged, 4.605 nats: twice that of a network which
gives each class the same probability. So it is worse than having learned nothing. It is still of
the size of an ordinary loss, so it does not flatten all others when losses are standardised."""

PENALTY_ERROR = 100.0
"""The same for the error, percent: all wrong."""

LAST_STEPS = 50
"""Steps over whose batches the final training loss is the mean."""

_TEST, _VALIDATION = 300, 300
"""Sizes of the stand-in's test and validation sets, of 1,797 images."""


class Sets(NamedTuple):
    """Images ``n x 784``, labels ``n``, of each of the three sets."""

    train: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    validation: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    test: tuple[NDArray[np.uint8], NDArray[np.uint8]]


class MnistCnn(Problem):
    """Minus the validation loss of a network trained with learning rate (and momentum) λ.

    ``x`` is log10 of the learning rate, on [-4, 0]; with ``momentum="tuned"`` a second coordinate is
    the momentum, on [0, 0.99].

    The training is deterministic for each (seed of the run, query, λ). Initial weights and batches
    come from the query's stream of noise, which does not depend on the algorithm. So two algorithms
    that ask the same λ at the same query of the same seed see the same loss. The noise of the paper
    (the excess risk of the N steps) differs from query to query. A noise-free value does not exist:
    `f` of an observation is `y` itself, and `evaluate_true` trains with initial weights and batches
    that never change.

    The test set is only ever looked at for the diagnostics of an observation: ``test_cross_entropy``
    (nats) and ``test_error`` (percent), beside ``validation_cross_entropy``, ``validation_error``, the
    hyperparameters ``log10_learning_rate`` and ``momentum``, ``training_loss`` (mean over the batches of
    the last steps) and ``diverged``.

    A training has diverged (``diverged`` 1) if a training loss or an output on the validation set
    is not finite, or the validation cross-entropy exceeds `PENALTY`. Then all cross-entropies are
    recorded as `PENALTY` and all errors as `PENALTY_ERROR`. This includes the test set, and
    networks whose own numbers are finite.

    Args:
        iterations: N, steps of stochastic gradient descent.
        channels: output channels of the convolutions (3×3, stride 2).
        batch_size: images in a step, drawn independently and uniformly from the training set.
        momentum: ``fixed`` (none: the paper's plain descent) or ``tuned``, as a second dimension.
        objective: what is observed, ``cross_entropy`` (nats) or ``error`` (percent), both with a
            minus sign.
        data: where the files of MNIST lie, by their names in the manifest; None takes scikit-learn's
            small digits as a stand-in.

    Raises:
        RepliboError: there are too many convolutions, or a file is missing, truncated, swapped with
            another or of another size.
    """

    optimal_value = None

    def __init__(
        self,
        *,
        iterations: Count = 1000,
        channels: Sequence[Count] = (8, 16),
        batch_size: Count = 64,
        momentum: Literal["fixed", "tuned"] = "fixed",
        objective: Literal["cross_entropy", "error"] = "cross_entropy",
        data: Mapping[str, Path] | None = None,
    ) -> None:
        self.iterations, self.batch_size, self.objective = iterations, batch_size, objective
        ranges = (LOG10_LEARNING_RATE, MOMENTUM)[: 2 if momentum == "tuned" else 1]
        self.dim = len(ranges)
        self.bounds = np.array(ranges).T
        # Before the files are read: what is wrong with the network is said at once.
        self._channels = tuple(channels)
        ConvolutionalNetwork(SIZE, self._channels, CLASSES, 1)
        if data is None:
            digits, held_out = small_digits(), _VALIDATION
            self.stand_in = (
                f"scikit-learn's {len(digits.train_labels) + len(digits.test_labels)} digits of 8 x 8 "
                f"pixels, interpolated to {SIZE} x {SIZE}, stand in for MNIST."
            )
        else:
            digits, held_out = read_mnist(data), VALIDATION
        self.sets = _split(digits, held_out)

    @cached_property
    def network(self) -> ConvolutionalNetwork:
        """The network and its buffers; each training draws all its weights anew."""
        images = self.sets.train[0]
        mean = float(np.mean(images))
        # Not images.std(), which would copy all images to eight times their size.
        variance = float(np.mean(np.square(images, dtype=np.uint16))) - mean**2
        return ConvolutionalNetwork(
            SIZE,
            self._channels,
            CLASSES,
            self.batch_size,
            pixel_mean=mean,
            pixel_std=math.sqrt(variance),
        )

    def evaluate_true(self, X: Array) -> Array:
        return np.array([self._trained(x, generator("mnist_cnn", "training")).y for x in X])

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        return self._trained(x, streams.noise(query))

    def _trained(self, x: Array, rng: np.random.Generator) -> Observation:
        """Train with ``x`` (``d``, native) and random numbers from ``rng``; look at the result."""
        network, sets = self.network, self.sets
        momentum = float(x[1]) if self.dim == 2 else 0.0
        network.initialise(rng)
        images, labels = sets.train
        losses = train(
            network,
            images,
            labels,
            rng.integers(len(images), size=(self.iterations, self.batch_size)),
            learning_rate=10.0 ** float(x[0]),
            momentum=momentum,
        )
        training_loss = float(np.mean(losses[-LAST_STEPS:], dtype=np.float64))
        validation = test = (math.nan, math.nan)
        if math.isfinite(training_loss):
            validation = evaluate(network, *sets.validation)
            test = evaluate(network, *sets.test)
        diverged = not validation[0] <= PENALTY  # NaN compares as False
        if diverged:
            training_loss, validation = PENALTY, (PENALTY, PENALTY_ERROR)
        if diverged or not math.isfinite(test[0]):
            test = (PENALTY, PENALTY_ERROR)
        y = -validation[0 if self.objective == "cross_entropy" else 1]
        diagnostics = {
            "log10_learning_rate": float(x[0]),
            "momentum": momentum,
            "validation_cross_entropy": validation[0],
            "validation_error": validation[1],
            "test_cross_entropy": test[0],
            "test_error": test[1],
            "training_loss": training_loss,
            "diverged": float(diverged),
        }
        return Observation(y=y, f=y, diagnostics=diagnostics)


def _split(digits: Digits, held_out: int) -> Sets:
    """Hold out the validation set: the same images in every run."""
    order = generator("mnist_cnn", "validation").permutation(len(digits.train_labels))
    validation, rest = np.sort(order[:held_out]), np.sort(order[held_out:])
    return Sets(
        train=(digits.train_images[rest], digits.train_labels[rest]),
        validation=(digits.train_images[validation], digits.train_labels[validation]),
        test=(digits.test_images, digits.test_labels),
    )


def small_digits() -> Digits:
    """scikit-learn's bundled digits in MNIST's shape, the same 300 of them always as the test set.

    The 8 x 8 pixels of 0 to 16 are scaled to 0 to 255 and interpolated linearly along rows and
    columns (the centres of the pixels of both grids on the same square, the outermost values
    continued).
    """
    # Imported late: real data need none of it.
    from sklearn.datasets import load_digits

    small, labels = load_digits(return_X_y=True)
    side = math.isqrt(small.shape[1])
    centres = (np.arange(SIZE) + 0.5) * side / SIZE - 0.5
    rows = np.array([np.interp(centres, np.arange(side), unit) for unit in np.eye(side)]).T
    images = rows @ small.reshape(-1, side, side) @ rows.T * (255 / small.max())
    pixels = np.rint(images).astype(np.uint8).reshape(len(images), SIZE * SIZE)
    labels = labels.astype(np.uint8)
    order = generator("mnist_cnn", "stand_in").permutation(len(labels))
    test, train_rows = order[:_TEST], order[_TEST:]
    return Digits(pixels[train_rows], labels[train_rows], pixels[test], labels[test])
