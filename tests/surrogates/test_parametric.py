"""The families of GO-UCB: their columns never mix. The network's values, derivatives and descents are held to
formulas and autograd where GO-UCB uses them (`tests/algorithms/test_go_ucb.py`)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.surrogates import parametric, two_bumps


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


def test_divergence_gives_no_warning_and_no_finite_weights() -> None:
    w, x, y = _data(5, 2)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        got = parametric.gradient_descent(w, x, y, steps=300, learning_rate=1e3)
    assert not np.all(np.isfinite(got)) or np.max(np.abs(got)) > 1e3


QUANTITIES: dict[str, Any] = {
    "predict": lambda w, x, y: parametric.predict(w, x),
    "gradient": lambda w, x, y: parametric.gradient(w, x),
    "loss_hessian": parametric.loss_hessian,
    "descent": partial(parametric.gradient_descent, steps=3, learning_rate=0.1),
    "descent_of_two_bumps": partial(two_bumps.gradient_descent, steps=3, learning_rate=0.1),
}


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 20])
def test_a_column_does_not_depend_on_the_others_or_on_the_memory(quantity: Any, n: int) -> None:
    """A fit comes out the same, bit for bit, alone and among others; the arguments are left alone."""
    data = _data(n, 100)
    kept = [array.copy() for array in data]

    def of(columns: slice) -> np.ndarray:
        return np.asarray(quantity(*(array[:, columns] for array in data)))

    alone = np.concatenate([of(slice(j, j + 1)) for j in range(100)], axis=-1)
    for r in (*range(1, 10), 100):
        np.testing.assert_array_equal(of(slice(r)), alone[..., :r])
        np.testing.assert_array_equal(of(slice(100 - r, 100)), alone[..., 100 - r :])
    turned = quantity(*(np.asfortranarray(array) for array in data))
    np.testing.assert_array_equal(turned, alone)
    for array, before in zip(data, kept, strict=True):
        np.testing.assert_array_equal(array, before)
