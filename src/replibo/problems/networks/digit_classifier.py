"""The small network that NeuralBO's sensitive samples are made for (section 7.2.1): 784-10-10, one
hidden layer of rectified linear units, trained on handwritten digits; log-softmax outputs.

The paper says "a hand-written digit classification model (pre-trained on MNIST data)" of 93 % test
accuracy and no more; what is read into it stands at the constants.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replibo.data.mnist import CLASSES, SIZE
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.streams import generator

PIXELS, HIDDEN = SIZE * SIZE, 10
PARAMETERS = HIDDEN * (PIXELS + 1) + CLASSES * (HIDDEN + 1)
"""Weights and biases, 7,960."""

PIXEL_MEAN, PIXEL_STD = 0.1307, 0.3081
"""Mean and deviation of the pixels of MNIST's training images, from 0 to 1. An image enters as
(pixel - mean) / sd."""

IMAGES_AN_EPOCH = 60_000
BATCH, LEARNING_RATE, ADAM_BETAS, ADAM_EPSILON = 64, 1e-3, (0.9, 0.999), 1e-8

Outputs = Literal["log_softmax", "softmax", "logits"]


def normalised(pixels: NDArray[np.uint8]) -> Array:
    """Images of 0 to 255 in the units of the network's input, the same shape."""
    return np.asarray((pixels / 255.0 - PIXEL_MEAN) / PIXEL_STD)


def softmax(logits: Array) -> Array:
    """Probabilities, ``n x 10``."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


class DigitClassifier:
    """A 784-10-10 network: logits z = W2·relu(W1·x + b1) + b2.

    Args:
        parameters: all weights and biases, shape 7,960, in the order W1 (10 x 784, row by row), b1,
            W2 (10 x 10), b2. They are rounded to single precision, in which `encoded` keeps them; all
            computation is in double precision.

    Attributes:
        parameters: the rounded ones.
        W1, b1, W2, b2: views of them.
    """

    def __init__(self, parameters: Array) -> None:
        if parameters.shape != (PARAMETERS,):
            raise RepliboError(
                f"parameters: must be of shape ({PARAMETERS},), got {parameters.shape}"
            )
        self.parameters: Array = parameters.astype(np.float32).astype(np.float64)
        self.W1, self.b1, self.W2, self.b2 = layers(self.parameters)

    def encoded(self) -> str:
        """The parameters as text: base64 of little-endian single precision."""
        return base64.b64encode(self.parameters.astype("<f4").tobytes()).decode()

    @classmethod
    def decode(cls, text: str) -> DigitClassifier:
        """The network whose `encoded` is ``text``.

        Raises:
            RepliboError: it is no network's.
        """
        try:
            content = base64.b64decode(text, validate=True)
            return cls(np.frombuffer(content, "<f4").astype(np.float64))
        except (binascii.Error, ValueError):
            raise RepliboError("parameters: must be base64 of little-endian float32") from None

    def forward(self, images: Array) -> tuple[Array, Array]:
        """Hidden units before the ReLU and logits, both ``n x 10``, of ``n x 784`` images."""
        hidden = images @ self.W1.T + self.b1
        return hidden, np.maximum(hidden, 0.0) @ self.W2.T + self.b2

    def labels(self, images: Array) -> NDArray[np.int64]:
        """The top-1 labels, ``n``, of ``n x 784`` images."""
        return np.argmax(self.forward(images)[1], axis=1)

    def accuracy(self, images: Array, labels: NDArray[np.uint8]) -> float:
        """The share of right labels."""
        return float(np.mean(self.labels(images) == labels))

    def jacobian_norms(self, images: Array, outputs: Outputs = "log_softmax") -> Array:
        """‖∂f_θ(x)/∂θ‖_F, θ all weights and biases, for each of ``n x 784`` images, shape ``n``.

        With h the rectified hidden units, D the diagonal matrix of 1 where a unit is active, else 0,
        and G = ∂f/∂z (10 x 10) for the logits z, the Jacobian's blocks are products of a column of G,
        or of G·W2·D, with an input of the layer. So, the 1 standing for the bias,

            ‖∂f/∂θ‖² = ‖G‖² (‖h‖² + 1) + ‖G·W2·D‖² (‖x‖² + 1).

        With p the softmax of z, G = I - 1pᵀ for log-probabilities and diag(p) - ppᵀ for
        probabilities; for the logits themselves G = I.
        """
        hidden, logits = self.forward(images)
        p = softmax(logits)
        if outputs == "log_softmax":
            G = np.eye(CLASSES) - p[:, None, :]
        elif outputs == "softmax":
            G = p[:, :, None] * (np.eye(CLASSES) - p[:, None, :])
        else:
            G = np.broadcast_to(np.eye(CLASSES), (len(p), CLASSES, CLASSES))
        GW2D = (G @ self.W2) * (hidden > 0)[:, None, :]
        h = np.maximum(hidden, 0.0)
        output_layer = np.sum(G**2, axis=(1, 2)) * (np.sum(h**2, axis=1) + 1)
        hidden_layer = np.sum(GW2D**2, axis=(1, 2)) * (np.sum(images**2, axis=1) + 1)
        return np.sqrt(output_layer + hidden_layer)


def layers(parameters: Array) -> tuple[Array, Array, Array, Array]:
    """W1 (``… x 10 x 784``), b1 (``… x 10``), W2 (``… x 10 x 10``) and b2 (``… x 10``) of
    ``… x 7,960`` parameters, as views."""
    before = parameters.shape[:-1]
    W1, b1, W2, b2 = np.split(
        parameters, np.cumsum([HIDDEN * PIXELS, HIDDEN, CLASSES * HIDDEN]), axis=-1
    )
    return (
        W1.reshape(*before, HIDDEN, PIXELS),
        b1,
        W2.reshape(*before, CLASSES, HIDDEN),
        b2,
    )


def train(
    pixels: NDArray[np.uint8], labels: NDArray[np.uint8], *, epochs: int, seed: int = 0
) -> DigitClassifier:
    """Train the network by Adam on the cross-entropy; the same network every time.

    The initial weights and biases are uniform within ±1/sqrt(inputs), PyTorch's default; Adam has its
    usual settings and batches of 64. The images are taken in random order, all of them before one
    comes again. Everything is in double precision, so that machines whose sums differ in the last bit
    nearly always agree on the rounded parameters.

    Args:
        pixels: ``n x 784``, 0 to 255.
        labels: ``n``.
        epochs: one is 60,000 images, whatever n is: the stand-in has fewer and needs as many steps.
        seed: of the initial weights and the order of the images.
    """
    import torch

    rng = generator("sensitive_samples", "training", *([seed] if seed else []))
    start = np.concatenate(
        [
            rng.uniform(-1, 1, size=outputs * (inputs + 1)) / np.sqrt(inputs)
            for outputs, inputs in ((HIDDEN, PIXELS), (CLASSES, HIDDEN))
        ]
    )
    steps = -(-epochs * IMAGES_AN_EPOCH // BATCH)
    rounds = -(-steps * BATCH // len(labels))
    order = np.concatenate([rng.permutation(len(labels)) for _ in range(rounds)])
    batches = order[: steps * BATCH].reshape(steps, BATCH)

    weights = [torch.from_numpy(part.copy()).requires_grad_() for part in layers(start)]
    W1, b1, W2, b2 = weights
    adam = torch.optim.Adam(weights, LEARNING_RATE, ADAM_BETAS, ADAM_EPSILON)
    for batch in batches:
        x = torch.from_numpy(normalised(pixels[batch]))
        targets = torch.from_numpy(labels[batch].astype(np.int64))
        logits = torch.relu(x @ W1.T + b1) @ W2.T + b2
        loss = torch.nn.functional.cross_entropy(logits, targets)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return DigitClassifier(np.concatenate([part.detach().numpy().ravel() for part in weights]))
