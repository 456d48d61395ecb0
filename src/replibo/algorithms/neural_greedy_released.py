"""NeuralGreedy as the compiled files of NeuralBO's authors have it."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo_released import NeuralBOReleased, State
from replibo.problems.base import Array
from replibo.settings import Count, Positive
from replibo.streams import RunStreams
from replibo.surrogates.biased_network import BiasedNetwork


class NeuralGreedyReleased(NeuralBOReleased):
    """The query is the maximum of a network with biases over uniform candidates; nothing is perturbed.

    Its source is not in the authors' repository (phantrdat/neuralbo, d32f12a), its compiled form is
    (``__pycache__/neuralgreedy.cpython-311.pyc``), with files that set it for Levy. Linear layers with
    biases, hidden weights by Xavier's rule, h multiplied by ``scale``, one Adam for the whole run with
    weight decay ``scale``², full batch, from the weights that are there, y as observed. Of 512 uniform
    points the best is asked: the gradient steps of the compiled code move nothing, as its h is cut off
    from the network. The first rounds ask uniform points (`warm_up`). A training follows the initial
    points, the last of these rounds, and every ``update_cycle``-th round after it.

    Two departures. A training makes ``epochs`` steps; the compiled code replaces that number by 50,000
    where it finds no pretrained weights, which would take hours a run. All candidates are compared at
    inputs in [−1, 1]; the compiled code takes a first choice of them at the problem's own coordinates.

    Args:
        layers, width, learning_rate, epochs, update_cycle: as in `NeuralBOReleased`.
        scale: multiplies h; its square is Adam's weight decay.
        rounds: T of the authors' files, from which the number of uniform rounds follows.
        candidates: number of uniform candidates (on a finite problem: of rows of the pool).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (0 where it has diverged)",
        "sigma": "0: the network has no deviation",
        "training_loss": "mean squared residual after the training in force, in squared units of y",
        "diverged": "1 where the training in force ended in weights that are NaN or infinite, else 0",
        "trained_on": "number of observations at the training in force",
        "surrogate_bytes": "memory held by weights and Adam's moments",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        layers: Annotated[int, Field(ge=2)] = 2,
        width: Count = 500,
        learning_rate: Positive = 0.001,
        scale: Positive = 0.1,
        epochs: Count = 20,
        update_cycle: Count = 10,
        rounds: Count = 2000,
        candidates: Count = 512,
    ) -> None:
        super().__init__(
            space,
            streams,
            layers=layers,
            width=width,
            learning_rate=learning_rate,
            weight_decay=scale**2,
            epochs=epochs,
            update_cycle=update_cycle,
            candidates=candidates,
        )
        self.scale = scale
        self.warm_up = warm_up(space.dim, rounds)

    def _network(self) -> BiasedNetwork:
        return BiasedNetwork(
            self.streams.surrogate_at(0),
            inputs=self.space.dim,
            layers=self.layers,
            width=self.width,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            scale=self.scale,
            xavier=True,
        )

    def _trains_after(self, queries: int) -> bool:
        if queries <= self.warm_up:
            return queries in (0, self.warm_up)
        return super()._trains_after(queries)

    def _seen(self, state: State, x: Array) -> None:
        """There is no σ that a query could make smaller."""

    def _candidates(self, history: History) -> tuple[Array, NDArray[np.int64]]:
        """Uniform points, or rows of the pool."""
        return self.candidates.draw(history)

    def _samples(
        self, state: State, X: Array, t: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """h, 0, and what is maximised at round ``t``: h, or uniform numbers in the first rounds; ``m``
        each."""
        h, sigma = self._h_and_sigma(
            state, X, lambda gradients: np.zeros(len(gradients.incoming[0]))
        )
        return h, sigma, rng.uniform(size=len(h)) if t <= self.warm_up else h


def warm_up(dim: int, rounds: int) -> int:
    """Number of uniform rounds: five a dimension, but no less than 2.5 % and no more than 7.5 % of
    ``rounds``."""
    return min(max(5 * dim, math.floor(0.025 * rounds)), math.floor(0.075 * rounds))
