"""NeuralBO, Figure 3: sensitive samples for the detection of model tampering (Phan-Trong, Tran-The and
Gupta 2023, section 7.2.1).

"A successful detection is defined as given N_S sensitive samples, there is at least one sample, whose
top-1 label predicted by the compromised model is different from the top-1 label predicted by the correct
model." The classifier and the tampering come from the traces' metadata
(`replibo.problems.sensitive_samples.SensitiveSamples.recorded`), so no data file is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.neuralbo.synthetic import (
    cpu_seconds_a_query,
    label_of,
    largest_so_far,
    legend_columns,
    number,
    or_none,
)
from replibo.problems.base import Array
from replibo.problems.networks.digit_classifier import DigitClassifier, normalised
from replibo.problems.sensitive_samples import (
    PRINTED_ACCURACY,
    PRINTED_TAMPERED_ACCURACY,
    detections,
    upscaling_operator,
)
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError, Outcome
from replibo.results.runs import Runs
from replibo.results.statistics import Interval
from replibo.results.tables import Format, Table
from replibo.streams import generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reading = Literal["runs", "queries"]
Detected = NDArray[np.bool_]

SAMPLES = 10
"""The largest N_S of Figure 3."""
SHOWN = (1, 2, 4, 8, 10)
"""N_S of the table."""
REFERENCE = 200
"""Images at random that the samples are compared with."""
PRINTED = (8, 0.9)
"""\"Nearly 90 % of the detection rate with at least 8 samples\"."""
TOLERANCE = 0.05
"""A rate that is "about 0.9" is at least 0.85."""
CONFIDENCE = 0.95

JACKKNIFE = {
    "runs": "95 % intervals: jackknife over the runs with Student's quantile, too short where runs "
    "differ much; none where N_S is the number of runs",
    "queries": "95 % intervals: jackknife over the runs with Student's quantile",
}
READINGS = {
    "runs": (
        "Each run gives one sample, the best image it queried; detection by at least one of N_S samples, "
        "the mean over all choices of N_S of the runs and over the tampered models"
    ),
    "queries": (
        "Each run gives N_S samples, the best images it queried; detection by at least one of them, the "
        "mean over the runs and over the tampered models"
    ),
}


# Detection


def subset_rates(detected: Detected, samples: int = SAMPLES) -> Array:
    """The mean detection rate of all sets of N_S of R samples, for N_S = 1 … ``samples``.

    A model that k of R samples detect is missed by C(R - k, N_S) of the C(R, N_S) sets.

    Args:
        detected: ``R x models``, which sample detects which tampered model.

    Returns:
        Shape ``samples``; nan where N_S > R.
    """
    R = len(detected)
    k = detected.sum(axis=0)
    rates = np.full(samples, np.nan)
    for n in range(1, min(samples, R) + 1):
        share = np.array([1 - math.comb(R - own, n) / math.comb(R, n) for own in range(R + 1)])
        rates[n - 1] = share[k].mean()
    return rates


def query_rates(detected: Detected) -> Array:
    """The mean detection rate of the N_S best queries of a run, for N_S = 1 … queries.

    Args:
        detected: ``runs x queries x models``, the best query first.

    Returns:
        Shape ``queries``.
    """
    return np.asarray(np.logical_or.accumulate(detected, axis=1).mean(axis=(0, 2)))


def jackknife(values: NDArray[Any], statistic: Callable[[NDArray[Any]], Array]) -> Interval:
    """A statistic of R runs with its 95 % interval: Student's, with the jackknife's standard error.

    The spread of the statistic over the R sets that leave one run out; for a mean it is the usual
    standard error. A bootstrap would not do: a resample has runs twice, which as samples are worth
    one, so that the percentile interval of `subset_rates` lies too low. On simulated runs of equal
    quality, R = 10 and N_S = 8, it holds the true rate in 51 to 55 % of the cases, the jackknife's in 93
    to 94 %; where runs differ much in quality the jackknife's holds it in 71 to 75 %, and of 20 runs in
    81 to 88 %.

    Args:
        values: ``R x …``.
        statistic: of ``r x …`` to an array; nan where r is too small for it.

    Returns:
        An `Interval`; ``low`` and ``high`` are nan where R - 1 runs have no statistic.
    """
    R = len(values)
    mean = np.asarray(statistic(values))
    if R == 1:
        return Interval(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan), 1, CONFIDENCE)
    from scipy.special import stdtrit

    without = np.array([statistic(np.delete(values, i, axis=0)) for i in range(R)])
    error = np.sqrt((R - 1) / R * np.sum((without - without.mean(axis=0)) ** 2, axis=0))
    half = float(stdtrit(R - 1, (1 + CONFIDENCE) / 2)) * error
    return Interval(mean, np.asarray(mean - half), np.asarray(mean + half), R, CONFIDENCE)


def rates_of(detected: Detected, reading: Reading) -> Interval:
    """Detection rates for N_S = 1 … 10 with their intervals, cut off at 0 and 1.

    Args:
        detected: ``runs x queries x models``, the best query first.
        reading: a sample from each run, or all from one.

    Raises:
        RepliboError: there is no such reading.
    """
    if reading == "runs":
        interval = jackknife(detected[:, 0], subset_rates)
    elif reading == "queries":
        interval = jackknife(detected[:, :SAMPLES], query_rates)
    else:
        raise RepliboError(f"reading: {reading!r} is not allowed; runs or queries is")
    low, high = (np.clip(end, 0.0, 1.0) for end in (interval.low, interval.high))
    return Interval(interval.mean, low, high, interval.n, CONFIDENCE)


# What is read from the traces


def shown(runs: Runs, entry: FigureEntry) -> dict[str, list[str]]:
    """The problems that a figure or table shows, with the algorithms that were run on each.

    Raises:
        RepliboError: there are none.
    """
    found = {
        problem: algorithms
        for problem in runs.problems(entry.problems)
        if runs.entry.problems[problem].type == "sensitive_samples.SensitiveSamples"
        and (algorithms := runs.algorithms(problem, entry.algorithms))
    }
    if not found:
        raise RepliboError(
            "there are no runs on sensitive samples; allowed: at least one problem's"
        )
    return found


def classifier_of(runs: Runs, problem: str) -> DigitClassifier:
    """The original model."""
    return DigitClassifier.decode(runs.recorded(problem)["parameters"])


def upscaled(runs: Runs, problem: str, x: Array) -> Array:
    """Images ``… x 784`` of ``… x 49`` ones."""
    return np.asarray(x @ upscaling_operator(runs.recorded(problem)["upscaling"]).T)


def detected_by(
    runs: Runs, problem: str, algorithms: Sequence[str], queries: int = SAMPLES
) -> dict[str, Detected]:
    """Which of the tampered models the best queries of each run detect, ``seeds x queries x models``
    (all queries, where a run has fewer)."""
    x = {name: runs.best_queries(problem, name)[:, :queries] for name in algorithms}
    images = np.concatenate([best.reshape(-1, best.shape[2]) for best in x.values()])
    sd = runs.recorded(problem)["tampering_sd"]
    found = detections(classifier_of(runs, problem), sd, upscaled(runs, problem, images))
    ends = np.cumsum([best.shape[0] * best.shape[1] for best in x.values()])
    return {
        name: part.reshape(*best.shape[:2], -1)
        for (name, best), part in zip(x.items(), np.split(found, ends[:-1]), strict=True)
    }


def reference_rates(runs: Runs, problem: str) -> Array:
    """Detection rates of N_S = 1 … 10 images drawn uniformly from the box, which nobody optimised."""
    low, high = normalised(np.array([0, 255], np.uint8))
    dim = int(runs.metadata["problems"][problem]["dim"])
    x = generator("sensitive_samples", "reference").uniform(low, high, size=(REFERENCE, dim))
    sd = runs.recorded(problem)["tampering_sd"]
    return subset_rates(detections(classifier_of(runs, problem), sd, upscaled(runs, problem, x)))


def largest_value(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the largest value so far, ``seeds x (T + 1)``; iteration 0 is the best of
    the initial points, which all methods share."""
    return largest_so_far(runs, problem, algorithm)


def mean_over_runs(values: Array) -> Interval:
    """The mean over the first axis with Student's 95 % interval."""
    return jackknife(values, lambda v: np.asarray(v.mean(axis=0)))


def about_the_models(runs: Runs, problems: Sequence[str]) -> str:
    """The classifier and the tampering in a sentence for captions, beside the paper's."""
    texts = []
    for problem in problems:
        facts = runs.recorded(problem)
        accuracy, n = 100 * facts["tampered_accuracy"], facts["tampered_models"]
        sd = 100 * facts["tampered_accuracy_sd"]
        text = (
            f"test accuracy {100 * facts['accuracy']:.2f} % (paper: {100 * PRINTED_ACCURACY:.0f} %); "
            f"{n} models tampered with by noise of sd {facts['tampering_sd']:.4f} on every weight and "
            f"bias: {accuracy:.2f} % (sd over the models {sd:.2f} %, standard error "
            f"{sd / math.sqrt(n):.2f} %; paper: {100 * PRINTED_TAMPERED_ACCURACY:.2f} ± 0.08 %)."
        )
        if text not in texts:
            texts.append(text)
    return f"The classifier: {' '.join(texts)}"


# Figures and table


def _panels(columns: int) -> tuple[Figure, np.ndarray]:
    """One row of panels, of a size that leaves room for a long caption."""
    figure, axes = plotting.panels(1, columns)
    figure.set_size_inches(max(6.0, 4.2 * columns), 5.0)
    return figure, axes


def _finished(figure: Figure, caption: str) -> Figure:
    """`plotting.finish` with as many columns in the legend as fit."""
    labels = dict.fromkeys(
        label for ax in figure.axes for label in ax.get_legend_handles_labels()[1]
    )
    width = int(13 * figure.get_size_inches()[0])
    return plotting.finish(figure, caption, columns=legend_columns(list(labels), width))


def figure_3(runs: Runs, entry: FigureEntry, *, reading: Reading = "runs") -> Figure:
    """Figure 3: the detection rate against the number of samples, one panel for each problem.

    Args:
        reading: ``runs``, "each solution of the optimisation gives one sample", so that N_S samples
            need N_S runs; or ``queries``, the N_S best queries of one run. The paper does not say.
    """
    problems = shown(runs, entry)
    figure, axes = _panels(len(problems))
    N = np.arange(1, SAMPLES + 1)
    for ax, (problem, algorithms) in zip(axes[0], problems.items(), strict=True):
        queries = 1 if reading == "runs" else SAMPLES
        for name, found in detected_by(runs, problem, algorithms, queries).items():
            interval = rates_of(found, reading)
            own = N[: len(interval.mean)]
            look = runs.entry.algorithms[name]
            ax.plot(own, interval.mean, marker=".", ms=4, lw=1.2, **plotting.line_style(look))
            ax.fill_between(
                own, interval.low, interval.high, color=COLORS[look.color], alpha=0.12, lw=0
            )
        rates = reference_rates(runs, problem)
        ax.plot(N, rates, color="0.6", lw=0.8, ls=":", label="Images at random")
        ax.plot(*PRINTED, "k+", ms=8, label="Paper, NeuralBO")
        ax.set_title(runs.entry.problems[problem].label)
        ax.set_xlabel("number of samples $N_S$")
        ax.set_ylabel("detection rate")
        ax.set_xlim(0.8, SAMPLES + 0.2)
        ax.set_ylim(0, 1.02)
        ax.xaxis.get_major_locator().set_params(integer=True)
    caption = (
        f"{entry.caption} {READINGS[reading]}. Bands: {JACKKNIFE[reading]}. Dotted: {REFERENCE} images "
        "drawn uniformly from the box, which nobody optimised, in the same way; cross: nearly 0.9 from 8 "
        f"samples on, as the paper says of NeuralBO. {about_the_models(runs, list(problems))} "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    return _finished(figure, caption)


def sensitive_progress(runs: Runs, entry: FigureEntry) -> Figure:
    """The largest objective value so far against the iteration, one panel for each problem."""
    problems = shown(runs, entry)
    figure, axes = _panels(len(problems))
    for ax, (problem, algorithms) in zip(axes[0], problems.items(), strict=True):
        for name in algorithms:
            t, values = largest_value(runs, problem, name)
            interval = mean_over_runs(values)
            look = runs.entry.algorithms[name]
            ax.plot(t, interval.mean, lw=1.2, **plotting.line_style(look))
            ax.fill_between(
                t, interval.low, interval.high, color=COLORS[look.color], alpha=0.12, lw=0
            )
        ax.set_title(runs.entry.problems[problem].label)
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("largest value so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
    caption = (
        f"{entry.caption} Largest norm of the classifier's Jacobian so far: mean over the runs, shaded: "
        "Student's 95 % interval of the mean (none of a single run). t = 0 is the best of the initial "
        f"images, which all methods of a seed share. {runs.note(list(problems), entry.algorithms)}"
    )
    return _finished(figure, caption)


def sensitive_images(runs: Runs, entry: FigureEntry, *, columns: int = 8) -> Figure:
    """The best images of the first runs, a row for each problem and algorithm.

    Args:
        columns: how many runs are shown, at most.
    """
    if columns < 1:
        raise RepliboError(f"columns: {columns} is not allowed; an integer >= 1 is")
    problems = shown(runs, entry)
    rows = [(problem, name) for problem, names in problems.items() for name in names]
    width = min(columns, max(len(runs.seeds(*row)) for row in rows))
    figure, axes = plotting.panels(len(rows), width)
    figure.set_size_inches(max(6.0, 0.95 * width + 1.2), 1.15 * len(rows) + 1.2)
    low, high = normalised(np.array([0, 255], np.uint8))
    found = {problem: detected_by(runs, problem, names, 1) for problem, names in problems.items()}
    for axes_of_row, (problem, name) in zip(axes, rows, strict=True):
        images = upscaled(runs, problem, runs.best_queries(problem, name)[:, 0])
        labels = classifier_of(runs, problem).labels(images)
        values = runs.f(problem, name).max(axis=1)
        shares = found[problem][name][:, 0].mean(axis=1)
        for i, ax in enumerate(axes_of_row):
            ax.set_axis_off()
            if i < len(images):
                size = math.isqrt(images.shape[1])
                ax.imshow(images[i].reshape(size, size), cmap="gray", vmin=low, vmax=high)
                ax.set_title(f"{labels[i]}, {values[i]:.3g}, {100 * shares[i]:.0f} %", fontsize=7)
        head = label_of(runs, name)
        if len(problems) > 1:
            head += f"\n{runs.entry.problems[problem].label}"
        axes_of_row[0].text(
            -0.1, 0.5, head, transform=axes_of_row[0].transAxes, ha="right", va="center", fontsize=7
        )
    caption = (
        f"{entry.caption} The best image of each of the first {width} runs, upscaled; above it the "
        "original model's label, the objective, and the share of the tampered models that it detects "
        f"alone. {runs.note(list(problems), entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def detection(runs: Runs, entry: FigureEntry, *, reading: Reading = "runs") -> Table:
    """Detection rates at some N_S, the objective reached, and what a query costs."""
    ends = ("", ", low", ", high")
    columns = (
        "problem",
        "algorithm",
        "runs",
        "T",
        *(f"N_S = {n}{end}" for n in SHOWN for end in ends),
        *(f"objective, mean{end}" for end in ends),
        "CPU s a query",
    )
    rows: list[tuple[Any, ...]] = []
    problems = shown(runs, entry)
    for problem, algorithms in problems.items():
        label = runs.entry.problems[problem].label
        for name, found in detected_by(runs, problem, algorithms).items():
            rates = rates_of(found, reading)
            value = mean_over_runs(runs.f(problem, name).max(axis=1))
            cells = [
                or_none(float(end[n - 1])) if n <= len(rates.mean) else None
                for n in SHOWN
                for end in (rates.mean, rates.low, rates.high)
            ]
            rows.append(
                (
                    label,
                    label_of(runs, name),
                    len(found),
                    runs.horizon(problem),
                    *cells,
                    *(or_none(float(end)) for end in (value.mean, value.low, value.high)),
                    or_none(cpu_seconds_a_query(runs, problem, name)),
                )
            )
        reference = reference_rates(runs, problem)
        cells = [cell for n in SHOWN for cell in (float(reference[n - 1]), None, None)]
        rows.append((label, f"{REFERENCE} images at random", None, None, *cells, *4 * (None,)))
    caption = (
        f"{entry.caption} {READINGS[reading]}. {JACKKNIFE[reading]}. The objective is the largest norm "
        "of the Jacobian in a run, the mean over the runs with Student's 95 % interval. CPU seconds of "
        f"one thread, imports not counted. {about_the_models(runs, list(problems))} "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(
        columns[4 : 4 + 3 * len(SHOWN)], lambda v: f"{v:.3f}"
    )
    formats |= dict.fromkeys(columns[-4:-1], number)
    return Table(columns, rows, caption, formats | {columns[-1]: lambda v: f"{v:.3g}"})


# Measure of the claim


def detection_at(
    runs: Runs,
    *,
    problems: Sequence[str],
    algorithm: str,
    baselines: Sequence[str],
    samples: int = PRINTED[0],
    rate: float = PRINTED[1],
    reading: Reading = "runs",
) -> list[Comparison]:
    """``algorithm`` detects about ``rate`` of the tampered models with ``samples`` samples, and more
    than each baseline.

    The level: supported if the rate is at least ``rate`` - 0.05; contradicted if its 95 % interval
    lies below that; open otherwise. Each baseline: the difference of the rates on the seeds that both
    ran, with a paired jackknife; supported if its 95 % interval lies above 0, contradicted if below,
    open if it holds 0, or the baseline was not run, or too few of its seeds.

    Raises:
        MissingRunsError: ``algorithm`` or every baseline was not run, or of ``algorithm`` too few runs
            for an interval: more than ``samples`` with the reading ``runs``, else two.
    """
    if not 1 <= samples <= SAMPLES:
        raise RepliboError(f"samples: {samples} is not allowed; an integer from 1 to {SAMPLES} is")
    needed = samples + 1 if reading == "runs" else 2
    comparisons = []
    for problem in problems:
        if not runs.has(problem, algorithm):
            raise MissingRunsError(f"{algorithm} was not run on {problem}")
        ran = runs.algorithms(problem, list(baselines))
        if not ran:
            raise MissingRunsError(f"no baseline was run on {problem}")
        if (n := len(runs.seeds(problem, algorithm))) < needed:
            raise MissingRunsError(
                f"{problem}: {samples} samples with their interval need {needed} runs of {algorithm}; "
                f"there are {n}"
            )
        found = detected_by(runs, problem, [algorithm, *ran])
        if reading == "queries" and (k := found[algorithm].shape[1]) < samples:
            raise MissingRunsError(f"{problem}: {k} queries of a run are kept, {samples} needed")
        label = runs.entry.problems[problem].label
        own = rates_of(found[algorithm], reading)
        level, low, high = (float(end[samples - 1]) for end in (own.mean, own.low, own.high))
        least = rate - TOLERANCE
        outcome: Outcome = (
            "supported" if level >= least else "contradicted" if high < least else "open"
        )
        comparisons.append(
            Comparison(
                outcome,
                f"{label}: {label_of(runs, algorithm)} detects {level:.3f} [{low:.3f}, {high:.3f}] with "
                f"{samples} samples ({own.n} runs, {least:.2f} or more is about {rate:g})",
            )
        )
        for baseline in baselines:
            if baseline not in ran:
                text = f"{label}: {label_of(runs, baseline)} was not run"
                comparisons.append(Comparison("open", text))
                continue
            seeds = [runs.seeds(problem, name) for name in (algorithm, baseline)]
            common = np.intersect1d(seeds[0], seeds[1])
            if len(common) < needed:
                text = (
                    f"{label}: {label_of(runs, baseline)} has {len(common)} of the seeds, fewer than "
                    f"the {needed} needed"
                )
                comparisons.append(Comparison("open", text))
                continue
            pair = np.stack(
                [
                    found[name][np.isin(ours, common)]
                    for name, ours in zip((algorithm, baseline), seeds, strict=True)
                ],
                axis=1,
            )
            comparisons.append(_compared(runs, baseline, label, pair, samples, reading))
    return comparisons


def _compared(
    runs: Runs, baseline: str, label: str, pair: Detected, samples: int, reading: Reading
) -> Comparison:
    """One baseline; ``pair`` is ``seeds x 2 x queries x models``, the algorithm first."""

    def difference(values: Detected) -> Array:
        own, other = (
            subset_rates(values[:, i, 0], samples)[-1]
            if reading == "runs"
            else query_rates(values[:, i, :samples])[-1]
            for i in (0, 1)
        )
        return np.asarray(own - other)

    interval = jackknife(pair, difference)
    other = rates_of(pair[:, 1], reading).mean[samples - 1]
    outcome: Outcome = (
        "supported" if interval.low > 0 else "contradicted" if interval.high < 0 else "open"
    )
    return Comparison(
        outcome,
        f"{label}: {label_of(runs, baseline)} {other:.3f}, difference {float(interval.mean):+.3f} "
        f"[{float(interval.low):+.3f}, {float(interval.high):+.3f}] ({interval.n} runs)",
    )
