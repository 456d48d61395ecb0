"""Isotropic kernels, as functions of distances, and the distances themselves.

The LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024) has theory for the Matérn and the RBF kernel, and
its released code runs Matérn-5/2, with outputscale 1. Both depend on the points only through their
distances; where the length scale changes at every round, these are computed once and kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from replibo.problems.base import Array

SMALLEST_LENGTH_SCALE = 1e-60
"""Below it the polynomials of kernel and derivative would overflow (distances up to 1e3)."""

LengthScale = Annotated[float, Field(ge=SMALLEST_LENGTH_SCALE, allow_inf_nan=False)]

JITTERS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""Added to the diagonal of a kernel matrix that has no Cholesky factor: the first that helps."""


def pairwise_distances(X1: Array, X2: Array) -> Array:
    """Euclidean distances, ``n1 x n2``, between the rows of ``X1`` (``n1 x d``) and ``X2``
    (``n2 x d``).

    The squared differences are added up one coordinate after the other, never by ‖a‖² + ‖b‖² - 2ab.
    So repeated points have distance 0 exactly, and every entry has the same bits whatever rows it
    is computed with.
    """
    squared = np.zeros((len(X1), len(X2)))
    for a, b in zip(X1.T, X2.T, strict=True):
        difference = a[:, None] - b[None, :]
        difference *= difference
        squared += difference
    return np.sqrt(squared, out=squared)


def matern52(distances: Array, length_scale: float) -> Array:
    """k(r; ℓ) = (1 + s + s²/3) e^-s with s = √5 r/ℓ, elementwise (Rasmussen and Williams 2006,
    eq. 4.17): ``distances`` of any shape, ``length_scale`` at least `SMALLEST_LENGTH_SCALE`."""
    s = np.multiply(distances, math.sqrt(5.0) / length_scale)
    k = s / 3.0
    k += 1.0
    k *= s
    k += 1.0
    np.negative(s, out=s)
    k *= np.exp(s, out=s)
    return k


def matern52_and_derivative(distances: Array, length_scale: float) -> tuple[Array, Array]:
    """The kernel as `matern52` gives it (the same bits) and its derivative in the length scale,
    ∂k/∂ℓ = s² (1 + s) e^-s / (3ℓ)."""
    s = np.multiply(distances, math.sqrt(5.0) / length_scale)
    k = s / 3.0
    k += 1.0
    k *= s
    k += 1.0
    derivative = s + 1.0
    derivative *= s
    derivative *= s
    derivative *= 1.0 / (3.0 * length_scale)
    np.negative(s, out=s)
    np.exp(s, out=s)
    k *= s
    derivative *= s
    return k, derivative


def matern52_and_slope(distances: Array, length_scale: float) -> tuple[Array, Array]:
    """The kernel as `matern52` gives it (the same bits) and its slope over the distance, k'(r)/r =
    -5/(3ℓ²) (1 + s) e^-s, which is finite at r = 0: ∇_x k(‖x - z‖) = (x - z) k'(r)/r."""
    s = np.multiply(distances, math.sqrt(5.0) / length_scale)
    k = s / 3.0
    k += 1.0
    k *= s
    k += 1.0
    slope = s + 1.0
    slope *= -5.0 / (3.0 * length_scale**2)
    np.negative(s, out=s)
    np.exp(s, out=s)
    k *= s
    slope *= s
    return k, slope


def rbf(distances: Array, length_scale: float) -> Array:
    """k(r; ℓ) = e^(-r²/(2ℓ²)), elementwise (Rasmussen and Williams 2006, eq. 4.9); arguments as of
    `matern52`. The LB-GP-UCB paper prints e^(-r²/θ²), that is, θ = √2 ℓ."""
    s = np.multiply(distances, 1.0 / length_scale)
    s *= s
    s *= -0.5
    return np.exp(s, out=s)


def rbf_and_derivative(distances: Array, length_scale: float) -> tuple[Array, Array]:
    """The kernel as `rbf` gives it and its derivative in the length scale, ∂k/∂ℓ = r²/ℓ³ k."""
    k = rbf(distances, length_scale)
    s = distances / length_scale
    return k, s * s * k / length_scale


def rbf_and_slope(distances: Array, length_scale: float) -> tuple[Array, Array]:
    """The kernel as `rbf` gives it and its slope over the distance, k'(r)/r = -k/ℓ²."""
    k = rbf(distances, length_scale)
    return k, k * (-1.0 / length_scale**2)


class Kernel(NamedTuple):
    """A kernel, as functions of distances of any shape and of the length scale.

    Attributes:
        value: k.
        and_derivative: k and ∂k/∂ℓ.
        and_slope: k and k'(r)/r.
    """

    value: Callable[[Array, float], Array]
    and_derivative: Callable[[Array, float], tuple[Array, Array]]
    and_slope: Callable[[Array, float], tuple[Array, Array]]


MATERN52 = Kernel(matern52, matern52_and_derivative, matern52_and_slope)

KernelName = Literal["matern52", "rbf"]
KERNELS: dict[KernelName, Kernel] = {
    "matern52": MATERN52,
    "rbf": Kernel(rbf, rbf_and_derivative, rbf_and_slope),
}


class PointDistances:
    """Distances between the points asked so far of a continuous domain; grows by one row per query,
    with the bits of `pairwise_distances`."""

    def __init__(self, dim: int) -> None:
        self._X = np.empty((0, dim))
        self._between = np.empty((0, 0))

    def update(self, X: Array) -> Array:
        """Distances between the points ``X`` (``n x d``, in the order asked), ``n x n``; a view,
        valid until the next call."""
        n, kept = len(X), len(self._X)
        if kept > n or not np.array_equal(self._X, X[:kept]):
            kept = 0  # another history than last time
        if n > len(self._between):
            between = np.empty((max(2 * len(self._between), n, 64),) * 2)
            between[:kept, :kept] = self._between[:kept, :kept]
            self._between = between
        for i in range(kept, n):
            row = pairwise_distances(X[i, None], X[: i + 1])[0]
            self._between[i, : i + 1] = self._between[: i + 1, i] = row
        self._X = np.array(X)
        return self._between[:n, :n]


class PoolDistances:
    """Distances from the points asked so far to each other and to a whole finite pool.

    Grows by one row per query; the rows are those of `pairwise_distances`, so that it makes no
    difference whether they were computed one by one or afresh.

    Args:
        pool: ``m x d``, the candidates in the unit cube.
    """

    def __init__(self, pool: Array) -> None:
        self.pool = pool
        self._visited = np.empty(0, dtype=np.int64)
        self._to_pool = np.empty((0, len(pool)))
        self._between = np.empty((0, 0))

    def update(self, candidates: NDArray[np.int64]) -> tuple[Array, Array]:
        """Distances for the queries ``candidates`` (``n`` rows of the pool, in the order asked).

        Returns:
            ``n x n`` between the queries and ``n x m`` from the queries to the pool; views, valid
            until the next call.
        """
        n, kept = len(candidates), len(self._visited)
        if kept > n or not np.array_equal(self._visited, candidates[:kept]):
            kept = 0  # another history than last time
        if n > len(self._between):
            self._enlarge(max(2 * len(self._between), n, 64), kept)
        for i in range(kept, n):
            row = self._to_pool[i]
            row[:] = pairwise_distances(self.pool[candidates[i], None], self.pool)[0]
            self._between[i, : i + 1] = self._between[: i + 1, i] = row[candidates[: i + 1]]
        self._visited = np.array(candidates)
        return self._between[:n, :n], self._to_pool[:n]

    def _enlarge(self, capacity: int, kept: int) -> None:
        to_pool, between = np.empty((capacity, len(self.pool))), np.empty((capacity, capacity))
        to_pool[:kept] = self._to_pool[:kept]
        between[:kept, :kept] = self._between[:kept, :kept]
        self._to_pool, self._between = to_pool, between
