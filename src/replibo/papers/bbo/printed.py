"""What the BBO paper prints (Fu et al. 2024, section 5): its six tables, as data."""

from __future__ import annotations

import math
from typing import Literal

ACQUISITIONS = {"gp_ei": "EI", "gp_ucb": "UCB"}
"""The paper's two acquisition functions, by this project's names of the algorithms."""

Steps = Literal[20, 40, 60]
STEPS: tuple[Steps, ...] = (20, 40, 60)
"""T, the outer-level steps of Bayesian optimisation: a table for each, and for each acquisition."""

# Of each table (T) the rows: N, mean, deviation.
_TABLES = {
    "gp_ei": {
        20: "100 3.15 0.75, 500 2.73 0.03, 1000 2.70 0.04, 2000 2.43 0.12, 3000 2.46 0.13",
        40: "500 3.45 0.85, 1000 2.42 0.23, 2000 2.44 0.55, 3000 2.39 0.09, 4000 2.51 0.09",
        60: "1000 2.58 0.58, 2000 2.40 0.35, 3000 2.34 0.28, 4000 2.10 0.08, 6000 2.25 0.17",
    },
    "gp_ucb": {
        20: "100 2.93 0.60, 500 2.59 0.47, 1000 2.49 0.34, 2000 2.39 0.07, 3000 2.31 0.13",
        40: "500 2.56 0.53, 1000 2.34 0.45, 2000 2.29 0.20, 3000 2.27 0.30, 4000 2.22 0.16",
        60: "1000 2.57 0.27, 2000 2.26 0.28, 3000 2.23 0.17, 4000 2.19 0.19, 6000 2.20 0.10",
    },
}
PERFORMANCE: dict[str, dict[int, dict[int, tuple[float, float]]]] = {
    algorithm: {
        steps: {
            int(n): (float(mean), float(sd)) for n, mean, sd in map(str.split, rows.split(", "))
        }
        for steps, rows in tables.items()
    }
    for algorithm, tables in _TABLES.items()
}
"""For each algorithm, T and N (SGD iterations): "Performance", mean and deviation, smaller is better. The
paper calls it a loss, and says neither of what nor over how many repetitions."""

UNIFORM_GUESS = math.log(10)
"""Cross-entropy of a network that gives each of the ten digits the same probability, in nats."""

ABOVE_UNIFORM_GUESS = sum(
    mean > UNIFORM_GUESS
    for tables in PERFORMANCE.values()
    for table in tables.values()
    for mean, _ in table.values()
)
"""How many of the 30 printed means are worse than that, if they are cross-entropies."""


def iterations_of(steps: Steps) -> tuple[int, ...]:
    """The N of the tables with ``steps`` = T, ascending; the same for both acquisition functions."""
    return tuple(PERFORMANCE["gp_ei"][steps])


CELLS = tuple((steps, iterations) for steps in STEPS for iterations in iterations_of(steps))
"""The 15 pairs (T, N) of the tables."""


def half_of_largest(steps: Steps) -> int:
    """The smallest N of the tables of ``steps`` = T that is at least half of their largest: there is no
    N = 1500 for T = 20, where it is 2000."""
    numbers = iterations_of(steps)
    return next(n for n in numbers if 2 * n >= numbers[-1])


def equal_cost() -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """The pairs of cells (T, N) with equal T·N, total SGD steps; in each the smaller T stands first."""
    return tuple(
        (first, second)
        for first in CELLS
        for second in CELLS
        if first[0] * first[1] == second[0] * second[1] and first[0] < second[0]
    )
