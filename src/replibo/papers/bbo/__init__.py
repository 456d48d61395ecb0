"""BBO, Bayesian bilevel optimisation (Fu et al. 2024): its figures, tables and claims from traces.

A table of contents: what the config names, and where it stands.
"""

from replibo.papers.bbo.claims import (
    advised_horizon,
    improves_at_first,
    levels_off,
    spread_shrinks,
    turns_up,
    ucb_at_least_as_good,
)
from replibo.papers.bbo.figures import frontier, performance
from replibo.papers.bbo.tables import performance_table, sensitivity

__all__ = [
    "advised_horizon",
    "frontier",
    "improves_at_first",
    "levels_off",
    "performance",
    "performance_table",
    "sensitivity",
    "spread_shrinks",
    "turns_up",
    "ucb_at_least_as_good",
]
