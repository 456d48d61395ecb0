"""NeuralBO as its authors' released code has it, where that departs from Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.neural_surrogate import Seen, choose
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, NonNegative, Positive
from replibo.streams import RunStreams
from replibo.surrogates.biased_network import BiasedNetwork, Gradients
from replibo.surrogates.bounds import evaluate_where_best

# Candidates whose gradients are held at once: so many stay in a core's cache.
CHUNK = 1024

# σ is computed at so many of the 50,000 candidates at a time, as some thousands may be the best.
BLOCK = 256


class State:
    """The network after its trainings on the first ``n`` observations, and the gradients in U."""

    def __init__(self, network: BiasedNetwork) -> None:
        self.network = network
        self.gradients: Gradients | None = None
        self.n, self.trained_on, self.loss = 0, 0, math.inf
        self.seen: Seen | None = None


class _Variance:
    """σ² at the network's inputs: with φ = g/√W and K the products of those of the queries,
    φ·φ − kᵀ(λI + K)⁻¹k, which is λ φᵀU⁻¹φ. ``share`` is that of φ·φ' in the products of g/c; the
    regulariser is λ."""

    def __init__(self, seen: Gradients | None, share: float, regulariser: float) -> None:
        import torch

        self._seen, self._share = seen, share
        if seen is not None:
            K = share * seen.products(seen)
            K.diagonal().add_(regulariser)
            self._L = torch.linalg.cholesky(K)

    def prior(self, own: Gradients) -> Array:
        """σ² at ``m`` points before any query, which no query increases; ``own`` are their gradients."""
        return np.asarray(self._share * own.squares())

    def posterior(self, own: Gradients) -> Array:
        """σ² given the gradients in U, as `prior`."""
        import torch

        if self._seen is None:
            return self.prior(own)
        k = self._share * self._seen.products(own)
        V = torch.linalg.solve_triangular(self._L, k, upper=False)
        return np.asarray((self._share * own.squares() - V.square().sum(0)).clamp_min(0.0))


class NeuralBOReleased(Algorithm):
    """Thompson sampling as in `NeuralBO`, with the network and the training of the released code.

    As the first commit of the authors' repository (phantrdat/neuralbo, d32f12a) has it:

    - Network (`BiasedNetwork`): linear layers with biases, hidden weights N(0, 1/W). PyTorch draws the
      last layer and all biases. h is multiplied by √W. Inputs are in [−1, 1]^d, y is as observed.
    - Training: one Adam for the whole run, with weight decay, full batch, on the mean squared error. It
      starts from the weights that are there. The first training is on the initial points, then one
      follows at every ``update_cycle``-th query.
    - Variance: U starts at λI, with λ the weight decay. Each query adds its gradient *at the weights of
      that moment*, divided by √W, to U. The initial points add nothing. σ² = λ gᵀU⁻¹g/W.
    - Query: the sample is N(h, (νσ)²), independent from candidate to candidate. Its best of scrambled
      Sobol points is asked, without local ones and without a gradient.

    By the symmetry of the weights' distribution it makes no difference that the released code minimises.

    No query makes σ larger: it is computed where σ before any query, which is cheap, lets the sample be
    the largest. A training that diverges leaves a candidate at random, as in `NeuralBO`.

    The trained network and Adam's moments are state. An object that is handed a history makes all
    trainings again, in order.

    Args:
        layers: L, linear layers; 2 is one hidden layer.
        width: W, units of a hidden layer.
        learning_rate, weight_decay: Adam's; the weight decay is λ, too.
        epochs: steps of each training.
        update_cycle: queries from training to training.
        nu: ν ≥ 0.
        candidates: number of Sobol points (on a finite problem: of rows of the pool).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (0 where it has diverged)",
        "sigma": "σ_t at the query, before ν, in units of y (0 where h has diverged)",
        "training_loss": "mean squared residual after the training in force, in squared units of y",
        "diverged": "1 where the training in force ended in weights that are NaN or infinite, else 0",
        "trained_on": "number of observations at the training in force",
        "surrogate_bytes": "memory held by weights, Adam's moments and the gradients in U",
    }
    # Adam's first step imports torch._dynamo.
    late_imports: ClassVar[tuple[str, ...]] = ("torch", "torch._dynamo")

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        layers: Annotated[int, Field(ge=2)] = 2,
        width: Count = 200,
        learning_rate: Positive = 0.001,
        weight_decay: Positive = 0.005,
        epochs: Count = 100,
        update_cycle: Count = 1,
        nu: NonNegative = 3.0,
        candidates: Count = 50_000,
    ) -> None:
        super().__init__(space, streams)
        self.layers, self.width = layers, width
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.epochs, self.update_cycle, self.nu = epochs, update_cycle, nu
        self.regulariser = weight_decay
        self.candidates = Candidates(
            space,
            streams,
            count=candidates,
            local_fraction=0.0,
            # the network's inputs, and six numbers: normals, h, σ, bound, sample, order
            bytes_per_candidate=8.0 * (space.dim + 6),
        )
        self._state: State | None = None

    @staticmethod
    def inputs(U: Array) -> Array:
        """[−1, 1]^d at points of the unit cube, ``n x d``."""
        return 2.0 * U - 1.0

    def _network(self) -> BiasedNetwork:
        """The network at its first weights, which are the same at every call."""
        return BiasedNetwork(
            self.streams.surrogate_at(0),
            inputs=self.space.dim,
            layers=self.layers,
            width=self.width,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            scale=math.sqrt(self.width),
        )

    def tell(self, history: History) -> None:
        """Train where it is due (`ask` would do it, too)."""
        if len(history) >= history.n_initial > 0:
            self._after(history)

    def _after(self, history: History) -> State:
        """The state at all observations of the history, from the last one or from the beginning."""
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        state = self._state
        if state is None or state.seen is None or not state.seen.begins(history):
            state = State(self._network())
        X = self.inputs(history.X)
        first = min(history.n_initial, len(history))
        for n in range(max(state.n, first - 1) + 1, len(history) + 1):
            if n > first:
                self._seen(state, X[n - 1 : n])
            if self._trains_after(n - first):
                state.loss = state.network.train(X[:n], history.y[:n], self.epochs)
                state.trained_on = n
            state.n = n
        state.seen = Seen(history, len(history))
        self._state = state
        return state

    def _seen(self, state: State, x: Array) -> None:
        """Add the gradient at the query ``x``, ``1 x d``, to U."""
        gradients = state.network.gradients(x)
        state.gradients = state.gradients.with_more(gradients) if state.gradients else gradients

    def _trains_after(self, queries: int) -> bool:
        """Whether a training is due after so many queries."""
        return queries % self.update_cycle == 0

    def _candidates(self, history: History) -> tuple[Array, NDArray[np.int64]]:
        """Scrambled Sobol points, or rows of the pool."""
        import torch

        if self.space.candidates is not None:
            return self.candidates.draw(history)
        seed = int(self.streams.candidates(len(history)).integers(2**31))
        engine = torch.quasirandom.SobolEngine(  # type: ignore[no-untyped-call]
            self.space.dim, scramble=True, seed=seed
        )
        X = engine.draw(self.candidates.count, dtype=torch.float64).numpy()
        return X, np.full(len(X), -1)

    def _samples(
        self, state: State, X: Array, t: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """h, σ and what is maximised at round ``t``, ``m`` each, at the network's inputs ``X``,
        ``m x d``; where a candidate cannot be the best, an upper bound of σ."""
        variance = self._variance(state)
        h, sigma = self._h_and_sigma(state, X, variance.prior)
        normals = rng.standard_normal(len(X))

        def values(rows: NDArray[np.intp]) -> Array:
            sigma[rows] = variance.posterior(state.network.gradients(X[rows])) ** 0.5
            return h[rows] + self.nu * sigma[rows] * normals[rows]

        evaluate_where_best(h + self.nu * sigma * np.maximum(normals, 0.0), values, BLOCK)
        return h, sigma, h + self.nu * sigma * normals

    def _variance(self, state: State) -> _Variance:
        share = state.network.scale**2 / self.width
        return _Variance(state.gradients, share, self.regulariser)

    def _h_and_sigma(
        self, state: State, X: Array, variance: Callable[[Gradients], Array]
    ) -> tuple[Array, Array]:
        """h and σ at the network's inputs ``X``, ``m x d``: ``m`` each."""
        h, sigma = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            part = slice(start, start + CHUNK)
            own = state.network.gradients(X[part])
            h[part], sigma[part] = state.network.predict(own), variance(own) ** 0.5
        return h, sigma

    def ask(self, history: History, t: int) -> Proposal:
        state = self._after(history)
        X, rows = self._candidates(history)
        rng = self.streams.algorithm_at(len(history))
        diverged = not math.isfinite(state.loss)
        if diverged:
            h = sigma = np.zeros(len(X))
            sample = rng.uniform(size=len(X))  # a candidate at random
        else:
            h, sigma, sample = self._samples(state, self.inputs(X), t, rng)
        held = state.gradients
        tensors = [*held.incoming, *held.outgoing] if held else []
        return choose(
            self.candidates,
            X,
            rows,
            sample,
            {
                "mean": h,
                "sigma": sigma,
                "training_loss": state.loss if not diverged else math.inf,
                "diverged": diverged,
                "trained_on": state.trained_on,
                "surrogate_bytes": state.network.bytes() + sum(t.nbytes for t in tensors),
            },
        )
