"""CPU time of GO-UCB's paper-scale runs: ``python benchmarks/go_ucb_block.py [--seeds 100]``.

100 repetitions on f1 and f2, fitted in one block each, against the same runs one seed at a time. Imports
are not counted.
"""

from __future__ import annotations

import argparse
import time

from replibo.config import load
from replibo.run import build
from replibo.run.loop import run_block


def cpu_seconds(problem: str, blocks: list[list[int]]) -> float:
    """CPU seconds of all the blocks of seeds on one problem."""
    job = build.experiment(load.load(), "go_ucb", "paper", problem, "go_ucb")
    start = time.process_time()
    for block in blocks:
        run_block(job, block)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=100, help="repetitions (default: the paper's 100)"
    )
    seeds = list(range(parser.parse_args().seeds))
    print(f"CPU seconds, {len(seeds)} repetitions of GO-UCB, T = 20")
    print(f"{'problem':<10}{'one block':>12}{'seed by seed':>16}")
    total = 0.0
    for problem in ("f1", "f2"):
        together = cpu_seconds(problem, [seeds])
        apart = cpu_seconds(problem, [[seed] for seed in seeds])
        total += together
        print(f"{problem:<10}{together:>12.2f}{apart:>16.2f}")
    print(f"both, in blocks: {total:.2f} s")


if __name__ == "__main__":
    main()
