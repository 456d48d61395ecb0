"""What an optimiser of the library makes of penalties, failed evaluations and glitches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replibo.outliers import without_outliers

ORDINARY = [0.3, 0.5, 1.2, 0.9, 0.7, 2.0, 1.1, 0.4]
VALUES = st.lists(st.floats(-1e9, 1e9).map(lambda v: round(v, 3)), min_size=1, max_size=30)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], ORDINARY, [0.0] * 6 + [1e10]], ids=str)
def test_values_without_outliers_stay(values: list[float]) -> None:
    np.testing.assert_array_equal(without_outliers(np.array(values)), values)


@pytest.mark.parametrize(
    ("ordinary", "outliers"),
    [
        *((ORDINARY, [outlier]) for outlier in (1e5, 1e10, 1e200, 1.7e308)),
        *((ORDINARY, [outlier]) for outlier in (-1e5, -1e10, -1.7e308)),
        (ORDINARY, [1e200, 1e200]),  # two of ten are no glitch
        (ORDINARY, [1e12, -1e12]),
        (ORDINARY[:4], [1e10] * 8),  # most may be penalties
    ],
)
def test_outliers_hide_nothing(ordinary: list[float], outliers: list[float]) -> None:
    values = without_outliers(np.array([*ordinary, *outliers]))
    n = len(ordinary)
    assert np.std(values[:n]) > 0.02 * np.std(values)
    assert np.argmax(np.sign(outliers[0]) * values) == n


def test_a_failed_evaluation_becomes_the_worst_ordinary_value() -> None:
    values = without_outliers(np.array([*ORDINARY, np.nan, 1e10]))
    assert values[8] == max(v for v, w in zip(values, ORDINARY, strict=False) if v == w)
    np.testing.assert_array_equal(without_outliers(np.full(3, np.nan)), np.zeros(3))


@given(VALUES)
def test_all_values_keep_their_order(values: list[float]) -> None:
    seen = without_outliers(np.array(values))
    order = np.argsort(values, kind="stable")
    assert (np.diff(seen[order]) >= 0).all()


@given(VALUES, st.integers(-600, 600))
def test_the_unit_changes_nothing(values: list[float], exponent: int) -> None:
    y = np.array(values)
    assume(np.abs(y).max() > 0)
    np.testing.assert_array_equal(
        without_outliers(np.ldexp(y, exponent)), np.ldexp(without_outliers(y), exponent)
    )
