"""The likelihood fits of a GP baseline's run: what a near start and its tolerances save and lose.

``python benchmarks/gp_fits.py [--function Ackley] [--dim 10] [--upto 1000]``

All fits of the refit schedule from 200 observations up to a size of the history, which is a run of
GP-EI: each afresh; each from the last one's maximiser, with SciPy's tolerances and with ours. CPU
seconds, evaluations, and what our tolerances change: log posterior lost, length scale and noise variance
moved. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import math
import time

import torch
from gp_growth import run

from replibo.algorithms.base import Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.parts.gp_sampled import NEAR_FROM, GpSchedule
from replibo.problems.synthetic import Synthetic
from replibo.streams import RunStreams
from replibo.surrogates import gp_regression
from replibo.surrogates.gp_regression import Fit, fit
from replibo.surrogates.standardise import standardise

WAYS = {"afresh": {}, "near, SciPy's tolerances": {}, "near": gp_regression.NEAR_TOLERANCES}
_, EXACT, OURS = WAYS


def moved(one: Fit, other: Fit) -> float:
    """The larger change of length scale and noise variance, as a logarithm."""
    first, second = one.hyperparameters, other.hyperparameters
    return max(
        abs(math.log(first.length_scale / second.length_scale)),
        abs(math.log(first.noise_variance / second.noise_variance)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--function", default="Ackley", choices=("Ackley", "Levy", "Michalewicz"))
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--upto", type=int, default=1000)
    options = parser.parse_args()
    streams = RunStreams("benchmark", "fits", "gp_ei", 0)
    algorithm = GpEi(Space(options.dim), streams)
    problem = Synthetic(function=options.function, dim=options.dim)
    history = run(algorithm, problem, options.upto)
    sizes = [n for n in GpSchedule(0.05).up_to(options.upto, options.dim + 1) if n >= NEAR_FROM]
    seconds, evaluations = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0)
    last: dict[str, Fit] = {}
    lost, apart = [], []
    for n in sizes:
        X, y = torch.tensor(history.X[:n]), torch.tensor(standardise(history.y[:n])[0])
        for way, tolerances in WAYS.items():
            near = None if way == "afresh" or not last else last[way].hyperparameters
            gp_regression.NEAR_TOLERANCES = tolerances
            start = time.process_time()
            found = fit(X, y, near=near)
            seconds[way] += time.process_time() - start
            evaluations[way] += found.evaluations
            last = last | {way: found} if last else dict.fromkeys(WAYS, found)
        lost.append(max(last[EXACT].log_posterior - last[OURS].log_posterior, 0.0))
        apart.append(moved(last[EXACT], last[OURS]))
    print(f"{options.function}, D = {options.dim}: {len(sizes)} fits")
    for way in WAYS:
        print(f"{way}: {seconds[way]:.1f} s, {evaluations[way] / len(sizes):.1f} evaluations a fit")
    print(
        f"lost by our tolerances: {max(lost):.4f} nats at most; moved by {max(apart):.1%} at most"
    )


if __name__ == "__main__":
    main()
