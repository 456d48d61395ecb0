"""Robot pushing in 14 dimensions: two robot hands push two objects over a table to their goals
(Phan-Trong, Tran-The and Gupta 2023, section 7.2.3, Figures 5 and 6). The task is that of Wang and
Jegelka (2017).

The table is seen from above, and there is no gravity: joints stand for its friction. Lengths, masses,
times and forces are in Box2D's units (m, kg, s, N), angles in radians.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from replibo.errors import RepliboError
from replibo.problems.base import Array, Observation, Problem
from replibo.settings import NonNegative
from replibo.streams import RunStreams

BODIES = ("box", "circle", "hand 1", "hand 2")
"""What moves, in the order in which Box2D creates it."""

BOX_START, BOX_GOAL = (0.0, 2.0), (4.0, 3.5)
CIRCLE_START, CIRCLE_GOAL = (0.0, -2.0), (-4.0, 3.5)
BOX_HALF_SIZE = 0.5
CIRCLE_RADIUS = 1.0
HAND_HALF_SIZES = (1.0, 0.3)

BOUND = math.dist(BOX_START, BOX_GOAL) + math.dist(CIRCLE_START, CIRCLE_GOAL)
"""11.0727, the reward of both objects at their goals. None exceeds it; whether any command attains it is
not known."""

STEP = 0.01
"""Seconds from one step of the simulation to the next."""

_ITERATIONS = 10  # of the solvers of velocities and of positions
_STEPS_AFTER = 100  # of the simulation, after the last hand is no longer driven
_GAIN = 30.0  # 1/s, of the hands' controllers
_OBJECT = {"density": 0.05, "friction": 0.01}
_HAND = {"density": 0.1, "friction": 0.1}
# What the table holds a body back with.
_OBJECT_ON_TABLE = {"maxForce": 5.0, "maxTorque": 2.0}
_HAND_ON_TABLE = {"maxForce": 2.0, "maxTorque": 2.0}


class Hand(NamedTuple):
    """What one hand is told.

    Attributes:
        x, y: its centre at the start.
        vx, vy: the commanded velocity.
        time: for how long it is driven, in tenths of a second.
        angle: its orientation at the start.
        torque: the parameter of that name; it is compared with an angular velocity.
    """

    x: float
    y: float
    vx: float
    vy: float
    time: float
    angle: float
    torque: float

    @property
    def steps(self) -> int:
        """Through how many steps of the simulation it is driven."""
        return int(10 * self.time)


# Hand 1 without its torque, hand 2 without its torque, the two torques.
_LOWER = (-5.0, -5.0, -10.0, -10.0, 2.0, 0.0)
_UPPER = (5.0, 5.0, 10.0, 10.0, 30.0, 2 * math.pi)
_TORQUE = 5.0
_VELOCITIES = [2, 3, 8, 9]
"""The commanded velocities vx, vy of hand 1 and of hand 2 among the 14 parameters."""


def hands(x: Array) -> tuple[Hand, Hand]:
    """The two hands of the native point ``x``, shape 14: x, y, vx, vy, time and angle of hand 1, the same
    of hand 2, then the torques of both."""
    p = x.tolist()
    return Hand._make([*p[:6], p[12]]), Hand._make([*p[6:12], p[13]])


class Scene:
    """The table with two objects and two hands: a world of its own for each evaluation, which depends on
    nothing but the hands.

    Attributes:
        box, circle: the objects (``Box2D.b2Body``).
        hands: what each hand is told, and its body.
    """

    def __init__(self, first: Hand, second: Hand) -> None:
        from Box2D import b2CircleShape, b2FixtureDef, b2PolygonShape, b2World

        # Kept as long as the bodies, which are of no use without it.
        self._world = b2World(gravity=(0.0, 0.0), doSleep=True)
        # The table needs no shape: bodies that a joint connects do not collide.
        table = self._world.CreateStaticBody(position=(0.0, 0.0))

        def lay(
            shape: Any, material: dict[str, float], held: dict[str, float], **place: Any
        ) -> Any:
            fixture = b2FixtureDef(shape=shape, **material)
            body = self._world.CreateDynamicBody(fixtures=fixture, **place)
            self._world.CreateFrictionJoint(bodyA=table, bodyB=body, **held)
            return body

        # The order in which they are made is that in which the solver takes them.
        square = b2PolygonShape(box=(BOX_HALF_SIZE, BOX_HALF_SIZE))
        self.box = lay(square, _OBJECT, _OBJECT_ON_TABLE, position=BOX_START)
        disc = b2CircleShape(radius=CIRCLE_RADIUS)
        self.circle = lay(disc, _OBJECT, _OBJECT_ON_TABLE, position=CIRCLE_START)
        bar = b2PolygonShape(box=HAND_HALF_SIZES)
        self.hands = [
            (hand, lay(bar, _HAND, _HAND_ON_TABLE, position=(hand.x, hand.y), angle=hand.angle))
            for hand in (first, second)
        ]

    def steps(self) -> Iterator[None]:
        """Push: each turn is a step of the simulation, until a second after the last hand's time."""
        for step in range(max(hand.steps for hand, _ in self.hands) + _STEPS_AFTER):
            for hand, body in self.hands:
                if step < hand.steps:
                    _drive(hand, body)
            self._world.Step(STEP, _ITERATIONS, _ITERATIONS)
            yield

    def places(self) -> list[tuple[float, float, float]]:
        """x, y and angle (not reduced to a full turn) of each of the `BODIES`, as they lie now."""
        bodies = (self.box, self.circle, *(body for _, body in self.hands))
        return [(*body.position, body.angle) for body in bodies]


def _drive(hand: Hand, body: Any) -> None:
    """Torque and force of a controller that is proportional to what lacks in velocity.

    The force is computed by Box2D's vectors, in single precision, as in Wang and Jegelka's code; the
    torque in double precision. The order of the factors is theirs, too.
    """
    from Box2D import b2Vec2

    body.ApplyTorque(body.mass * (hand.torque - body.angularVelocity) * _GAIN, True)
    lacking = b2Vec2(hand.vx, hand.vy) - body.linearVelocity
    body.ApplyForce(body.mass * lacking * _GAIN, body.position, True)


def reward(x: Array) -> float:
    """The reward of the native point ``x``, shape 14, if the hands do exactly what it tells them.
    It is the sum of the objects' distances to their goals at the start minus that at the end, at
    most `BOUND`."""
    scene = Scene(*hands(x))
    for _ in scene.steps():
        pass
    return reward_at(scene.box.position, scene.circle.position)


def reward_at(box: Sequence[float], circle: Sequence[float]) -> float:
    """The reward with the centres of the objects at ``box`` and ``circle`` (x and y of each)."""
    # By norm, and one after the other, as Wang and Jegelka's code: equal to the last bit.
    of_box, of_circle = np.subtract(BOX_GOAL, box), np.subtract(CIRCLE_GOAL, circle)
    return float(BOUND - np.linalg.norm(of_box) - np.linalg.norm(of_circle))


def trajectory(x: Array) -> Array:
    """Where the four `BODIES` are at the start and after each step, at the native point ``x``, shape 14:
    ``(steps + 1) x 4 x 3``, with x, y and angle of each."""
    scene = Scene(*hands(np.asarray(x, dtype=np.float64)))
    return np.array([scene.places(), *(scene.places() for _ in scene.steps())])


class RobotPushing(Problem):
    """The reward of pushing, 14-D; no seed varies the task.

    ``x`` is, for hand 1 and then for hand 2, start x and y (±5), commanded velocity vx and vy (±10), time
    ([2, 30] tenths of a second) and start angle ([0, 2π]); then the two torques (±5): see `Hand`.

    The hands do not move quite as commanded: each component of the two velocities gets noise, drawn once
    per evaluation from the run's noise stream (common to all algorithms). This is no noise that is added
    to f, so that `noise_std` is 0: an observation's y and f are both the reward that was obtained, which
    is what the paper reports. `evaluate_true` is the simulation without noise.

    Args:
        velocity_noise_std: standard deviation of that noise, m/s; 0: none, the simulation is
            deterministic.
    """

    dim = 14
    bounds: Array = np.array(
        [
            [*_LOWER, *_LOWER, -_TORQUE, -_TORQUE],
            [*_UPPER, *_UPPER, _TORQUE, _TORQUE],
        ]
    )
    optimal_value = None  # `BOUND` is one, but nobody knows whether it is attained

    def __init__(self, *, velocity_noise_std: NonNegative = 0.01) -> None:
        self.velocity_noise_std = velocity_noise_std

    def evaluate_true(self, X: Array) -> Array:
        return np.array([reward(x) for x in self._checked(X)])

    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        """Push once, with noisy velocities; y and f are the reward."""
        obtained = reward(self.moved(self._checked(x[None, :])[0], streams, query))
        return Observation(y=obtained, f=obtained)

    def moved(self, x: Array, streams: RunStreams, query: int) -> Array:
        """``x``, shape 14, with the velocities that the ``query``-th query of a run really gets."""
        moved = x.copy()
        if self.velocity_noise_std:
            moved[_VELOCITIES] += self.velocity_noise_std * streams.noise(query).standard_normal(4)
        return moved

    def _checked(self, X: Array) -> Array:
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise RepliboError(f"X: must have the shape n x {self.dim}, got {points.shape}")
        lower, upper = self.bounds
        if wrong := np.argwhere(~((points >= lower) & (points <= upper))).tolist():
            row, column = wrong[0]
            raise RepliboError(
                f"X: parameter {column + 1} must be from {lower[column]:g} to {upper[column]:g}, got "
                f"{points[row, column]}"
            )
        return points
