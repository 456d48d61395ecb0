"""BBO, Bayesian bilevel optimisation (Fu et al. 2024): its figures, tables and claims from traces."""
