"""The error rates of the claims' rules, by simulation, and which outcomes each can give at its n."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from replibo.papers import common
from replibo.papers.bbo.claims import MARGIN, levelling
from replibo.papers.bbo.printed import PERFORMANCE, iterations_of
from replibo.papers.go_ucb import exponent_interval
from replibo.papers.neuralbo.statistics import within_margin
from replibo.results import comparisons, effects, intervals, statistics
from replibo.results.comparisons import (
    Undecided,
    decided,
    judge,
    rank_tested,
    sign_tested,
    t_tested,
)

from ..papers.conftest import outcomes

SIMULATIONS = 400
"""A rate of 5 % is estimated with a standard error of 1.1 %."""


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for a p of 5 %."""
    monkeypatch.setattr(intervals, "PERMUTATIONS", 999)


def paired(rng: np.random.Generator, effect: float) -> Undecided:
    less, more = rng.standard_normal((2, 5)) / np.sqrt(2)
    return t_tested("", less, more + effect, paired=True)


def welch(rng: np.random.Generator, effect: float) -> Undecided:
    return t_tested("", rng.standard_normal(5), 2 * rng.standard_normal(10) + effect, paired=False)


def signs(rng: np.random.Generator, effect: float) -> Undecided:
    wins = int(rng.binomial(10, scipy.stats.norm.cdf(effect)))
    return sign_tested("", np.where(np.arange(10) < wins, 1.0, -1.0))


def ranks(rng: np.random.Generator, effect: float) -> Undecided:
    return rank_tested("", rng.standard_normal(10) - effect)


def trend(rng: np.random.Generator, effect: float) -> Undecided:
    sizes = np.exp(-effect * np.arange(5) / 4)
    interval = intervals.spread_trend([s * rng.standard_normal(5) for s in sizes])
    return Undecided("", float(interval.p_below), float(interval.p_above))


def strata(rng: np.random.Generator, effect: float) -> Undecided:
    """24 functions far apart, five instances each."""
    functions = np.repeat(np.arange(24), 5)
    values = rng.standard_normal(120) * (1 + functions / 12) + effect / 4
    interval = intervals.stratified_interval(values, functions)
    return Undecided("", float(interval.p_above), float(interval.p_below))


Rule = Callable[[np.random.Generator, float], Undecided]
"""Of a generator and the size of the true effect."""


def share(rule: Rule, effect: float, outcome: str, seed: int) -> float:
    """The share of simulations with this outcome."""
    rng = np.random.default_rng(seed)
    simulated = [outcomes(decided([rule(rng, effect)])) for _ in range(SIMULATIONS)]
    return simulated.count([outcome]) / SIMULATIONS


LEVEL_AT_MOST = (0.0, 0.05 + 3 * 0.011)


@pytest.mark.parametrize("rule", [paired, welch, signs, ranks, strata, trend])
@pytest.mark.parametrize(("outcome", "sign"), [("supported", 1), ("contradicted", -1)])
def test_a_true_null_is_rejected_at_five_per_cent_and_a_true_effect_shown(
    rule: Rule, outcome: str, sign: int
) -> None:
    assert share(rule, 0.0, outcome, seed=7) <= LEVEL_AT_MOST[1]
    assert share(rule, sign * 2.5, outcome, seed=7) > 0.75


def test_rare_values_far_off_make_no_trend_of_the_variance() -> None:
    """Of 20 seeds one in fifty is stuck, at any N alike."""
    rng = np.random.default_rng(3)
    trends = []
    for _ in range(SIMULATIONS):
        stuck = rng.random((5, 20)) < 0.02
        trends.append(intervals.spread_trend([*(rng.standard_normal((5, 20)) + 200 * stuck)]))
    p_values = np.array([(trend.p_above, trend.p_below) for trend in trends])
    assert np.mean(p_values < 0.05, axis=0).max() <= LEVEL_AT_MOST[1]


# Rules of single papers, at the number of seeds in use. A case is a true effect, the outcome that its rate is
# held for, and bounds of that rate: of a wrong outcome at most the level, of a right one the power.


def levels_off(rng: np.random.Generator, change: float, fall: float = 8.0) -> Undecided:
    """A fall in standard deviations, then a change of a share of it; five seeds at each N."""
    means = np.cumsum([0.0, -fall, change * fall])
    return levelling("", *(mean + rng.standard_normal(5) for mean in means))


def printed_levels_off(rng: np.random.Generator, steps: float) -> Undecided:
    """The paper's means and deviations of UCB at a T, the latter taken as of five seeds."""
    cells = [PERFORMANCE["gp_ucb"][int(steps)][n] for n in iterations_of(int(steps))]
    cells = [cells[0], *cells[-2:]]
    return levelling("", *(mean + sd * rng.standard_normal(5) for mean, sd in cells))


def order_of_regret(rng: np.random.Generator, power: float) -> Undecided:
    """40 seeds with the spread of the published runs, against Theorem 12's power and margin."""
    T = np.array([16, 36, 64, 100])
    values = T**power * np.exp(0.6 * rng.standard_normal((40, 4)))
    return common.tested(
        "", -exponent_interval(T.tolist(), values, 2 / 3), "exponent below the limit"
    )


def not_worse(seeds: int) -> Rule:
    """Non-inferiority to a baseline, and the opposite, by their single p-values."""

    def rule(rng: np.random.Generator, effect: float) -> Undecided:
        sample, other = rng.standard_normal((2, seeds))
        sample = sample + effect
        worse = statistics.t_test_less(sample, other, paired=False).p_value
        return Undecided("", within_margin(other, sample, pooled=False), worse)

    return rule


@pytest.mark.parametrize(
    ("rule", "effect", "outcome", "bounds"),
    [
        # a change of exactly the margin, either way
        (levels_off, MARGIN, "supported", LEVEL_AT_MOST),
        (levels_off, -MARGIN, "supported", LEVEL_AT_MOST),
        (levels_off, MARGIN, "contradicted", LEVEL_AT_MOST),
        (levels_off, 0.0, "supported", (0.65, 0.8)),
        (levels_off, 1.0, "contradicted", (0.95, 1.0)),
        # no printed table would be contradicted, and five seeds would seldom support one
        (printed_levels_off, 20, "contradicted", LEVEL_AT_MOST),
        (printed_levels_off, 40, "contradicted", LEVEL_AT_MOST),
        (printed_levels_off, 60, "contradicted", LEVEL_AT_MOST),
        (printed_levels_off, 20, "supported", (0.0, 0.2)),
        (printed_levels_off, 60, "supported", (0.0, 0.1)),
        (order_of_regret, 2 / 3, "supported", LEVEL_AT_MOST),
        (order_of_regret, 2 / 3, "contradicted", LEVEL_AT_MOST),
        (order_of_regret, 1 / 2, "supported", (0.6, 0.8)),
        (order_of_regret, 1.0, "contradicted", (0.95, 1.0)),
        # worse by the margin, as good, and as much better as half of Table 2 prints
        (not_worse(10), -1.0, "supported", LEVEL_AT_MOST),
        (not_worse(5), -1.0, "supported", LEVEL_AT_MOST),
        (not_worse(10), 0.0, "contradicted", LEVEL_AT_MOST),
        (not_worse(10), 0.0, "supported", (0.6, 0.8)),
        (not_worse(5), 0.0, "supported", (0.3, 0.5)),
        (not_worse(5), 2.7, "supported", (0.95, 1.0)),
        (not_worse(5), -2.7, "contradicted", (0.9, 1.0)),
    ],
)
def test_the_rates_of_a_papers_rule(
    rule: Rule, effect: float, outcome: str, bounds: tuple[float, float]
) -> None:
    assert bounds[0] <= share(rule, effect, outcome, seed=11) <= bounds[1]


def test_a_claim_false_in_one_comparison_holds_with_the_level_at_most() -> None:
    """Two true comparisons beside a false one, and three false ones."""
    rng = np.random.default_rng(1)
    one_false = [
        judge(decided([paired(rng, 5.0), paired(rng, 5.0), paired(rng, 0.0)]))
        for _ in range(SIMULATIONS)
    ]
    assert one_false.count("holds") / SIMULATIONS < 0.05 + 3 * 0.011
    wrong = [
        set(outcomes(decided([paired(rng, 0.0) for _ in range(3)]))) != {"open"}
        for _ in range(SIMULATIONS)
    ]
    assert sum(wrong) / SIMULATIONS < 0.10 + 3 * 0.015


def test_all_comparisons_below_the_level_are_supported_without_a_correction() -> None:
    tests = [Undecided("", p, 1 - p) for p in (0.03, 0.04, 0.045)]
    assert outcomes(decided(tests)) == ["supported"] * 3
    tests[0] = Undecided("", 0.06, 0.94)
    assert outcomes(decided(tests)) == ["open"] * 3
    # one that is open already leaves the others to Holm
    missing = comparisons.Comparison("open", "was not run")
    assert outcomes(decided([missing, *tests[1:]])) == ["open"] * 3


@pytest.mark.parametrize(("n", "reachable"), [(3, False), (5, True)])
def test_what_a_test_cannot_show_is_said(n: int, reachable: bool) -> None:
    """Of n cases the sign test's smallest p is 2⁻ⁿ."""
    (comparison,) = decided([sign_tested("", np.ones(n))])
    assert comparison.outcome == ("supported" if reachable else "open")
    assert comparison.unreachable == (() if reachable else ("supported", "contradicted"))
    assert ("cannot be supported with so few runs" in comparison.said()) != reachable


def test_the_smallest_p_of_the_normality_test() -> None:
    """Found by search among samples of five: no values give a smaller one."""
    samples = np.random.default_rng(0).standard_cauchy((300, 5)) ** 3
    smallest = min(statistics.ks_normality(sample)[1] for sample in samples)
    extreme = statistics.ks_normality([0.0, 0.0, 0.0, 0.0, 1.0])[1]
    assert statistics.smallest_ks_p(5) == pytest.approx(extreme)
    assert 0.15 < extreme <= smallest
    assert statistics.smallest_ks_p(10) < 0.005


def test_equivalence_that_few_seeds_cannot_show() -> None:
    """Equal samples of unit variance are the best case."""
    for n in (5, 6, 7, 10):
        values = np.linspace(-1, 1, n)
        values /= values.std(ddof=1)
        p = statistics.t_test_less(values - 1, values, paired=False).p_value
        assert statistics.equivalence_reachable(n, n, 1.0, 0.05) == (p < 0.05)
    assert not statistics.equivalence_reachable(5, 5, 1.0, 0.05)


def test_the_level_of_a_test_counts_the_tests_beside_it() -> None:
    tests = [comparisons.t_tested("", *np.eye(2, 6) + i, paired=False) for i in range(3)]
    assert [test.level for test in decided(tests, 0.03)] == [pytest.approx(0.01)] * 3


def test_the_detectable_effect_has_power_of_80_per_cent() -> None:
    for n in (5, 10, 40):
        values = np.arange(float(n))
        for paired, sizes, freedom, scale in (
            (True, (n,), n - 1, n),
            (False, (n, n), 2 * n - 2, n / 2),
        ):
            effect = effects.of_samples(values, values[::-1], paired=paired)
            assert effect is not None and effect.n == sizes
            for level in (0.05, 0.01):
                quantile = scipy.stats.t.ppf(1 - level, freedom)
                shift = effect.detectable(level) * np.sqrt(scale)
                power = scipy.stats.nct.sf(quantile, freedom, shift)
                assert power == pytest.approx(0.8, abs=0.05)


def test_an_open_comparison_says_what_it_leaves_open() -> None:
    rng = np.random.default_rng(3)
    many = rng.standard_normal((2, 400))
    many -= many.mean(axis=1, keepdims=True)
    (equal,) = decided([t_tested("", *many, paired=False)])
    assert equal.outcome == "open" and "no relevant difference (below 0.5" in equal.said()
    (few,) = decided([t_tested("", *rng.standard_normal((2, 5)), paired=False)])
    said = "undecided: with n = 5 only an effect of 1.7 or more is likely to show"
    assert few.outcome == "open" and said in few.said()
    for change in ({"level": None}, {"effect": dataclasses.replace(few.effect, equality=True)}):
        assert "likely to show" not in dataclasses.replace(few, **change).said()
    limit = t_tested("", many[0], np.zeros(400), paired=True, unit=effects.BEYOND)
    (beyond,) = decided([limit])
    assert "beyond the limit +0.00" in beyond.said() and "no relevant" not in beyond.said()


def test_readings_differ_if_their_effects_do_seed_by_seed() -> None:
    """A shift of all seeds shows, though the seeds differ by more; noise of other seeds does not."""
    rng = np.random.default_rng(5)
    less, more = rng.standard_normal((2, 10)) * 5
    shift = rng.standard_normal(10) * 0.1

    def effect(values: np.ndarray) -> list[effects.Effect | None]:
        return [effects.of_samples(less, values, paired=True)]

    printed = effect(more)
    assert effects.differ(printed, effect(more + 1 + shift), scaled=False)
    assert not effects.differ(printed, effect(more + shift), scaled=False)
    assert not effects.differ(printed, printed, scaled=True)
    # other units: twice the numbers are no difference
    twice = [effects.of_samples(2 * less, 2 * more, paired=True)]
    assert not effects.differ(printed, twice, scaled=True)
    assert not effects.differ(printed, [None], scaled=False)
