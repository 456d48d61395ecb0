"""What GP-UCB, GP-TS and GP-EI on shared candidates have in common: the surrogate and the choice."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.devices import Device, torch_device
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, Fraction, NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression, Hyperparameters, LengthScalePrior

# The candidates' memory is reckoned for a surrogate of that many observations.
RECKONED_OBSERVATIONS = 1000

# From so many observations on, the history grows by twice as much from fit to fit: the posterior is much
# the same (`benchmarks/gp_growth.py`).
LATE_FROM = 1000

# From so many observations on, a fit starts from the maximiser of the one before it and not afresh.
# With fewer, the likelihood may have several maxima, and all starts together cost little.
NEAR_FROM = 200


@dataclass(frozen=True)
class Scores:
    """An acquisition function at ``m`` candidates; mean and deviation of f there, standardised; and
    what else goes into the trace, one number or one for each candidate."""

    acquisition: Array
    mean: Array
    sd: Array
    shown: dict[str, float | Array] = field(default_factory=dict)


class GpSchedule(RefitSchedule):
    """`RefitSchedule` with twice the growth from `LATE_FROM` observations on."""

    def after(self, n: int) -> int:
        """The size of the history at the fit that follows the one at size ``n``."""
        return super().after(n) if n < LATE_FROM else RefitSchedule(2 * self.growth).after(n)


class GpSampled(Algorithm):
    """An acquisition function of an exact GP, maximised over the run's shared candidates.

    The GP (`replibo.surrogates.gp_regression`) is fitted to the initial points and again whenever the
    history has grown by ``refit_growth`` (`GpSchedule`); in between it takes in every observation
    at the hyperparameters of the last fit. From `NEAR_FROM` observations on, each fit starts from the
    maximiser of the fit before it: a chain that the schedule defines, so that a fit is a function of
    the history. The candidates are those of every other algorithm of the
    NeuralBO paper at the same seed and query (`Candidates`). On a finite problem they are rows of the
    pool; one that was asked may be asked again.

    Args:
        length_scale_start: ``multi``, two starts of the fit, in high dimensions too one from where
            the likelihood has a gradient; ``single``, BoTorch's own start alone
            (`replibo.surrogates.gp_regression.fit`).
        length_scale_prior: ``none``, or ``dimension_scaled``, prior and bound of BoTorch's own
            kernel.
        device: ``cpu`` or ``cuda``.
        candidates, local_fraction: number of candidates and share of local ones (`Candidates`).
        refit_growth: growth of the history from fit to fit (`GpSchedule`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "ℓ of the fit in force, in units of the cube",
        "outputscale": "s of the fit in force, in units of y standardised at the fit, squared",
        "noise_variance": "σ² of the fit in force, in the same unit",
        "fit_converged": "1 where L-BFGS-B ended by a tolerance, else 0 (constant y: no fit)",
        "fitted_on": "number of observations that the fit in force was made on",
        "surrogate_bytes": "memory held by the surrogate's tensors",
        "mean": "posterior mean of f at the query, given the data before it, in units of y",
        "sd": "posterior standard deviation of f at the query, given the data before it, in units of y",
    }
    late_imports: ClassVar[tuple[str, ...]] = ("torch",)

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        length_scale_start: Literal["multi", "single"] = "multi",
        length_scale_prior: LengthScalePrior = "none",
        device: Device = "cpu",
        candidates: Count = 512,
        local_fraction: Fraction = 0.5,
        refit_growth: NonNegative = 0.05,
    ) -> None:
        super().__init__(space, streams)
        torch_device(device)
        self.length_scale_start, self.device = length_scale_start, device
        self.length_scale_prior: LengthScalePrior = length_scale_prior
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=local_fraction,
            bytes_per_candidate=self._bytes_per_candidate(candidates),
        )
        self.schedule = GpSchedule(refit_growth)
        self._gp: GpRegression | None = None
        self._seen = History(space.dim, 0)

    @abstractmethod
    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        """The acquisition function at the candidates ``X`` (``m x d``)."""

    def ask(self, history: History, t: int) -> Proposal:
        gp = self.surrogate(history)
        X, rows = self.candidates.draw(history)
        scores = self.scores(gp, X, history, t)
        chosen = int(np.argmax(scores.acquisition))
        fitted = gp.fitted.hyperparameters
        diagnostics = {
            "length_scale": fitted.length_scale,
            "outputscale": fitted.outputscale,
            "noise_variance": fitted.noise_variance,
            "fit_converged": float(gp.fitted.converged),
            "fitted_on": float(gp.fitted_at),
            "surrogate_bytes": float(gp.bytes()),
            "mean": gp.centre + gp.scale * float(scores.mean[chosen]),
            "sd": gp.scale * float(scores.sd[chosen]),
        }
        for name, value in scores.shown.items():
            diagnostics[name] = float(value[chosen] if isinstance(value, np.ndarray) else value)
        return self.candidates.best(X, rows, scores.acquisition, diagnostics)

    def surrogate(self, history: History) -> GpRegression:
        """The GP given all of ``history``; a function of it, kept and grown from query to query."""
        n = len(history)
        if n == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        fitted_at = self.schedule.in_force(n, history.n_initial)
        gp, kept = self._gp, len(self._seen)
        if gp is not None and not _continues(history, self._seen):
            gp = None
        if gp is None or gp.fitted_at != fitted_at:
            gp = self._fitted(history, fitted_at, gp)
            self._seen, kept = History(self.space.dim, 0), 0
        for i in range(kept, n):
            self._seen.append(history.X[i], history.y[i])
            if i >= fitted_at:
                gp.append(history.X[i], float(history.y[i]))
        self._gp = gp
        return gp

    def _fitted(self, history: History, size: int, kept: GpRegression | None) -> GpRegression:
        """The GP fitted to the first ``size`` observations; ``kept``: an earlier one of this history."""
        sizes = self.schedule.up_to(size, history.n_initial)
        afresh = [i for i, one in enumerate(sizes) if i == 0 or one < NEAR_FROM]
        sizes = sizes[
            afresh[-1] :
        ]  # what the fit depends on: the last one made afresh, and on from there
        near = None
        if kept is not None and kept.fitted_at in sizes[:-1]:
            near = _maximiser(kept)
            sizes = sizes[sizes.index(kept.fitted_at) + 1 :]
        for one in sizes:
            gp = GpRegression(
                history.X[:one],
                history.y[:one],
                device=torch_device(self.device),
                capacity=self.schedule.after(one) - 1,
                starts=self.length_scale_start,
                near=near,
                length_scale_prior=self.length_scale_prior,
            )
            near = _maximiser(gp)
        return gp

    def _bytes_per_candidate(self, candidates: int) -> float:
        """The prior covariance with the data and what is computed from it."""
        return 2 * 8.0 * RECKONED_OBSERVATIONS


def _maximiser(gp: GpRegression) -> Hyperparameters | None:
    """What a GP was fitted to be; None where nothing could be fitted, and the next starts afresh."""
    return None if math.isnan(gp.fitted.log_posterior) else gp.fitted.hyperparameters


def _continues(history: History, seen: History) -> bool:
    """Whether the history begins with what was seen."""
    n = len(seen)
    return (
        len(history) >= n
        and np.array_equal(history.X[:n], seen.X)
        and np.array_equal(history.y[:n], seen.y)
    )
