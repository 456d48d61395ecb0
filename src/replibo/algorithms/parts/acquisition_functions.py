"""Acquisition functions of a Gaussian posterior, as plain functions of its mean and deviation.

Everything is maximised. A surrogate that gives a mean ``m`` and a standard deviation ``m`` at ``m``
points can use them, whatever it is (a Gaussian process, a forest, a Bayesian linear regression).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr

from replibo.problems.base import Array

# Beyond it 1 + z Φ(z)/φ(z) is better summed as a series in 1/z² than by its difference. At z = -100
# the difference loses 1e-12 of its value, the series, cut after four terms, 1e-13.
_SERIES_BELOW = -100.0


def upper_confidence_bound(mean: Array, sd: Array, beta: float) -> Array:
    """UCB = mean + √β sd, shape ``m`` (Srinivas et al. 2010, eq. 6); ``beta`` is β itself."""
    return np.asarray(mean + math.sqrt(beta) * sd)


def expected_improvement(mean: ArrayLike, sd: ArrayLike, best: float, xi: float = 0.0) -> Array:
    """EI = E[max(f - best - ξ, 0)] for f ~ N(mean, sd²), shape ``m`` (Jones et al. 1998, eq. 15).

    With z = (mean - best - ξ)/sd it is sd (z Φ(z) + φ(z)), which is max(mean - best - ξ, 0) plus the
    same at -|z|; where ``sd`` is 0, that maximum alone. Never negative. Below z = -38.5 it underflows to
    0: to compare points there use `log_expected_improvement`, which has the same maximiser.

    Args:
        mean, sd: ``m`` each (or a scalar), in one unit; sd ≥ 0.
        best: the incumbent's value, in the same unit.
        xi: ξ, what counts as an improvement at least, in the same unit.
    """
    gain, sd, z = _standardised(mean, sd, best, xi)
    return np.asarray(np.maximum(gain, 0.0) + sd * _tail(-np.abs(z)))


def log_expected_improvement(mean: ArrayLike, sd: ArrayLike, best: float, xi: float = 0.0) -> Array:
    """log EI, shape ``m``, exact also where EI itself underflows (arguments as above).

    Maximised in the place of EI, so that points which all have no hope of improving are still told
    apart (as Ament et al. 2023 do). -inf where EI is 0: sd = 0 and no improvement.
    """
    gain, sd, z = _standardised(mean, sd, best, xi)
    below = np.minimum(z, 0.0)
    with np.errstate(divide="ignore"):
        hopeless = (
            np.log(sd)
            - 0.5 * below**2
            - 0.5 * math.log(2 * math.pi)
            + np.log(_tail_over_density(below))
        )
        hopeful = np.log(np.maximum(gain, 0.0) + sd * _tail(-np.maximum(z, 0.0)))
    return np.where((sd > 0) & (z < 0), hopeless, hopeful)


def _standardised(
    mean: ArrayLike, sd: ArrayLike, best: float, xi: float
) -> tuple[Array, Array, Array]:
    """The gain mean - best - ξ, sd, and their ratio z (0 where sd is 0)."""
    gain, sd = np.broadcast_arrays(
        np.asarray(mean, dtype=np.float64) - best - xi, np.asarray(sd, dtype=np.float64)
    )
    with np.errstate(over="ignore"):  # a gain of 1e300 deviations is as good as infinite
        z = np.divide(gain, sd, out=np.zeros(gain.shape), where=sd > 0)
    # beyond it z² would overflow, and nothing depends on it
    return gain, sd, np.clip(z, -1e150, 1e150)


def _tail(z: Array) -> Array:
    """z Φ(z) + φ(z) for z ≤ 0, shape of ``z``; 0 where it underflows."""
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    near = np.maximum(z * ndtr(z) + density, 0.0)
    return np.where(z > -1.0, near, density * _tail_over_density(z))


def _tail_over_density(z: Array) -> Array:
    """1 + z Φ(z)/φ(z) for z ≤ 0, shape of ``z``: 1 at 0, 1/z² far below."""
    near = 1.0 + z * math.sqrt(math.pi / 2) * erfcx(-z / math.sqrt(2.0))
    inverse = 1.0 / np.minimum(z, _SERIES_BELOW) ** 2
    far = inverse * (1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse)))
    return np.where(z > _SERIES_BELOW, near, far)
