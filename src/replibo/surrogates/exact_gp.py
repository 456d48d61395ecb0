"""The exact Gaussian process of the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024, section 5).

Zero mean, outputscale 1, an isotropic kernel, fixed noise variance σ²: the only hyperparameter is the
length scale ℓ. The targets are standardised (`standardise`) and never kept: whatever needs them
is given them, since they are standardised anew whenever data come in.

Two models give the same posterior. `ExactGP` factorises at once, from given distances, for a length
scale that changes at every round. `GrowingGP` adds one point after the other at a fixed length
scale, in O(n²), or O(n·m) with a pool of m candidates.

Singular kernel matrices. A repeated point without noise makes K + σ²I singular. The factor is then
that of K + (σ² + jitter)I with the first jitter of `JITTERS` whose smallest pivot (squared diagonal
entry of the factor) exceeds `SMALLEST_PIVOT`; the jitter that was used is reported. With the
paper's σ² = 1e-4 it is always 0. (GPyTorch climbs the same ladder, less its last two steps, and
only when LAPACK finds a negative pivot.)
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import blas, lapack

from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.surrogates.kernels import (
    JITTERS,
    MATERN52,
    SMALLEST_LENGTH_SCALE,
    Kernel,
    pairwise_distances,
)

SMALLEST_PIVOT = 1e-12


def standardise(y: Array) -> Array:
    """``y`` (``n``) less its mean, over its standard deviation (divisor n - 1); one value, or equal
    ones, over 1. The values are those of `replibo.surrogates.standardise`, up to rounding."""
    if np.all(y == y[:1]):
        return y - np.mean(y)
    values = np.ldexp(
        y, -np.frexp(np.max(np.abs(y)))[1]
    )  # exact; no square overflows or underflows
    centred = values - np.mean(values)
    return centred / math.sqrt(float(centred @ centred) / (len(y) - 1))


class _FactorisedGP:
    """What follows from the lower Cholesky factor L of K + (σ² + jitter)I.

    Attributes:
        length_scale: ℓ, in units of the cube.
        noise_variance: σ², in units of the standardised targets.
        kernel: k.
        jitter: what had to be added to σ² (see the module's docstring).
    """

    length_scale: float
    noise_variance: float
    kernel: Kernel
    jitter: float
    _L: Array  # capacity x capacity or n x n, Fortran order; rows and columns from n on are unused
    _n: int

    def __len__(self) -> int:
        return self._n

    @property
    def factor(self) -> Array:
        """L, ``n x n``, lower triangular (a copy)."""
        return np.tril(self._L[: self._n, : self._n])

    def whiten(self, B: Array) -> Array:
        """L⁻¹B for ``B``, ``n`` or ``n x m``: one forward substitution."""
        if len(B) != self._n:
            raise ValueError(f"{len(B)} rows for {self._n} points")
        if self._n == 0:
            return np.array(B)
        # dtrtrs takes the leading dimension of the buffer; dtrsv would make a copy of the factor.
        whitened: Array = lapack.dtrtrs(self._L[:, : self._n], B, lower=1)[0]
        return whitened

    def information_gain(self, n: int | None = None) -> float:
        """½ log det(I + σ⁻²K), in nats: what the first ``n`` observations (all by default) tell
        about f (Srinivas et al. 2010, eq. 3). The σ² is the one factorised, jitter included;
        infinite where it is 0."""
        n = self._n if n is None else n
        variance = self.noise_variance + self.jitter
        if variance == 0.0:
            return math.inf if n else 0.0
        return self._half_log_det(n) - 0.5 * n * math.log(variance)

    def log_marginal_likelihood(self, y: Array) -> float:
        """log p(y | X, ℓ), in nats, of the standardised targets ``y``, ``n`` (Rasmussen and
        Williams 2006, eq. 2.30; of all n data together, where GPyTorch divides by n)."""
        w = self.whiten(y)
        return -0.5 * float(w @ w) - self._half_log_det() - 0.5 * self._n * math.log(2 * math.pi)

    def _half_log_det(self, n: int | None = None) -> float:
        return float(np.sum(np.log(self._L.diagonal()[: self._n if n is None else n])))


class ExactGP(_FactorisedGP):
    """The exact GP at one length scale, factorised at once: O(n³), then O(n²) for each new point.

    Args:
        distances: ``n x n``, between the points.
        length_scale: ℓ > 0.
        noise_variance: σ² ≥ 0.
        kernel: k.

    Raises:
        RepliboError: the kernel matrix is singular, even with the largest jitter.
    """

    def __init__(
        self,
        distances: Array,
        length_scale: float,
        noise_variance: float,
        kernel: Kernel = MATERN52,
    ) -> None:
        self.length_scale, self.noise_variance = length_scale, noise_variance
        self.kernel = kernel
        self._n = len(distances)
        self._L, self.jitter = factorise(kernel.value(distances, length_scale), noise_variance)

    def posterior(self, y: Array, cross_distances: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of f, each ``m``, at the points whose distances to the data
        are ``cross_distances``, ``n x m``; ``y`` (``n``) are the standardised targets."""
        if self._n == 0:
            return np.zeros(cross_distances.shape[1]), np.ones(cross_distances.shape[1])
        K = np.ascontiguousarray(self.kernel.value(cross_distances, self.length_scale))
        # V = L⁻¹K, found in place as Vᵀ Lᵀ = Kᵀ: a row-major K is a column-major Kᵀ.
        V = blas.dtrsm(1.0, self._L, K.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        return _predict(self.whiten(y), V)


class GrowingGP(_FactorisedGP):
    """The exact GP at a fixed length scale, with one row more of the factor for each point.

    Whether a model has grown live or is built again from the history, the same rows are appended in
    the same order, so that all bits are the same. (Where a jitter becomes necessary, all rows are
    appended again with it.)

    Args:
        length_scale: ℓ > 0.
        noise_variance: σ² ≥ 0.
        dim: number of dimensions ``d``.
        pool: ``m x d``, a finite set of candidates; V = L⁻¹K(X, pool) is then kept, and gets one
            row more for each point.
        kernel: k.
        capacity: points to make room for; more are made room for when they come.

    Attributes:
        X: ``n x d``, the points.
    """

    def __init__(
        self,
        length_scale: float,
        noise_variance: float,
        dim: int,
        *,
        pool: Array | None = None,
        kernel: Kernel = MATERN52,
        capacity: int = 64,
    ) -> None:
        if not length_scale >= SMALLEST_LENGTH_SCALE:
            raise ValueError(f"length_scale {length_scale} is not positive")
        if not noise_variance >= 0.0:
            raise ValueError(f"noise_variance {noise_variance} is negative")
        self.length_scale, self.noise_variance = length_scale, noise_variance
        self.kernel = kernel
        self.pool = pool
        self._rung, self.jitter = 0, JITTERS[0]
        self._n = 0
        m = 0 if pool is None else len(pool)
        self._X = np.empty((capacity, dim))
        self._L = np.zeros((capacity, capacity), order="F")
        self._V = np.empty((capacity, m))
        self._pool_variance = np.ones(m)

    @property
    def X(self) -> Array:
        return self._X[: self._n]

    def append(
        self, x: Array, *, distances: Array | None = None, pool_distances: Array | None = None
    ) -> None:
        """Add the point ``x``, ``d``.

        Args:
            distances: ``n``, from ``x`` to the points so far, where the caller has them (models of
                several length scales on the same data share them); else they are computed.
            pool_distances: ``m``, from ``x`` to the pool, likewise.

        Raises:
            RepliboError: the kernel matrix is singular, even with the largest jitter.
        """
        if self._n == len(self._X):
            self._enlarge()
        count = self._n + 1
        self._X[self._n] = x
        appended = self._append_row(distances, pool_distances)
        while not appended:
            self._rung += 1
            if self._rung == len(JITTERS):
                raise _singular(self.length_scale, self.noise_variance)
            self._n, self.jitter = 0, JITTERS[self._rung]
            self._pool_variance[:] = 1.0
            appended = all(self._append_row(None, None) for _ in range(count))

    def posterior(self, y: Array, X: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of f, each ``m``, at any points ``X``, ``m x d``; ``y``
        (``n``) are the standardised targets."""
        K = self.kernel.value(pairwise_distances(X, self.X), self.length_scale).T
        return _predict(self.whiten(y), self.whiten(K))

    def pool_posterior(self, y: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of f, each ``m``, on the whole pool, in O(n² + n·m); ``y``
        (``n``) are the standardised targets."""
        if self.pool is None:
            raise ValueError("this model has no pool")
        mean = self.whiten(y) @ self._V[: self._n]
        return mean, np.maximum(self._pool_variance, 0.0)

    def variance_given_first(self, n: int, x: Array) -> float:
        """Posterior variance of f at one point ``x``, ``d``, given the first ``n`` points only (with
        the jitter of all)."""
        k = self.kernel.value(pairwise_distances(x[None], self._X[:n])[0], self.length_scale)
        v = lapack.dtrtrs(self._L[:, :n], k, lower=1)[0] if n else k
        return max(1.0 - float(v @ v), 0.0)

    def pool_variance_given_first(self, n: int, row: int) -> float:
        """Posterior variance of f at one row of the pool, given the first ``n`` points only (with
        the jitter of all); the bits of `pool_posterior` when there were no more points."""
        v = self._V[:n, row]
        return max(float(np.subtract.reduce(np.concatenate([[1.0], v * v]))), 0.0)

    def _append_row(self, distances: Array | None, pool_distances: Array | None) -> bool:
        """Make row n of the factor and of V, of the point self._X[n]; False (and nothing done)
        if its pivot is too small."""
        n = self._n
        x = self._X[n : n + 1]
        if distances is None:
            distances = pairwise_distances(x, self._X[:n])[0]
        row = self.whiten(self.kernel.value(distances, self.length_scale))
        pivot = 1.0 + self.noise_variance + self.jitter - float(row @ row)
        if not pivot > SMALLEST_PIVOT:
            return False
        root = math.sqrt(pivot)
        self._L[n, :n], self._L[n, n] = row, root
        if self.pool is not None:
            if pool_distances is None:
                pool_distances = pairwise_distances(x, self.pool)[0]
            v = self.kernel.value(pool_distances, self.length_scale)
            v -= row @ self._V[:n]
            v /= root
            self._V[n] = v
            v *= v
            self._pool_variance -= v
        self._n += 1
        return True

    def _enlarge(self) -> None:
        n = self._n
        X, V = np.empty((2 * n, self._X.shape[1])), np.empty((2 * n, self._V.shape[1]))
        L = np.zeros((2 * n, 2 * n), order="F")
        X[:n], V[:n], L[:n, :n] = self._X, self._V, self._L
        self._X, self._V, self._L = X, V, L


class PosteriorGradient:
    """The posterior of ``gp`` at many points of the cube, with its gradients, many times over.

    With α = K⁻¹y (in K the noise is included) and the rows ∇k(x, X) = (x - X) k'(r)/r of the
    cross-covariance's gradient: ∇μ = ∇kᵀα and ∇σ² = -2 ∇kᵀ K⁻¹k. ``X`` (``n x d``) are the model's
    points, ``y`` (``n``) the standardised targets.
    """

    def __init__(self, gp: ExactGP | GrowingGP, X: Array, y: Array) -> None:
        self._X, self._length_scale, self._kernel = X, gp.length_scale, gp.kernel
        # L⁻¹ itself: products with it are faster than as many substitutions.
        self._inverse = lapack.dtrtri(gp.factor, lower=1)[0] if len(y) else np.empty((0, 0))
        self._alpha = (self._inverse @ y) @ self._inverse

    def value(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance of f, each ``m``, at ``points``, ``m x d``."""
        k = self._kernel.value(pairwise_distances(points, self._X), self._length_scale)
        v = self._product(k)
        return k @ self._alpha, np.maximum(1.0 - np.einsum("ij,ij->i", v, v), 0.0)

    def __call__(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and variance of f, each ``m``, and their gradients, each ``m x d``, at ``points``,
        ``m x d``."""
        distances = pairwise_distances(points, self._X)
        k, slope = self._kernel.and_slope(distances, self._length_scale)
        v = self._product(k)
        variance = np.maximum(1.0 - np.einsum("ij,ij->i", v, v), 0.0)
        w = self._product(v, transposed=True)
        w *= slope
        slope *= self._alpha
        d_mean = points * slope.sum(axis=1)[:, None] - slope @ self._X
        d_variance = -2.0 * (points * w.sum(axis=1)[:, None] - w @ self._X)
        return k @ self._alpha, variance, d_mean, d_variance

    def _product(self, B: Array, *, transposed: bool = False) -> Array:
        """The rows of L⁻¹Bᵀ, or of L⁻ᵀBᵀ, ``m x n``, for those of ``B``, ``m x n``."""
        if not len(self._alpha):
            return B
        # A row-major B is a column-major Bᵀ, so that nothing is transposed.
        product: Array = blas.dtrmm(1.0, self._inverse, B.T, lower=1, trans_a=int(transposed)).T
        return product


def _predict(w: Array, V: Array) -> tuple[Array, Array]:
    """Mean and variance, ``m`` each, from w = L⁻¹y (``n``) and V = L⁻¹K(X, X*) (``n x m``)
    (Rasmussen and Williams 2006, Algorithm 2.1)."""
    return w @ V, np.maximum(1.0 - np.einsum("ij,ij->j", V, V), 0.0)


def factorise(K: Array, noise_variance: float) -> tuple[Array, float]:
    """L of K + (σ² + jitter)I, ``n x n`` in Fortran order with zeros above, and the jitter; ``K``
    is symmetric and is kept."""
    for jitter in JITTERS:
        A = K.T.copy(order="F")  # K is symmetric: its transpose is copied without a transposition
        A.ravel(order="K")[:: len(A) + 1] += noise_variance + jitter
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0 and (len(L) == 0 or L.diagonal().min() ** 2 > SMALLEST_PIVOT):
            return L, jitter
    raise _singular(None, noise_variance)


def _singular(length_scale: float | None, noise_variance: float) -> RepliboError:
    at = "" if length_scale is None else f" at length scale {length_scale:g}"
    return RepliboError(
        f"noise_variance: with {noise_variance:g} the kernel matrix is singular{at}, even with a "
        f"jitter of {JITTERS[-1]:g}; noise_variance must be larger"
    )
