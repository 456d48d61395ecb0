"""Products of traces: comparisons, tables, figures, published data."""
