"""GP-UCB with the length scale of maximum likelihood: the baseline "MLE" of the LB-GP-UCB paper."""

from __future__ import annotations

from typing import ClassVar, Literal

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition import BEST_OBSERVED, Sigma, UcbMaximiser
from replibo.errors import RepliboError
from replibo.settings import Natural, NonNegative
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import KERNELS, KernelName
from replibo.surrogates.length_scale_fit import LOWER_BOUND, LowerBound, fit_length_scale


class GpUcbMle(Algorithm):
    """GP-UCB, length scale by maximum likelihood (Ziomek, Adachi and Osborne 2024, section 5).

    At each round, from all data so far:

    - y is standardised (mean 0, standard deviation 1, divisor n - 1);
    - ℓ_t ← argmax_ℓ log p(y | X, ℓ), isotropic kernel, outputscale 1, fixed noise variance;
    - x_t = argmax_x μ(x; ℓ_t) + β σ(x; ℓ_t): over the whole pool, where ties go to the first (a
      point may be asked again; no random number is drawn); over the cube by gradient ascent from several
      starts (`replibo.algorithms.parts.acquisition`).

    Args:
        beta: β, the factor of the standard deviation itself (BoTorch's ``beta`` is its square).
        sigma: the σ that β multiplies: "latent", of f; "predictive", with the noise, as released.
        kernel: of the GP; the paper's theory covers both, its released code runs Matérn-5/2.
        noise_variance: σ², in units of the standardised y.
        length_scale_start: "single", L-BFGS-B from ℓ = 0.693 only, as the released code does it;
            "multi", from several starts, as the paper says, and with a lower bound of ours
            (`replibo.surrogates.length_scale_fit.fit_length_scale`).
        length_scale_lower_bound: in units of the cube; used by "multi" only.
        best_observed: on a cube, number of the best points observed beside which starts of the
            ascent are looked for too (`replibo.algorithms.parts.acquisition.UcbMaximiser`).
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "ℓ_t, in units of the cube",
        "log_marginal_likelihood": "log p(y | X, ℓ_t) of the standardised y, nats, all n together",
        "jitter": "added to the noise variance where the kernel matrix is singular, else 0",
        "fit_converged": "1 where L-BFGS-B ended by a tolerance, else 0",
        "fit_at_bound": "1 where ℓ_t is the lower bound of the multi-start fit, else 0",
        "fit_collapsed": "1 where ℓ_t reads the data as white noise (correlations < 1 %), else 0",
        "fit_evaluations": "evaluations of the marginal likelihood in this round",
        "length_scale_single_start": "ℓ_t as the released code's only start finds it",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        beta: NonNegative = 1.0,
        sigma: Sigma = "latent",
        kernel: KernelName = "matern52",
        noise_variance: NonNegative = 1e-4,
        length_scale_start: Literal["single", "multi"] = "single",
        length_scale_lower_bound: LowerBound = LOWER_BOUND,
        best_observed: Natural = BEST_OBSERVED,
    ) -> None:
        super().__init__(space, streams)
        self.beta = beta
        self.kernel = KERNELS[kernel]
        self.noise_variance = noise_variance
        self.length_scale_start = length_scale_start
        self.length_scale_lower_bound = length_scale_lower_bound
        self._maximiser = UcbMaximiser(
            space, noise_variance, sigma=sigma, kernel=kernel, best_observed=best_observed
        )

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        fit = fit_length_scale(
            self._maximiser.distances(history),
            standardise(history.y),
            self.noise_variance,
            starts=self.length_scale_start,
            lower_bound=self.length_scale_lower_bound,
            kernel=self.kernel,
        )
        maximum = self._maximiser.maximise(
            history,
            fit.length_scale,
            self.beta,
            self.streams.algorithm_at(len(history)),
            fixed=False,  # the next one differs
        )
        return Proposal(
            maximum.x,
            maximum.candidate,
            {
                "length_scale": fit.length_scale,
                "log_marginal_likelihood": fit.log_marginal_likelihood,
                "jitter": maximum.jitter,
                "fit_converged": float(fit.converged),
                "fit_at_bound": float(fit.at_bound),
                "fit_collapsed": float(fit.collapsed),
                "fit_evaluations": float(fit.evaluations),
                "length_scale_single_start": fit.from_released_start,
            },
        )
