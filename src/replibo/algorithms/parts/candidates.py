"""The candidates among which a sampled acquisition is maximised: one rule for every algorithm.

NeuralBO (Phan-Trong, Tran-The and Gupta 2023) maximises a Thompson sample over the domain
(Algorithm 1, line 5) and does not say how. A fresh sample is one normal number per point, so it can
only be maximised over finitely many points. Every algorithm of that paper's figures, the baselines
included, chooses among as many candidates. (Readings may differ: the released code's candidates,
BoTorch's own search, uniform points alone.)
"""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

from replibo.algorithms.base import History, Proposal, Space
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.settings import SettingError
from replibo.streams import RunStreams

# Standard deviations of the local perturbations, in units of the cube's edge: log-uniform between.
LOWEST_LOCAL_SD, HIGHEST_LOCAL_SD = 1e-3, 1e-1


class Candidates:
    """Draws the candidates of one run.

    On the cube: ``count`` points, of which a share ``local_fraction`` are the incumbent (the point of
    largest y so far; ties go to the first) plus Gaussian steps, each of a standard deviation
    log-uniform between `LOWEST_LOCAL_SD` and `HIGHEST_LOCAL_SD`, clipped to the cube; the rest are
    uniform. With ``local_fraction`` 0 all are uniform. On a finite problem: ``count`` different rows
    of the pool (all of them, in the pool's order, where it has no more).

    The random numbers are of the stream ``candidates``, which does not know the algorithm: the uniform
    points, the rows and the steps are the same for every algorithm at the same seed and query.

    Args:
        bytes_per_candidate: what the algorithm needs for each, to refuse what cannot fit.
    """

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        count: int,
        local_fraction: float,
        bytes_per_candidate: float = 0.0,
    ) -> None:
        self.space, self.streams = space, streams
        self.count, self.local = count, round(count * local_fraction)
        needed = count * (bytes_per_candidate + 8.0 * space.dim)
        if needed > (memory := memory_bytes()):
            raise SettingError(
                "candidates",
                f"must be at most {math.floor(count * memory / needed)}, got {count}: they need "
                f"{needed / 1e9:.3g} GB, and this machine has {memory / 1e9:.3g}",
            )

    def draw(self, history: History) -> tuple[Array, NDArray[np.int64]]:
        """The candidates for the next query, ``m x d``, and their rows in the pool (-1 on a cube)."""
        rng = self.streams.candidates(len(history))
        pool = self.space.candidates
        if pool is not None:
            rows = np.arange(len(pool))
            if self.count < len(pool):
                rows = rng.choice(len(pool), size=self.count, replace=False)
            return pool[rows], rows
        X = rng.uniform(size=(self.count, self.space.dim))
        if self.local and len(history):
            log_sd = rng.uniform(
                math.log(LOWEST_LOCAL_SD), math.log(HIGHEST_LOCAL_SD), size=(self.local, 1)
            )
            steps = np.exp(log_sd) * rng.standard_normal((self.local, self.space.dim))
            incumbent = history.X[int(np.argmax(history.y))]
            X[: self.local] = np.clip(incumbent + steps, 0.0, 1.0)
        return X, np.full(len(X), -1)

    def best(
        self,
        X: Array,
        rows: NDArray[np.int64],
        acquisition: Array,
        diagnostics: dict[str, float] | None = None,
    ) -> Proposal:
        """The candidate of largest ``acquisition`` (``m``); ties go to the first."""
        if np.any(np.isnan(acquisition)):
            raise RepliboError("acquisition: NaN at a candidate; the surrogate has diverged")
        i = int(np.argmax(acquisition))
        return Proposal(X[i], int(rows[i]), diagnostics or {})


def memory_bytes() -> float:
    """The machine's memory."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
