"""The LB-GP-UCB paper's methods with BoTorch's search, the smallest t0, the printed ξ, the theory's β."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replibo.algorithms.a_gp_ucb import AGpUcb
from replibo.algorithms.base import Space
from replibo.algorithms.gp_ucb_mle import GpUcbMle
from replibo.algorithms.lb_gp_ucb import LbGpUcb
from replibo.algorithms.length_scale_readings import (
    AGpUcbBotorchSearch,
    AGpUcbSmallestT0,
    GpUcbMleBotorchSearch,
    LbGpUcbBotorchSearch,
    LbGpUcbPrintedXi,
    LbGpUcbSmallestT0,
    OracleTheory,
)
from replibo.algorithms.oracle import Oracle
from replibo.streams import RunStreams

from .conftest import history

STREAMS = RunStreams("lb_gp_ucb", "agnp", "lb_gp_ucb", 0)
PAIRS = [
    (AGpUcbBotorchSearch, AGpUcb),
    (GpUcbMleBotorchSearch, GpUcbMle),
    (LbGpUcbBotorchSearch, LbGpUcb),
]


@pytest.mark.parametrize(("searched", "usual"), PAIRS)
@pytest.mark.parametrize("sigma", ["latent", "predictive"])
def test_both_searches_find_the_same_maximum_where_it_is_easy(
    searched: type, usual: type, sigma: str
) -> None:
    past = history(6, 1, 6)
    settings = {"sigma": sigma} | ({} if usual is GpUcbMle else {"theta0": 0.5})
    settings |= (
        {"t0": "released"} if usual is AGpUcb else {}
    )  # the printed θ is too short to be easy
    x = searched(Space(1), STREAMS, **settings).ask(past, 1)
    y = usual(Space(1), STREAMS, **settings).ask(past, 1)
    assert_allclose(x.x, y.x, atol=1e-4)
    assert x.diagnostics.keys() == y.diagnostics.keys()
    assert x.diagnostics["length_scale"] == y.diagnostics["length_scale"]


@pytest.mark.parametrize(("searched", "usual"), PAIRS)
def test_botorchs_search_is_another_one(searched: type, usual: type) -> None:
    x, y = (cls(Space(5), STREAMS).ask(history(10, 5, 10), 1).x for cls in (searched, usual))
    assert not np.array_equal(x, y)


@pytest.mark.parametrize("dim", [1, 4, 5])
def test_the_smallest_t0_gives_five_candidates_and_no_sixth_before_its_time(dim: int) -> None:
    past = history(8, dim, 8)
    lb = LbGpUcbSmallestT0(Space(dim), STREAMS, theta0=0.5)
    rival = AGpUcbSmallestT0(Space(dim), STREAMS, theta0=0.5)
    assert_allclose(lb.growth.t0, math.exp(4 / dim))
    assert rival.growth == lb.growth
    lb.tell(past)
    assert_allclose([u.length_scale for u in lb.candidates], 0.5 * np.exp(-np.arange(5) / dim))
    # A-GP-UCB starts at the shortest of the candidates
    assert_allclose(rival.ask(past, 1).diagnostics["length_scale"], lb.candidates[-1].length_scale)
    # the sixth, q(5), is due once √t reaches e^(5/d)
    due = math.ceil(math.exp(10 / dim))
    assert not lb._is_due(5, due - 1)
    assert lb._is_due(5, due)
    assert LbGpUcb(Space(dim), STREAMS)._is_due(5, 1)


def test_the_oracles_beta_is_that_of_lb_gp_ucb_at_its_length_scale() -> None:
    past = history(8, 2, 8)
    lb = LbGpUcb(Space(2), STREAMS)
    first = lb.ask(past, 1)
    oracle = OracleTheory(Space(2), STREAMS, length_scale=first.diagnostics["length_scale"])
    proposal = oracle.ask(past, 1)
    assert_allclose(proposal.diagnostics["beta"], first.diagnostics["beta"], rtol=1e-12)
    assert proposal.diagnostics["theta0"] == first.diagnostics["theta0"]
    assert_array_equal(proposal.x, first.x)
    shorter = OracleTheory(
        Space(2), STREAMS, length_scale=0.5 * first.diagnostics["length_scale"]
    ).ask(past, 1)
    assert shorter.diagnostics["beta"] > 2.0 * first.diagnostics["beta"] - 1.0
    assert Oracle(Space(2), STREAMS, length_scale=0.3).ask(past, 1).diagnostics["beta"] == 1.0


def test_the_printed_xi_does_not_shrink_with_the_noise() -> None:
    dim, t = 3, 7
    printed, usual = (
        cls(Space(dim), STREAMS, noise_std=0.0) for cls in (LbGpUcbPrintedXi, LbGpUcb)
    )
    assert_allclose((printed._xi(t), usual._xi(t)), (-math.log(0.03), 0.0))
    noisy = LbGpUcbPrintedXi(Space(dim), STREAMS, noise_std=0.1)
    candidates = dim * math.log(noisy.growth(t))
    expected = 0.02 * math.log(candidates * math.pi**2 * t**2) - math.log(0.03)
    assert_allclose(noisy._xi(t), expected)
