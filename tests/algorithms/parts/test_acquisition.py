"""The maximum of the UCB: against brute force, GPyTorch and dense grids."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear

from replibo.algorithms.base import History, Space
from replibo.algorithms.parts.acquisition import (
    Maximum,
    Sigma,
    UcbMaximiser,
    ascend,
    latin_hypercube,
    spread,
)
from replibo.problems.berkenkamp import Berkenkamp
from replibo.problems.michalewicz import Michalewicz5
from replibo.surrogates.exact_gp import ExactGP, GrowingGP, PosteriorGradient, standardise
from replibo.surrogates.kernels import PointDistances, pairwise_distances

from ...surrogates.reference import botorch_model
from ..conftest import dense_posterior, first, observed, on_pool, small_pool, waves

NOISE = 1e-4
MICHALEWICZ = Michalewicz5()


history_of = functools.partial(observed, n_initial=5)


def random_history(d: int, n: int, seed: int) -> History:
    """Half spread over the cube, half about the best one, as in the course of a run."""
    rng = np.random.default_rng([d, n, seed])
    problem = Berkenkamp() if d == 1 else MICHALEWICZ
    X = rng.random((n, d))
    if seed % 2:
        best = X[np.argmax(problem.evaluate_true(problem.to_native(X)))]
        X[n // 2 :] = np.clip(best + 0.05 * rng.standard_normal((n - n // 2, d)), 0.0, 1.0)
    return history_of(X, problem.evaluate_true(problem.to_native(X)))


def pool_history() -> tuple[np.ndarray, History]:
    pool, f = small_pool(80)
    rows = np.random.default_rng(0).choice(20, size=30)  # with repeated points
    return pool, on_pool(pool, f, rows, n_initial=5)


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Pools


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("beta", [0.0, 1.0, 4.0])
@pytest.mark.parametrize(
    ("length_scale", "sigma"),
    [(0.03, "latent"), (0.3, "latent"), (0.3, "predictive"), (2.0, "latent")],
)
def test_pool_against_brute_force(
    length_scale: float, sigma: Sigma, beta: float, fixed: bool
) -> None:
    pool, history = pool_history()
    maximiser = UcbMaximiser(Space(3, candidates=pool), NOISE, sigma=sigma)
    maximum = maximiser.maximise(history, length_scale, beta, rng_of(), fixed=fixed)
    added = NOISE if sigma == "predictive" else 0.0
    mean, sd = dense_posterior(history, length_scale, pool)
    sd = np.sqrt(sd**2 + added)
    ucb = mean + beta * sd
    best = maximum.candidate
    assert ucb[best] == pytest.approx(ucb.max(), abs=1e-9)
    assert_array_equal(maximum.x, pool[best])
    assert maximum.mean == pytest.approx(mean[best], abs=1e-8)
    assert maximum.sd == pytest.approx(sd[best], abs=1e-7)
    assert maximum.value == maximum.mean + beta * maximum.sd
    assert maximum.jitter == 0.0
    n = len(history)
    assert maximiser.posterior_sd(history, n, length_scale, best) == pytest.approx(maximum.sd)
    cube = UcbMaximiser(Space(3), NOISE, sigma=sigma)
    above = cube.maximise(history, length_scale, beta, rng_of(), fixed=fixed)
    _, there = dense_posterior(history, length_scale, above.x[None])
    assert above.sd == pytest.approx(np.sqrt(there[0] ** 2 + added), abs=1e-7)


def test_pool_of_equal_ones_the_first() -> None:
    pool = np.array([[0.5, 0.5], [0, 0], [0, 1], [1, 0], [1, 1]])
    history = history_of(pool[:1], np.ones(1), [0])
    for fixed in (True, False):
        maximiser = UcbMaximiser(Space(2, candidates=pool), NOISE)
        assert maximiser.maximise(history, 0.3, 1.0, rng_of(), fixed=fixed).candidate == 1


# What is kept


def run(space: Space, T: int) -> tuple[History, list[tuple[float, Maximum]]]:
    """A run that takes turns between two length scales that stay and one that changes."""
    pool = space.candidates
    X = np.random.default_rng(3).random((5, space.dim)) if pool is None else pool[:5]
    history = history_of(X, waves(X), None if pool is None else range(5))
    maximiser = UcbMaximiser(space, NOISE)
    asked = []
    for t in range(1, T + 1):
        length_scale = (0.2, 0.5, 1.0 / (1.0 + t))[t % 3]
        maximum = maximiser.maximise(history, length_scale, 1.5, rng_of(t), fixed=t % 3 < 2)
        asked.append((length_scale, maximum))
        history.append(maximum.x, waves(maximum.x), maximum.candidate)
    return history, asked


SPACES = [Space(2), Space(3, candidates=np.random.default_rng(8).random((60, 3)))]


@pytest.mark.parametrize("space", SPACES)
def test_posterior_sd_is_that_of_the_time(space: Space) -> None:
    """Bit for bit, from the live object, a resumed one, and a new one for each round."""
    history, asked = run(space, 40)
    resumed = UcbMaximiser(space, NOISE)
    for t, (length_scale, maximum) in enumerate(asked, start=1):
        n, fixed = 4 + t, t % 3 < 2
        where = maximum.x if space.candidates is None else maximum.candidate
        sd = resumed.posterior_sd(history, n, length_scale, where)
        if fixed:
            assert sd == maximum.sd
        assert sd == pytest.approx(maximum.sd, abs=1e-7)
        expected = dense_posterior(first(history, n), length_scale, maximum.x[None])[1][0]
        assert sd == pytest.approx(expected, abs=1e-6)
        fresh = UcbMaximiser(space, NOISE)
        assert fresh.posterior_sd(first(history, n), n, length_scale, where) == sd


@pytest.mark.parametrize("space", SPACES)
def test_without_noise_repeated_points_take_a_jitter(space: Space) -> None:
    """And what came before the repetition is still read without it."""
    history, _ = run(space, 10)
    history.append(history.X[3], history.y[3], int(history.candidate[3]))
    maximiser = UcbMaximiser(space, 0.0)
    for fixed in (True, False):
        assert maximiser.maximise(history, 0.3, 1.0, rng_of(), fixed=fixed).jitter > 0.0
    where = np.full(2, 0.31) if space.candidates is None else 50
    live = UcbMaximiser(space, 0.0).posterior_sd(first(history, 12), 12, 0.3, where)
    assert maximiser.posterior_sd(history, 12, 0.3, where) == live


def test_point_distances_grow_with_the_same_bits() -> None:
    X = np.random.default_rng(0).random((150, 4))
    grown = PointDistances(4)
    for n in (0, 1, 3, 70, 64, 150):
        assert_array_equal(grown.update(X[:n]), pairwise_distances(X[:n], X[:n]))
    assert_array_equal(grown.update(X[::-1]), pairwise_distances(X[::-1], X[::-1]))


# The gradient


@pytest.mark.parametrize("grown", [True, False])
@pytest.mark.parametrize(("d", "n", "length_scale"), [(1, 8, 0.05), (5, 40, 0.3), (5, 90, 1.5)])
def test_gradient_is_gpytorchs(d: int, n: int, length_scale: float, grown: bool) -> None:
    history = random_history(d, n, 0)
    y = standardise(history.y)
    gp: ExactGP | GrowingGP
    if grown:
        gp = GrowingGP(length_scale, NOISE, d)
        for x in history.X:
            gp.append(x)
    else:
        gp = ExactGP(pairwise_distances(history.X, history.X), length_scale, NOISE)
    points = np.random.default_rng(5).random((7, d))
    points[0] = history.X[0]  # at a distance of 0
    posterior = PosteriorGradient(gp, history.X, y)
    results = posterior(points)

    X = torch.tensor(points, requires_grad=True)
    model = botorch_model(history.X.copy(), y, length_scale)
    theirs = model.posterior(X[:, None, :])
    mean, variance = theirs.mean.squeeze(), theirs.variance.squeeze()
    (d_mean,) = torch.autograd.grad(mean.sum(), X, retain_graph=True)
    (d_variance,) = torch.autograd.grad(variance.sum(), X)
    rows = slice(1, None)  # GPyTorch's own gradient is not finite where a distance is 0
    expected = (mean, variance, d_mean[rows], d_variance[rows])
    for value, their in zip(
        (*results[:2], results[2][rows], results[3][rows]), expected, strict=True
    ):
        their = their.detach().numpy()
        assert_allclose(value, their, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(their).max()))
    assert_array_equal(posterior.value(points), results[:2])


def test_no_data() -> None:
    gp = ExactGP(np.empty((0, 0)), 0.3, NOISE)
    mean, variance, d_mean, d_variance = PosteriorGradient(gp, np.empty((0, 2)), np.empty(0))(
        np.full((3, 2), 0.5)
    )
    assert_array_equal(mean, np.zeros(3))
    assert_array_equal(variance, np.ones(3))
    assert not d_mean.any() and not d_variance.any()


# The ascent


Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def quadratic(seed: int, d: int) -> tuple[Function, np.ndarray]:
    """A concave quadratic whose maximum over the cube may lie on its boundary, and that maximum."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    A = A @ A.T + 0.05 * np.eye(d)
    centre = rng.uniform(-0.5, 1.5, d)

    def function(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = (X - centre) @ A
        return -0.5 * np.einsum("ij,ij->i", z, X - centre), -z

    # a bounded least-squares problem; SciPy's active sets solve it exactly, its L-BFGS-B may stop early
    root = np.linalg.cholesky(A).T
    return function, lsq_linear(root, root @ centre, bounds=(0, 1), method="bvls", tol=1e-15).x


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_ascent_of_a_concave_quadratic(seed: int, d: int) -> None:
    function, best = quadratic(seed, d)
    starts = np.random.default_rng(seed).random((6, d))
    starts[0], starts[1] = 0.0, 1.0  # corners
    kept = starts.copy()
    ends = ascend(function, starts, 0.1, tolerance=1e-12)
    assert_array_equal(starts, kept)
    assert np.all((ends >= 0.0) & (ends <= 1.0))
    gap = function(best[None])[0][0] - function(ends)[0]
    assert abs(gap.min()) < 1e-9
    assert np.median(gap) < 1e-7
    # Faces that take turns to press can slow one down until its evaluations are spent.
    assert np.all(gap < 0.05 * (function(best[None])[0][0] - function(starts)[0]) + 1e-3)


def test_ascents_never_end_below_their_starts_nor_hinder_each_other() -> None:
    """On a UCB with many peaks; each end is what the start alone would reach."""
    history = random_history(5, 80, 1)
    gp = ExactGP(pairwise_distances(history.X, history.X), 0.2, NOISE)
    posterior = PosteriorGradient(gp, history.X, standardise(history.y))

    def ucb(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance, d_mean, d_variance = posterior(X)
        sd = np.sqrt(variance)
        return mean + sd, d_mean + 0.5 / sd[:, None] * d_variance

    starts = np.random.default_rng(0).random((30, 5))
    ends = ascend(ucb, starts, 0.02)
    values, gradients = ucb(ends)
    assert np.all(values > ucb(starts)[0])
    stopped = ((ends == 0.0) & (gradients < 0.0)) | ((ends == 1.0) & (gradients > 0.0))
    assert np.median(np.abs(np.where(stopped, 0.0, gradients)).max(axis=1)) < 1e-2
    alone = np.concatenate([ascend(ucb, start[None], 0.02) for start in starts])
    assert_allclose(ucb(alone)[0], values, rtol=0, atol=1e-4)


def test_ascent_from_a_stationary_point_stays() -> None:
    ends = ascend(lambda X: (np.zeros(len(X)), np.zeros_like(X)), np.full((2, 3), 0.3), 0.1)
    assert_array_equal(ends, np.full((2, 3), 0.3))


# The quality of the maximum on the cube


def test_one_dimension_against_a_dense_grid() -> None:
    grid = np.linspace(0.0, 1.0, 20_001)[:, None]
    for n, length_scale, beta, seed in itertools.product(
        (4, 20, 120),
        (0.0044, 0.03, 0.2),
        (1.0, 5.0),
        (0, 1),  # seeds: spread, and gathered
    ):
        history = random_history(1, n, seed)
        gp = ExactGP(pairwise_distances(history.X, history.X), length_scale, NOISE)
        mean, variance = gp.posterior(standardise(history.y), pairwise_distances(history.X, grid))
        for best_observed, fixed in ((20, False), (0, False), (20, True)):
            maximum = UcbMaximiser(Space(1), NOISE, best_observed=best_observed).maximise(
                history, length_scale, beta, rng_of(seed), fixed=fixed
            )
            highest = (mean + beta * np.sqrt(variance)).max()
            assert maximum.value >= highest - 1e-6
            mean_x, sd_x = dense_posterior(history, length_scale, maximum.x[None])
            assert maximum.value == pytest.approx(mean_x[0] + beta * sd_x[0], abs=1e-5)


def test_starts_beside_the_best_points_find_narrow_peaks() -> None:
    """Half of the points gather about the best one, where 512 samples of five dimensions are too few."""
    gained = []
    for n, length_scale in itertools.product((15, 60), (0.05, 0.15, 0.4)):
        history = random_history(5, n, 1)
        without, beside = (
            UcbMaximiser(Space(5), NOISE, best_observed=count).maximise(
                history, length_scale, 1.0, rng_of(), fixed=False
            )
            for count in (0, 20)
        )
        gained.append(beside.value - without.value)
        steps = 0.3 * length_scale * rng_of().standard_normal((500, 5))
        near = np.clip(history.X[np.argmax(history.y)] + steps, 0.0, 1.0)
        mean, sd = dense_posterior(history, length_scale, np.vstack([beside.x, near]))
        assert beside.value == pytest.approx(mean[0] + sd[0], abs=1e-5)
        assert beside.value >= (mean + sd)[1:].max()
    assert min(gained) > -1e-9 and max(gained) > 0.1


def test_latin_hypercube() -> None:
    points = latin_hypercube(64, 3, rng_of())
    assert points.shape == (64, 3)
    assert_array_equal(np.sort((64 * points).astype(int), axis=0), np.arange(64)[:, None] + [0] * 3)
    assert not np.array_equal(np.argsort(points[:, 0]), np.argsort(points[:, 1]))


def test_starts_are_spread() -> None:
    """The second highest lies beside the highest, on the same peak."""
    values = np.array([2.0, 5.0, 4.0, 3.0])
    points = np.array([[0.9], [0.0], [0.05], [0.5]])
    assert spread(values, points, 0.1, 3) == [1, 3, 0]
    assert spread(values, points, 0.01, 3) == [1, 2, 3]
    assert spread(values, points, 0.1, 10) == [1, 3, 0]
    assert_array_equal(values, [2.0, 5.0, 4.0, 3.0])
