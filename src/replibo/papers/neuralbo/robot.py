"""NeuralBO, Figure 5: robot pushing (Phan-Trong, Tran-The and Gupta 2023, section 7.2.3).

What is compared is the reward that a run obtained: f of an observation is the reward with the noise of
the hands' velocities (`replibo.problems.robot_pushing.RobotPushing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.papers.common import (
    cpu_seconds_a_query,
    initial_points_of,
    labelled_rows,
    of_each_baseline,
    shown_by,
    shown_difference,
    tested,
)
from replibo.papers.neuralbo.traces import interval_cells, largest_so_far
from replibo.problems import robot_pushing
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import Comparison, Undecided, decided
from replibo.results.intervals import Interval, bootstrap_median_interval
from replibo.results.runs import Runs, of_common_seeds
from replibo.results.tables import Format, Table
from replibo.streams import generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ITERATIONS = 5000
"""The paper: "NeuralBO achieves the highest reward after 5K optimization steps"."""
LEAST_SEEDS = 6
"""Seeds that an interval of medians needs. A bootstrap over two seeds tells two equal methods apart
in half of the cases, over four in a seventh. From six on it does so in about one of twenty, as it
should."""
RESAMPLES = 10_000
VIEW = 8.5
"""Half the width of the part of the table that the strip shows."""
STILL = 1e-4
"""An object that moves by less than this in a step, in metres, lies still."""


def median_interval(problem: str, *samples: Array) -> Interval:
    """The median of a sample, or the difference of the medians of two, with its 95 % percentile bootstrap
    interval; NaN where n = 1.

    Two samples are resampled in pairs, because runs of a seed share initial points and noise. The
    resamples depend on ``problem`` and n alone, so that methods with the same seeds are resampled
    together.
    """
    rng = generator("neuralbo", problem, "bootstrap of the median", len(samples[0]))
    return bootstrap_median_interval(samples, RESAMPLES, rng)


# Table


def robot_final(runs: Runs, entry: FigureEntry) -> Table:
    """The best reward after T iterations, and what a query costs."""
    rows, problems = [], shown_by(runs, entry)
    for problem, name, row in labelled_rows(runs, entry, problems):
        final = largest_so_far(runs, problem, name)[1][:, -1]
        lower, upper = np.quantile(final, [0.25, 0.75]).tolist()
        rows.append(
            {
                **row,
                "T": runs.horizon(problem),
                **interval_cells(median_interval(problem, final), mean="best reward, median"),
                "lower quartile": lower,
                "upper quartile": upper,
                "best of all seeds": float(final.max()),
                "CPU s a query": cpu_seconds_a_query(runs, problem, name),
            }
        )
    caption = (
        f"{entry.caption} Best reward obtained in T iterations and the "
        f"{initial_points_of(runs, problems)} initial points before them, higher is better; at most "
        f"{robot_pushing.BOUND:.2f}. Intervals: of the median, 95 % percentile bootstrap over the seeds "
        f"({RESAMPLES} resamples; with few seeds they are rough). CPU seconds of one thread, imports not "
        "counted, over the T queries; the simulation is among them. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(list(rows[0])[4:10], ".3f")
    return Table.of(rows, caption, formats | {"CPU s a query": ".3g"})


# The measure of the claim


def highest_median_reward(
    runs: Runs, *, problems: Sequence[str], algorithm: str, baselines: Sequence[str]
) -> list[Comparison]:
    """The median of ``algorithm``'s best reward after `ITERATIONS`, of shorter runs at the last t that
    both have, is above each baseline's.

    The difference of the medians is tested by the bootstrap, over the seeds that both ran. It is open
    with fewer than `LEAST_SEEDS` of these.
    """
    last_t = None

    def compare(problem: str, baseline: str) -> Undecided | Comparison:
        nonlocal last_t
        both = runs.of([(problem, algorithm), (problem, baseline)])
        where, t = runs.problem_label(problem), min(ITERATIONS, both.horizon(problem))
        if t != last_t:
            where, last_t = f"{where}, t = {t}", t
        labels = [runs.label(name) for name in (algorithm, baseline)]
        finals = []
        for name in (algorithm, baseline):
            rounds, values = largest_so_far(both, problem, name)
            last = np.searchsorted(rounds, ITERATIONS, "right") - 1
            finals.append((both.seeds(problem, name), values[:, last]))
        seeds, (rewards, rival) = of_common_seeds(finals)
        if len(seeds) < LEAST_SEEDS:
            return Comparison(
                "open",
                f"{where}: {labels[1]} and {labels[0]} have {len(seeds)} common seeds, fewer than the "
                f"{LEAST_SEEDS} that an interval of medians needs",
            )
        interval = median_interval(problem, rewards, rival)
        text = (
            f"{where}: {labels[0]} {np.median(rewards):.2f}, {labels[1]} {np.median(rival):.2f}, "
            f"{shown_difference(interval, '+.2f')} ({len(seeds)} seeds)"
        )
        return tested(text, interval, "difference of medians")

    return decided(of_each_baseline(runs, problems, algorithm, baselines, compare))


# What the best runs do


SNAPSHOTS = 5
"""Snapshots of each run, evenly spaced in time."""


def robot_strip(runs: Runs, entry: FigureEntry) -> Figure:
    """The best run of each method, as a row of snapshots of the table from above.

    On the first problem that was run; simulated again from the run's best query, without noise.
    """
    problem, names = next(iter(shown_by(runs, entry).items()))
    figure, axes = plotting.panels(len(names), SNAPSHOTS)
    figure.set_size_inches(plotting.WIDTH, 1.75 * len(names))
    for row, name in zip(axes, names, strict=True):
        best = runs.f(problem, name).max(axis=1)
        run = int(np.argmax(best))
        path = robot_pushing.trajectory(runs.best_queries(problem, name)[run, 0])
        for ax, step in zip(row, snapshot_steps(path), strict=True):
            _draw(ax, path[: step + 1])
            box, circle = path[step, :2, :2].tolist()
            gained = robot_pushing.reward_at(box, circle)
            ax.set_title(f"{step * robot_pushing.STEP:.2f} s, reward {gained:.2f}")
        seed = runs.seeds(problem, name)[run]
        row[0].set_ylabel(f"{runs.label(name)}\nseed {seed} got {best[run]:.2f}")
    caption = (
        f"{entry.caption} The best query of the best run of each method, with that run's seed and the "
        "reward it obtained. The table from above, simulated again without the noise of the hands' "
        "velocities, so that the last reward may differ from the one obtained; above each picture: time "
        "since the start, and the reward if all stopped there. Blue: the box; orange: the circle; grey: "
        "hand 1; black: hand 2. Dashed: the goals; lines: the trajectories of the centres. The last "
        "picture is when both objects have come to rest; a triangle at the frame: where a hand has left "
        f"the {2 * VIEW:g} m shown. {runs.note([problem], entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def snapshot_steps(path: Array) -> list[int]:
    """Steps from 0 to the one after which both objects lie still, evenly spaced."""
    moves = np.linalg.norm(np.diff(path[:, :2, :2], axis=0), axis=2).max(axis=1)
    moving = np.flatnonzero(moves > STILL)
    # Where nobody touches an object: the hands' whole trajectory.
    last = int(moving[-1]) + 1 if len(moving) else len(path) - 1
    return [int(step) for step in np.rint(np.linspace(0, last, SNAPSHOTS))]


def _draw(ax: Axes, path: Array) -> None:
    """The four bodies on the table at the last step, with their trajectories up to it and the two goals;
    ``path`` has x, y and angle (radians) of each body, ``steps x 4 x 3``."""
    from matplotlib.patches import Circle, Polygon

    square = np.full(2, robot_pushing.BOX_HALF_SIZE)
    hand = np.array(robot_pushing.HAND_HALF_SIZES)
    radius = robot_pushing.CIRCLE_RADIUS
    colors = (COLORS["blue"], COLORS["orange"], COLORS["grey"], COLORS["black"])
    goal: dict[str, Any] = {"fill": False, "ls": "--", "lw": 0.8}
    box_goal = _corners(*robot_pushing.BOX_GOAL, 0.0, square)
    ax.add_patch(Polygon(box_goal, ec=colors[0], **goal))
    ax.add_patch(Circle(robot_pushing.CIRCLE_GOAL, radius, ec=colors[1], **goal))
    for body, color in enumerate(colors):
        x, y, angle = path[-1, body]
        ax.plot(*path[:, body, :2].T, color=color, lw=0.8)
        look: dict[str, Any] = {"fc": color, "ec": color, "alpha": 0.55, "lw": 0.5}
        if robot_pushing.BODIES[body] == "circle":
            ax.add_patch(Circle((x, y), radius, **look))
        else:
            half = square if robot_pushing.BODIES[body] == "box" else hand
            ax.add_patch(Polygon(_corners(x, y, angle, half), **look))
        _mark_exit(ax, path[:, body, :2], color)
    ax.set(xlim=(-VIEW, VIEW), ylim=(-VIEW, VIEW), aspect="equal", xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set(visible=True, color="0.8")


def _mark_exit(ax: Axes, track: Array, color: str) -> None:
    """Point a triangle where a body, whose centre's track is ``steps x 2``, left the view for good."""
    from matplotlib.markers import MarkerStyle

    visible = np.flatnonzero(np.abs(track).max(axis=1) <= VIEW)
    if len(visible) and (last := int(visible[-1])) + 1 < len(track):
        step = track[last + 1] - track[last]
        pointing = MarkerStyle("^").rotated(rad=math.atan2(step[1], step[0]) - math.pi / 2)
        x, y = track[last]
        ax.scatter(x, y, s=36, color=color, marker=pointing, clip_on=False, zorder=3)


def _corners(x: float, y: float, angle: float, half: Array) -> Array:
    """The corners, ``4 x 2``, of a rectangle with half-sizes ``half`` at (x, y), turned by ``angle``."""
    cos, sin = math.cos(angle), math.sin(angle)
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * half
    return corners @ np.array([[cos, sin], [-sin, cos]]) + (x, y)
