"""Sensitive samples for the detection of model tampering (NeuralBO, section 7.2.1, Figure 3), after He
et al. (2018): images at which the output of a classifier depends most on its weights.

The classifier is `replibo.problems.networks.digit_classifier`. Tampering adds Gaussian noise to every
weight and bias; a sample detects a tampered model if the top-1 label that this gives it is not the
original model's. What the paper leaves open stands at the arguments and constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replibo.data.mnist import SIZE, read_mnist
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.problems.mnist_cnn import small_digits
from replibo.problems.networks.digit_classifier import (
    HIDDEN,
    PARAMETERS,
    PIXELS,
    DigitClassifier,
    Outputs,
    layers,
    normalised,
    train,
)
from replibo.settings import Count, Natural, SettingError
from replibo.streams import generator

Upscaling = Literal["bilinear", "nearest"]

SMALL = 7
"""Height and width of the images that are searched: "from 28 x 28 to 7 x 7"."""

PRINTED_ACCURACY, PRINTED_TAMPERED_ACCURACY = 0.93, 0.8773
"""The paper's test accuracy before and after tampering."""

TAMPERED_MODELS = 1000
CALIBRATION_MODELS = 200
"""The first of the tampered models: the noise is calibrated with them, to spare time and memory."""

_AT_ONCE = 50
"""Tampered models whose weights are held at once."""

Labels = NDArray[np.int64]


def upscaling_operator(upscaling: Upscaling) -> Array:
    """The matrix, ``784 x 49``, that turns a 7 x 7 image into one of 28 x 28.

    ``bilinear``: linear along rows and columns between the centres of the small image's pixels, on the
    same square as the large image's, the outermost values continued (as torch's ``interpolate`` with
    ``align_corners=False``); ``nearest``: each small pixel becomes 4 x 4 equal ones. Each row is a
    convex combination, so the box of the pixel values is kept.
    """
    unit = np.eye(SMALL)
    if upscaling == "nearest":
        one = np.repeat(unit, SIZE // SMALL, axis=0)
    else:
        centres = (np.arange(SIZE) + 0.5) * SMALL / SIZE - 0.5
        one = np.array([np.interp(centres, np.arange(SMALL), values) for values in unit]).T
    return np.asarray(np.kron(one, one), np.float64)


class Tampering(NamedTuple):
    """How the models were tampered with, and the test accuracy of the `TAMPERED_MODELS`, 0 to 1."""

    sd: float
    mean_accuracy: float
    sd_accuracy: float


def tampering_noise(models: int = TAMPERED_MODELS) -> Iterator[Array]:
    """The noise on the parameters in units of its standard deviation, in parts of ``m x 7,960``.

    It is the same for every call: the first 200 of 1,000 models are those of 200.
    """
    rng = generator("sensitive_samples", "tampering")
    for first in range(0, models, _AT_ONCE):
        yield rng.standard_normal((min(_AT_ONCE, models - first), PARAMETERS))


@cache
def _noise(models: int) -> tuple[Array, ...]:
    """`tampering_noise`, kept: figures, tables and claims ask about many images of the same models."""
    return tuple(tampering_noise(models))


def tampered_labels(
    classifier: DigitClassifier, sd: float, images: Array, models: int = TAMPERED_MODELS
) -> Labels:
    """The top-1 labels that tampered models give ``n x 784`` images, ``models x n``."""
    found = []
    for noise in _noise(models):
        W1, b1, W2, b2 = layers(classifier.parameters + sd * noise)
        hidden = np.maximum(np.einsum("mhp,np->mnh", W1, images, optimize=True) + b1[:, None], 0)
        logits = hidden @ W2.transpose(0, 2, 1) + b2[:, None]
        found.append(np.argmax(logits, axis=2))
    return np.concatenate(found)


def detections(classifier: DigitClassifier, sd: float, images: Array) -> NDArray[np.bool_]:
    """Which of the 1,000 tampered models each of ``n x 784`` images detects, ``n x 1,000``."""
    original, tampered = classifier.labels(images), tampered_labels(classifier, sd, images)
    return np.asarray(original[:, None] != tampered.T)


class TamperedAccuracies:
    """The test accuracy of tampered models as a function of the noise's standard deviation.

    The noise is the same for every standard deviation (common random numbers), and so are its
    products with the images, which are kept: they are nearly all of the work. In single precision,
    since only shares of right labels come of it.

    Args:
        classifier: the original model.
        pixels: ``n x 784``, 0 to 255.
        labels: ``n``.
        parts: `tampering_noise`, or a part of it.
    """

    def __init__(
        self,
        classifier: DigitClassifier,
        pixels: NDArray[np.uint8],
        labels: NDArray[np.uint8],
        parts: Iterator[Array],
    ) -> None:
        images = normalised(pixels).astype(np.float32)
        self._labels = labels
        self._hidden = (images @ classifier.W1.T + classifier.b1).astype(np.float32)
        self._W2, self._b2 = classifier.W2, classifier.b2
        self._noise = []
        for noise in parts:
            W1, b1, W2, b2 = layers(noise)
            moved = images @ W1.reshape(-1, PIXELS).T.astype(np.float32)
            moved += b1.ravel().astype(np.float32)
            hidden = moved.reshape(len(images), -1, HIDDEN).transpose(1, 0, 2)
            self._noise.append((hidden, W2, b2))

    def __call__(self, sd: float) -> Array:
        """The accuracy of each model at the standard deviation ``sd``."""
        found = []
        for hidden_noise, W2_noise, b2_noise in self._noise:
            W2 = (self._W2 + sd * W2_noise).astype(np.float32)
            b2 = (self._b2 + sd * b2_noise).astype(np.float32)
            for moved, weights, biases in zip(hidden_noise, W2, b2, strict=True):
                hidden = np.maximum(self._hidden + np.float32(sd) * moved, 0)
                labels = np.argmax(hidden @ weights.T + biases, axis=1)
                found.append(np.mean(labels == self._labels))
        return np.array(found)


def calibrated_sd(accuracies: TamperedAccuracies, target: float) -> float:
    """The standard deviation at which the mean accuracy falls to ``target``, by bisection.

    Raises:
        RepliboError: the accuracy without noise is not above ``target``.
    """
    if not (untouched := accuracies(0.0).mean()) > target:
        raise RepliboError(
            f"target: must be less than the original model's accuracy {untouched:.4f}, got {target:.4f}"
        )
    low, high = 0.0, 0.01
    while accuracies(high).mean() > target:
        low, high = high, 2 * high
    for _ in range(12):  # to a 4,096th of the last doubling
        middle = (low + high) / 2
        if accuracies(middle).mean() > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


class SensitiveSamples(Problem):
    """‖∂f_θ(x)/∂θ‖_F of a classifier at the image x: how much its output depends on its weights.

    ``x`` is a 7 x 7 image, row by row, in the units of the network's input: the box [-0.4242, 2.8215]
    is black and white, (pixel - 0.1307)/0.3081. Without noise and in closed form
    (`DigitClassifier.jacobian_norms`). The classifier is trained when the problem is made, always with
    the same result; so all runs optimise the same function, and a sample of one is a sample for all.

    Args:
        outputs: f, the ten ``log_softmax`` outputs of the network (log-probabilities), their
            ``softmax`` (probabilities), or the ``logits``. He et al.'s released code differentiates
            log-probabilities (their sum, by the last layer); an earlier version of it the largest logit.
        upscaling: how 7 x 7 pixels become 28 x 28: ``bilinear`` or ``nearest``.
        epochs: of the classifier's training, 60,000 images each.
        classifier_seed: another classifier of the same architecture for each seed.
        data: as of `replibo.problems.mnist_cnn.MnistCnn`.

    Raises:
        RepliboError: too few ``epochs`` to detect tampering, or a file is missing, truncated or of
            another size.
    """

    dim = SMALL * SMALL
    optimal_value = None
    kept_queries = 10

    def __init__(
        self,
        *,
        outputs: Outputs = "log_softmax",
        upscaling: Upscaling = "bilinear",
        epochs: Count = 6,
        classifier_seed: Natural = 0,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        self.outputs, self.upscaling, self.epochs = outputs, upscaling, epochs
        ends = normalised(np.array([0, 255], np.uint8))
        self.bounds = np.repeat(ends[:, None], self.dim, axis=1)
        self._upscale = upscaling_operator(upscaling)
        digits = small_digits() if data is None else read_mnist(data)
        self.classifier = train(
            digits.train_images, digits.train_labels, epochs=epochs, seed=classifier_seed
        )
        self._test = digits.test_images, digits.test_labels
        if data is None:
            self.stand_in = (
                f"scikit-learn's {len(digits.train_labels) + len(digits.test_labels)} digits of 8 x 8 "
                f"pixels, interpolated to {SIZE} x {SIZE}, stand in for MNIST; the classifier's "
                f"accuracy on {len(digits.test_labels)} of them is {100 * self.accuracy:.1f} %."
            )
        # Before anything is run: detection could not be computed from such runs.
        if not self.accuracy > self._target:
            raise SettingError(
                "epochs",
                f"must be enough for a test accuracy above {self._target:.4f}, got {epochs} "
                f"(accuracy {self.accuracy:.4f})",
            )

    @property
    def _target(self) -> float:
        """The mean accuracy of the tampered models: the paper's 87.73 %; for the stand-in, whose model
        has another accuracy, less than that by the paper's ratio 87.73/93."""
        share = self.accuracy / PRINTED_ACCURACY if self.stand_in else 1.0
        return PRINTED_TAMPERED_ACCURACY * share

    @cached_property
    def accuracy(self) -> float:
        """The original model's accuracy on the test images, 0 to 1."""
        pixels, labels = self._test
        return self.classifier.accuracy(normalised(pixels), labels)

    @cached_property
    def tampering(self) -> Tampering:
        """The tampering that lowers the mean test accuracy to the paper's."""
        of_few = TamperedAccuracies(
            self.classifier, *self._test, tampering_noise(CALIBRATION_MODELS)
        )
        sd = calibrated_sd(of_few, self._target)
        # Part by part: what is kept for the next standard deviation is not needed here.
        accuracies = np.concatenate(
            [
                TamperedAccuracies(self.classifier, *self._test, iter([part]))(sd)
                for part in tampering_noise()
            ]
        )
        return Tampering(sd, float(accuracies.mean()), float(accuracies.std(ddof=1)))

    def recorded(self) -> dict[str, Any]:
        """The classifier, the tampering and the settings: what detection is computed from."""
        return {
            "parameters": self.classifier.encoded(),
            "outputs": self.outputs,
            "upscaling": self.upscaling,
            "accuracy": self.accuracy,
            "tampering_sd": self.tampering.sd,
            "tampered_models": TAMPERED_MODELS,
            "tampered_accuracy": self.tampering.mean_accuracy,
            "tampered_accuracy_sd": self.tampering.sd_accuracy,
        }

    def evaluate_true(self, X: Array) -> Array:
        return self.classifier.jacobian_norms(X @ self._upscale.T, self.outputs)
