"""NeuralBO as its authors' released code has it, where that departs from Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.devices import Device, torch_device
from replibo.algorithms.parts.network_inputs import with_constant
from replibo.algorithms.parts.neural_surrogate import ObservedVariance, Seen, choose
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, Fraction, Positive
from replibo.streams import RunStreams
from replibo.surrogates.tangent_kernel import DualVariance, TangentKernel
from replibo.surrogates.two_layer_network import (
    Training,
    TwoLayerNetwork,
    draw_weights,
    train_adam,
)


def released_nu(t: int) -> float:
    """ν_t = sqrt(a log(1 + t a)) with a = t/log(t + 1), t ≥ 1: about √(2t), it grows without end."""
    a = t / math.log(t + 1)
    return math.sqrt(a * math.log(1 + t * a))


@dataclass(frozen=True)
class _State:
    """The network after the training on ``seen``."""

    seen: Seen
    training: Training


class NeuralBOReleased(Algorithm):
    """Thompson sampling as in `NeuralBO`, with another network and another training.

    Known of the released code: biases; inputs in [−1, 1]^d; y as observed; Adam on the mean squared
    error of all data; each training goes on from the last (warm start), every 10 queries; the ν_t of
    `released_nu`. Not known, and taken from section 7: m, all weights (the biases too) N(0, 1/m), 50
    epochs (here: steps), learning rate 0.001, and λ of σ. Adam's moments start at 0 in each training.
    The candidates are those of all algorithms here.

    The network is h(x; θ) = √m (W₂ relu(W₁ x + b₁) + b₂); b₁ is the column of W₁ for a constant input 1.

    The warm start is state: the weights at n observations follow from the trainings at n₀, n₀ + 10, …
    (n₀ initial points), each on the observations that were there then. An object that is handed a history
    makes them all again, in order.

    Args:
        space, streams: the run's.
        width: m, hidden units.
        learning_rate: Adam's.
        epochs: steps of each training.
        regularizer: λ > 0, of σ.
        retrain_every: queries from training to training.
        device: ``cpu`` or ``cuda``.
        candidates, local_fraction: number of candidates and share of local ones (`Candidates`).

    Raises:
        SettingError: there is no GPU, or the candidates would not fit in memory.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (0 where it has diverged)",
        "sigma": "σ_t at the query, before ν_t, in units of y",
        "nu": "ν_t",
        "training_loss": "mean squared residual after the training in force, in squared units of y",
        "diverged": "1 where the training in force ended in weights that are NaN or infinite, else 0",
        "trained_on": "number of observations that the training in force was made on",
        "surrogate_bytes": "memory held by the surrogate's tensors",
    }
    # Adam's first step imports torch._dynamo.
    late_imports: ClassVar[tuple[str, ...]] = ("torch", "torch._dynamo")

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        width: Count = 500,
        learning_rate: Positive = 0.001,
        epochs: Count = 50,
        regularizer: Positive = 0.01,
        retrain_every: Count = 10,
        device: Device = "cpu",
        candidates: Count = 512,
        local_fraction: Fraction = 0.5,
    ) -> None:
        super().__init__(space, streams)
        torch_device(device)
        self.learning_rate, self.epochs, self.device = learning_rate, epochs, device
        self.retrain_every = retrain_every
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=local_fraction,
            bytes_per_candidate=4.0 * 8.0 * width,
        )
        rng = streams.surrogate_at(0)
        self.hidden, output = draw_weights(rng, space.dim + 1, width, "section_7")
        self.output = np.append(output, rng.standard_normal() / math.sqrt(width))
        self._variance = ObservedVariance(
            lambda: DualVariance(
                TangentKernel(self.hidden, self.output[:-1], output_bias=True, device=device),
                regularizer,
            ),
            self.inputs,
        )
        self._state: _State | None = None

    def inputs(self, U: Array) -> Array:
        """[−1, 1]^d and a 1, ``n x (d + 1)``, at points of the unit cube, ``n x d``."""
        return with_constant(2.0 * U - 1.0, 1.0)

    def tell(self, history: History) -> None:
        """Append the observations to σ's factor, train where it is due (`ask` would do it, too)."""
        self._variance.after(history)
        if len(history) >= history.n_initial > 0:
            self._trained(history)

    def _trained(self, history: History) -> _State:
        """The training in force, and before it those that have not been made yet."""
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        first = min(history.n_initial, len(history))
        state = self._state
        if state is not None and state.seen.begins(history):
            network, following = state.training.network, len(state.seen) + self.retrain_every
        else:
            state, following = None, max(first, 1)
            network = TwoLayerNetwork(self.hidden, self.output, device=self.device)
        for n in range(following, len(history) + 1, self.retrain_every):
            training = train_adam(
                network,
                self.inputs(history.X[:n]),
                history.y[:n],
                learning_rate=self.learning_rate,
                epochs=self.epochs,
            )
            network, state = training.network, _State(Seen(history, n), training)
        assert state is not None
        self._state = state
        return state

    def ask(self, history: History, t: int) -> Proposal:
        state = self._trained(history)
        training = state.training
        X, rows = self.candidates.draw(history)
        inputs, rng = self.inputs(X), self.streams.algorithm_at(len(history))
        variance, nu = self._variance.after(history), released_nu(t)
        sigma = variance.variance(inputs) ** 0.5
        if training.diverged:
            h, sample = np.zeros(len(X)), rng.uniform(size=len(X))  # a candidate at random
        else:
            h = training.network.predict(inputs)
            sample = h + nu * sigma * rng.standard_normal(len(X))
        return choose(
            self.candidates,
            X,
            rows,
            sample,
            {
                "mean": h,
                "sigma": sigma,
                "nu": nu,
                "training_loss": training.loss,
                "diverged": training.diverged,
                "trained_on": len(state.seen),
                "surrogate_bytes": training.network.bytes() + variance.bytes(),
            },
        )
