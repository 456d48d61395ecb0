"""LB-GP-UCB (Ziomek, Adachi and Osborne 2024): its figures, tables and claims from traces.

A table of contents: what the config names, and where it stands.
"""

from replibo.papers.lb_gp_ucb.claims import (
    escapes_local_optimum,
    length_scale_closer,
    lowest_regret,
    time_at_least,
    time_at_most,
    varies_less,
)
from replibo.papers.lb_gp_ucb.extra_tables import (
    mle_starts,
    sensitivity,
    theta0,
    theta0_correlation,
)
from replibo.papers.lb_gp_ucb.figures import figure_1, figure_2, figure_3, figure_4
from replibo.papers.lb_gp_ucb.tables import final_regret, table_1, table_2
from replibo.papers.lb_gp_ucb.traces import best_regret, cumulative_regret

__all__ = [
    "best_regret",
    "cumulative_regret",
    "escapes_local_optimum",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "final_regret",
    "length_scale_closer",
    "lowest_regret",
    "mle_starts",
    "sensitivity",
    "table_1",
    "table_2",
    "theta0",
    "theta0_correlation",
    "time_at_least",
    "time_at_most",
    "varies_less",
]
