"""GP-UCB, GP-EI and GP-TS on BoTorch and GPyTorch, which the NeuralBO paper (section 7) ran its Gaussian
processes with: its model, its fit, its acquisition functions and its gradient ascent on them.

`gp_ucb`, `gp_ei` and `gp_ts` choose among candidates that all methods share instead.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.gp_ucb import srinivas_beta
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.errors import RepliboError
from replibo.settings import Count, NonNegative, Probability
from replibo.streams import RunStreams
from replibo.surrogates.standardise import standardise

if TYPE_CHECKING:
    from botorch.acquisition import AcquisitionFunction
    from botorch.models import SingleTaskGP
    from torch import Tensor

Kernel = Literal["isotropic", "ard"]


class GpBotorch(Algorithm):
    """An acquisition function of BoTorch's ``SingleTaskGP``, maximised by ``optimize_acqf``.

    The kernel is outputscale x isotropic RBF. With ``ard`` it is BoTorch's own: RBF with a length
    scale for each dimension, their prior, no outputscale. All else of the model is BoTorch's:
    constant mean, its prior of the noise, hyperparameters by ``fit_gpytorch_mll`` from its one
    start. They are fitted to the initial points and again whenever the history has grown by
    ``refit_growth`` (`RefitSchedule`), always from that start. In between the observations are
    standardised as at the fit and condition the same prior.

    All that BoTorch draws (Sobol points and starts of the ascent, features of a sample, new starts of a
    fit that failed) comes from seeds of the run's streams.

    Args:
        kernel: ``isotropic`` or ``ard``.
        refit_growth: growth of the history from fit to fit.
        restarts, raw_samples: of ``optimize_acqf``: L-BFGS-B from so many starts, chosen among so many
            Sobol points by their acquisition.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "ℓ of the fit in force (of several the geometric mean), in units of the cube",
        "outputscale": "s of the fit in force, in units of y standardised at the fit, squared; 1 for "
        "BoTorch's own kernel, which has none",
        "noise_variance": "σ² of the fit in force, in the same unit",
        "fitted_on": "number of observations that the fit in force was made on",
        "acquisition": "the acquisition function at the query, y standardised at the fit",
    }
    late_imports: ClassVar[tuple[str, ...]] = (
        "botorch.acquisition.thompson_sampling",
        "botorch.fit",
        "botorch.models",
        "botorch.optim",
    )

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        kernel: Kernel = "isotropic",
        refit_growth: NonNegative = 0.05,
        restarts: Count = 10,
        raw_samples: Count = 512,
    ) -> None:
        super().__init__(space, streams)
        if space.candidates is not None:
            raise RepliboError(
                "BoTorch's baselines: the problem must be continuous, got a finite pool"
            )
        self.kernel, self.restarts, self.raw_samples = kernel, restarts, raw_samples
        self.schedule = RefitSchedule(refit_growth)
        self._fit: tuple[bytes, SingleTaskGP] | None = None

    @abstractmethod
    def acquisition(self, model: SingleTaskGP, t: int) -> AcquisitionFunction:
        """BoTorch's acquisition function, of the model given all observations."""

    def ask(self, history: History, t: int) -> Proposal:
        import torch
        from botorch.optim import optimize_acqf
        from botorch.utils.sampling import manual_seed

        model, fitted_on = self.model(history)
        seed = int(self.streams.algorithm_at(len(history)).integers(2**31))
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, self.space.dim)
        with manual_seed(seed), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # ascents that stop early, samples that are not normalised
            x, value = optimize_acqf(
                self.acquisition(model, t),
                bounds,
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
                options={"seed": seed},
            )
        shown = {
            "length_scale": length_scale_of(model),
            "outputscale": getattr(model.covar_module, "outputscale", torch.ones(1)),
            "noise_variance": model.likelihood.noise,
            "acquisition": value,
        }
        diagnostics = {name: number.item() for name, number in shown.items()}
        diagnostics["fitted_on"] = float(fitted_on)
        return Proposal(np.clip(x[0].numpy(), 0.0, 1.0), diagnostics=diagnostics)

    def model(self, history: History) -> tuple[SingleTaskGP, int]:
        """The GP given all of ``history``, and how many of its observations it was fitted to."""
        import torch

        n = len(history)
        if n == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        size = self.schedule.in_force(n, history.n_initial)
        X, y = history.X[:size], history.y[:size]
        data = X.tobytes() + y.tobytes()
        if self._fit is None or self._fit[0] != data:
            self._fit = data, self._fitted(history, size)
        model: Any = self._fit[1]  # nn.Module's attributes have no types
        _, centre, scale = standardise(y)
        standard = torch.tensor((history.y - centre) / scale)
        model.set_train_data(torch.tensor(history.X), standard, strict=False)
        return model, size

    def _fitted(self, history: History, size: int) -> SingleTaskGP:
        """BoTorch's model with the hyperparameters of largest marginal likelihood, given the first
        ``size`` observations."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.utils.sampling import manual_seed
        from gpytorch.kernels import RBFKernel, ScaleKernel
        from gpytorch.mlls import ExactMarginalLogLikelihood

        y = torch.tensor(standardise(history.y[:size])[0])[:, None]
        seed = int(self.streams.surrogate_at(size).integers(2**31))
        with manual_seed(seed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a line search that ends early; constant y
            model = SingleTaskGP(
                torch.tensor(history.X[:size]),
                y,
                covar_module=ScaleKernel(RBFKernel()) if self.kernel == "isotropic" else None,
                outcome_transform=None,
            )
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


def length_scale_of(model: SingleTaskGP) -> Tensor:
    """ℓ, of several the geometric mean: one number."""
    kernel: Any = model.covar_module
    length_scales = getattr(kernel, "base_kernel", kernel).lengthscale
    return length_scales if length_scales.numel() == 1 else length_scales.log().mean().exp()


class GpUcbBotorch(GpBotorch):
    """GP-UCB (Srinivas et al. 2010): argmax of μ + √β_t σ, ``UpperConfidenceBound``.

    Args:
        beta, delta: as of `replibo.algorithms.gp_ucb.GpUcb`.
        settings: of `GpBotorch`.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        beta: NonNegative | None = None,
        delta: Probability = 0.05,
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.beta, self.delta = beta, delta

    def acquisition(self, model: SingleTaskGP, t: int) -> AcquisitionFunction:
        from botorch.acquisition import UpperConfidenceBound

        beta = self.beta
        if beta is None:
            length_scale = length_scale_of(model).item()
            beta = srinivas_beta(max(t, 1), self.space.dim, length_scale, self.delta)
        return UpperConfidenceBound(model, beta=beta)


class GpEiBotorch(GpBotorch):
    """GP-EI (Jones et al. 1998): argmax of ``LogExpectedImprovement`` on the largest y.

    Args:
        xi: ξ ≥ 0, what counts as an improvement at least, in units of y standardised at the fit.
        settings: of `GpBotorch`.
    """

    def __init__(
        self, space: Space, streams: RunStreams, *, xi: NonNegative = 0.01, **settings: Any
    ) -> None:
        super().__init__(space, streams, **settings)
        self.xi = xi

    def acquisition(self, model: SingleTaskGP, t: int) -> AcquisitionFunction:
        from botorch.acquisition import LogExpectedImprovement

        return LogExpectedImprovement(model, best_f=model.train_targets.max() + self.xi)


class GpTsBotorch(GpBotorch):
    """GP-TS (Chowdhury and Gopalan 2017): argmax of a sample, ``PathwiseThompsonSampling``.

    The sample is a function on the whole cube (Wilson et al. 2020): random Fourier features of the
    prior, corrected at the observations by Matheron's rule.
    """

    def acquisition(self, model: SingleTaskGP, t: int) -> AcquisitionFunction:
        from botorch.acquisition.thompson_sampling import PathwiseThompsonSampling

        return PathwiseThompsonSampling(model)
