"""Acquisition functions against high precision, in every corner."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from replibo.algorithms.parts.acquisition_functions import (
    expected_improvement,
    log_expected_improvement,
)

Z = (-1e5, -1e3, -100.5, -99.5, -38.0, -10.0, -1.01, -0.99, -1e-3, 0.0, 0.5, 5.0, 50.0, 1e6)


def precise(z: float) -> mpmath.mpf:
    """z Φ(z) + φ(z) with 80 digits."""
    with mpmath.workdps(80):
        Z = mpmath.mpf(z)
        return Z * mpmath.erfc(-Z / mpmath.sqrt(2)) / 2 + mpmath.npdf(Z)


@pytest.mark.parametrize("z", Z)
def test_ei_of_a_standard_normal_to_high_precision(z: float) -> None:
    value = float(expected_improvement(z, 1.0, 0.0))
    assert value == pytest.approx(float(precise(z)), rel=1e-11, abs=1e-300)
    assert float(log_expected_improvement(z, 1.0, 0.0)) == pytest.approx(
        float(mpmath.log(precise(z))), rel=1e-12, abs=1e-12
    )


def test_without_uncertainty_ei_is_the_improvement_itself() -> None:
    mean, sd = np.array([1.0, -1.0, 0.5]), np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(expected_improvement(mean, sd, 0.0, 0.5), [0.5, 0.0, 0.0])
        assert_array_equal(
            log_expected_improvement(mean, sd, 0.0, 0.5), [math.log(0.5), -np.inf, -np.inf]
        )


@given(
    mean=st.floats(-1e8, 1e8),
    sd=st.one_of(st.just(0.0), st.floats(1e-300, 1e8)),
    best=st.floats(-1e8, 1e8),
    xi=st.floats(0, 10),
)
def test_never_negative_never_not_a_number(mean: float, sd: float, best: float, xi: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ei = float(expected_improvement(mean, sd, best, xi))
        log_ei = float(log_expected_improvement(mean, sd, best, xi))
    assert ei >= max(mean - best - xi, 0.0) * (1 - 1e-12)
    assert not math.isnan(log_ei)
    if ei > 1e-290:
        assert log_ei == pytest.approx(math.log(ei), rel=1e-9, abs=1e-6)
