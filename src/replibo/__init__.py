"""Replication of four Bayesian-optimisation papers: GO-UCB, BBO, NeuralBO and LB-GP-UCB."""

__version__ = "0.1.0"
