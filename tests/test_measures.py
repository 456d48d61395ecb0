"""Every measure can support its claim and can contradict it.

A measure is made on the published runs of a claim, and on the same runs changed in one respect: a method
better or worse, times turned round, values that only depend on the problem. One of them must give each
outcome.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from replibo import paths
from replibo.config import claims, load
from replibo.config.claims import Claim
from replibo.papers import lookup
from replibo.problems.base import Array
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs, read
from replibo.run import pairs

Change = Callable[[Runs, str], Runs]
"""Of the runs, and the name of the method that is changed."""


@dataclasses.dataclass
class Column:
    """A column of one pair, ``seeds x queries``, and the method that is changed."""

    runs: Runs
    method: str
    problem: str
    algorithm: str
    name: str
    values: Array

    @property
    def optimum(self) -> float | None:
        return self.runs.metadata["problems"][self.problem]["optimal_value"]  # type: ignore[no-any-return]


LOSSES = ("f", "test_cross_entropy", "test_error")


def columns(changed: Callable[[Column], Array], names: tuple[str, ...] = ("f",)) -> Change:
    """Change the named columns of all pairs, or all columns of floats."""

    def change(runs: Runs, method: str) -> Runs:
        parts = []
        for problem in runs.problems():
            for algorithm in runs.algorithms(problem):
                of_pair = (pc.field("problem") == problem) & (pc.field("algorithm") == algorithm)
                rows = runs.table.filter(of_pair)
                rows = rows.sort_by([("seed", "ascending"), ("t", "ascending")])
                shape = len(runs.seeds(problem, algorithm)), -1
                for name in names or rows.column_names:
                    if name in rows.column_names and pa.types.is_floating(rows[name].type):
                        values = rows[name].to_numpy().astype(float).reshape(shape)
                        new = changed(Column(runs, method, problem, algorithm, name, values))
                        column = pa.array(new.ravel(), rows[name].type)
                        rows = rows.set_column(rows.column_names.index(name), name, column)
                parts.append(rows)
        return dataclasses.replace(runs, table=pa.concat_tables(parts), read_alone=None)

    return change


def timings(changed: Callable[[str, str, dict[str, Any]], dict[str, Any]]) -> Change:
    """Change the timings of all pairs: of the method's name, an algorithm's, and its timing."""

    def change(runs: Runs, method: str) -> Runs:
        new = {
            pair: timing | changed(method, pair.rpartition("/")[2], timing)
            for pair, timing in runs.metadata["timings"].items()
        }
        metadata = {**runs.metadata, "timings": new}
        return dataclasses.replace(runs, metadata=metadata, read_alone=None)

    return change


def scaled_regret(factor: float) -> Change:
    """The method's regret times ``factor``; against the best value of all where no optimum is known."""

    def scaled(f: Column) -> Array:
        if f.algorithm != f.method:
            return f.values
        names = f.runs.algorithms(f.problem)
        best = max(f.runs.f(f.problem, name).max() for name in names)
        optimum = best if f.optimum is None else f.optimum
        return optimum - factor * (optimum - f.values)

    return columns(scaled)


def turned_round(column: Column) -> Array:
    """What was asked last comes first, after the initial points."""
    first = column.runs.initial_points(column.problem)
    return np.concatenate([column.values[:, :first], column.values[:, first:][:, ::-1]], axis=1)


def losses(*levels: float, others: float = 2.0) -> Change:
    """All values of a problem at its level, the problems in their order (the last level where these are
    more), other algorithms' times ``others``. The deviation over the seeds is 1 %."""

    def level(column: Column) -> Array:
        i = column.runs.problems().index(column.problem)
        noise = np.random.default_rng(i).standard_normal((len(column.values), 1))
        loss = levels[min(i, len(levels) - 1)] * np.exp(0.01 * noise)
        loss = loss * (1.0 if column.algorithm == column.method else others)
        values = np.broadcast_to(loss, column.values.shape)
        return (column.optimum or 0.0) - values if column.name == "f" else values

    return columns(level, LOSSES)


def over_time(last: float) -> Change:
    """All regret and losses times a factor that goes, round by round, from 1 to ``last``."""

    def changed(column: Column) -> Array:
        factor = np.geomspace(1.0, last, column.values.shape[1])
        optimum = (column.optimum or 0.0) if column.name == "f" else 0.0
        return optimum + factor * (column.values - optimum)

    return columns(changed, LOSSES)


def seconds(factor: float) -> Change:
    """The method takes ``factor`` times as long."""

    def changed(method: str, algorithm: str, timing: dict[str, Any]) -> dict[str, Any]:
        powers = {"cpu_seconds": 1, "cpu_seconds_squared": 2} if algorithm == method else {}
        return {name: timing[name] * factor ** powers[name] for name in powers.keys() & timing}

    return timings(changed)


def length_scales(power: float, factor: float) -> Change:
    """The selected length scales to a power, the method's times a factor."""

    def changed(column: Column) -> Array:
        scales = column.values**power
        return scales * factor if column.algorithm == column.method else scales

    return columns(changed, ("length_scale",))


def quadratic_cost(method: str, algorithm: str, timing: dict[str, Any]) -> dict[str, Any]:
    """The CPU time of a round grows with the square of its number, at least."""
    profile = timing.get("profile", {})
    return {"profile": {first: s * (int(first) + 1) ** 2 for first, s in profile.items()}}


RISING = tuple(2.0**i for i in range(8))

CHANGES: tuple[Change, ...] = (
    scaled_regret(1e-3),
    scaled_regret(1e3),
    columns(turned_round, ()),
    losses(*RISING),
    losses(*RISING[::-1]),
    losses(8.0, 1.0, 1.0, 1.0, 8.0),  # best in the middle
    losses(1e-9, others=1e18),
    over_time(1e-3),
    over_time(1e3),
    seconds(1e-2),
    timings(quadratic_cost),
    length_scales(-1, 1.0),
    length_scales(1, 1e-3),
)


@functools.cache
def claims_by_measure() -> dict[tuple[str, str], tuple[tuple[str, Claim], ...]]:
    by_measure: dict[tuple[str, str], tuple[tuple[str, Claim], ...]] = {}
    config = load.load()
    for paper in config.papers:
        for name, claim in claims.load(config, paper).items():
            key = paper, claim.measure
            by_measure[key] = (*by_measure.get(key, ()), (name, claim))
    return by_measure


Case = tuple[Callable[..., list[Comparison]], Claim, Runs, dict[str, Any]]
"""A measure, a claim that it judges, the runs of one reading and the options."""


def cases(paper: str, measure: str) -> Iterator[Case]:
    """All readings and controls, of all claims with this measure, whose runs are published."""
    config = load.load()
    entry = config.paper(paper)
    for name, claim in claims_by_measure()[paper, measure]:
        for label in claim.variations:
            if label == claims.PRINTED and claim.unprinted:
                continue
            variation = claim.variations[label]
            standing = claim.pairs(entry, variation)
            wanted = list(dict.fromkeys(standing.values()))
            here = pairs.there(config, paper, paths.PUBLISHED, wanted)
            runs = read(config, paper, paths.PUBLISHED, here, name)
            if all(runs.has(*pair) for pair in claim.needed(variation)):
                options = claim.under(variation).options
                judged = lookup.load("claims", paper, measure, options, name)
                yield judged, claim, runs.of(standing.values()).standing_for(standing), options


def outcomes(paper: str, measure: str) -> Iterator[str]:
    """Of the published runs of each reading as they are, and then changed."""
    for judged, claim, runs, options in cases(paper, measure):
        methods = dict.fromkeys((claim.algorithms[0], claim.algorithms[-1]))
        changed = (change(runs, method) for change in CHANGES for method in methods)
        for variant in itertools.chain([runs], changed):
            with contextlib.suppress(MissingRunsError):
                yield from (comparison.outcome for comparison in judged(variant, **options))


@pytest.mark.parametrize(("paper", "measure"), claims_by_measure())
def test_every_measure_can_support_and_contradict(paper: str, measure: str) -> None:
    lacking = {"supported", "contradicted"}
    for outcome in outcomes(paper, measure):
        lacking.discard(outcome)
        if not lacking:
            return
    pytest.fail(f"on no runs is it {sorted(lacking)}")
