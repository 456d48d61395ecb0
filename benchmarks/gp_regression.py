"""CPU time of the GP surrogate and of the runs of GP-UCB, GP-TS and GP-EI.

``python benchmarks/gp_regression.py fit [--dim 20] [--sizes 50 200 500 1000 2000]``

A fit of the hyperparameters against BoTorch's ``fit_gpytorch_mll`` of the same model: seconds of CPU
time, and the log posterior that each reaches, on noisy observations of Ackley, half of them local.

``python benchmarks/gp_regression.py runs [--dim 20] [--queries 500]``

Whole runs on Ackley: seconds of CPU time (ask and tell; imports are not counted).

``python benchmarks/gp_regression.py long [--dim 20] [--sizes 250 500 1000 1500 2000]``

Long runs, reckoned: fits and queries are measured at the sizes of the history given (of uniform and local
points), interpolated by straight lines between the logarithms, and added up over the queries and over the
fits of the refit schedule up to the largest.

Set OMP_NUM_THREADS=1: the workflow's runs take one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.gp_ts import GpTs
from replibo.algorithms.gp_ucb import GpUcb
from replibo.algorithms.parts.gp_sampled import GpSampled
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.problems.base import Array
from replibo.streams import RunStreams

ALGORITHMS: tuple[type[GpSampled], ...] = (GpUcb, GpTs, GpEi)
NOISE = 0.03


def ackley(X: Array) -> Array:
    """Minus the Ackley function on [-32.768, 32.768]^d, at points of the unit cube, ``n x d``."""
    Z = 65.536 * X - 32.768
    root, cosines = np.sqrt(np.mean(Z**2, axis=1)), np.mean(np.cos(2 * np.pi * Z), axis=1)
    return np.asarray(20 * np.exp(-0.2 * root) + np.exp(cosines) - 20 - np.e)


def observations(n: int, dim: int) -> tuple[Array, Array]:
    """Half uniform, half local points, mixed, and noisy values."""
    rng = np.random.default_rng(0)
    X = rng.random((n, dim))
    X[::2] = np.clip(0.4 + 0.05 * rng.standard_normal(X[::2].shape), 0, 1)
    return X, ackley(X) + NOISE * rng.standard_normal(n)


def compare_fits(dim: int, sizes: list[int]) -> None:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import RBFKernel, ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood

    from replibo.surrogates.gp_regression import fit
    from replibo.surrogates.standardise import standardise

    warnings.simplefilter("ignore")
    print(f"CPU s and log posterior of a fit, D = {dim}")
    print(f"{'n':>6}{'BoTorch':>22}{'one start':>22}{'two starts':>22}")
    for n in [20, *sizes]:  # the first is to warm up
        X, y = observations(n, dim)
        tensors = torch.tensor(X), torch.tensor(standardise(y)[0])
        model = SingleTaskGP(
            tensors[0], torch.tensor(y)[:, None], covar_module=ScaleKernel(RBFKernel())
        )
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        start = time.process_time()
        fit_gpytorch_mll(mll)
        row = [time.process_time() - start]
        model.train()
        reached = [float(mll(model(*model.train_inputs), model.train_targets)) * n]
        for starts in ("single", "multi"):
            start = time.process_time()
            found = fit(*tensors, starts=starts)
            row.append(time.process_time() - start)
            reached.append(found.log_posterior)
        if n in sizes:
            cells = (f"{t:>12.3f}{v:>10.2f}" for t, v in zip(row, reached, strict=True))
            print(f"{n:>6}" + "".join(cells), flush=True)


def whole_runs(dim: int, queries: int) -> None:
    print(f"CPU s of a run, D = {dim}, {queries} queries after {dim + 1} initial points")
    for algorithm in ALGORITHMS:
        for T in (3, queries):  # the first is to warm up
            streams = RunStreams("benchmark", "ackley", algorithm.__name__, 0)
            asked, history = algorithm(Space(dim), streams), History(dim, dim + 1)
            X = streams.initial().random((dim + 1, dim))
            for x, y in zip(X, ackley(X), strict=True):
                history.append(x, float(y) + NOISE * streams.noise(len(history)).standard_normal())
            total = 0.0
            for t in range(1, T + 1):
                start = time.process_time()
                proposal = asked.ask(history, t)
                total += time.process_time() - start
                y = float(ackley(proposal.x[None, :])[0])
                y += NOISE * streams.noise(len(history)).standard_normal()
                history.append(proposal.x, y)
        print(f"{algorithm.__name__:<8}{total:>10.2f}", flush=True)


def long_runs(dim: int, sizes: list[int]) -> None:
    largest, n_initial = max(sizes), dim + 1
    fits = list(_fit_sizes(RefitSchedule(0.05), n_initial, largest))
    print(f"D = {dim}: CPU s of a fit and of a query at n, and of a run to n = {largest} reckoned")
    for algorithm in ALGORITHMS:
        fit_seconds, query_seconds = [], []
        for n in sizes:
            X, y = observations(n + 2, dim)
            streams = RunStreams("benchmark", "ackley", algorithm.__name__, 0)
            # growth 1: the fit is made on all n points, and the two that follow are appended
            asked, history = algorithm(Space(dim), streams, refit_growth=1.0), History(dim, n)
            for i in range(n):
                history.append(X[i], float(y[i]))
            start = time.process_time()
            asked.surrogate(history)
            fit_seconds.append(time.process_time() - start)
            asked.ask(history, 1)
            total = 0.0
            for i in (n, n + 1):
                history.append(X[i], float(y[i]))
                start = time.process_time()
                asked.ask(history, i)
                total += time.process_time() - start
            query_seconds.append(total / 2)
        in_all = [
            float(np.sum(np.exp(np.interp(np.log(at), np.log(sizes), np.log(measured)))))
            for at, measured in (
                (fits, fit_seconds),
                (np.arange(n_initial, largest), query_seconds),
            )
        ]
        print(f"{algorithm.__name__}")
        for name, row in (("fit", fit_seconds), ("query", query_seconds)):
            cells = (f"{n:>8}: {s:.3f}" for n, s in zip(sizes, row, strict=True))
            print(f"  {name:<6}" + "".join(cells))
        print(
            f"  run: {len(fits)} fits {in_all[0]:.0f} s + queries {in_all[1]:.0f} s"
            f" = {sum(in_all):.0f} s",
            flush=True,
        )


def _fit_sizes(schedule: RefitSchedule, n: int, largest: int) -> list[int]:
    sizes = []
    while n < largest:
        sizes.append(n)
        n = schedule.after(n)
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("fit", "runs", "long"))
    parser.add_argument("--dim", type=int, default=20, help="D (default: 20)")
    parser.add_argument("--queries", type=int, default=500, help="of a whole run (default: 500)")
    parser.add_argument("--sizes", type=int, nargs="+", help="sizes of the history")
    options = parser.parse_args()
    if options.what == "fit":
        compare_fits(options.dim, options.sizes or [50, 200, 500, 1000, 2000])
    elif options.what == "runs":
        whole_runs(options.dim, options.queries)
    else:
        long_runs(options.dim, options.sizes or [50, 250, 500, 1000, 1500, 2000])


if __name__ == "__main__":
    main()
