"""Would fewer fits of a GP baseline do in long runs? Its posterior with a fit at each 10 % of growth
against one at each 5 %, from about 1,000 observations on.

``python benchmarks/gp_growth.py [--function Ackley]``

The history is a run of GP-EI at D = 10 with 1,300 queries. Every 20 queries, at that query's candidates:
the differences of the means, in posterior deviations, the ratio of the deviations, and whether EI asks
at the same point. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.problems.synthetic import Synthetic
from replibo.streams import RunStreams
from replibo.surrogates.gp_regression import GpRegression

DIM, FROM, UPTO, EVERY, GROWTHS = 10, 1000, 1300, 20, (0.05, 0.1)


def run(algorithm: GpEi, problem: Synthetic) -> History:
    """The history of a run."""
    streams, history = algorithm.streams, History(DIM, DIM + 1)
    while len(history) < UPTO:
        n = len(history)
        x = streams.initial().random((n + 1, DIM))[n] if n <= DIM else algorithm.ask(history, n).x
        history.append(x, problem.observe(problem.to_native(x), streams, n).y)
    return history


def fits(history: History, growth: float, start: int) -> list[GpRegression]:
    """The GPs of a schedule, each fitted from the last one's maximiser, with room for the history."""
    found: list[GpRegression] = []
    schedule, size = RefitSchedule(growth), start
    while size < len(history):
        found.append(
            GpRegression(
                history.X[:size],
                history.y[:size],
                device=torch.device("cpu"),
                capacity=len(history),
                near=found[-1].fitted.hyperparameters if found else None,
            )
        )
        size = schedule.after(size)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--function", default="Ackley", choices=("Ackley", "Levy", "Michalewicz"))
    options = parser.parse_args()
    problem = Synthetic(function=options.function, dim=DIM)
    streams = RunStreams("benchmark", "growth", "gp_ei", 0)
    algorithm = GpEi(Space(DIM), streams, refit_growth=0.2)
    history = run(algorithm, problem)
    start = RefitSchedule(GROWTHS[0]).in_force(FROM, DIM + 1)
    clock = time.process_time()
    chains = []
    for growth in GROWTHS:
        chains.append(fits(history, growth, start))
        seconds = time.process_time() - clock
        print(f"growth {growth:.0%}: {len(chains[-1])} fits, {seconds:.1f} s, the first one afresh")
        clock = time.process_time()
    medians, largest, ratios, same = [], [], [], []
    for n in range(start + EVERY, UPTO, EVERY):
        past = History(DIM, DIM + 1)
        for x, y in zip(history.X[:n], history.y, strict=False):
            past.append(x, float(y))
        X = algorithm.candidates.draw(past)[0]
        found = []
        for chain in chains:
            gp = next(gp for gp in reversed(chain) if gp.fitted_at <= n)
            for i in range(len(gp), n):
                gp.append(history.X[i], float(history.y[i]))
            mean, sd = gp.posterior(X)
            best = int(np.argmax(algorithm.scores(gp, X, past, n).acquisition))
            found.append((gp.centre + gp.scale * mean, gp.scale * sd, best))
        (mean, sd, best), (other, other_sd, other_best) = found
        apart = np.abs(other - mean) / sd
        medians.append(np.median(apart))
        largest.append(np.max(apart))
        ratios += [np.min(other_sd / sd), np.max(other_sd / sd)]
        same.append(best == other_best)
    print(
        f"{options.function}, D = {DIM}, {len(same)} histories of {start + EVERY} to "
        f"{UPTO} observations: means apart by {max(medians):.3f} deviations in the median, "
        f"{max(largest):.3f} at most; ratio of deviations {min(ratios):.3f} to {max(ratios):.3f}; "
        f"the same query in {sum(same)}"
    )


if __name__ == "__main__":
    main()
