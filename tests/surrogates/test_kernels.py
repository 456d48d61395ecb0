"""The kernels' derivatives against finite differences (`test_exact_gp` holds their values to GPyTorch's); the
distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from replibo.surrogates.kernels import (
    KERNELS,
    SMALLEST_LENGTH_SCALE,
    KernelName,
    PoolDistances,
    pairwise_distances,
)

every_kernel = pytest.mark.parametrize("name", KERNELS)
length_scales = st.floats(1e-3, 1e3)


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d))


@every_kernel
@given(length_scale=length_scales, share=st.floats(0, 10))
def test_derivatives_in_length_scale_and_distance(
    name: KernelName, length_scale: float, share: float
) -> None:
    kernel, r, step = KERNELS[name], np.array([share * length_scale]), 1e-5 * length_scale
    k, derivative = kernel.and_derivative(r, length_scale)
    same, slope = kernel.and_slope(r, length_scale)
    assert_array_equal(k, kernel.value(r, length_scale))
    assert_array_equal(same, k)
    difference = kernel.value(r, length_scale + step) - kernel.value(r, length_scale - step)
    assert_allclose(derivative * length_scale, difference / 2e-5, atol=1e-9)
    difference = kernel.value(r + step, length_scale) - kernel.value(abs(r - step), length_scale)
    assert_allclose(slope * length_scale * r, difference / 2e-5, atol=1e-9)
    assert np.isfinite(slope) and slope < 0


@every_kernel
def test_kernel_at_the_smallest_length_scale(name: KernelName) -> None:
    r = np.array([0.0, 1e-9, 3.0])
    with np.errstate(over="raise", invalid="raise"):
        k, derivative = KERNELS[name].and_derivative(r, SMALLEST_LENGTH_SCALE)
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
