"""GP-UCB with the best length scale known beforehand: the oracle of the LB-GP-UCB paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts.acquisition import UcbMaximiser
from replibo.errors import RepliboError, allowed
from replibo.settings import NonNegative, SettingError
from replibo.streams import RunStreams
from replibo.surrogates.kernels import LengthScale


class Oracle(Algorithm):
    """GP-UCB at a fixed length scale θ̂* (Ziomek, Adachi and Osborne 2024, sections 3 and 5).

    x_t = argmax_x μ(x) + β σ(x) of the GP with length scale θ̂*, given all data so far. An algorithm
    does not see the function, so θ̂* is a setting; ``tests/algorithms/optimal_length_scale.py`` computes
    it as the released code does, from scrambled Sobol points.

    Args:
        length_scale: θ̂*, in units of the cube; or one for each problem, by the problem's name in
            the config.
        beta: β, the factor of the standard deviation itself.
        noise_variance: σ² of the GP, in units of the standardised y.
    """

    diagnostics: ClassVar[dict[str, str]] = {
        "length_scale": "θ̂*, in units of the cube",
        "beta": "β",
        "jitter": "added to the noise variance where the kernel matrix is singular, else 0",
    }

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        length_scale: LengthScale | Mapping[str, LengthScale],
        beta: NonNegative = 1.0,
        noise_variance: NonNegative = 1e-4,
    ) -> None:
        super().__init__(space, streams)
        if isinstance(length_scale, Mapping):
            if streams.problem not in length_scale:
                raise SettingError(
                    "length_scale", f"must hold {streams.problem}, got {allowed(length_scale)}"
                )
            length_scale = length_scale[streams.problem]
        self.length_scale = length_scale
        self.beta = beta
        self._maximiser = UcbMaximiser(space, noise_variance)

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 0:
            raise RepliboError("initial_points: must be at least 1, got 0")
        maximum = self._maximiser.maximise(
            history,
            self.length_scale,
            self.beta,
            self.streams.algorithm_at(len(history)),
            fixed=True,
        )
        return Proposal(
            maximum.x,
            maximum.candidate,
            {"length_scale": self.length_scale, "beta": self.beta, "jitter": maximum.jitter},
        )
