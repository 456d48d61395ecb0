"""The synthetic functions of the NeuralBO paper (Phan-Trong, Tran-The and Gupta 2023, section 7.1)."""

from __future__ import annotations

from copy import copy
from typing import Literal

import numpy as np

from replibo.problems.base import Array, Observation
from replibo.problems.botorch_interface import BotorchProblem
from replibo.settings import Count, NonNegative, SettingError
from replibo.streams import RunStreams, generator

# Uniform points by which the spread of f is measured.
POINTS = 10_000

# The optimum is moved by at most that share of the box in each coordinate, and stays that far from its
# faces, so that no side of it is squeezed to nothing.
LARGEST_SHIFT = 0.25
MARGIN = 0.1


class Synthetic(BotorchProblem):
    """A BoTorch test function whose noise is a share of the spread of f over its domain.

    The paper's "variance is set to 1% of the function range" cannot be meant in one unit: a variance
    is compared with a range. Read, as released: the standard deviation of the noise is 0.1 times that
    of f over uniform points (a variance of 1 % of the variance). ``noise_variance_share`` takes the
    sentence by its numbers.

    Each observation carries the diagnostic ``distance_to_centre``, the root mean square of the point's
    coordinates in [−1, 1]^d: 0 at the centre of the box, 1 at a corner, about 0.58 at uniform points.

    Args:
        function: BoTorch's name: ``Ackley``, ``Levy``, ``Michalewicz`` …
        dim: d.
        noise_share: standard deviation of the noise over that of f at `POINTS` uniform points, drawn
            from a stream of their own: the same numbers on every machine.
        noise_variance_share: variance of the noise over the range of f, from its optimum to the worst of
            these points (both as plain numbers), in place of ``noise_share``.

    Raises:
        SettingError: ``noise_variance_share`` where the optimal value of f is not known.
    """

    def __init__(
        self,
        *,
        function: str,
        dim: Count,
        noise_share: NonNegative = 0.1,
        noise_variance_share: NonNegative | None = None,
    ) -> None:
        super().__init__(function=function, dim=dim)
        U = generator("problem", "synthetic", function, dim, "spread").uniform(size=(POINTS, dim))
        f = super().evaluate_true(self.to_native(U))
        self.noise_std = noise_share * float(np.std(f))
        if noise_variance_share is not None:
            if self.optimal_value is None:
                raise SettingError(
                    "noise_variance_share",
                    f"must be left out where the optimal value is not known: {function} at d = {dim}",
                )
            self.noise_std = float(np.sqrt(noise_variance_share * (self.optimal_value - f.min())))

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        seen = super().observe(x, streams, query)
        distance = float(np.sqrt(np.mean((2.0 * self.to_unit(x) - 1.0) ** 2)))
        return Observation(seen.y, seen.f, {"distance_to_centre": distance})


class Shifted(Synthetic):
    """The same function with its optimum at another place; the seed varies the place.

    f(x) = g(φ(x)) with φ piecewise linear in each coordinate, from the box onto itself, continuous and
    increasing: it leaves the faces where they are and takes the member's optimum to that of g. So the
    box, the values that f takes and the number and order of its peaks are those of g, and only places
    change. The optimum moves in each coordinate by a uniform share of the box between -`LARGEST_SHIFT`
    and `LARGEST_SHIFT`, cut off at `MARGIN` from the faces. The noise is that of g.

    The object itself, before `of_seed`, is not shifted.

    Args:
        function: ``Ackley``, ``Levy`` or ``Michalewicz``.
        dim: d.
        noise_share: see `Synthetic`.

    Attributes:
        optimizers: ``1 x d``, the native point at which the member's maximum is reached.
    """

    optimizers: Array

    def __init__(
        self,
        *,
        function: Literal["Ackley", "Levy", "Michalewicz"],
        dim: Count,
        noise_share: NonNegative = 0.1,
    ) -> None:
        super().__init__(function=function, dim=dim, noise_share=noise_share)
        self._name = function
        if function == "Michalewicz":
            self.optimizers = michalewicz_optimizer(dim)[None, :]
            # BoTorch's own is rounded to five digits
            self.optimal_value = float(super().evaluate_true(self.optimizers)[0])
        self._target = self.optimizers[0]

    def of_seed(self, seed: int) -> Shifted:
        """The member of ``seed``: its optimum lies elsewhere."""
        made, (lower, upper) = copy(self), self.bounds
        rng = generator("problem", "synthetic", self._name, self.dim, "shift", seed)
        moves = rng.uniform(-LARGEST_SHIFT, LARGEST_SHIFT, size=self.dim)
        unit = np.clip(self.to_unit(self._target) + moves, MARGIN, 1.0 - MARGIN)
        made.optimizers = (lower + (upper - lower) * unit)[None, :]
        return made

    def evaluate_true(self, X: Array) -> Array:
        """The noise-free values, shape ``n``, at the native points ``n x d``."""
        ends = zip(*self.bounds, self.optimizers[0], self._target, strict=True)
        columns = [
            np.interp(x, [low, at, high], [low, to, high])
            for x, (low, high, at, to) in zip(np.asarray(X).T, ends, strict=True)
        ]
        return super().evaluate_true(np.column_stack(columns))


def michalewicz_optimizer(dim: int) -> Array:
    """The maximiser of Σ_i sin(x_i) sin²⁰(i x_i²/π) on [0, π]^d, term by term: shape ``d``."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(0.0, np.pi, 20_001)
    found = []
    for i in range(1, dim + 1):

        def negative(x: Array | float, i: int = i) -> Array | float:
            return -np.sin(x) * np.sin(i * x**2 / np.pi) ** 20

        best, step = grid[int(np.argmin(negative(grid)))], grid[1]
        near = (max(best - step, 0.0), min(best + step, np.pi))
        found.append(minimize_scalar(negative, bounds=near, options={"xatol": 1e-12}).x)
    return np.array(found)
