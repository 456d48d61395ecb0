"""Regret and the statistics of the four papers: intervals, KS, t-tests, Benjamini-Hochberg.

Objectives are maximised everywhere (see `replibo.problems.base.Problem`). Every function takes
what NumPy can turn into an array of floats, and raises a `RepliboError` of one line where there
is no value at all, or where a value is not a finite number; too few values for a statistic are no
error: the statistic is nan then.

``scipy.stats`` is imported by the functions that need it, because its import takes 0.7 s.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist  # the standard library's, not this module
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replibo.errors import RepliboError

Array = NDArray[np.float64]

# Values of one sample that lie closer together than this, relative to the largest of them, differ
# by round-off only: the same point, evaluated in batches of another size, differs by an ulp or two.
ROUND_OFF = 8 * float(np.finfo(np.float64).eps)


# Regret


def instantaneous_regret(f: ArrayLike, optimal_value: float) -> Array:
    """r_t = f* - f(x_t).

    A regret below 0 is not clipped: it shows that ``optimal_value`` is wrong (or round-off).

    Args:
        f: noise-free values of the queries, ``… x T``; the last axis is time. A phase of its own,
            such as Phase II of GO-UCB, is sliced before: ``f[..., n:]``.
        optimal_value: f*, the maximum of the objective.

    Returns:
        The regret, ``… x T``.
    """
    values = _finite(f, "f")
    if values.ndim == 0:
        raise RepliboError("f: one number is not allowed; an array whose last axis is time is")
    optimum = _finite(optimal_value, "optimal_value")
    if optimum.ndim:
        raise RepliboError(f"optimal_value: shape {optimum.shape} is not allowed; one number is")
    return np.asarray(optimum - values)


def cumulative_regret(f: ArrayLike, optimal_value: float) -> Array:
    """R_t = r_1 + … + r_t, ``… x T``; arguments as for `instantaneous_regret`."""
    return np.cumsum(instantaneous_regret(f, optimal_value), axis=-1)


def average_regret(f: ArrayLike, optimal_value: float) -> Array:
    """R_t/t, the running average, ``… x T``; arguments as for `instantaneous_regret`.

    GO-UCB's figures show it over Phase II, so R_t/(t - n): pass ``f[..., n:]``.
    """
    regret = cumulative_regret(f, optimal_value)
    return np.asarray(regret / np.arange(1, regret.shape[-1] + 1))


def best_regret(f: ArrayLike, optimal_value: float) -> Array:
    """f* - max_{s ≤ t} f(x_s), ``… x T``; arguments as for `instantaneous_regret`."""
    return np.minimum.accumulate(instantaneous_regret(f, optimal_value), axis=-1)


# Intervals


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean (or a share) with its confidence interval.

    Attributes:
        mean, low, high: arrays of one shape; of no dimension, so that ``float(interval.mean)``
            works, where there is a single interval. ``low`` and ``high`` are nan where ``n`` is
            too small to know them.
        n: number of values behind each mean.
        confidence: in (0, 1), e.g. .98.
    """

    mean: Array
    low: Array
    high: Array
    n: int
    confidence: float

    @property
    def half_width(self) -> Array:
        """Half the interval's length."""
        return np.asarray((self.high - self.low) / 2)


def standard_error(samples: ArrayLike, axis: int = 0) -> Array:
    """The standard error s/√n of the mean over ``axis``, with the n - 1 in s.

    Returns:
        An array of the shape of ``samples`` without ``axis``; nan where n = 1.
    """
    values = _samples(samples)
    n = values.shape[axis]
    if n == 1:  # NumPy would say nan as well, with a warning
        return np.full(np.mean(values, axis=axis).shape, np.nan)
    return np.asarray(np.std(values, axis=axis, ddof=1) / math.sqrt(n))


def wald_interval(samples: ArrayLike, confidence: float, axis: int = 0) -> Interval:
    """Wald's interval of the mean, mean ± z·s/√n, as GO-UCB's error bars (98 %: z = 2.326).

    The quantile is the normal one, as the name says, not Student's, so small samples are covered
    too rarely: at 98 %, normal samples of n = 100, 20 and 10 are covered by 97.8, 96.9 and 95.5 %
    of the intervals.

    Args:
        samples: ``n x …`` where ``axis`` is 0: the repetitions along ``axis``, anything else (time,
            for instance) along the others.
        confidence: in (0, 1).

    Returns:
        An `Interval` of the shape of ``samples`` without ``axis``. Where n = 1 the mean is known
        and nothing else: ``low``, ``high`` and ``half_width`` are nan.
    """
    z = _normal_quantile(confidence)
    values = _samples(samples)
    mean = np.asarray(np.mean(values, axis=axis))
    half_width = z * standard_error(values, axis)
    return Interval(
        mean=mean,
        low=np.asarray(mean - half_width),
        high=np.asarray(mean + half_width),
        n=values.shape[axis],
        confidence=confidence,
    )


def share_interval(successes: ArrayLike, n: int, confidence: float) -> Interval:
    """Wilson's interval of a share (E. B. Wilson, JASA 1927), which is right near 0 and 1 too.

    Args:
        successes: whole numbers from 0 to ``n``, of any shape (none for a single share).
        n: number of trials behind each share, at least 1.
        confidence: in (0, 1).

    Returns:
        An `Interval` of the shape of ``successes`` whose ``mean`` is the share; it lies in the
        interval, but not in its middle.
    """
    z = _normal_quantile(confidence)
    if n < 1:
        raise RepliboError(f"n: {n} is not allowed; a whole number >= 1 is")
    counts = _finite(successes, "successes")
    wrong = counts[(counts != np.floor(counts)) | (counts < 0) | (counts > n)]
    if wrong.size:
        raise RepliboError(
            f"successes: {wrong[0]:g} is not allowed; whole numbers from 0 to {n} are"
        )
    share = counts / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half_width = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # Exactly, the interval begins at 0 where nothing succeeds and ends at 1 where everything does.
    low = np.where(counts == 0, 0.0, centre - half_width)
    high = np.where(counts == n, 1.0, centre + half_width)
    return Interval(mean=np.asarray(share), low=low, high=high, n=n, confidence=confidence)


# Tests


@dataclass(frozen=True)
class TestResult:
    """The result of `t_test_less`.

    Attributes:
        statistic: t.
        p_value: of the one-sided alternative mean(a) < mean(b).
        degrees_of_freedom: by Welch and Satterthwaite, n_a + n_b - 2 (equal variances) or n - 1
            (paired).
        difference: mean(a) - mean(b), in the samples' unit.
        effect_size: the difference in standard deviations: ``effect_size_kind`` says which.
        effect_size_kind: ``d``, Cohen's d, by the pooled deviation of the two samples; or ``d_z``,
            by the deviation of the paired differences. The two cannot be compared.
        n_a, n_b: sizes of the samples.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: float
    difference: float
    effect_size: float
    effect_size_kind: Literal["d", "d_z"]
    n_a: int
    n_b: int


def t_test_less(
    a: ArrayLike, b: ArrayLike, paired: bool, equal_variances: bool = False
) -> TestResult:
    """One-sided t-test of H0: mean(a) ≥ mean(b) against H1: mean(a) < mean(b).

    NeuralBO's Table 2 asks whether the baseline's (minimised) final value is the larger one: with
    f maximised, as here, ``t_test_less(baseline, neural_bo, paired=False)``; with the values that
    the paper minimises, the other way round.

    Samples without spread happen (every seed finds the best candidate). Where the differences of
    the pairs, or each of the two unpaired samples, are constant up to round-off (`ROUND_OFF`), t is
    a division by zero, and the result is the limit of the test as the spread goes to 0:

    * mean(a) < mean(b): t = -∞ and p = 0, the effect size -∞;
    * mean(a) > mean(b): t = +∞ and p = 1, the effect size +∞;
    * equal up to round-off: 0/0 has no limit. t and the effect size are nan and p = 1, which is
      what the permutation test says (every relabelling gives the same difference): nothing in
      these samples speaks for H1.

    One unpaired sample without spread is no problem for the test. Round-off is judged by the size
    of the values: pass f, or an error, not a regret from which the leading digits have gone.

    Args:
        a: ``n_a`` values.
        b: ``n_b`` values; where paired, ``n_a``, in the same order of seeds.
        paired: whether ``a[i]`` and ``b[i]`` share a seed (initial points and noise).
        equal_variances: the pooled test instead of Welch's; only where not paired.

    Returns:
        A `TestResult`. With fewer than two values in a sample all but the difference and the sizes
        is nan.

    Raises:
        RepliboError: samples that are empty, not finite or not one-dimensional, paired samples of
            two sizes, or ``equal_variances`` with paired samples.
    """
    first, second = _sample(a, "a"), _sample(b, "b")
    n_a, n_b = first.size, second.size
    if paired and n_a != n_b:
        raise RepliboError(f"paired samples: sizes {n_a} and {n_b} are not allowed; equal ones are")
    if paired and equal_variances:
        raise RepliboError("equal_variances: not allowed with paired samples")
    round_off = ROUND_OFF * max(np.abs(first).max(), np.abs(second).max())
    samples = (first - second,) if paired else (first, second)
    without_spread = all(np.ptp(sample) <= round_off for sample in samples)

    difference = float(first.mean() - second.mean())
    statistic = p_value = degrees_of_freedom = effect_size = math.nan
    if min(n_a, n_b) < 2:
        pass
    elif without_spread:
        if paired or equal_variances:
            degrees_of_freedom = float(sum(sample.size - 1 for sample in samples))
        if abs(difference) <= round_off:
            p_value = 1.0
        else:
            statistic = effect_size = math.copysign(math.inf, difference)
            p_value = 0.0 if difference < 0 else 1.0
    else:
        import scipy.stats

        with warnings.catch_warnings():
            # SciPy warns of one constant sample; what is degenerate has been dealt with above.
            warnings.filterwarnings("ignore", "Precision loss occurred", RuntimeWarning)
            if paired:
                result = scipy.stats.ttest_rel(first, second, alternative="less")
            else:
                result = scipy.stats.ttest_ind(
                    first, second, equal_var=equal_variances, alternative="less"
                )
        statistic, p_value = float(result.statistic), float(result.pvalue)
        degrees_of_freedom = float(result.df)
        squares = sum(float(np.sum((sample - sample.mean()) ** 2)) for sample in samples)
        pooled_variance = squares / sum(sample.size - 1 for sample in samples)
        effect_size = difference / math.sqrt(pooled_variance)
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        degrees_of_freedom=degrees_of_freedom,
        difference=difference,
        effect_size=effect_size,
        effect_size_kind="d_z" if paired else "d",
        n_a=n_a,
        n_b=n_b,
    )


def benjamini_hochberg(p_values: ArrayLike) -> Array:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg 1995).

    The whole array is one family, whatever its shape. NeuralBO's Table 2 has a family for each
    function: 4 dimensions x 6 baselines.

    Args:
        p_values: of any shape; nan where there is no test, which then does not count in the family.

    Returns:
        The adjusted p-values, of the same shape, nan where ``p_values`` is: a hypothesis is
        rejected at a level if its adjusted p-value is at most the level.
    """
    p = _numbers(p_values, "p_values")
    known = ~np.isnan(p)
    wrong = p[known & ~((p >= 0) & (p <= 1))]
    if wrong.size:
        raise RepliboError(f"p_values: {wrong[0]:g} is not allowed; a number from 0 to 1 is")
    adjusted = np.full(p.shape, np.nan)
    if known.any():
        import scipy.stats

        adjusted[known] = scipy.stats.false_discovery_control(p[known], method="bh")
    return adjusted


def benjamini_hochberg_rejections(p_values: ArrayLike, level: float = 0.05) -> NDArray[np.bool_]:
    """Where `benjamini_hochberg` rejects the null hypothesis at ``level``; never where p is nan.

    Args:
        p_values: one family, of any shape.
        level: in (0, 1), the bound on the false discovery rate.

    Returns:
        Truth values of the shape of ``p_values``.
    """
    if not 0 < level < 1:
        raise RepliboError(f"level: {level} is not allowed; a number between 0 and 1 is")
    return np.asarray(benjamini_hochberg(p_values) <= level)


@dataclass(frozen=True)
class KSResult:
    """The result of a Kolmogorov-Smirnov test.

    Attributes:
        statistic: the largest distance of the two distribution functions.
        p_value: two-sided.
        sizes: of the sample, or of the two samples.
    """

    statistic: float
    p_value: float
    sizes: tuple[int, ...]


def ks_normality(samples: ArrayLike) -> KSResult:
    """KS test of ``samples`` against N(sample mean, sample sd), as in NeuralBO's Table 1.

    The p-value is reported as the paper does, by the distribution of a test against a fixed normal
    distribution. Since mean and sd are estimated from the same sample it is far too large
    (Lilliefors, JASA 1967): at n = 10 Lilliefors' 5 % point is a distance of .262, which is p = .43
    here. "All p-values exceed .05" therefore says next to nothing: of samples of 10 exponential
    values .4 % fail this test (30 % fail Lilliefors').

    Args:
        samples: ``n`` values.

    Returns:
        A `KSResult`; statistic and p-value are nan where n < 2, or where the values are equal up to
        round-off (`ROUND_OFF`): there is no normal distribution to test against.
    """
    values = _sample(samples, "samples")
    if np.ptp(values) <= ROUND_OFF * np.abs(values).max():  # a single value among them
        return KSResult(math.nan, math.nan, (values.size,))
    import scipy.stats

    result = scipy.stats.kstest(values, "norm", args=(values.mean(), values.std(ddof=1)))
    return KSResult(float(result.statistic), float(result.pvalue), (values.size,))


def ks_two_sample(a: ArrayLike, b: ArrayLike) -> KSResult:
    """Two-sided KS test of whether two samples have one distribution.

    It is meant for continuous values: with ties, values equal in both samples, p is too large.

    Args:
        a: ``n_a`` values, at least one.
        b: ``n_b`` values, at least one.

    Returns:
        A `KSResult`.
    """
    first, second = _sample(a, "a"), _sample(b, "b")
    import scipy.stats

    result = scipy.stats.ks_2samp(first, second)
    return KSResult(float(result.statistic), float(result.pvalue), (first.size, second.size))


# Input


def _normal_quantile(confidence: float) -> float:
    """z such that N(0, 1) lies in [-z, z] with probability ``confidence``."""
    if not 0 < confidence < 1:
        raise RepliboError(f"confidence: {confidence} is not allowed; a number between 0 and 1 is")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _numbers(values: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise RepliboError(f"{name}: {type(values).__name__} is not allowed; numbers are") from None


def _finite(values: ArrayLike, name: str) -> Array:
    array = _numbers(values, name)
    wrong = array[~np.isfinite(array)]
    if wrong.size:
        raise RepliboError(
            f"{name}: {wrong[0]} is not allowed ({wrong.size} of {array.size}); finite numbers are"
        )
    return array


def _samples(values: ArrayLike) -> Array:
    array = _finite(values, "samples")
    if array.ndim == 0 or array.size == 0:
        raise RepliboError("samples: none; an array of at least one value is allowed")
    return array


def _sample(values: ArrayLike, name: str) -> Array:
    array = _finite(values, name)
    if array.ndim != 1 or array.size == 0:
        raise RepliboError(
            f"{name}: shape {array.shape} is not allowed; one axis of at least one value is"
        )
    return array
