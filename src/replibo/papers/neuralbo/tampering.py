"""NeuralBO's detection of model tampering (Phan-Trong, Tran-The and Gupta 2023, section 7.2.1): which
tampered models the samples of a run detect, and at which rates.

"A successful detection is defined as given N_S sensitive samples, there is at least one sample, whose
top-1 label predicted by the compromised model is different from the top-1 label predicted by the correct
model." The classifier and the tampering come from the traces' metadata
(`replibo.problems.sensitive_samples.SensitiveSamples.recorded`), so no data file is needed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replibo.problems.base import Array
from replibo.problems.networks.digit_classifier import DigitClassifier, normalised
from replibo.problems.sensitive_samples import (
    PRINTED_ACCURACY,
    PRINTED_TAMPERED_ACCURACY,
    Upscaling,
    detections,
    upscaling_operator,
)
from replibo.results.intervals import Interval, by_permutation, jackknife_interval
from replibo.results.runs import Runs
from replibo.streams import generator

Reading = Literal["runs", "queries"]
"""``runs``: "each solution of the optimisation gives one sample", so that N_S samples need N_S runs;
``queries``: the N_S best queries of one run. The paper does not say."""
Detected = NDArray[np.bool_]

SAMPLES = 16
"""The largest N_S of our Figure 3, twice the paper's."""
EXCHANGES = 1_999
"""Of the test of two rates."""
REFERENCE = 200
"""Images at random that the samples are compared with."""


# Detection


def subset_rates(detected: Detected) -> Array:
    """The mean detection rate of all sets of N_S of R samples, for N_S = 1 … 16; NaN where N_S > R.

    ``detected`` is ``R x models``. A model that k of R samples detect is missed by C(R - k, N_S) of the
    C(R, N_S) sets.
    """
    R = len(detected)
    k = detected.sum(axis=0)
    rates = np.full(SAMPLES, np.nan)
    for n in range(1, min(SAMPLES, R) + 1):
        rates[n - 1] = detecting_share(R, n)[k].mean()
    return rates


def detecting_share(R: int, n: int) -> Array:
    """The share of the sets of ``n`` of R samples that detect a model, if 0, 1 … R of the samples do."""
    return np.array([1 - math.comb(R - k, n) / math.comb(R, n) for k in range(R + 1)])


def by_exchange(difference: Interval, both: Detected, n: int) -> Interval:
    """The difference of two `subset_rates` for ``n`` samples, with p-values by exchanging the two runs of
    a seed, ``R x 2 x models``, at random.

    A few runs that are much better than the others make the jackknife's too small: of two methods that
    do not differ it shows a difference at 0.83 % in 3 %.
    """
    R = len(both)
    share = detecting_share(R, n)
    first, second = both[:, 0].astype(np.float32), both[:, 1].astype(np.float32)
    exchanged = generator("tampering", "exchange").random((EXCHANGES, R)) < 0.5
    k = np.rint(first.sum(axis=0) + exchanged @ (second - first)).astype(int)
    rival_k = both.sum(axis=(0, 1)) - k
    by_chance = share[k].mean(axis=1) - share[rival_k].mean(axis=1)
    permuted = by_permutation(difference.mean, by_chance, R)
    return replace(difference, p_above=permuted.p_above, p_below=permuted.p_below)


def query_rates(detected: Detected) -> Array:
    """The mean detection rate of the N_S best queries of a run, for N_S = 1 … queries; ``detected`` is
    ``runs x queries x models``, the best query first."""
    return np.asarray(np.logical_or.accumulate(detected, axis=1).mean(axis=(0, 2)))


def rates(detected: Detected, reading: Reading) -> Array:
    """Detection rates for N_S = 1 … 16; ``detected`` as of `query_rates`."""
    if reading == "runs":
        return subset_rates(detected[:, 0])
    return query_rates(detected[:, :SAMPLES])


def rates_of(detected: Detected, reading: Reading) -> Interval:
    """`rates` with their intervals, cut off at 0 and 1.

    The intervals are the jackknife's. A bootstrap would not do: a resample has runs twice, which as
    samples are worth one, so that the percentile interval of `subset_rates` lies too low. On
    simulated runs of equal quality, R = 10 and N_S = 8, it holds the true rate in 51 to 55 % of the
    cases, the jackknife's in 93 to 94 %. If runs differ much in quality, the jackknife's holds it
    in 71 to 75 %, with 20 runs in 81 to 88 %.
    """
    return jackknife_interval(detected, lambda runs: rates(runs, reading)).cut(0.0, 1.0)


# What is read from the traces


def detected_by(
    runs: Runs, problem: str, algorithms: Sequence[str], reading: Reading
) -> dict[str, Detected]:
    """Whether the best queries of each run detect each tampered model, ``seeds x queries x
    models``. The reading takes one query of a run, or 16 (all, if a run keeps fewer)."""
    queries = SAMPLES if reading == "queries" else 1
    detected = {}
    for name in algorithms:
        x = runs.best_queries(problem, name)[:, :queries]
        by_image = _detections(runs, problem, x.reshape(-1, x.shape[2]))
        detected[name] = by_image.reshape(*x.shape[:2], -1)
    return detected


def reference_rates(runs: Runs, problem: str) -> Array:
    """Detection rates of N_S = 1 … 16 images drawn uniformly from the box, which nobody optimised."""
    low, high = normalised(np.array([0, 255], np.uint8))
    dim = runs.dim(problem)
    x = generator("sensitive_samples", "reference").uniform(low, high, size=(REFERENCE, dim))
    return subset_rates(_detections(runs, problem, x))


def _detections(runs: Runs, problem: str, x: Array) -> Detected:
    """Which tampered models each of ``n x 49`` images detects, ``n x models``."""
    facts = runs.recorded(problem)
    return _remembered(facts["parameters"], facts["tampering_sd"], facts["upscaling"], x.tobytes())


@functools.cache
def _remembered(parameters: str, sd: float, upscaling: Upscaling, x: bytes) -> Detected:
    """`_detections` of the same images by the same models: figures, tables and claims ask again."""
    operator = upscaling_operator(upscaling)
    images = np.frombuffer(x).reshape(-1, operator.shape[1]) @ operator.T
    return detections(DigitClassifier.decode(parameters), sd, images)


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
