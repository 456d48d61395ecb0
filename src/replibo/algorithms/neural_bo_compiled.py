"""NeuralBO as the compiled files of its authors' repository have it."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo_released import NeuralBOReleased, State
from replibo.problems.base import Array
from replibo.settings import Count, NonNegative, Positive
from replibo.streams import RunStreams
from replibo.surrogates.biased_network import BiasedNetwork


def growing_coefficient(t: int) -> float:
    """√(m ln(1 + t m)), m = t/ln(t + 1): the ν of round ``t`` ≥ 1 where the files say ν = 0. It is 1.1 at
    the first round, 5.7 at the 20th and 59 at the 2,000th."""
    m = t / math.log(t + 1)
    return math.sqrt(m * math.log(1 + t * m))


class NeuralBOCompiled(NeuralBOReleased):
    """`NeuralBOReleased` in an older version, which the repository's files for Levy configured.

    Its source is not in the repository (phantrdat/neuralbo, d32f12a), its compiled form is
    (``__pycache__/neuralbo.cpython-311.pyc``). It differs:

    - Hidden weights are drawn by Xavier's rule.
    - h is not multiplied by √W, while its gradient is divided by √W for U all the same.
    - Adam's weight decay is Wλ/2.
    - Of 512 uniform candidates the best ``restarts`` by a first sample are sampled anew, and the best of
      these is asked. The gradient steps between the two samples move nothing, as the samples are cut off
      from the network.
    - ν = 0 stands for a coefficient that grows (`growing_coefficient`).
    - The settings ``training_window`` and the batch size are read and not used: every training takes all
      observations at once.

    One departure: both samples are taken at inputs in [−1, 1], where the compiled code takes the first at
    the problem's own coordinates.

    Args:
        layers, width, learning_rate, epochs, update_cycle: as in `NeuralBOReleased`.
        regulariser: λ.
        nu: ν; 0 stands for `growing_coefficient`.
        candidates: number of uniform candidates (on a finite problem: of rows of the pool).
        restarts: how many of them are sampled a second time.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        layers: Annotated[int, Field(ge=2)] = 3,
        width: Count = 50,
        learning_rate: Positive = 0.0001,
        regulariser: Positive = 0.0002,
        epochs: Count = 50,
        update_cycle: Count = 10,
        nu: NonNegative = 0.0,
        candidates: Count = 512,
        restarts: Count = 25,
    ) -> None:
        super().__init__(
            space,
            streams,
            layers=layers,
            width=width,
            learning_rate=learning_rate,
            weight_decay=width * regulariser / 2,
            epochs=epochs,
            update_cycle=update_cycle,
            nu=nu,
            candidates=candidates,
        )
        self.regulariser, self.restarts = regulariser, restarts

    def _network(self) -> BiasedNetwork:
        return BiasedNetwork(
            self.streams.surrogate_at(0),
            inputs=self.space.dim,
            layers=self.layers,
            width=self.width,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            scale=1.0,
            xavier=True,
        )

    def _candidates(self, history: History) -> tuple[Array, NDArray[np.int64]]:
        """Uniform points, or rows of the pool."""
        return self.candidates.draw(history)

    def _samples(
        self, state: State, X: Array, t: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """h, σ and the second sample, ``m`` each; -inf but at the best candidates by the first."""
        h, sigma = self._h_and_sigma(state, X, self._variance(state).posterior)
        sd = (self.nu or growing_coefficient(t)) * sigma
        first = h + sd * rng.standard_normal(len(h))
        best = np.argsort(first)[-self.restarts :]
        second = np.full(len(h), -math.inf)
        second[best] = h[best] + sd[best] * rng.standard_normal(len(best))
        return h, sigma, second
