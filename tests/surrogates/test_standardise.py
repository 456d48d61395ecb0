"""Standardised observations against BoTorch's rule."""

import numpy as np
import pytest
import torch
from botorch.models.transforms.outcome import Standardize

from replibo.surrogates.standardise import scaled, standardise


@pytest.mark.parametrize(
    "y",
    [[3.0, -1.0, 7.5, 2.0], [2.0], [4.0, 4.0, 4.0], [1.0, 1.0 + 1e-9], [1e-7, -1e-7], [0.0, 1e12]],
    ids=str,
)
def test_is_botorchs_rule(y):
    values, mean, sd = standardise(np.array(y))
    transform = Standardize(m=1)
    expected, _ = transform(torch.tensor(y, dtype=torch.float64)[:, None])
    np.testing.assert_allclose(values, expected[:, 0], rtol=1e-12, atol=1e-12)
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
