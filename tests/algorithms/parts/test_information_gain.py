"""Information-gain bounds and suspected regret, against the paper's formulas written out plainly."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.parts.information_gain import (
    MaximumInformationGain,
    Rate,
    log_bounded_increments,
    log_information_gain_bound,
    log_suspected_regret,
    scaled_norm,
)
from replibo.surrogates.kernels import matern52, pairwise_distances

RATES = get_args(Rate)
length_scales = st.floats(1e-3, 10.0)
dims = st.integers(1, 12)
plays = st.integers(2, 10_000)


def gamma(rate: str, theta: float, d: int, n: int) -> float:
    """Proposition 2.2 and its proof, with ν = 5/2."""
    log_n = math.log(n)
    if rate == "rbf":
        return log_n ** (d + 1) / theta**d
    exponent = d / (5 + d) if rate == "matern_appendix" else d * (d + 1) / (5 + d * (d + 1))
    return n**exponent * log_n ** (5 / (5 + d)) / theta**d


@given(st.sampled_from(RATES), length_scales, dims, plays, st.floats(0.1, 100.0))
def test_proposition_2_2_and_theorem_2_3(
    rate: Rate, theta: float, d: int, n: int, norm: float
) -> None:
    log_gamma, expected = log_information_gain_bound(rate, theta, d, n), gamma(rate, theta, d, n)
    assert math.exp(log_gamma) == pytest.approx(expected, rel=1e-9)
    regret = math.sqrt(n) * (norm * math.sqrt(expected) + expected)
    assert math.exp(log_suspected_regret(log_gamma, norm, n)) == pytest.approx(regret, rel=1e-9)
    # the first play costs nothing
    assert log_information_gain_bound(rate, theta, d, 1) == -math.inf
    assert log_suspected_regret(-math.inf, norm, 1) == -math.inf


def test_range_of_floating_point_numbers_is_no_limit() -> None:
    values = [
        log_suspected_regret(log_information_gain_bound("matern", theta, 50, n), 1.0, n)
        for theta in (1e-3, 1e-30, 1e-60)
        for n in (2, 10)
    ]
    assert np.all(np.isfinite(values))
    assert values == sorted(values)


@given(st.floats(0.5, 3.0), dims, st.integers(0, 20))
def test_norm_grows_by_the_root_of_e_with_each_candidate(norm: float, d: int, i: int) -> None:
    """B(q(i), N) = N e^(i/2), whatever θ0 and d, for the printed q."""
    assert scaled_norm(norm, 0.7, 0.7 * math.exp(-i / d), d) == pytest.approx(
        norm * math.exp(i / 2)
    )


# Increments of at most 2B


@given(
    st.lists(st.floats(0.0, 50.0), min_size=1, max_size=30),
    st.floats(0.01, 20.0),
)
def test_bounded_increments_by_recursion(steps: list[float], step: float) -> None:
    """R'(1) = R(1), R'(n) = min(R(n), R'(n - 1) + step)."""
    values = np.cumsum([0.0, *steps])
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    cut = values[0]
    for n in range(1, len(values) + 1):
        cut = min(values[n - 1], cut + step) if n > 1 else cut
        bounded = math.exp(log_bounded_increments(logs[:n].tolist(), math.log(step)))
        assert bounded == pytest.approx(cut, rel=1e-12, abs=1e-300)


# The maximum information gain


def gain(X: np.ndarray, theta: float, noise_variance: float) -> float:
    K = matern52(pairwise_distances(X, X), theta) / noise_variance
    return 0.5 * float(np.linalg.slogdet(np.eye(len(X)) + K)[1])


@pytest.mark.parametrize("theta", [0.05, 0.4, 2.0])
def test_greedy_gain_is_near_the_maximum(theta: float) -> None:
    domain = np.random.default_rng(1).random((9, 2))
    greedy = MaximumInformationGain(domain, theta, 0.01)
    for n in range(1, 5):
        best = max(
            gain(domain[list(rows)], theta, 0.01)
            for rows in combinations_with_replacement(range(9), n)
        )
        assert (1 - 1 / math.e) * best <= greedy(n) <= best * (1 + 1e-12)


def test_greedy_gain_is_a_gain_and_grows_ever_less() -> None:
    domain = np.random.default_rng(2).random((40, 3))
    greedy = MaximumInformationGain(domain, 0.3, 1e-4)
    gains = np.array([greedy(n) for n in range(60)])
    assert gains[0] == 0.0
    assert gains[1] == pytest.approx(0.5 * math.log1p(1e4))
    assert np.all(np.diff(gains) > 0)
    assert np.all(np.diff(gains, 2) <= 1e-9)
    # asked for out of order, the same
    other = MaximumInformationGain(domain, 0.3, 1e-4)
    assert [other(59), other(7), other(0)] == [gains[59], gains[7], gains[0]]
