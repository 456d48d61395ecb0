"""Paired tests, wins and losses, ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel, wilcoxon

from replibo.results import standings

RNG = np.random.default_rng(0)
MINE = {seed: RNG.uniform(size=30) for seed in range(12)}
OTHER = {seed: 0.97 * RNG.uniform(size=25) for seed in range(2, 14)}


def test_a_duel_is_paired_over_common_seeds_and_queries() -> None:
    duel = standings.duel("p", "q", "other", MINE, OTHER)
    assert duel is not None and (duel.n, duel.queries) == (10, 25)
    a = np.array([MINE[seed][:25].max() for seed in range(2, 12)])
    b = np.array([OTHER[seed].max() for seed in range(2, 12)])
    assert duel.p == pytest.approx(wilcoxon(a - b).pvalue)
    low, high = ttest_rel(a, b).confidence_interval(0.95)
    assert (float(duel.difference.low), float(duel.difference.high)) == pytest.approx((low, high))
    assert (duel.mine, duel.other) == pytest.approx((a.mean(), b.mean()))
    assert standings.duel("p", "q", "other", {0: a}, {1: b}) is None


def test_wins_and_losses_are_those_after_the_correction() -> None:
    better = {seed: f + 1.0 for seed, f in MINE.items()}
    worse = {seed: f - 1.0 for seed, f in MINE.items()}
    duels = standings.against("p", "q", MINE, {"a": worse, "b": better, "c": dict(MINE)})
    assert [duel.result for duel in duels] == ["win", "loss", "tie"]
    assert standings.counts(duels) == (1, 1, 1)
    assert duels[2].p == 1.0
    # twelve pairs of one sign: 2 / 2¹², times the three of the family
    assert duels[0].p_holm == pytest.approx(3 * 2 / 2**12)
    assert standings.least_seeds(6) == 8
    for n, result in ((7, "tie"), (8, "win")):
        few = {seed: MINE[seed] for seed in range(n)}
        six = {str(i): worse for i in range(6)}
        assert {duel.result for duel in standings.against("p", "q", few, six)} == {result}


def test_ranks_are_of_common_seeds_at_the_end_of_the_shortest_run() -> None:
    runs = {
        "first": {0: np.array([1.0, 3.0, 9.0]), 1: np.array([2.0, 2.0]), 2: np.array([0.0])},
        "second": {0: np.array([2.0, 2.0]), 1: np.array([2.0, 1.0])},
        "third": {0: np.array([0.0, 0.0]), 1: np.array([5.0, 0.0])},
    }
    assert standings.ranks(runs) == {"first": 1.75, "second": 2.25, "third": 2.0}
    assert standings.ranks({"a": {0: np.ones(2)}, "b": {1: np.ones(2)}}) == {}
