"""NeuralBO (Phan-Trong, Tran-The and Gupta 2023): its figures, tables and claims from traces.

A table of contents: what the config names, and where it stands.
"""

from replibo.papers.neuralbo.claims import normally_distributed, pattern_of_table_2
from replibo.papers.neuralbo.coco import coco_final, figure_2, highest_ecdf_at_budget
from replibo.papers.neuralbo.memory import figure_6, memory, memory_growth
from replibo.papers.neuralbo.retrieval import best_score_above, figure_4, retrieval_final
from replibo.papers.neuralbo.robot import figure_5, highest_median_reward, robot_final, robot_strip
from replibo.papers.neuralbo.sensitive import (
    detection,
    detection_at,
    figure_3,
    sensitive_images,
    sensitive_progress,
)
from replibo.papers.neuralbo.statistics import table_1, table_2, table_2_matrix
from replibo.papers.neuralbo.synthetic import figure_1, final_values, literal_recipe, nu_grid

__all__ = [
    "best_score_above",
    "coco_final",
    "detection",
    "detection_at",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_6",
    "final_values",
    "highest_ecdf_at_budget",
    "highest_median_reward",
    "literal_recipe",
    "memory",
    "memory_growth",
    "normally_distributed",
    "nu_grid",
    "pattern_of_table_2",
    "retrieval_final",
    "robot_final",
    "robot_strip",
    "sensitive_images",
    "sensitive_progress",
    "table_1",
    "table_2",
    "table_2_matrix",
]
