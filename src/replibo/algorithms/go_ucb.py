"""GO-UCB: global optimisation by a parametric upper confidence bound (Liu and Wang 2022, Alg. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, Finite, Natural, NonNegative, Positive, SettingError
from replibo.streams import RunStreams
from replibo.surrogates import parametric, two_bumps

FAMILIES: dict[str, ModuleType] = {"network": parametric, "two_bumps": two_bumps}


class GoUcb(Algorithm):
    """GO-UCB (Algorithm 1, with the surrogate criterion of section 4).

    Phase I is the initial design. At each round t of Phase II:

    - step 2: ŵ_t ← the maximum-likelihood estimate, approximated by gradient descent on the mean
      squared error, started from the last ŵ (the first one uniform in (-1, 1)^4), or by the best of
      several descents;
    - step 3: x_t = argmax_x f̂(x; ŵ_t) + σ ‖∇_w f̂(x; ŵ_t)‖ √(U/t) + U/t.

    The runs of a block are fitted together (`ask_block`); each comes out as if it were alone.

    Args:
        family: the functions f̂(x; w): "network", the paper's (eq. 13); "two_bumps", one with two modes
            (`replibo.surrogates.two_bumps`), whose parameters the diagnostics give in its order.
        U: the constant of the bonus; the paper takes 10.
        learning_rate, gradient_steps: of the gradient descent; the paper gives 500 steps and no rate.
        start: where a round's descent starts: "warm", at the last ŵ; "cold", at a point drawn anew,
            uniform in (-1, 1)^4.
        restarts: number of descents in each round. The first starts as ``start`` says, the others at
            points drawn anew; the smallest mean squared error decides.
        grid_points: points of the equidistant grid, both ends included, over which x is maximised.
        model_domain: the interval on which the network sees the unit interval. The paper's network
            takes x as it is, in [-2π, 2π].
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "w1": "ŵ_t, first layer's weight (of two bumps: a1)",
        "b1": "ŵ_t, first layer's bias (c1)",
        "w2": "ŵ_t, second layer's weight (a2)",
        "b2": "ŵ_t, second layer's bias (c2)",
        "bonus": "the bonus at x_t, without the constant U/t (units of y)",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        family: Literal["network", "two_bumps"] = "network",
        U: NonNegative = 10.0,
        learning_rate: Positive = 0.1,
        gradient_steps: Natural = 500,
        start: Literal["warm", "cold"] = "warm",
        restarts: Count = 1,
        grid_points: Annotated[int, Field(ge=2)] = 2001,
        model_domain: Sequence[Finite] = (-2 * np.pi, 2 * np.pi),
    ) -> None:
        super().__init__(space, streams)
        if space.dim != 1 or space.candidates is not None:
            raise RepliboError("GO-UCB has one input: the problem must be 1-D and continuous")
        if len(model_domain) != 2 or not model_domain[0] < model_domain[1]:
            raise SettingError("model_domain", f"must be [LOWER, UPPER], got {list(model_domain)}")
        self.family = FAMILIES[family]
        self.U = U
        self.learning_rate = learning_rate
        self.gradient_steps = gradient_steps
        self.start, self.restarts = start, restarts
        lower, upper = model_domain
        self._lower, self._width = lower, upper - lower
        self.grid = np.linspace(0.0, 1.0, grid_points)
        # ŵ after each number of observations is a function of the history alone: the chain of warm
        # starts begins with the initial points, and is gone through again where it is not cached.
        self._w: Array | None = None  # 4 x 1
        self._fitted = 0  # number of observations behind _w
        self._data = np.empty((0, 2))  # those observations, (x, y)

    # What the variants of the method change:

    def data_used(self, history: History) -> int:
        """Number of observations behind the estimate ŵ_t: all."""
        return len(history)

    def bonus(self, w: Array, history: History, t: int) -> Array:
        """σ ‖∇_w f̂(x; ŵ_t)‖ √(U/t) on the grid, shape ``m`` (section 4)."""
        norm = np.sqrt(np.sum(self.family.gradient(w, self.model_grid) ** 2, axis=0))[:, 0]
        return self.space.noise_std * norm * np.sqrt(self.U / t)

    # The algorithm:

    @property
    def model_grid(self) -> Array:
        """The grid in the network's input, ``m x 1``."""
        return self.to_model(self.grid)[:, None]

    def to_model(self, u: Array) -> Array:
        """The network's input for points of the unit interval."""
        return self._lower + self._width * u

    def ask(self, history: History, t: int) -> Proposal:
        return self.ask_block([self], [history], t)[0]

    @classmethod
    def ask_block(
        cls, algorithms: Sequence[Algorithm], histories: Sequence[History], t: int
    ) -> list[Proposal]:
        runs = [algorithm for algorithm in algorithms if isinstance(algorithm, GoUcb)]
        _estimate(runs, histories)
        return [run._select(history, t) for run, history in zip(runs, histories, strict=True)]

    def starts(self, history: History, size: int) -> Array:
        """Where the descents on the first ``size`` observations start, ``4 x restarts``."""
        kept = self._w if self.start == "warm" else None
        drawn = self.restarts if kept is None else self.restarts - 1
        if not drawn and kept is not None:
            return kept
        rng = self.streams.algorithm_at(size)
        points = rng.uniform(-1.0, 1.0, size=(drawn, parametric.N_PARAMETERS)).T
        return points if kept is None else np.concatenate([kept, points], axis=1)

    def _select(self, history: History, t: int) -> Proposal:
        """Step 3: maximise the criterion over the grid."""
        w = self._w
        assert w is not None
        with np.errstate(all="ignore"):  # a diverged ŵ is seen in what comes of it
            bonus = self.bonus(w, history, t)
            ucb = self.family.predict(w, self.model_grid)[:, 0] + bonus + self.U / t
        if not (np.all(np.isfinite(w)) and np.all(np.isfinite(ucb))):
            raise RepliboError(
                f"GO-UCB, seed {self.streams.seed}, round {t}: gradient descent diverged at "
                f"learning_rate {self.learning_rate}; allowed: a smaller one"
            )
        best = int(np.argmax(ucb))
        w1, b1, w2, b2 = (float(value) for value in w[:, 0])
        return Proposal(
            self.grid[best : best + 1],
            diagnostics={"w1": w1, "b1": b1, "w2": w2, "b2": b2, "bonus": float(bonus[best])},
        )


def _estimate(runs: Sequence[GoUcb], histories: Sequence[History]) -> None:
    """Step 2 for the runs of a block: bring each ŵ up to date, those at the same point together."""
    pairs = list(zip(runs, histories, strict=True))
    for run, hist in pairs:
        data = np.column_stack([hist.X[: run._fitted], hist.y[: run._fitted]])
        if run._fitted > run.data_used(hist) or not np.array_equal(data, run._data):
            run._w, run._fitted = None, 0  # another history than the last one
    while behind := [(run, hist) for run, hist in pairs if run._fitted < run.data_used(hist)]:
        size = min(max(run._fitted + 1, hist.n_initial) for run, hist in behind)
        group = [(r, h) for r, h in behind if max(r._fitted + 1, h.n_initial) == size]
        first = group[0][0]
        x = np.stack([run.to_model(hist.X[:size, 0]) for run, hist in group], axis=1)
        y = np.stack([hist.y[:size] for _, hist in group], axis=1)
        w = first.family.gradient_descent(
            np.concatenate([run.starts(hist, size) for run, hist in group], axis=1),
            *(np.repeat(values, first.restarts, axis=1) for values in (x, y)),
            steps=first.gradient_steps,
            learning_rate=first.learning_rate,
        ).reshape(parametric.N_PARAMETERS, len(group), first.restarts)
        for i, (run, hist) in enumerate(group):
            best = _smallest_loss(run, w[:, i], x[:, i : i + 1], y[:, i : i + 1])
            run._w, run._fitted = w[:, i, best : best + 1].copy(), size
            run._data = np.column_stack([hist.X[:size], hist.y[:size]])


def _smallest_loss(run: GoUcb, w: Array, x: Array, y: Array) -> int:
    """Which of the estimates ``w`` (``4 x restarts``) has the smallest mean squared error on ``x`` and
    ``y`` (``n x 1``)."""
    if w.shape[1] == 1:
        return 0
    with np.errstate(all="ignore"):  # descents that diverged
        loss = np.mean((run.family.predict(w, x) - y) ** 2, axis=0)
    return int(np.argmin(np.where(np.isfinite(loss), loss, np.inf)))
