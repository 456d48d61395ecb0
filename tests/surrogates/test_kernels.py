"""The Matérn-5/2 kernel, against GPyTorch and its own finite differences; the distances."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from replibo.surrogates.kernels import (
    SMALLEST_LENGTH_SCALE,
    PoolDistances,
    matern52,
    matern52_and_derivative,
    pairwise_distances,
)

length_scales = st.floats(1e-3, 1e3)


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d))


@pytest.mark.parametrize("length_scale", [0.01, 0.3, 0.693, 20.0])
@pytest.mark.parametrize("d", [1, 4])
def test_kernel_is_gpytorchs(length_scale: float, d: int) -> None:
    X1, X2 = points(20, d), points(13, d, 1)
    kernel = MaternKernel(nu=2.5).double()
    kernel.lengthscale = torch.tensor(length_scale, dtype=torch.double)
    expected = kernel(torch.tensor(X1), torch.tensor(X2)).to_dense().detach().numpy()
    assert_allclose(matern52(pairwise_distances(X1, X2), length_scale), expected, atol=1e-14)


@given(length_scales, st.floats(0, 10))
def test_kernel_derivative(length_scale: float, distance: float) -> None:
    r = np.array([distance])
    k, derivative = matern52_and_derivative(r, length_scale)
    assert_array_equal(k, matern52(r, length_scale))
    step = 1e-5 * length_scale
    difference = matern52(r, length_scale + step) - matern52(r, length_scale - step)
    assert_allclose(derivative * length_scale, difference / 2e-5, atol=1e-9)


@given(length_scales, st.lists(st.floats(0, 10), min_size=2, max_size=20))
def test_kernel_decreases_from_one(length_scale: float, distances: list[float]) -> None:
    k = matern52(np.sort([0.0, *distances]), length_scale)
    assert k[0] == 1.0
    assert (k >= 0).all()
    assert (np.diff(k) <= 1e-15).all()


def test_kernel_at_the_smallest_length_scale() -> None:
    with np.errstate(over="raise", invalid="raise"):
        k, derivative = matern52_and_derivative(np.array([0.0, 1e-9, 3.0]), SMALLEST_LENGTH_SCALE)
    assert_array_equal(k, [1, 0, 0])
    assert_array_equal(derivative, [0, 0, 0])


def test_distances() -> None:
    X1, X2 = points(20, 5), points(13, 5, 1)
    assert_allclose(pairwise_distances(X1, X2), cdist(X1, X2), rtol=1e-14)
    assert_array_equal(pairwise_distances(X1, X2), pairwise_distances(X2, X1).T)
    assert_array_equal(np.diag(pairwise_distances(X1, X1)), 0.0)
    assert pairwise_distances(X1, X1[:0]).shape == (20, 0)


@given(st.lists(st.integers(0, 29), max_size=150), st.lists(st.integers(0, 29), max_size=150))
def test_pool_distances_do_not_depend_on_the_past(first: list[int], second: list[int]) -> None:
    pool = points(30, 3)
    live = PoolDistances(pool)
    for n in range(0, len(first) + 1, 7):
        live.update(np.array(first[:n], dtype=np.int64))
    for history in (first, second, first[:3]):
        visited = np.array(history, dtype=np.int64)
        between, to_pool = live.update(visited)
        assert_array_equal(between, pairwise_distances(pool[visited], pool[visited]))
        assert_array_equal(to_pool, pairwise_distances(pool[visited], pool))
