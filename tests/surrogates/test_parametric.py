"""The two-layer network: its columns never mix. Its values, derivatives and descents are held to formulas
and autograd where GO-UCB uses them (`tests/algorithms/test_go_ucb.py`)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.surrogates import parametric

COLUMNS = (*range(1, 10), 100)
SIZES = (1, 2, 7, 8, 9, 16, 20)


def _data(n: int, r: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w, ``4 x r``; x and y, ``n x r``."""
    rng = np.random.default_rng([seed, n, r])
    x = rng.uniform(-2 * np.pi, 2 * np.pi, size=(n, r))
    return rng.uniform(-1, 1, size=(4, r)), x, np.sin(x / 4) + 0.1 * rng.standard_normal((n, r))


@given(z=st.floats(-800, 800))
def test_sigmoid(z: float) -> None:
    with np.errstate(all="raise", under="ignore"):
        got = float(parametric.sigmoid(np.array([z]))[0])
    # the branch that does not overflow
    expected = 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
    # where e^-z overflows, the result is 0 and the true value below 1e-308
    assert got == pytest.approx(expected, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("r", [1, 4])
def test_arguments_are_left_alone(r: int) -> None:
    data = _data(6, r)
    kept = [array.copy() for array in data]
    first = parametric.gradient_descent(*data, steps=5, learning_rate=0.1)
    parametric.loss_hessian(*data)
    for array, before in zip(data, kept, strict=True):
        np.testing.assert_array_equal(array, before)
    first[:] = 0.0  # the result is the caller's own
    np.testing.assert_array_equal(data[0], kept[0])


def test_divergence_gives_no_warning_and_no_finite_weights() -> None:
    w, x, y = _data(5, 2)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        got = parametric.gradient_descent(w, x, y, steps=300, learning_rate=1e3)
    assert not np.all(np.isfinite(got)) or np.max(np.abs(got)) > 1e3


# Columns never mix: a network comes out the same, bit for bit, alone and among others


@pytest.mark.parametrize("n", SIZES)
def test_descent_of_one_column_does_not_depend_on_the_others(n: int) -> None:
    w, x, y = _data(n, max(COLUMNS))

    def fit(columns: slice) -> np.ndarray:
        return parametric.gradient_descent(
            w[:, columns], x[:, columns], y[:, columns], steps=3, learning_rate=0.1
        )

    alone = np.concatenate([fit(slice(j, j + 1)) for j in range(max(COLUMNS))], axis=1)
    for r in COLUMNS:
        np.testing.assert_array_equal(fit(slice(0, r)), alone[:, :r])
        np.testing.assert_array_equal(fit(slice(100 - r, 100)), alone[:, 100 - r :])
    # nor on how the arrays lie in memory
    turned = [np.asfortranarray(array) for array in (w, x, y)]
    joint = parametric.gradient_descent(*turned, steps=3, learning_rate=0.1)
    np.testing.assert_array_equal(joint, alone)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 16, 20])
def test_other_quantities_of_one_column_do_not_depend_on_the_others(n: int) -> None:
    w, x, y = _data(n, max(COLUMNS))
    for j in (0, 1, 8):
        w_, x_, y_ = (np.ascontiguousarray(array[:, j : j + 1]) for array in (w, x, y))
        predicted, gradient = parametric.predict(w_, x_), parametric.gradient(w_, x_)
        hessian = parametric.loss_hessian(w_, x_, y_)
        for r in COLUMNS:
            if j < r:
                block = w[:, :r], x[:, :r], y[:, :r]
                got = parametric.predict(*block[:2])[:, j]
                np.testing.assert_array_equal(got, predicted[:, 0])
                got = parametric.gradient(*block[:2])[:, :, j]
                np.testing.assert_array_equal(got, gradient[:, :, 0])
                got = parametric.loss_hessian(*block)[:, :, j]
                np.testing.assert_array_equal(got, hessian[:, :, 0])
