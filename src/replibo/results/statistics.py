"""Standard errors and tests, on SciPy; the intervals stand in `replibo.results.intervals`.

Every function takes what NumPy can turn into an array of floats. Samples without a value, or with one
that is not a finite number, raise a `RepliboError` of one line. Too few values for a statistic are no
error: the statistic is then NaN.

``scipy.stats`` is imported by the functions that need it, because its import takes 0.7 s.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replibo.errors import RepliboError
from replibo.streams import generator

Array = NDArray[np.float64]

# Values of one sample that lie closer together than this, relative to the largest of them, differ
# by round-off only: the same point, evaluated in batches of another size, differs by an ulp or two.
ROUND_OFF = 8 * float(np.finfo(np.float64).eps)


def standard_deviation(samples: ArrayLike) -> Array:
    """The standard deviation s over the first axis, with n - 1; NaN where n = 1."""
    values = finite(samples, "samples")
    if len(values) == 1:  # NumPy would say NaN as well, with a warning
        return np.full(values.shape[1:], np.nan)
    return np.asarray(np.std(values, axis=0, ddof=1))


def standard_error(samples: ArrayLike) -> Array:
    """The standard error s/√n of the mean over the first axis; NaN where n = 1."""
    values = finite(samples, "samples")
    return np.asarray(standard_deviation(values) / math.sqrt(len(values)))


# Tests


@dataclass(frozen=True)
class TestResult:
    """The result of `t_test_less`.

    Attributes:
        p_value: of the one-sided alternative mean(a) < mean(b).
        difference: mean(a) - mean(b), in the samples' unit.
        effect_size: the difference in standard deviations: of two samples Cohen's d, by their pooled
            deviation; of pairs d_z, by the deviation of the differences. The two cannot be compared.
    """

    p_value: float
    difference: float
    effect_size: float


def t_test_less(
    a: ArrayLike, b: ArrayLike, paired: bool, equal_variances: bool = False
) -> TestResult:
    """One-sided t-test of H0: mean(a) ≥ mean(b) against H1: mean(a) < mean(b).

    Samples without spread happen (every seed finds the best candidate). If the differences of the pairs,
    or each of the two unpaired samples, are constant up to round-off (`ROUND_OFF`), t is a division by
    zero. The effect size is then its limit as the spread goes to 0. p is that of the permutation test,
    as the limit of 0 would decide by two values:

    * mean(a) < mean(b): the effect size is -∞; p is the share of relabellings that give the observed
      difference, 2^-n of n pairs, and 1 in C(n_a + n_b, n_a) of two samples;
    * mean(a) > mean(b): p = 1, the effect size is +∞;
    * equal up to round-off: 0/0 has no limit. The effect size is NaN and p = 1 (every relabelling gives
      the same difference): nothing in these samples speaks for H1.

    Round-off is judged by the size of the values: pass f, or an error, not a regret from which the
    leading digits have gone.

    Args:
        a, b: ``n_a`` and ``n_b`` values; if paired, in the same order of seeds.
        equal_variances: the pooled test instead of Welch's; only if not paired.

    Returns:
        All but the difference is NaN with fewer than two values in a sample.
    """
    first, second = finite(a, "a"), finite(b, "b")
    n_a, n_b = first.size, second.size
    round_off = ROUND_OFF * max(np.abs(first).max(), np.abs(second).max())
    samples = (first - second,) if paired else (first, second)
    without_spread = all(np.ptp(sample) <= round_off for sample in samples)

    difference = float(first.mean() - second.mean())
    if min(n_a, n_b) < 2:
        return TestResult(math.nan, difference, math.nan)
    if without_spread and abs(difference) <= round_off:
        return TestResult(1.0, difference, math.nan)
    if without_spread:
        relabellings = 2**n_a if paired else math.comb(n_a + n_b, n_a)
        p_value = 1 / relabellings if difference < 0 else 1.0
        return TestResult(p_value, difference, math.copysign(math.inf, difference))
    from scipy.special import stdtr

    # Written out: SciPy's own tests take a hundred times as long, and a table has hundreds of them.
    sizes = np.array([sample.size for sample in samples])
    variances = np.array([sample.var(ddof=1) for sample in samples])
    pooled_variance = np.average(variances, weights=sizes - 1)
    errors = (pooled_variance if equal_variances else variances) / sizes
    if paired or equal_variances:
        freedom = float(np.sum(sizes - 1))
    else:
        freedom = float(np.sum(errors) ** 2 / np.sum(errors**2 / (sizes - 1)))
    p_value = float(stdtr(freedom, float(difference / np.sqrt(np.sum(errors)))))
    return TestResult(p_value, difference, float(difference / np.sqrt(pooled_variance)))


def t_tests(a: ArrayLike, b: ArrayLike, *, paired: bool) -> tuple[float, float]:
    """p of mean(a) < mean(b), and p of mean(a) > mean(b), each by `t_test_less`."""
    return t_test_less(a, b, paired).p_value, t_test_less(b, a, paired).p_value


def benjamini_hochberg(p_values: ArrayLike) -> Array:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg 1995).

    The whole array is one family, whatever its shape. NaN, where there is no test, stays NaN and does not
    count.
    """
    p = np.asarray(p_values, dtype=float)
    valid = ~np.isnan(p)
    adjusted = np.full(p.shape, np.nan)
    if valid.any():
        import scipy.stats

        adjusted[valid] = scipy.stats.false_discovery_control(p[valid], method="bh")
    return adjusted


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that control the familywise error rate (Holm 1979); NaN, where there is no test,
    stays NaN and does not count."""
    p = np.array(p_values, dtype=float)
    valid = np.flatnonzero(~np.isnan(p))
    order = valid[np.argsort(p[valid], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in p]


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """p-values of winning in more than half of the cases, and of losing in more than half; ties left out.
    For paired shares it is McNemar's exact test. 1 where there are no cases."""
    n = wins + losses
    if not n:
        return 1.0, 1.0
    from scipy.stats import binomtest

    win, loss = (float(binomtest(k, n, alternative="greater").pvalue) for k in (wins, losses))
    return win, loss


def signed_rank_less(differences: Array) -> float:
    """p of the differences' lying below 0, by Wilcoxon's test, zeros left out; 1 if all of them are 0
    or there is one at most."""
    differences = finite(differences, "differences")
    nonzero = differences[differences != 0]  # with a zero SciPy is exact up to 13 values only
    if len(differences) < 2 or not len(nonzero):
        return 1.0
    from scipy.stats import permutation_test, rankdata, wilcoxon

    ranks = rankdata(np.abs(nonzero))
    if len(set(ranks)) == len(ranks) or len(ranks) > 13:
        return float(wilcoxon(nonzero, alternative="less").pvalue)
    test = permutation_test(  # as wilcoxon does it, which ranks anew for each of the 2ⁿ signs
        (nonzero,),
        lambda signed, axis: np.where(signed > 0, ranks, 0).sum(axis),
        permutation_type="samples",
        alternative="less",
        n_resamples=np.inf,
        vectorized=True,
    )
    return float(test.pvalue)


def sign_flip_less(differences: Array) -> float:
    """p of paired differences' having a mean below 0, by the sign-flip test: under H0 each is as likely
    to have the other sign. Exact up to 20 differences that are not 0, by 19,999 draws beyond; NaN of
    fewer than two.

    Unlike the t-test it needs no normal distribution: the differences may have only two values.
    """
    differences = finite(differences, "differences")
    if len(differences) < 2:
        return math.nan
    sizes = np.abs(differences[differences != 0])
    if len(sizes) <= 20:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums - size, sums + size])
    else:
        signs = generator("statistics", "sign flips").choice((-1.0, 1.0), (19_999, len(sizes)))
        sums = np.append(signs @ sizes, differences.sum())
    return float(np.mean(sums <= differences.sum() + ROUND_OFF * sizes.sum()))


def ks_normality(samples: ArrayLike) -> tuple[float, float]:
    """KS test of ``samples`` against N(sample mean, sample sd), as in NeuralBO's Table 1.

    The p-value is reported as the paper does, by the distribution of a test against a fixed normal
    distribution. Since mean and sd are estimated from the same sample, p is far too large
    (Lilliefors, JASA 1967). At n = 10 Lilliefors' 5 % point is a distance of .262, which is p = .43
    here. "All p-values exceed .05" therefore says next to nothing: of samples of 10 exponential
    values .4 % fail this test (30 % fail Lilliefors').

    Returns:
        The largest distance of the two distribution functions, and the two-sided p. Both are NaN if the
        values, or the only one, are equal up to round-off (`ROUND_OFF`).
    """
    values = finite(samples, "samples")
    if np.ptp(values) <= ROUND_OFF * np.abs(values).max():  # a single value among them
        return math.nan, math.nan
    import scipy.stats

    result = scipy.stats.kstest(values, "norm", args=(values.mean(), values.std(ddof=1)))
    return float(result.statistic), float(result.pvalue)


def smallest_ks_p(n: int) -> float:
    """The smallest p-value that `ks_normality` can give at ``n``: of n - 1 equal values and another one.
    .153 at n = 5, .004 at n = 10."""
    from scipy.special import ndtr
    from scipy.stats import kstwo

    return float(kstwo.sf((n - 1) / n - ndtr(-1 / math.sqrt(n)), n)) if n > 1 else math.nan


def equivalence_reachable(n: int, m: int, margin: float, level: float) -> bool:
    """Whether two one-sided t-tests of samples of ``n`` and ``m`` can show a difference of means below
    ``margin`` pooled standard deviations: equal means and spreads are the best case."""
    from scipy.special import stdtrit

    return min(n, m) > 1 and bool(margin / math.sqrt(1 / n + 1 / m) > stdtrit(n + m - 2, 1 - level))


LILLIEFORS_SAMPLES = 19_999
"""Normal samples of the Monte-Carlo distribution: p is a multiple of 1/20,000."""


@functools.cache
def lilliefors_distances(n: int) -> Array:
    """KS distances of normal samples of ``n`` values from the normal with their own mean and sd, the same
    every time."""
    import scipy.stats

    draws = generator("statistics", "lilliefors", n).standard_normal((LILLIEFORS_SAMPLES, n))
    draws.sort(axis=1)
    scaled = (draws - draws.mean(axis=1, keepdims=True)) / draws.std(axis=1, ddof=1, keepdims=True)
    below, steps = scipy.stats.norm.cdf(scaled), np.arange(n + 1) / n
    return np.asarray(np.maximum(steps[1:] - below, below - steps[:-1]).max(axis=1))


def lilliefors(samples: ArrayLike) -> tuple[float, float]:
    """Lilliefors' test of normality (JASA 1967): the distance of `ks_normality`, and p by its own null
    distribution, where mean and deviation are estimated from each sample, too."""
    distance, _ = ks_normality(samples)
    if math.isnan(distance):
        return math.nan, math.nan
    larger = int(np.sum(lilliefors_distances(np.size(samples)) >= distance))
    return distance, (1 + larger) / (1 + LILLIEFORS_SAMPLES)


# Input


def finite(values: ArrayLike, name: str) -> Array:
    """``values`` as an array of floats; a `RepliboError` if there are none, or one is not finite."""
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~np.isfinite(array)]
    if wrong.size or not array.size:
        first = wrong[0] if wrong.size else "none"
        raise RepliboError(
            f"{name}: must be finite numbers, got {first} ({wrong.size} of {array.size})"
        )
    return array
