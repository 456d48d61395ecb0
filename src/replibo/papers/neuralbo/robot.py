"""NeuralBO, Figure 5: robot pushing (Phan-Trong, Tran-The and Gupta 2023, section 7.2.3).

What is compared is the reward that a run obtained: f of an observation is the reward with the noise of
the hands' velocities (`replibo.problems.robot_pushing.RobotPushing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import COLORS, FigureEntry
from replibo.errors import RepliboError
from replibo.papers.neuralbo.synthetic import (
    cpu_seconds_a_query,
    label_of,
    largest_so_far,
    legend_columns,
    or_none,
)
from replibo.problems import robot_pushing
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError, Outcome
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table
from replibo.streams import generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ITERATIONS = 5000
"""The paper: "NeuralBO achieves the highest reward after 5K optimization steps"."""
LEAST_SEEDS = 6
"""For an interval of medians: of two methods that do not differ, a bootstrap over two seeds tells them
apart in half of the cases, over three in a quarter, over four in a seventh; from six on in about one of
twenty, as it should."""
CONFIDENCE = 0.95
RESAMPLES = 10_000
VIEW = 6.5
"""Half the width of the part of the table that the strip shows."""
STILL = 1e-4
"""An object that moves by less than this in a step, in metres, lies still."""


# What is read from the traces


def shown(runs: Runs, entry: FigureEntry) -> dict[str, list[str]]:
    """The robot problems that a figure or table shows, with the algorithms that were run on each.

    Raises:
        RepliboError: there are none.
    """
    found = {
        problem: names
        for problem in runs.problems(entry.problems)
        if runs.entry.problems[problem].type == "robot_pushing.RobotPushing"
        and (names := runs.algorithms(problem, entry.algorithms))
    }
    if not found:
        raise RepliboError("there are no runs of robot pushing; allowed: at least one problem's")
    return found


def best_reward(runs: Runs, problem: str, algorithm: str) -> tuple[Array, Array]:
    """Iterations 0 … T and the best reward obtained so far, ``seeds x (T + 1)``.

    Iteration 0 is the best of the initial points, which all methods share.

    Raises:
        MissingRunsError: the algorithm was not run on the problem.
    """
    return largest_so_far(runs, problem, algorithm)


def _resampled_medians(values: Array, problem: str) -> Array:
    """The medians of `RESAMPLES` bootstrap samples of the ``n`` seeds, ``RESAMPLES x k``.

    The resamples depend on ``problem`` and n alone, so that methods with the same seeds are resampled
    together.

    Args:
        values: ``n x k``, one row for each seed.
        problem: its name in the config, which names the random stream.
    """
    n = len(values)
    rng = generator("neuralbo", problem, "bootstrap of the median", n)
    return np.median(values[rng.integers(n, size=(RESAMPLES, n))], axis=1)


def _interval(medians: Array) -> tuple[float, float]:
    low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def median_interval(values: Array, problem: str) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the median of ``values``, shape ``n``: one of each seed;
    (nan, nan) where n = 1."""
    if len(values) == 1:
        return math.nan, math.nan
    return _interval(_resampled_medians(values[:, None], problem)[:, 0])


def median_difference_interval(own: Array, other: Array, problem: str) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of median(own) - median(other).

    Seeds are resampled in pairs, because runs of a seed share initial points and noise.

    Args:
        own, other: ``n`` values each, in the same order of seeds.

    Returns:
        (nan, nan) where n = 1.
    """
    if len(own) == 1:
        return math.nan, math.nan
    medians = _resampled_medians(np.column_stack([own, other]), problem)
    return _interval(medians[:, 0] - medians[:, 1])


# Figure 5


def figure_5(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 5: the median over the seeds of the best reward so far against the iteration."""
    problems = shown(runs, entry)
    figure, axes = plotting.panels(1, len(problems))
    figure.set_size_inches(max(5.4, plotting.PANEL[0] * len(problems)), 4.2)
    for ax, (problem, names) in zip(axes.flat, problems.items(), strict=True):
        for name in names:
            t, values = best_reward(runs, problem, name)
            look = runs.entry.algorithms[name]
            ax.plot(t, np.median(values, axis=0), **plotting.line_style(look))
            if len(values) > 1:
                low, high = np.quantile(values, [0.25, 0.75], axis=0)
                ax.fill_between(t, low, high, color=COLORS[look.color], alpha=0.12, lw=0)
        ax.set_title(runs.entry.problems[problem].label)
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("median of the best reward so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
    single = any(len(runs.seeds(p, name)) == 1 for p, names in problems.items() for name in names)
    caption = (
        f"{entry.caption} Best reward obtained so far, higher is better: median over the seeds, shaded: "
        f"the quartiles{' (none of a single seed)' if single else ''}. t = 0 is the best of the "
        f"{_initial(runs, problems)} initial points, which all methods of a seed share. No reward "
        f"exceeds {robot_pushing.BOUND:.2f}. {runs.note(list(problems), entry.algorithms)}"
    )
    labels = [label_of(runs, n) for n in dict.fromkeys(n for ns in problems.values() for n in ns)]
    width = int(14 * figure.get_size_inches()[0])
    return plotting.finish(figure, caption, columns=legend_columns(labels, width))


def _initial(runs: Runs, problems: Iterable[str]) -> str:
    """The number of initial points, or the numbers."""
    return " or ".join(map(str, sorted({runs.initial_points(problem) for problem in problems})))


def robot_final(runs: Runs, entry: FigureEntry) -> Table:
    """The best reward after T iterations, and what a query costs."""
    columns = (
        "problem",
        "algorithm",
        "seeds",
        "T",
        "best reward, median",
        "95 % interval, low",
        "95 % interval, high",
        "lower quartile",
        "upper quartile",
        "best of all seeds",
        "CPU s a query",
    )
    rows = []
    problems = shown(runs, entry)
    for problem, names in problems.items():
        for name in names:
            final = best_reward(runs, problem, name)[1][:, -1]
            rows.append(
                (
                    runs.entry.problems[problem].label,
                    label_of(runs, name),
                    len(final),
                    runs.horizon(problem),
                    float(np.median(final)),
                    *(or_none(end) for end in median_interval(final, problem)),
                    *(float(q) for q in np.quantile(final, [0.25, 0.75])),
                    float(final.max()),
                    or_none(cpu_seconds_a_query(runs, problem, name)),
                )
            )
    caption = (
        f"{entry.caption} Best reward obtained in T iterations and the {_initial(runs, problems)} "
        "initial points before them, higher is better; at most "
        f"{robot_pushing.BOUND:.2f}. Intervals: of the median, 95 % percentile bootstrap over the seeds "
        f"({RESAMPLES} resamples; with few seeds they are rough). CPU seconds of one thread, imports not "
        "counted, over the T queries; the simulation is among them. "
        f"{runs.note(list(problems), entry.algorithms)}"
    )
    formats: dict[str, Format] = dict.fromkeys(columns[4:10], lambda v: f"{v:.3f}")
    return Table(columns, rows, caption, formats | {columns[10]: lambda v: f"{v:.3g}"})


# The measure of the claim


def highest_median_reward(
    runs: Runs,
    *,
    problems: Sequence[str],
    algorithm: str,
    baselines: Sequence[str],
    iterations: int = ITERATIONS,
) -> list[Comparison]:
    """The median of ``algorithm``'s best reward after ``iterations`` is above each baseline's.

    For each problem and baseline the medians over the seeds that both ran are subtracted; the difference
    gets a 95 % bootstrap interval over these seeds, resampled in pairs. Supported: it lies above 0;
    contradicted: below 0; open: it holds 0, they have fewer than `LEAST_SEEDS` in common, or the baseline
    was not run.

    Args:
        iterations: t at which they are compared; of shorter runs the last t.

    Raises:
        MissingRunsError: ``algorithm`` was not run, or no baseline was.
    """
    comparisons = []
    for problem in problems:
        if not runs.has(problem, algorithm):
            raise MissingRunsError(f"{algorithm} was not run on {problem}")
        if not any(runs.has(problem, baseline) for baseline in baselines):
            raise MissingRunsError(f"no baseline was run on {problem}")
        where = (
            f"{runs.entry.problems[problem].label}, t = {min(iterations, runs.horizon(problem))}"
        )
        for baseline in baselines:
            outcome, text = _compared(runs, problem, algorithm, baseline, iterations)
            comparisons.append(Comparison(outcome, f"{where}: {text}"))
            where = runs.entry.problems[problem].label  # t is said once
    return comparisons


def _compared(
    runs: Runs, problem: str, algorithm: str, baseline: str, iterations: int
) -> tuple[Outcome, str]:
    """The outcome for one baseline, and the numbers behind it."""
    label = label_of(runs, baseline)
    if not runs.has(problem, baseline):
        return "open", f"{label} was not run"
    seeds = np.intersect1d(runs.seeds(problem, algorithm), runs.seeds(problem, baseline))
    if len(seeds) < LEAST_SEEDS:
        return "open", (
            f"{label} and {label_of(runs, algorithm)} have {len(seeds)} common seeds, fewer than the "
            f"{LEAST_SEEDS} that an interval of medians needs"
        )
    own, other = (
        values[
            np.isin(runs.seeds(problem, name), seeds), np.searchsorted(t, iterations, "right") - 1
        ]
        for name in (algorithm, baseline)
        for t, values in [best_reward(runs, problem, name)]
    )
    low, high = median_difference_interval(own, other, problem)
    outcome: Outcome = "supported" if low > 0 else "contradicted" if high < 0 else "open"
    medians = float(np.median(own)), float(np.median(other))
    return outcome, (
        f"{label_of(runs, algorithm)} {medians[0]:.2f}, {label} {medians[1]:.2f}, difference "
        f"{medians[0] - medians[1]:+.2f} [{low:+.2f}, {high:+.2f}] ({len(seeds)} seeds)"
    )


# What the best runs do


def robot_strip(
    runs: Runs, entry: FigureEntry, *, problem: str | None = None, snapshots: int = 5
) -> Figure:
    """How the best run of each method pushes: a row of snapshots of the table from above.

    It is simulated again from the run's best query, without noise.

    Args:
        problem: the problem shown; the first that was run, where it is None.
        snapshots: how many of each run, at least 2, evenly spaced in time.

    Raises:
        RepliboError: there are no runs, or their traces hold no x.
    """
    if snapshots < 2:
        raise RepliboError(f"snapshots: {snapshots} is not allowed; an integer >= 2 is")
    problems = shown(runs, entry)
    if problem is None:
        problem = next(iter(problems))
    if problem not in problems:
        raise RepliboError(f"problem: there are no runs of robot pushing called {problem!r}")
    names = problems[problem]
    figure, axes = plotting.panels(len(names), snapshots)
    figure.set_size_inches(1.75 * snapshots, 2.05 * len(names) + 0.9)
    for row, name in zip(axes, names, strict=True):
        best = runs.f(problem, name).max(axis=1)
        run = int(np.argmax(best))
        path = robot_pushing.trajectory(runs.best_queries(problem, name)[run, 0])
        for ax, step in zip(row, snapshot_steps(path, snapshots), strict=True):
            _draw(ax, path[: step + 1])
            box, circle = path[step, :2, :2].tolist()
            gained = robot_pushing.reward_at(box, circle)
            ax.set_title(f"{step * robot_pushing.STEP:.2f} s: {gained:.2f}", fontsize=7.5)
        seed = runs.seeds(problem, name)[run]
        row[0].set_ylabel(f"{label_of(runs, name)}\nseed {seed}: {best[run]:.2f}", fontsize=7.5)
    caption = (
        f"{entry.caption} The best query of the best run of each method, with that run's seed and the "
        "reward it obtained. The table from above, simulated again without the noise of the hands' "
        "velocities, so that the last reward may differ from the one obtained; above each picture: time "
        "since the start, and the reward if all stopped there. Blue: the box; orange: the circle; grey: "
        "hand 1; black: hand 2. Dashed: the goals; lines: the ways of the centres. The last picture is "
        f"when both objects have come to rest; hands may have left the {2 * VIEW:g} m shown. "
        f"{runs.note([problem], entry.algorithms)}"
    )
    return plotting.finish(figure, caption)


def snapshot_steps(path: Array, snapshots: int) -> list[int]:
    """Steps from 0 to the one after which both objects lie still, evenly spaced.

    Args:
        path: a `replibo.problems.robot_pushing.trajectory`.
    """
    moves = np.linalg.norm(np.diff(path[:, :2, :2], axis=0), axis=2).max(axis=1)
    moving = np.flatnonzero(moves > STILL)
    # objects that nobody touches: all of the hands' way
    last = int(moving[-1]) + 1 if len(moving) else len(path) - 1
    return [int(step) for step in np.rint(np.linspace(0, last, snapshots))]


def _draw(ax: Axes, path: Array) -> None:
    """The table at the last step of ``path``, ``steps x 4 x 3``, with the way there."""
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
    ax.set_xlim(-VIEW, VIEW)
    ax.set_ylim(-VIEW, VIEW)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)
    ax.spines[:].set(visible=True, color="0.8")


def _corners(x: float, y: float, angle: float, half: Array) -> Array:
    """The corners, ``4 x 2``, of a rectangle with half-sizes ``half`` at (x, y), turned by ``angle``."""
    cos, sin = math.cos(angle), math.sin(angle)
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * half
    return corners @ np.array([[cos, sin], [-sin, cos]]) + (x, y)
