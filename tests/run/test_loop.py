"""The ask-tell loop: rounds, shared initial points, blocks of seeds, faults."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replibo.algorithms.base import Algorithm, History, Proposal
from replibo.algorithms.random_search import RandomSearch
from replibo.errors import RepliboError
from replibo.problems.base import Array, Observation, Problem
from replibo.run.journal import Journal
from replibo.run.loop import Experiment, journal_path, run_block
from replibo.run.memory import peak_mib
from replibo.streams import RunStreams


class Square(Problem):
    """-(x - 1)² - (y - 2)² on [0, 4]²."""

    def __init__(self) -> None:
        self.dim = 2
        self.bounds = np.array([[0.0, 0.0], [4.0, 4.0]])
        self.optimal_value = 0.0
        self.noise_std = 0.1

    def evaluate_true(self, X: Array) -> Array:
        return -np.sum((X - [1.0, 2.0]) ** 2, axis=1)


class Pool(Square):
    """The same on a pool of 30 points in native units."""

    def __init__(self) -> None:
        super().__init__()
        self.candidates = np.random.default_rng(0).uniform(0, 4, (30, 2))


class Family(Square):
    """The seed picks the member: -(x - 1)² - (y - 2)² - seed."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.offset = seed

    def of_seed(self, seed: int) -> Problem:
        return Family(seed)

    def evaluate_true(self, X: Array) -> Array:
        return super().evaluate_true(X) - self.offset


def experiment(problem: Problem | None = None, **changes: Any) -> Experiment:
    settings: dict[str, Any] = {
        "paper": "paper",
        "problem_name": "square",
        "algorithm_name": "random",
        "problem": problem or Square(),
        "make_algorithm": RandomSearch,
        "horizon": 9,
        "initial_points": 4,
        "first_round": "initial",
    }
    return Experiment(**{**settings, **changes})


@pytest.mark.parametrize(
    ("first_round", "rounds"), [("initial", range(1, 10)), ("search", range(-3, 10))]
)
def test_rounds_are_counted_as_the_paper_counts(first_round: str, rounds: range) -> None:
    (trace,) = run_block(experiment(first_round=first_round), [0])
    assert trace.t == list(rounds)
    searched = len(rounds) - 4
    assert trace.phase == ["initial"] * 4 + ["search"] * searched
    assert len(trace.y) == len(trace.f) == len(trace.x) == len(trace.seconds) == len(rounds)
    assert len(trace.peak_mib) == len(rounds)


def test_observations_are_f_plus_noise_at_the_native_point() -> None:
    (trace,) = run_block(experiment(), [3])
    X = np.array(trace.x)
    assert X.min() >= 0 and X.max() > 1
    np.testing.assert_array_equal(trace.f, Square().evaluate_true(X))
    noise = [RunStreams("paper", "square", "any", 3).noise(i).standard_normal() for i in range(9)]
    np.testing.assert_allclose(np.array(trace.y) - trace.f, 0.1 * np.array(noise), atol=1e-12)


def test_every_algorithm_starts_from_the_same_points_and_meets_the_same_noise() -> None:
    (one,) = run_block(experiment(), [5])
    (other,) = run_block(experiment(algorithm_name="other"), [5])
    assert one.x[:4] == other.x[:4] and one.y[:4] == other.y[:4]
    assert one.x[4:] != other.x[4:]
    np.testing.assert_allclose(np.array(one.y) - one.f, np.array(other.y) - other.f, atol=1e-12)


def test_seeds_of_a_block_may_stand_in_any_order() -> None:
    digests = {trace.seed: trace.digest() for trace in run_block(experiment(), [0, 1, 2, 3])}
    assert len(set(digests.values())) == 4
    for trace in run_block(experiment(), [2, 0, 3, 1]):
        assert trace.digest() == digests[trace.seed]


def test_a_longer_run_begins_as_the_shorter_one() -> None:
    (short,) = run_block(experiment(), [0])
    (long,) = run_block(experiment(horizon=15), [0])
    assert long.x[:9] == short.x and long.y[:9] == short.y


def test_on_a_pool_every_query_is_a_row_bit_for_bit_and_initial_rows_are_distinct() -> None:
    problem = Pool()
    (trace,) = run_block(experiment(problem, horizon=40, initial_points=10), [0])
    rows = {tuple(row) for row in problem.candidates}
    assert all(tuple(x) in rows for x in trace.x)
    assert len({tuple(x) for x in trace.x[:10]}) == 10


class Stubborn(Algorithm):
    """Proposes what it was made with."""

    proposal = Proposal(np.array([0.5, 0.5]))

    def ask(self, history: History, t: int) -> Proposal:
        return self.proposal


@pytest.mark.parametrize(
    ("problem", "x", "row", "must"),
    [
        (Square, [1.5, 0.0], -1, r"be a point of the 2-D unit cube, got \[1\.5 0\. \]"),
        (Square, [-0.1, 0.5], -1, r"be a point of the 2-D unit cube, got \[-0\.1  0\.5\]"),
        (Square, [math.nan, 0.5], -1, r"be numbers, got \[nan 0\.5\]"),
        (Square, [0.5], -1, r"have the shape \(2,\), got \(1,\)"),
        (Square, [[0.5, 0.5]], -1, r"have the shape \(2,\), got \(1, 2\)"),
        (Pool, [0.5, 0.5], 3, r"be row 3 of the pool, got \[0\.5 0\.5\]"),
        (Pool, [0.5, 0.5], -1, "be a row of the pool, 0 to 29, got -1"),
    ],
)
def test_a_proposal_outside_the_domain_is_said_in_one_line(
    problem: type[Problem], x: list[Any], row: int, must: str
) -> None:
    algorithm = type("Made", (Stubborn,), {"proposal": Proposal(np.array(x), row)})
    with pytest.raises(RepliboError, match=rf"square random, seed 7, query 5: .* must {must}$"):
        run_block(experiment(problem(), make_algorithm=algorithm), [7])


class Failing(Square):
    """Returns ``value`` at the eighth query."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        observation = super().observe(x, streams, query)
        return Observation(self.value, observation.f) if query == 7 else observation


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_observation_that_is_not_finite_keeps_what_was_observed(
    value: float, tmp_path: Path
) -> None:
    with pytest.raises(
        RepliboError, match=rf"seed 1, query 8: the observation y must be finite, got {value}"
    ):
        run_block(experiment(Failing(value)), [1], journal_folder=tmp_path, identity="i")
    # seven queries are kept: a mended problem goes on from there
    assert journal_path(tmp_path, 1).read_bytes().count(b"\n") == 8
    (resumed,) = run_block(experiment(), [1], journal_folder=tmp_path, identity="i")
    assert resumed.digest() == run_block(experiment(), [1])[0].digest()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"initial_points": 31, "horizon": 40}, "initial_points must be at most 30, .* got 31"),
        ({"horizon": 4}, "horizon must be at least 5, .* got 4"),
        ({"horizon": 10**8}, "square: 1 runs of 100000000 2-D queries must be at most 100000000"),
    ],
)
def test_settings_that_do_not_go_together_are_said_in_one_line(
    settings: dict[str, Any], line: str
) -> None:
    with pytest.raises(RepliboError, match=line):
        run_block(experiment(Pool(), **settings), [0])


def test_given_initial_points_are_asked_first_and_the_search_goes_on_from_them() -> None:
    given = np.array([[0.5, 1.5], [4.0, 0.0], [1.0, 2.0]])
    (trace,) = run_block(experiment(given_points=given, initial_points=3), [0])
    np.testing.assert_allclose(trace.x[:3], given, atol=1e-12)
    assert trace.phase == ["initial"] * 3 + ["search"] * 6
    problem = Pool()
    rows = problem.candidates[[4, 4, 9]]
    (trace,) = run_block(experiment(problem, given_points=rows, initial_points=3), [0])
    assert trace.x[:3] == rows.tolist()


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([[5.0, 1.0]], r"initial points: must lie between .*, got \[5\.0, 1\.0\]"),
        ([[math.nan, 1.0]], "must lie between"),
        ([[1.0, 1.0, 1.0]], r"must be an array of shape n x 2, got shape \(1, 3\)"),
        ([[1.0, 1.0]], r"must be one of the pool's 30 points, got \[1\.0, 1\.0\]; the nearest"),
    ],
)
def test_a_given_initial_point_outside_the_domain_is_said_in_one_line(
    points: list[list[float]], line: str
) -> None:
    given = np.array(points)
    with pytest.raises(RepliboError, match=line):
        run_block(experiment(Pool(), given_points=given, initial_points=len(given)), [0])


def test_the_seed_picks_the_member_of_a_family_whatever_the_block() -> None:
    family, square = run_block(experiment(Family()), [3, 5]), run_block(experiment(), [3, 5])
    for member, same, seed in zip(family, square, (3, 5), strict=True):
        assert member.x == same.x
        np.testing.assert_allclose(np.array(member.f), np.array(same.f) - seed)
    (alone,) = run_block(experiment(Family()), [5])
    assert alone.f == family[1].f


class Hungry(RandomSearch):
    """Takes memory, and gives it back, when it chooses the sixth query; resident memory counts."""

    def ask(self, history: History, t: int) -> Proposal:
        if len(history) == 5:
            np.ones(int(peak_mib() + 64) * 2**17)  # more than the process ever had
        return super().ask(history, t)


def test_the_runs_of_a_block_share_one_copy_of_the_pool() -> None:
    pools = []

    class Asked(RandomSearch):
        def ask(self, history: History, t: int) -> Proposal:
            pools.append(self.space.candidates)
            return super().ask(history, t)

    run_block(experiment(Pool(), make_algorithm=Asked), [0, 1, 2])
    assert len(pools) > 3 and all(pool is pools[0] for pool in pools)


def test_the_peak_of_memory_is_kept_with_each_query(tmp_path: Path) -> None:
    (trace,) = run_block(
        experiment(make_algorithm=Hungry), [0], journal_folder=tmp_path, identity="i"
    )
    peaks = trace.peak_mib
    assert peaks == sorted(peaks) and peaks[0] > 10
    assert peaks[5] > peaks[4] + 60 and peaks[-1] == pytest.approx(peaks[5], abs=8)
    journal = Journal(journal_path(tmp_path, 0), "i", 0)
    journal.close()
    assert [record[-1] for record in journal.records] == peaks


def test_a_resumed_run_has_its_own_peaks_and_the_same_digest(tmp_path: Path) -> None:
    (whole,) = run_block(experiment(), [0], journal_folder=tmp_path, identity="i")
    path = journal_path(tmp_path, 0)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    (resumed,) = run_block(experiment(), [0], journal_folder=tmp_path, identity="i")
    assert resumed.peak_mib[:3] == whole.peak_mib[:3] and len(resumed.peak_mib) == 9
    assert resumed.digest() == whole.digest()


def test_a_journal_of_other_fields_is_said_in_one_line(tmp_path: Path) -> None:
    journal = Journal(journal_path(tmp_path, 0), "i", 0)
    journal.append([[0.1, 0.2], -1, 1.0, 1.0, {}, 0.0, 0.0, 0.0])
    journal.close()
    with pytest.raises(RepliboError, match=r"seed_0.jsonl: a record must have 9 fields, got 8"):
        run_block(experiment(), [0], journal_folder=tmp_path, identity="i")
