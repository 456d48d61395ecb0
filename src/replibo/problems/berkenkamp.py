"""The toy function of Berkenkamp, Schoellig and Krause (2019), as the LB-GP-UCB paper uses it (Ziomek,
Adachi and Osborne 2024, Figure 1 and section 5)."""

from __future__ import annotations

import math

import numpy as np

from replibo.problems.base import Array, Problem
from replibo.settings import NonNegative


class Berkenkamp(Problem):
    """f(x) = 0.6 x + N(x; 0.2, 0.08²)/8 on [0, 1], maximised.

    A narrow peak on a straight slope: the global maximum 0.7452 lies at 0.2062, a local one, 0.6, at
    the right end. (The caption of Figure 1 has it at 0.3, where f = 0.465.)

    Attributes:
        optimizers: ``1 x 1``, the maximiser, f'(x) = 0.
    """

    MEAN, SD = 0.2, 0.08
    """Mean and standard deviation of the normal density."""

    def __init__(self, *, noise_std: NonNegative = 0.0) -> None:
        self.dim = 1
        self.noise_std = noise_std
        self.bounds = np.array([[0.0], [1.0]])
        self.optimizers = np.array([[0.20617869024055846]])
        self.optimal_value = float(self.evaluate_true(self.optimizers)[0])

    def evaluate_true(self, X: Array) -> Array:
        x = X[:, 0]
        density = np.exp(-0.5 * ((x - self.MEAN) / self.SD) ** 2) / (self.SD * math.sqrt(2 * np.pi))
        f: Array = 0.6 * x + density / 8.0
        return f
