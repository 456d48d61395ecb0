"""The synthetic functions of the NeuralBO paper (Phan-Trong, Tran-The and Gupta 2023, section 7.1)."""

from __future__ import annotations

import numpy as np

from replibo.problems.botorch_interface import BotorchProblem
from replibo.settings import Count, NonNegative
from replibo.streams import generator

# Uniform points by which the spread of f is measured.
POINTS = 10_000


class Synthetic(BotorchProblem):
    """A BoTorch test function whose noise is a share of the spread of f over its domain.

    The paper's "variance is set to 1% of the function range" cannot be meant in one unit: a variance
    is compared with a range. Read, as released: the standard deviation of the noise is 0.1 times that
    of f over uniform points (a variance of 1 % of the variance).

    Args:
        function: BoTorch's name: ``Ackley``, ``Levy``, ``Michalewicz`` …
        dim: d.
        noise_share: standard deviation of the noise over that of f at `POINTS` uniform points, drawn
            from a stream of their own: the same numbers on every machine.
    """

    def __init__(self, *, function: str, dim: Count, noise_share: NonNegative = 0.1) -> None:
        super().__init__(function=function, dim=dim)
        U = generator("problem", "synthetic", function, dim, "spread").uniform(size=(POINTS, dim))
        self.noise_std = noise_share * float(np.std(self.evaluate_true(self.to_native(U))))
