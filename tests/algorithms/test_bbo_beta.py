"""UCB's balancing coefficients that the BBO paper compares, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from replibo.algorithms.base import History, Space
from replibo.algorithms.bbo_beta import BboUcbFixed, ChowdhuryUcbFixed
from replibo.algorithms.bbo_gp import GpUcbFixed
from replibo.streams import RunStreams
from replibo.surrogates.gp_given import GpFixed

from .conftest import observed

STREAMS = RunStreams("bbo", "softmax_20", "gp_ucb", 3)
LINE = Space(1)
KERNEL: dict[str, Any] = {"length_scale": 0.2, "noise_variance": 0.01, "refit_growth": 0.0}


def history() -> History:
    x = np.array([0.1, 0.5, 0.9])
    return observed(x[:, None], -((x - 0.3) ** 2), n_initial=3)


def test_theorem_4_divides_by_the_noise_variance() -> None:
    """√(1.96² + 100 · 20/20 · ln³ 20); with c = σ² it is the β of `BboUcb`."""
    printed = BboUcbFixed(LINE, STREAMS, iterations={"softmax_20": 20}, **KERNEL)
    assert printed.beta_at(20) == pytest.approx(math.sqrt(3.8416 + 100 * math.log(20) ** 3))
    assert BboUcbFixed(LINE, STREAMS, iterations=1, **KERNEL).beta_at(7) == pytest.approx(1.96)


def test_without_growth_it_is_ucb_with_a_constant_beta() -> None:
    constant = BboUcbFixed(LINE, STREAMS, iterations=1, **KERNEL).ask(history(), 4)
    same = GpUcbFixed(LINE, STREAMS, beta=1.96**2, **KERNEL).ask(history(), 4)
    assert constant.x == same.x


def test_the_information_gain_is_the_log_determinant_of_the_greedy_points() -> None:
    ucb = ChowdhuryUcbFixed(LINE, STREAMS, delta=0.1, **KERNEL)
    gain = 0.0
    for t in (1, 2):
        expected = 1.96 + 0.1 * math.sqrt(2 * (gain + 1 + math.log(10)))
        assert ucb.beta_at(t) == pytest.approx(expected)
        gain += 0.5 * math.log(1 + 1 / 0.01)  # of the first point
    # the second is the end of the line farthest from the first, almost uncorrelated with it
    assert 2 * 0.5 * math.log(101) > ucb._gain(2) > 0.99 * 2 * 0.5 * math.log(101)


def test_the_query_has_the_largest_bound() -> None:
    ucb, past = ChowdhuryUcbFixed(LINE, STREAMS, **KERNEL), history()
    proposal = ucb.ask(past, 4)
    gp = GpFixed(past.X, past.y, length_scale=0.2, noise_variance=0.01)

    def bound(x: np.ndarray) -> np.ndarray:
        mean, sd = gp.posterior(x)
        return mean + proposal.diagnostics["beta"] * sd

    X, _ = ucb.candidates.draw(past)
    assert bound(proposal.x[None])[0] == pytest.approx(bound(X).max())
