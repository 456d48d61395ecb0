"""What the algorithms of the NeuralBO paper with a network trained from θ₀ have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.network_inputs import InputScaling, network_inputs
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, Fraction, NonNegative, Positive
from replibo.streams import RunStreams
from replibo.surrogates.standardise import YScaling, scaled
from replibo.surrogates.tangent_kernel import Variance
from replibo.surrogates.two_layer_network import (
    BatchLoss,
    Initialization,
    Training,
    TwoLayerNetwork,
    draw_weights,
    train_sgd,
)


class Seen:
    """The observations that something was computed from, to see whether a history goes on from them."""

    def __init__(self, history: History, n: int) -> None:
        self.X, self.y = history.X[:n].copy(), history.y[:n].copy()

    def __len__(self) -> int:
        return len(self.y)

    def begins(self, history: History) -> bool:
        """Whether the history's first observations are these."""
        n = len(self)
        return (
            len(history) >= n
            and np.array_equal(history.X[:n], self.X)
            and np.array_equal(history.y[:n], self.y)
        )


class ObservedVariance:
    """A `Variance` that takes in the queries of a history; ``make`` gives it before any observation."""

    def __init__(self, make: Callable[[], Variance], inputs: Callable[[Array], Array]) -> None:
        self._make, self._inputs = make, inputs
        self._variance: Variance | None = None
        self._seen: Seen | None = None

    def after(self, history: History) -> Variance:
        """σ² given all observations of ``history``."""
        if self._variance is None or self._seen is None or not self._seen.begins(history):
            self._variance = None  # before another is made: the two might not fit
            self._variance = self._make()
        for x in self._inputs(history.X[len(self._variance) :]):
            self._variance.append(x)
        self._seen = Seen(history, len(history))
        return self._variance


def choose(
    candidates: Candidates,
    X: Array,
    rows: NDArray[np.int64],
    acquisition: Array,
    diagnostics: dict[str, Array | float],
) -> Proposal:
    """The best candidate, with those of the ``diagnostics`` that are one number per candidate at it."""
    best = int(np.argmax(acquisition))
    there = {
        name: float(value[best]) if isinstance(value, np.ndarray) else float(value)
        for name, value in diagnostics.items()
    }
    return candidates.best(X, rows, acquisition, there)


@dataclass(frozen=True)
class Fit:
    """The network in force: it was trained on ``seen``; h is (y − ``centre``)/``scale``."""

    seen: Seen
    training: Training
    centre: float
    scale: float


class NeuralSurrogate(Algorithm):
    """h(x; θ) = √m W₂ relu(W₁ x), trained from θ₀ by TrainNN (Algorithm 2) on y as `y_scaling` has it.

    θ₀ is drawn once per run (``surrogate_at(0)``). The training in force at a history of n observations
    was made on the first n' of them, by `RefitSchedule`; the batches' order (and what else it takes) is
    of ``surrogate_at(n')``.

    A training that diverges (weights NaN or infinite) is part of what the recipe does: the query is
    then a candidate at random, the diagnostic ``diverged`` is 1, and the run goes on.

    Args:
        width: m, hidden units.
        learning_rate: η of SGD.
        epochs: passes through the data in a training.
        batch_size: observations in a batch.
        regularizer: λ > 0, of the training's objective (and of σ).
        initialization: θ₀; ``section_7``: all weights N(0, 1/m); ``section_4``: W₁ N(0, 2/m), W₂ = 0.
        input_scaling: ``root_dim``, [−1, 1]^d/√d; ``none``, [−1, 1]^d; ``corner``, [0, 1]^d/√d
            (`network_inputs`).
        constant_input: whether a constant joins the inputs, which the paper does not print
            (`network_inputs`).
        y_scaling: what the network is fitted to; ``none``, y as observed (as printed); ``divide``, y over
            its mean modulus; ``standardise``, mean 0 and standard deviation 1 (`scaled`). h and σ, and so
            ν, λ and a perturbation, are in these units.
        batch_loss: ``sum`` (as printed) or ``mean`` of a batch's losses, see `train_sgd`.
        candidates, local_fraction: number of candidates and share of local ones (`Candidates`).
        refit_growth: growth of the history from training to training (`RefitSchedule`); 0, as printed,
            trains at every round.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        width: Count = 500,
        learning_rate: Positive = 0.001,
        epochs: Count = 50,
        batch_size: Count = 50,
        regularizer: Positive = 0.01,
        initialization: Initialization = "section_7",
        input_scaling: InputScaling = "root_dim",
        constant_input: bool = False,
        y_scaling: YScaling = "none",
        batch_loss: BatchLoss = "mean",
        candidates: Count = 512,
        local_fraction: Fraction = 0.5,
        refit_growth: NonNegative = 0.0,
    ) -> None:
        super().__init__(space, streams)
        self.learning_rate, self.epochs, self.batch_size = learning_rate, epochs, batch_size
        self.regularizer, self.batch_loss = regularizer, batch_loss
        self.input_scaling, self.constant_input = input_scaling, constant_input
        self.y_scaling = y_scaling
        # For each candidate: its features relu(W₁x) and gates in float64, their copies on the way.
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=local_fraction,
            bytes_per_candidate=4.0 * 8.0 * width,
        )
        self.schedule = RefitSchedule(refit_growth)
        inputs = self.inputs(np.zeros((1, space.dim))).shape[1]
        self.start_weights = draw_weights(streams.surrogate_at(0), inputs, width, initialization)
        self._fit: Fit | None = None

    @abstractmethod
    def targets(self, y: Array, rng: np.random.Generator) -> Array:
        """What the network is fitted to, given the observations ``y`` (``n``) in its units."""

    def inputs(self, U: Array) -> Array:
        """The network's inputs at points of the unit cube, ``n x d``."""
        return network_inputs(U, self.input_scaling, self.constant_input)

    def fit(self, history: History) -> Fit:
        """The training in force (line 6): a function of the history, kept while it stays in force."""
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        n = self.schedule.in_force(len(history), history.n_initial)
        if self._fit is None or len(self._fit.seen) != n or not self._fit.seen.begins(history):
            y, centre, scale = scaled(history.y[:n], self.y_scaling)
            rng = self.streams.surrogate_at(n)
            training = train_sgd(
                TwoLayerNetwork(*self.start_weights),
                self.inputs(history.X[:n]),
                self.targets(y, rng),
                rng=rng,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                batch_size=self.batch_size,
                regularizer=self.regularizer,
                batch_loss=self.batch_loss,
            )
            self._fit = Fit(Seen(history, n), training, centre, scale)
        return self._fit

    def prediction(self, X: Array, fit: Fit) -> Array:
        """h at points of the unit cube (``n x d``), in the network's units; 0 where it has diverged."""
        if fit.training.diverged:
            return np.zeros(len(X))
        return fit.training.network.predict(self.inputs(X))
