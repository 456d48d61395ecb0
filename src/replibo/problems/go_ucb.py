"""The two functions of the GO-UCB paper (Liu and Wang 2022, eq. 12), and one with two modes."""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array, Problem
from replibo.settings import NonNegative


class _OnTwoPi(Problem):
    """A function on [-2π, 2π] that increases on the whole domain, so that its maximum is at 2π."""

    def __init__(self, *, noise_std: NonNegative = 0.05) -> None:
        self.dim = 1
        self.bounds = np.array([[-2 * np.pi], [2 * np.pi]])
        self.noise_std = noise_std
        self.optimal_value = float(self.evaluate_true(self.bounds[1:])[0])


class F1(_OnTwoPi):
    """f1(x) = 1 + 1/(1 + e^-(x+1)) on [-2π, 2π] (eq. 12): realizable by the network, f1* = f1(2π)."""

    def evaluate_true(self, X: Array) -> Array:
        x: Array = X[:, 0]
        return 1.0 + 1.0 / (1.0 + np.exp(-(x + 1.0)))


class F2(_OnTwoPi):
    """f2(x) = sin(x/4) on [-2π, 2π] (eq. 12): not realizable by the network, f2* = 1."""

    def evaluate_true(self, X: Array) -> Array:
        x: Array = X[:, 0]
        return np.sin(x / 4.0)


class TwoBumps(Problem):
    """f(x) = 0.7 e^(-(x + 0.5)²/2s²) + e^(-(x - 0.45)²/2s²) on [-1, 1], s = 0.15. Not in the paper.

    Two modes, the maximum inside, and a family that holds f (`replibo.surrogates.two_bumps`): with few
    points the lower bump may be the only one that a fit has seen, so that exploration is worth its price.
    The maximum is the higher bump's, which the lower one shifts by less than 1e-8.
    """

    HEIGHTS, CENTRES, WIDTH = (0.7, 1.0), (-0.5, 0.45), 0.15

    def __init__(self, *, noise_std: NonNegative = 0.05) -> None:
        self.dim = 1
        self.bounds = np.array([[-1.0], [1.0]])
        self.noise_std = noise_std
        near = np.linspace(self.CENTRES[1] - 1e-4, self.CENTRES[1] + 1e-4, 20_001)
        self.optimal_value = float(self.evaluate_true(near[:, None]).max())

    def evaluate_true(self, X: Array) -> Array:
        x: Array = X[:, 0]
        bumps = [
            height * np.exp(-0.5 * ((x - centre) / self.WIDTH) ** 2)
            for height, centre in zip(self.HEIGHTS, self.CENTRES, strict=True)
        ]
        f: Array = np.sum(bumps, axis=0)
        return f
