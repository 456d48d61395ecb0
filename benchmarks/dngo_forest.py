"""CPU time of a fit of DNGO's network and of the random forest, on one thread.

``python benchmarks/dngo_forest.py [--dim 20] [--sizes 20 50 200 500 2000]``

A fit of DNGO is that of one run, alone and in a block whose runs train together. The forest is compared
with scikit-learn's.
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

from sklearn.ensemble import RandomForestRegressor

from replibo.streams import generator
from replibo.surrogates.forest import Forest
from replibo.surrogates.tanh_network import TanhNetwork, train_together

STEPS = 5000
BLOCKS = (1, 5, 10, 24)
"""Runs that train together."""


def seconds(work: Callable[[], object]) -> float:
    """CPU time of ``work``."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200, 500, 2000])
    parser.add_argument("--dim", type=int, default=20, help="D (20)")
    arguments = parser.parse_args()
    dim = arguments.dim
    rng = generator("benchmark", "dngo_forest")
    # the first calls load libraries
    TanhNetwork(2, rng).train(rng.random((5, 2)), rng.random(5), rng, epochs=1)
    Forest(rng.random((5, 2)), rng.random(5), trees=1, rng=rng)
    print(f"{'CPU, one thread, D = ' + str(dim):<34}{'n':>6}{'fit s':>9}")
    for n in arguments.sizes:
        X, y = rng.random((n, dim)), rng.standard_normal(n)
        batches = max(n // 10, 1)
        epochs = max(1, STEPS // batches)  # a part of the 500, for the time of a step
        settings = {"epochs": epochs, "batch_size": 10, "learning_rate": 0.01}
        for K in BLOCKS:
            networks = [TanhNetwork(dim, rng) for _ in range(K)]
            data = networks, [X] * K, [y] * K, [rng] * K
            step = seconds(partial(train_together, *data, **settings)) / (K * epochs * batches)
            label = f"DNGO, {K} at once, {step * 1e6:.0f} µs a step"
            print(f"{label:<34}{n:>6}{500 * batches * step:>9.2f}")
        ours = seconds(partial(Forest, X, y, trees=500, rng=rng))
        theirs = seconds(partial(RandomForestRegressor(500, random_state=0).fit, X, y))
        print(f"{'random forest':<34}{n:>6}{ours:>9.3f}")
        print(f"{'random forest of scikit-learn':<34}{n:>6}{theirs:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
