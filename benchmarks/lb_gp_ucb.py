"""CPU time of an iteration of every LB-GP-UCB method on the paper's four problems, which have no noise.

``python benchmarks/lb_gp_ucb.py [--rounds 250] [--seeds 1] [--algorithms lb_gp_ucb mle …]``

Whole runs over the pools (stand-ins of the real ones' size) and the continuous problems, as the workflow
makes them; milliseconds of CPU time (ask, tell and evaluation) for each round, the mean over the run.
Imports are not counted. Set OMP_NUM_THREADS=1: the workflow's runs take one thread.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from replibo.config import load
from replibo.run import build
from replibo.run.loop import run_block

METHODS = (
    "mle",
    "mle_multi",
    "mcmc",
    "a_gp_ucb",
    "lb_gp_ucb",
    "lb_gp_ucb_released",
    "lnb_gp_ucb",
    "oracle",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=250, help="T (default: the paper's 250)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds (default: 1)")
    parser.add_argument("--algorithms", nargs="+", default=METHODS, help="names in the config")
    options = parser.parse_args()
    config = load.load()
    problems = config.paper("lb_gp_ucb").problems_at("quick")  # not the noisy ones
    print(f"CPU ms an iteration, T = {options.rounds}, {options.seeds} seeds")
    print(f"{'':<20}" + "".join(f"{name:>16}" for name in problems))
    for algorithm in options.algorithms:
        row = []
        for problem in problems:
            job = build.experiment(config, "lb_gp_ucb", "quick", problem, algorithm)
            runs = run_block(replace(job, horizon=options.rounds), range(options.seeds))
            seconds = [np.sum(trace.seconds) / options.rounds for trace in runs]
            row.append(1000 * float(np.mean(seconds)))
        print(f"{algorithm:<20}" + "".join(f"{value:>16.2f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
