"""The problem contract, in BoTorch's words."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replibo.settings import Checked
from replibo.streams import RunStreams

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """What one query returns: the noisy value ``y``, the noise-free value ``f``, and what else the
    problem wants to have recorded."""

    y: float
    f: float
    diagnostics: dict[str, float] = field(default_factory=dict)


class Problem(metaclass=Checked):
    """A black-box function, always to be *maximised*.

    The attributes and methods carry the names of BoTorch's ``BaseTestProblem`` and
    ``SyntheticTestFunction``; `replibo.problems.botorch_interface.as_botorch` turns a problem into
    one, for use with BoTorch. Arrays are NumPy's, so that a run which needs no torch does not pay
    for its import.

    Attributes:
        dim: number of dimensions ``d``.
        bounds: ``2 x d``, lower and upper bounds in native units.
        optimal_value: the maximum of ``f`` over the domain; None where it is not known.
        noise_std: standard deviation of the observation noise, in units of ``f``.
        candidates: ``m x d``, the admissible points in native units, of a finite problem; else None.
        stand_in: a sentence saying what stands in for the real data; empty where the data are real.
        kept_queries: how many of a run's best queries keep their ``x`` in a paper's collected traces.
    """

    dim: int
    bounds: Array
    optimal_value: float | None
    noise_std: float = 0.0
    candidates: Array | None = None
    stand_in: str = ""
    kept_queries: int = 1

    @abstractmethod
    def evaluate_true(self, X: Array) -> Array:
        """The noise-free values ``f``, shape ``n``, at the native points ``X``, ``n x d``."""

    def of_seed(self, seed: int) -> Problem:
        """The problem that the runs of ``seed`` optimise.

        A family whose member the seed picks (the instances of a benchmark suite) overrides it; its
        docstring says which axis the seed varies. Members share ``dim``, ``bounds``,
        ``optimal_value`` and ``stand_in``.
        """
        return self

    def recorded(self) -> dict[str, Any]:
        """What figures need to know of the problem and traces do not hold, as JSON has it.

        It is kept in the metadata of the traces, so that a figure can be made from them without the
        problem's data files. Asked once, at the end of a job.
        """
        return {}

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        """Query the native point ``x``, shape ``d``, as the ``query``-th (0, 1, …) of a run."""
        f = float(self.evaluate_true(x[None, :])[0])
        noise = self.noise_std * streams.noise(query).standard_normal() if self.noise_std else 0.0
        return Observation(y=f + noise, f=f)

    # The one place where coordinates are converted: algorithms live in the unit cube.

    def to_native(self, U: Array) -> Array:
        """Native coordinates of the points ``U`` of the unit cube (``… x d``)."""
        lower, upper = self.bounds
        inside = np.clip(lower + (upper - lower) * np.asarray(U), lower, upper)
        # lower + (upper - lower) need not be upper, to the last bit
        return np.where(np.asarray(U) == 1.0, upper, inside)

    def to_unit(self, X: Array) -> Array:
        """Coordinates in the unit cube of the native points ``X`` (``… x d``)."""
        lower, upper = self.bounds
        return np.clip((np.asarray(X) - lower) / (upper - lower), 0.0, 1.0)
