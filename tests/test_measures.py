"""Every measure can support its claim and can contradict it.

A measure is made on the published runs of a claim, and on the same runs changed in one respect: a method
better or worse, times turned round, values that only depend on the problem. One of them must give each
outcome.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
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
"""Of the runs, and the name of the algorithm that is changed."""


LOSSES = ("f", "test_cross_entropy", "test_error")


def with_columns(
    runs: Runs, changed: Callable[[str, str, str, Array], Array], names: tuple[str, ...] = ("f",)
) -> Runs:
    """``changed``: of a problem, an algorithm, a column's name and its values, ``seeds x queries``."""
    parts = []
    for problem in runs.problems():
        for algorithm in runs.algorithms(problem):
            of_pair = (pc.field("problem") == problem) & (pc.field("algorithm") == algorithm)
            rows = runs.table.filter(of_pair).sort_by([("seed", "ascending"), ("t", "ascending")])
            seeds = len(runs.seeds(problem, algorithm))
            for name in names or rows.column_names:
                if name not in rows.column_names or not pa.types.is_floating(rows[name].type):
                    continue
                values = rows[name].to_numpy().astype(float)
                new = changed(problem, algorithm, name, values.reshape(seeds, -1))
                column = pa.array(new.ravel(), rows[name].type)
                rows = rows.set_column(rows.column_names.index(name), name, column)
            parts.append(rows)
    return dataclasses.replace(runs, table=pa.concat_tables(parts), read_alone=None)


def scaled_regret(factor: float) -> Change:
    """The algorithm's regret times ``factor``; against the best value of all where no optimum is known."""

    def change(runs: Runs, method: str) -> Runs:
        def scaled(problem: str, algorithm: str, name: str, f: Array) -> Array:
            optimum = runs.metadata["problems"][problem]["optimal_value"]
            best = max(runs.f(problem, a).max() for a in runs.algorithms(problem))
            if optimum is None:
                optimum = best
            return optimum - factor * (optimum - f) if algorithm == method else f

        return with_columns(runs, scaled)

    return change


def turned_round(runs: Runs, method: str) -> Runs:
    """What was asked last comes first, after the initial points."""

    def turned(problem: str, algorithm: str, name: str, values: Array) -> Array:
        first = runs.initial_points(problem)
        return np.concatenate([values[:, :first], values[:, first:][:, ::-1]], axis=1)

    return with_columns(runs, turned, ())


def losses(*levels: float, others: float = 2.0, spread: float = 1.0) -> Change:
    """All values of a problem at its level, the problems in their order (the last level where these are
    more), other algorithms' times ``others``. The deviation over the seeds, 1 %, is ``spread`` times as
    large from one problem to the next."""

    def change(runs: Runs, method: str) -> Runs:
        order = runs.problems()

        def level(problem: str, algorithm: str, name: str, values: Array) -> Array:
            i = order.index(problem)
            noise = np.random.default_rng(i).standard_normal((len(values), 1))
            loss = levels[min(i, len(levels) - 1)] * np.exp(0.01 * spread**i * noise)
            loss = np.broadcast_to(loss * (1.0 if algorithm == method else others), values.shape)
            optimum = runs.metadata["problems"][problem]["optimal_value"] or 0.0
            return optimum - loss if name == "f" else loss

        return with_columns(runs, level, LOSSES)

    return change


def over_time(last: float) -> Change:
    """All regret and losses times a factor that goes, round by round, from 1 to ``last``."""

    def change(runs: Runs, method: str) -> Runs:
        def changed(problem: str, algorithm: str, name: str, values: Array) -> Array:
            factor = np.geomspace(1.0, last, values.shape[1])
            optimum = runs.metadata["problems"][problem]["optimal_value"] or 0.0
            return optimum - factor * (optimum - values) if name == "f" else factor * values

        return with_columns(runs, changed, LOSSES)

    return change


def seconds(factor: float) -> Change:
    """The algorithm takes ``factor`` times as long."""

    def change(runs: Runs, method: str) -> Runs:
        powers = {"cpu_seconds": 1, "cpu_seconds_squared": 2}
        timings = {
            pair: {
                name: value * factor ** powers.get(name, 0) if name in powers else value
                for name, value in timing.items()
            }
            if pair.endswith(f"/{method}")
            else timing
            for pair, timing in runs.metadata["timings"].items()
        }
        metadata = {**runs.metadata, "timings": timings}
        return dataclasses.replace(runs, metadata=metadata, read_alone=None)

    return change


def length_scales(power: float, factor: float) -> Change:
    """The selected length scales to a power, the algorithm's times a factor."""

    def change(runs: Runs, method: str) -> Runs:
        def changed(problem: str, algorithm: str, name: str, values: Array) -> Array:
            return values**power * (factor if algorithm == method else 1.0)

        return with_columns(runs, changed, ("length_scale",))

    return change


def constant_memory(runs: Runs, method: str) -> Runs:
    """No surrogate grows."""
    return with_columns(runs, lambda *all: np.full_like(all[-1], 1e6), ("surrogate_bytes",))


def quadratic_cost(runs: Runs, method: str) -> Runs:
    """The CPU time of a round grows with the square of its number, at least."""
    timings = {
        pair: {
            **timing,
            "profile": {
                first: s * (int(first) + 1) ** 2 for first, s in timing.get("profile", {}).items()
            },
        }
        for pair, timing in runs.metadata["timings"].items()
    }
    return dataclasses.replace(
        runs, metadata={**runs.metadata, "timings": timings}, read_alone=None
    )


RISING = tuple(2.0**i for i in range(8))

CHANGES: tuple[Change, ...] = (
    scaled_regret(1e-3),
    scaled_regret(1e3),
    turned_round,
    losses(*RISING),
    losses(*RISING[::-1]),
    losses(*RISING, others=0.5),
    losses(32.0, 1.0),  # at first much better, then level
    losses(32.0, 16.0, 1.0, 2.0, 4.0),  # turns up
    losses(8.0, 1.0, 1.0, 1.0, 8.0),  # best in the middle
    losses(1e-9, others=1e18),
    losses(1.0, spread=2.0),
    losses(1.0, spread=0.5),
    over_time(1e-3),
    over_time(1e3),
    seconds(1e-2),
    seconds(1e2),
    quadratic_cost,
    length_scales(-1, 1.0),
    length_scales(1, 1e-3),
    length_scales(1, 1e3),
    constant_memory,
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
    """Of the published runs as they are, then of these changed."""
    tried = []
    for judged, claim, runs, options in cases(paper, measure):
        with contextlib.suppress(MissingRunsError):
            yield from (comparison.outcome for comparison in judged(runs, **options))
            tried.append((judged, claim, runs, options))
    for judged, claim, runs, options in tried:
        for change in CHANGES:
            for name in dict.fromkeys((claim.algorithms[0], claim.algorithms[-1])):
                with contextlib.suppress(MissingRunsError):
                    yield from (
                        comparison.outcome for comparison in judged(change(runs, name), **options)
                    )


@pytest.mark.parametrize(("paper", "measure"), claims_by_measure())
def test_every_measure_can_support_and_contradict(paper: str, measure: str) -> None:
    lacking = {"supported", "contradicted"}
    for outcome in outcomes(paper, measure):
        lacking.discard(outcome)
        if not lacking:
            return
    pytest.fail(f"on no runs is it {sorted(lacking)}")
