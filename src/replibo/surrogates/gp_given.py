"""The Gaussian process of `replibo.surrogates.gp_regression` with hyperparameters from elsewhere: fixed
ones, or those of a more thorough search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.surrogates.gp_regression import (
    Fit,
    GpRegression,
    Hyperparameters,
    fit_from_several,
)
from replibo.surrogates.standardise import standardise

if TYPE_CHECKING:
    from torch import Tensor


class GpGiven(GpRegression):
    """A Gaussian process given all its observations, whose hyperparameters another function says.

    Args:
        X: ``n x d``, unit cube.
        y: ``n``, in their own units; standardised here, as the hyperparameters are meant.

    Raises:
        RepliboError: there are no observations.
    """

    def __init__(self, X: Array, y: Array) -> None:
        import torch

        if len(y) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        standard, self.centre, self.scale = standardise(y)
        n = len(y)
        self._X, self._y = torch.tensor(X), torch.tensor(standard)
        self._n = self.fitted_at = n
        self.fitted = self.found(self._X, self._y)
        self._condition(0)

    def found(self, X: Tensor, y: Tensor) -> Fit:
        """The hyperparameters for ``X`` (``n x d``) and standardised ``y`` (``n``)."""
        return fit_from_several(X, y)


class GpFixed(GpGiven):
    """A zero-mean Gaussian process with a fixed kernel k(x, x) = 1 (Fu et al. 2024, section 3.2.2).

    Args:
        X, y: as of `GpGiven`.
        length_scale: ℓ, in units of the cube.
        noise_variance: σ², in units of the standardised y, squared.
    """

    def __init__(self, X: Array, y: Array, *, length_scale: float, noise_variance: float) -> None:
        self._given = Hyperparameters(0.0, 1.0, length_scale, noise_variance)
        super().__init__(X, y)

    def found(self, X: Tensor, y: Tensor) -> Fit:
        return Fit(self._given, math.nan, True, 0)
