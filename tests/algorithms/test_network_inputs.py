"""The networks' inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.network_inputs import check_settings, network_inputs
from replibo.errors import RepliboError


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positive": {"a": 0.0}}, "a: 0.0 is not allowed; a finite number > 0 is"),
        ({"positive": {"a": float("nan")}}, "a: nan is not allowed; a finite number > 0 is"),
        ({"counts": {"b": 0}}, "b: 0 is not allowed; an integer >= 1 is"),
        ({"choices": {"c": ("x", ("y", "z"))}}, "c: x is not allowed; y or z is"),
    ],
)
def test_what_is_not_allowed_is_said(settings, message):
    with pytest.raises(RepliboError) as error:
        check_settings(**({"positive": {}, "counts": {}, "choices": {}} | settings))
    assert str(error.value) == message
    check_settings(positive={"a": 1e-9}, counts={"b": 1}, choices={"c": ("z", ("y", "z"))})
