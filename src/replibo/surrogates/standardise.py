"""The units in which surrogates are fitted."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from replibo.problems.base import Array

# A column of inputs whose standard deviation is below it is constant (`replibo.surrogates.tanh_network`).
SMALLEST_SD = 1e-8

YScaling = Literal["none", "divide", "standardise"]


def standardise(y: Array) -> tuple[Array, float, float]:
    """``y`` (``n``) minus its mean, divided by its sample standard deviation (``n − 1``).

    One observation, or equal ones, are divided by 1. BoTorch's ``Standardize`` does the same wherever
    the deviation is below 1e-8, an absolute bound that depends on the unit of ``y``.

    Returns:
        The standardised values (``n``), the mean and the divisor, both in units of ``y``.
    """
    if np.all(y == y[:1]):
        mean = float(np.mean(y))
        return y - mean, mean, 1.0
    exponent = int(np.frexp(np.max(np.abs(y)))[1])
    values = np.ldexp(y, -exponent)  # exact; no square overflows or underflows
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    return (values - mean) / sd, math.ldexp(mean, exponent), math.ldexp(sd, exponent)


def scaled(y: Array, how: YScaling) -> tuple[Array, float, float]:
    """``y`` (``n``) as a network is fitted to it: (y − centre)/scale.

    Args:
        y: the observations.
        how: ``none``, y itself; ``divide``, by the mean modulus, which keeps the sign (by 1 if all are
            0); ``standardise``, see `standardise`.

    Returns:
        The scaled values (``n``), centre and scale, both in units of ``y``.
    """
    if how == "standardise":
        return standardise(y)
    if how == "none" or not y.any():
        return y / 1.0, 0.0, 1.0
    exponent = int(np.frexp(np.max(np.abs(y)))[1])
    values = np.ldexp(y, -exponent)
    modulus = float(np.mean(np.abs(values)))
    return values / modulus, 0.0, math.ldexp(modulus, exponent)
