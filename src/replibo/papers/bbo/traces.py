"""What the outputs of the BBO paper read from its traces (Fu et al. 2024): the performance of the
hyperparameters that Algorithm 1 or 2 returns after T steps, N SGD iterations each.

A run to the largest T of its N serves the smaller T as well: what it had done up to T is the run to T,
as every decision only looks back. The test set is read here and nowhere in a run's decisions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from replibo.config.models import AlgorithmEntry
from replibo.errors import RepliboError
from replibo.messages import counted
from replibo.papers.bbo.printed import ABOVE_UNIFORM_GUESS, CELLS, UNIFORM_GUESS
from replibo.problems.base import Array
from replibo.problems.mnist_cnn import LOG10_LEARNING_RATE, MOMENTUM
from replibo.results.comparisons import MissingRunsError
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation

if TYPE_CHECKING:
    from replibo.surrogates.gp_regression import GpRegression

Metric = Literal["test_cross_entropy", "test_error"]
METRICS: dict[Metric, str] = {
    "test_cross_entropy": "test cross-entropy",
    "test_error": "test error (%)",
}
"""What "performance" is read as: diagnostics of `replibo.problems.mnist_cnn`, nats and percent."""

Rule = Literal["smallest_mean", "last_query", "best_observed"]
RULES: dict[str, Rule] = {"gp_ucb": "last_query"}
"""Which of the queries an algorithm returns; any other: the one of the smallest posterior mean."""

EQUAL_MEANS = 1e-9
"""Posterior means that differ by less, in standard deviations of the observations, are equal: a fit that
reads all observations as noise has a flat mean, whose largest value would be a matter of rounding."""

HYPERPARAMETERS = {"log10_learning_rate": LOG10_LEARNING_RATE, "momentum": MOMENTUM}
"""The diagnostics that hold λ (a paper's runs have no x), and their bounds: the GP's unit cube. In one
dimension there is the first alone."""

LEVELS = (
    'The paper calls its "performance" a loss and does not say which: trends are judged, not levels. On '
    "MNIST our test error in percent is of its size from N = 1,000 on and larger at N = 100; our "
    f"cross-entropy is far below it. {ABOVE_UNIFORM_GUESS} of its 30 means are worse than ln 10 = "
    f"{UNIFORM_GUESS:.3f}, the cross-entropy of a uniform guess."
)
"""For captions that show the paper's numbers and ours."""


@dataclass(frozen=True, eq=False)
class Cell:
    """The performance of what one algorithm returns after T steps of N = ``iterations`` SGD iterations:
    ``values``, one for each of ``seeds``."""

    iterations: int
    seeds: Array
    values: Array

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        """The deviation over the seeds, with n - 1; NaN of a single seed."""
        return float(standard_deviation(self.values))

    @property
    def at_its_n(self) -> str:
        """``0.31 ± 0.04 (5 seeds) at N = 100``."""
        return f"{self} at N = {self.iterations}"

    def __str__(self) -> str:
        """``0.31 ± 0.04 (5 seeds)``, mean and standard deviation."""
        sd = "" if math.isnan(self.sd) else f" ± {self.sd:.2g}"
        return f"{self.mean:.3g}{sd} ({counted(len(self.seeds), 'seed')})"


@dataclass(frozen=True)
class Reading:
    """A way to read the performance from the runs.

    Attributes:
        metric: what "performance" is.
        rules: for an algorithm, which query it returns, where it is not that of `RULES`.
        beyond: trainings beyond T, for the algorithms' last one.
    """

    metric: Metric = "test_cross_entropy"
    rules: Mapping[str, Rule] = field(default_factory=dict)
    beyond: int = 0

    def rule(self, algorithm: str) -> Rule:
        return self.rules.get(algorithm, RULES.get(algorithm, "smallest_mean"))

    def cell(
        self, runs: Runs, algorithm: str, steps: int, iterations: int, variant: str = ""
    ) -> Cell | None:
        """The performance of the hyperparameters that an algorithm returns after T = ``steps``; None if
        it was not run up to T. ``variant`` as of `problem_of`.

        Raises:
            MissingRunsError: the runs do not hold the metric, or λ.
            RepliboError: the problem is configured with another N than ``iterations``.
        """
        problem, rounds = problem_of(iterations, variant), steps + self.beyond
        if not runs.has(problem, algorithm) or runs.horizon(problem) < rounds:
            return None
        configured = runs.entry.problems[problem].parameters.get("iterations")
        if configured != iterations:
            raise RepliboError(
                f"problems.{problem}.parameters.iterations: must be {iterations}, as in the problem's "
                f"name, got {configured}"
            )
        seeds = runs.seeds(problem, algorithm)
        chosen = returned_queries(runs, problem, algorithm, rounds, self.rule(algorithm))
        values = _recorded(runs, problem, algorithm, self.metric)
        return Cell(iterations, seeds, values[np.arange(len(seeds)), chosen])


ReadingName = Literal["reported", "smallest_mean", "best_observed", "test_error", "t_plus_1"]
READINGS: dict[ReadingName, Reading] = {
    "reported": Reading(),
    "smallest_mean": Reading(rules={"gp_ucb": "smallest_mean"}),
    "best_observed": Reading(rules={"gp_ei": "best_observed", "gp_ucb": "best_observed"}),
    "test_error": Reading(metric="test_error"),
    "t_plus_1": Reading(beyond=1),
}
"""By name, as the claims' option ``reading`` gives them. Readings with other runs name these
(`replibo.config.claims.Variation`)."""


def problem_of(iterations: int, variant: str = "") -> str:
    """The problem with N = ``iterations``; with ``variant``, e.g. ``_large``, a variant of it."""
    return f"n_{iterations}{variant}"


def returned_queries(
    runs: Runs, problem: str, algorithm: str, steps: int, rule: Rule
) -> NDArray[np.int64]:
    """Which query (0, 1, …) is returned after T = ``steps``, one for each seed.

    "last_query" is Algorithm 2's λ_T. "best_observed" is the query of the smallest
    validation loss. "smallest_mean" is Algorithm 1's argmin μ(λ_i) over the queries up to T (ties
    go to the first). μ is the posterior mean of the algorithm's own surrogate, given the validation
    losses of these T queries (`replibo.surrogates.gp_regression`, or `gp_given`).
    """
    count = int(np.sum(runs.rounds(problem, algorithm) <= steps))
    f = runs.f(problem, algorithm)[:, :count]
    if rule == "last_query":
        return np.full(len(f), count - 1)
    if rule == "best_observed":
        return f.argmax(axis=1)
    points = _queried_points(runs, problem, algorithm)[:, :count]
    process = process_of(runs.entry.algorithms[algorithm])
    return np.array([largest_mean(x, y, process) for x, y in zip(points, f, strict=True)])


def _queried_points(runs: Runs, problem: str, algorithm: str) -> Array:
    """Every λ in the unit cube, ``seeds x queries x d``.

    Published traces keep diagnostics in single precision. All are rounded to it, before anything is
    computed from them, so that what is returned is the same by either, bit for bit.
    """
    dim = runs.dim(problem)
    columns = []
    for name, (lower, upper) in list(HYPERPARAMETERS.items())[:dim]:
        recorded = _recorded(runs, problem, algorithm, name).astype(np.float32).astype(float)
        columns.append((recorded - lower) / (upper - lower))
    return np.stack(columns, axis=-1)


Process = Literal["one start", "several starts"] | tuple[float, float]
"""A Gaussian process: its kernel is fitted from one start or from several, or has this ℓ and σ²."""


def process_of(algorithm: AlgorithmEntry) -> Process:
    """The Gaussian process of an algorithm of the paper; random search has EI's."""
    parameters = algorithm.parameters
    if algorithm.type in ("bbo_gp.GpEiFixed", "bbo_gp.GpUcbFixed", "bbo_beta.BboUcbFixed"):
        return parameters["length_scale"], parameters["noise_variance"]
    return "several starts" if algorithm.type == "bbo_gp.GpEiSeveralStarts" else "one start"


def largest_mean(X: Array, y: Array, process: Process) -> int:
    """The row of ``X`` (``n x d``, unit cube) with the largest posterior mean of ``y`` (``n``)."""
    return _largest_mean(X.tobytes(), X.shape[1], y.tobytes(), process)


@functools.cache
def _largest_mean(points: bytes, dim: int, values: bytes, process: Process) -> int:
    """`largest_mean`, remembered, because the claims ask for the same cells again and again."""
    import torch

    from replibo.surrogates.gp_given import GpFixed, GpGiven
    from replibo.surrogates.gp_regression import GpRegression

    X, y = np.frombuffer(points).reshape(-1, dim), np.frombuffer(values)
    gp: GpRegression
    if process == "one start":
        gp = GpRegression(X, y, device=torch.device("cpu"), capacity=len(y))
    elif process == "several starts":
        gp = GpGiven(X, y)
    else:
        gp = GpFixed(X, y, length_scale=process[0], noise_variance=process[1])
    mean = gp.mean_at_data()
    return int(np.flatnonzero(mean >= mean.max() - EQUAL_MEANS)[0])


def _recorded(runs: Runs, problem: str, algorithm: str, name: str) -> Array:
    """A diagnostic of all queries, ``seeds x queries``."""
    values = runs.held(problem, algorithm, name)
    if values is not None and not np.isnan(values).any():
        return values.astype(float)
    raise MissingRunsError(f"the runs of {algorithm} on {problem} hold no {name}")


def problems_run(runs: Runs) -> list[str]:
    """The problems of the tables that were run, for captions."""
    names = {problem_of(n) for _, n in CELLS}
    return [problem for problem in runs.problems() if problem in names]


def shown_ratio(logs: Array) -> tuple[str, str]:
    """``1.22`` and ``[1.19, 1.25] (5 seeds)``: the geometric mean, its 95 % interval by Student
    and the number of the ratios with these logarithms."""
    mean, low, high = np.exp(student_interval(logs).ends)
    return f"{mean:.2f}", f"[{low:.2f}, {high:.2f}] ({len(logs)} seeds)"
