"""A small convolutional network for images, trained by stochastic gradient descent, in NumPy.

Layers: 3×3 convolutions of stride 2 with one pixel of zero padding, each followed by a ReLU, then one
linear layer; the loss is the cross-entropy of the softmax.

The step is written out by hand because it is the cost of a whole paper. Every array has the batch
as its last axis (``channels x height x width x batch``). So a convolution and both its gradients
are one matrix product each, and the output of one layer is the input of the next without a
transposition. All arrays are allocated once. A step takes a third of PyTorch's time
(`benchmarks/mnist_cnn.py` of commit 8dc61a90).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from replibo.settings import SettingError

Floats = NDArray[np.float32]
Pixels = NDArray[np.uint8]
Labels = NDArray[np.uint8]
Indices = NDArray[np.int64]

KERNEL, STRIDE = 3, 2


def sizes(size: int, layers: int) -> list[int]:
    """Heights of a square image of ``size`` pixels before and after each of ``layers`` convolutions.

    Raises:
        SettingError: no pixel is left to halve.
    """
    found = [size]
    while found[-1] > 1:
        found.append(math.ceil(found[-1] / STRIDE))
    if not 1 <= layers < len(found):
        raise SettingError(
            "channels",
            f"must be 1 to {len(found) - 1} convolutions, got {layers}; each halves the image "
            f"({', '.join(map(str, found))} pixels)",
        )
    return found[: layers + 1]


class _Convolution:
    """One convolution with its buffers; ``b`` is the size of the batch.

    Attributes:
        inside: ``c x h x h x b``, the input: the inner part of the padded one.
        weights: ``c_out x (9 c + 1)``, the bias in the last column; a view of the flat parameters.
        gradient: the same of the flat gradient.
        output: ``c_out x h_out x h_out x b``, before the ReLU.
        output_gradient: the gradient of the loss in it.
    """

    def __init__(
        self, channels: int, size: int, weights: Floats, gradient: Floats, batch: int
    ) -> None:
        self.weights, self.gradient = weights, gradient
        out, half = len(weights), math.ceil(size / STRIDE)
        width = STRIDE * half + 1
        # The border stays 0: that is the padding.
        padded: Floats = np.zeros((channels, width, width, batch), np.float32)
        self.inside = padded[:, 1 : size + 1, 1 : size + 1]
        plane = (half, half, batch)
        # The last row of ones multiplies the bias.
        self._columns: Floats = np.ones((weights.shape[1], half * half * batch), np.float32)
        self._patches = self._columns[:-1].reshape(channels, KERNEL, KERNEL, *plane)
        c, y, x, b = padded.strides
        self._windows = as_strided(
            padded, self._patches.shape, (c, y, x, STRIDE * y, STRIDE * x, b), writeable=False
        )
        self.output: Floats = np.empty((out, *plane), np.float32)
        self.output_gradient: Floats = np.empty_like(self.output)
        self._flat_output = self.output.reshape(out, -1)
        self._flat_output_gradient = self.output_gradient.reshape(out, -1)
        self._columns_gradient = np.empty_like(self._columns[:-1])
        self._padded_gradient = np.zeros_like(padded)
        self.inside_gradient = self._padded_gradient[:, 1 : size + 1, 1 : size + 1]
        self._folds = self._prepared_folds(half)

    def _prepared_folds(self, half: int) -> list[tuple[bool, Floats, Floats]]:
        """How the gradient in the patches is summed to that in the padded input, tap by tap.

        With stride 2, the four taps of row and column 1 or 2 touch every pixel (but row and column 0,
        which are padding) exactly once: they are copied, and then the other five are added.
        """
        patches = self._columns_gradient.reshape(self._patches.shape)
        span = STRIDE * half - 1
        taps = sorted(np.ndindex(KERNEL, KERNEL), key=lambda tap: 0 in tap)
        return [
            (
                0 in (i, j),
                self._padded_gradient[:, i : i + span : STRIDE, j : j + span : STRIDE],
                patches[:, i, j],
            )
            for i, j in taps
        ]

    def forward(self) -> None:
        """`output` from `inside`."""
        np.copyto(self._patches, self._windows)
        np.matmul(self.weights, self._columns, out=self._flat_output)

    def backward_weights(self) -> None:
        """`gradient` from `output_gradient`, after `forward`."""
        np.matmul(self._flat_output_gradient, self._columns.T, out=self.gradient)

    def backward_inside(self) -> None:
        """`inside_gradient`, of the loss in the layer's input without its border, from `output_gradient`:
        each fold writes, or adds, the part of one place in the kernel."""
        np.matmul(self.weights[:, :-1].T, self._flat_output_gradient, out=self._columns_gradient)
        for add, pixels, tap in self._folds:
            if add:
                np.add(pixels, tap, out=pixels)
            else:
                np.copyto(pixels, tap)


class ConvolutionalNetwork:
    """The network for a fixed size of batch ``b``.

    Args:
        size: height and width of the images.
        channels: output channels of each convolution.
        classes: number of classes.
        batch: b.
        pixel_mean, pixel_std: an image enters as (pixel - mean) / std.

    Attributes:
        parameters: all weights and biases in one vector; those of each layer are views of it.
        gradient: the gradient of the mean loss of the last batch, in the same order.
        weights: per layer ``outputs x (inputs + 1)``, the bias in the last column; the inputs of a
            convolution in the order channel, row, column.

    Raises:
        SettingError: the network does not fit the image.
    """

    def __init__(
        self,
        size: int,
        channels: tuple[int, ...],
        classes: int,
        batch: int,
        *,
        pixel_mean: float = 0.0,
        pixel_std: float = 1.0,
    ) -> None:
        heights = sizes(size, len(channels))
        inputs = (1, *channels[:-1])
        shapes = [
            (out, KERNEL * KERNEL * into + 1) for into, out in zip(inputs, channels, strict=True)
        ]
        features = channels[-1] * heights[-1] ** 2
        shapes.append((classes, features + 1))
        self.batch, self.classes = batch, classes
        self.parameters: Floats = np.zeros(sum(out * into for out, into in shapes), np.float32)
        self.gradient = np.zeros_like(self.parameters)
        self.weights = _views(self.parameters, shapes)
        gradients = _views(self.gradient, shapes)
        *convolutions, self._linear = self.weights
        *convolution_gradients, self._linear_gradient = gradients
        self._convolutions = [
            _Convolution(into, height, weights, gradient, batch)
            for into, height, weights, gradient in zip(
                inputs, heights[:-1], convolutions, convolution_gradients, strict=True
            )
        ]
        # The last row of ones multiplies the bias.
        self._features: Floats = np.ones((features + 1, batch), np.float32)
        last = self._convolutions[-1].output.shape
        rectified = [layer.inside for layer in self._convolutions[1:]]
        rectified.append(self._features[:-1].reshape(last))
        self._features_gradient = np.empty_like(self._features[:-1])
        gradients_in = [layer.inside_gradient for layer in self._convolutions[1:]]
        gradients_in.append(self._features_gradient.reshape(last))
        self._steps: list[tuple[_Convolution, Floats, Floats, Floats, Any]] = [
            # An array of zeros, since NumPy's maximum with a number is three times slower.
            (layer, out, gradient, np.zeros_like(layer.output), np.empty(out.shape, bool))
            for layer, out, gradient in zip(
                self._convolutions, rectified, gradients_in, strict=True
            )
        ]
        self._logits: Floats = np.empty((classes, batch), np.float32)
        self._row: Floats = np.empty(batch, np.float32)
        self._examples = np.arange(batch)
        self._taken: Pixels = np.empty((batch, size * size), np.uint8)
        self._transposed = self._taken.T.reshape(size, size, batch)
        self._input = self._convolutions[0].inside[0]
        self._mean, self._scale = np.float32(pixel_mean), np.float32(1.0 / pixel_std)

    def initialise(self, rng: np.random.Generator) -> None:
        """Draw all parameters: uniform within ±1/sqrt(inputs), biases too (PyTorch's default)."""
        for weights in self.weights:
            limit = 1.0 / math.sqrt(weights.shape[1] - 1)
            weights[...] = rng.uniform(-limit, limit, size=weights.shape)

    def forward(self, images: Pixels, rows: Indices) -> Floats:
        """The logits, ``classes x b``, of the ``rows`` (``b``) of ``images``, ``n x pixels``.

        The array is overwritten by the next call.
        """
        # "clip" only spares NumPy a copy: all rows are there.
        np.take(images, rows, axis=0, out=self._taken, mode="clip")
        np.copyto(self._input, self._transposed)
        np.subtract(self._input, self._mean, out=self._input)
        np.multiply(self._input, self._scale, out=self._input)
        for layer, out, _, zeros, _ in self._steps:
            layer.forward()
            np.maximum(layer.output, zeros, out=out)
        return np.matmul(self._linear, self._features, out=self._logits)

    def loss_and_gradient(self, images: Pixels, labels: Labels, rows: Indices) -> float:
        """The mean cross-entropy of a batch; its gradient is in `gradient` then."""
        logits, row = self.forward(images, rows), self._row
        right = labels[rows], self._examples
        np.subtract(logits, np.max(logits, axis=0, out=row), out=logits)
        right_logits = logits[right]
        np.exp(logits, out=logits)
        np.sum(logits, axis=0, out=row)
        np.divide(logits, row, out=logits)  # now the probabilities
        logits[right] -= np.float32(1.0)
        np.multiply(logits, np.float32(1.0 / self.batch), out=logits)
        np.log(row, out=row)
        np.subtract(row, right_logits, out=row)

        np.matmul(logits, self._features.T, out=self._linear_gradient)
        np.matmul(self._linear[:, :-1].T, logits, out=self._features_gradient)
        for number in reversed(range(len(self._steps))):
            layer, _, gradient, _, positive = self._steps[number]
            np.greater(layer.output, np.float32(0.0), out=positive)
            np.multiply(gradient, positive, out=layer.output_gradient)
            layer.backward_weights()
            if number:
                layer.backward_inside()
        return float(np.sum(row)) / self.batch


def _views(flat: Floats, shapes: list[tuple[int, int]]) -> list[Floats]:
    """The layers' matrices, one after the other, as views of a vector."""
    ends = np.cumsum([out * into for out, into in shapes])
    return [
        part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)
    ]


def train(
    network: ConvolutionalNetwork,
    images: Pixels,
    labels: Labels,
    batches: Indices,
    *,
    learning_rate: float,
    momentum: float = 0.0,
) -> Floats:
    """Plain stochastic gradient descent: v ← μ v + gradient, θ ← θ - η v, one step for each batch.

    Args:
        network: trained in place.
        images: ``n x pixels``.
        labels: ``n``.
        batches: ``N x b``, rows of ``images``.
        learning_rate: η.
        momentum: μ; with 0, v is the gradient.

    Returns:
        The loss of each batch before its step, ``N``. Training stops as soon as one is not finite;
        the losses that follow are NaN.
    """
    losses: Floats = np.full(len(batches), np.nan, np.float32)
    parameters, gradient = network.parameters, network.gradient
    velocity = np.zeros_like(gradient)
    rate, decay = np.float32(learning_rate), np.float32(momentum)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for step, rows in enumerate(batches):
            loss = losses[step] = network.loss_and_gradient(images, labels, rows)
            if not math.isfinite(loss):
                break
            if momentum:
                np.multiply(velocity, decay, out=velocity)
                np.add(velocity, gradient, out=velocity)
                np.multiply(velocity, rate, out=gradient)
            else:
                np.multiply(gradient, rate, out=gradient)
            np.subtract(parameters, gradient, out=parameters)
    return losses


def evaluate(network: ConvolutionalNetwork, images: Pixels, labels: Labels) -> tuple[float, float]:
    """Mean cross-entropy (nats) and error (percent) on ``n`` images, ``n x pixels``.

    The cross-entropy is not finite where the network's outputs are not; the error is 100 then.
    """
    n, batch = len(images), network.batch
    logits = np.empty((network.classes, math.ceil(n / batch) * batch), np.float32)
    # The last batch is filled up with the last image.
    rows = np.minimum(np.arange(logits.shape[1]), n - 1).reshape(-1, batch)
    with np.errstate(over="ignore", invalid="ignore"):
        for number, some in enumerate(rows):
            logits[:, number * batch : (number + 1) * batch] = network.forward(images, some)
        logits = logits[:, :n]
        if not np.isfinite(logits).all():
            return math.nan, 100.0
        # In double precision: a sum of 10,000 terms.
        shifted = logits.astype(np.float64) - logits.max(axis=0)
    right = shifted[labels, np.arange(n)]
    cross_entropy = np.mean(np.log(np.sum(np.exp(shifted), axis=0)) - right)
    return float(cross_entropy), 100.0 * float(np.mean(np.argmax(logits, axis=0) != labels))
