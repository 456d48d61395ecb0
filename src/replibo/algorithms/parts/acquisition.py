"""The maximum of the upper confidence bound, which all methods of the LB-GP-UCB paper query.

UCB_t(x) = μ_{t-1}(x) + β_t σ_{t-1}(x) (Ziomek, Adachi and Osborne 2024, section 2; Algorithm 1 calls it
UCB_{t-1}), of the exact GP of `replibo.surrogates.exact_gp`: over the whole pool of a finite problem, and
over the cube by gradient ascent from several starts. y is standardised anew over all data at every call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from replibo.algorithms.base import History, Space
from replibo.problems.base import Array
from replibo.surrogates.exact_gp import ExactGP, GrowingGP, PosteriorGradient, standardise
from replibo.surrogates.kernels import KERNELS, KernelName, PointDistances, PoolDistances

RESTARTS, RAW_SAMPLES = 10, 512
"""Starts and raw points of the gradient ascent on a cube, as in the released code."""

BEST_OBSERVED = 0
"""Points beside which the cube is sampled more densely: none, as in the released code. In 5-D and
with short length scales its search then misses the maximum more often than not, and explores in
place of it; with 20 it is nearly always found."""

Sigma = Literal["latent", "predictive"]
"""Which standard deviation β multiplies: "latent", σ of f, as the paper has it; "predictive", that of a
new observation, √(σ² + noise variance), as the released code has it."""


@dataclass(frozen=True)
class Maximum:
    """A maximum of the UCB.

    Attributes:
        x: ``d``, in the unit cube.
        candidate: its row in the pool of a finite problem; -1 elsewhere.
        mean, sd: μ(x) and σ(x) (`Sigma`), in units of the standardised y.
        value: μ(x) + βσ(x).
        jitter: what had to be added to the noise variance (see `replibo.surrogates.exact_gp`).
    """

    x: Array
    candidate: int
    mean: float
    sd: float
    value: float
    jitter: float


class UcbMaximiser:
    """Maximises the UCB of one run.

    What it keeps between calls (distances, and a growing factor for each length scale that is used
    again) is a speed-up, brought up to date from the history it is given, whatever history it was
    given before: the same bits come out as from a new object.

    Args:
        space: with candidates, the maximum over all of them is taken (ties go to the first), and a row
            may be asked again; without, the maximum over the cube is searched for.
        noise_variance: σ² ≥ 0, in units of the standardised y.
        restarts: number of ascents on a cube.
        raw_samples: number of points of the whole cube among which the starts are chosen.
        best_observed: number of the best points observed beside which starts are looked for too.
    """

    def __init__(
        self,
        space: Space,
        noise_variance: float,
        *,
        sigma: Sigma = "latent",
        kernel: KernelName = "matern52",
        restarts: int = RESTARTS,
        raw_samples: int = RAW_SAMPLES,
        best_observed: int = BEST_OBSERVED,
    ) -> None:
        self.space = space
        self.noise_variance = noise_variance
        self._kernel = KERNELS[kernel]
        self._added = noise_variance if sigma == "predictive" else 0.0  # to the variance of f
        self.restarts, self.raw_samples = restarts, raw_samples
        self.best_observed = best_observed
        pool = space.candidates
        self._pool_distances = None if pool is None else PoolDistances(pool)
        self._point_distances = PointDistances(space.dim)
        self._models: dict[float, GrowingGP] = {}

    def distances(self, history: History) -> Array:
        """Distances between the points of the history, ``n x n``; a view, valid until the next
        call of any method."""
        if self._pool_distances is not None:
            return self._pool_distances.update(history.candidate)[0]
        return self._point_distances.update(history.X)

    def maximise(
        self,
        history: History,
        length_scale: float,
        beta: float,
        rng: np.random.Generator,
        *,
        fixed: bool,
    ) -> Maximum:
        """The maximum of μ + βσ at the length scale ℓ, given all data so far (Algorithm 1, line 4).

        Args:
            beta: β ≥ 0, the factor of σ itself.
            rng: where the raw samples of a continuous domain are drawn from; a pool draws nothing.
            fixed: True where this ℓ will be used again: its model is then kept, and grows with the
                data; False for a model that is used once.
        """
        y = standardise(history.y)
        pool = self.space.candidates
        if pool is None:
            return self._maximise_cube(history, y, length_scale, beta, rng, fixed)
        gp: ExactGP | GrowingGP
        if fixed:
            gp = self._model(history, length_scale, len(history))
            mean, variance = gp.pool_posterior(y)
        else:
            between, to_pool = self._pool(history)
            gp = ExactGP(between, length_scale, self.noise_variance, self._kernel)
            mean, variance = gp.posterior(y, to_pool)
        sd = np.sqrt(variance + self._added)
        value = mean + beta * sd
        row = int(np.argmax(value))  # ties go to the first
        return Maximum(
            pool[row], row, float(mean[row]), float(sd[row]), float(value[row]), gp.jitter
        )

    def posterior_sd(
        self, history: History, n: int, length_scale: float, where: Array | int
    ) -> float:
        """σ_n at one point, of the posterior given the first ``n`` observations (Algorithm 1, line
        12), in units of the standardised y; the bits of `maximise` with ``fixed=True``.

        Args:
            where: a point ``x``, ``d``, of a cube; a row of the pool of a finite problem.
        """
        gp = self._model(history, length_scale, n)
        if self.space.candidates is None:
            return math.sqrt(gp.variance_given_first(n, np.asarray(where)) + self._added)
        return math.sqrt(gp.pool_variance_given_first(n, int(where)) + self._added)

    def information_gain(
        self, history: History, length_scale: float, n: int | None = None
    ) -> float:
        """½ log det(I + σ⁻²K) of the first ``n`` points visited (of all by default), in nats."""
        n = len(history) if n is None else n
        return self._model(history, length_scale, n).information_gain(n)

    def _pool(self, history: History) -> tuple[Array, Array]:
        assert self._pool_distances is not None
        return self._pool_distances.update(history.candidate)

    def _model(self, history: History, length_scale: float, n: int) -> GrowingGP:
        """The model of a fixed length scale, up to date with the history; as far as its first ``n``
        points go, it is that of the first ``n`` observations."""
        gp = self._models.get(length_scale)
        if gp is None or not (
            len(gp) <= len(history) and np.array_equal(gp.X, history.X[: len(gp)])
        ):
            gp = self._models[length_scale] = self._grown(history, length_scale, 0, None)
        self._grown(history, length_scale, len(history), gp)
        if gp.jitter > 0.0 and n < len(history):
            # The first n points alone may have needed less of it.
            return self._grown(history, length_scale, n, None)
        return gp

    def _grown(
        self, history: History, length_scale: float, n: int, gp: GrowingGP | None
    ) -> GrowingGP:
        """The model ``gp``, or else a new one, grown to the first ``n`` points."""
        if gp is None:
            gp = GrowingGP(
                length_scale,
                self.noise_variance,
                self.space.dim,
                pool=self.space.candidates,
                kernel=self._kernel,
            )
        if len(gp) < n:
            between, to_pool = self.distances(history), None
            if self.space.candidates is not None:
                to_pool = self._pool(history)[1]
            for i in range(len(gp), n):
                gp.append(
                    history.X[i],
                    distances=between[i, :i],
                    pool_distances=None if to_pool is None else to_pool[i],
                )
        return gp

    # The cube

    def _maximise_cube(
        self,
        history: History,
        y: Array,
        length_scale: float,
        beta: float,
        rng: np.random.Generator,
        fixed: bool,
    ) -> Maximum:
        gp: ExactGP | GrowingGP
        if fixed:
            gp = self._model(history, length_scale, len(history))
        else:
            gp = ExactGP(self.distances(history), length_scale, self.noise_variance, self._kernel)
        posterior = PosteriorGradient(gp, history.X, y)

        def ucb(points: Array) -> Array:
            mean, variance = posterior.value(points)
            return mean + beta * np.sqrt(variance + self._added)

        def ucb_and_gradient(points: Array) -> tuple[Array, Array]:
            mean, variance, d_mean, d_variance = posterior(points)
            sd = np.sqrt(variance + self._added)
            # Where σ is 0, at a point observed without noise, it has a kink; nothing is added there.
            half = np.divide(0.5 * beta, sd, out=np.zeros_like(sd), where=sd > 0.0)
            return mean + beta * sd, d_mean + half[:, None] * d_variance

        best = np.argsort(-y, kind="stable")[: self.best_observed]
        x = maximise_on_cube(
            ucb,
            ucb_and_gradient,
            history.X[best],
            length_scale,
            rng,
            restarts=self.restarts,
            raw_samples=self.raw_samples,
        )
        mean, variance = posterior.value(x[None])
        if isinstance(gp, GrowingGP):  # with the bits of `posterior_sd`
            variance[0] = gp.variance_given_first(len(gp), x)
        mu, sd = float(mean[0]), math.sqrt(variance[0] + self._added)
        return Maximum(x, -1, mu, sd, mu + beta * sd, gp.jitter)


# Gradient ascent on the cube


def maximise_on_cube(
    acquisition: Callable[[Array], Array],
    acquisition_and_gradient: Callable[[Array], tuple[Array, Array]],
    centres: Array,
    length_scale: float,
    rng: np.random.Generator,
    *,
    restarts: int = RESTARTS,
    raw_samples: int = RAW_SAMPLES,
) -> Array:
    """The maximiser ``x``, ``d``, that multi-start gradient ascent finds on [0, 1]^d.

    The raw samples are a Latin hypercube, which in 1-D leaves no gap wider than two strata. Uniform
    samples leave wider ones and lose the maximum at short length scales. The import of scipy's
    Sobol points would cost a second. Two more are drawn about each of the ``centres``, because in
    5-D a peak no wider than a short length scale holds none of 512 samples. The ascents start from
    the highest sample and, one after the other, the highest one that is at least ℓ/4 away from all
    starts so far: the samples of one broad peak would else take all of them. All ascents climb at once
    (`ascend`); the highest end is polished by scipy's L-BFGS-B.

    Args:
        acquisition: ``m x d`` to the values, ``m``.
        acquisition_and_gradient: the same, with the gradients, ``m x d``.
        centres: ``c x d``, points beside which high values are expected; may be empty.
        length_scale: ℓ, how wide the peaks are, in units of the cube.
    """
    d = centres.shape[1]
    reach = min(length_scale, 0.3) / math.sqrt(d)
    samples = np.concatenate(
        [
            latin_hypercube(raw_samples, d, rng),
            centres + 0.5 * reach * rng.standard_normal(centres.shape),
            centres + 0.02 * reach * rng.standard_normal(centres.shape),
        ]
    ).clip(0.0, 1.0)
    starts = samples[spread(acquisition(samples), samples, 0.25 * length_scale, restarts)]
    ends = ascend(acquisition_and_gradient, starts, 0.1 * length_scale)
    values = acquisition(ends)
    best = int(np.argmax(values))

    def negative(x: Array) -> tuple[float, Array]:
        value, gradient = acquisition_and_gradient(x[None])
        return -float(value[0]), -gradient[0]

    polished = minimize(
        negative,
        ends[best],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * d,
        options={"ftol": 1e-13, "gtol": 1e-8},
    )
    x: Array = polished.x if -polished.fun > values[best] else ends[best]
    return np.clip(x, 0.0, 1.0)


def latin_hypercube(n: int, d: int, rng: np.random.Generator) -> Array:
    """``n x d`` points of the cube, one in each of the ``n`` strata of every coordinate (McKay,
    Beckman and Conover 1979)."""
    strata = rng.permuted(np.tile(np.arange(n)[:, None], (1, d)), axis=0)
    return (strata + rng.random((n, d))) / n


def spread(values: Array, points: Array, distance: float, count: int) -> list[int]:
    """Rows of at most ``count`` ``points``: the highest, then the highest one farther than
    ``distance`` from all chosen, and so on."""
    chosen: list[int] = []
    left = values.copy()
    while len(chosen) < count and np.max(left) > -np.inf:
        row = int(np.argmax(left))
        chosen.append(row)
        left[np.sum((points - points[row]) ** 2, axis=1) <= distance**2] = -np.inf
    return chosen


def ascend(
    function: Callable[[Array], tuple[Array, Array]],
    starts: Array,
    first_step: float,
    *,
    evaluations: int = 100,
    tolerance: float = 1e-7,
) -> Array:
    """Where ascents from the ``starts``, ``m x d``, in [0, 1]^d end, ``m x d``; none below its start.

    Projected BFGS of all starts at once (Bertsekas 1982, "Projected Newton methods for optimization
    problems with simple constraints"). Each start has its own inverse Hessian and step, but
    ``function`` is called with all that still climb. (scipy climbs one at a time, in twice the
    time; in one stacked problem, the sum may rise while the highest one falls.)

    Args:
        function: ``m x d`` to the values, ``m``, and gradients, ``m x d``.
        first_step: the longest first step, before the curvature is known.
        evaluations: the most calls of ``function``.
        tolerance: an ascent ends when two steps in a row gain no more than this (over the larger of
            1 and the value).
    """
    m, d = starts.shape
    ends = starts.copy()
    climbing = np.arange(m)
    x = starts.copy()
    f, g = function(x)
    H = np.tile(np.eye(d), (m, 1, 1))  # minus the inverse Hessian, once a curvature is known
    known = np.zeros(m, dtype=bool)
    p = _direction(x, g, H)
    step = _first(p, first_step)
    idle = np.zeros(m, dtype=np.int64)  # steps in a row that gained nothing
    for _ in range(evaluations - 1):
        x_new = np.clip(x + step[:, None] * p, 0.0, 1.0)
        f_new, g_new = function(x_new)
        s = x_new - x
        b = np.where(s == 0.0, 0.0, g - g_new)  # curvature within the face climbed along
        slope, gain = _dot(s, g), f_new - f
        # Armijo's rule; clipping can turn a step downhill, which a shorter one is not.
        up = gain >= 1e-4 * np.maximum(slope, 0.0)
        # A step too long is cut by the parabola through both values and the slope.
        cut = np.clip(0.5 * slope / np.maximum(slope - gain, 1e-300), 0.1, 0.5)
        little = tolerance * np.maximum(1.0, np.abs(f))
        idle = np.where(up, np.where(gain <= little, idle + 1, 0), idle)
        lost = ~up & (np.abs(slope) <= 1e-3 * little)  # nothing but rounding is left to be gained

        sb, bb = _dot(s, b), _dot(b, b)
        curved = up & (sb > 1e-10 * np.sqrt(_dot(s, s) * bb))
        first = curved & ~known
        H[first] *= (sb[first] / bb[first])[:, None, None]
        known |= first
        rho = 1.0 / np.where(curved, sb, 1.0)
        Hb = np.einsum("ijk,ik->ij", H, b)
        ss = s[:, :, None] * s[:, None, :]
        sHb = s[:, :, None] * Hb[:, None, :]
        change = (rho + rho**2 * _dot(b, Hb))[:, None, None] * ss
        change -= rho[:, None, None] * (sHb + sHb.transpose(0, 2, 1))
        H[curved] += change[curved]

        x[up], f[up], g[up] = x_new[up], f_new[up], g_new[up]
        ends[climbing] = x
        p[up] = _direction(x[up], g[up], H[up])
        step = np.where(up, np.where(known, 1.0, _first(p, first_step)), step * cut)
        on = ~lost & (idle < 2) & np.any(p != 0.0, axis=1)
        if not on.any():
            break
        climbing, x, f, g, H, known, p, step, idle = (
            a[on] for a in (climbing, x, f, g, H, known, p, step, idle)
        )
    return ends


def _direction(x: Array, g: Array, H: Array) -> Array:
    """H∇, ``m x d``, within the faces of the cube that the gradients ∇ press against; ∇ itself
    where H∇ does not go uphill."""
    free = ~(((x <= 0.0) & (g < 0.0)) | ((x >= 1.0) & (g > 0.0)))
    steepest = np.where(free, g, 0.0)
    p = np.where(free, np.einsum("ijk,ik->ij", H, steepest), 0.0)
    return np.where((_dot(p, g) > 0.0)[:, None], p, steepest)


def _first(p: Array, longest: float) -> Array:
    """The factor, at most 1, that makes the steps ``p``, ``m x d``, no longer than ``longest``."""
    return np.minimum(1.0, longest / np.maximum(np.sqrt(_dot(p, p)), 1e-300))


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->i", a, b)
