"""What NeuralBO's outputs read from its traces (Phan-Trong, Tran-The and Gupta 2023).

The paper minimises; traces hold f = -(value of the function), to be maximised.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.results.intervals import Interval
from replibo.results.runs import Runs
from replibo.results.statistics import standard_deviation

FUNCTIONS = {"ackley": "Ackley", "levy": "Levy", "michalewicz": "Michalewicz"}
"""The functions of Figure 1: a problem is called ``FUNCTION_DIMENSION``, e.g. ``ackley_10``."""


def function_of(problem: str) -> str:
    """``ackley_10`` → ``ackley``."""
    return problem.rpartition("_")[0]


def synthetic_problems(runs: Runs, names: Sequence[str] | None = None) -> list[str]:
    """The problems of the synthetic study that were run, in the order of ``names`` or the config; a
    `RepliboError` if there are none."""
    problems = [name for name in runs.problems(names) if function_of(name) in FUNCTIONS]
    if not problems:
        raise RepliboError("no problem of the synthetic study was run")
    return problems


def largest_so_far(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the largest f so far, ``seeds x (T + 1)``; iteration 0 is the best of the
    initial points, which all methods share."""
    first = runs.initial_points(problem) - 1
    values = np.maximum.accumulate(runs.f(problem, algorithm), axis=1)
    return runs.rounds(problem, algorithm)[first:], values[:, first:]


def final_values_of(runs: Runs, problem: str, algorithm: str, t: int = -1) -> Array:
    """The smallest noise-free value after ``t`` iterations (by default T), one number per seed; what
    Tables 1 and 2 test."""
    return -largest_so_far(runs, problem, algorithm)[1][:, t]


def mean_cells(quantity: str, values: Array) -> dict[str, float]:
    """The cells of a table for the mean of a quantity over the seeds, and its standard deviation."""
    deviation = float(standard_deviation(values))
    return {f"{quantity}, mean": float(values.mean()), "standard deviation": deviation}


def interval_cells(
    interval: Interval, name: str = "95 % interval", *, mean: str | None = None
) -> dict[str, float]:
    """The cells of a table for the ends of an interval, after its mean if a column ``mean`` is named."""
    middle, low, high = interval.ends
    cells = {} if mean is None else {mean: middle}
    return cells | {f"{name}, low": low, f"{name}, high": high}
