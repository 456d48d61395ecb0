"""Robot pushing: against the original code, its trajectories, its noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replibo.errors import RepliboError
from replibo.problems import robot_pushing
from replibo.problems.robot_pushing import BOUND, BOX_START, CIRCLE_START, RobotPushing, trajectory
from replibo.streams import RunStreams, generator

PROBLEM = RobotPushing()
ORIGINAL = [
    *(-0.01693100484696508, 0.0, -0.2189003650720842, -0.07348089536523794, -0.2799522698309662),
    *(0.0, -1.2877449728957968, 0.03774076165042839, 0.0, -0.019556351092852253),
    *(-2.417034242666566, -0.6274539373317713, -0.10412200372954405, -0.329101931553617, 0.0),
    *(0.1666415028556747, 0.0, 0.0, 1.743083088329521, 0.13700774676739158),
]
"""Rewards by Wang and Jegelka's own code, its noise set to 0 (zi-w/Ensemble-Bayesian-Optimization)."""
POINTS = PROBLEM.to_native(
    generator("test", "robot_pushing", "original").uniform(size=(len(ORIGINAL), 14))
)
PUSH = POINTS[18]  # both hands meet an object
VELOCITIES = [2, 3, 8, 9]
STREAMS = RunStreams("neuralbo", "robot", "neural_bo", 0)


def test_the_domain() -> None:
    lower, upper = PROBLEM.bounds
    one = [(-5, 5), (-5, 5), (-10, 10), (-10, 10), (2, 30), (0, 2 * math.pi)]
    assert list(zip(lower, upper, strict=True)) == [*one, *one, (-5, 5), (-5, 5)]
    assert (PROBLEM.dim, PROBLEM.optimal_value, PROBLEM.noise_std) == (14, None, 0.0)


def test_the_bound_is_the_sum_of_the_initial_distances() -> None:
    # box (0, 2) to (4, 3.5), circle (0, -2) to (-4, 3.5)
    assert pytest.approx(math.sqrt(16 + 2.25) + math.sqrt(16 + 30.25), rel=1e-15) == BOUND
    assert round(BOUND, 4) == 11.0727
    assert robot_pushing.reward_at((4, 3.5), (-4, 3.5)) == BOUND
    assert robot_pushing.reward_at((0, 2), (0, -2)) == 0.0


def test_the_rewards_of_the_original_code() -> None:
    """Single precision decides contacts, so that forces in double precision miss some of these by
    more than 1e-6. All 3,000 points of this stream were equal to the last bit."""
    np.testing.assert_allclose(PROBLEM.evaluate_true(POINTS), ORIGINAL, rtol=0, atol=1e-14)


def test_a_trajectory_leads_from_the_start_to_the_reward() -> None:
    for x, value in zip(POINTS, ORIGINAL, strict=True):
        path = trajectory(x)
        # the longer of the two times, in whole tenths, and 100 steps more
        assert len(path) == int(10 * max(x[4], x[10])) + 101
        start = [(*BOX_START, 0.0), (*CIRCLE_START, 0.0), x[[0, 1, 5]], x[[6, 7, 11]]]
        np.testing.assert_allclose(path[0], start, rtol=1e-6)
        box, circle = path[-1, :2, :2]
        distances = math.dist(box, (4, 3.5)) + math.dist(circle, (-4, 3.5))
        assert value == pytest.approx(BOUND - distances, abs=1e-12)


def test_the_velocities_get_the_noise_and_nothing_else() -> None:
    moved = np.array([PROBLEM.moved(PUSH, STREAMS, query) for query in range(1000)])
    noise = moved - PUSH
    assert np.all(np.delete(noise, VELOCITIES, axis=1) == 0)
    noise = noise[:, VELOCITIES]
    assert np.all(np.abs(noise.mean(axis=0)) < 4 * 0.01 / math.sqrt(1000))
    assert np.all(np.abs(noise.std(axis=0) / 0.01 - 1) < 4 / math.sqrt(2000))
    assert np.all(np.abs(np.corrcoef(noise.T) - np.eye(4)) < 4 / math.sqrt(1000))


def test_an_observation_is_the_reward_of_the_noisy_push() -> None:
    noisy, exact = (
        problem.observe(PUSH, STREAMS, 4)
        for problem in (PROBLEM, RobotPushing(velocity_noise_std=0))
    )
    reward = PROBLEM.evaluate_true(PUSH[None])[0]
    assert exact.y == exact.f == reward
    assert noisy.y == noisy.f == robot_pushing.reward(PROBLEM.moved(PUSH, STREAMS, 4))
    assert noisy.y != reward and noisy.y == pytest.approx(reward, abs=0.2)


def changed(i: int, value: float) -> np.ndarray:
    x = PUSH.copy()
    x[i] = value
    return x[None]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 13)), r"X: must have the shape n x 14, got \(3, 13\)"),
        (changed(2, math.nan), "X: parameter 3 must be from -10 to 10, got nan"),
        (changed(10, 30.1), "X: parameter 11 must be from 2 to 30, got 30.1"),
    ],
)
def test_bad_points_are_one_line(X: np.ndarray, message: str) -> None:
    with pytest.raises(RepliboError, match=message) as error:
        PROBLEM.evaluate_true(X)
    assert "\n" not in str(error.value)
    with pytest.raises(RepliboError):
        PROBLEM.observe(X[0], STREAMS, 0)
