"""CPU time of the likelihood fits of a GP baseline's run: each from the last one's maximiser against each
afresh.

``python benchmarks/gp_fits.py [--dim 20] [--upto 600]``

All fits of the refit schedule up to a size of the history, on noisy observations of Ackley, half of them
local: seconds and evaluations of both, and the largest loss of log posterior. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time

import torch
from gp_regression import observations

from replibo.algorithms.parts.gp_sampled import NEAR_FROM
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.surrogates.gp_regression import Fit, fit
from replibo.surrogates.standardise import standardise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--upto", type=int, default=600)
    options = parser.parse_args()
    X, y = observations(options.upto, options.dim)
    fit(torch.tensor(X[:20]), torch.tensor(y[:20]))  # the first call of torch's kernels
    seconds, evaluations = {"near": 0.0, "afresh": 0.0}, {"near": 0, "afresh": 0}
    last: Fit | None = None
    lost, size = 0.0, options.dim + 1
    schedule = RefitSchedule(0.05)
    while size <= options.upto:
        points, values = torch.tensor(X[:size]), torch.tensor(standardise(y[:size])[0])
        found = {}
        for name in ("near", "afresh"):
            near = None
            if name == "near" and last is not None and size >= NEAR_FROM:
                near = last.hyperparameters
            start = time.process_time()
            found[name] = fit(points, values, near=near)
            seconds[name] += time.process_time() - start
            evaluations[name] += found[name].evaluations
        last = found["near"]
        lost = max(lost, found["afresh"].log_posterior - last.log_posterior)
        size = schedule.after(size)
    for name in seconds:
        print(f"{name}: {seconds[name]:.1f} s, {evaluations[name]} evaluations")
    print(
        f"ratio of CPU times: {seconds['afresh'] / seconds['near']:.1f}; log posterior lost: {lost:.1e}"
    )


if __name__ == "__main__":
    main()
