"""CPU time of a GP baseline's round between two fits: an appended observation, and the choice among the
candidates, by the deviations at all of them and only where the best may be.

``python benchmarks/gp_bounds.py [--dim 20] [--observations 2000] [--candidates 512]``

On noisy observations of Ackley, half of them local; half of the candidates are local. The last
twentieth of the observations was appended after the fit. With PYTHONPATH at the ``src`` of another
checkout it times that one. Set
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import functools
import time

import numpy as np
import torch
from gp_regression import observations

from replibo.algorithms.parts.acquisition_functions import (
    log_expected_improvement,
    upper_confidence_bound,
)
from replibo.surrogates import gp_regression
from replibo.surrogates.gp_regression import Fit, GpRegression, Hyperparameters

REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--observations", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=512)
    options = parser.parse_args()
    n = options.observations
    X, y = observations(n, options.dim)
    # hyperparameters of a fit to fewer of them: a fit to all would take longer than all that is measured
    fitted: Fit = GpRegression(X[:300], y[:300], device=torch.device("cpu"), capacity=300).fitted
    hyperparameters: Hyperparameters = fitted.hyperparameters
    gp_regression.fit = lambda *_, **__: Fit(hyperparameters, 0.0, True, 0)
    fitted_at = n - n // 20
    gp = GpRegression(X[:fitted_at], y[:fitted_at], device=torch.device("cpu"), capacity=n)
    start = time.process_time()
    for i in range(fitted_at, n):
        gp.append(X[i], float(y[i]))
    print(f"an observation appended: {(time.process_time() - start) / (n - fitted_at):.4f} s")
    rng = np.random.default_rng(1)
    points = rng.random((options.candidates, options.dim))
    half = len(points) // 2
    points[:half] = np.clip(X[np.argmax(y)] + 0.05 * rng.standard_normal(points[:half].shape), 0, 1)
    best = float(np.max(gp.observed()))
    for name, acquisition in (
        ("GP-UCB, beta 4", functools.partial(upper_confidence_bound, beta=4.0)),
        ("GP-UCB, beta 100", functools.partial(upper_confidence_bound, beta=100.0)),
        ("GP-EI", functools.partial(log_expected_improvement, best=best, xi=0.01)),
    ):
        seconds, chosen = [], []
        for posterior in (gp.posterior, lambda Z, a=acquisition: gp.posterior_where_best(Z, a)):
            posterior(points)
            start = time.process_time()
            for _ in range(REPEATS):
                chosen.append(int(np.argmax(acquisition(*posterior(points)))))
            seconds.append((time.process_time() - start) / REPEATS)
        same = "the same query" if len(set(chosen)) == 1 else "ANOTHER QUERY"
        print(
            f"{name}: {seconds[0]:.3f} s, {seconds[1]:.3f} s, ratio {seconds[0] / seconds[1]:.1f}, {same}"
        )


if __name__ == "__main__":
    main()
