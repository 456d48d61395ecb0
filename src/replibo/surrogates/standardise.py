"""Standardised observations: the units in which surrogates are fitted."""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array

# A standard deviation below it is no signal; BoTorch's `Standardize` uses the same bound.
SMALLEST_SD = 1e-8


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
