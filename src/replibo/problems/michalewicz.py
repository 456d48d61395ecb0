"""The five-dimensional Michalewicz function of the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024,
section 5), on BoTorch's own."""

from __future__ import annotations

import numpy as np

from replibo.problems.botorch_interface import BotorchProblem
from replibo.settings import NonNegative


class Michalewicz5(BotorchProblem):
    """f(x) = Σ_i sin(x_i) sin²⁰(i x_i²/π) on [0, π]^5 (steepness 10), maximised.

    Its ridges are steep and most of the domain is flat. The maximum is 4.687658; BoTorch gives it to
    these digits only, and here it is the value at the optimum itself, in double precision, so that
    no regret is below 0. (The released code of the paper takes [0, 3.14]^5.)

    Attributes:
        optimizers: ``1 x 5``, the maximiser; each coordinate maximises its own term.
    """

    def __init__(self, *, noise_std: NonNegative = 0.0) -> None:
        super().__init__(function="Michalewicz", dim=5, noise_std=noise_std)
        self.optimizers = np.array(
            [
                [
                    2.2029055201726093,
                    1.5707963267948966,
                    1.2849915705529245,
                    1.9230584698663626,
                    1.720469772565841,
                ]
            ]
        )
        self.optimal_value = float(self.evaluate_true(self.optimizers)[0])
