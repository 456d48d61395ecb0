"""The tanh network of DNGO (Snoek et al. 2015), trained by a fused step of Adam.

The settings are those of pybnn, which the NeuralBO paper uses (section 7). The network has three
layers of 50 tanh units and a linear output. It is trained by 500 epochs of Adam (learning rate
0.01, constant) on the mean squared error of batches of 10. Facts of pybnn that are kept: inputs are
standardised column by column; each epoch has a new order, and those of it that do not fill a last
batch are left out of that epoch; with fewer points than a batch holds, all of them are the batch;
weights and biases start uniform on ±1/√(inputs of the layer), which is torch's default; float32.

The step is written out in NumPy, because at this size the time goes into the number of operations, and
an operation on so few numbers costs least there: one flat vector each for parameters, gradient and
Adam's moments, of which the layers' matrices are views; the gradient by the chain rule into
preallocated buffers. Networks of one shape are trained together, each operation for all of them at
once, to the same bits as alone. With ten of them and few inputs a step of each takes half the time
(`benchmarks/dngo_forest.py` of commit 8dc61a90).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
        alone = [self], [X], [y], [rng]
        train_together(*alone, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate)

    def features(self, X: Array) -> Array:
        """φ(x) of the points ``X``, ``n x d``: ``n x units[-1]``."""
        return self._last_hidden(self._inputs(X))[:-1].T.astype(np.float64, order="C")

    def _see(self, X: Array) -> Matrix:
        """`_inputs` of the data to train on, by which inputs are standardised from now on."""
        self._input_mean, sd = X.mean(axis=0), X.std(axis=0)
        self._input_sd = np.where(sd >= SMALLEST_SD, sd, 1.0)
        return self._inputs(X)

    def _take(self, parameters: Matrix, inputs: Matrix, targets: Matrix) -> None:
        """Take trained ``parameters``, and record their loss on the training data."""
        self.parameters = parameters.copy()
        W_out = _matrices(parameters, self._shapes)[-1][0]
        self.training_loss = float(np.mean((W_out @ self._last_hidden(inputs) - targets) ** 2))
        self.diverged = not (
            bool(np.isfinite(parameters).all()) and math.isfinite(self.training_loss)
        )

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


def train_together(
    networks: Sequence[TanhNetwork],
    X: Sequence[Array],
    y: Sequence[Array],
    rngs: Sequence[np.random.Generator],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
) -> None:
    """`TanhNetwork.train` of K networks of one shape, each on data of its own of one size; the bits are
    those of each alone."""
    n, batch = len(X[0]), min(batch_size, len(X[0]))
    steps, shapes = n // batch, networks[0]._shapes
    with np.errstate(over="ignore", invalid="ignore"):
        parameters = np.stack([network.parameters for network in networks])
        inputs = np.stack([network._see(own) for network, own in zip(networks, X, strict=True)])
        targets = np.stack(y).astype(parameters.dtype)
        step = _AdamStep(parameters, shapes, batch, learning_rate)
        every = np.arange(len(networks))[:, None]
        for _ in range(epochs):
            order = np.stack([rng.permutation(n)[: steps * batch] for rng in rngs])
            rows, aims = inputs[every, order], targets[every, order]
            for first in range(0, steps * batch, batch):
                step(rows[:, first : first + batch], aims[:, None, first : first + batch])
        for network, *trained in zip(networks, parameters, inputs, targets, strict=True):
            network._take(*trained)


class _Layer(NamedTuple):
    """A tanh layer of K networks in training: views of the parameters, and buffers for one batch."""

    W: Matrix  # K x u x (inputs + 1)
    G: Matrix  # K x u x (inputs + 1), the gradient ∂loss/∂W
    onward: Matrix  # the next layer's W without its biases, transposed: K x u x (next units)
    hidden: Matrix  # K x (u + 1) x batch, h_l with its row of ones
    transposed: Matrix  # K x batch x (u + 1), of it
    activation: Matrix  # K x u x batch, h_l without it
    error: Matrix  # K x u x batch, ∂loss/∂(W h_{l-1})
    slope: Matrix  # K x u x batch, tanh'

    @classmethod
    def of(cls, W: Matrix, G: Matrix, W_next: Matrix, hidden: Matrix) -> _Layer:
        activation, onward = hidden[:, :-1], W_next[:, :, :-1].swapaxes(1, 2)
        error, slope = np.empty_like(activation), np.empty_like(activation)
        return cls(W, G, onward, hidden, hidden.swapaxes(1, 2), activation, error, slope)


class _AdamStep:
    """One step of Adam on the mean squared error of a batch, in place, for each of K networks.

    Args:
        parameters: flat, ``K x p``; changed by each call.
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
        K, dtype = len(parameters), parameters.dtype
        self._error_out = np.empty((K, 1, batch), dtype)
        self._layers = [
            _Layer.of(W[i], G[i], W[i + 1], np.ones((K, W[i].shape[1] + 1, batch), dtype))
            for i in range(len(W) - 1)
        ]
        self._backward = self._layers[::-1]

    def __call__(self, inputs: Matrix, targets: Matrix) -> None:
        """``inputs``: ``K x batch x (d + 1)``, rows (x, 1); ``targets``: ``K x 1 x batch``."""
        # Forward, and the derivative of the mean squared error: 2 (h(x) - y) / batch.
        below = inputs.swapaxes(1, 2)
        for layer in self._layers:
            np.tanh(np.matmul(layer.W, below, out=layer.activation), out=layer.activation)
            below = layer.hidden
        above = np.matmul(self._W_out, below, out=self._error_out)
        above -= targets
        above *= 2.0 / self._batch

        # Backward: the gradient of a layer is its error times what came in from below.
        gradient = self._G_out
        for layer in self._backward:
            np.matmul(above, layer.transposed, out=gradient)
            np.matmul(layer.onward, above, out=layer.error)
            np.multiply(layer.activation, layer.activation, out=layer.slope)
            np.subtract(1.0, layer.slope, out=layer.slope)  # tanh' = 1 - tanh²
            np.multiply(layer.error, layer.slope, out=layer.error)
            above, gradient = layer.error, layer.G
        np.matmul(above, inputs, out=gradient)

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
    """The matrices of the given shapes that lie in ``flat`` (``… x p``) one after the other, as views."""
    matrices, start = [], 0
    for rows, columns in shapes:
        own = flat[..., start : start + rows * columns]
        matrices.append(own.reshape(*flat.shape[:-1], rows, columns))
        start += rows * columns
    return matrices
