"""Histories that several tests ask about, and independent computations that several compare with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import norm

from replibo.algorithms.base import Algorithm, History, Proposal


def observed(X: np.ndarray, y: Iterable[float], rows: Any = None, n_initial: int = 4) -> History:
    """The values ``y`` at the points ``X``, which are these rows of a pool if there is one."""
    past = History(X.shape[1], n_initial, capacity=2)
    for i, (x, value) in enumerate(zip(X, y, strict=True)):
        past.append(x, float(value), -1 if rows is None else int(rows[i]))
    return past


def first(history: History, n: int) -> History:
    """The history as it was at ``n`` observations."""
    return observed(history.X[:n], history.y[:n], history.candidate[:n], history.n_initial)


def waves(x: np.ndarray) -> Any:
    """Waves about 3, highest at (π/10, …); of one point or of the rows of a matrix."""
    return 3.0 + 2.0 * np.sin(5 * x).sum(axis=-1)


def history(
    n: int, dim: int = 3, n_initial: int = 4, seed: int = 0, noise_std: float = 0.0
) -> History:
    """``n`` observations of the waves at uniform points of the cube; the first ones for any ``n``."""
    X = np.random.default_rng(seed).uniform(size=(n, dim))
    noise = noise_std * np.random.default_rng([seed, 1]).standard_normal(n)
    return observed(X, waves(X) + noise, n_initial=n_initial)


def on_pool(pool: np.ndarray, f: np.ndarray, rows: Iterable[int], n_initial: int = 8) -> History:
    """The observations of rows of a pool."""
    rows = np.array(rows)
    return observed(pool[rows], f[rows], rows, n_initial)


def dense_posterior(
    history: History,
    length_scale: float,
    points: np.ndarray,
    noise: float = 1e-4,
    kernel: str = "matern52",
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd in units of the standardised y by the textbook formula, from the full matrices."""

    def k(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        r = np.linalg.norm(A[:, None] - B[None], axis=2) / length_scale
        if kernel == "rbf":
            return np.exp(-0.5 * r**2)
        s = np.sqrt(5.0) * r
        return (1.0 + s + s**2 / 3.0) * np.exp(-s)

    y = (history.y - history.y.mean()) / history.y.std(ddof=1)
    cross = k(history.X, points)
    solved = np.linalg.solve(k(history.X, history.X) + noise * np.eye(len(history)), cross)
    return y @ solved, np.sqrt(1.0 - (cross * solved).sum(axis=0))


def small_pool(m: int = 60, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the cube, and a wavy function at them."""
    pool = np.random.default_rng(seed).random((m, d))
    return pool, 50.0 + 10.0 * np.sin(5 * pool[:, 0]) * np.cos(9 * pool[:, -1]) + pool[:, 0]


def run_on_pool(
    algorithm: Algorithm,
    pool: np.ndarray,
    f: np.ndarray,
    T: int,
    seed: int = 4,
    n_initial: int = 8,
) -> tuple[History, list[Proposal]]:
    """T rounds after ``n_initial`` random rows."""
    rows = np.random.default_rng(seed).choice(len(pool), n_initial, replace=False)
    past, proposals = on_pool(pool, f, rows, n_initial), []
    for t in range(1, T + 1):
        proposal = algorithm.ask(past, t)
        np.testing.assert_array_equal(proposal.x, pool[proposal.candidate])
        past.append(proposal.x, f[proposal.candidate], proposal.candidate)
        algorithm.tell(past)
        proposals.append(proposal)
    return past, proposals


def expected_improvement(mean: np.ndarray, sd: np.ndarray, best: float) -> np.ndarray:
    """E[max(f - best - 0.01, 0)] for a normal f, by SciPy."""
    z = (mean - best - 0.01) / sd
    return np.asarray(sd * (z * norm.cdf(z) + norm.pdf(z)))
