"""The network of NeuralBO's released code: linear layers with biases, trained on by one Adam.

h(x; θ) = c (w_L · a_{L−1} + b_L), a_l = relu(W_l a_{l−1} + b_l), a_0 = x; in double precision. In
the authors' repository (phantrdat/neuralbo, first commit d32f12a) c = √W in the source, 1 in the
older, compiled files. In each layer the gradient is the product of what comes in and of what goes
back, so that the product of two gradients is

    g(x)·g(x')/c² = Σ_l (a_{l−1}(x)·a'_{l−1}(x') + 1) (δ_l(x)·δ'_l(x'))

with δ_l the gradient of h/c by the output of layer l before the relu; also where the two were taken at
different weights: no vector of all parameters is ever formed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replibo.problems.base import Array

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Gradients:
    """g/c at ``n`` points, layer by layer.

    Attributes:
        incoming: a_{l−1}, ``n x`` (inputs of layer l), for each layer.
        outgoing: δ_l, ``n x`` (units of layer l).
    """

    incoming: list[Tensor]
    outgoing: list[Tensor]

    def products(self, other: Gradients) -> Tensor:
        """g·g'/c² between these points and those of ``other``, ``n x m``."""
        terms = zip(self.incoming, self.outgoing, other.incoming, other.outgoing, strict=True)
        return sum((a @ b.T + 1.0) * (d @ e.T) for a, d, b, e in terms)  # type: ignore[return-value]

    def squares(self) -> Tensor:
        """g·g/c² at each point, ``n``."""
        pairs = zip(self.incoming, self.outgoing, strict=True)
        return sum((a.square().sum(1) + 1.0) * d.square().sum(1) for a, d in pairs)  # type: ignore[return-value]

    def with_more(self, other: Gradients) -> Gradients:
        """Append the points of ``other``."""
        import torch

        def joined(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
            return [torch.cat(pair) for pair in zip(left, right, strict=True)]

        return Gradients(
            joined(self.incoming, other.incoming), joined(self.outgoing, other.outgoing)
        )


class BiasedNetwork:
    """The network and its Adam, which goes on from training to training.

    Args:
        rng: gives the weights, layer by layer.
        inputs: number of inputs.
        layers: L ≥ 2, linear layers.
        width: W, units of each hidden layer.
        scale: c, which multiplies the output.
        xavier: hidden weights N(0, 2/(inputs + outputs of the layer)), else N(0, 1/W).
        learning_rate: Adam's.
        weight_decay: Adam's, added to the gradient as PyTorch does.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        inputs: int,
        layers: int,
        width: int,
        learning_rate: float,
        weight_decay: float,
        scale: float,
        xavier: bool = False,
    ) -> None:
        import torch

        self.scale = scale
        sizes = [inputs, *[width] * (layers - 1), 1]
        self.weights: list[Tensor] = []
        self.biases: list[Tensor] = []
        for before, after in itertools.pairwise(sizes):
            # PyTorch's default: uniform up to one over the root of the inputs
            bound = 1.0 / math.sqrt(before)
            weights = rng.uniform(-bound, bound, size=(after, before))
            if len(self.weights) < layers - 1:
                variance = 2.0 / (before + after) if xavier else 1.0 / width
                weights = math.sqrt(variance) * rng.standard_normal((after, before))
            bias = rng.uniform(-bound, bound, size=after)
            self.weights.append(torch.tensor(weights, requires_grad=True))
            self.biases.append(torch.tensor(bias, requires_grad=True))
        self._adam = torch.optim.Adam(
            [*self.weights, *self.biases], lr=learning_rate, weight_decay=weight_decay
        )

    def _forward(self, X: Tensor) -> tuple[Tensor, list[Tensor]]:
        """h at ``X`` (``n x d``), and a_0 … a_{L−1}."""
        incoming = [X]
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            incoming.append((incoming[-1] @ weights.T + bias).relu())
        return self._output(incoming[-1]), incoming

    def _output(self, last: Tensor) -> Tensor:
        """h from a_{L−1}, ``n x W``: shape ``n``."""
        return self.scale * (last @ self.weights[-1][0] + self.biases[-1])

    def train(self, X: Array, y: Array, steps: int) -> float:
        """Adam's steps on the mean squared error of all points; returns that error after them."""
        import torch

        points, targets = torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(y.copy())
        for _ in range(steps):
            self._adam.zero_grad()
            ((self._forward(points)[0] - targets) ** 2).mean().backward()  # type: ignore[no-untyped-call]
            self._adam.step()
        with torch.no_grad():
            return float(((self._forward(points)[0] - targets) ** 2).mean())

    def predict(self, gradients: Gradients) -> Array:
        """h at the points of ``gradients``, which were taken at the weights of now: shape ``n``."""
        import torch

        with torch.no_grad():
            return np.asarray(self._output(gradients.incoming[-1]))

    def gradients(self, X: Array) -> Gradients:
        """g/c at the points ``X``, ``n x d``."""
        import torch

        with torch.no_grad():
            _, incoming = self._forward(torch.from_numpy(np.ascontiguousarray(X)))
            outgoing = [incoming[0].new_ones(len(X), 1)]
            for weights, active in zip(self.weights[:0:-1], incoming[:0:-1], strict=True):
                outgoing.append((outgoing[-1] @ weights) * (active > 0))
            return Gradients(incoming, outgoing[::-1])

    def bytes(self) -> int:
        """Memory held by weights and Adam's moments."""
        return 3 * sum(w.numel() * w.element_size() for w in [*self.weights, *self.biases])
