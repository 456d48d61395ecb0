"""A new algorithm against others on the same seeds: paired tests, wins and losses, ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from replibo.problems.base import Array
from replibo.results import statistics
from replibo.results.intervals import Interval, student_interval

LEVEL = 0.05
Result = Literal["win", "tie", "loss"]


@dataclass(frozen=True)
class Duel:
    """The new algorithm against another one on one problem, over the seeds that both have.

    Attributes:
        n: seeds.
        queries: of each run that are compared; the longer runs are cut.
        mine, other: means of the best noise-free value at the end, which is maximised.
        difference: the mean of mine less the other's, with Student's interval.
        p: two-sided, by Wilcoxon's signed-rank test.
        p_holm: corrected for all other algorithms on the same problem (Holm 1979).
        better: whether more of the ranks speak for the new algorithm.
    """

    paper: str
    problem: str
    other_name: str
    n: int
    queries: int
    mine: float
    other: float
    difference: Interval
    p: float
    p_holm: float = float("nan")
    better: bool = False

    @property
    def result(self) -> Result:
        """Win or loss if the corrected p-value is below 5 %, by the sign of the difference's ranks."""
        if not self.p_holm < LEVEL:
            return "tie"
        return "win" if self.better else "loss"


def duel(
    paper: str, problem: str, name: str, traces: Mapping[int, Array], rival: Mapping[int, Array]
) -> Duel | None:
    """Compare the runs of the seeds that both have, by the noise-free values of each seed's queries; None
    if there are none."""
    seeds = sorted(traces.keys() & rival.keys())
    if not seeds:
        return None
    queries = min(min(len(traces[s]), len(rival[s])) for s in seeds)
    a, b = (np.array([f[s][:queries].max() for s in seeds]) for f in (traces, rival))
    difference = a - b
    difference[np.abs(difference) <= statistics.ROUND_OFF * np.maximum(np.abs(a), np.abs(b))] = 0.0
    p_worse, p_better = (statistics.signed_rank_less(sign * difference) for sign in (1.0, -1.0))
    return Duel(
        *(paper, problem, name, len(seeds), queries, float(a.mean()), float(b.mean())),
        difference=student_interval(difference),
        p=min(1.0, 2 * min(p_worse, p_better)),
        better=p_better < p_worse,
    )


def least_seeds(rivals: int) -> int:
    """The fewest seeds with which a win over one of ``rivals`` algorithms is possible. Wilcoxon's
    smallest p-value of n seeds is 2^(1 - n), and Holm's correction multiplies it by ``rivals``."""
    return next(n for n in itertools.count(1) if rivals * 2.0 ** (1 - n) < LEVEL)


def against(
    paper: str, problem: str, traces: Mapping[int, Array], rivals: Mapping[str, Mapping[int, Array]]
) -> list[Duel]:
    """The duels with all other algorithms on one problem, with Holm's p-values."""
    pairs = [duel(paper, problem, name, traces, values) for name, values in rivals.items()]
    duels = [pair for pair in pairs if pair is not None]
    corrected = statistics.holm([pair.p for pair in duels])
    return [replace(pair, p_holm=p) for pair, p in zip(duels, corrected, strict=True)]


def ranks(runs: Mapping[str, Mapping[int, Array]]) -> dict[str, float]:
    """The mean rank of each algorithm on one problem (1: the best), by the best value of each seed that
    all have, at the end of the shortest run; empty if no seed is common. Equal values share a rank."""
    from scipy.stats import rankdata

    common = set.intersection(*(set(f) for f in runs.values()))
    if not common:
        return {}
    queries = min(len(f[seed]) for f in runs.values() for seed in common)
    best = np.array([[f[s][:queries].max() for s in sorted(common)] for f in runs.values()])
    mean = rankdata(-best, axis=0).mean(axis=1)
    return dict(zip(runs, map(float, mean), strict=True))


def counts(duels: Iterable[Duel]) -> tuple[int, int, int]:
    """Wins, ties and losses."""
    results = [pair.result for pair in duels]
    return results.count("win"), results.count("tie"), results.count("loss")
