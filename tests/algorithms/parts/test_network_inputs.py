"""The networks' inputs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.parts.network_inputs import network_inputs


def test_values():
    U = np.array([[0.0, 0.5, 1.0, 0.25]])
    np.testing.assert_allclose(network_inputs(U, "raw"), [[-1.0, 0.0, 1.0, -0.5]])
    np.testing.assert_allclose(network_inputs(U, "fixed"), [[-0.5, 0.0, 0.5, -0.25, 0.5]])


@given(st.integers(1, 100), st.integers(0, 2**32))
def test_norms_are_bounded_away_from_0_and_from_the_stability_limit(dim, seed):
    U = np.random.default_rng(seed).uniform(size=(4, dim))
    U[0], U[1] = 0.5, 1.0
    squares = np.sum(network_inputs(U, "fixed") ** 2, axis=1)
    assert np.all(squares >= 1 / dim - 1e-12) and np.all(squares <= 1 + 1 / dim + 1e-12)
