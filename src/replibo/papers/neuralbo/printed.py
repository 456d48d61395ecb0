"""Tables 1 and 2 of the NeuralBO paper, as data (Phan-Trong, Tran-The and Gupta 2023).

Problems and methods have this project's names; rows and columns stand in the paper's order.
"""

from __future__ import annotations

BASELINES = ("neural_greedy", "gp_ucb", "gp_ts", "gp_ei", "dngo", "random_forest")
"""The six methods that NeuralBO is compared with, in the order of Table 2's columns."""

_TABLE_1 = {
    "ackley_10": (0.85, 0.83, 0.95, 0.95, 0.45, 0.23, 0.79),
    "ackley_20": (0.31, 0.46, 0.91, 0.90, 1.00, 1.00, 0.93),
    "ackley_50": (0.95, 0.38, 0.81, 0.99, 0.52, 0.85, 0.67),
    "ackley_100": (0.84, 0.77, 0.94, 0.82, 0.82, 0.38, 0.97),
    "levy_10": (0.75, 0.45, 0.79, 0.72, 0.72, 0.58, 0.63),
    "levy_20": (0.84, 1.00, 1.00, 0.79, 0.79, 0.91, 0.89),
    "levy_50": (0.76, 0.34, 0.75, 0.75, 0.98, 0.77, 0.37),
    "levy_100": (0.76, 0.59, 0.87, 0.90, 0.99, 0.93, 0.95),
    "michalewicz_10": (0.54, 0.56, 0.95, 0.88, 0.83, 0.77, 0.55),
    "michalewicz_20": (0.60, 0.99, 0.43, 0.33, 0.31, 0.56, 0.85),
    "michalewicz_50": (0.90, 0.80, 0.64, 0.39, 0.68, 0.99, 0.95),
    "michalewicz_100": (0.70, 0.58, 0.96, 0.57, 0.96, 0.93, 0.52),
}

KS_P_VALUES: dict[str, dict[str, float]] = {
    problem: dict(zip(("neural_bo", *BASELINES), row, strict=True))
    for problem, row in _TABLE_1.items()
}
"""Table 1: for each problem and method, p of the Kolmogorov-Smirnov test of normality."""

# Each cell as printed: p, and "T" where the null hypothesis is rejected after the correction.
_TABLE_2 = {
    "ackley_10": "2.98e-07 T, 3.11e-12 T, 1.64e-11 T, 2.3e-11 T, 6.15e-09 T, 2.09e-13 T",
    "ackley_20": "6.39e-05 T, 1.61e-06 T, 4.72e-05 T, 4.19e-08 T, 0.000111 T, 1.29e-05 T",
    "ackley_50": "0.0467 T, 2.23e-08 T, 1.89e-08 T, 8.5e-09 T, 1.86e-08 T, 2.11e-10 T",
    "ackley_100": "3.92e-14 T, 7.98e-16 T, 2.43e-16 T, 4.7e-16 T, 6.44e-16 T, 5.78e-17 T",
    "levy_10": "0.000171 T, 7.98e-06 T, 8.81e-09 T, 6.6e-07 T, 1.68e-05 T, 1.62e-11 T",
    "levy_20": "0.278 F, 3.28e-09 T, 4.32e-11 T, 1.8e-07 T, 4.75e-05 T, 8.01e-14 T",
    "levy_50": "0.0971 F, 5.37e-09 T, 2.72e-07 T, 6.47e-06 T, 0.000188 T, 1.99e-06 T",
    "levy_100": "0.096 F, 1.09e-06 T, 4.85e-08 T, 9.87e-05 T, 0.00456 T, 5.57e-07 T",
    "michalewicz_10": "5.9e-06 T, 7.79e-08 T, 0.472 F, 1.68e-05 T, 7.49e-06 T, 1.87e-11 T",
    "michalewicz_20": "2.63e-05 T, 3e-09 T, 0.00108 T, 1.02e-05 T, 0.000163 T, 0.0161 T",
    "michalewicz_50": "0.000344 T, 3.47e-06 T, 0.315 F, 0.101 F, 0.000871 T, 0.000132 T",
    "michalewicz_100": "0.45 F, 8.2e-05 T, 8.49e-06 T, 0.000126 T, 0.0404 T, 0.00579 T",
}

T_TESTS: dict[str, dict[str, tuple[float, bool]]] = {
    problem: {
        name: (float(p), word == "T")
        for name, (p, word) in zip(BASELINES, map(str.split, row.split(", ")), strict=True)
    }
    for problem, row in _TABLE_2.items()
}
"""Table 2: for each problem and baseline, p of the one-sided t-test (alternative: the baseline's mean
is larger than NeuralBO's), and whether it is rejected after Benjamini and Hochberg's correction
("T")."""
