"""NeuralBO, Figure 4: retrieval of an unknown target document (Phan-Trong, Tran-The and Gupta 2023,
section 7.2.2).

The measure is the largest hierarchical F1 score found so far (`replibo.problems.retrieval`), which is 1
at best: a document of the target's own category. Seeds share their initial documents and the candidates
of each query, so that methods are compared in pairs of the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from replibo.config.models import FigureEntry
from replibo.papers.common import (
    cpu_seconds_a_query,
    labelled_rows,
    of_each_baseline,
    shown_by,
    shown_difference,
    tested,
)
from replibo.papers.neuralbo.traces import interval_cells, largest_so_far, mean_cells
from replibo.problems.base import Array
from replibo.results.comparisons import Comparison, Undecided, decided
from replibo.results.intervals import share_interval, student_interval
from replibo.results.runs import Runs
from replibo.results.tables import Table

PRINTED: dict[str, Any] = {"rows": 40_000, "documents": 37_738, "categories": [6, 64, 464]}
"""The paper's corpus: reviews, those of known category, classes of each level."""


def described(runs: Runs, problem: str) -> str:
    """The corpus and the pool, from what was recorded of them; empty in traces that hold nothing. A
    real corpus of reviews gets the paper's counts, and a warning if they differ."""
    facts = runs.recorded(problem)
    if not facts:
        return ""
    entry = runs.entry.problems[problem]
    levels = ", ".join(f"{count:,}" for count in facts["categories"])
    text = (
        f"{entry.label}: {facts['documents']:,} documents, {levels} categories on the levels from 1 on; "
        f"the pool is the {facts['pool']:,} with different bags of words, without the target"
    )
    if "scores" in facts:
        best = sum(count for score, count in facts["scores"] if score == 1.0)
        text += f", {best} of them ({best / facts['pool']:.2%}) of the target's own category."
    else:
        text += "; each seed has a target of its own."
    if "versions" in facts:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        text += f" Docstrings of {versions} (SHA-256 {facts['digest'][:16]}…)."
    if entry.type == "retrieval.Retrieval" and not runs.stand_in(problem):
        printed = ", ".join(f"{count}" for count in PRINTED["categories"])
        corpus = f"the paper's {PRINTED['documents']:,} of {PRINTED['rows']:,} and {printed}"
        same = all(facts[key] == value for key, value in PRINTED.items())
        text += f" These are {corpus}." if same else f" WARNING: not {corpus}; another corpus."
    return text


def queries_to_best(scores: Array) -> Array:
    """The number of queries after which each run has found a score of 1, infinity if it never has.

    ``scores`` are the largest so far, ``seeds x (T + 1)``. Column 0 is the best of the initial documents,
    so that 0 queries means one of these.
    """
    is_best = scores == 1.0
    return np.where(is_best.any(axis=1), is_best.argmax(axis=1), np.inf)


def retrieval_final(runs: Runs, entry: FigureEntry) -> Table:
    """The best score of each method after T iterations, with 95 % intervals, and the cost of a
    query."""
    rows = []
    problems = shown_by(runs, entry)
    for problem, name, row in labelled_rows(runs, entry, problems):
        scores = largest_so_far(runs, problem, name)[1]
        final, queries = scores[:, -1], np.median(queries_to_best(scores))
        successes = int(np.sum(final == runs.optimal_value(problem)))
        share = share_interval(successes, len(final))
        rows.append(
            {
                **row,
                "T": runs.horizon(problem),
                **mean_cells("largest F1", final),
                **interval_cells(student_interval(final).cut(0.0, 1.0)),
                **interval_cells(share, "95 % interval of the share", mean="F1 = 1 found in"),
                "queries to F1 = 1, median": float(queries) if np.isfinite(queries) else None,
                "CPU s a query": cpu_seconds_a_query(runs, problem, name),
            }
        )
    caption = " ".join(
        [
            f"{entry.caption} Largest hierarchical F1 score after T iterations: mean, standard deviation "
            "and Student's 95 % interval of the mean over the seeds (cut off at 0 and 1; of scores in "
            "thirds, so that it is rough, and of no width where all seeds end alike); the share of the "
            "seeds that found a document of the target's own category, with Wilson's 95 % interval; the "
            "median number of queries until then, where more than half of the seeds found one (0: among "
            "the initial documents). CPU seconds of one thread, imports not counted, over the T queries.",
            *filter(None, (described(runs, problem) for problem in problems)),
            runs.note(list(problems), entry.algorithms),
        ]
    )
    columns = list(rows[0])
    formats = dict.fromkeys(columns[4:8], ".3f") | dict.fromkeys(columns[8:11], ".0%")
    formats |= {"queries to F1 = 1, median": ".4g", "CPU s a query": ".3g"}
    return Table.of(rows, caption, formats)


# Measure of the claim


def best_score_above(
    runs: Runs, *, problems: Sequence[str], algorithm: str, baselines: Sequence[str]
) -> list[Comparison]:
    """``algorithm`` ends with a larger best score than each baseline (t-test, paired by seed)."""

    def compare(problem: str, baseline: str) -> Undecided | Comparison:
        labels = [runs.label(name) for name in (baseline, algorithm)]
        best, base = (f.max(axis=1) for f in runs.f_of_common_seeds(problem, (algorithm, baseline)))
        where = runs.problem_label(problem)
        if len(best) < 2:
            text = f"{where}: {' and '.join(labels)} have fewer than two common seeds"
            return Comparison("open", text)
        interval = student_interval(best - base)
        text = (
            f"{where}: {labels[1]} {best.mean():.3f}, {labels[0]} {base.mean():.3f}, "
            f"{shown_difference(interval)} ({len(best)} seeds)"
        )
        by_seed = dict(enumerate((best - base).tolist()))
        return tested(text, interval, "difference of means", [by_seed])

    return decided(of_each_baseline(runs, problems, algorithm, baselines, compare))
