"""How near the search for the UCB's maximum comes to it, on histories of the paper's own runs.

``OMP_NUM_THREADS=1 python benchmarks/acquisition_search.py [--seeds 10] [--rounds 20 60 120 240]``

Runs of LB-GP-UCB's study on the 5-D Michalewicz function are made as the workflow makes them. At some
rounds of each, at the length scale and the β of that round, three searches look for the maximum of
μ + βσ over the cube: ours (512 points, 10 ascents), ours with starts beside the 20 best observations,
and BoTorch's `optimize_acqf` as the released code calls it (512 points, 10 restarts). The reference is
the highest of all that is found, with two searches from 20,000 points and 200 ascents among it. Printed:
how far below the reference each search stays, in units of the standardised y, and how often it reaches
the reference (within 1e-3).
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.kernels import MaternKernel
from gpytorch.means import ZeroMean

from replibo.algorithms.base import History, Space
from replibo.algorithms.parts.acquisition import UcbMaximiser
from replibo.config import load
from replibo.problems.base import Array
from replibo.run import build
from replibo.run.loop import run_block
from replibo.surrogates.exact_gp import ExactGP, standardise
from replibo.surrogates.kernels import pairwise_distances

NOISE = 1e-4
METHODS = ("mle", "a_gp_ucb", "lb_gp_ucb", "lb_gp_ucb_released")
SEARCHES = ("ours", "ours, beside the best", "BoTorch")


def botorchs(history: History, length_scale: float, beta: float, seed: int) -> Array:
    """The point that BoTorch finds, ``d``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(
            torch.tensor(history.X.copy()),
            torch.tensor(standardise(history.y))[:, None],
            torch.full((len(history), 1), NOISE, dtype=torch.double),
            covar_module=MaternKernel(nu=2.5),
            mean_module=ZeroMean(),
            outcome_transform=None,
        ).double()
        model.covar_module.lengthscale = length_scale
        torch.manual_seed(seed)
        d = history.X.shape[1]
        bounds = torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double)
        # BoTorch's β is the square of ours
        acquisition = UpperConfidenceBound(model.eval(), beta=beta**2)
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    found: Array = x.detach().numpy()[0]
    return found


def gaps(history: History, length_scale: float, beta: float, seed: int) -> list[float]:
    """How far below the reference each of `SEARCHES` stays."""
    space = Space(history.X.shape[1])
    rng = np.random.default_rng(seed)

    def ours(**settings: int) -> Array:
        maximiser = UcbMaximiser(space, NOISE, **settings)
        return maximiser.maximise(history, length_scale, beta, rng, fixed=False).x

    found = [ours(), ours(best_observed=20), botorchs(history, length_scale, beta, seed)]
    found += [ours(raw_samples=20_000, restarts=200, best_observed=50) for _ in range(2)]
    X = np.array(found)
    gp = ExactGP(pairwise_distances(history.X, history.X), length_scale, NOISE)
    mean, variance = gp.posterior(standardise(history.y), pairwise_distances(history.X, X))
    values = mean + beta * np.sqrt(variance)
    return (values.max() - values[: len(SEARCHES)]).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds (10)")
    parser.add_argument("--rounds", type=int, nargs="+", default=[20, 60, 120, 240])
    parser.add_argument("--methods", nargs="+", default=METHODS, help="names in the config")
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = load.load()
    header = f"{'method':<20}{'t':>5}{'median ℓ':>10}"
    print(header + "".join(f"{name + ': gap, reached':>34}" for name in SEARCHES))
    for method in options.methods:
        experiment = build.experiment(config, "lb_gp_ucb", "paper", "michalewicz5", method)
        experiment = replace(experiment, horizon=max(options.rounds))
        traces = run_block(experiment, range(options.seeds))
        n0 = experiment.initial_points
        for t in options.rounds:
            lost, scales = [], []
            for trace in traces:
                history = History(5, n0)
                for x, y in zip(trace.x[: n0 + t - 1], trace.y, strict=False):
                    history.append(np.array(x) / np.pi, y)
                row = trace.diagnostics[n0 + t - 1]
                scales.append(row["length_scale"])
                lost.append(gaps(history, scales[-1], row.get("beta", 1.0), trace.seed))
            values = np.array(lost)
            cells = "".join(
                f"{column.mean():>25.4f}{np.mean(column < 1e-3):>9.0%}" for column in values.T
            )
            print(f"{method:<20}{t:>5}{np.median(scales):>10.4f}{cells}", flush=True)


if __name__ == "__main__":
    main()
