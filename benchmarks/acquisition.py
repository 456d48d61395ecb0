"""CPU time of an iteration of GP-UCB on continuous domains, one thread: fitting the length scale or
not, maximising the UCB over the cube; the black box is left out.

Fixed: one length scale that stays, as a candidate of LB-GP-UCB. Changing: another at every round, as
in A-GP-UCB.
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

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ucb_mle import GpUcbMle
from replibo.algorithms.parts.acquisition import UcbMaximiser
from replibo.problems.base import Problem
from replibo.problems.berkenkamp import Berkenkamp
from replibo.problems.michalewicz import Michalewicz5
from replibo.streams import RunStreams

NOISE_VARIANCE, LENGTH_SCALE = 1e-4, 0.3

Ask = Callable[[History, int], np.ndarray]


def asker(method: str, problem: Problem, streams: RunStreams, best_observed: int) -> Ask:
    """The query of ``method`` at round t."""
    space = Space(problem.dim)
    if method == "MLE":
        mle = GpUcbMle(space, streams, best_observed=best_observed)
        return lambda history, t: mle.ask(history, t).x
    maximiser = UcbMaximiser(space, NOISE_VARIANCE, best_observed=best_observed)
    fixed = method == "fixed"

    def ask(history: History, t: int) -> np.ndarray:
        length_scale = LENGTH_SCALE if fixed else LENGTH_SCALE / max(1.65, t**0.5)
        rng = streams.algorithm_at(len(history))
        return maximiser.maximise(history, length_scale, 1.0, rng, fixed=fixed).x

    return ask


def seconds(
    method: str, problem: Problem, seed: int, iterations: int, best_observed: int
) -> np.ndarray:
    """CPU seconds of each iteration."""
    streams = RunStreams("benchmark", type(problem).__name__, method, seed)
    ask = asker(method, problem, streams, best_observed)
    history = History(problem.dim, 10)

    def observe(x: np.ndarray) -> None:
        history.append(x, float(problem.evaluate_true(problem.to_native(x[None]))[0]))

    for x in streams.initial().random((10, problem.dim)):
        observe(x)
    spent = np.empty(iterations)
    for t in range(1, iterations + 1):
        start = time.process_time()
        x = ask(history, t)
        spent[t - 1] = time.process_time() - start
        observe(x)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=250, help="rounds of a run (250)")
    parser.add_argument("--seeds", type=int, default=3, help="runs to take the mean of (3)")
    parser.add_argument("--best-observed", type=int, default=0, help="setting of the ascent (0)")
    arguments = parser.parse_args()

    print(f"CPU ms per iteration, one thread, up to n = {arguments.iterations + 10}")
    print(f"{'problem':<14}{'length scale':<14}{'mean':>9}{'last 10 %':>11}")
    for problem in (Berkenkamp(), Michalewicz5()):
        seconds("MLE", problem, 0, 3, 0)  # the first calls load libraries
        for method in ("MLE", "fixed", "changing"):
            spent = 1e3 * np.array(
                [
                    seconds(method, problem, seed, arguments.iterations, arguments.best_observed)
                    for seed in range(arguments.seeds)
                ]
            )
            last = spent[:, -max(arguments.iterations // 10, 1) :]
            print(
                f"{type(problem).__name__:<14}{method:<14}{spent.mean():>9.2f}{last.mean():>11.2f}"
            )


if __name__ == "__main__":
    main()
