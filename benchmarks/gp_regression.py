"""CPU time of a fit of the GP surrogate's hyperparameters against BoTorch's ``fit_gpytorch_mll``.

``OMP_NUM_THREADS=1 python benchmarks/gp_regression.py [--dim 20] [--sizes 50 200 500 1000 2000]``

Both fit the same model to noisy observations of Ackley, half of them local. Prints seconds of CPU time
and the log posterior that each reaches.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood

from replibo.problems.base import Array
from replibo.surrogates.gp_regression import fit
from replibo.surrogates.standardise import standardise

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dim", type=int, default=20, help="D (default: 20)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50, 200, 500, 1000, 2000], help="of the data"
    )
    options = parser.parse_args()
    compare_fits(options.dim, options.sizes)


if __name__ == "__main__":
    main()
