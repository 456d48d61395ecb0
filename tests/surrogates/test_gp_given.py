"""A Gaussian process with given hyperparameters against scikit-learn's, and the search from several starts
against the single one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from replibo.config import load
from replibo.results import publish
from replibo.results.runs import Runs
from replibo.run.traces import read_metadata
from replibo.surrogates.gp_given import GpFixed, GpGiven
from replibo.surrogates.gp_regression import (
    SEVERAL_LENGTH_SCALES,
    START,
    Hyperparameters,
    fit,
    fit_from_several,
)
from replibo.surrogates.standardise import standardise

RNG = np.random.default_rng(3)
X = RNG.random((15, 1))
Y = 3.0 + np.sin(7 * X[:, 0]) + 0.1 * RNG.normal(size=15)
AT = np.linspace(0, 1, 9)[:, None]


def test_the_fixed_kernel_is_that_of_scikit_learn() -> None:
    gp = GpFixed(X, Y, length_scale=0.2, noise_variance=0.01)
    standard, centre, scale = standardise(Y)
    other = GaussianProcessRegressor(RBF(0.2), alpha=0.01, optimizer=None).fit(X, standard)
    mean, sd = gp.posterior(AT)
    expected, deviation = other.predict(AT, return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    np.testing.assert_allclose(sd, deviation, atol=1e-7)
    np.testing.assert_allclose(gp.mean_at_data(), other.predict(X), atol=1e-10)
    assert (gp.centre, gp.scale) == (centre, scale)
    assert gp.fitted.hyperparameters == Hyperparameters(0.0, 1.0, 0.2, 0.01)


def test_several_starts_end_where_the_single_one_does_if_there_is_one_maximum() -> None:
    standard = torch.tensor(standardise(Y)[0])
    single, several = fit(torch.tensor(X), standard), fit_from_several(torch.tensor(X), standard)
    assert several.log_posterior == pytest.approx(single.log_posterior, abs=1e-4)
    assert several.hyperparameters.length_scale == pytest.approx(
        single.hyperparameters.length_scale, rel=0.01
    )
    assert GpGiven(X, Y).fitted == several


def test_constant_observations_say_nothing_and_noise_has_the_shortest_length_scale() -> None:
    constant = fit_from_several(torch.tensor(X), torch.zeros(15, dtype=torch.float64))
    assert constant.hyperparameters == Hyperparameters(*START) and not constant.converged
    noise = torch.tensor(standardise(np.random.default_rng(1).normal(size=15))[0])
    length_scale = fit_from_several(torch.tensor(X), noise).hyperparameters.length_scale
    assert length_scale >= SEVERAL_LENGTH_SCALES[0] * (1 - 1e-12)


@pytest.mark.parametrize("n", [10, 60])
def test_the_run_that_got_stuck_had_the_best_fit_of_a_sensible_length_scale(
    n: int, root: Path
) -> None:
    """EI at N = 2,000, seed 0, as published: what is better than its noise-only fit has ℓ near 0.001, which
    the lower bound leaves out. The single start was not at fault."""
    table = publish.rows("bbo", "n_2000", "gp_ei")
    runs = Runs(load.load().paper("bbo"), read_metadata(table), table)
    asked = (runs.diagnostic("n_2000", "gp_ei", "log10_learning_rate")[0] + 4) / 4
    points = torch.tensor(asked.astype(float)[:n, None])
    y = torch.tensor(standardise(runs.f("n_2000", "gp_ei")[0, :n])[0])
    single, several = fit(points, y), fit_from_several(points, y)
    assert several.log_posterior == pytest.approx(single.log_posterior, abs=0.01)
    assert single.hyperparameters.noise_variance > 0.4
