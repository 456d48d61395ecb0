"""The measures of LB-GP-UCB's claims (Ziomek, Adachi and Osborne 2024; ``config/claims/``).

The tests and their correction are those of all papers (`replibo.results.comparisons`). Seeds share their
initial points, so that methods are compared in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from replibo.config.models import Rounds
from replibo.papers.common import tested
from replibo.papers.lb_gp_ucb.tables import FOUND
from replibo.papers.lb_gp_ucb.traces import (
    TESTS,
    Metric,
    best_regret,
    cpu_time,
    diagnostic,
    final_losses,
    final_regret_of,
    first_rounds,
    oracle_length_scale,
)
from replibo.problems.base import Array
from replibo.results import intervals, statistics
from replibo.results.comparisons import (
    Comparison,
    MissingRunsError,
    Undecided,
    decided,
    rank_tested,
    sign_tested,
)
from replibo.results.effects import BEYOND, DEVIATIONS, of_samples
from replibo.results.runs import Runs, of_common_seeds

LEAST_SEEDS = 6
"""Seeds that a test of mean times by the normal distribution needs. With fewer it decides too often."""

AROUND = 2.0
"""A length scale within this factor of θ̂* lies around it."""

ROUND_OFF = 1e-12
"""Differences of the logarithms of length scales below this are no evidence."""

Share = Annotated[float, Field(gt=0, lt=1)]


def _mean(values: Array) -> str:
    """``mean ± standard error``."""
    error = float(statistics.standard_error(values))
    return f"{values.mean():.4g}" + ("" if math.isnan(error) else f" ± {error:.2g}")


# Claim 1


def escapes_local_optimum(
    runs: Runs, *, problem: str, stuck: Sequence[str], others: Sequence[str], threshold: float
) -> list[Comparison]:
    """Each of ``stuck`` ends in the local optimum more often than each of ``others``.

    A seed is stuck if the best regret at t = T is above ``threshold``. McNemar's exact test of
    the seeds where one of the two is stuck and the other is not.
    """
    runs.require(problem, *stuck, *others)
    tests = []
    for pair in product(stuck, others):
        seeds, ends = of_common_seeds(
            (runs.seeds(problem, name), final_regret_of(runs, problem, name, "best") > threshold)
            for name in pair
        )
        if not len(seeds):
            raise MissingRunsError(f"{' and '.join(pair)} have no seed in common on {problem}")
        shares = [_share(runs.label(name), end) for name, end in zip(pair, ends, strict=True)]
        more = ends[0].astype(float) - ends[1]
        tests.append(sign_tested(f"stuck: {' and '.join(shares)}", more, seeds.tolist()))
    return decided(tests)


def longer_where_stuck(
    runs: Runs, *, problem: str, algorithms: Sequence[str], threshold: float
) -> list[Comparison]:
    """The length scales of each method are longer in the seeds in which it ends in the local optimum.

    A seed is stuck if the best regret at t = T is above ``threshold``. Mann and Whitney's exact test
    of the seeds' median length scales over the rounds; open where all seeds are stuck, or none. The
    effect is that of their logarithms.
    """
    from scipy.stats import mannwhitneyu

    runs.require(problem, *algorithms)
    tests = []
    for name in algorithms:
        medians = np.median(diagnostic(runs, problem, name, "length_scale"), axis=1)
        stuck = final_regret_of(runs, problem, name, "best") > threshold
        groups, seeds = (medians[stuck], medians[~stuck]), runs.seeds(problem, name)
        p = reverse = math.nan
        smallest = 1 / math.comb(len(stuck), int(stuck.sum()))
        by_group = [seeds[~stuck].tolist(), seeds[stuck].tolist()]
        effect = of_samples(np.log(groups[1]), np.log(groups[0]), paired=False, seeds=by_group)
        if all(map(len, groups)):
            p, reverse = (
                float(mannwhitneyu(*groups, alternative=end, method="exact").pvalue)
                for end in ("greater", "less")
            )
        ranges = [f"{min(g):.2g} to {max(g):.2g}" if len(g) else "none" for g in groups]
        text = f"median θ of {runs.label(name)} where stuck {ranges[0]}, elsewhere {ranges[1]}"
        text += f" ({stuck.sum()} of {len(stuck)} seeds stuck)"
        tests.append(Undecided(text, p, reverse, effect, (smallest, smallest)))
    return decided(tests)


def _share(label: str, stuck: NDArray[np.bool_]) -> str:
    """``MLE 12 of 20 (95 % interval 0.39 to 0.78)``."""
    count, n = int(stuck.sum()), len(stuck)
    interval = intervals.share_interval(count, n)
    return f"{label} {count} of {n} (95 %: {float(interval.low):.2f} to {float(interval.high):.2f})"


def finds_within(
    runs: Runs, *, problem: str, algorithms: Sequence[str], within: Share
) -> list[Comparison]:
    """More than half of the seeds of each method find the optimum ``within`` a share of the rounds: a
    best regret of at most 0.1 % of |f*| (`FOUND`). The sign test over the seeds."""
    runs.require(problem, *algorithms)
    rounds = _share_of_rounds(runs, problem, within)
    runs = runs.until(rounds)
    enough = FOUND * abs(runs.optimal_value(problem))
    flags = {name: final_regret_of(runs, problem, name, "best") <= enough for name in algorithms}
    return _most_seeds(runs, problem, f"within {rounds} rounds", flags)


def _share_of_rounds(runs: Runs, problem: str, share: float) -> int:
    """That many rounds of the runs, rounded, at least one."""
    return max(1, round(share * runs.horizon(problem)))


def _most_seeds(
    runs: Runs, problem: str, text: str, flags: Mapping[str, NDArray[np.bool_]]
) -> list[Comparison]:
    """The tests that ``flags`` is true of more than half of the seeds of each method."""
    tests = []
    for name, values in flags.items():
        words = f"{text}: {_share(runs.label(name), values)}"
        seeds = runs.seeds(problem, name).tolist()
        tests.append(sign_tested(words, np.where(values, 0.5, -0.5), seeds))
    return decided(tests)


# Claim 2


def length_scales(
    runs: Runs,
    *,
    problem: str,
    closer: Sequence[Sequence[str]] = (),
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    around: Sequence[str] = (),
    optimal_length_scale: float | None = None,
) -> list[Comparison]:
    """The place of the median length scales beside θ̂*, per seed the median over the rounds.

    Wilcoxon's signed-rank tests, over the seeds, of the paired distances |log θ - log θ̂*|, of
    log θ - log θ̂*, and of the distance less the logarithm of `AROUND`.

    Args:
        closer: pairs of methods, of which the first is claimed to lie closer to θ̂* than the second.
        above, below, around: the methods that are claimed to lie above θ̂*, below it, near it.
        optimal_length_scale: θ̂*; None takes the oracle's of the config.
    """
    optimal = oracle_length_scale(runs, problem, optimal_length_scale)
    if optimal is None:
        raise MissingRunsError(f"no optimal length scale of {problem}: the config has no oracle")

    def ratios(name: str) -> Array:
        """log θ - log θ̂* of the median length scale of each seed; 0 where that is round-off."""
        medians = np.median(diagnostic(runs, problem, name, "length_scale"), axis=1)
        values = np.log(medians) - math.log(optimal)
        values[np.abs(values) < ROUND_OFF] = 0.0
        return values.astype(float)  # of the published single precision

    def placed(names: Sequence[str], where: str, less: Array, unit: str = DEVIATIONS) -> Undecided:
        medians = ", of ".join(_median(runs, problem, name) for name in names)
        count = f"{np.sum(less < 0)} of {len(less)} seeds"
        return rank_tested(f"median θ of {medians}{where} in {count}", less, unit)

    tests = []
    for pair in closer:
        runs.require(problem, *pair)
        _, (near, far) = of_common_seeds((runs.seeds(problem, a), ratios(a)) for a in pair)
        difference = np.abs(near) - np.abs(far)
        difference[np.abs(difference) < ROUND_OFF] = 0.0
        tests.append(placed(pair, f" (θ̂* {optimal:.3g}), closer", difference))
    for name in above:
        tests.append(placed([name], f", above θ̂* {optimal:.3g}", -ratios(name)))
    for name in below:
        tests.append(placed([name], f", below θ̂* {optimal:.3g}", ratios(name)))
    for name in around:
        beyond = np.abs(ratios(name)) - math.log(AROUND)
        where = f", within a factor of {AROUND:g} of θ̂* {optimal:.3g}"
        tests.append(placed([name], where, beyond, BEYOND))
    return decided(tests)


def _median(runs: Runs, problem: str, name: str) -> str:
    overall = np.median(diagnostic(runs, problem, name, "length_scale"))
    return f"{runs.label(name)} {overall:.3g}"


# Claim 3


def lowest_regret(
    runs: Runs,
    *,
    problem: str,
    metric: Metric,
    algorithm: str,
    others: Sequence[str],
    rounds: Rounds | None = None,
    test: Literal["t", "sign_flip"] = "t",
) -> list[Comparison]:
    """``algorithm`` has a lower mean regret at t = T than each of ``others``: paired tests.

    If both have no regret in any seed, they tie: no win, and an open comparison.

    Args:
        test: "t", or "sign_flip", the exact test of the signs of the differences, for differences of
            two values.
        rounds: T, if it is not that of the runs, whose first rounds are the runs to it.
    """
    runs.require(problem, algorithm, *others)
    runs = first_rounds(runs, rounds)
    tests = [
        _lower(runs, problem, metric, algorithm, name, test, first=name == others[0])
        for name in others
    ]
    return decided(tests)


def _lower(
    runs: Runs,
    problem: str,
    metric: Metric,
    algorithm: str,
    baseline: str,
    test: Literal["t", "sign_flip"] = "t",
    first: bool = True,
) -> Undecided | Comparison:
    """One comparison of `lowest_regret`; its text has the mean of ``algorithm`` if ``first``."""
    finals, rival = (final_regret_of(runs, problem, name, metric) for name in (algorithm, baseline))
    text = f"{runs.label(baseline)} {_mean(rival)}"
    if first:
        text = f"{runs.label(algorithm)} {_mean(finals)}; {text}"
    common = np.intersect1d(runs.seeds(problem, algorithm), runs.seeds(problem, baseline))
    if len(common) < len(finals):
        text += f" (of {len(common)} common seeds)"
    if not finals.any() and not rival.any():
        return Comparison("open", f"{text}, a tie: neither has any regret")
    losses = final_losses(runs, problem, (algorithm, baseline), metric)
    effect = of_samples(*losses, paired=True, seeds=[common.tolist()] * 2)
    smallest = 0.5 ** len(common) if test == "sign_flip" else 0.0
    return Undecided(text, *TESTS[test](*losses), effect, (smallest, smallest))


def stays_stuck(
    runs: Runs,
    *,
    problem: str,
    algorithms: Sequence[str],
    since: Share,
    rounds: Rounds | None = None,
) -> list[Comparison]:
    """More than half of the seeds of each method are stuck: not at the optimum after the share ``since``
    of the rounds, and with no better point by t = T (``rounds``, if not that of the runs). The sign test
    over the seeds."""
    runs.require(problem, *algorithms)
    runs = first_rounds(runs, rounds)
    first = _share_of_rounds(runs, problem, since)
    stuck = {}
    for name in algorithms:
        best = best_regret(runs, problem, name)[1]
        stuck[name] = (best[:, first - 1] > 0) & (best[:, -1] == best[:, first - 1])
    return _most_seeds(runs, problem, f"stuck since round {first}", stuck)


# Claim 4


def varies_less(
    runs: Runs,
    *,
    problem: str,
    variants: Sequence[str],
    other_variants: Sequence[str],
    metric: Metric = "best",
) -> list[Comparison]:
    """The mean final regret varies less over ``variants`` (the values of a) than over ``other_variants``,
    and at each a it is lower (`lowest_regret`), as a method that is bad at each a varies little, too.

    The standard deviation over the variants of the mean over the seeds is compared. The test exchanges at
    random what a seed has of ``variants`` with what it has of ``other_variants`` (`intervals.of_pairs`).
    It is exact if both also vary alike over the seeds.
    """
    names = [*variants, *other_variants]
    losses = np.array(final_losses(runs, problem, names, metric)).T  # seeds x variants
    losses -= losses.min()  # so that equal values have a deviation of 0 exactly
    less, more = np.split(losses, [len(variants)], axis=1)

    def deviation(side: Array) -> Array:
        return np.asarray(side.mean(axis=-2).std(axis=-1, ddof=1))

    less_sd, more_sd = deviation(less), deviation(more)
    text = (
        f"standard deviation over a of the mean {metric} regret: {less_sd:.4g} "
        f"({_means(runs, problem, variants, metric)}), against {more_sd:.4g} "
        f"({_means(runs, problem, other_variants, metric)})"
    )
    difference = intervals.of_pairs(less, more, lambda a, b: deviation(b) - deviation(a))
    smallest = (0.5 ** len(losses),) * 2
    spread = replace(tested(text, difference, "difference of deviations"), smallest=smallest)
    lower = [
        _lower(runs, problem, metric, *pair) for pair in zip(variants, other_variants, strict=True)
    ]
    return decided([spread, *lower])


def length_scales_vary_less(
    runs: Runs, *, problem: str, variants: Sequence[str], other_variants: Sequence[str]
) -> list[Comparison]:
    """The selected length scales depend less on a over ``variants`` than over ``other_variants``.

    Per seed the standard deviation over the variants of ln(median θ over the rounds); Wilcoxon's
    signed-rank test of the seeds' paired differences.
    """
    names = [*variants, *other_variants]
    runs.require(problem, *names)
    seeds, scales = of_common_seeds(
        (runs.seeds(problem, name), diagnostic(runs, problem, name, "length_scale"))
        for name in names
    )
    logs = np.log(np.median(scales, axis=2))
    less_sd, more_sd = (
        np.std(group, axis=0, ddof=1) for group in (logs[: len(variants)], logs[len(variants) :])
    )
    medians = [
        ", ".join(_median(runs, problem, name) for name in group)
        for group in (variants, other_variants)
    ]
    text = (
        f"median θ: {medians[0]}; {medians[1]}; standard deviation of ln θ over a {less_sd.mean():.2g} "
        f"against {more_sd.mean():.2g}, smaller in {np.sum(less_sd < more_sd)} of {len(seeds)} seeds"
    )
    return decided([rank_tested(text, less_sd - more_sd)])


def _means(runs: Runs, problem: str, names: Sequence[str], metric: Metric) -> str:
    return ", ".join(
        f"{runs.label(name)} {final_regret_of(runs, problem, name, metric).mean():.4g}"
        for name in names
    )


# Claim 5


def time_ratio(
    runs: Runs,
    *,
    problems: Sequence[str],
    algorithm: str,
    others: Sequence[str],
    factor: float,
    at_most: bool,
) -> list[Comparison]:
    """``algorithm`` takes at most, or at least, ``factor`` times the CPU time of each of ``others``.

    Tests of the ratio of mean CPU times by the delta method on its logarithm; none with fewer than
    `LEAST_SEEDS`.
    """
    from scipy.special import ndtr

    tests = []
    for problem, baseline in product(problems, others):
        runs.require(problem, algorithm, *others)
        time, rival = (cpu_time(runs, problem, name) for name in (algorithm, baseline))
        if time is None or rival is None:
            name = algorithm if time is None else baseline
            raise MissingRunsError(f"no CPU times of {name} on {problem} were recorded")
        ratio = time.mean / rival.mean
        error = math.hypot(time.standard_error / time.mean, rival.standard_error / rival.mean)
        half = intervals.normal_quantile(0.95) * error
        low, high = ratio * math.exp(-half), ratio * math.exp(half)  # NaN of a single run
        interval = "" if math.isnan(half) else f" (95 %: {low:.3g} to {high:.3g})"
        text = (
            f"{runs.problem_label(problem)}: {runs.label(algorithm)} {time.mean:.3g} s, "
            f"{runs.label(baseline)} {rival.mean:.3g} s, ratio {ratio:.3g}{interval}"
        )
        distance = math.log(ratio / factor)
        z = distance / error if error else math.copysign(math.inf, distance)
        if min(time.runs, rival.runs) < LEAST_SEEDS:
            z = math.nan
        of_log = replace(
            intervals.Interval.around(distance, half, min(time.runs, rival.runs)),
            p_above=np.asarray(ndtr(-z)),
            p_below=np.asarray(ndtr(z)),
        )
        claimed = -of_log if at_most else of_log
        sizes = time.runs, rival.runs
        tests.append(tested(text, claimed, "log time ratio beyond the factor", sizes=sizes))
    return decided(tests)
