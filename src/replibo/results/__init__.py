"""What is made of traces: comparisons, tables, figures, what is published."""
