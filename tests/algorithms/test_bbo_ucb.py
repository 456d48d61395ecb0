"""UCB with the balancing coefficients that the BBO paper compares, against their formulas and GP-UCB."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.base import Space
from replibo.algorithms.bbo_beta import BboUcbFixed, ChowdhuryUcbFixed
from replibo.algorithms.bbo_gp import GpUcbFixed
from replibo.algorithms.bbo_ucb import BboUcb
from replibo.algorithms.gp_ucb import GpUcb
from replibo.streams import RunStreams

from .conftest import history

STREAMS = RunStreams("bbo", "n_1000", "gp_ucb_paper_beta", 3)
LINE = Space(1)
KERNEL: dict[str, Any] = {"length_scale": 0.2, "noise_variance": 0.01, "refit_growth": 0.0}


@given(
    st.integers(1, 100),
    st.integers(2, 10**6),
    st.floats(0.01, 10),
    st.floats(0.1, 10),
    st.floats(0, 4),
)
def test_beta_of_theorem_4(t: int, n: int, bound: float, sigma: float, constant: float) -> None:
    """β_t = √(B² + σ⁻² t φ²(N) N⁻¹) with φ(N) = k log^{3/2} N, so c = (k/σ)², or k² where σ is known."""
    phi = constant * math.log(n) ** 1.5
    expected = math.sqrt(bound**2 + t * phi**2 / (sigma**2 * n))
    given_n: dict[str, Any] = {"iterations": n, "norm_bound": bound}
    free = BboUcb(LINE, STREAMS, factor=(constant / sigma) ** 2, **given_n)
    kernel = {**KERNEL, "noise_variance": sigma**2}
    fixed = BboUcbFixed(LINE, STREAMS, factor=constant**2, **given_n, **kernel)
    for algorithm in (free, fixed):
        assert algorithm.beta_at(t) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_beta_of_chowdhury_and_gopalan() -> None:
    """With the log-determinant of the greedy points as the information gain."""
    ucb = ChowdhuryUcbFixed(LINE, STREAMS, delta=0.1, **KERNEL)
    gain = 0.0
    for t in (1, 2):
        expected = 1.96 + 0.1 * math.sqrt(2 * (gain + 1 + math.log(10)))
        assert ucb.beta_at(t) == pytest.approx(expected)
        gain += 0.5 * math.log(1 + 1 / 0.01)  # of the first point
    # the second is the end of the line farthest from the first, almost uncorrelated with it
    assert math.log(101) > ucb._gain(2) > 0.99 * math.log(101)


@pytest.mark.parametrize(
    "algorithm",
    [
        BboUcb(LINE, STREAMS, iterations=1000, candidates=64),
        BboUcbFixed(LINE, STREAMS, iterations=1000, **KERNEL),
        ChowdhuryUcbFixed(LINE, STREAMS, **KERNEL),
    ],
)
def test_the_query_is_the_best_candidate_by_its_own_beta(algorithm: Any) -> None:
    for n in (4, 5, 6, 9):
        past, beta = history(n, 1), algorithm.beta_at(n + 1)
        proposal = algorithm.ask(past, n + 1)
        X, _ = algorithm.candidates.draw(past)
        mean, sd = algorithm.surrogate(past).posterior(X)
        assert proposal.diagnostics["beta"] == beta
        np.testing.assert_array_equal(proposal.x, X[np.argmax(mean + beta * sd)])


@pytest.mark.parametrize(
    ("bbo", "plain", "kernel"), [(BboUcb, GpUcb, {}), (BboUcbFixed, GpUcbFixed, KERNEL)]
)
def test_without_growth_it_is_gp_ucb(bbo: Any, plain: Any, kernel: dict[str, Any]) -> None:
    """GP-UCB multiplies the deviation by the root of its β."""
    past = history(9, 1)
    asked = bbo(LINE, STREAMS, iterations=1000, factor=0.0, **kernel).ask(past, 10)
    same = plain(LINE, STREAMS, beta=1.96**2, **kernel).ask(past, 10)
    np.testing.assert_array_equal(asked.x, same.x)


def test_iterations_by_the_problem() -> None:
    assert BboUcb(LINE, STREAMS, iterations={"n_500": 500, "n_1000": 1000}).iterations == 1000
