"""NeuralBO (Phan-Trong, Tran-The and Gupta 2023): its figures, tables and claims from traces.

A table of contents: what the config names, and where it stands.
"""

from replibo.papers.neuralbo_claims import normally_distributed, pattern_of_table_2
from replibo.papers.neuralbo_coco import coco_final, figure_2, highest_ecdf_at_budget
from replibo.papers.neuralbo_statistics import table_1, table_2, table_2_matrix
from replibo.papers.neuralbo_synthetic import figure_1, final_values, literal_recipe, nu_grid

__all__ = [
    "coco_final",
    "figure_1",
    "figure_2",
    "final_values",
    "highest_ecdf_at_budget",
    "literal_recipe",
    "normally_distributed",
    "nu_grid",
    "pattern_of_table_2",
    "table_1",
    "table_2",
    "table_2_matrix",
]
