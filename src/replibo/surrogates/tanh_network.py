"""The tanh network of DNGO (Snoek et al. 2015), trained by a fused step of Adam.

The settings are those of pybnn, which the NeuralBO paper uses (section 7): three layers of 50 tanh
units and a linear output; 500 epochs of Adam (learning rate 0.01, constant) on the mean squared
error of batches of 10. Facts of pybnn that are kept: inputs are standardised column by column;
each epoch has a new order, and those of it that do not fill a last batch are left out of that epoch;
with fewer points than a batch holds, all of them are the batch; weights and biases start uniform on
±1/√(inputs of the layer), which is torch's default; float32.

The step is written out in NumPy, because at this size the time goes into the number of operations, and
an operation on so few numbers costs least there: one flat vector each for parameters, gradient and
Adam's moments, of which the layers' matrices are views; the gradient by the chain rule into
preallocated buffers. A step takes two thirds of what the same operations take in PyTorch
(`benchmarks/dngo_forest.py`).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from replibo.problems.base import Array
from replibo.surrogates.standardise import SMALLEST_SD

UNITS = (50, 50, 50)

# Adam's decay rates and its guard against division by zero (Kingma and Ba 2015; torch's defaults).
DECAY_1, DECAY_2, EPSILON = 0.9, 0.999, 1e-8

Matrix = NDArray[np.floating[Any]]
"""In the network's own precision."""


class TanhNetwork:
    """h(x) = W_out φ(x) + b_out, φ(x) the last of the tanh layers.

    A layer is one matrix with its bias as the last column, and layers' outputs are kept as columns
    above a row of ones: with h₀ = (x, 1), h_l = (tanh(W_l h_{l-1}), 1).

    Args:
        dim: number of inputs d.
        rng: draws the initial weights, layer after layer.
        units: of the tanh layers.
        dtype: of all numbers.

    Attributes:
        parameters: flat, all layers' matrices row by row.
        training_loss: mean squared error over all training data, after `train`.
        diverged: whether a weight or the loss is not a finite number, after `train`.
    """

    training_loss = math.nan
    diverged = False

    def __init__(
        self,
        dim: int,
        rng: np.random.Generator,
        *,
        units: tuple[int, ...] = UNITS,
        dtype: DTypeLike = np.float32,
    ) -> None:
        widths = (dim, *units, 1)
        self._shapes = [(outputs, inputs + 1) for inputs, outputs in pairwise(widths)]
        bound = [1 / math.sqrt(inputs - 1) for _, inputs in self._shapes]
        initial = [rng.uniform(-b, b, shape) for b, shape in zip(bound, self._shapes, strict=True)]
        self.parameters: Matrix = np.concatenate([W.ravel() for W in initial]).astype(dtype)
        self._input_mean, self._input_sd = np.zeros(dim), np.ones(dim)

    def train(
        self,
        X: Array,
        y: Array,
        rng: np.random.Generator,
        *,
        epochs: int = 500,
        batch_size: int = 10,
        learning_rate: float = 0.01,
    ) -> None:
        """Fit to ``X`` (``n x d``) and ``y`` (``n``, standardised); ``rng`` draws the orders.

        A training that diverges ends with `diverged` set; it raises nothing.
        """
        n, d = X.shape
        batch = min(batch_size, n)
        steps = n // batch
        self._input_mean, sd = X.mean(axis=0), X.std(axis=0)
        self._input_sd = np.where(sd >= SMALLEST_SD, sd, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            inputs, targets = self._inputs(X), y.astype(self.parameters.dtype)
            step = _AdamStep(self.parameters, self._shapes, batch, learning_rate)
            for _ in range(epochs):
                order = rng.permutation(n)[: steps * batch]
                batches = inputs[order].reshape(steps, batch, d + 1)
                for rows, aims in zip(batches, targets[order].reshape(steps, batch), strict=True):
                    step(rows, aims)
            W_out = _matrices(self.parameters, self._shapes)[-1][0]
            self.training_loss = float(np.mean((W_out @ self._last_hidden(inputs) - targets) ** 2))
        self.diverged = not (
            bool(np.isfinite(self.parameters).all()) and math.isfinite(self.training_loss)
        )

    def features(self, X: Array) -> Array:
        """φ(x) of the points ``X``, ``n x d``: ``n x units[-1]``."""
        return self._last_hidden(self._inputs(X))[:-1].T.astype(np.float64, order="C")

    def _inputs(self, X: Array) -> Matrix:
        """(x, 1) of standardised inputs, ``n x (d + 1)``."""
        standardised = (X - self._input_mean) / self._input_sd
        ones = np.ones(len(X))
        return np.column_stack([standardised, ones]).astype(self.parameters.dtype)

    def _last_hidden(self, inputs: Matrix) -> Matrix:
        """(φ(x), 1) as columns, from (x, 1) as rows."""
        hidden = inputs.T
        for W in _matrices(self.parameters, self._shapes)[:-1]:
            hidden = np.tanh(W @ hidden)
            hidden = np.concatenate([hidden, np.ones_like(hidden[:1])])
        return hidden


class _Layer(NamedTuple):
    """A tanh layer in training: views of the parameters, and buffers for one batch."""

    W: Matrix  # u x (inputs + 1)
    G: Matrix  # u x (inputs + 1), the gradient ∂loss/∂W
    onward: Matrix  # the next layer's W without its biases, transposed: u x (next units)
    hidden: Matrix  # (u + 1) x batch, h_l with its row of ones
    transposed: Matrix  # batch x (u + 1), of it
    activation: Matrix  # u x batch, h_l without it
    error: Matrix  # u x batch, ∂loss/∂(W h_{l-1})
    slope: Matrix  # u x batch, tanh'

    @classmethod
    def of(cls, W: Matrix, G: Matrix, W_next: Matrix, hidden: Matrix) -> _Layer:
        activation = hidden[:-1]
        error, slope = np.empty_like(activation), np.empty_like(activation)
        return cls(W, G, W_next[:, :-1].T, hidden, hidden.T, activation, error, slope)


class _AdamStep:
    """One step of Adam on the mean squared error of a batch, in place.

    Args:
        parameters: flat; changed by each call.
        shapes: of the layers' matrices, the last with one row.
        batch: points in a batch.
        learning_rate: of Adam.
    """

    def __init__(
        self,
        parameters: Matrix,
        shapes: list[tuple[int, int]],
        batch: int,
        learning_rate: float,
    ) -> None:
        self._parameters, self._batch, self._learning_rate = parameters, batch, learning_rate
        self._gradient, self._change = np.empty_like(parameters), np.empty_like(parameters)
        self._moment_1, self._moment_2 = np.zeros_like(parameters), np.zeros_like(parameters)
        self._count = 0
        W, G = _matrices(parameters, shapes), _matrices(self._gradient, shapes)
        self._W_out, self._G_out = W[-1], G[-1]
        self._error_out = np.empty((1, batch), parameters.dtype)
        self._layers = [
            _Layer.of(W[i], G[i], W[i + 1], np.ones((len(W[i]) + 1, batch), parameters.dtype))
            for i in range(len(W) - 1)
        ]
        self._backward = self._layers[::-1]

    def __call__(self, inputs: Matrix, targets: Matrix) -> None:
        """``inputs``: ``batch x (d + 1)``, rows (x, 1); ``targets``: ``batch``."""
        # Forward, and the derivative of the mean squared error: 2 (h(x) - y) / batch.
        below = inputs.T
        for layer in self._layers:
            np.tanh(np.dot(layer.W, below, out=layer.activation), out=layer.activation)
            below = layer.hidden
        above = np.dot(self._W_out, below, out=self._error_out)
        above -= targets
        above *= 2.0 / self._batch

        # Backward: the gradient of a layer is its error times what came in from below.
        gradient = self._G_out
        for layer in self._backward:
            np.dot(above, layer.transposed, out=gradient)
            np.dot(layer.onward, above, out=layer.error)
            np.multiply(layer.activation, layer.activation, out=layer.slope)
            np.subtract(1.0, layer.slope, out=layer.slope)  # tanh' = 1 - tanh²
            np.multiply(layer.error, layer.slope, out=layer.error)
            above, gradient = layer.error, layer.G
        np.dot(above, inputs, out=gradient)

        # Adam. Its moments are kept without the factors 1 - DECAY, which are moved into the scalars
        # with the bias corrections.
        self._count += 1
        first = (1.0 - DECAY_1) / (1.0 - DECAY_1**self._count)
        second = math.sqrt((1.0 - DECAY_2) / (1.0 - DECAY_2**self._count))
        self._moment_1 *= DECAY_1
        self._moment_1 += self._gradient
        self._moment_2 *= DECAY_2
        self._moment_2 += np.multiply(self._gradient, self._gradient, out=self._gradient)
        np.sqrt(self._moment_2, out=self._change)
        self._change += EPSILON / second
        np.divide(self._moment_1, self._change, out=self._change)
        self._change *= self._learning_rate * first / second
        self._parameters -= self._change


def _matrices(flat: Matrix, shapes: list[tuple[int, int]]) -> list[Matrix]:
    """The matrices of the given shapes that lie in ``flat`` one after the other, as views."""
    matrices, start = [], 0
    for rows, columns in shapes:
        matrices.append(flat[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return matrices
