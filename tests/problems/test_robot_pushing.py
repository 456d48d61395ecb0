"""Robot pushing: against mechanics by hand, its symmetries, its bound, the spread of its rewards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.errors import RepliboError
from replibo.problems import robot_pushing
from replibo.problems.robot_pushing import (
    BOUND,
    BOX_START,
    CIRCLE_START,
    Hand,
    RobotPushing,
    Scene,
    hands,
    trajectory,
)
from replibo.streams import RunStreams, generator

PROBLEM = RobotPushing()
# the order of the parameters, as the task states it
NAMES = [
    *("rx1", "ry1", "vx1", "vy1", "time1", "angle1"),
    *("rx2", "ry2", "vx2", "vy2", "time2", "angle2", "torque1", "torque2"),
]
# two hands at the edge of the table that are told to stay where they are
AWAY = {"rx1": -5, "ry1": 5, "rx2": 5, "ry2": -5, "time1": 2, "time2": 2}


def point(**values: float) -> np.ndarray:
    """A native point: two hands out of the way, but for what is said."""
    assert set(values) <= set(NAMES)
    return np.array([float({**AWAY, **values}.get(name, 0.0)) for name in NAMES])


def f(x: np.ndarray) -> float:
    return float(PROBLEM.evaluate_true(x[None, :])[0])


# The task


def test_the_domain() -> None:
    lower, upper = PROBLEM.bounds
    one = [(-5, 5), (-5, 5), (-10, 10), (-10, 10), (2, 30), (0, 2 * math.pi)]
    assert list(zip(lower, upper, strict=True)) == [*one, *one, (-5, 5), (-5, 5)]
    assert (PROBLEM.dim, PROBLEM.optimal_value, PROBLEM.noise_std) == (14, None, 0.0)


def test_the_order_of_the_parameters() -> None:
    first, second = hands(np.arange(14.0))
    assert first == Hand(x=0, y=1, vx=2, vy=3, time=4, angle=5, torque=12)
    assert second == Hand(x=6, y=7, vx=8, vy=9, time=10, angle=11, torque=13)


@pytest.mark.parametrize(
    ("time", "steps"), [(2.0, 20), (2.09, 20), (2.1, 21), (29.99, 299), (30.0, 300)]
)
def test_steps_are_whole_tenths(time: float, steps: int) -> None:
    assert Hand(0, 0, 0, 0, time, 0, 0).steps == steps
    # the longer of the two, and 100 more; the start is the first row
    assert len(trajectory(point(time1=time))) == max(steps, 20) + 101
    assert len(trajectory(point(time2=time))) == max(steps, 20) + 101


def test_the_bound_is_the_sum_of_the_initial_distances() -> None:
    # box (0, 2) to (4, 3.5), circle (0, -2) to (-4, 3.5)
    assert pytest.approx(math.sqrt(16 + 2.25) + math.sqrt(16 + 30.25), rel=1e-15) == BOUND
    assert round(BOUND, 4) == 11.0727
    assert robot_pushing.reward_at((4, 3.5), (-4, 3.5)) == BOUND
    assert robot_pushing.reward_at((0, 2), (0, -2)) == 0.0


# The simulation


def test_hands_that_miss_leave_the_objects_alone() -> None:
    x = point(vx1=3, vy1=5, vx2=4, vy2=-6, time1=30, time2=9, torque1=2)
    assert f(x) == 0.0
    path = trajectory(x)
    np.testing.assert_array_equal(path[:, 0], np.tile([*BOX_START, 0.0], (len(path), 1)))
    np.testing.assert_array_equal(path[:, 1], np.tile([*CIRCLE_START, 0.0], (len(path), 1)))
    assert np.linalg.norm(path[-1, 2, :2] - path[0, 2, :2]) > 5


def free_hand(hand: Hand, after: int) -> np.ndarray:
    """x, y and angle of a hand that touches nothing: semi-implicit Euler steps of 0.01 s with the
    controller's force, then Coulomb's friction of at most 2 N and 2 Nm."""
    mass = 0.1 * 2.0 * 0.6  # density times area
    inertia = mass * (2.0**2 + 0.6**2) / 12
    place, v, omega = np.array([hand.x, hand.y]), np.zeros(2), 0.0
    path = [[*place, hand.angle]]
    angle = hand.angle
    for step in range(int(10 * hand.time) + after):
        if step < int(10 * hand.time):
            v = v + 0.01 * 30 * (np.array([hand.vx, hand.vy]) - v)
            omega += 0.01 * mass * 30 * (hand.torque - omega) / inertia
        v *= max(0.0, 1 - 0.01 * 2 / mass / max(np.linalg.norm(v), 1e-12))
        omega -= math.copysign(min(abs(omega), 0.01 * 2 / inertia), omega)
        place = place + 0.01 * v
        angle += 0.01 * omega
        path.append([*place, angle])
    return np.array(path)


@pytest.mark.parametrize(
    "driven",
    [
        {"vx1": 0.5, "vy1": -0.4},  # too little for the table's friction
        {"vx1": -6.0, "vy1": 3.0, "time1": 8.0},
        {"vx1": -2.0, "vy1": 9.0, "time1": 2.4, "angle1": 1.0, "torque1": 4.0},
        {"torque1": -5.0, "time1": 5.0, "angle1": 2 * math.pi},
    ],
)
def test_a_free_hand_moves_as_mechanics_say(driven: dict[str, float]) -> None:
    x = point(**driven)
    path = trajectory(x)
    hand = hands(x)[0]
    own = free_hand(hand, len(path) - 1 - hand.steps)
    # single precision; Box2D warm-starts the friction, which ends in the same velocities
    np.testing.assert_allclose(path[:, 2], own, rtol=0, atol=2e-3)
    np.testing.assert_array_equal(path[:, 3], np.tile(path[0, 3], (len(path), 1)))


@pytest.mark.parametrize(
    ("name", "mass", "inertia"),
    [
        ("box", 0.05, 0.05 * (1 + 1) / 12),
        ("circle", 0.05 * math.pi, 0.05 * math.pi / 2),
    ],
)
def test_an_object_slides_to_rest_by_coulombs_friction(
    name: str, mass: float, inertia: float
) -> None:
    scene = Scene(*hands(point()))
    body = getattr(scene, name)
    body.linearVelocity, body.angularVelocity = (3.0, -4.0), 5.0
    for step, _ in enumerate(scene.steps(), start=1):
        speed, spin = max(0, 5 - step * 0.01 * 5 / mass), max(0, 5 - step * 0.01 * 2 / inertia)
        np.testing.assert_allclose(body.linearVelocity, (0.6 * speed, -0.8 * speed), atol=1e-4)
        assert body.angularVelocity == pytest.approx(spin, abs=1e-4)


# hand 1 behind the box and hand 2 behind the circle, on the lines to their goals
TO_BOX_GOAL = math.atan2(1.5, 4.0)
TO_CIRCLE_GOAL = math.atan2(5.5, -4.0)
PUSH_BOX = {
    "rx1": -2 * math.cos(TO_BOX_GOAL),
    "ry1": 2 - 2 * math.sin(TO_BOX_GOAL),
    "vx1": 4 * math.cos(TO_BOX_GOAL),
    "vy1": 4 * math.sin(TO_BOX_GOAL),
    "angle1": TO_BOX_GOAL + math.pi / 2,
}
PUSH_CIRCLE = {
    "rx2": -2 * math.cos(TO_CIRCLE_GOAL),
    "ry2": -2 - 2 * math.sin(TO_CIRCLE_GOAL),
    "vx2": 4 * math.cos(TO_CIRCLE_GOAL),
    "vy2": 4 * math.sin(TO_CIRCLE_GOAL),
    "angle2": TO_CIRCLE_GOAL - math.pi / 2,
}


def test_pushing_towards_the_goals_is_rewarded() -> None:
    box = f(point(**PUSH_BOX, time1=8))
    circle = f(point(**PUSH_CIRCLE, time2=8))
    assert box > 1 and circle > 1
    # for longer is better while the goal is not reached
    assert 0 < f(point(**PUSH_BOX, time1=6)) < box
    assert 0 < f(point(**PUSH_CIRCLE, time2=6)) < circle
    # neither pair comes near the other
    assert f(point(**PUSH_BOX, time1=8, **PUSH_CIRCLE, time2=8)) == pytest.approx(
        box + circle, abs=1e-4
    )
    path = trajectory(point(**PUSH_BOX, time1=8, **PUSH_CIRCLE, time2=8))
    assert np.linalg.norm(path[-1, :2, :2] - path[0, :2, :2], axis=1).min() > 1


def test_the_reward_is_that_of_the_trajectorys_end() -> None:
    uniform = PROBLEM.to_native(generator("test", "robot_pushing").uniform(size=(50, 14)))
    for x, value in zip(uniform, PROBLEM.evaluate_true(uniform), strict=True):
        box, circle = trajectory(x)[-1, :2, :2]
        distances = math.dist(box, (4, 3.5)) + math.dist(circle, (-4, 3.5))
        assert value == pytest.approx(BOUND - distances, abs=1e-12)


coordinates = st.integers(0, 1000).map(lambda n: n / 1000)


@settings(max_examples=150)
@given(st.lists(coordinates, min_size=14, max_size=14))
def test_the_bound_is_not_exceeded(u: list[float]) -> None:
    x = PROBLEM.to_native(np.array(u))
    assert f(x) <= BOUND


ORIGINAL = [
    *(-0.01693100484696508, 0.0, -0.2189003650720842, -0.07348089536523794, -0.2799522698309662),
    *(0.0, -1.2877449728957968, 0.03774076165042839, 0.0, -0.019556351092852253),
    *(-2.417034242666566, -0.6274539373317713, -0.10412200372954405, -0.329101931553617, 0.0),
    *(0.1666415028556747, 0.0, 0.0, 1.743083088329521, 0.13700774676739158),
]
"""Rewards by Wang and Jegelka's own code, its noise set to 0 (zi-w/Ensemble-Bayesian-Optimization)."""


def test_the_rewards_of_the_original_code() -> None:
    """Single precision decides contacts, so that forces in double precision miss some of these by
    more than 1e-6. All 3,000 points of this stream were equal to the last bit."""
    unit = generator("test", "robot_pushing", "original").uniform(size=(len(ORIGINAL), 14))
    found = PROBLEM.evaluate_true(PROBLEM.to_native(unit))
    np.testing.assert_allclose(found, ORIGINAL, rtol=0, atol=1e-14)


# Determinism and noise


def streams(algorithm: str = "neural_bo", seed: int = 0) -> RunStreams:
    return RunStreams("neuralbo", "robot", algorithm, seed)


PUSH = point(**PUSH_BOX, time1=8, **PUSH_CIRCLE, time2=8)


def test_the_velocities_get_the_noise_and_nothing_else() -> None:
    moved = np.array(
        [PROBLEM.moved(PUSH, streams(seed=s), q) for s in range(20) for q in range(50)]
    )
    noise = moved - PUSH
    velocities = [NAMES.index(name) for name in ("vx1", "vy1", "vx2", "vy2")]
    assert np.all(np.delete(noise, velocities, axis=1) == 0)
    found = noise[:, velocities]
    assert np.all(np.abs(found.mean(axis=0)) < 4 * 0.01 / math.sqrt(1000))
    assert np.all(np.abs(found.std(axis=0) / 0.01 - 1) < 4 / math.sqrt(2000))
    assert np.all(np.abs(np.corrcoef(found.T) - np.eye(4)) < 4 / math.sqrt(1000))
    np.testing.assert_array_equal(PROBLEM.moved(PUSH, streams(), 0), moved[0])


def test_an_observation_is_the_reward_of_the_noisy_push() -> None:
    seen = PROBLEM.observe(PUSH, streams(), 4)
    assert seen.y == seen.f == robot_pushing.reward(PROBLEM.moved(PUSH, streams(), 4))
    assert seen.y != f(PUSH)
    assert seen.y == pytest.approx(f(PUSH), abs=0.2)
    assert seen == PROBLEM.observe(PUSH, streams("random_search"), 4)  # common random numbers
    others = {PROBLEM.observe(PUSH, streams(seed=s), q).y for s in (0, 1) for q in (4, 5)}
    assert len(others) == 4


def test_without_noise_an_observation_is_the_simulation() -> None:
    seen = RobotPushing(velocity_noise_std=0).observe(PUSH, streams(), 4)
    assert seen.y == seen.f == f(PUSH)


# Bad input


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(14), r"X: must have the shape n x 14, got \(14,\)"),
        (np.zeros((3, 13)), r"X: must have the shape n x 14, got \(3, 13\)"),
        (point(vx1=math.nan)[None], "X: parameter 3 must be from -10 to 10, got nan"),
        (point(time2=30.1)[None], "X: parameter 11 must be from 2 to 30, got 30.1"),
        (point(angle1=-1e-9)[None], "X: parameter 6 must be from 0 to .*, got -1e-09"),
    ],
)
def test_bad_points_are_one_line(X: np.ndarray, message: str) -> None:
    with pytest.raises(RepliboError, match=message) as error:
        PROBLEM.evaluate_true(X)
    assert "\n" not in str(error.value)
    if X.ndim == 2:
        with pytest.raises(RepliboError):
            PROBLEM.observe(X[0], streams(), 0)
