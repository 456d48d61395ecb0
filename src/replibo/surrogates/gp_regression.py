"""Exact Gaussian-process regression with an RBF kernel, its hyperparameters by marginal likelihood.

The surrogate of the GP baselines of the NeuralBO paper (Phan-Trong, Tran-The and Gupta 2023, section 7:
"the common Squared Exponential (SE) Kernel", GPyTorch and BoTorch). The model is that of BoTorch's
``SingleTaskGP(X, y, covar_module=ScaleKernel(RBFKernel()))``, on standardised y:

    y = c + f(x) + ε,   f ~ GP(0, s exp(-‖x - x'‖²/(2ℓ²))),   ε ~ N(0, σ²),

with one length scale ℓ for all dimensions. `fit` maximises what ``fit_gpytorch_mll`` maximises, the log
marginal likelihood plus the log density of BoTorch's prior of the noise variance, log σ² ~ N(-4, 1)
with σ² ≥ 1e-4. (c and s have no prior; ℓ has one on request.) The prior and the bound are kept, as
they are what "BoTorch" means. They keep K + σ²I regular whatever points are repeated, and weigh
less than one observation.

It is written out with its gradient, one Cholesky factor and one inverse for each evaluation. This
takes a fraction of the time of GPyTorch's automatic differentiation
(`benchmarks/side_by_side.py`). The tests hold it to BoTorch's optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.surrogates.bounds import evaluate_where_best
from replibo.surrogates.kernels import JITTERS
from replibo.surrogates.standardise import standardise

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# BoTorch 0.17's prior and bound of the noise variance (`get_gaussian_likelihood_with_lognormal_prior`).
NOISE_PRIOR_LOG_MEAN, NOISE_PRIOR_LOG_SD, SMALLEST_NOISE = -4.0, 1.0, 1e-4

# BoTorch 0.17's prior and bound of a length scale (`get_covar_module_with_dim_scaled_prior`; Hvarfner,
# Hellsten and Nardi 2024): log ℓ ~ N(√2 + ½ log d, 3) and ℓ ≥ 0.025. An RBF kernel set by hand has
# neither, `SingleTaskGP`'s own has both.
LengthScalePrior = Literal["none", "dimension_scaled"]
LENGTH_SCALE_PRIOR_SD, SMALLEST_LENGTH_SCALE_OF_PRIOR = math.sqrt(3.0), 0.025

# BoTorch's starting point: 0 for c, GPyTorch's softplus(0) for s and ℓ, the prior's mode for σ².
START = (0.0, math.log(2.0), math.log(2.0), math.exp(NOISE_PRIOR_LOG_MEAN - NOISE_PRIOR_LOG_SD**2))

# Where s and ℓ are looked for. BoTorch sets no bounds; these are wide enough not to matter, and with
# them and the noise's K + σ²I has a condition number below 1e12 with 10,000 points.
OUTPUTSCALES, LENGTH_SCALES = (1e-8, 1e4), (1e-4, 1e3)

# Where a fit from a near start ends: L-BFGS-B's ftol and gtol, of the log posterior over n in units of
# `_units`. A quarter fewer evaluations than with SciPy's, 0.008 nats lost
# (`benchmarks/gp_fits.py` of commit 8dc61a90).
NEAR_TOLERANCES = {"ftol": 3e-6, "gtol": 3e-4}

# From a fit to so many observations on, a deviation is bounded by one of `BOUNDING_SHARE` of them; with
# fewer a bound costs more than it saves.
BOUNDED_FROM, BOUNDING_SHARE = 256, 4


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of the model above: ``mean`` c, ``outputscale`` s and ``noise_variance`` σ²
    in units of the standardised y, ``length_scale`` ℓ in units of the cube."""

    mean: float
    outputscale: float
    length_scale: float
    noise_variance: float


@dataclass(frozen=True)
class Fit:
    """What `fit` found.

    Attributes:
        hyperparameters: the maximiser.
        log_posterior: log marginal likelihood plus log prior of σ² (and of ℓ, if it has one), nats, all n
            observations together (GPyTorch divides it by n); not a number where nothing was fitted.
        converged: whether L-BFGS-B ended by a tolerance; false too where nothing was fitted.
        evaluations: of the log posterior, over all starts.
    """

    hyperparameters: Hyperparameters
    log_posterior: float
    converged: bool
    evaluations: int


def fit(
    X: Tensor,
    y: Tensor,
    *,
    starts: Literal["multi", "single"] = "multi",
    near: Hyperparameters | None = None,
    length_scale_prior: LengthScalePrior = "none",
) -> Fit:
    """The hyperparameters of largest marginal likelihood (times the priors).

    L-BFGS-B over BoTorch's own parameters, c, softplus⁻¹(s), softplus⁻¹(ℓ) and σ²: from fixed starts
    with SciPy's tolerances, or from ``near`` with `NEAR_TOLERANCES`. Where the likelihood has several
    maxima, parameters and start decide which is found: with few points there is often one at ℓ → 0,
    which reads all data as white noise.

    BoTorch's start, ℓ = 0.69, is a sixth of the distance of two random points of a 100-D cube. The
    kernel matrix is then the identity, its derivative in ℓ is 0, and the fit ends where it began.
    So "multi" adds a start with ℓ longer by √d and keeps the better end; in one dimension the two
    are one.

    One observation, or constant ones, say nothing of s, ℓ and σ²: all four stay at BoTorch's start, as
    they do should K + σ²I have no Cholesky factor on the way from every start.

    Args:
        X: ``n x d``, unit cube.
        y: ``n``, standardised.
        starts: "multi", or "single" for BoTorch's start alone.
        near: where to start instead: the maximiser for nearly the same data. With the parameters in
            units of its own size, a tenth of the evaluations and fewer is enough. Where it has no
            Cholesky factor, the fit is made from the fixed starts.
        length_scale_prior: "none", or "dimension_scaled", prior and bound of ℓ in BoTorch's own kernel.
            They rule out the maximum at ℓ → 0.
    """
    objective = _LogPosterior(X, y, length_scale_prior)
    units, tolerances = np.ones(4), {}
    mean, outputscale, length_scale, noise = START
    beginnings = [START]
    if starts == "multi" and X.shape[1] > 1:
        beginnings.append((mean, outputscale, length_scale * math.sqrt(X.shape[1]), noise))
    length_scales = LENGTH_SCALES
    if length_scale_prior == "dimension_scaled":
        length_scales = (SMALLEST_LENGTH_SCALE_OF_PRIOR, LENGTH_SCALES[1])
    if near is not None:
        beginnings = [(near.mean, near.outputscale, near.length_scale, near.noise_variance)]
        units, tolerances = _units(near, X.shape[1]), NEAR_TOLERANCES
    if float((y - y[0]).abs().max()) == 0.0:
        beginnings = []

    def negative(scaled: Array) -> tuple[float, Array]:
        value, gradient = objective.negative(scaled * units)
        return value, gradient * units

    best = None
    for beginning in beginnings:
        try:
            found = minimize(
                negative,
                _unconstrained(beginning) / units,
                jac=True,
                method="L-BFGS-B",
                # With all of them bounded, L-BFGS-B would not shorten its first step (as it does for
                # BoTorch), and would often end in the maximum at ℓ → 0.
                bounds=[
                    (None, None),
                    tuple(_inverse_softplus(v) / units[1] for v in OUTPUTSCALES),
                    tuple(_inverse_softplus(v) / units[2] for v in length_scales),
                    (SMALLEST_NOISE / units[3], None),
                ],
                options=tolerances,
            )
        except np.linalg.LinAlgError:
            continue
        if best is None or found.fun < best.fun:
            best = found
    if best is None and near is not None:
        return fit(X, y, starts=starts, length_scale_prior=length_scale_prior)
    if best is None:
        return Fit(Hyperparameters(*START), math.nan, False, objective.evaluations)
    return Fit(
        _hyperparameters(best.x * units),
        -float(best.fun) * len(y),
        bool(best.success),
        objective.evaluations,
    )


# Starts of `fit_from_several`: ℓ, in units of the cube, and σ², small or half of the variance of the
# standardised y. The first ℓ is its lower bound: shorter ones read the noise of a few dozen points as f.
SEVERAL_LENGTH_SCALES, SEVERAL_NOISES = (0.05, 0.1, 0.2, 0.4, 0.8), (START[3], 0.5)


def fit_from_several(X: Tensor, y: Tensor) -> Fit:
    """What `fit` looks for, from each pair of `SEVERAL_LENGTH_SCALES` and `SEVERAL_NOISES`: the best end,
    with ℓ no shorter than the first of these. `START` where y is constant.

    Args:
        X: ``n x d``, unit cube.
        y: ``n``, standardised.

    Raises:
        numpy.linalg.LinAlgError: the covariance cannot be factored even with jitter.
    """
    mean, outputscale, _, _ = START
    objective = _LogPosterior(X, y)
    if float((y - y[0]).abs().max()) == 0.0:
        return Fit(Hyperparameters(*START), math.nan, False, 0)
    lengths = (SEVERAL_LENGTH_SCALES[0], LENGTH_SCALES[1])
    bounds = [tuple(map(_inverse_softplus, ends)) for ends in (OUTPUTSCALES, lengths)]
    ends = [
        minimize(
            objective.negative,
            _unconstrained((mean, outputscale, length_scale, noise)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), *bounds, (SMALLEST_NOISE, None)],
        )
        for length_scale in SEVERAL_LENGTH_SCALES
        for noise in SEVERAL_NOISES
    ]
    best = min(ends, key=lambda end: float(end.fun))
    return Fit(
        _hyperparameters(best.x),
        -float(best.fun) * len(y),
        bool(best.success),
        objective.evaluations,
    )


class _LogPosterior:
    """The log posterior of θ = (c, softplus⁻¹(s), softplus⁻¹(ℓ), σ²) and its gradient (Rasmussen and
    Williams 2006, eqs. 2.30 and 5.9)."""

    def __init__(self, X: Tensor, y: Tensor, length_scale_prior: LengthScalePrior = "none") -> None:
        self.y, self.length_scale_prior = y, length_scale_prior
        self.length_scale_log_mean = math.sqrt(2.0) + 0.5 * math.log(X.shape[1])
        self.squared = squared_distances(X, X)
        self.evaluations = 0

    def negative(self, theta: Array) -> tuple[float, Array]:
        """What L-BFGS-B minimises: the negative log posterior divided by n, and its gradient in θ."""
        import torch

        self.evaluations += 1
        h, n = _hyperparameters(theta), len(self.y)
        K = rbf(self.squared, h.outputscale, h.length_scale)
        weighted = K * self.squared  # ℓ³ ∂K/∂ℓ; the noise on the diagonal is no part of it
        L = cholesky(K, h.noise_variance)
        inverse = torch.cholesky_inverse(L)
        rest = self.y - h.mean
        alpha = inverse @ rest
        fit, square = float(alpha @ rest), float(alpha @ alpha)
        trace = float(inverse.diagonal().sum())
        log_likelihood = -0.5 * (fit + n * math.log(2 * math.pi)) - float(L.diagonal().log().sum())
        z = (math.log(h.noise_variance) - NOISE_PRIOR_LOG_MEAN) / NOISE_PRIOR_LOG_SD
        log_prior = -0.5 * z * z - math.log(
            h.noise_variance * NOISE_PRIOR_LOG_SD * math.sqrt(2 * math.pi)
        )
        slope = float(alpha @ (weighted @ alpha) - weighted.mul_(inverse.T).sum())
        gradient = np.array(
            [
                float(alpha.sum()),
                # s ∂K/∂s = K - σ²I, whose products with α and K⁻¹ are known
                0.5 * (fit - n - h.noise_variance * (square - trace)) / h.outputscale,
                0.5 * slope / h.length_scale**3,
                0.5 * (square - trace) - (1.0 + z / NOISE_PRIOR_LOG_SD) / h.noise_variance,
            ]
        )
        if self.length_scale_prior == "dimension_scaled":
            z = (math.log(h.length_scale) - self.length_scale_log_mean) / LENGTH_SCALE_PRIOR_SD
            log_prior -= 0.5 * z * z + math.log(
                h.length_scale * LENGTH_SCALE_PRIOR_SD * math.sqrt(2 * math.pi)
            )
            gradient[2] -= (1.0 + z / LENGTH_SCALE_PRIOR_SD) / h.length_scale
        gradient[1:3] *= expit(theta[1:3])  # the derivative of softplus
        return -(log_likelihood + log_prior) / n, -gradient / n


def _hyperparameters(theta: Array) -> Hyperparameters:
    mean, outputscale, length_scale, noise = (float(v) for v in theta)
    return Hyperparameters(
        mean, float(np.logaddexp(0, outputscale)), float(np.logaddexp(0, length_scale)), noise
    )


def _unconstrained(values: tuple[float, float, float, float]) -> Array:
    mean, outputscale, length_scale, noise = values
    return np.array([mean, _inverse_softplus(outputscale), _inverse_softplus(length_scale), noise])


def _units(near: Hyperparameters, d: int) -> Array:
    """How far each of θ may go from ``near`` before the likelihood notices, about: in these units
    the curvatures are much the same. √s for c, σ² for σ²; s and ℓ/√(2d), each divided by the
    derivative of softplus."""
    s, length_scale = near.outputscale, near.length_scale
    return np.array(
        [
            math.sqrt(s),
            s / -math.expm1(-s),
            length_scale / -math.expm1(-length_scale) / math.sqrt(2 * d),
            near.noise_variance,
        ]
    )


def _inverse_softplus(value: float) -> float:
    """x with log(1 + eˣ) = ``value``."""
    return value + math.log(-math.expm1(-value))


def squared_distances(X1: Tensor, X2: Tensor) -> Tensor:
    """‖x - x'‖², ``n1 x n2``, of points of the unit cube, to an absolute error of about 1e-15 d.

    By ‖a‖² + ‖b‖² - 2ab, about the cube's centre: an error that matters only below distances of 1e-7,
    where the kernel is 1 either way.
    """
    import torch

    A, B = X1 - 0.5, X2 - 0.5
    products = torch.addmm(A.square().sum(1, keepdim=True), A, B.T, alpha=-2.0)
    return products.add_(B.square().sum(1)).clamp_min_(0.0)


def rbf(squared: Tensor, outputscale: float, length_scale: float) -> Tensor:
    """s exp(-‖x - x'‖²/(2ℓ²)), shape of ``squared``."""
    return squared.mul(-0.5 / length_scale**2).exp_().mul_(outputscale)


def cholesky(K: Tensor, added: float) -> Tensor:
    """The lower factor of K + ``added`` I; K is changed in place.

    Raises:
        numpy.linalg.LinAlgError: there is none.
    """
    import torch

    K.diagonal().add_(added)
    L, failed = torch.linalg.cholesky_ex(K)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    return L


def factor(covariance: Tensor, scale: float) -> Tensor:
    """The lower factor of ``covariance`` plus the first of `JITTERS`, times ``scale``, that has one.

    ``covariance`` is changed in place.

    Raises:
        RepliboError: there is no factor even with the largest.
    """
    before = 0.0
    for jitter in JITTERS:
        try:
            return cholesky(covariance, (jitter - before) * scale)
        except np.linalg.LinAlgError:
            before = jitter
    raise RepliboError("posterior covariance: no Cholesky factor, whatever is added to it")


class GpRegression:
    """A Gaussian process fitted to the first observations, which takes in more of them one by one.

    The hyperparameters are those of the fit, in units of y standardised by the mean and deviation of
    the observations *of the fit*: so all observations up to the next fit condition one and the same
    prior. Appended rows depend on the order of the observations and on nothing else: an object made of
    the same data has the same bits.

    The factor of K + σ²I is

        ⎡ L  0 ⎤
        ⎣ R  D ⎦,

    L of the observations of the fit, R and D of those appended since. L stays as it is until the next
    fit: of a slice of a larger matrix PyTorch makes a copy at every solve, 5 ms at n = 1,500, where the
    solve of one column takes 0.2.

    Args:
        X: ``n x d``, unit cube, the observations to fit.
        y: ``n``, in their own units.
        device: where the tensors are held (float64).
        capacity: number of observations that there is to be room for; at least n.
        starts, near, length_scale_prior: of `fit`.

    Attributes:
        fitted: what `fit` found.
        fitted_at: number of observations it was fitted to.
        centre, scale: mean and deviation by which y is standardised.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        *,
        device: torch.device,
        capacity: int,
        starts: Literal["multi", "single"] = "multi",
        near: Hyperparameters | None = None,
        length_scale_prior: LengthScalePrior = "none",
    ) -> None:
        import torch

        n = len(y)
        standard, self.centre, self.scale = standardise(y)
        self._X = torch.empty(capacity, X.shape[1], dtype=torch.float64, device=device)
        self._y = self._X.new_empty(capacity)
        self._X[:n], self._y[:n] = self._tensor(X), self._tensor(standard)
        self._n = self.fitted_at = n
        self.fitted = fit(
            self._X[:n],
            self._y[:n],
            starts=starts,
            near=near,
            length_scale_prior=length_scale_prior,
        )
        self._condition(capacity - n)

    def _condition(self, room: int) -> None:
        """Make the factor for the observations, with room for more rows."""
        n = self._n
        self._L = cholesky(self._prior(self._X[:n], self._X[:n]), self._noise)
        self._R, self._D = self._L.new_zeros(room, n), self._L.new_zeros(room, room)
        self._alpha: Tensor | None = None
        self._bounding: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return self._n

    def append(self, x: Array, y: float) -> None:
        """Take in the observation ``y``, in its own unit, at ``x`` (``d``), without a new fit: one more
        row of the Cholesky factor's parts R and D, in O(n²)."""
        n, s = self._n, self.fitted.hyperparameters.outputscale
        row = n - self.fitted_at
        self._X[n] = self._tensor(x)
        self._y[n] = (y - self.centre) / self.scale
        k = self._solve(self._prior(self._X[:n], self._X[n : n + 1]))[:, 0]
        self._R[row], self._D[row, :row] = k[: self.fitted_at], k[self.fitted_at :]
        # s - ‖k‖² is the posterior variance, which rounding can make negative
        self._D[row, row] = ((s - k.dot(k)).clamp_min(0.0) + self._noise).sqrt()
        self._n, self._alpha = n + 1, None

    def posterior(self, X: Array) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of f, ``m`` each, in standardised units, at ``X``
        (``m x d``)."""
        mean, V = self._conditioned(self._tensor(X))
        s = self.fitted.hyperparameters.outputscale
        return np.asarray(mean.cpu()), _deviation(s, V)

    def posterior_where_best(
        self, X: Array, acquisition: Callable[[Array, Array], Array]
    ) -> tuple[Array, Array]:
        """As `posterior` at ``X`` (``m x d``), with the deviation only where the largest acquisition
        may be, and elsewhere an upper bound of it. The maximiser is the same up to rounding, in a
        fraction of the time.

        Given a part of the observations alone, σ is at least what it is given all of them. So the
        points are taken in the order of the acquisition at that bound, until none that is left can be
        better than the best so far. The part is the quarter of largest y of the observations of the fit:
        the points that may win lie among these. Its factor is made once for each fit.

        Args:
            acquisition: of posterior mean and deviation (``m`` each, standardised units); never falls
                as the deviation rises.
        """
        if self.fitted_at < BOUNDED_FROM:
            return self.posterior(X)
        points, s = self._tensor(X), self.fitted.hyperparameters.outputscale
        k = self._prior(self._X[: self._n], points)
        mean = np.asarray((self.fitted.hyperparameters.mean + k.T @ self._weights()).cpu())
        part, L = self._bounding_part()
        sd = _deviation(s, _solved(L, k[part]))

        def values(rows: NDArray[np.intp]) -> Array:
            sd[rows] = _deviation(s, self._solve(k[:, rows.tolist()]))
            return acquisition(mean[rows], sd[rows])

        evaluate_where_best(acquisition(mean, sd), values)
        return mean, sd

    def sample(self, X: Array, normals: Array) -> tuple[Array, Array, Array]:
        """A joint posterior sample of f at ``X`` (``m x d``) from ``m`` standard normal numbers, the
        posterior mean and the standard deviation, ``m`` each, in standardised units.

        Raises:
            RepliboError: the covariance has no Cholesky factor even with the largest of `JITTERS`.
        """
        import torch

        points = self._tensor(X)
        mean, V = self._conditioned(points)
        covariance = torch.addmm(self._prior(points, points), V.T, V, alpha=-1.0)
        sd = covariance.diagonal().clamp_min(0.0).sqrt()
        L = factor(covariance, self.fitted.hyperparameters.outputscale)
        drawn = mean + L @ self._tensor(normals)
        return np.asarray(drawn.cpu()), np.asarray(mean.cpu()), np.asarray(sd.cpu())

    def mean_at_data(self) -> Array:
        """Posterior mean of f at the observed points, ``n``, in standardised units: y - σ²α."""
        return np.asarray((self._y[: self._n] - self._noise * self._weights()).cpu())

    def observed(self) -> Array:
        """The observations, ``n``, in standardised units."""
        return np.asarray(self._y[: self._n].cpu())

    def bytes(self) -> int:
        """Memory held by its tensors; room for observations to come is part of it."""
        held = [self._X, self._y, self._L, self._R, self._D]
        held += [] if self._alpha is None else [self._alpha]
        held += self._bounding or ()
        return sum(tensor.numel() * tensor.element_size() for tensor in held)

    @property
    def _noise(self) -> float:
        return self.fitted.hyperparameters.noise_variance

    def _conditioned(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean, ``m``, and V = L⁻¹k(X, points), ``n x m``."""
        k = self._prior(self._X[: self._n], points)
        mean = self.fitted.hyperparameters.mean + k.T @ self._weights()
        return mean, self._solve(k)

    def _weights(self) -> Tensor:
        """α = (K + σ²I)⁻¹(y - c), ``n``."""
        import torch

        if self._alpha is None:
            whitened = self._solve(self._y[: self._n, None] - self.fitted.hyperparameters.mean)
            first, second = whitened[: self.fitted_at], whitened[self.fitted_at :]
            R, D = self._appended()
            second = torch.linalg.solve_triangular(D.T, second, upper=True)
            first = torch.linalg.solve_triangular(self._L.T, first - R.T @ second, upper=True)
            self._alpha = torch.cat([first, second])[:, 0]
        return self._alpha

    def _bounding_part(self) -> tuple[Tensor, Tensor]:
        """Rows of the observations that bound a deviation, and their factor; kept until the next fit."""
        import torch

        if self._bounding is None:
            fitted = self._y[: self.fitted_at]
            rows = torch.topk(fitted, self.fitted_at // BOUNDING_SHARE).indices
            K = self._prior(self._X[rows], self._X[rows])
            self._bounding = rows, cholesky(K, self._noise)
        return self._bounding

    def _solve(self, k: Tensor) -> Tensor:
        """The inverse of the factor times k; k (``n x m``) is overwritten."""
        first, second = k[: self.fitted_at], k[self.fitted_at :]
        _solved(self._L, first)
        R, D = self._appended()
        _solved(D, second.addmm_(R, first, alpha=-1.0))
        return k

    def _appended(self) -> tuple[Tensor, Tensor]:
        """R and D of the observations so far."""
        rows = self._n - self.fitted_at
        return self._R[:rows], self._D[:rows, :rows]

    def _prior(self, X1: Tensor, X2: Tensor) -> Tensor:
        h = self.fitted.hyperparameters
        return rbf(squared_distances(X1, X2), h.outputscale, h.length_scale)

    def _tensor(self, values: Array) -> Tensor:
        """A copy on the device: NumPy's memory is not aligned alike in every process, and the order of
        a sum depends on the alignment."""
        return self._X.new_tensor(values)


def _solved(L: Tensor, k: Tensor) -> Tensor:
    """L⁻¹k for a lower factor; k is overwritten."""
    import torch

    return torch.linalg.solve_triangular(L, k, upper=False, out=k)


def _deviation(outputscale: float, V: Tensor) -> Array:
    """Posterior standard deviation of f, ``m``, from V = L⁻¹k(X, points), which is overwritten."""
    return np.asarray((outputscale - V.square_().sum(0)).clamp_min_(0.0).sqrt_().cpu())
