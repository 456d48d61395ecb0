"""Standardised observations against BoTorch's rule, without its absolute bound."""

import math

import numpy as np
import pytest
import torch
from botorch.models.transforms.outcome import Standardize
from hypothesis import given
from hypothesis import strategies as st

from replibo.surrogates import exact_gp
from replibo.surrogates.standardise import scaled, standardise

VALUES = st.lists(st.floats(-1e9, 1e9).map(lambda v: round(v, 9)), min_size=2, max_size=30)


@pytest.mark.parametrize(
    "y", [[3.0, -1.0, 7.5, 2.0], [2.0], [4.0, 4.0, 4.0], [1e-7, -1e-7], [0.0, 1e12]], ids=str
)
def test_is_botorchs_rule(y):
    values, mean, sd = standardise(np.array(y))
    transform = Standardize(m=1)
    expected, _ = transform(torch.tensor(y, dtype=torch.float64)[:, None])
    for found in (values, exact_gp.standardise(np.array(y))):
        np.testing.assert_allclose(found, expected[:, 0], rtol=1e-12, atol=1e-12)
    assert mean == pytest.approx(float(transform.means), rel=1e-12, abs=1e-300)
    assert sd == pytest.approx(float(transform.stdvs), rel=1e-12)
    np.testing.assert_allclose(mean + sd * values, y, rtol=1e-12)


def test_units_that_keep_the_sign():
    y = np.array([-4.0, 2.0, -6.0])
    for how, values, scale in (("none", y, 1.0), ("divide", y / 4.0, 4.0)):
        found, centre, divisor = scaled(y, how)
        np.testing.assert_allclose(found, values, rtol=1e-15)
        assert (centre, divisor) == (0.0, scale)
    assert scaled(np.zeros(3), "divide")[2] == 1.0
    assert scaled(y, "standardise")[1:] == standardise(y)[1:]


@given(VALUES)
def test_the_bits_are_those_of_the_formulas(values):
    y = np.array(values)
    sd = float(np.std(y, ddof=1))
    if sd < 1e-8 or np.all(y == y[0]):
        return
    found, mean, divisor = standardise(y)
    np.testing.assert_array_equal(found, (y - np.mean(y)) / sd)
    assert (mean, divisor) == (np.mean(y), sd)
    centred = y - np.mean(y)
    expected = centred / math.sqrt(float(centred @ centred) / (len(y) - 1))
    np.testing.assert_array_equal(exact_gp.standardise(y), expected)
    np.testing.assert_array_equal(scaled(y, "divide")[0], y / np.mean(np.abs(y)))


@given(VALUES, st.integers(-900, 900))
def test_the_unit_changes_nothing(values, exponent):
    y = np.round(values)  # no subnormal numbers, whose digits would be lost
    other = np.ldexp(y, exponent)
    for rule in (
        lambda v: standardise(v)[0],
        exact_gp.standardise,
        lambda v: scaled(v, "divide")[0],
    ):
        if not np.all(y == y[0]):
            np.testing.assert_array_equal(rule(other), rule(y))
