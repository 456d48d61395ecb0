"""The two functions of the GO-UCB paper (Liu and Wang 2022, eq. 12)."""

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
