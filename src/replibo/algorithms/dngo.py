"""DNGO: Bayesian linear regression on a network's last layer; a baseline of the NeuralBO paper.

Snoek et al. (2015), as pybnn sets it, which the NeuralBO paper uses "with default settings"
(Phan-Trong, Tran-The and Gupta 2023, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition_functions import log_expected_improvement
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, Fraction, NonNegative, Positive
from replibo.streams import RunStreams
from replibo.surrogates.bayesian_linear_regression import BayesianLinearRegression
from replibo.surrogates.standardise import standardise
from replibo.surrogates.tanh_network import TanhNetwork, train_together

TOGETHER = 10
"""Networks trained at once at the most, so that they fit in the cache."""


class Dngo(Algorithm):
    """DNGO (Snoek et al. 2015, section 3).

    - At the sizes n' of `RefitSchedule` a network of three layers of 50 tanh units is trained from
      scratch on the first n' observations (`replibo.surrogates.tanh_network`); its initial weights
      and the orders of its batches are of the stream ``surrogate_at(n')``. The runs of a block train
      theirs together.
    - At each query the features φ of all n observations are computed anew, y is standardised, and
      the Bayesian linear regression of y on φ is made again, α and β included
      (`replibo.surrogates.bayesian_linear_regression`): between two trainings only the features stay.
    - x = argmax EI over the shared candidates, EI of f (not of an observation: pybnn's variance
      holds the noise 1/β as well) over the best observation so far plus ξ.

    Where training diverged (a weight or the loss is not a finite number), x is a candidate at random
    until the next training, and ``diverged`` says so.

    Args:
        epochs, batch_size, learning_rate: of the training by Adam.
        xi: ξ, in units of the standardised y.
        candidates, local_fraction: how many, and which share of them near the incumbent
            (`replibo.algorithms.parts.candidates`).
        refit_growth: by what share the history grows between two trainings, twice that from 200
            observations on, where nearly all the time goes into trainings
            (`replibo.algorithms.parts.refit`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "posterior mean of f at the choice, standardised y; NaN where training diverged",
        "sd": "posterior standard deviation of f at the choice, likewise",
        "alpha": "α, the weights' prior precision, by marginal likelihood; likewise",
        "beta": "β, the noise's precision, by marginal likelihood; likewise",
        "training_loss": "mean squared error of the network at the end of its training",
        "diverged": "1 where the network's training diverged and the choice is at random, else 0",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        epochs: Count = 500,
        batch_size: Count = 10,
        learning_rate: Positive = 0.01,
        xi: NonNegative = 0.01,
        candidates: Count = 512,
        local_fraction: Fraction = 0.5,
        refit_growth: NonNegative = 0.05,
    ) -> None:
        super().__init__(space, streams)
        self.epochs, self.batch_size, self.learning_rate = epochs, batch_size, learning_rate
        self.xi = xi
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=local_fraction,
            # inputs twice, and 51 numbers for each of three layers and for the features thrice
            bytes_per_candidate=8.0 * (2 * space.dim + 6 * 51),
        )
        self.schedule = RefitSchedule(refit_growth, late_growth=2 * refit_growth)
        self._fit: tuple[bytes, TanhNetwork] | None = None  # a cache

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        _train([self], [history])
        assert self._fit is not None
        network = self._fit[1]
        X, rows = self.candidates.draw(history)
        if network.diverged:
            i = int(self.streams.algorithm_at(len(history)).integers(len(X)))
            unknown = dict.fromkeys(self.diagnostics, math.nan)
            return Proposal(X[i], int(rows[i]), unknown | {"diverged": 1.0})
        y, _, _ = standardise(history.y)
        regression = BayesianLinearRegression(network.features(history.X), y)
        mean, variance = regression.posterior(network.features(X))
        sd = np.sqrt(variance)
        # EI's logarithm: the same maximiser, also where EI underflows
        acquisition = log_expected_improvement(mean, sd, float(y.max()), self.xi)
        best = int(np.argmax(acquisition))
        return self.candidates.best(
            X,
            rows,
            acquisition,
            {
                "mean": float(mean[best]),
                "sd": float(sd[best]),
                "alpha": regression.alpha,
                "beta": regression.beta,
                "training_loss": network.training_loss,
                "diverged": 0.0,
            },
        )

    @classmethod
    def ask_block(
        cls, algorithms: Sequence[Algorithm], histories: Sequence[History], t: int
    ) -> list[Proposal]:
        runs = [algorithm for algorithm in algorithms if isinstance(algorithm, Dngo)]
        _train(runs, histories)
        return super().ask_block(algorithms, histories, t)

    def _data(self, history: History) -> tuple[Array, Array]:
        """What the network in force is trained on: the first n' observations."""
        size = self.schedule.in_force(len(history), history.n_initial)
        return history.X[:size], history.y[:size]


def _train(runs: Sequence[Dngo], histories: Sequence[History]) -> None:
    """Train those networks that are due; all runs stand at the same round."""
    due = []
    for run, history in zip(runs, histories, strict=True):
        X, y = run._data(history)
        data = X.tobytes() + y.tobytes()
        if run._fit is None or run._fit[0] != data:
            due.append((run, data, X, standardise(y)[0]))
    for first in range(0, len(due), TOGETHER):
        group, data_of, X_of, y_of = zip(*due[first : first + TOGETHER], strict=True)
        rngs = [run.streams.surrogate_at(len(X_of[0])) for run in group]
        networks = [TanhNetwork(run.space.dim, rng) for run, rng in zip(group, rngs, strict=True)]
        train_together(
            *(networks, X_of, y_of, rngs),
            epochs=group[0].epochs,
            batch_size=group[0].batch_size,
            learning_rate=group[0].learning_rate,
        )
        for run, data, network in zip(group, data_of, networks, strict=True):
            run._fit = data, network
