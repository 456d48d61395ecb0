"""The marginal likelihood of the exact Gaussian process of the LB-GP-UCB paper (section 5), and the
length scale that maximises it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.linalg import lapack
from scipy.optimize import minimize

from replibo.problems.base import Array
from replibo.surrogates.exact_gp import factorise
from replibo.surrogates.kernels import MATERN52, SMALLEST_LENGTH_SCALE, Kernel


def log_marginal_likelihood(
    distances: Array,
    y: Array,
    length_scale: float,
    noise_variance: float,
    kernel: Kernel = MATERN52,
) -> tuple[float, float, float]:
    """The log marginal likelihood (nats, all data together), its derivative in the length scale,
    and the jitter of the kernel matrix.

    Rasmussen and Williams 2006, eqs. 2.30 and 5.9: ∂/∂ℓ = ½ αᵀ K' α - ½ tr(K⁻¹ K') with α = K⁻¹y
    and K' = ∂K/∂ℓ; in K the noise is included.

    Args:
        distances: ``n x n``, between the points.
        y: ``n``, the standardised targets.

    Raises:
        RepliboError: the kernel matrix is singular, even with the largest jitter.
    """
    n = len(y)
    if n == 0:
        return 0.0, 0.0, 0.0
    K, derivative = kernel.and_derivative(distances, length_scale)
    L, jitter = factorise(K, noise_variance)
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    value = (
        -0.5 * float(y @ alpha)
        - float(np.sum(np.log(L.diagonal())))
        - 0.5 * n * math.log(2 * math.pi)
    )
    # The lower triangle of K⁻¹; above it are the zeros of L. K' is symmetric with a zero diagonal,
    # so that the sum over the lower triangle is half the trace.
    inverse = lapack.dpotri(L, lower=1, overwrite_c=1)[0]
    half_trace = float(np.vdot(inverse.T, derivative))
    return value, 0.5 * float(alpha @ (derivative @ alpha)) - half_trace, jitter


RELEASED_START = math.log(2.0)
"""softplus(0) = 0.693: GPyTorch's initial length scale, the only start of the released code."""

FURTHER_STARTS = (0.05, 0.2, 2.0)
"""With ``starts="multi"``: these too, and the lower bound itself, where data read as white noise
have their maximum."""

LowerBound = Annotated[float, Field(ge=SMALLEST_LENGTH_SCALE, lt=min(FURTHER_STARTS))]
"""Lower bound of the multi-start fit, in units of the cube."""

LOWER_BOUND = 1e-3
"""The smallest length scale of ``starts="multi"``, in units of the cube (the smallest of the
released code's optimal length scales is 4.4e-3, on Berkenkamp)."""


@dataclass(frozen=True)
class LengthScaleFit:
    """Result of `fit_length_scale`.

    Attributes:
        length_scale: the maximiser ℓ.
        log_marginal_likelihood: its maximum, nats, all data together.
        converged: L-BFGS-B ended by one of its tolerances.
        evaluations: of the marginal likelihood and its derivative, all starts together.
        at_bound: ℓ is the lower bound (``starts="multi"``; a single start has none).
        collapsed: the data are read as white noise: no two distinct points correlate by more than
            1 %.
        exploded: the data are read as one constant: all points correlate by more than 99 %.
        jitter: of the kernel matrix at ℓ.
        from_released_start: where the released code's only start ended; another number than ``ℓ``
            where another start found a higher maximum.
    """

    length_scale: float
    log_marginal_likelihood: float
    converged: bool
    evaluations: int
    at_bound: bool
    collapsed: bool
    exploded: bool
    jitter: float
    from_released_start: float


def fit_length_scale(
    distances: Array,
    y: Array,
    noise_variance: float,
    *,
    starts: Literal["single", "multi"] = "single",
    lower_bound: float = LOWER_BOUND,
    kernel: Kernel = MATERN52,
) -> LengthScaleFit:
    """The length scale of maximum marginal likelihood, by L-BFGS-B (section 5, "MLE").

    As BoTorch's ``fit_gpytorch_mll`` does it (0.17.2): over the raw parameter ρ with
    ℓ = softplus(ρ), unbounded, on the log marginal likelihood divided by n, with the defaults of
    scipy's L-BFGS-B (ftol 2.2e-9, gtol 1e-5, 10 corrections, at most 15,000 iterations). Other than
    there, a fit that did not converge is neither tried again from the same start nor an error:
    where it stopped is returned, and said to be such.

    Args:
        distances: ``n x n``, between the points.
        y: ``n``, the standardised targets.
        noise_variance: σ² ≥ 0.
        starts: "single", from `RELEASED_START` only, without bounds (the released code); "multi",
            from `FURTHER_STARTS` and the lower bound as well, ℓ ≥ ``lower_bound`` (the paper says
            multi-start and no more). The highest maximum is taken; ties go to the first.
        lower_bound: only with ``starts="multi"``; below every start.
        kernel: k.

    Raises:
        RepliboError: the kernel matrix is singular even with jitter.
    """
    distances = np.ascontiguousarray(distances)
    scale = 1.0 / max(len(y), 1)
    evaluated: dict[float, tuple[float, float]] = {}  # ℓ: value and jitter
    evaluations = 0

    def objective(raw: Array) -> tuple[float, float]:
        nonlocal evaluations
        evaluations += 1
        length_scale = _softplus(float(raw[0]))
        value, slope, jitter = log_marginal_likelihood(
            distances, y, length_scale, noise_variance, kernel
        )
        evaluated[length_scale] = value, jitter
        return -scale * value, -scale * slope * _softplus_slope(float(raw[0]))

    first = [RELEASED_START]
    if starts == "multi":
        first += [lower_bound, *FURTHER_STARTS]
    bounds = None if starts == "single" else [(_inverse_softplus(lower_bound), None)]
    results = [
        minimize(objective, [_inverse_softplus(start)], jac=True, method="L-BFGS-B", bounds=bounds)
        for start in first
    ]
    best = results[0]
    for result in results[1:]:
        # By more than the tolerance: starts that end at the same maximum are no different.
        if result.fun < best.fun - 1e-7:
            best = result
    length_scale = _softplus(float(best.x[0]))
    value, jitter = evaluated[length_scale]  # L-BFGS-B returns a point that it has evaluated
    farthest = float(np.max(distances, initial=0.0))
    nearest = float(np.min(distances, where=distances > 0.0, initial=farthest))
    largest, smallest = kernel.value(np.array([nearest, farthest]), length_scale)
    return LengthScaleFit(
        length_scale=length_scale,
        log_marginal_likelihood=value,
        converged=bool(best.success),
        evaluations=evaluations,
        at_bound=starts == "multi" and length_scale <= lower_bound * (1 + 1e-9),
        collapsed=bool(largest < 0.01),
        exploded=bool(farthest > 0.0 and smallest > 0.99),
        jitter=jitter,
        from_released_start=_softplus(float(results[0].x[0])),
    )


# Helpers


def _softplus(raw: float) -> float:
    return max(float(np.logaddexp(0.0, raw)), SMALLEST_LENGTH_SCALE)


def _inverse_softplus(length_scale: float) -> float:
    return length_scale + math.log(-math.expm1(-length_scale))


def _softplus_slope(raw: float) -> float:
    return 1.0 / (1.0 + math.exp(-raw)) if raw >= 0 else math.exp(raw) / (1.0 + math.exp(raw))
