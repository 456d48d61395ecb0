"""GP-UCB with a fully Bayesian length scale: the baseline "MCMC" of the LB-GP-UCB paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import minimize

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import Count, NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import ExactGP, PosteriorGradient, standardise
from replibo.surrogates.kernels import PointDistances, PoolDistances
from replibo.surrogates.length_scale_posterior import (
    LengthScalePosterior,
    NoiseVariance,
    Samples,
    TabulatedPosterior,
    gauss_rule,
    nodes_needed,
    quadrature,
    sample_nuts,
)

TOLERANCE = 1e-6
"""Error of the expectation over the samples, in units of the standardised y."""

RESTARTS, RAW_SAMPLES = 10, 512
"""Starts and raw points of the gradient ascent on a continuous domain, as in the released code."""


class GpUcbMcmc(Algorithm):
    """GP-UCB in expectation over the length scale (Ziomek, Adachi and Osborne 2024, section 5).

    At each round, from all data so far:

    - y is standardised (mean 0, standard deviation 1, divisor n - 1);
    - θ_1, …, θ_S ~ p(θ | X, y) by NUTS, with θ ~ Gamma(3, 6), isotropic Matérn-5/2, outputscale 1,
      fixed noise variance;
    - x_t = argmax_x 1/S Σ_s μ(x; θ_s) + β σ(x; θ_s), the expected acquisition function (De Ath,
      Everson and Fieldsend 2021): over the whole pool, where ties go to the first (a point may be
      asked again); over the cube by gradient ascent from several starts.

    The sum over the S samples is taken by their Gauss quadrature, which costs a few Cholesky factors
    in place of S and differs from it by less than `TOLERANCE`.

    Args:
        beta: β, the factor of the standard deviation itself (BoTorch's ``beta`` is its square).
        noise_variance: σ², in units of the standardised y; at least 1e-6. The released code takes
            0.05 here, and 1e-4 for all other methods.
        warmup: number of warm-up iterations of NUTS.
        samples: S, number of samples.
        average: "ucb", the expectation of the UCB; "variance", as the released code has it: the mean
            variance in the place of a standard deviation, μ̄ + β (mean of σ²). (There σ² holds the
            noise, a constant, which no maximiser depends on.)
    """

    late_imports: ClassVar[tuple[str, ...]] = ("torch", "pyro.infer.mcmc", "pyro.ops.stats")
    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "mean of the samples of θ, in units of the cube",
        "length_scale_sd": "standard deviation of the samples of θ (divisor S)",
        "length_scale_quadrature": "posterior mean of θ by quadrature, to compare with NUTS",
        "length_scale_sd_quadrature": "posterior standard deviation of θ by quadrature",
        "effective_sample_size": "of the samples of log θ, as Pyro estimates it",
        "acceptance_rate": "share of the samples where NUTS moved",
        "divergences": "samples whose trajectory diverged",
        "step_size": "of NUTS, in units of log θ scaled by the adapted mass",
        "potential_evaluations": "evaluations of the log posterior and its derivative by NUTS",
        "nodes": "length scales at which the UCB was computed, for the mean over all samples",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        beta: NonNegative = 1.0,
        noise_variance: NoiseVariance = 0.05,
        warmup: Count = 100,
        samples: Samples = 100,
        average: Literal["ucb", "variance"] = "ucb",
    ) -> None:
        super().__init__(space, streams)
        self.beta = beta
        self.noise_variance = noise_variance
        self.warmup, self.samples = warmup, samples
        self.average = average
        # Caches: distances do not depend on the length scale.
        self._points = PointDistances(space.dim)
        self._pool = None if space.candidates is None else PoolDistances(space.candidates)

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        rng = self.streams.algorithm_at(len(history))
        y = standardise(history.y)
        if self._pool is None:
            between = self._points.update(history.X)
        else:
            between, to_pool = self._pool.update(history.candidate)

        posterior = LengthScalePosterior(between, y, self.noise_variance)
        nuts = sample_nuts(
            TabulatedPosterior(posterior).log_density_and_derivative,
            warmup=self.warmup,
            samples=self.samples,
            rng=rng,
        )
        z, weights = gauss_rule(nuts.z, nodes_needed(nuts.z, self.space.dim, TOLERANCE))
        models = [ExactGP(between, math.exp(node), self.noise_variance) for node in z]

        if self._pool is None:
            x, candidate = self._maximise(models, weights, history.X, y, rng), -1
        else:
            acquisition = self._expectation(weights, (gp.posterior(y, to_pool) for gp in models))
            candidate = int(np.argmax(acquisition))  # ties go to the first
            x = self._pool.pool[candidate]

        theta, exact = np.exp(nuts.z), quadrature(posterior.log_density)
        return Proposal(
            x,
            candidate,
            {
                "length_scale": float(theta.mean()),
                "length_scale_sd": float(theta.std()),
                "length_scale_quadrature": exact.mean,
                "length_scale_sd_quadrature": exact.sd,
                "effective_sample_size": nuts.effective_sample_size,
                "acceptance_rate": nuts.acceptance_rate,
                "divergences": float(nuts.divergences),
                "step_size": nuts.step_size,
                "potential_evaluations": float(nuts.evaluations),
                "nodes": float(len(z)),
            },
        )

    def _expectation(self, weights: Array, moments: Iterable[tuple[Array, Array]]) -> Array:
        """The acquisition at ``m`` points, from each node's posterior mean and variance there."""
        mean, variance = (np.array(nodes) for nodes in zip(*moments, strict=True))  # K x m each
        spread = np.sqrt(variance) if self.average == "ucb" else variance
        return weights @ mean + self.beta * (weights @ spread)

    def _expectation_and_gradient(
        self, weights: Array, posteriors: list[PosteriorGradient], points: Array
    ) -> tuple[Array, Array]:
        """The acquisition, ``m``, and its gradient, ``m x d``, at ``points``, ``m x d``."""
        mean, variance, d_mean, d_variance = (
            np.array(nodes) for nodes in zip(*(p(points) for p in posteriors), strict=True)
        )
        spread, slope = variance, d_variance
        if self.average == "ucb":
            spread, slope = _root(variance, d_variance)
        value = weights @ mean + self.beta * (weights @ spread)
        return value, np.tensordot(weights, d_mean, 1) + self.beta * np.tensordot(weights, slope, 1)

    def _maximise(
        self,
        models: list[ExactGP],
        weights: Array,
        X: Array,
        y: Array,
        rng: np.random.Generator,
    ) -> Array:
        """The maximiser on the cube, ``d``: L-BFGS-B with analytic gradients, on the sum over the
        best `RESTARTS` of `RAW_SAMPLES` uniform points, which climb together."""
        d = self.space.dim
        posteriors = [PosteriorGradient(gp, X, y) for gp in models]

        def value(points: Array) -> Array:
            return self._expectation(weights, (p.value(points) for p in posteriors))

        def negative(flat: Array) -> tuple[float, Array]:
            values, gradient = self._expectation_and_gradient(
                weights, posteriors, flat.reshape(-1, d)
            )
            return -float(np.sum(values)), -gradient.ravel()

        raw = rng.random((RAW_SAMPLES, d))
        starts = raw[np.argsort(-value(raw), kind="stable")[:RESTARTS]]
        result = minimize(
            negative,
            starts.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * starts.size,
        )
        ends = np.clip(result.x.reshape(-1, d), 0.0, 1.0)
        return ends[int(np.argmax(value(ends)))]


def _root(variance: Array, d_variance: Array) -> tuple[Array, Array]:
    """The standard deviation, ``… x m``, and its gradient, ``… x m x d``."""
    sd = np.sqrt(np.maximum(variance, 1e-20))
    return sd, 0.5 * d_variance / sd[..., None]
