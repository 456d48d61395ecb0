"""Per paper: figures, tables and measures from traces, and nothing else."""
