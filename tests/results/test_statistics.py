"""The statistics, against closed forms, published numbers and the papers' own tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.errors import RepliboError
from replibo.results import intervals, regret, statistics

values = st.integers(-(10**6), 10**6).map(lambda i: i / 1000)


# Regret


def test_regret_by_hand() -> None:
    """Time is the last axis, and a regret below zero is shown."""
    f = np.array([[1.0, 3.0, 2.0], [4.0, 5.0, 0.0]])
    np.testing.assert_allclose(regret.instantaneous_regret(f, 4), [[3, 1, 2], [0, -1, 4]])
    np.testing.assert_allclose(regret.cumulative_regret(f, 4), [[3, 4, 6], [0, -1, 3]])
    np.testing.assert_allclose(regret.average_regret(f, 4), [[3.0, 2.0, 2.0], [0.0, -0.5, 1.0]])
    np.testing.assert_allclose(regret.best_regret(f, 4), [[3, 1, 1], [0, -1, -1]])


# Intervals


def test_wald_by_hand() -> None:
    # Mean 5, squares of the deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32 = 7 s^2.
    interval = intervals.wald_interval([2, 4, 4, 4, 5, 5, 7, 9], 0.98)
    half = 2.3263478740408408 * math.sqrt(32 / 7 / 8)
    assert interval.ends == pytest.approx((5, 5 - half, 5 + half), rel=1e-12)
    assert float(interval.half_width) == pytest.approx(half) and interval.n == 8


@pytest.mark.filterwarnings("error")
def test_an_interval_ends_at_what_is_possible() -> None:
    interval = intervals.Interval.around([0.1, 0.5, 0.9], [0.3, 0.1, 0.3], 5)
    cut = interval.cut(0.0, 1.0)
    assert cut.mean is interval.mean and cut[1].ends == interval[1].ends == (0.5, 0.4, 0.6)
    np.testing.assert_allclose([cut.low, cut.high], [[0.0, 0.4, 0.6], [0.4, 0.6, 1.0]])


def test_one_sample_has_a_mean_and_no_interval() -> None:
    interval = intervals.wald_interval([[3.0, 4.0]], 0.98)
    np.testing.assert_array_equal(interval.mean, [3, 4])
    assert interval.n == 1
    for bound in (interval.low, interval.high, interval.half_width):
        assert bound.shape == (2,) and np.isnan(bound).all()


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_newcombe(successes: int, n: int, low: float, high: float) -> None:
    interval = intervals.share_interval(successes, n)
    assert interval.ends == pytest.approx((successes / n, low, high), abs=5e-5)


# t-tests

# Student's sleep data (Biometrika 1908); the numbers are those in the documentation of R's t.test,
# where the p-values are two-sided.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


@pytest.mark.parametrize(
    ("paired", "equal_variances", "t", "two_sided"),
    [
        (False, False, -1.8608, 0.07939),
        (False, True, -1.8608, 0.07919),
        (True, False, -4.0621, 0.002833),
    ],
)
def test_t_test_against_r(paired: bool, equal_variances: bool, t: float, two_sided: float) -> None:
    result = statistics.t_test_less(SLEEP_1, SLEEP_2, paired, equal_variances)
    assert result.p_value == pytest.approx(two_sided / 2, rel=2e-4)
    assert result.difference == pytest.approx(-1.58)
    # Of ten pairs, d_z = t/sqrt(10); of two samples of ten, d = t sqrt(2/10).
    effect = t / math.sqrt(10) if paired else t * math.sqrt(0.2)
    assert result.effect_size == pytest.approx(effect, abs=5e-5)
    other = statistics.t_test_less(SLEEP_2, SLEEP_1, paired, equal_variances)
    assert other.p_value == pytest.approx(1 - result.p_value)
    if not equal_variances:
        both = statistics.t_tests(SLEEP_1, SLEEP_2, paired=paired)
        assert both == (result.p_value, other.p_value)


@pytest.mark.filterwarnings("error")
def test_one_constant_sample_by_closed_form() -> None:
    """Of samples of unequal size, so that the variances are weighted."""
    a, b = [0.0, 2.0], [4.0, 4.0, 4.0]
    welch = statistics.t_test_less(a, b, paired=False)  # one degree of freedom: Cauchy
    assert welch.p_value == pytest.approx(0.5 + math.atan(-3) / math.pi)
    assert welch.effect_size == pytest.approx(-3 / math.sqrt(2 / 3))
    pooled = statistics.t_test_less(a, b, paired=False, equal_variances=True)
    u = -3 / math.sqrt(5 / 9) / math.sqrt(3)
    assert pooled.p_value == pytest.approx(0.5 + (u / (1 + u**2) + math.atan(u)) / math.pi)
    assert pooled.effect_size == welch.effect_size


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("paired", "equal_variances"), [(False, False), (False, True), (True, False)]
)
def test_without_spread(paired: bool, equal_variances: bool) -> None:
    low, high = [0.1] * 7, [0.6] * 7
    less = statistics.t_test_less(low, high, paired, equal_variances)
    relabelled = 1 / 2**7 if paired else 1 / math.comb(14, 7)
    assert (less.p_value, less.effect_size) == (relabelled, -math.inf)
    greater = statistics.t_test_less(high, low, paired, equal_variances)
    assert (greater.p_value, greater.effect_size) == (1, math.inf)
    for equal in ([0.1] * 7, [np.nextafter(0.1, 1)] * 6 + [0.1]):  # the same, and but for round-off
        result = statistics.t_test_less(low, equal, paired, equal_variances)
        assert result.p_value == 1 and math.isnan(result.effect_size)


@pytest.mark.parametrize("trim", [0.0, 0.2])
def test_a_contrast_of_two_means_is_scipys_test(trim: float) -> None:
    """Welch's, and Yuen's of trimmed means."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=12), rng.normal(0.5, 2.0, size=20)
    found = intervals.contrast_interval([first, second], [1.0, -1.0], trim=trim)
    expected = scipy.stats.ttest_ind(first, second, equal_var=False, trim=trim, alternative="less")
    assert float(found.p_below) == pytest.approx(expected.pvalue)


def test_constant_differences_of_spread_samples() -> None:
    b = np.random.default_rng(3).standard_normal(10)
    paired = statistics.t_test_less(b - 0.3, b, paired=True)  # constant only up to round-off
    assert (paired.p_value, paired.effect_size) == (2**-10, -math.inf)
    assert statistics.t_test_less(b + 0.3, b, paired=True).p_value == 1
    assert statistics.t_test_less(b, b, paired=True).p_value == 1
    # The unpaired test has no degenerate case here: equal means are p = .5.
    assert statistics.t_test_less(b, b, paired=False).p_value == pytest.approx(0.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([1.0, 2.0], [3.0]), ([1.0], [2.0])])
@pytest.mark.parametrize("equal_variances", [False, True])
def test_too_few_values(a: list[float], b: list[float], equal_variances: bool) -> None:
    result = statistics.t_test_less(a, b, paired=False, equal_variances=equal_variances)
    assert math.isnan(result.p_value) and math.isnan(result.effect_size)
    assert result.difference == pytest.approx(np.mean(a) - np.mean(b))


@given(st.lists(st.tuples(values, values), min_size=2, max_size=12), st.booleans())
def test_t_test_properties(pairs: list[tuple[float, float]], paired: bool) -> None:
    a, b = np.array(pairs).T
    result = statistics.t_test_less(a, b, paired)
    assert 0 <= result.p_value <= 1
    if abs(result.effect_size) > 1e-6:  # neither undefined nor round-off
        assert (result.p_value < 0.5) == (result.effect_size < 0) == (result.difference < 0)
        assert statistics.t_test_less(-b, -a, paired).p_value == pytest.approx(result.p_value)


# Ranks


@settings(max_examples=25)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=8).filter(any))
def test_ties_take_scipys_signed_rank_test(values: list[int]) -> None:
    differences = np.array(values) / 4
    expected = scipy.stats.wilcoxon(differences[differences != 0], alternative="less").pvalue
    assert statistics.signed_rank_less(differences) == pytest.approx(expected, abs=1e-12)


def test_zeros_leave_the_signed_rank_test_exact() -> None:
    differences = -np.arange(1.0, 16.0)
    differences[0] = 3.5  # the third rank of 15
    # sums of ranks of at most 3: {}, {1}, {2}, {3}, {1, 2} of 2^15
    smallest = statistics.signed_rank_less(differences)
    subsets = [sum(chosen) for k in range(4) for chosen in itertools.combinations(range(1, 16), k)]
    assert smallest == pytest.approx(sum(total <= 3 for total in subsets) / 2**15)
    assert statistics.signed_rank_less(np.append(differences, [0.0, 0.0])) == smallest
    assert statistics.signed_rank_less(np.zeros(3)) == 1
    assert statistics.signed_rank_less(np.array([-1.0])) == 1


# Benjamini-Hochberg

# The example of Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57 (1995), section 3.2.
THEIR_P_VALUES = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


def test_benjamini_hochberg_s_example() -> None:
    adjusted = statistics.benjamini_hochberg(THEIR_P_VALUES)
    assert (adjusted <= 0.05).tolist() == [True] * 4 + [False] * 11
    # The sixth's own, 0.0278 x 15/6, is larger than the seventh's, 0.0298 x 15/7: it takes that.
    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.447 / 7, 0.447 / 7, 0.0645]
    assert adjusted[:8] == pytest.approx(expected)


def test_nan_is_no_test() -> None:
    with_nan = np.array([[0.01, np.nan], [0.04, 0.03]])
    adjusted = statistics.benjamini_hochberg(with_nan)
    np.testing.assert_allclose(adjusted, [[0.03, np.nan], [0.04, 0.04]])
    assert np.isnan(statistics.benjamini_hochberg([np.nan, np.nan])).all()
    assert statistics.benjamini_hochberg([]).shape == (0,)


# Kolmogorov-Smirnov


def test_ks_normality_by_closed_form() -> None:
    # Two values lie 1/sqrt(2) sample deviations off their mean; for n = 2 and a distance
    # 1/4 <= D <= 1/2 the exact distribution is P(D_2 <= D) = 2 (2 D - 1/2)^2.
    distance = 0.5 - 0.5 * math.erfc(0.5)
    p = 1 - 2 * (2 * distance - 0.5) ** 2
    assert statistics.ks_normality([3.0, 5.0]) == (pytest.approx(distance), pytest.approx(p))


@pytest.mark.parametrize(
    ("n", "at_5_percent", "at_1_percent"), [(10, 0.2616, 0.3037), (20, 0.1920, 0.2226)]
)
def test_lilliefors_has_the_published_critical_values(n, at_5_percent, at_1_percent) -> None:
    """Molin and Abdi (1998), by 100,000 samples."""
    found = np.quantile(statistics.lilliefors_distances(n), [0.95, 0.99])
    np.testing.assert_allclose(found, [at_5_percent, at_1_percent], atol=0.006)


def test_lilliefors_rejects_what_the_plain_test_does_not() -> None:
    sample = (-np.log((np.arange(20) + 0.5) / 20)) ** 1.5  # quantiles of a skewed distribution
    plain, own = statistics.ks_normality(sample), statistics.lilliefors(sample)
    assert own[0] == plain[0]
    assert own[1] < 0.05 < plain[1]
    assert own == statistics.lilliefors(sample)
    assert np.isnan(statistics.lilliefors([2.0, 2.0])[1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sample", [[1.0], [0.1] * 10, [0.0, 0.0], [0.1, np.nextafter(0.1, 1)]])
def test_ks_normality_without_spread(sample: list[float]) -> None:
    assert np.isnan(statistics.ks_normality(sample)).all()


# Input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: regret.best_regret([1.0, np.nan], 2.0),
            r"f: .* finite numbers, got nan \(1 of 2\)",
        ),
        (lambda: intervals.wald_interval([1, -np.inf], 0.9), "samples: .* got -inf"),
        (lambda: intervals.wald_interval([], 0.9), "samples: must be finite numbers, got none"),
        (lambda: statistics.t_test_less([1, np.nan], [1, 2], True), "a: .* got nan"),
        (lambda: statistics.t_test_less([1, 2], [], False), "b: .* got none"),
        (lambda: statistics.ks_normality([np.inf, 1]), "samples: .* got inf"),
    ],
)
def test_bad_input_is_one_line(call: object, message: str) -> None:
    with pytest.raises(RepliboError, match=message) as caught:
        call()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n", [5, 12, 40])
def test_sign_flips_against_scipy(n: int) -> None:
    differences = np.random.default_rng(n).normal(-0.3, 1.0, n)
    differences[0] = 0.0
    for sign in (1, -1):
        expected = scipy.stats.permutation_test(
            (sign * differences,),
            np.mean,
            permutation_type="samples",
            alternative="less",
            n_resamples=np.inf if n < 20 else 19_999,
            rng=1,
        ).pvalue
        p = statistics.sign_flip_less(sign * differences)
        assert p == pytest.approx(expected, abs=1e-12 if n < 20 else 0.01)
    assert np.isnan(statistics.sign_flip_less(differences[:1]))
    assert statistics.sign_flip_less(np.zeros(n)) == 1.0
