"""BoTorch's search for the maximum of the upper confidence bound on the cube.

The released code of the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024) asks by it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.algorithms.base import History
from replibo.algorithms.parts.acquisition import Maximum, UcbMaximiser
from replibo.problems.base import Array
from replibo.surrogates.exact_gp import ExactGP, GrowingGP, PosteriorGradient

if TYPE_CHECKING:
    from torch import Tensor


class BotorchUcbMaximiser(UcbMaximiser):
    """As `UcbMaximiser`, but the maximum on a cube is looked for by BoTorch's ``optimize_acqf``.

    Its starts are drawn among scrambled Sobol points by their values. L-BFGS-B climbs from each; one call
    evaluates them together. The posterior and its gradient are those of `UcbMaximiser`, so that the
    search alone differs. A pool is searched in full, as there.
    """

    def _maximise_cube(
        self,
        history: History,
        y: Array,
        length_scale: float,
        beta: float,
        rng: np.random.Generator,
        fixed: bool,
    ) -> Maximum:
        gp: ExactGP | GrowingGP
        if fixed:
            gp = self._model(history, length_scale, len(history))
        else:
            gp = ExactGP(self.distances(history), length_scale, self.noise_variance, self._kernel)
        posterior = PosteriorGradient(gp, history.X, y)

        def ucb(points: Array) -> tuple[Array, Array]:
            mean, variance, d_mean, d_variance = posterior(points)
            sd = np.sqrt(variance + self._added)
            half = np.divide(0.5 * beta, sd, out=np.zeros_like(sd), where=sd > 0.0)
            return mean + beta * sd, d_mean + half[:, None] * d_variance

        x = self._search(ucb, rng)
        mean, variance = posterior.value(x[None])
        if isinstance(gp, GrowingGP):  # with the bits of `posterior_sd`
            variance[0] = gp.variance_given_first(len(gp), x)
        mu, sd = float(mean[0]), math.sqrt(variance[0] + self._added)
        return Maximum(x, -1, mu, sd, mu + beta * sd, gp.jitter)

    def _search(
        self, ucb: Callable[[Array], tuple[Array, Array]], rng: np.random.Generator
    ) -> Array:
        """The maximiser, ``d``, that ``optimize_acqf`` finds; ``ucb`` gives values and gradients."""
        import torch
        from botorch.acquisition import AcquisitionFunction
        from botorch.exceptions import BadInitialCandidatesWarning
        from botorch.optim import optimize_acqf

        class Values(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, points: Tensor) -> Tensor:
                values, gradients = ucb(points.detach().numpy())
                ctx.save_for_backward(torch.from_numpy(gradients))
                return torch.from_numpy(values)

            @staticmethod
            def backward(ctx: Any, outer: Tensor) -> Tensor:
                (gradients,) = ctx.saved_tensors
                product: Tensor = outer[:, None] * gradients
                return product

        class Ucb(AcquisitionFunction):
            def forward(self, X: Tensor) -> Tensor:  # b x 1 x d
                values: Tensor = Values.apply(X.squeeze(-2))  # type: ignore[no-untyped-call]
                return values

        d = self.space.dim
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            # where all Sobol points have one value, the starts are random ones
            warnings.simplefilter("ignore", BadInitialCandidatesWarning)
            torch.manual_seed(int(rng.integers(2**63)))
            x, _ = optimize_acqf(
                Ucb(None),  # type: ignore[arg-type]  # it has no model of BoTorch's
                torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
            )
        return np.clip(x.detach().numpy()[0], 0.0, 1.0)
