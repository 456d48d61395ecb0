"""The shared candidate rule: what is equal for all algorithms, and what each incumbent adds."""

import re

import numpy as np
import pytest
from scipy import stats

from replibo.algorithms.base import Space
from replibo.algorithms.parts.candidates import HIGHEST_LOCAL_SD, LOWEST_LOCAL_SD, Candidates
from replibo.errors import RepliboError
from replibo.streams import RunStreams

from ..conftest import history, observed


def draws(space, count=64, local_fraction=0.5, algorithm="a", seed=0):
    streams = RunStreams("neuralbo", "ackley_10", algorithm, seed)
    return Candidates(space, streams, count=count, local_fraction=local_fraction)


def test_two_algorithms_get_the_same_candidates_for_the_same_history():
    for fraction in (0.0, 0.5, 1.0):
        a, b = (
            draws(Space(3), local_fraction=fraction, algorithm=name).draw(history(5))[0]
            for name in ("gp_ts", "neural_bo")
        )
        np.testing.assert_array_equal(a, b)


def test_uniform_part_does_not_depend_on_the_history_but_on_seed_and_query():
    rule = draws(Space(3))
    first, second = (rule.draw(history(5, seed=seed))[0] for seed in (1, 2))
    np.testing.assert_array_equal(first[32:], second[32:])
    assert not np.any(first[:32] == second[:32])  # another incumbent
    assert not np.any(rule.draw(history(6, seed=1))[0][32:] == first[32:])
    assert not np.any(draws(Space(3), seed=1).draw(history(5, seed=1))[0] == first)


def test_uniform_candidates_are_uniform_and_local_ones_are_near_the_incumbent():
    dim, count = 2, 20_000
    past = observed(np.array([[0.1, 0.9], [0.5, 0.5]]), [0.0, 1.0])
    X, rows = draws(Space(dim), count).draw(past)
    assert X.shape == (count, dim) and np.all((X >= 0) & (X <= 1)) and np.all(rows == -1)
    local, uniform = X[: count // 2], X[count // 2 :]
    for column in uniform.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    # a scale mixture of normals: E s² of a log-uniform s is (b² - a²) / (2 ln(b / a))
    a, b = LOWEST_LOCAL_SD, HIGHEST_LOCAL_SD
    expected = (b**2 - a**2) / (2 * np.log(b / a))
    steps = local - 0.5
    assert np.mean(steps**2) == pytest.approx(expected, rel=0.1)
    assert abs(np.mean(steps)) < 5 * np.sqrt(expected / steps.size)


def test_incumbent_is_the_first_of_the_largest_observations():
    past = observed(np.array([[0.2], [0.8], [0.5]]), [1.0, 1.0, 0.0])
    X, _ = draws(Space(1), 500, local_fraction=1.0).draw(past)
    assert np.median(X) == pytest.approx(0.2, abs=0.02)


def test_pool_gives_different_rows_of_its_own_and_all_of_a_small_one():
    pool = np.random.default_rng(0).uniform(size=(50, 2))
    for count, drawn in ((20, 20), (60, 50)):
        X, rows = draws(Space(2, candidates=pool), count).draw(history(5, 2))
        assert len(rows) == len(set(rows.tolist())) == drawn
        np.testing.assert_array_equal(X, pool[rows])
    np.testing.assert_array_equal(rows, np.arange(50))


def test_best_takes_the_first_of_the_largest_and_refuses_what_is_not_a_number():
    rule = draws(Space(1), 3, local_fraction=0.0)
    X, rows = np.array([[0.1], [0.2], [0.3]]), np.array([4, 5, 6])
    proposal = rule.best(X, rows, np.array([0.0, 2.0, 2.0]), {"mean": 1.0})
    assert (proposal.x.tolist(), proposal.candidate, proposal.diagnostics) == (
        [0.2],
        5,
        {"mean": 1.0},
    )
    assert rule.best(X, rows, np.array([-np.inf, -np.inf, 1.0])).candidate == 6
    with pytest.raises(RepliboError, match="diverged"):
        rule.best(X, rows, np.array([0.0, np.nan, 1.0]))


def test_the_number_of_candidates_that_is_said_to_fit_fits():
    with pytest.raises(RepliboError) as error:
        draws(Space(3), 10**12)
    message = str(error.value)
    assert "got 1000000000000: they need 2.4e+04 GB" in message and "\n" not in message
    most = int(re.findall(r"must be at most (\d+)", message)[0])
    draws(Space(3), most)
    with pytest.raises(RepliboError):
        draws(Space(3), round(1.01 * most))
