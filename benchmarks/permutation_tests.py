"""Which labels change if no t-test assumes normal values.

``python benchmarks/permutation_tests.py [--papers go_ucb bbo]``

Judges all claims by the published runs twice: by the t-tests, and with permutation tests in their place
(the signs of the differences of pairs; the studentised difference of two samples, Janssen 1997). Prints
the claims and readings whose label changes, with the number of seeds. About three CPU minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from unittest import mock

import numpy as np

from replibo import paths, verdicts
from replibo.config import load
from replibo.config.models import Config
from replibo.problems.base import Array
from replibo.results import statistics
from replibo.streams import generator

by_t = statistics.t_test_less


def by_permutation(
    a: Array, b: Array, paired: bool, equal_variances: bool = False
) -> statistics.TestResult:
    """`t_test_less` with the p-value of a permutation test."""
    found = by_t(a, b, paired, equal_variances)
    if math.isnan(found.p_value):
        return found
    first, second = np.asarray(a, float), np.asarray(b, float)
    if paired:
        return dataclasses.replace(found, p_value=statistics.sign_flip_less(first - second))

    def studentised(values: Array) -> Array:
        parts = np.split(values, [len(first)], axis=-1)
        error = sum(part.var(axis=-1, ddof=1) / part.shape[-1] for part in parts)
        lead = parts[0].mean(axis=-1) - parts[1].mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(lead / np.sqrt(error))

    values = np.concatenate([first, second])
    draws = generator("benchmark", "permutations").permuted(np.tile(values, (9_999, 1)), axis=1)
    smaller = np.sum(studentised(draws) <= studentised(values))
    return dataclasses.replace(found, p_value=float((1 + smaller) / 10_000))


def judged(config: Config, papers: list[str]) -> dict[tuple[str, str], tuple[str, int]]:
    """Label and number of seeds of each claim and reading."""
    return {
        (verdict.name, row.name): (row.word, row.seeds)
        for verdict in verdicts.judge_all(config, papers, paths.PUBLISHED)
        for row in verdict.judged
    }


def main() -> None:
    config = load.load()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--papers", nargs="+", default=list(config.papers), choices=config.papers)
    papers = parser.parse_args().papers
    before = judged(config, papers)
    with mock.patch.object(statistics, "t_test_less", by_permutation):
        after = judged(config, papers)
    changed = [key for key in before if before[key] != after[key]]
    print(f"{len(changed)} of {len(before)} labels change")
    for claim, reading in changed:
        (old, seeds), (new, _) = before[claim, reading], after[claim, reading]
        print(f"{claim} ({reading}), {seeds} seeds: {old}; by permutation {new}")


if __name__ == "__main__":
    main()
