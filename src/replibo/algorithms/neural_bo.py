"""NeuralBO as printed: Algorithm 1 of Phan-Trong, Tran-The and Gupta (2023), set as in section 7."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from replibo.algorithms.base import History, Proposal, Space
from replibo.algorithms.parts.candidates import memory_bytes
from replibo.algorithms.parts.neural_surrogate import NeuralSurrogate, ObservedVariance, choose
from replibo.problems.base import Array
from replibo.settings import NonNegative, SettingError
from replibo.streams import RunStreams
from replibo.surrogates.tangent_kernel import (
    DualVariance,
    PrimalVariance,
    TangentKernel,
    Variance,
)


class NeuralBO(NeuralSurrogate):
    """Thompson sampling with a network's mean and its tangent kernel's variance.

    Each round: σ_t² from all observations at the fixed features g(·; θ₀) (lines 3 and 7), a sample
    f̃(x) ~ N(h(x; θ), ν² σ_t²(x)) (line 4), its maximum over the candidates (line 5), TrainNN (line 6).
    The sample is fresh at each round and independent from candidate to candidate, as line 4 has it.

    Departures from the print. Without these it does not work: the inputs (`network_inputs`) and
    standardised y, in whose units h and σ are. For what the print leaves open or would cost too much: the
    sample is maximised over finitely many candidates (`Candidates`), and the network is trained at the
    sizes of `RefitSchedule` (``refit_growth`` 0: at every round). Everything is maximised.

    Args:
        space, streams: the run's.
        nu: ν ≥ 0; section 7 searches {0.1, 1, 10}.
        variance: how σ is computed; ``dual``, by a factor that grows with the observations
            (`DualVariance`); ``printed``, by the p × p matrix of line 7 (`PrimalVariance`), which is
            the same σ up to rounding, and 20 GB at d = 100.
        settings: those of `NeuralSurrogate`.

    Raises:
        SettingError: the p × p matrix of ``printed`` would not fit in memory.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "mean": "h at the query, in units of y (mean of the observations where it has diverged)",
        "sigma": "σ_t at the query, before ν, in units of y",
        "training_loss": "mean squared residual after the training in force, of standardised y",
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
        **settings: Any,
    ) -> None:
        super().__init__(space, streams, **settings)
        self.nu = nu
        if variance == "printed":
            self._check_memory()
        form = DualVariance if variance == "dual" else PrimalVariance

        def prior() -> Variance:
            kernel = TangentKernel(*self.start_weights, device=self.device)
            return form(kernel, self.regularizer)

        self._variance = ObservedVariance(prior, self.inputs)

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
        variance = self._variance.after(history)
        sigma = variance.variance(self.inputs(X)) ** 0.5
        sample = h + self.nu * sigma * rng.standard_normal(len(X))
        if fit.training.diverged:
            sample = rng.uniform(size=len(X))  # a candidate at random
        return choose(
            self.candidates,
            X,
            rows,
            sample,
            {
                "mean": fit.mean + fit.sd * h,
                "sigma": fit.sd * sigma,
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
