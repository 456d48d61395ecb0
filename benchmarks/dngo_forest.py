"""CPU time of DNGO and of the random forest: a fit, a prediction, whole runs; one thread.

A fit of DNGO is that of one run, alone and in a block whose runs train together. A run asks Levy's
function in the unit cube, from D + 1 initial points, default settings.
"""

# ruff: noqa: E402  (the threads are set before the imports)
from __future__ import annotations

import os

# Before NumPy is loaded: runs take one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from replibo.algorithms.base import Algorithm, History, Space
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.random_forest import RandomForest
from replibo.streams import RunStreams, generator
from replibo.surrogates.bayesian_linear_regression import BayesianLinearRegression
from replibo.surrogates.forest import Forest
from replibo.surrogates.tanh_network import TanhNetwork, train_together

CANDIDATES, STEPS = 512, 5000
BLOCKS = (1, 5, 10, 24)
"""Runs that train together."""


def seconds(work: Callable[[], object]) -> float:
    """CPU time of ``work``."""
    start = time.process_time()
    work()
    return time.process_time() - start


def minus_levy(U: np.ndarray) -> np.ndarray:
    """``n``, at the points ``U`` (``n x d``) of the unit cube, which stands for [-10, 10]^d."""
    w = 1 + (20 * U - 11) / 4
    inner = (w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.asarray(-(np.sin(np.pi * w[:, 0]) ** 2 + inner.sum(axis=1) + last))


def regress(network: TanhNetwork, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> None:
    """What DNGO does at each query, but for the candidates: features, regression, posterior."""
    regression = BayesianLinearRegression(network.features(X), y)
    regression.posterior(network.features(new))


def run(method: type[Algorithm], dim: int, queries: int) -> None:
    """A whole run; ``queries`` include the initial points."""
    streams = RunStreams("benchmark", f"levy_{dim}", method.__name__, 0)
    algorithm = method(Space(dim), streams)
    history = History(dim, dim + 1)
    for x in streams.initial().random((dim + 1, dim)):
        history.append(x, float(minus_levy(x[None])[0]))
    for t in range(1, queries - dim):
        proposal = algorithm.ask(history, t)
        history.append(proposal.x, float(minus_levy(proposal.x[None])[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200, 500, 2000])
    parser.add_argument("--dim", type=int, default=20, help="of the fits and the long run (20)")
    parser.add_argument("--queries", type=int, default=500, help="of the long run (500)")
    arguments = parser.parse_args()
    dim = arguments.dim

    rng = generator("benchmark", "dngo_forest")
    new = rng.random((CANDIDATES, dim))
    # the first calls load libraries
    for method in (Dngo, RandomForest):
        run(method, 2, 5)

    print(f"{'CPU, one thread, D = ' + str(dim):<34}{'n':>6}{'fit s':>9}{'per 512 ms':>12}")
    for n in arguments.sizes:
        X = rng.random((n, dim))
        y = minus_levy(X)
        y = (y - y.mean()) / y.std(ddof=1)
        batches = max(n // 10, 1)
        epochs = max(1, STEPS // batches)  # a part of the 500, for the time of a step
        settings = {"epochs": epochs, "batch_size": 10, "learning_rate": 0.01}
        for K in BLOCKS:
            networks = [TanhNetwork(dim, rng) for _ in range(K)]
            data = networks, [X] * K, [y] * K, [rng] * K
            spent = seconds(partial(train_together, *data, **settings))
            step = spent / (K * epochs * batches)
            predicted = seconds(partial(regress, networks[0], X, y, new))
            label = f"DNGO, {K} at once, {step * 1e6:.0f} µs a step"
            print(f"{label:<34}{n:>6}{500 * batches * step:>9.2f}{predicted * 1e3:>12.1f}")
        start = time.process_time()
        forest = Forest(X, y, trees=500, rng=rng)
        fitted = time.process_time() - start
        predicted = seconds(partial(forest.moments, new))
        print(f"{'random forest':<34}{n:>6}{fitted:>9.3f}{predicted * 1e3:>12.1f}")
        theirs = RandomForestRegressor(500, random_state=0)
        spent = seconds(partial(theirs.fit, X, y))
        predicted = seconds(partial(theirs.predict, new))
        print(
            f"{'scikit-learn, the mean alone':<34}{n:>6}{spent:>9.3f}{predicted * 1e3:>12.1f}",
            flush=True,
        )

    print(f"\n{'run':<34}{'D':>6}{'queries':>9}{'s':>12}")
    for method in (Dngo, RandomForest):
        for d, queries in ((2, 40), (dim, arguments.queries)):
            spent = seconds(partial(run, method, d, queries))
            print(f"{method.__name__:<34}{d:>6}{queries:>9}{spent:>12.1f}", flush=True)


if __name__ == "__main__":
    main()
