"""CPU time of one training of NeuralBO's network, ours and by PyTorch's modules and optimiser.

``OMP_NUM_THREADS=1 python benchmarks/neural_bo.py [--parts 500] [--dim 20]``

``--parts``: the numbers of observations. Imports are not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from replibo.algorithms.parts.network_inputs import network_inputs
from replibo.problems.base import Array
from replibo.surrogates.two_layer_network import TwoLayerNetwork, draw_weights, train_sgd

WIDTH, REGULARIZER = 500, 0.01


def training(dim: int, n: int) -> None:
    """Seconds of a training on ``n`` observations, the best of some repetitions."""
    rng = np.random.default_rng(0)
    X = network_inputs(rng.uniform(size=(n, dim)), "root_dim", False)
    y = rng.standard_normal(n)
    weights = draw_weights(rng, dim, WIDTH, "section_7")
    setting: dict[str, Any] = {"learning_rate": 0.001, "epochs": 50, "batch_size": 50}
    ours, theirs = (
        _best(partial(train, X, y, weights, rng=rng, regularizer=REGULARIZER, **setting))
        for train in (_ours, _pytorchs)
    )
    print(f"n = {n}, d = {dim}: {ours:.3f} s; PyTorch {theirs:.3f} s, ratio {theirs / ours:.1f}")


def _ours(X: Array, y: Array, weights: tuple[Array, Array], **setting: Any) -> None:
    train_sgd(TwoLayerNetwork(*weights), X, y, batch_loss="mean", **setting)


def _pytorchs(
    X: Array,
    y: Array,
    weights: tuple[Array, Array],
    *,
    rng: np.random.Generator,
    regularizer: float,
    learning_rate: float,
    epochs: int,
    batch_size: int,
) -> None:
    """The same training by automatic differentiation, the regulariser as a decay towards θ₀ left out."""
    m = len(weights[1])
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], m, bias=False),
        torch.nn.ReLU(),
        torch.nn.Linear(m, 1, bias=False),
    )
    points = torch.tensor(X, dtype=torch.float32)
    targets = torch.tensor(y, dtype=torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for batch in torch.tensor(rng.permutation(len(y))).split(batch_size):
            optimizer.zero_grad()
            residuals = m**0.5 * network(points[batch])[:, 0] - targets[batch]
            (0.5 * residuals.square().mean()).backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _best(work: Callable[[], object], repetitions: int = 5) -> float:
    """CPU seconds of the quickest repetition, after one that is not counted."""
    seconds = []
    for _ in range(repetitions + 1):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[500], help="observations (500)")
    parser.add_argument("--dim", type=int, default=20, help="d (default: 20)")
    options = parser.parse_args()
    for n in options.parts:
        training(options.dim, n)


if __name__ == "__main__":
    main()
