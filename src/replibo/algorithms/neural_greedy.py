"""NeuralGreedy (Paria et al. 2022), as NeuralBO's paper (section 7) describes its baseline."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from replibo.algorithms.base import History, Proposal, Space
from replibo.algorithms.parts.neural_surrogate import NeuralSurrogate, choose
from replibo.problems.base import Array
from replibo.settings import NonNegative
from replibo.streams import RunStreams


class NeuralGreedy(NeuralSurrogate):
    """The network fitted to perturbed observations; the query is its maximum over the candidates.

    The paper refers to an appendix of Paria et al. for network and perturbation and states neither.
    Read here: NeuralBO's own network and training, so that the two differ in how they explore only, and
    independent normal numbers added to the observations, drawn anew for each training. Their
    standard deviation is √λ by default, 0.1 at λ = 0.01, as λ is the noise variance in NeuralBO's
    σ. For a linear model a fit to observations perturbed by their noise gives a posterior sample.

    Args:
        perturbation_sd: ≥ 0, in the network's units (`y_scaling`).
        settings: those of `NeuralSurrogate`.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (where it has diverged, the centre of its units)",
        "training_loss": "mean squared residual after the training in force, of the perturbed "
        "observations in the network's units",
        "diverged": "1 where the training in force ended in weights that are NaN or infinite, else 0",
        "trained_on": "number of observations that the training in force was made on",
        "surrogate_bytes": "memory held by the surrogate's tensors",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        perturbation_sd: NonNegative = 0.1,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.perturbation_sd = perturbation_sd

    def targets(self, y: Array, rng: np.random.Generator) -> Array:
        return y + self.perturbation_sd * rng.standard_normal(len(y))

    def ask(self, history: History, t: int) -> Proposal:
        fit = self.fit(history)
        X, rows = self.candidates.draw(history)
        h = self.prediction(X, fit)
        acquisition = h
        if fit.training.diverged:  # a candidate at random
            acquisition = self.streams.algorithm_at(len(history)).uniform(size=len(X))
        return choose(
            self.candidates,
            X,
            rows,
            acquisition,
            {
                "mean": fit.centre + fit.scale * h,
                "training_loss": fit.training.loss,
                "diverged": fit.training.diverged,
                "trained_on": len(fit.seen),
                "surrogate_bytes": fit.training.network.bytes(),
            },
        )
