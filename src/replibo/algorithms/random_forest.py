"""A random forest with expected improvement: a baseline of the NeuralBO paper.

"Random forest (RF) based surrogate model is implemented using public library GPyOpt and optimization
is performed with EI acquisition function" (Phan-Trong, Tran-The and Gupta 2023, section 7; there they
also name SMAC, a forest and EI too). GPyOpt can no longer be imported: this is its forest and its EI,
with another incumbent and other candidates (`RandomForest`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition_functions import log_expected_improvement
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.settings import Count, Fraction, NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.forest import Forest
from replibo.surrogates.standardise import standardise


class RandomForest(Algorithm):
    """The forest's EI, maximised over the shared candidates.

    At the sizes n' of `RefitSchedule` a forest is fitted to the first n' observations, y standardised
    (`replibo.surrogates.forest`, with the stream ``surrogate_at(n')``).
    A forest cannot take in single observations: those since n' only move the incumbent, which is the
    best observation so far (GPyOpt's is the highest of the forest's means at the queried points).

    x = argmax EI; ties go to the first candidate. A forest is constant on boxes, so that ties are
    common; where all trees agree everywhere (one observation, or equal ones), all candidates tie.

    Args:
        trees: number of trees.
        jitter: what counts as an improvement at least (ξ), in units of the standardised y.
        candidates, local_fraction: how many, and which share of them near the incumbent
            (`replibo.algorithms.parts.candidates`).
        refit_growth: by what share the history grows between two fits, twice that from 200
            observations on, where nearly all the time goes into fits (`replibo.algorithms.parts.refit`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "mean over the trees at the choice, in units of the standardised y of the fit",
        "sd": "standard deviation over the trees at the choice, likewise",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        trees: Count = 500,
        jitter: NonNegative = 0.01,
        candidates: Count = 512,
        local_fraction: Fraction = 0.5,
        refit_growth: NonNegative = 0.05,
    ) -> None:
        super().__init__(space, streams)
        self.trees, self.jitter = trees, jitter
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=local_fraction,
            bytes_per_candidate=8.0 * (space.dim + 3 * trees),  # predictions, and what sd needs
        )
        self.schedule = RefitSchedule(refit_growth, late_growth=2 * refit_growth)
        self._fit: tuple[bytes, Forest] | None = None  # a cache

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        size = self.schedule.in_force(len(history), history.n_initial)
        _, centre, scale = standardise(history.y[:size])
        X, rows = self.candidates.draw(history)
        mean, sd = self._forest(history, size).moments(X)
        incumbent = (float(history.y.max()) - centre) / scale
        # EI's logarithm: the same maximiser, also where EI underflows
        acquisition = log_expected_improvement(mean, sd, incumbent, self.jitter)
        best = int(np.argmax(acquisition))
        return self.candidates.best(
            X, rows, acquisition, {"mean": float(mean[best]), "sd": float(sd[best])}
        )

    def _forest(self, history: History, size: int) -> Forest:
        """The forest in force: fitted to the first ``size`` observations."""
        X, y = history.X[:size], history.y[:size]
        data = X.tobytes() + y.tobytes()
        if self._fit is None or self._fit[0] != data:
            rng = self.streams.surrogate_at(size)
            forest = Forest(X, standardise(y)[0], trees=self.trees, rng=rng)
            self._fit = data, forest
        return self._fit[1]
