"""Quantities of LB-GP-UCB's traces that its outputs show: regrets, length scales, θ0, CPU times."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from replibo.papers.common import timings_of
from replibo.problems.base import Array
from replibo.results import regret, statistics
from replibo.results.comparisons import MissingRunsError
from replibo.results.runs import Runs

Metric = Literal["best", "cumulative"]
"""Which regret: of the best query so far, or summed over the rounds."""

GROWTH_EXPONENT = 0.5
"""a of g(t) = max(t0, t^a) where an algorithm's entry in the config does not name it (section 5)."""


# Regret


def cumulative_regret(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Rounds 1 … T and the regret summed over them, ``seeds x T``; initial points do not count."""
    n = runs.initial_points(problem)
    f = runs.f(problem, algorithm)[:, n:]
    values = regret.cumulative_regret(f, runs.optimal_value(problem))
    return runs.rounds(problem, algorithm)[n:], values


def best_regret(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Rounds 1 … T and the regret of the best query so far, ``seeds x T``; initial points count."""
    n = runs.initial_points(problem)
    values = regret.best_regret(runs.f(problem, algorithm), runs.optimal_value(problem))
    return runs.rounds(problem, algorithm)[n:], values[:, n:]


METRICS: dict[Metric, Callable[[Runs, str, str], tuple[Array, Array]]] = {
    "cumulative": cumulative_regret,
    "best": best_regret,
}


TESTS: dict[str, Callable[[Array, Array], tuple[float, float]]] = {
    "t": functools.partial(statistics.t_tests, paired=True),
    "sign_flip": lambda losses, rival: (
        statistics.sign_flip_less(losses - rival),
        statistics.sign_flip_less(rival - losses),
    ),
}
"""Paired tests: p of the first sample's mean being lower, and of its being higher; NaN of one pair."""


def final_regret_of(runs: Runs, problem: str, algorithm: str, metric: Metric) -> Array:
    """The regret at t = T, one number per seed."""
    return METRICS[metric](runs, problem, algorithm)[1][:, -1]


def final_losses(
    runs: Runs, problem: str, algorithms: Sequence[str], metric: Metric
) -> list[Array]:
    """Losses that tests compare, for each algorithm one number per common seed: minus the best
    value, or minus the sum of the values of rounds 1 … T.

    It differs from the regret by a constant, and unlike the regret it keeps the size of f, by which
    the tests tell differences from round-off.
    """
    runs.require(problem, *algorithms)
    traces = runs.f_of_common_seeds(problem, algorithms)
    if not len(traces[0]):
        raise MissingRunsError(f"{', '.join(algorithms)} have no seed in common on {problem}")
    if metric == "best":
        return [-f.max(axis=1) for f in traces]
    n = runs.initial_points(problem)
    return [-f[:, n:].sum(axis=1) for f in traces]


def first_rounds(runs: Runs, rounds: int | None) -> Runs:
    """The runs up to t = ``rounds``; all of them where it is None."""
    if rounds is None:
        return runs
    if short := [p for p in runs.problems() if runs.horizon(p) < rounds]:
        raise MissingRunsError(f"the runs on {', '.join(short)} are shorter than {rounds} rounds")
    return runs.until(rounds)


# Diagnostics


def diagnostic(runs: Runs, problem: str, algorithm: str, name: str) -> Array:
    """A diagnostic in the rounds 1 … T, ``seeds x T``."""
    return runs.diagnostic(problem, algorithm, name)[:, runs.initial_points(problem) :]


def theta0_of(runs: Runs, problem: str, algorithm: str) -> Array:
    """θ0, one number per seed."""
    return diagnostic(runs, problem, algorithm, "theta0")[:, 0]


def oracle_length_scale(runs: Runs, problem: str, given: float | None = None) -> float | None:
    """θ̂*: ``given``, or that of the config's oracle for this problem; None if there is none."""
    if given is not None or "oracle" not in runs.entry.algorithms:
        return given
    value = runs.entry.algorithms["oracle"].parameters.get("length_scale")
    if isinstance(value, dict):
        value = value.get(problem)
    return None if value is None else float(value)


def growth_exponent(runs: Runs, algorithm: str) -> float:
    """a of g(t) = max(t0, t^a), from the config."""
    parameters = runs.entry.algorithms[algorithm].parameters
    return float(parameters.get("growth_exponent", GROWTH_EXPONENT))


# CPU time


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds of a whole run: mean over the runs, its standard error (NaN of a single
    run), the number of runs, and the queries of all of them (initial points included)."""

    mean: float
    standard_error: float
    runs: int
    queries: int


def cpu_time(runs: Runs, problem: str, algorithm: str) -> CpuTime | None:
    """CPU seconds per run, imports not counted; None where nothing was recorded."""
    if not (entry := timings_of(runs, problem, algorithm)):
        return None
    n, mean = entry["runs"], entry["cpu_seconds"] / entry["runs"]
    standard_error = math.nan
    if n > 1:
        # Round-off could make the variance negative.
        variance = max(entry["cpu_seconds_squared"] - n * mean**2, 0.0) / (n - 1)
        standard_error = math.sqrt(variance / n)
    return CpuTime(mean, standard_error, n, entry["queries"])
