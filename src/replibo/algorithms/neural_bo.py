"""NeuralBO as printed: Algorithm 1 of Phan-Trong, Tran-The and Gupta (2023), set as in section 7."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from replibo.algorithms.base import History, Proposal, Space
from replibo.algorithms.parts.candidates import memory_bytes
from replibo.algorithms.parts.devices import Device, torch_device
from replibo.algorithms.parts.neural_surrogate import NeuralSurrogate, ObservedVariance, choose
from replibo.problems.base import Array
from replibo.settings import NonNegative, SettingError
from replibo.streams import RunStreams
from replibo.surrogates.bounds import evaluate_where_best
from replibo.surrogates.gp_regression import factor
from replibo.surrogates.tangent_kernel import (
    DualVariance,
    PrimalVariance,
    TangentKernel,
    Variance,
)

# The scale of the jitter that a covariance may need. σ² is 0 everywhere if each candidate is the
# centre.
SMALLEST_SCALE = 1e-12


class NeuralBO(NeuralSurrogate):
    """Thompson sampling with a network's mean and its tangent kernel's variance.

    Each round: σ_t² from all observations at the fixed features g(·; θ₀) (lines 3 and 7), a sample
    f̃(x) ~ N(h(x; θ), ν² σ_t²(x)) (line 4), its maximum over the candidates (line 5), TrainNN (line 6).
    The sample is fresh at each round. Everything is maximised.

    Departures from the print, by the defaults: the inputs are [−1, 1]^d/√d (`network_inputs`) and a step
    follows the mean of a batch's losses, not their sum; without either trainings diverge. What the print
    leaves open: the sample is maximised over finitely many candidates (`Candidates`).

    The printed network has no bias and y is not centred. If all y are negative (−f of a positive
    function), h is a cone whose apex, of value 0, is the centre of the box. The sample is largest
    there from the first rounds on. The centre is the optimum of Ackley's function. ``constant_input`` and
    ``y_scaling: standardise`` take this away.

    Args:
        nu: ν ≥ 0; section 7 searches {0.1, 1, 10}.
        variance: how σ is computed; ``dual``, by a factor that grows with the observations
            (`DualVariance`); ``printed``, by the p × p matrix of line 7 (`PrimalVariance`), which is
            the same σ up to rounding, and 20 GB at d = 100.
        sample: ``independent`` from candidate to candidate, as line 4 reads; ``joint``, with the
            covariance that belongs to σ² ("a random sample of the function", section 1).
        device: where σ is computed: ``cpu`` or ``cuda``.
        settings: those of `NeuralSurrogate`.

    Raises:
        SettingError: there is no GPU, or the p × p matrix of ``printed`` would not fit in memory.
    """

    late_imports: ClassVar[tuple[str, ...]] = ("torch",)
    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (where it has diverged, the centre of its units)",
        "sigma": "σ_t at the query, before ν, in units of y",
        "training_loss": "mean squared residual after the training in force, in the network's units",
        "diverged": "1 where the training in force ended in weights that are NaN or infinite, else 0",
        "trained_on": "number of observations that the training in force was made on",
        "surrogate_bytes": "memory held by the surrogate's tensors",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        nu: NonNegative = 1.0,
        variance: Literal["dual", "printed"] = "dual",
        sample: Literal["independent", "joint"] = "independent",
        device: Device = "cpu",
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        torch_device(device)
        self.nu, self.sample, self.device = nu, sample, device
        if variance == "printed":
            self._check_memory()
        form = DualVariance if variance == "dual" else PrimalVariance

        def prior() -> Variance:
            kernel = TangentKernel(*self.start_weights, device=self.device)
            return form(kernel, self.regularizer)

        self._variance = ObservedVariance(prior, self.inputs)

    def _correlated(self, variance: Variance, X: Array, normals: Array) -> Array:
        """A zero-mean sample with the posterior covariance of the points ``X`` (``n x d``): ``n``."""
        import torch

        covariance = torch.from_numpy(variance.covariance(self.inputs(X)))
        L = factor(covariance, max(float(covariance.diagonal().mean()), SMALLEST_SCALE))
        return np.asarray(L @ torch.from_numpy(normals))

    def thompson_sample(
        self, variance: Variance, X: Array, h: Array, normals: Array
    ) -> tuple[Array, Array]:
        """σ and f̃ at the candidates, ``n`` each; where f̃ cannot be the largest, an upper bound of σ."""
        inputs = self.inputs(X)
        if self.sample == "joint":
            correlated = self._correlated(variance, X, normals)
            return variance.variance(inputs) ** 0.5, h + self.nu * correlated
        bound = variance.upper_bound(inputs)
        if bound is None:
            sigma = variance.variance(inputs) ** 0.5
        else:
            sigma = bound**0.5

            def values(rows: NDArray[np.intp]) -> Array:
                sigma[rows] = variance.variance(inputs[rows]) ** 0.5
                return h[rows] + self.nu * sigma[rows] * normals[rows]

            evaluate_where_best(h + self.nu * sigma * np.maximum(normals, 0.0), values)
        return sigma, h + self.nu * sigma * normals

    def _check_memory(self) -> None:
        """Raise a `SettingError` where the printed form cannot fit."""
        hidden, output = self.start_weights
        p = hidden.size + output.size
        needed = PrimalVariance.bytes_needed(p, self.candidates.count)
        if needed > (memory := _memory_bytes_of(self.device)):
            raise SettingError(
                "variance",
                f"must be dual, got printed: its {p} x {p} matrix needs {needed / 1e9:.3g} GB, and "
                f"the {self.device} has {memory / 1e9:.3g}",
            )

    def targets(self, y: Array, rng: np.random.Generator) -> Array:
        return y

    def tell(self, history: History) -> None:
        """Append the observations to σ's factor (`ask` would do it, too)."""
        self._variance.after(history)

    def ask(self, history: History, t: int) -> Proposal:
        fit = self.fit(history)
        X, rows = self.candidates.draw(history)
        rng = self.streams.algorithm_at(len(history))
        h = self.prediction(X, fit)
        variance, normals = self._variance.after(history), rng.standard_normal(len(X))
        sigma, sample = self.thompson_sample(variance, X, h, normals)
        if fit.training.diverged:
            sample = rng.uniform(size=len(X))  # a candidate at random
            chosen = [int(np.argmax(sample))]
            sigma[chosen] = variance.variance(self.inputs(X[chosen])) ** 0.5
        return choose(
            self.candidates,
            X,
            rows,
            sample,
            {
                "mean": fit.centre + fit.scale * h,
                "sigma": fit.scale * sigma,
                "training_loss": fit.training.loss,
                "diverged": fit.training.diverged,
                "trained_on": len(fit.seen),
                "surrogate_bytes": fit.training.network.bytes() + variance.bytes(),
            },
        )


def _memory_bytes_of(device: str) -> float:
    """The memory of the machine, or of the GPU where ``device`` is one."""
    if device == "cpu":
        return memory_bytes()
    import torch

    return float(torch.cuda.get_device_properties(device).total_memory)
