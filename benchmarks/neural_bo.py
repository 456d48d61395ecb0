"""CPU time of NeuralBO's parts, and of whole runs.

``python benchmarks/neural_bo.py [--dim 20] [--queries 500] [--parts] [--round] [--algorithms …]``

``--parts``: σ for 512 candidates, one appended row, one training, at that many observations. ``--round``:
a whole round there, as printed: a training and the choice among the candidates. Otherwise whole runs on
Ackley with the default settings: seconds of CPU time of ask and tell, the largest f, and what random
search reaches. Imports are not counted. Set OMP_NUM_THREADS=1: the workflow's runs take one thread.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from replibo.algorithms.base import Algorithm, History, Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.neural_bo_released import NeuralBOReleased
from replibo.algorithms.neural_greedy import NeuralGreedy
from replibo.algorithms.parts.network_inputs import network_inputs
from replibo.algorithms.random_search import RandomSearch
from replibo.problems.base import Array
from replibo.problems.synthetic import Synthetic
from replibo.run.loop import Experiment, run_block
from replibo.streams import RunStreams
from replibo.surrogates.tangent_kernel import DualVariance, TangentKernel
from replibo.surrogates.two_layer_network import (
    TwoLayerNetwork,
    draw_weights,
    train_sgd,
)

ALGORITHMS: dict[str, type[Algorithm]] = {
    "neural_bo": NeuralBO,
    "neural_bo_released": NeuralBOReleased,
    "neural_greedy": NeuralGreedy,
    "random_search": RandomSearch,
}
WIDTH, CANDIDATES, REGULARIZER = 500, 512, 0.01


def parts(dim: int, n: int) -> None:
    """Milliseconds of the parts at ``n`` observations, the best of some repetitions."""
    rng = np.random.default_rng(0)
    X = network_inputs(rng.uniform(size=(n, dim)), "root_dim", False)
    points = rng.uniform(size=(CANDIDATES, dim))
    y = rng.standard_normal(n)
    weights = draw_weights(rng, dim, WIDTH, "section_7")
    variance = DualVariance(TangentKernel(*weights), REGULARIZER)
    start = time.process_time()
    for x in X:
        variance.append(x)
    print(f"all {n} rows appended: {time.process_time() - start:.2f} s")
    algorithm = NeuralBO(Space(dim), RunStreams("benchmark", "parts", "neural_bo", 0))
    h, normals, chosen, seconds = (
        0.3 * rng.standard_normal(CANDIDATES),
        rng.standard_normal(CANDIDATES),
        [],
        [],
    )
    algorithm.start_weights = weights
    bounded = DualVariance.upper_bound
    for way in (lambda self, X: None, bounded):
        DualVariance.upper_bound = way  # type: ignore[method-assign]
        chosen.append(int(np.argmax(algorithm.thompson_sample(variance, points, h, normals)[1])))
        seconds.append(_best(lambda: algorithm.thompson_sample(variance, points, h, normals)))
    same = "the same query" if chosen[0] == chosen[1] else "ANOTHER QUERY"
    print(
        f"σ for {CANDIDATES} candidates: {seconds[0]:.4f} s; where the sample may be largest: "
        f"{seconds[1]:.4f} s, ratio {seconds[0] / seconds[1]:.1f}, {same}"
    )
    print(f"held by σ: {variance.bytes() / 1e6:.0f} MB")
    setting: dict[str, Any] = {"learning_rate": 0.001, "epochs": 50, "batch_size": 50}
    seconds = [
        _best(partial(train, X, y, weights, rng=rng, regularizer=REGULARIZER, **setting))
        for train in (_ours, _pytorchs)
    ]
    print(
        f"a training: {seconds[0]:.3f} s; by PyTorch's modules and optimiser: {seconds[1]:.3f} s, "
        f"ratio {seconds[1] / seconds[0]:.1f}"
    )


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


def one_round(dim: int, n: int) -> None:
    """CPU seconds of a round at ``n`` observations of Ackley, the network trained in every one."""
    problem = Synthetic(function="Ackley", dim=dim)
    rng = np.random.default_rng(0)
    history = History(dim, dim + 1)
    algorithm = NeuralBO(Space(dim), RunStreams("benchmark", "round", "neural_bo", 0))
    for x in rng.uniform(size=(n, dim)):
        history.append(x, float(problem.evaluate_true(problem.to_native(x[None]))[0]))
    algorithm.ask(history, n)  # takes in all observations

    def again() -> None:
        x = algorithm.ask(history, len(history)).x
        history.append(x, float(problem.evaluate_true(problem.to_native(x[None]))[0]))

    print(f"a round at n = {n}, d = {dim}, trained: {_best(again):.3f} s")


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
    parser.add_argument("--dim", type=int, default=20, help="d (default: 20)")
    parser.add_argument("--queries", type=int, default=500, help="in all (default: 500)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds (default: 1)")
    parser.add_argument("--parts", action="store_true", help="the parts only")
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS), choices=ALGORITHMS)
    parser.add_argument("--round", action="store_true", help="a whole round only")
    options = parser.parse_args()
    if options.round:
        return one_round(options.dim, options.queries)
    if options.parts:
        return parts(options.dim, options.queries)
    problem = Synthetic(function="Ackley", dim=options.dim)
    print(f"Ackley, d = {options.dim}, {options.queries} queries, {options.seeds} seeds")
    for name in options.algorithms:
        cls = ALGORITHMS[name]
        for module in cls.late_imports:
            importlib.import_module(module)
        job = Experiment(
            "neuralbo",
            f"ackley_{options.dim}",
            name,
            problem,
            cls,
            options.queries,
            options.dim + 1,
            "initial",
        )
        runs = run_block(job, range(options.seeds))
        seconds = [np.sum(np.array(run.seconds)[:, :2]) for run in runs]
        best = [np.max(run.f) for run in runs]
        diverged = sum(d.get("diverged", 0.0) for run in runs for d in run.diagnostics)
        print(
            f"{name:<20} {np.mean(seconds):7.1f} s a run; largest f {np.mean(best):.3f} ± "
            f"{np.std(best):.3f}; {diverged:.0f} queries of diverged trainings",
            flush=True,
        )


if __name__ == "__main__":
    main()
