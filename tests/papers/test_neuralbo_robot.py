"""Figure 5 of NeuralBO on traces whose medians are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.patches import Circle, Polygon

from replibo.papers.neuralbo import robot as paper
from replibo.problems.robot_pushing import RobotPushing, trajectory

from .conftest import drawn, made_paper, outcomes, output, pair, runs_of, tuples

ALGORITHMS = {"neural_bo": "blue", "gp_ucb": "orange", "random_search": "grey"}
ROBOT = {"type": "robot_pushing.RobotPushing", "label": "Robot"}
SETTINGS = {"horizon": 5985, "initial_points": 2}
ENTRY = made_paper({"robot_pushing": ROBOT}, ALGORITHMS, SETTINGS)
NEURAL_BO, GP, RANDOM = (("robot_pushing", name) for name in ALGORITHMS)

# Hand 1 pushes the box to the right, hand 2 stays away: a push for the strip.
PUSH = np.array([-2, 2, 4, 1.5, 8, 1.93, 5, -5, 0, 0, 2, 0, 0, 0.0])
AWAY = np.array([-5, 5, 0, 0, 2, 0, 5, -5, 0, 0, 2, 0, 0, 0.0])


def made_runs(rewards, *, x=(), seeds=None):
    """Runs from (problem, algorithm) → rewards, ``seeds x queries``, 2 of them initial; and, for the
    algorithms in ``x``, the point of each seed's best query."""
    x, seeds, pairs, facts, timings = dict(x), dict(seeds or {}), [], {}, {}
    for key, f in rewards.items():
        columns = {"y": f.ravel()}
        if x:
            kept = np.empty(f.shape, dtype=object)
            if key in x:
                kept[np.arange(len(f)), f.argmax(axis=1)] = [p.tolist() for p in x[key]]
            columns["x"] = pa.array(kept.ravel().tolist(), type=pa.list_(pa.float64()))
        pairs.append(pair(key, f, -1, seeds.get(key), **columns))
        facts[key[0]] = {"initial_points": 2, "dim": 14, "horizon": f.shape[1] - 2}
        cpu = 0.5 * len(f) * (f.shape[1] - 2)
        timings["/".join(key)] = {"runs": len(f), "queries": f.size, "cpu_seconds": cpu}
    return runs_of(ENTRY, pairs, facts, timings=timings)


def ending(values, queries=8):
    """Rewards whose best is ``values``, one of each seed, found at the fifth query."""
    f = np.full((len(values), queries), -20.0)
    f[:, 4] = values
    return f


# The bootstrap


def exact_interval(statistic, n):
    """The 95 % interval of a statistic of n seeds over all n^n bootstrap samples."""
    values = [statistic(list(sample)) for sample in itertools.product(range(n), repeat=n)]
    return np.quantile(values, [0.025, 0.975])


def ends(*samples):
    interval = paper.median_interval("robot_pushing", *samples)
    return float(interval.low), float(interval.high)


def test_the_bootstrap_of_a_median_against_all_samples():
    values = np.array([0.3, 2.0, 1.0, 5.0, 9.0])
    low, high = ends(values)
    assert [low, high] == exact_interval(lambda s: np.median(values[s]), 5).tolist() == [0.3, 9.0]
    # as the order statistics of a binomial
    many = np.arange(101.0)
    low, high = ends(many)
    assert low == pytest.approx(50 - 1.96 * math.sqrt(101) / 2, abs=1.5)
    assert high == pytest.approx(50 + 1.96 * math.sqrt(101) / 2, abs=1.5)
    assert np.isnan(ends(np.array([1.0]))).all()
    assert ends(np.full(4, 2.5)) == (2.5, 2.5)


def test_the_bootstrap_of_a_difference_is_paired():
    first = np.array([0.0, 3.0, 10.0, 20.0, 21.0])
    second = np.array([0.5, 1.0, 2.0, 19.0, 25.0])
    low, high = ends(first, second)
    exact = exact_interval(lambda s: np.median(first[s]) - np.median(second[s]), 5)
    assert [low, high] == exact.tolist()
    assert ends(second, first) == (-high, -low)
    # a constant difference shows though the seeds differ much
    assert ends(first, first - 0.25) == pytest.approx((0.25, 0.25))


# The table


def test_the_table():
    rewards = {NEURAL_BO: ending([1.0, 2.0, 3.0, 4.0, 9.0]), GP: ending([2.0])}
    table = paper.robot_final(made_runs(rewards), output())
    neural_bo, gp_ucb = tuples(table)
    # the median with its interval, the quartiles, the best of all seeds
    assert neural_bo == ("Robot", "NEURAL_BO", 5, 6, 3.0, 1.0, 9.0, 2.0, 4.0, 9.0, 0.5)
    assert gp_ucb == ("Robot", "GP_UCB", 1, 6, 2.0, None, None, 2.0, 2.0, 2.0, 0.5)
    assert "1 to 5 seeds." in table.caption


# The claim


def compare(rewards, baselines=("gp_ucb",), seeds=None):
    options = {"problems": ["robot_pushing"], "algorithm": "neural_bo", "baselines": baselines}
    return paper.highest_median_reward(made_runs(rewards, seeds=seeds), **options)


def test_the_three_outcomes_and_their_numbers():
    values = np.linspace(0, 9, 10)
    rewards = {NEURAL_BO: ending(values), GP: ending(values - 0.5), RANDOM: ending(values + 0.25)}
    comparisons = compare(rewards, ("gp_ucb", "random_search"))
    assert outcomes(comparisons) == ["supported", "contradicted"]
    assert comparisons[0].ours == (
        "Robot, t = 6: NEURAL_BO 4.50, GP_UCB 4.00, difference +0.50 [+0.50, +0.50] (10 seeds), p 0.0002"
    )
    assert comparisons[1].ours.startswith(
        "Robot: NEURAL_BO 4.50, RANDOM_SEARCH 4.75, difference -0.25"
    )
    for rival in (values[::-1], values):  # no difference at all
        assert outcomes(compare({NEURAL_BO: ending(values), GP: ending(rival)})) == ["open"]


def test_what_comes_after_the_iterations_does_not_count(monkeypatch):
    late = ending([1.0] * 6)
    late[:, 7] = 5.0  # t = 6
    rewards = {NEURAL_BO: late, GP: ending([2.0] * 6)}
    monkeypatch.setattr(paper, "ITERATIONS", 6)
    assert outcomes(compare(rewards)) == ["supported"]
    monkeypatch.setattr(paper, "ITERATIONS", 5)
    (comparison,) = compare(rewards)
    assert comparison.outcome == "contradicted" and comparison.ours.startswith(
        "Robot, t = 5: NEURAL_BO 1.00"
    )


def test_only_common_seeds_are_compared():
    rewards = {
        NEURAL_BO: ending([9.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]),
        GP: ending([2.0, 3.0, 2.0, 3.0, 2.5, 3.0, 0.0]),
    }
    seeds = {NEURAL_BO: [0, 2, 3, 4, 5, 6, 7], GP: [2, 3, 4, 5, 6, 7, 9]}
    (comparison,) = compare(rewards, seeds=seeds)
    assert comparison.outcome == "contradicted"
    assert "NEURAL_BO 1.50, GP_UCB 2.75" in comparison.ours and "(6 seeds)" in comparison.ours
    (comparison,) = compare({NEURAL_BO: ending([1.0] * 6), GP: ending([5.0] * 5)})
    assert (comparison.outcome, comparison.ours) == (
        "open",
        "Robot, t = 6: GP_UCB and NEURAL_BO have 5 common seeds, fewer than the 6 that an interval of "
        "medians needs",
    )


# The strip


def strip():
    rewards = {NEURAL_BO: ending([1.0, 3.5, 2.0]), GP: ending([0.25, 0.0])}
    x = {NEURAL_BO: [AWAY, PUSH, AWAY], GP: [AWAY, PUSH]}
    return paper.robot_strip(made_runs(rewards, x=x), output())


def test_the_strip_shows_the_best_run_of_each_method():
    figure = drawn(strip())
    axes = np.array(figure.axes).reshape(2, 5)
    assert axes[0, 0].get_ylabel() == "NEURAL_BO\nseed 1 got 3.50"
    assert axes[1, 0].get_ylabel() == "GP_UCB\nseed 0 got 0.25"
    titles = [[ax.get_title() for ax in row] for row in axes]
    assert titles[0][0] == "0.00 s, reward 0.00"
    reward = float(RobotPushing().evaluate_true(PUSH[None])[0])
    assert reward > 0.5  # the box does move
    assert titles[0][-1].endswith(f" s, reward {reward:.2f}")
    # nothing moves: to the end of the simulation, 20 and 100 steps
    assert [title[:6] for title in titles[1]] == ["0.00 s", "0.30 s", "0.60 s", "0.90 s", "1.20 s"]
    path = trajectory(PUSH)
    for ax, step in zip(axes[0], paper.snapshot_steps(path), strict=True):
        circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
        assert [c.center for c in circles] == [(-4.0, 3.5), tuple(path[step, 1, :2])]
        box_goal, box, *hands = (p.get_xy()[:4] for p in ax.patches if isinstance(p, Polygon))
        np.testing.assert_allclose(box_goal.mean(axis=0), (4.0, 3.5))
        np.testing.assert_allclose(box.mean(axis=0), path[step, 0, :2])
        assert [len(line.get_xdata()) for line in ax.get_lines()] == [step + 1] * 4
        for hand, body in zip(hands, (2, 3), strict=True):
            np.testing.assert_allclose(hand.mean(axis=0), path[step, body, :2])
            long, short = hand[0] - hand[1], hand[1] - hand[2]
            assert np.hypot(*long) == pytest.approx(2.0) and np.hypot(*short) == pytest.approx(0.6)
            angle = path[step, body, 2]
            direction = [np.cos(angle), np.sin(angle)]
            np.testing.assert_allclose(long / 2, direction, atol=1e-12)


def test_the_strip_marks_where_something_left_the_view(monkeypatch):
    path = trajectory(PUSH)
    steps = paper.snapshot_steps(path)
    reach = np.abs(path[: steps[-1] + 1, 2, :2]).max(axis=1)  # of hand 1
    monkeypatch.setattr(paper, "VIEW", (reach[0] + reach[-1]) / 2)
    marked = []
    for ax, step in zip(strip().axes[:5], steps, strict=True):
        expected = []
        for body in range(4):
            track = path[: step + 1, body, :2]
            inside = [tuple(at) for at in track if max(abs(at)) <= paper.VIEW]
            if inside and max(abs(track[-1])) > paper.VIEW:
                expected.append(inside[-1])
        assert [tuple(mark.get_offsets()[0]) for mark in ax.collections] == expected
        marked.append(len(expected))
    assert marked[0] == 0 and marked[-1] > 0


def test_snapshots_end_where_the_objects_lie_still():
    path = trajectory(PUSH)
    steps = paper.snapshot_steps(path)
    assert steps[0] == 0 and len(steps) == 5 and steps[-1] < len(path) - 1
    np.testing.assert_allclose(path[steps[-1], :2], path[-1, :2], atol=0.01)
    assert np.abs(path[steps[-2], :2] - path[-1, :2]).max() > 0.05
    assert np.abs(np.diff(steps, n=2)).max() <= 1
