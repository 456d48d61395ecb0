"""CPU time of one iteration of GP-UCB with a fully Bayesian length scale (MCMC), one thread.

Whole runs on the four problems of the LB-GP-UCB paper, with Pyro's NUTS at 100 warm-up iterations and
100 samples. The pools are the generated stand-ins, so that nothing has to be downloaded; the
continuous functions are written out here, so that only the algorithm is timed.
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
from replibo.algorithms.gp_ucb_mcmc import GpUcbMcmc
from replibo.problems.base import Problem
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.streams import RunStreams


def berkenkamp(u: np.ndarray) -> float:
    """0.6 x + N(x; 0.2, 0.08²)/8 on [0, 1]."""
    x = float(u[0])
    density = np.exp(-0.5 * ((x - 0.2) / 0.08) ** 2) / (0.08 * np.sqrt(2 * np.pi))
    return 0.6 * x + float(density) / 8


def michalewicz5(u: np.ndarray) -> float:
    """Σ sin(x_i) sin(i x_i²/π)^20 on [0, π]^5."""
    x = np.pi * u
    return float(np.sum(np.sin(x) * np.sin(np.arange(1, 6) * x**2 / np.pi) ** 20))


def run(
    name: str,
    objective: Problem | Callable[[np.ndarray], float],
    dim: int,
    initial_points: int,
    iterations: int,
    seed: int,
) -> dict[str, float]:
    """A whole run: CPU time of the queries (ms an iteration) and means of the diagnostics."""
    streams = RunStreams("benchmark", name, "mcmc", seed)
    history = History(dim, initial_points)
    initial = streams.initial()
    if isinstance(objective, Problem):
        assert objective.candidates is not None
        pool = objective.to_unit(objective.candidates)
        f = objective.evaluate_true(objective.candidates)
        for row in initial.choice(len(pool), size=initial_points, replace=False):
            history.append(pool[row], f[row], int(row))
    else:
        pool = None
        for u in initial.uniform(size=(initial_points, dim)):
            history.append(u, objective(u))
    algorithm = GpUcbMcmc(Space(dim, candidates=pool), streams)
    seconds, diagnostics = [], []
    for t in range(1, iterations + 1):
        start = time.process_time()
        proposal = algorithm.ask(history, t)
        seconds.append(time.process_time() - start)
        diagnostics.append(proposal.diagnostics)
        y = f[proposal.candidate] if isinstance(objective, Problem) else objective(proposal.x)
        history.append(proposal.x, y, proposal.candidate)
    means = {key: float(np.mean([d[key] for d in diagnostics])) for key in diagnostics[0]}
    return {
        "ms": 1e3 * float(np.mean(seconds)),
        "last ms": 1e3 * float(np.mean(seconds[-10:])),
        "evaluations": means["potential_evaluations"],
        "nodes": means["nodes"],
        "ESS": means["effective_sample_size"],
        "divergences": means["divergences"],
        "best": float(history.y.max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=250, help="rounds of a run (250)")
    parser.add_argument("--seeds", type=int, default=1, help="runs to take the mean of (1)")
    arguments = parser.parse_args()

    problems: dict[str, tuple[Problem | Callable[[np.ndarray], float], int, int]] = {
        "berkenkamp": (berkenkamp, 1, 3),
        "michalewicz5": (michalewicz5, 5, 10),
        "crossed_barrel": (CrossedBarrel(), 4, 10),
        "agnp": (AgNP(), 5, 10),
    }
    run("warm-up", berkenkamp, 1, 3, 2, 0)  # the first calls load torch and Pyro
    print(
        f"CPU ms per iteration over {arguments.iterations} iterations, one thread; last 10; means"
    )
    for name, (objective, dim, initial_points) in problems.items():
        runs = [
            run(name, objective, dim, initial_points, arguments.iterations, seed)
            for seed in range(arguments.seeds)
        ]
        columns = [f"{key} {np.mean([r[key] for r in runs]):.4g}" for key in runs[0]]
        print(f"{name:<16}" + "  ".join(columns), flush=True)


if __name__ == "__main__":
    main()
