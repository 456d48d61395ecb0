"""A round of ours beside what a user would take instead: BoTorch, scikit-optimize, and Pyro's NUTS.

``python benchmarks/side_by_side.py [--seeds 3] [--cores 2] [--write docs/speed.md]``

Whole runs on Ackley at D = 10 with the noise and the initial points of the NeuralBO paper: CPU seconds of
ask and tell on one thread, and the regret reached. Ours as in that paper's experiments. BoTorch's
``SingleTaskGP`` with its own kernel is fitted at each round, its acquisition maximised by
``optimize_acqf``; ``skopt.Optimizer`` has its defaults. And single rounds of GP-UCB by MCMC: the same
model in Pyro, and the mean UCB of the sampled GPs maximised by BoTorch. Each run has a process of its
own; imports are not counted. ``--write`` puts the tables between the markers of that file.
"""

# ruff: noqa: E402  (the threads are set before the imports)
from __future__ import annotations

import os

# Before NumPy is loaded: runs take one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import math
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import skopt
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.kernels import MaternKernel
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from tabulate import tabulate

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.gp_ucb import GpUcb
from replibo.algorithms.gp_ucb_mcmc import GpUcbMcmc
from replibo.problems.base import Array
from replibo.problems.synthetic import Synthetic
from replibo.streams import RunStreams
from replibo.surrogates.standardise import standardise

DIM, ROUNDS, BETA = 10, 60, 4.0
MCMC_DIM, MCMC_SIZES, SAMPLES, NOISE_VARIANCE = 5, (40, 100), 100, 0.05
START, END = "<!-- speed: start -->", "<!-- speed: end -->"

Next = Callable[[History, int], Array]


def ours(algorithm: type[GpEi | GpUcb], **settings: object) -> Callable[[int], Next]:
    def of_seed(seed: int) -> Next:
        asked = algorithm(Space(DIM), RunStreams("benchmark", "ackley", "ours", seed), **settings)
        return lambda history, t: asked.ask(history, t).x

    return of_seed


def ascend(acquisition: AcquisitionFunction, dim: int) -> Array:
    """The maximiser on the cube, by BoTorch."""
    bounds = torch.tensor([[0.0] * dim, [1.0] * dim], dtype=torch.float64)
    x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    return np.asarray(x[0])


def botorch(name: str) -> Callable[[int], Next]:
    def of_seed(seed: int) -> Next:
        torch.manual_seed(seed)

        def following(history: History, t: int) -> Array:
            y = torch.tensor(history.y)[:, None]
            model = SingleTaskGP(torch.tensor(history.X), y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            if name == "LogEI":
                return ascend(LogExpectedImprovement(model, best_f=y.max()), DIM)
            return ascend(UpperConfidenceBound(model, beta=BETA), DIM)

        return following

    return of_seed


def scikit_optimize(acquisition: str) -> Callable[[int], Next]:
    def of_seed(seed: int) -> Next:
        optimizer = skopt.Optimizer(
            [(0.0, 1.0)] * DIM, n_initial_points=DIM + 1, acq_func=acquisition, random_state=seed
        )

        def following(history: History, t: int) -> Array:
            new = slice(len(optimizer.yi), None)
            optimizer.tell(history.X[new].tolist(), (-history.y[new]).tolist())
            return np.asarray(optimizer.ask())

        return following

    return of_seed


METHODS: dict[str, Callable[[int], Next]] = {
    "GP-EI, ours": ours(GpEi),
    "GP-EI with a prior of ℓ, ours": ours(GpEi, length_scale_prior="dimension_scaled"),
    "GP-EI, BoTorch (LogEI)": botorch("LogEI"),
    "GP-EI, scikit-optimize": scikit_optimize("EI"),
    "GP-UCB, ours": ours(GpUcb, beta=BETA),
    "GP-UCB, BoTorch": botorch("UCB"),
    "GP-UCB, scikit-optimize (LCB)": scikit_optimize("LCB"),
}


def run(name: str, seed: int) -> tuple[float, float]:
    """CPU seconds and regret of a run."""
    problem = Synthetic(function="Ackley", dim=DIM)
    streams = RunStreams("benchmark", "ackley", "noise", seed)
    history, best = History(DIM, DIM + 1), -math.inf
    following = METHODS[name](seed)
    seconds = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ascents that stop early
        for n in range(DIM + 1 + ROUNDS):
            if n <= DIM:
                x = streams.initial().random((DIM + 1, DIM))[n]
            else:
                start = time.process_time()
                x = np.clip(following(history, n - DIM), 0.0, 1.0)
                seconds += time.process_time() - start
            seen = problem.observe(problem.to_native(x), streams, n)
            history.append(x, seen.y)
            best = max(best, seen.f)
    return seconds, float(problem.optimal_value) - best


class MeanUcb(AcquisitionFunction):
    """The mean of μ + σ over a batch of models."""

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        posterior = self.model.posterior(X.unsqueeze(-3))
        return (posterior.mean + posterior.variance.sqrt()).mean(-3)[..., 0, 0]


def pyro_round(X: Array, y: Array) -> Array:
    """A round of the model of `replibo.surrogates.length_scale_posterior` by Pyro and BoTorch."""
    import pyro
    from pyro.infer.mcmc import MCMC, NUTS

    points, standard = torch.tensor(X), torch.tensor(standardise(y)[0])
    distances, identity = torch.cdist(points, points), torch.eye(len(y)).double()
    gamma = pyro.distributions.Gamma(torch.tensor(3.0).double(), torch.tensor(6.0).double())

    def model() -> None:
        s = math.sqrt(5.0) * distances / pyro.sample("length_scale", gamma)
        K = (1 + s + s.square() / 3) * torch.exp(-s) + NOISE_VARIANCE * identity
        zero = torch.zeros(len(y)).double()
        pyro.sample("y", pyro.distributions.MultivariateNormal(zero, K), obs=standard)

    chain = MCMC(NUTS(model), num_samples=SAMPLES, warmup_steps=SAMPLES, disable_progbar=True)
    chain.run()
    batch = torch.Size([SAMPLES])
    kernel = MaternKernel(nu=2.5, batch_shape=batch)
    gp = SingleTaskGP(
        points.expand(*batch, *points.shape),
        standard[:, None].expand(*batch, -1, 1),
        torch.full((*batch, len(y), 1), NOISE_VARIANCE, dtype=torch.float64),
        covar_module=kernel.double(),
        mean_module=ZeroMean(batch_shape=batch),
        outcome_transform=None,
    )
    kernel.lengthscale = chain.get_samples()["length_scale"][:, None, None]
    return ascend(MeanUcb(gp), X.shape[1])


def mcmc_round(name: str, size: int, seed: int) -> float:
    """CPU seconds of one round given ``size`` observations: half uniform points, half local ones."""
    rng = np.random.default_rng(seed)
    X = rng.random((size, MCMC_DIM))
    X[::2] = np.clip(0.4 + 0.1 * rng.standard_normal(X[::2].shape), 0.0, 1.0)
    few, history = History(MCMC_DIM, 6), History(MCMC_DIM, size)
    for past, points in ((few, X[:6]), (history, X)):
        for x in points:
            past.append(x, float(np.sin(5 * x).sum()))
    asked = GpUcbMcmc(Space(MCMC_DIM), RunStreams("benchmark", "mcmc", "ours", seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked.ask(few, 1)  # the first calls load libraries
        torch.manual_seed(seed)
        start = time.process_time()
        if name == "ours":
            asked.ask(history, 1)
        else:
            pyro_round(X, history.y)
        return time.process_time() - start


def spread(values: list[float], digits: int) -> str:
    """Median and range."""
    median = f"{np.median(values):.{digits}f}"
    return f"{median} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def tables(pool: ProcessPoolExecutor, seeds: int) -> str:
    """Both, in Markdown."""
    whole = {
        name: [pool.submit(run, name, seed) for seed in range(seeds)] for name in reversed(METHODS)
    }
    rounds = {
        (name, n): [pool.submit(mcmc_round, name, n, seed) for seed in range(seeds)]
        for name in ("ours", "Pyro")
        for n in MCMC_SIZES
    }
    rows, ended = [], {name: [job.result() for job in whole[name]] for name in METHODS}
    for name, results in ended.items():
        base = ended["GP-EI, ours" if name.startswith("GP-EI") else "GP-UCB, ours"]
        seconds, regrets = zip(*results, strict=True)
        times = np.median(seconds) / np.median([cpu for cpu, _ in base])
        rows.append((name, spread(list(seconds), 1), f"{times:.1f}", spread(list(regrets), 1)))
    first = tabulate(
        rows,
        ("method", f"CPU s, {ROUNDS} rounds", "times ours", "regret"),
        tablefmt="github",
        disable_numparse=True,
    )
    lines = []
    for n in MCMC_SIZES:
        mine, pyros = ([job.result() for job in rounds[name, n]] for name in ("ours", "Pyro"))
        ratio = np.median(pyros) / np.median(mine)
        lines.append((n, spread(mine, 2), spread(pyros, 1), f"{ratio:.0f}"))
    headers = ("observations", "ours, CPU s a round", "Pyro and BoTorch, CPU s a round", "ratio")
    second = tabulate(lines, headers, tablefmt="github", disable_numparse=True)
    return (
        f"Ackley, D = {DIM}; median and range of seeds 0 to {seeds - 1}.\n\n{first}\n\nOne round of "
        f"GP-UCB by MCMC, D = {MCMC_DIM}; median and range of {seeds} data sets.\n\n{second}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a file with the markers")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.cores, get_context("spawn"), max_tasks_per_child=1) as pool:
        text = tables(pool, options.seeds)
    print(text)
    if options.write is not None:
        before, _, rest = options.write.read_text(encoding="utf-8").partition(START)
        page = f"{before}{START}\n{text}\n{END}{rest.partition(END)[2]}"
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
