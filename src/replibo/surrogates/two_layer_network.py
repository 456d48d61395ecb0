"""The two-layer ReLU network of NeuralBO (Phan-Trong, Tran-The and Gupta 2023) and its training.

h(x; θ) = √m W₂ relu(W₁ x), without biases (section 7), in single precision. With r = h(x) − y and
a = relu(W₁ x), the gradients of ½r² are √m r a in W₂ and √m r W₂,j 1[w₁,j·x > 0] x in the row w₁,j of
W₁. ``two_layer_network.c`` takes a step in one go, in a seventh of the time of PyTorch's modules and
less (`benchmarks/neural_bo.py` of commit 8dc61a90).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replibo.problems.base import Array
from replibo.surrogates.compiled import call

Single = NDArray[np.float32]

UNITS = 32
"""Hidden units in a panel: how ``two_layer_network.c`` keeps the weights."""
Initialization = Literal["section_7", "section_4"]
BatchLoss = Literal["mean", "sum"]


def draw_weights(
    rng: np.random.Generator, inputs: int, width: int, initialization: Initialization
) -> tuple[Array, Array]:
    """W₁ (``m x d``) and W₂ (``m``) of θ₀.

    Args:
        rng: gives all numbers, those of W₁ first.
        inputs: d.
        width: m.
        initialization: ``section_7``, all weights N(0, 1/m); ``section_4``, W₁ N(0, 2/m) and W₂ = 0, by
            which h(·; θ₀) = 0.
    """
    hidden = rng.standard_normal((width, inputs))
    output = rng.standard_normal(width)
    if initialization == "section_4":
        return math.sqrt(2.0 / width) * hidden, np.zeros(width)
    return hidden / math.sqrt(width), output / math.sqrt(width)


class TwoLayerNetwork:
    """h(x; θ) = √m W₂ relu(W₁ x).

    Args:
        hidden: ``m x d``, W₁. (A hidden bias is the column of a constant input.)
        output: ``m``, W₂.
    """

    def __init__(self, hidden: Array | Single, output: Array | Single) -> None:
        self.hidden, self.output = hidden.astype(np.float32), output.astype(np.float32)

    def predict(self, X: Array) -> Array:
        """h at the points ``X``, ``n x d``: shape ``n``."""
        active = np.maximum(X.astype(np.float32) @ self.hidden.T, 0.0)
        return math.sqrt(len(self.output)) * (active @ self.output).astype(np.float64)

    def bytes(self) -> int:
        """Memory held by the weights."""
        return self.hidden.nbytes + self.output.nbytes


@dataclass(frozen=True)
class Training:
    """A trained network.

    Attributes:
        network: with the weights that training ended with.
        loss: mean squared residual over the data, in squared units of ``y``; infinite where it
            diverged.
        diverged: a weight or the loss is not finite: the learning rate is too large for the data.
    """

    network: TwoLayerNetwork
    loss: float
    diverged: bool


def train_sgd(
    start: TwoLayerNetwork,
    X: Array,
    y: Array,
    *,
    rng: np.random.Generator,
    learning_rate: float,
    epochs: int,
    batch_size: int,
    regularizer: float,
    batch_loss: BatchLoss = "sum",
) -> Training:
    """TrainNN (Algorithm 2) by mini-batches, as section 7 sets it: from θ₀, which is left as it is.

    The printed objective of n observations is L(θ) = ½ Σ_i (h(x_i; θ) − y_i)² + ½ mλ ‖θ − θ₀‖². How its
    two terms are shared out among batches is not said. Here a batch of b takes its share b/n of the
    regulariser, so that the batches of an epoch add up to L and their gradient is an unbiased one; a
    step goes down

        the gradient of ½ Σ_batch (h − y)² + (b/n) ½ mλ ‖θ − θ₀‖², times η   (``sum``, the printed sum),
        or times η/b   (``mean``).

    L has the same minimiser in both; in 50 epochs ``mean`` stays far from it. A step of ``mean`` is
    stable for any batch if η m max‖x‖² < 2. A step of ``sum`` is stable only if η m times the
    largest eigenvalue of the batch's kernel matrix is below 2. This eigenvalue is up to b times as
    large if the batch's points lie close together. Training may then end in weights that are not
    numbers, and says so.

    Args:
        start: θ₀.
        X: ``n x d``, n ≥ 1.
        y: ``n``.
        rng: draws the order of the observations, anew in each epoch.
        learning_rate: η.
        epochs: passes through the data, ≥ 0.
        batch_size: b; the last batch of an epoch holds the rest.
        regularizer: λ.
        batch_loss: see above.
    """
    n, d = X.shape
    m, b = len(start.output), min(batch_size, n)
    panels = math.ceil(m / UNITS)
    W1_start, w2_start = _in_panels(start.hidden, panels), _in_panels(start.output[:, None], panels)
    W1, w2 = W1_start.copy(), w2_start.copy()
    call(
        "train_sgd",
        n,
        d,
        panels,
        b,
        epochs,
        int(batch_loss == "mean"),
        float(learning_rate),
        float(m * regularizer),
        math.sqrt(m),
        np.ascontiguousarray(X, dtype=np.float32),
        np.ascontiguousarray(y, dtype=np.float32),
        np.array([rng.permutation(n) for _ in range(epochs)], dtype=np.int64),
        W1_start,
        w2_start,
        W1,
        w2,
        np.empty(b * (d + 2 + 16 + UNITS * panels), dtype=np.float32),  # room for a batch
    )
    network = TwoLayerNetwork(_from_panels(W1, m), _from_panels(w2, m)[:, 0])
    with np.errstate(all="ignore"):  # a training that diverged
        loss = float(np.mean((network.predict(X) - y) ** 2))
    weights = np.concatenate([network.hidden.ravel(), network.output])
    finite = math.isfinite(loss) and bool(np.isfinite(weights).all())
    return Training(network, loss if finite else math.inf, not finite)


def _in_panels(weights: Single, panels: int) -> Single:
    """The ``weights`` (``m x d``) of m units as ``panels x d x UNITS``, filled up by zeros."""
    filled = np.zeros((panels * UNITS, weights.shape[1]), dtype=np.float32)
    filled[: len(weights)] = weights
    return np.ascontiguousarray(filled.reshape(panels, UNITS, -1).swapaxes(1, 2))


def _from_panels(weights: Single, m: int) -> Single:
    """The inverse of `_in_panels`, for the first ``m`` units: ``m x d``."""
    return weights.swapaxes(1, 2).reshape(-1, weights.shape[1])[:m]
