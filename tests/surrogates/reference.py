"""The Gaussian process of the LB-GP-UCB paper as BoTorch has it."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel
from gpytorch.means import ZeroMean

from replibo.surrogates.kernels import KernelName

NOISE = 1e-4


def botorch_model(
    X: np.ndarray, y: np.ndarray, length_scale: float | None = None, kernel: KernelName = "matern52"
) -> SingleTaskGP:
    """The same model: zero mean, outputscale 1, isotropic kernel, fixed noise; ``y`` standardised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the scaling of inputs
        model = SingleTaskGP(
            torch.tensor(X),
            torch.tensor(y)[:, None],
            torch.full((len(y), 1), NOISE, dtype=torch.double),
            covar_module=MaternKernel(nu=2.5) if kernel == "matern52" else RBFKernel(),
            mean_module=ZeroMean(),
            outcome_transform=None,
        ).double()
    if length_scale is not None:
        model.covar_module.lengthscale = torch.tensor(length_scale, dtype=torch.double)
    model.eval()
    return model
