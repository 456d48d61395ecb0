"""NeuralBO, Figure 4: retrieval of an unknown target document (Phan-Trong, Tran-The and Gupta 2023,
section 7.2.2).

The measure is the largest hierarchical F1 score found so far (`replibo.problems.retrieval`), which is 1
at best: a document of the target's own category. Seeds share their initial documents and the candidates
of each query, so that methods are compared in pairs of the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError
from replibo.papers.neuralbo.synthetic import (
    Row,
    cpu_seconds_a_query,
    label_of,
    legend_columns,
    or_none,
    smallest_value,
    standard_deviation,
)
from replibo.problems.base import Array
from replibo.results import plotting, statistics
from replibo.results.comparisons import Comparison, MissingRunsError, Outcome
from replibo.results.runs import Runs
from replibo.results.statistics import Interval
from replibo.results.tables import Format, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


def best_score(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the largest hierarchical F1 score so far, ``seeds x (T + 1)``.

    Iteration 0 is the best of the initial documents, which all methods share.

    Raises:
        MissingRunsError: the algorithm was not run on the problem.
    """
    t, smallest = smallest_value(runs, problem, algorithm)  # of minus the score
    return t, -smallest


def student_interval(values: Array) -> Interval:
    """Student's 95 % interval of the mean of ``n`` values; nan where n = 1."""
    from scipy.special import stdtrit

    n, mean = len(values), float(values.mean())
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) if n > 1 else math.nan
    half = quantile * float(standard_deviation(values)) / math.sqrt(n)
    return Interval(
        np.asarray(mean), np.asarray(mean - half), np.asarray(mean + half), n, CONFIDENCE
    )


def shown(runs: Runs, entry: FigureEntry) -> dict[str, list[str]]:
    """The retrieval problems that a figure or table shows, with the algorithms that were run on each.

    Raises:
        RepliboError: there are none.
    """
    found = {
        problem: names
        for problem in runs.problems(entry.problems)
        if runs.entry.problems[problem].type == "retrieval.Retrieval"
        and (names := runs.algorithms(problem, entry.algorithms))
    }
    if not found:
        raise RepliboError(
            "there are no runs of the retrieval task; at least one method's are needed"
        )
    return found


def described(runs: Runs, problem: str) -> str:
    """The pool in a sentence, from what was recorded of it; empty in traces that hold nothing of it."""
    facts = runs.recorded(problem)
    if not facts:
        return ""
    levels = ", ".join(f"{count}" for count in facts["categories"])
    best = sum(count for score, count in facts["scores"] if score == 1.0)
    return (
        f"{runs.entry.problems[problem].label}: {facts['pool']:,} documents, {levels} categories on the "
        f"levels from 1 on, {best} documents ({best / facts['pool']:.2%}) of the target's own."
    )


def figure_4(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 4: the largest hierarchical F1 score so far against the iteration, mean ± sd."""
    problems = shown(runs, entry)
    figure, axes = plotting.panels(1, len(problems))
    width = max(6.0, plotting.PANEL[0] * len(problems))  # room for legend and caption
    figure.set_size_inches(width, 4.6)
    single = False
    for ax, (problem, names) in zip(axes.flat, problems.items(), strict=True):
        for name in names:
            t, scores = best_score(runs, problem, name)
            mean, style = scores.mean(axis=0), runs.entry.algorithms[name]
            if len(scores) > 1:
                plotting.band(ax, t, mean, standard_deviation(scores), style)
            else:
                single = True
                ax.plot(t, mean, **plotting.line_style(style))
        ax.set_ylim(0.0, 1.05)  # bands reach beyond what a score can be
        ax.set_title(runs.entry.problems[problem].label)
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("largest hierarchical F1 so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
    caption = " ".join(
        [
            f"{entry.caption} Largest hierarchical F1 score so far (1: a document of the target's own "
            "category): mean over the seeds, shaded: ± one standard deviation"
            f"{' (none of a single seed)' if single else ''}; it is cut off beyond 0 and 1.05. t = 0 is "
            "the best of the initial documents, which all methods of a seed share.",
            *filter(None, (described(runs, problem) for problem in problems)),
            runs.note(list(problems), entry.algorithms),
        ]
    )
    labels = [
        label_of(runs, name) for name in dict.fromkeys(n for ns in problems.values() for n in ns)
    ]
    return plotting.finish(figure, caption, columns=legend_columns(labels, round(9 * width)))


def retrieval_final(runs: Runs, entry: FigureEntry) -> Table:
    """What each method has found after T iterations, with 95 % intervals, and what a query costs."""
    columns = (
        "problem",
        "algorithm",
        "seeds",
        "T",
        "largest F1, mean",
        "standard deviation",
        "95 % interval, low",
        "95 % interval, high",
        "F1 = 1 found in",
        "95 % interval of the share, low",
        "95 % interval of the share, high",
        "CPU s a query",
    )
    rows: list[Row] = []
    problems = shown(runs, entry)
    for problem, names in problems.items():
        for name in names:
            final = best_score(runs, problem, name)[1][:, -1]
            mean = student_interval(final)
            found = int(np.sum(final == runs.optimal_value(problem)))
            share = statistics.share_interval(found, len(final), CONFIDENCE)
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    label_of(runs, name),
                    len(final),
                    runs.horizon(problem),
                    float(mean.mean),
                    or_none(float(standard_deviation(final))),
                    or_none(float(mean.low)),
                    or_none(float(mean.high)),
                    found / len(final),
                    float(share.low),
                    float(share.high),
                    or_none(cpu_seconds_a_query(runs, problem, name)),
                )
            )
    caption = " ".join(
        [
            f"{entry.caption} Largest hierarchical F1 score after T iterations: mean, standard deviation "
            "and Student's 95 % interval of the mean over the seeds (of scores in thirds, so that it is "
            "rough, and of no width where all seeds end alike); the share of the seeds that found a "
            "document of the target's own category, with Wilson's 95 % interval. CPU seconds of one "
            "thread, imports not counted, over the T queries.",
            *filter(None, (described(runs, problem) for problem in problems)),
            runs.note(list(problems), entry.algorithms),
        ]
    )
    formats: dict[str, Format] = dict.fromkeys(columns[4:8], lambda v: f"{v:.3f}")
    formats |= dict.fromkeys(columns[8:11], lambda v: f"{v:.0%}")
    return Table(columns, rows, caption, formats | {columns[11]: lambda v: f"{v:.3g}"})


# Measure of the claim


def best_score_above(
    runs: Runs, *, problems: Sequence[str], algorithm: str, baselines: Sequence[str]
) -> list[Comparison]:
    """``algorithm`` ends with a larger best score than each baseline.

    For each problem and baseline, the final best scores are subtracted seed by seed, and the mean
    difference gets Student's 95 % interval. Supported: it lies above 0; contradicted: below 0; open: it
    holds 0, they have fewer than two seeds in common, or the baseline was not run. The intervals are
    not widened for the number of baselines: the claim needs every one of them, which makes the test of
    all stricter, not laxer, than each.

    Raises:
        MissingRunsError: ``algorithm`` was not run, or no baseline was.
    """
    comparisons = []
    for problem in problems:
        if not runs.has(problem, algorithm):
            raise MissingRunsError(f"{algorithm} was not run on {problem}")
        if not any(runs.has(problem, baseline) for baseline in baselines):
            raise MissingRunsError(f"no baseline was run on {problem}")
        label = runs.entry.problems[problem].label
        for baseline in baselines:
            if not runs.has(problem, baseline):
                comparisons.append(
                    Comparison("open", f"{label}: {label_of(runs, baseline)} was not run")
                )
                continue
            own, other = _paired(runs, problem, algorithm, baseline)
            if len(own) < 2:
                comparisons.append(
                    Comparison(
                        "open",
                        f"{label}: {label_of(runs, baseline)} and {label_of(runs, algorithm)} have fewer "
                        "than two common seeds",
                    )
                )
                continue
            interval = student_interval(own - other)
            outcome: Outcome = (
                "supported" if interval.low > 0 else "contradicted" if interval.high < 0 else "open"
            )
            comparisons.append(
                Comparison(
                    outcome,
                    f"{label}: {label_of(runs, algorithm)} {own.mean():.3f}, "
                    f"{label_of(runs, baseline)} {other.mean():.3f}, difference "
                    f"{float(interval.mean):+.3f} [{float(interval.low):+.3f}, "
                    f"{float(interval.high):+.3f}] ({len(own)} seeds)",
                )
            )
    return comparisons


def _paired(runs: Runs, problem: str, algorithm: str, baseline: str) -> tuple[Array, Array]:
    """The final best scores of the seeds that both ran, ``n`` of each."""
    final, seeds = {}, {}
    for name in (algorithm, baseline):
        final[name] = best_score(runs, problem, name)[1][:, -1]
        seeds[name] = runs.seeds(problem, name)
    common = np.intersect1d(seeds[algorithm], seeds[baseline])
    own, other = (final[name][np.isin(seeds[name], common)] for name in (algorithm, baseline))
    return own, other
