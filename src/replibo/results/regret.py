"""Regrets of traces. Objectives are maximised everywhere (see `replibo.problems.base.Problem`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replibo.problems.base import Array
from replibo.results.statistics import finite


def instantaneous_regret(f: ArrayLike, optimal_value: float) -> Array:
    """r_t = f* - f(x_t), ``… x T``, of the noise-free values of the queries; the last axis is time.

    A regret below 0 is not clipped: it shows that ``optimal_value`` is wrong (or round-off).
    """
    return np.asarray(optimal_value - finite(f, "f"))


def cumulative_regret(f: ArrayLike, optimal_value: float) -> Array:
    """R_t = r_1 + … + r_t, ``… x T``; arguments as for `instantaneous_regret`."""
    return np.cumsum(instantaneous_regret(f, optimal_value), axis=-1)


def average_regret(f: ArrayLike, optimal_value: float) -> Array:
    """R_t/t, the running average, ``… x T``; arguments as for `instantaneous_regret`.

    GO-UCB's figures show it over Phase II, so R_t/(t - n): pass ``f[..., n:]``.
    """
    regret = cumulative_regret(f, optimal_value)
    return np.asarray(regret / np.arange(1, regret.shape[-1] + 1))


def best_regret(f: ArrayLike, optimal_value: float) -> Array:
    """f* - max_{s ≤ t} f(x_s), ``… x T``; arguments as for `instantaneous_regret`."""
    return np.minimum.accumulate(instantaneous_regret(f, optimal_value), axis=-1)
