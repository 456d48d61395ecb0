"""CPU time of one iteration of the exact Gaussian process and of GP-UCB (MLE), one thread.

The tasks are the generated stand-ins, so that nothing has to be downloaded.
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
from replibo.problems.base import Problem
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.streams import RunStreams, generator
from replibo.surrogates.exact_gp import ExactGP, GrowingGP, standardise
from replibo.surrogates.kernels import pairwise_distances

LENGTH_SCALE, NOISE_VARIANCE, INITIAL_POINTS = 0.3, 1e-4, 10


def milliseconds(work: Callable[[], None], iterations: int) -> float:
    """CPU time of ``work``, over the number of ``iterations`` that it goes through."""
    start = time.process_time()
    work()
    return (time.process_time() - start) / iterations * 1e3


def mle(problem: Problem, starts: str, seed: int, iterations: int) -> None:
    """A whole run of GP-UCB (MLE), the black box included (a look-up)."""
    assert problem.candidates is not None
    pool, f = problem.to_unit(problem.candidates), problem.evaluate_true(problem.candidates)
    streams = RunStreams("benchmark", type(problem).__name__, "mle", seed)
    algorithm = GpUcbMle(Space(problem.dim, candidates=pool), streams, length_scale_start=starts)
    history = History(problem.dim, INITIAL_POINTS)
    for row in streams.initial().choice(len(pool), size=INITIAL_POINTS, replace=False):
        history.append(pool[row], f[row], int(row))
    for t in range(1, iterations + 1):
        proposal = algorithm.ask(history, t)
        history.append(proposal.x, f[proposal.candidate], proposal.candidate)


def grow(X: np.ndarray, y: np.ndarray, pool: np.ndarray | None) -> None:
    """One append a step; with a pool, its posterior as well."""
    gp = GrowingGP(LENGTH_SCALE, NOISE_VARIANCE, X.shape[1], pool=pool)
    for n, x in enumerate(X, start=1):
        gp.append(x)
        if pool is None:
            gp.log_marginal_likelihood(y[:n])
        else:
            gp.pool_posterior(standardise(y[:n]))


def refactorise(X: np.ndarray, y: np.ndarray, pool: np.ndarray | None) -> None:
    """The same with a new factor at each step, distances computed beforehand."""
    between = pairwise_distances(X, X)
    to_pool = None if pool is None else pairwise_distances(X, pool)
    for n in range(1, len(X) + 1):
        gp = ExactGP(between[:n, :n], LENGTH_SCALE, NOISE_VARIANCE)
        if to_pool is None:
            gp.log_marginal_likelihood(y[:n])
        else:
            gp.posterior(standardise(y[:n]), to_pool[:n])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=250, help="rounds of a run (250)")
    parser.add_argument("--points", type=int, default=500, help="of the growing factor (500)")
    parser.add_argument("--seeds", type=int, default=3, help="runs to take the mean of (3)")
    arguments = parser.parse_args()

    rng = generator("benchmark", "gp_iteration")
    X, pool = rng.random((arguments.points, 4)), rng.random((600, 4))
    y = np.sin(5.0 * X.sum(axis=1))
    mle(AgNP(), "single", 0, 5)  # the first calls load libraries

    print(f"{'CPU ms per iteration, one thread':<56}{'ms':>9}")
    for problem in (CrossedBarrel(), AgNP()):
        for starts in ("single", "multi"):
            label = (
                f"MLE, {type(problem).__name__}, {starts} start, {arguments.iterations} iterations"
            )
            times = [
                milliseconds(
                    lambda problem=problem, starts=starts, seed=seed: mle(
                        problem, starts, seed, arguments.iterations
                    ),
                    arguments.iterations,
                )
                for seed in range(arguments.seeds)
            ]
            print(f"{label:<56}{np.mean(times):>9.3f}")
    for name, candidates in (("", None), (", pool of 600", pool)):
        for what, step in (("append to", grow), ("refactorise", refactorise)):
            n = len(X) if candidates is None else min(len(X), arguments.iterations)
            label = f"{what} the factor, up to {n} points{name}"
            spent = milliseconds(
                lambda step=step, n=n, candidates=candidates: step(X[:n], y[:n], candidates), n
            )
            print(f"{label:<56}{spent:>9.3f}")


if __name__ == "__main__":
    main()
