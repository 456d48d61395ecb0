"""EI, PI and UCB of scikit-optimize, the baselines of the GO-UCB paper."""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal

import numpy as np

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.errors import RepliboError
from replibo.settings import Count
from replibo.streams import RunStreams

ACQUISITIONS = {"EI": "EI", "PI": "PI", "UCB": "LCB"}


class ScikitOptimize(Algorithm):
    """``skopt.Optimizer`` with a GP, by ask and tell, minimising -y; two of its defaults are settings.

    scikit-optimize keeps a random state from call to call. Here a fresh optimizer for each query is
    told the whole history and seeded by the query's own stream. It fits one GP, as the stock loop
    does at each tell, and the proposal is a function of the history.

    Args:
        acquisition: ``EI`` and ``PI`` (xi = 0.01) or ``UCB`` (scikit-optimize's LCB, kappa = 1.96).
        avoid_duplicates: scikit-optimize 0.10 replaces a proposal that it has made before by a
            uniform random point, unless told otherwise; the releases of the paper's time repeat it.
        n_initial_points: how many observations the first GP needs, the initial points included; until
            then the proposals are uniform. None: the initial points alone. scikit-optimize's default
            is 10.
    """

    late_imports: ClassVar[tuple[str, ...]] = ("skopt",)

    def __init__(
        self,
        space: Space,
        streams: RunStreams,
        *,
        acquisition: Literal["EI", "PI", "UCB"],
        avoid_duplicates: bool = False,
        n_initial_points: Count | None = None,
    ) -> None:
        super().__init__(space, streams)
        if space.candidates is not None:
            raise RepliboError("scikit-optimize: the problem must be continuous, got a finite pool")
        self.acquisition = acquisition
        self.avoid_duplicates = avoid_duplicates
        self.n_initial_points = n_initial_points

    def ask(self, history: History, t: int) -> Proposal:
        import skopt

        rng = self.streams.algorithm_at(len(history))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "evaluated before", and the GP fit's convergence
            optimizer = skopt.Optimizer(
                [(0.0, 1.0)] * self.space.dim,
                base_estimator="GP",
                n_initial_points=self.n_initial_points or history.n_initial,
                acq_func=ACQUISITIONS[self.acquisition],
                acq_func_kwargs={"xi": 0.01, "kappa": 1.96},
                avoid_duplicates=self.avoid_duplicates,
                random_state=int(rng.integers(2**31)),
            )
            optimizer.tell(history.X.tolist(), (-history.y).tolist())
            x = np.asarray(optimizer.ask())
        return Proposal(np.clip(x, 0.0, 1.0))
