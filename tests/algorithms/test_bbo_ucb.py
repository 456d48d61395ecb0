"""UCB with the balancing coefficients of the BBO paper, against its formula and GP-UCB."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.bbo_ucb import BboUcb
from replibo.algorithms.gp_ucb import GpUcb
from replibo.errors import RepliboError
from replibo.streams import RunStreams

from .conftest import observed

STREAMS = RunStreams("bbo", "n_1000", "gp_ucb_paper_beta", 3)
LINE = Space(1)


def f(x: np.ndarray) -> float:
    return float(-((x[0] - 0.6) ** 2) + 0.05 * math.sin(30 * x[0]))


def history_of(n: int) -> History:
    X = np.random.default_rng(5).random((n, 1))
    return observed(X, map(f, X))


def run(algorithm: Algorithm, queries: int) -> tuple[History, list[Proposal]]:
    history, proposals = history_of(4), []
    for query in range(4, queries):
        proposals.append(algorithm.ask(history, query + 1))
        history.append(proposals[-1].x, f(proposals[-1].x))
        algorithm.tell(history)
    return history, proposals


def made(**settings: Any) -> BboUcb:
    return BboUcb(LINE, STREAMS, **{"iterations": 1000, "candidates": 64, **settings})


@given(
    st.integers(1, 100),
    st.integers(2, 10**6),
    st.floats(0.01, 10),
    st.floats(0, 10),
    st.floats(0, 4),
)
def test_beta_of_theorem_4(t: int, n: int, bound: float, sigma: float, constant: float) -> None:
    """β_t = √(B² + σ⁻² t φ²(N) N⁻¹) with φ(N) = k log^{3/2} N, so c = (k/σ)²."""
    sigma += 0.1
    algorithm = made(iterations=n, norm_bound=bound, factor=(constant / sigma) ** 2)
    phi = constant * math.log(n) ** 1.5
    expected = math.sqrt(bound**2 + t * phi**2 / (sigma**2 * n))
    assert algorithm.beta_at(t) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert bound <= algorithm.beta_at(t) * (1 + 1e-12)
    assert algorithm.beta_at(t) <= algorithm.beta_at(t + 1)


def test_the_query_is_the_best_candidate_by_its_own_beta() -> None:
    history = history_of(9)
    algorithm = made()
    proposal = algorithm.ask(history, 10)
    gp = algorithm.surrogate(history)
    X, _ = algorithm.candidates.draw(history)
    mean, sd = gp.posterior(X)
    assert proposal.diagnostics["beta"] == algorithm.beta_at(10) == pytest.approx(2.67166, abs=1e-5)
    np.testing.assert_array_equal(proposal.x, X[np.argmax(mean + algorithm.beta_at(10) * sd)])


def test_without_growth_it_is_gp_ucb() -> None:
    """GP-UCB multiplies the deviation by the root of its β."""
    history, _ = run(made(factor=0.0), 14)
    expected, proposals = run(GpUcb(LINE, STREAMS, beta=1.96**2, candidates=64), 14)
    np.testing.assert_array_equal(history.X, expected.X)
    grown, _ = run(made(factor=100.0), 14)
    assert not np.array_equal(grown.X, expected.X) and len(proposals) == 10


def test_iterations_by_the_problem() -> None:
    assert made(iterations={"n_500": 500, "n_1000": 1000}).iterations == 1000
    with pytest.raises(
        RepliboError, match=r"^BboUcb: iterations must hold n_1000, got n_100 or n_500$"
    ):
        made(iterations={"n_500": 500, "n_100": 100})
