"""The networks' inputs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.parts.network_inputs import network_inputs


def test_values():
    U = np.array([[0.0, 0.5, 1.0, 0.25]])
    for scaling, constant, expected in (
        ("none", False, [-1.0, 0.0, 1.0, -0.5]),
        ("none", True, [-1.0, 0.0, 1.0, -0.5, 1.0]),
        ("root_dim", False, [-0.5, 0.0, 0.5, -0.25]),
        ("root_dim", True, [-0.5, 0.0, 0.5, -0.25, 0.5]),
        ("corner", False, [0.0, 0.25, 0.5, 0.125]),
    ):
        np.testing.assert_allclose(network_inputs(U, scaling, constant), [expected])


@given(st.integers(1, 100), st.integers(0, 2**32), st.booleans())
def test_norms_are_bounded_away_from_the_stability_limit(dim, seed, constant):
    U = np.random.default_rng(seed).uniform(size=(4, dim))
    U[0], U[1] = 0.5, 1.0
    squares = np.sum(network_inputs(U, "root_dim", constant) ** 2, axis=1)
    least = constant / dim  # at the centre
    assert np.all(squares >= least - 1e-12) and np.all(squares <= 1 + least + 1e-12)
