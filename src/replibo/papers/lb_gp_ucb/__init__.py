"""LB-GP-UCB (Ziomek, Adachi and Osborne 2024): its figures, tables and claims from traces."""
