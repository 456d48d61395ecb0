"""CPU time and memory of every NeuralBO method on the retrieval task.

``python benchmarks/retrieval.py [--queries 200] [--at 10 25 50 100 200] [--algorithms neural_bo …]
[--file train_40k.csv]``

Without a file, on a generated one of the real one's size: 40,000 texts, 464 categories on the last level.
The pool is made by the problem itself. First its cost: CPU seconds and the process's peak of memory. Then
for each method a run of the given number of queries after 10 initial documents: the mean CPU seconds of a
query (imports not counted), those of the queries around the given numbers, and the peak of the process.
Each method runs in a process of its own. Set OMP_NUM_THREADS=1: the workflow's runs take one thread.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from replibo.config import load
from replibo.data.amazon import FILE
from replibo.data.manifest import data_file
from replibo.problems.retrieval import Retrieval
from replibo.run import build
from replibo.run.loop import Experiment, run_block
from replibo.streams import generator

METHODS = (
    "neural_bo",
    "neural_greedy",
    "gp_ucb",
    "gp_ts",
    "gp_ei",
    "dngo",
    "random_forest",
    "random_search",
)
INITIAL = 10


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write_reviews(path: Path) -> None:
    """A file of the real one's columns and size; words fall off as 1/rank, a few by category."""
    rng = generator("benchmark", "retrieval")
    words = np.array([f"w{i}" for i in range(40_000)])
    share = 1.0 / np.arange(1, len(words) + 1)
    lengths = 1 + rng.poisson(85 * rng.lognormal(sigma=0.6, size=40_000))
    drawn = np.searchsorted(np.cumsum(share / share.sum()), rng.uniform(size=lengths.sum()))
    categories = rng.integers(464, size=40_000)
    table = data_file(FILE).table
    assert table is not None
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(table.columns)
        start = 0
        for i, (length, leaf) in enumerate(zip(lengths, categories, strict=True)):
            own = drawn[start : start + length].copy()
            start += length
            # every tenth word is one of twenty of the category's
            own[::10] = 100 + (37 * leaf + own[::10]) % 400
            text = " ".join(words[np.minimum(own, len(words) - 1)])
            names = (f"c{leaf % 6}", f"c{leaf % 60}", "unknown" if i % 18 == 0 else f"c{leaf}")
            lines.writerow([f"B{i}", "", "A", "0/0", "5.0", "0", text, *names])


def run(name: str, path: Path, queries: int, at: list[int]) -> None:
    """Run one method and print its row."""
    config = load.load()
    job = build.experiment(config, "neuralbo", "quick", "ackley_10", name)
    before = time.process_time()
    problem = Retrieval(data={FILE: path})
    made = time.process_time() - before
    if name == METHODS[-1]:
        pool = problem.candidates
        assert pool is not None
        print(f"\npool: {pool.shape}, {pool.nbytes / 1e6:.0f} MB, made in {made:.1f} CPU s")
        print(f"recorded: {problem.recorded()}")
    retrieval = Experiment(
        paper="neuralbo",
        problem_name="retrieval",
        algorithm_name=name,
        problem=problem,
        make_algorithm=job.make_algorithm,
        horizon=queries,
        initial_points=INITIAL,
        first_round="search",
    )
    (trace,) = run_block(replace(retrieval), [0])
    seconds = np.sum(trace.seconds, axis=1)[INITIAL:]
    around = [np.mean(seconds[max(0, n - 5) : n + 5]) for n in at]
    print(
        f"{name:<20}{seconds.mean():>9.3f}"
        + "".join(f"{value:>9.3f}" for value in around)
        + f"{peak_mb():>9.0f}{np.max(trace.f):>8.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=200, help="T (default: the paper's 200)")
    parser.add_argument("--at", type=int, nargs="+", default=[10, 50, 100, 195])
    parser.add_argument("--algorithms", nargs="+", default=METHODS, help="names in the config")
    parser.add_argument("--file", type=Path, help="the real file (default: a generated one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file
        if path is None:
            path = Path(folder, "reviews.csv")
            write_reviews(path)
        print(
            f"{'':<20}{'mean':>9}"
            + "".join(f"{f'n = {n}':>9}" for n in options.at)
            + f"{'peak MB':>9}{'best':>8}"
        )
        for name in options.algorithms:
            # A fresh process for each: the peak of memory is never given back.
            process = multiprocessing.get_context("spawn").Process(
                target=run, args=(name, path, options.queries, options.at)
            )
            process.start()
            process.join()


if __name__ == "__main__":
    main()
