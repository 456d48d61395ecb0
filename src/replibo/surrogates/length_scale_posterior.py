"""The posterior of the length scale θ: the fully Bayesian baseline "MCMC" of the LB-GP-UCB paper.

Ziomek, Adachi and Osborne (2024), section 5: θ ~ Gamma(3, 6) (shape and rate, BoTorch's default),
sampled by NUTS (Hoffman and Gelman 2014) as Pyro implements it. The rest of the model is that of
`replibo.surrogates.exact_gp`: zero mean, outputscale 1, isotropic Matérn-5/2, and here a noise
variance σ² > 0 that is given.

Everything is a density of z = log θ, which is the unconstrained parameter that Pyro itself takes
for a positive one:

    log p(z | X, y) = log p(y | X, θ) + log Gamma(θ; 3, 6) + log θ + constant

NUTS evaluates it some hundred times a round, far more often than a function of one variable needs:
`TabulatedPosterior` interpolates it, to the rounding error of the density itself. What NUTS finds is
compared with `quadrature`, which draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.polynomial import chebyshev
from pydantic import Field
from scipy.linalg import eigh_tridiagonal

from replibo.problems.base import Array
from replibo.surrogates.exact_gp import ExactGP
from replibo.surrogates.kernels import SMALLEST_LENGTH_SCALE
from replibo.surrogates.length_scale_fit import log_marginal_likelihood

CONCENTRATION, RATE = 3.0, 6.0
"""The hyperprior θ ~ Gamma(3, 6): mean 0.5, standard deviation 0.29, in units of the cube."""

SMALLEST_NOISE_VARIANCE = 1e-6
"""From here on K + σ²I can be factorised at every θ, repeated points or not, so that the density is
smooth: no jitter comes and goes with θ."""

NoiseVariance = Annotated[float, Field(ge=SMALLEST_NOISE_VARIANCE, allow_inf_nan=False)]

Samples = Annotated[int, Field(ge=4)]
"""Number of NUTS samples; Pyro's effective sample size needs four."""


class LengthScalePosterior:
    """The unnormalised log density of z = log θ, in closed form.

    Args:
        distances: ``n x n``, between the points, in units of the cube.
        y: ``n``, the standardised targets.
        noise_variance: σ² ≥ `SMALLEST_NOISE_VARIANCE`, in units of the standardised targets.
    """

    def __init__(self, distances: Array, y: Array, noise_variance: float) -> None:
        self.distances = np.ascontiguousarray(distances)
        self.y = y
        self.noise_variance = noise_variance

    def log_likelihood(self, z: float) -> float:
        """log p(y | X, θ) at θ = e^z, nats."""
        if len(self.y) == 0:
            return 0.0
        return ExactGP(self.distances, math.exp(z), self.noise_variance).log_marginal_likelihood(
            self.y
        )

    def log_density(self, z: float) -> float:
        """log p(y | X, θ) + log Gamma(θ; 3, 6) + log θ at θ = e^z, nats."""
        return self.log_likelihood(z) + log_prior(z)[0]

    def log_density_and_derivative(self, z: float) -> tuple[float, float]:
        """`log_density` and its derivative in z, θ ∂/∂θ log p(y | X, θ) + 3 - 6θ."""
        theta = math.exp(z)
        value, slope, _ = log_marginal_likelihood(
            self.distances, self.y, theta, self.noise_variance
        )
        prior, prior_slope = log_prior(z)
        return value + prior, theta * slope + prior_slope


def log_prior(z: float) -> tuple[float, float]:
    """log Gamma(θ; 3, 6) + log θ at θ = e^z, the normalised log density of z, and its derivative."""
    if z > 700.0:  # e^z overflows; a step of NUTS may land anywhere
        return -math.inf, -math.inf
    theta = math.exp(z)
    normaliser = CONCENTRATION * math.log(RATE) - math.lgamma(CONCENTRATION)
    return normaliser + CONCENTRATION * z - RATE * theta, CONCENTRATION - RATE * theta


class TabulatedPosterior:
    """`LengthScalePosterior`, interpolated: value and derivative at any z within microseconds.

    The axis of z is cut into panels of width `PANEL`. When NUTS first steps into one, the log
    likelihood is evaluated at `NODES` Chebyshev points of it. From then on their polynomial and its
    derivative take its place. The prior is added in closed form. The log likelihood is analytic
    around the real axis (see `nodes_needed`), so that this many nodes leave nothing but rounding.

    Below `lowest` the kernel has vanished between all distinct points, and the log likelihood is
    a constant; above `highest`, where the prior has fallen by more than 500 nats, it is taken as one.
    """

    PANEL = 0.5
    NODES = 16

    def __init__(self, posterior: LengthScalePosterior) -> None:
        self.posterior = posterior
        distances = posterior.distances
        nearest = float(np.min(distances, where=distances > 0.0, initial=math.inf))
        self.highest = math.log(100.0)
        # From r = 20 θ on k < 1e-16: K + σ²I is its limit to the last bit.
        self.lowest = math.log(min(max(nearest / 20.0, SMALLEST_LENGTH_SCALE), 100.0))
        self._panels: dict[int, list[float]] = {}  # number: coefficients, highest power first
        self._constants: dict[float, float] = {}  # lowest and highest: the log likelihood

    def log_density_and_derivative(self, z: float) -> tuple[float, float]:
        """As `LengthScalePosterior.log_density_and_derivative`; NaN where ``z`` is NaN."""
        if math.isnan(z):
            return math.nan, math.nan
        prior, prior_slope = log_prior(z)
        if not self.lowest < z < self.highest:
            end = self.lowest if z <= self.lowest else self.highest
            if end not in self._constants:
                self._constants[end] = self.posterior.log_likelihood(end)
            return self._constants[end] + prior, prior_slope
        panel = math.floor(z / self.PANEL)
        if panel not in self._panels:
            self._panels[panel] = self._tabulate(panel)
        x = 2.0 * (z / self.PANEL - panel) - 1.0
        value = slope = 0.0
        for coefficient in self._panels[panel]:  # Horner's rule
            slope = slope * x + value
            value = value * x + coefficient
        return value + prior, slope * 2.0 / self.PANEL + prior_slope

    def _tabulate(self, panel: int) -> list[float]:
        x = chebyshev.chebpts1(self.NODES)
        z = self.PANEL * (panel + 0.5 * (x + 1.0))
        values = [self.posterior.log_likelihood(float(node)) for node in z]
        series = chebyshev.chebfit(x, values, self.NODES - 1)  # interpolates: as many as nodes
        return [float(c) for c in chebyshev.cheb2poly(series)[::-1]]


# NUTS


@dataclass(frozen=True)
class NutsSamples:
    """What `sample_nuts` returns.

    Attributes:
        z: the samples of log θ, in the order drawn; one that stayed where it was is repeated.
        acceptance_rate: share of the samples that are a new point (Pyro's own diagnostic).
        divergences: number of samples whose trajectory diverged (warm-up not counted).
        step_size: of the leapfrog integrator, as adapted at the end of the warm-up.
        effective_sample_size: of log θ (Pyro's estimate, from the autocorrelations); 1 where all
            samples are equal.
        evaluations: of the potential and its derivative, warm-up included.
    """

    z: Array
    acceptance_rate: float
    divergences: int
    step_size: float
    effective_sample_size: float
    evaluations: int


def sample_nuts(
    log_density_and_derivative: Callable[[float], tuple[float, float]],
    *,
    warmup: int,
    samples: int,
    rng: np.random.Generator,
) -> NutsSamples:
    """Samples of a density of one real variable, by Pyro's NUTS with its default settings.

    That is: the step size adapted by dual averaging to an acceptance of 0.8, the mass by Welford's
    estimate, multinomial sampling, trees up to depth 10, and a start that is uniform on [-2, 2].
    Nothing is taken over from an earlier call: the warm-up starts afresh.

    Pyro draws from torch's global generator. That is seeded from ``rng`` and put back afterwards:
    the same ``rng`` gives the same bits.

    Args:
        log_density_and_derivative: of z, unnormalised.
        warmup: number of warm-up iterations, at least 1.
        samples: number of samples, at least 4.
    """
    # Imported here, because a run of any other algorithm must not pay for it.
    import pyro.infer.mcmc
    import pyro.ops.stats
    import torch

    engine: Any = pyro.infer.mcmc  # Pyro has no types
    stats: Any = pyro.ops.stats
    evaluations = 0

    class Potential(torch.autograd.Function):
        """U(z) = -log p(z), whose derivative comes with the value."""

        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            nonlocal evaluations
            evaluations += 1
            value, ctx.slope = log_density_and_derivative(float(z))
            return z.new_tensor(-value)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * -ctx.slope

    potential: Any = Potential.apply
    start = torch.tensor(rng.uniform(-2.0, 2.0), dtype=torch.float64)
    seed = int(rng.integers(2**63))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        kernel = engine.NUTS(potential_fn=lambda parameters: potential(parameters["z"]))
        mcmc = engine.MCMC(
            kernel,
            num_samples=samples,
            warmup_steps=warmup,
            initial_params={"z": start},
            disable_progbar=True,
        )
        mcmc.run()
        drawn = mcmc.get_samples()["z"]
        diagnostics = mcmc.diagnostics()
        moved = bool((drawn != drawn[0]).any())
        return NutsSamples(
            z=drawn.numpy().copy(),
            acceptance_rate=float(diagnostics["acceptance rate"]["chain 0"]),
            divergences=len(diagnostics["divergences"]["chain 0"]),
            step_size=float(kernel.step_size),
            effective_sample_size=float(stats.effective_sample_size(drawn[None])) if moved else 1.0,
            evaluations=evaluations,
        )


# Quadrature


@dataclass(frozen=True)
class Quadrature:
    """The posterior as a sum: E[h(θ)] ≈ Σ weights h(e^z).

    Attributes:
        z, weights: 32 each; the weights sum to 1.
        mean, sd: of θ, in units of the cube.
    """

    z: Array
    weights: Array
    mean: float
    sd: float


def quadrature(log_density: Callable[[float], float]) -> Quadrature:
    """The posterior of θ by two stages of 32 equidistant nodes in z = log θ.

    The trapezoidal rule converges geometrically where the integrand vanishes at both ends. The
    first stage spans θ from 1e-4 to 6, beyond which Gamma(3, 6) has less than 1e-10 of its mass.
    The second spans the nodes of the first that lie within 18 nats of the highest, and one more to
    either side.
    """

    def stage(lower: float, upper: float) -> tuple[Array, Array]:
        z = np.linspace(lower, upper, 32)
        return z, np.array([log_density(float(node)) for node in z])

    z, values = stage(math.log(1e-4), math.log(6.0))
    high = np.flatnonzero(values > values.max() - 18.0)
    z, values = stage(z[max(high[0] - 1, 0)], z[min(high[-1] + 1, len(z) - 1)])
    weights = np.exp(values - values.max())
    weights /= weights.sum()
    theta = np.exp(z)
    mean = float(weights @ theta)
    return Quadrature(z, weights, mean, math.sqrt(float(weights @ (theta - mean) ** 2)))


# Expectations over the samples


def nodes_needed(z: Array, dim: int, tolerance: float) -> int:
    """How many nodes of `gauss_rule` make the mean over the samples ``z`` of a posterior mean,
    variance or standard deviation of the GP exact to about ``tolerance``.

    These are analytic functions of a complex z = log θ with |Im z| < a = π/(d + 5), whatever the
    data. The Matérn-5/2 spectral density is ∝ θ^d (1 + θ²ω²/5)^(-(d+5)/2); its argument lies between
    d Im z and -5 Im z for every frequency ω, so that there all of them, and σ² > 0, lie within one
    half-plane. Then K + σ²I has no eigenvalue 0, and no posterior variance (a Schur complement of
    such a matrix) is 0, where the square root would branch.

    So on samples that span an interval of half-width w, K nodes leave an error of the order of ρ^-2K
    with ρ = a/w + sqrt(1 + (a/w)²), the ellipse that fits into the strip (Trefethen, Approximation
    Theory and Approximation Practice, Theorem 19.3).
    """
    half_width = 0.5 * float(np.ptp(z))
    if half_width == 0.0:
        return 1
    rho = math.asinh(math.pi / (dim + 5) / half_width)  # ln ρ
    return max(1, math.ceil(-math.log(tolerance) / (2.0 * rho)))


def gauss_rule(z: Array, count: int) -> tuple[Array, Array]:
    """The Gauss quadrature of the samples themselves: nodes and weights, at most ``count`` each, for
    which Σ weights h(nodes) = mean of h(z) where h is a polynomial of degree 2 ``count`` - 1.

    The nodes lie between the smallest and the largest sample; the weights are positive and sum to 1.
    They come from the Jacobi matrix that Lanczos' recurrence makes of the samples (Golub and Welsch
    1969). Where there are no more than ``count`` distinct samples, those are returned.
    """
    distinct, repeats = np.unique(z, return_counts=True)
    shares = repeats / len(z)
    if len(distinct) <= count:
        return distinct, shares
    centre, scale = 0.5 * (distinct[0] + distinct[-1]), 0.5 * (distinct[-1] - distinct[0])
    x = (distinct - centre) / scale
    basis = np.empty((count, len(x)))
    diagonal, off_diagonal = np.empty(count), np.empty(count)
    vector = np.sqrt(shares)
    for k in range(count):
        basis[k] = vector
        vector = x * vector
        diagonal[k] = basis[k] @ vector
        for _ in range(2):  # orthogonalised in full, and again, against the loss by rounding
            vector = vector - (basis[: k + 1] @ vector) @ basis[: k + 1]
        off_diagonal[k] = math.sqrt(float(vector @ vector))
        if off_diagonal[k] < 1e-14:  # as good as fewer samples: the rule is exact already
            count = k + 1
            break
        vector /= off_diagonal[k]
    nodes, vectors = eigh_tridiagonal(diagonal[:count], off_diagonal[: count - 1])
    return centre + scale * nodes, vectors[0] ** 2
