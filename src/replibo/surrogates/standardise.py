"""The units in which surrogates are fitted."""

from __future__ import annotations

from typing import Literal

import numpy as np

from replibo.problems.base import Array

# A standard deviation below it is no signal; BoTorch's `Standardize` uses the same bound.
SMALLEST_SD = 1e-8

YScaling = Literal["none", "divide", "standardise"]


def standardise(y: Array) -> tuple[Array, float, float]:
    """``y`` (``n``) minus its mean, divided by its sample standard deviation (``n − 1``).

    One observation, or observations whose deviation is below `SMALLEST_SD`, are divided by 1: the
    rule of BoTorch's ``Standardize``.

    Returns:
        The standardised values (``n``), the mean and the divisor, both in units of ``y``.
    """
    mean = float(np.mean(y))
    sd = float(np.std(y, ddof=1)) if len(y) > 1 else 0.0
    if not sd >= SMALLEST_SD:
        sd = 1.0
    return (y - mean) / sd, mean, sd


def scaled(y: Array, how: YScaling) -> tuple[Array, float, float]:
    """``y`` (``n``) as a network is fitted to it: (y − centre)/scale.

    Args:
        y: the observations.
        how: ``none``, y itself; ``divide``, by the mean modulus, which keeps the sign (by 1 where it is
            below `SMALLEST_SD`); ``standardise``, see `standardise`.

    Returns:
        The scaled values (``n``), centre and scale, both in units of ``y``.
    """
    if how == "standardise":
        return standardise(y)
    scale = float(np.mean(np.abs(y))) if how == "divide" else 1.0
    if not scale >= SMALLEST_SD:
        scale = 1.0
    return y / scale, 0.0, scale
