"""The tanh network of DNGO (Snoek et al. 2015), trained by a fused step of Adam.

The settings are those of pybnn, which the NeuralBO paper uses (section 7): three layers of 50 tanh
units and a linear output; 500 epochs of Adam (learning rate 0.01, constant) on the mean squared
error of batches of 10. Facts of pybnn that are kept: inputs are standardised column by column;
each epoch has a new order, and those of it that do not fill a last batch are left out of that epoch;
with fewer points than a batch holds, all of them are the batch; weights and biases start uniform on
±1/√(inputs of the layer), which is torch's default; float32.

The step is written out, because at this size the time goes into the number of operations: one flat
vector each for parameters, gradient and Adam's moments, of which the layers' matrices are views; the
gradient by the chain rule into preallocated buffers; no autograd. A step takes 55 to 60 µs (20
inputs, one thread), in NumPy 31: torch it is, for the sake of a GPU.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from replibo.problems.base import Array
from replibo.surrogates.standardise import SMALLEST_SD

if TYPE_CHECKING:
    import torch

UNITS = (50, 50, 50)

# Adam's decay rates and its guard against division by zero (Kingma and Ba 2015; torch's defaults).
DECAY_1, DECAY_2, EPSILON = 0.9, 0.999, 1e-8


class TanhNetwork:
    """h(x) = W_out φ(x) + b_out, φ(x) the last of the tanh layers.

    A layer is one matrix with its bias as the last column, and layers' outputs are kept as columns
    above a row of ones: with h₀ = (x, 1), h_l = (tanh(W_l h_{l-1}), 1).

    Args:
        dim: number of inputs d.
        rng: draws the initial weights, layer after layer.
        units: of the tanh layers.
        device: where the tensors live.
        dtype: of the tensors; float32 unless given.

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
        device: torch.device | str = "cpu",
        dtype: torch.dtype | None = None,
    ) -> None:
        import torch

        self._dtype, self._device = dtype or torch.float32, torch.device(device)
        widths = (dim, *units, 1)
        self._shapes = [(outputs, inputs + 1) for inputs, outputs in pairwise(widths)]
        bound = [1 / math.sqrt(inputs - 1) for _, inputs in self._shapes]
        initial = [rng.uniform(-b, b, shape) for b, shape in zip(bound, self._shapes, strict=True)]
        self.parameters = self._as_tensor(np.concatenate([W.ravel() for W in initial]))
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
        import torch

        n, d = X.shape
        batch = min(batch_size, n)
        steps = n // batch
        self._input_mean, sd = X.mean(axis=0), X.std(axis=0)
        self._input_sd = np.where(sd >= SMALLEST_SD, sd, 1.0)
        with torch.inference_mode():
            inputs, targets = self._inputs(X), self._as_tensor(y)
            step = _AdamStep(self.parameters, self._shapes, batch, learning_rate)
            for _ in range(epochs):
                order = torch.as_tensor(rng.permutation(n)[: steps * batch], device=self._device)
                batches = inputs[order].view(steps, batch, d + 1).unbind()
                for rows, aims in zip(
                    batches, targets[order].view(steps, 1, batch).unbind(), strict=True
                ):
                    step(rows, aims)
            outputs = _matrices(self.parameters, self._shapes)[-1] @ self._last_hidden(inputs)
            self.training_loss = float(torch.mean((outputs[0] - targets) ** 2))
            self.diverged = not (
                bool(torch.isfinite(self.parameters).all()) and math.isfinite(self.training_loss)
            )

    def features(self, X: Array) -> Array:
        """φ(x) of the points ``X``, ``n x d``: ``n x units[-1]``."""
        import torch

        with torch.inference_mode():
            hidden = self._last_hidden(self._inputs(X))[:-1]
            return hidden.T.cpu().numpy().astype(np.float64, order="C")

    def _inputs(self, X: Array) -> torch.Tensor:
        """(x, 1) of standardised inputs, ``n x (d + 1)``."""
        standardised = (X - self._input_mean) / self._input_sd
        return self._as_tensor(np.column_stack([standardised, np.ones(len(X))]))

    def _last_hidden(self, inputs: torch.Tensor) -> torch.Tensor:
        """(φ(x), 1) as columns, from (x, 1) as rows."""
        import torch

        hidden = inputs.T
        for W in _matrices(self.parameters, self._shapes)[:-1]:
            hidden = torch.tanh(W @ hidden)
            hidden = torch.cat([hidden, torch.ones_like(hidden[:1])])
        return hidden

    def _as_tensor(self, array: Array) -> torch.Tensor:
        import torch

        return torch.as_tensor(array, dtype=self._dtype, device=self._device)


class _Layer(NamedTuple):
    """A tanh layer in training: views of the parameters, and buffers for one batch."""

    W: torch.Tensor  # u x (inputs + 1)
    G: torch.Tensor  # u x (inputs + 1), the gradient ∂loss/∂W
    onward: torch.Tensor  # the next layer's W without its biases, transposed: u x (next units)
    hidden: torch.Tensor  # (u + 1) x batch, h_l with its row of ones
    transposed: torch.Tensor  # batch x (u + 1), of it
    activation: torch.Tensor  # u x batch, h_l without it
    error: torch.Tensor  # u x batch, ∂loss/∂(W h_{l-1})
    product: torch.Tensor  # u x batch, room for a product

    @classmethod
    def of(
        cls, W: torch.Tensor, G: torch.Tensor, W_next: torch.Tensor, hidden: torch.Tensor
    ) -> _Layer:
        import torch

        activation = hidden[:-1]
        error, product = torch.empty_like(activation), torch.empty_like(activation)
        return cls(W, G, W_next[:, :-1].T, hidden, hidden.T, activation, error, product)


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
        parameters: torch.Tensor,
        shapes: list[tuple[int, int]],
        batch: int,
        learning_rate: float,
    ) -> None:
        import torch

        self._parameters, self._batch, self._learning_rate = parameters, batch, learning_rate
        self._gradient = torch.empty_like(parameters)
        self._moment_1, self._moment_2 = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self._root = torch.empty_like(parameters)
        self._count = 0
        W, G = _matrices(parameters, shapes), _matrices(self._gradient, shapes)
        self._W_out, self._G_out = W[-1], G[-1]
        self._error_out = parameters.new_empty(1, batch)
        self._layers = [
            _Layer.of(W[i], G[i], W[i + 1], parameters.new_ones(len(W[i]) + 1, batch))
            for i in range(len(W) - 1)
        ]
        self._backward = self._layers[::-1]

    def __call__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        """``inputs``: ``batch x (d + 1)``, rows (x, 1); ``targets``: ``1 x batch``."""
        import torch

        # Forward, and the derivative of the mean squared error: 2 (h(x) - y) / batch.
        below = inputs.T
        for layer in self._layers:
            torch.mm(layer.W, below, out=layer.activation).tanh_()
            below = layer.hidden
        above = torch.mm(self._W_out, below, out=self._error_out)
        above.sub_(targets).mul_(2.0 / self._batch)

        # Backward: the gradient of a layer is its error times what came in from below.
        gradient = self._G_out
        for layer in self._backward:
            torch.mm(above, layer.transposed, out=gradient)
            torch.mm(layer.onward, above, out=layer.error)
            torch.mul(layer.error, layer.activation, out=layer.product)
            layer.error.addcmul_(layer.product, layer.activation, value=-1.0)  # tanh' = 1 - tanh²
            above, gradient = layer.error, layer.G
        torch.mm(above, inputs, out=gradient)

        # Adam. Its bias corrections are moved from the moments into the two scalars, as torch does.
        self._count += 1
        unbias_1 = 1.0 - DECAY_1**self._count
        unbias_2 = math.sqrt(1.0 - DECAY_2**self._count)
        self._moment_1.lerp_(self._gradient, 1.0 - DECAY_1)
        self._moment_2.mul_(DECAY_2).addcmul_(self._gradient, self._gradient, value=1.0 - DECAY_2)
        torch.sqrt(self._moment_2, out=self._root).add_(EPSILON * unbias_2)
        self._parameters.addcdiv_(
            self._moment_1, self._root, value=-self._learning_rate * unbias_2 / unbias_1
        )


def _matrices(flat: torch.Tensor, shapes: list[tuple[int, int]]) -> list[torch.Tensor]:
    """The matrices of the given shapes that lie in ``flat`` one after the other, as views."""
    matrices, start = [], 0
    for rows, columns in shapes:
        matrices.append(flat[start : start + rows * columns].view(rows, columns))
        start += rows * columns
    return matrices
