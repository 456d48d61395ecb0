"""NeuralBO, Figure 3: sensitive samples for the detection of model tampering (Phan-Trong, Tran-The and
Gupta 2023, section 7.2.1). The rates stand in `replibo.papers.neuralbo.tampering`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from replibo.config.models import FigureEntry
from replibo.papers.common import (
    Summary,
    cpu_seconds_a_query,
    of_each_baseline,
    outcome,
    problem_panels,
    shown_by,
    shown_difference,
    tested,
)
from replibo.papers.neuralbo.tampering import (
    REFERENCE,
    SAMPLES,
    Detected,
    Reading,
    about_the_models,
    by_exchange,
    detected_by,
    rates,
    rates_of,
    reference_rates,
    subset_rates,
)
from replibo.papers.neuralbo.traces import interval_cells
from replibo.problems.base import Array
from replibo.problems.networks.digit_classifier import DigitClassifier, normalised
from replibo.problems.sensitive_samples import upscaling_operator
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError, Undecided, decided
from replibo.results.effects import of_interval
from replibo.results.intervals import Interval, jackknife_interval, student_interval
from replibo.results.runs import Runs, of_common_seeds
from replibo.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (1, 2, 4, 8, 16)
"""N_S of the table."""
PRINTED = (8, 0.9)
"""\"Nearly 90 % of the detection rate with at least 8 samples\"."""
TOLERANCE = 0.05
"""A rate that is "about 0.9" is at least 0.85."""

JACKKNIFE = {
    "runs": "95 % intervals: jackknife over the runs with Student's quantile, too short where runs "
    "differ much; none where Nₛ is the number of runs",
    "queries": "95 % intervals: jackknife over the runs with Student's quantile",
}
READINGS = {
    "runs": (
        "Each run gives one sample, the best image it queried; detection by at least one of Nₛ samples, "
        "the mean over all choices of Nₛ of the runs and over the tampered models"
    ),
    "queries": (
        "Each run gives Nₛ samples, the best images it queried; detection by at least one of them, the "
        "mean over the runs and over the tampered models"
    ),
}


# Figures and table


def figure_3(runs: Runs, entry: FigureEntry, *, reading: Reading = "runs") -> Figure:
    """Figure 3: the detection rate against the number of samples, one panel for each problem."""
    problems = shown_by(runs, entry)
    N = np.arange(1.0, SAMPLES + 1)

    def summary(runs: Runs, problem: str, name: str) -> Summary:
        interval = rates_of(detected_by(runs, problem, [name], reading)[name], reading)
        return N[: len(interval.mean)], interval

    labels = ("number of samples $N_S$", "detection rate")
    figure, panels = problem_panels(runs, problems, summary, labels=labels)
    for problem, ax in panels.items():
        dots: dict[str, Any] = {"color": "0.4", "lw": 1.0, "ls": (0, (1, 3))}
        ax.plot(N, reference_rates(runs, problem), **dots, label="images at random")
        ax.plot(*PRINTED, "k+", ms=9, mew=1.5, zorder=6, label="paper, NeuralBO")
        ax.set_ylim(-0.03, 1.05)
    caption = (
        f"{entry.caption} {READINGS[reading]}; "
        f"{plotting.intervals_said(problems, JACKKNIFE[reading])}. "
        "A bar at the margin is that of the largest Nₛ that has an interval. "
        f"Dotted: {REFERENCE} images drawn uniformly from the box, which nobody optimised, in the "
        f"same way; cross: nearly 0.9 from 8 samples on, as the paper says of NeuralBO. "
        f"{about_the_models(runs, list(problems))} "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


IMAGES = 4
"""Of each method, two methods in a row of the figure."""


def sensitive_images(runs: Runs, entry: FigureEntry) -> Figure:
    """The best images of the first four runs of each problem and algorithm."""
    problems = shown_by(runs, entry)
    methods = [(problem, name) for problem, names in problems.items() for name in names]
    figure, axes = plotting.panels(-(-len(methods) // 2), 2 * IMAGES)
    figure.set_size_inches(plotting.WIDTH, 1.35 * len(axes))
    low, high = normalised(np.array([0, 255], np.uint8))
    hits = {
        problem: detected_by(runs, problem, names, "runs") for problem, names in problems.items()
    }
    groups = axes.reshape(-1, IMAGES)
    for ax in axes.flat:
        ax.set_axis_off()
    for group, (problem, name) in zip(groups, methods, strict=False):
        facts, x = runs.recorded(problem), runs.best_queries(problem, name)[:, 0]
        images = x @ upscaling_operator(facts["upscaling"]).T
        labels = DigitClassifier.decode(facts["parameters"]).labels(images)
        shares = hits[problem][name][:, 0].mean(axis=1)
        for ax, image, label, share in zip(group, images, labels, shares, strict=False):
            size = math.isqrt(len(image))
            ax.imshow(image.reshape(size, size), cmap="gray", vmin=low, vmax=high)
            below = f"{label}: {100 * share:.0f} %"
            ax.text(0.5, -0.06, below, ha="center", va="top", transform=ax.transAxes)
        head = runs.label(name)
        if len(problems) > 1:
            head += f", {runs.problem_label(problem)}"
        group[0].set_title(head, loc="left")
    caption = (
        f"{entry.caption} The best image of each of the first {IMAGES} runs, upscaled; below it the "
        "digit that the original model reads, and the share of the tampered models that it finds alone. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def detection(runs: Runs, entry: FigureEntry) -> Table:
    """Detection rates at some N_S, the objective reached, and what a query costs."""
    rows: list[dict[str, Any]] = []
    problems = shown_by(runs, entry)
    for problem, algorithms in problems.items():
        for name, hits in detected_by(runs, problem, algorithms, "runs").items():
            intervals, row = rates_of(hits, "runs"), _of_runs(runs, problem, name)
            for n in SHOWN:
                row |= interval_cells(intervals[n - 1], f"Nₛ = {n}", mean=f"Nₛ = {n}")
            reached = student_interval(runs.f(problem, name).max(axis=1))
            row |= interval_cells(reached, "objective, mean", mean="objective, mean")
            rows.append(row | {"CPU s a query": cpu_seconds_a_query(runs, problem, name)})
        reference = reference_rates(runs, problem)
        at_random = {f"Nₛ = {n}": float(reference[n - 1]) for n in SHOWN}
        label = f"{REFERENCE} images at random"
        rows.append({"problem": runs.problem_label(problem), "algorithm": label, **at_random})
    caption = (
        f"{entry.caption} {READINGS['runs']}. {JACKKNIFE['runs']}. The objective is the largest norm "
        "of the Jacobian in a run, the mean over the runs with Student's 95 % interval. CPU seconds of "
        f"one thread, imports not counted. {about_the_models(runs, list(problems))} "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    columns = list(rows[0])
    formats = dict.fromkeys(columns[4:-4], ".3f") | dict.fromkeys(columns[-4:-1], ".4g")
    return Table.of(rows, caption, formats | {"CPU s a query": ".3g"})


def classifiers(runs: Runs, entry: FigureEntry) -> Table:
    """Detection rates of the same task with several classifiers, a row for each; the last four rows of an
    objective are the mean, the ends of Student's interval, and the number of classifiers."""
    n = PRINTED[0]
    rows: list[dict[str, Any]] = []
    objectives: dict[str, list[dict[str, Any]]] = {}
    problems = shown_by(runs, entry)
    for problem, algorithms in problems.items():
        facts = runs.recorded(problem)
        row: dict[str, Any] = {
            "problem": runs.problem_label(problem),
            "accuracy": facts["accuracy"],
            "tampered accuracy": facts["tampered_accuracy"],
            "images at random": float(reference_rates(runs, problem)[n - 1]),
        }
        for name, hits in detected_by(runs, problem, algorithms, "runs").items():
            if len(hits) >= n:
                row[runs.label(name)] = float(subset_rates(hits[:, 0])[n - 1])
        objectives.setdefault(runs.entry.problems[problem].type, []).append(row)
    for of_objective in objectives.values():
        rows += of_objective
        if len(of_objective) < 2:
            continue
        label = of_objective[0]["problem"]
        ends = ("mean", "low", "high")
        summary: dict[str, dict[str, Any]] = {
            statistic: {"problem": f"{label}: {statistic}"} for statistic in (*ends, "classifiers")
        }
        for column in list(dict.fromkeys(key for row in of_objective for key in row))[1:]:
            values = [row[column] for row in of_objective if column in row]
            summary["classifiers"][column] = len(values)
            if len(values) > 1:  # all columns are shares
                interval = np.clip(student_interval(values).ends, 0.0, 1.0)
                for statistic, end in zip(ends, interval.tolist(), strict=True):
                    summary[statistic][column] = end
        rows += summary.values()
    caption = (
        f"{entry.caption} Detection rates with {n} samples, by the best images of {n} runs (mean over "
        f"all choices) and by {n} images drawn uniformly from the box. Each classifier has the same "
        "architecture and training data; initial weights and the order of the images differ. Intervals: "
        f"Student's, over the classifiers. {runs.note(list(problems), entry.algorithms)}"
    )
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Table.of(rows, caption, dict.fromkeys(columns[1:], _share_or_count), columns)


def _share_or_count(value: Any) -> str:
    """``0.123`` of a share, ``10`` of a number of classifiers, of which there are two at least."""
    return f"{value:.0f}" if value > 1 else f"{value:.3f}"


def objective(runs: Runs, entry: FigureEntry) -> Table:
    """The largest norm of the Jacobian that each method reached, and its difference to NeuralBO's."""
    algorithm = "neural_bo"
    rows = []
    problems = shown_by(runs, entry)
    for problem, names in problems.items():
        best = {name: runs.f(problem, name).max(axis=1) for name in names}
        for name, reached in best.items():
            row = _of_runs(runs, problem, name)
            row |= interval_cells(student_interval(reached), "objective", mean="objective, mean")
            if name != algorithm and algorithm in names:
                pair = [(runs.seeds(problem, key), best[key]) for key in (name, algorithm)]
                norms, reference = of_common_seeds(pair)[1]
                difference = student_interval(norms - reference)
                row |= interval_cells(difference, "difference", mean="difference, mean")
            rows.append(row)
    caption = (
        f"{entry.caption} Largest norm of the classifier's Jacobian in a run: mean over the runs with "
        f"Student's 95 % interval. Difference to {runs.label(algorithm)}, in pairs of the same seed, "
        "with Student's 95 % interval; these are not widened for the number of methods. The objective "
        "says nothing of detection: with log-probabilities it is largest where tampering is hardly seen. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Table.of(rows, caption, dict.fromkeys(columns[4:], ".4g"), columns)


def _of_runs(runs: Runs, problem: str, algorithm: str) -> dict[str, Any]:
    """The first cells of a row."""
    return {
        "problem": runs.problem_label(problem),
        "algorithm": runs.label(algorithm),
        "runs": len(runs.seeds(problem, algorithm)),
        "T": runs.horizon(problem),
    }


# Measure of the claim


def detection_at(
    runs: Runs,
    *,
    problems: Sequence[str],
    algorithm: str,
    baselines: Sequence[str] = (),
    samples: Annotated[int, Field(ge=1, le=SAMPLES)],
    rate: float | None = None,
    reading: Reading = "runs",
) -> list[Comparison]:
    """``algorithm`` detects about ``rate`` of the tampered models with ``samples`` samples (unless None),
    and more than each baseline.

    The level: supported if the rate's 95 % interval lies above ``rate`` - 0.05; contradicted if it
    lies below that; open otherwise. Each baseline: the difference of the rates on the seeds that
    both ran, with the paired jackknife's interval; tested by it (samples of one run), or by
    `by_exchange`. Open if too few seeds of the baseline were run.

    Several problems are the same task with other classifiers. Then the classifiers are the sample: the
    level and each difference are means over the classifiers, with Student's intervals. A classifier
    without runs of the algorithm, or of the baseline, does not count.
    """
    needed = samples + 1 if reading == "runs" else 2
    if len(problems) > 1:
        by_classifier = {
            name: {
                p: float(rates(detected_by(runs, p, [name], reading)[name], reading)[samples - 1])
                for p in problems
                if runs.has(p, name) and len(runs.seeds(p, name)) >= needed
            }
            for name in (algorithm, *baselines)
        }
        return _over_classifiers(runs, by_classifier, len(problems), needed, samples, rate)
    (problem,) = problems
    label = runs.problem_label(problem)
    runs.require(problem, algorithm)
    if (n := len(runs.seeds(problem, algorithm))) < needed:
        raise MissingRunsError(
            f"{problem}: {samples} samples with their interval need {needed} runs of {algorithm}; "
            f"there are {n}"
        )
    ran = runs.algorithms(problem, [algorithm, *baselines])
    hits = detected_by(runs, problem, ran, reading)
    if (k := hits[algorithm].shape[1]) < samples and reading == "queries":
        raise MissingRunsError(f"{problem}: {k} queries of a run are kept, {samples} needed")

    def compare(problem: str, baseline: str) -> Undecided | Comparison:
        names = (algorithm, baseline)
        common, pair = of_common_seeds((runs.seeds(problem, name), hits[name]) for name in names)
        if len(common) < needed:
            text = (
                f"{label}: {runs.label(baseline)} has {len(common)} of the seeds, fewer than the "
                f"{needed} needed"
            )
            return Comparison("open", text)

        def difference(both: Detected) -> Array:
            first, second = (rates(both[:, i], reading)[samples - 1] for i in (0, 1))
            return np.asarray(first - second)

        both = np.stack(pair, axis=1)
        interval = jackknife_interval(both, difference)
        if reading == "runs":
            interval = by_exchange(interval, both[:, :, 0], samples)
        baseline_rate = rates(pair[1], reading)[samples - 1]
        text = (
            f"{label}: {runs.label(baseline)} {baseline_rate:.3f}, {shown_difference(interval)} "
            f"({interval.n} runs)"
        )
        return tested(text, interval, "difference of shares")

    leads = of_each_baseline(runs, problems, algorithm, baselines, compare) if baselines else []
    if rate is None:
        return decided(leads)
    level = rates_of(hits[algorithm], reading)[samples - 1]
    text = (
        f"{label}: {_detects(runs, algorithm, level)} with {samples} samples ({level.n} runs, "
        f"{rate - TOLERANCE:.2f} or more is about {rate:g})"
    )
    return decided([_level(text, rate - TOLERANCE, level), *leads])


def _detects(runs: Runs, algorithm: str, rate: Interval) -> str:
    return "{} detects {:.3f} [{:.3f}, {:.3f}]".format(runs.label(algorithm), *rate.ends)


def _level(text: str, least: float, rate: Interval) -> Comparison:
    """Whether a detection rate is at least the least one, and by how much it exceeds it."""
    mean, low, high = (np.asarray(end - least) for end in rate.ends)
    excess = Interval(mean, low, high, rate.n)
    effect = of_interval(excess, "share above the least")
    return Comparison(outcome(bool(rate.low >= least), bool(rate.high < least)), text, effect)


def _over_classifiers(
    runs: Runs,
    rates_of_each: Mapping[str, Mapping[str, float]],
    classifiers: int,
    needed: int,
    samples: int,
    rate: float | None,
) -> list[Comparison]:
    """The comparisons of `detection_at` over several classifiers: ``rates_of_each``, of the algorithm and
    then of each baseline, has those on which it has the ``needed`` runs."""
    (algorithm, levels), *baselines = rates_of_each.items()
    if len(levels) < 2:
        raise MissingRunsError(
            f"{runs.label(algorithm)} has {needed} runs on {len(levels)} of {classifiers} "
            "classifiers; an interval needs two"
        )
    comparisons: list[Undecided | Comparison] = []
    if rate is not None:
        level = student_interval(list(levels.values())).cut(0.0, 1.0)
        text = (
            f"{_detects(runs, algorithm, level)} with {samples} samples ({level.n} classifiers, from "
            f"{min(levels.values()):.3f} to {max(levels.values()):.3f}; {rate - TOLERANCE:.2f} or more "
            f"is about {rate:g})"
        )
        comparisons.append(_level(text, rate - TOLERANCE, level))
    for baseline, baseline_rates in baselines:
        differences = [levels[p] - baseline_rates[p] for p in levels if p in baseline_rates]
        label = runs.label(baseline)
        if len(differences) < 2:
            text = f"{label} has {needed} runs on {len(differences)} of {len(levels)} classifiers"
            comparisons.append(Comparison("open", text))
            continue
        difference = student_interval(differences)
        mean = sum(baseline_rates.values()) / len(baseline_rates)
        comparisons.append(
            tested(
                f"{label} {mean:.3f}, {shown_difference(difference)} ({difference.n} classifiers)",
                difference,
                "difference of shares",
                [dict(enumerate(differences))],
            )
        )
    return decided(comparisons)
