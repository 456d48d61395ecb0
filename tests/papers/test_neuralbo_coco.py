"""Figure 2 of NeuralBO on traces whose share of reached targets is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from replibo.config.models import COLORS
from replibo.papers.neuralbo import coco as paper
from replibo.papers.neuralbo.coco import TARGETS, coverage, shares_reached
from replibo.problems.coco import member
from replibo.results.comparisons import MissingRunsError

from .conftest import caption_of, drawn, made_paper, outcomes, output, pair, runs_of, tuples

DIMS = {"bbob_2d": 2, "bbob_3d": 3, "bbob_5d": 5}
ALGORITHMS = {"neural_bo": "blue", "gp_ucb": "orange", "random_search": "grey"}
ENTRY = made_paper(
    {
        name: {"type": "coco.Bbob", "label": f"{dim}-D", "parameters": {"dim": dim}}
        for name, dim in DIMS.items()
    },
    ALGORITHMS,
    {"horizon": 40, "seeds": "0-359"},
    "initial",
)
SEEDS = list(range(48))  # two instances of each function
NEURAL_BO, GP, RANDOM = (("bbob_2d", name) for name in ALGORITHMS)


def made_runs(gaps, scale="paper"):
    """Runs from (problem, algorithm) → f_opt - f, ``seeds x evaluations``; or that and its seeds."""
    pairs = []
    for key, runs in gaps.items():
        gap, seeds = runs if isinstance(runs, tuple) else (runs, SEEDS)
        pairs.append(pair(key, -gap, 1, seeds))
    facts = {p: {"optimal_value": 0.0, "horizon": 40, "dim": DIMS[p]} for p, _ in gaps}
    return runs_of(ENTRY, pairs, facts, scale)


def steps(share, n=48, evaluations=40):
    """Gaps of which the ``share`` largest targets are reached from evaluation 10 on, none before."""
    gap = np.full((n, evaluations), 1e5)
    count = np.broadcast_to(np.round(np.asarray(share) * 51).astype(int), n)
    gap[:, 9:] = np.where(count > 0, TARGETS[np.maximum(count, 1) - 1], 1e5)[:, None]
    return gap


# The measure

GAPS = arrays(
    float,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.one_of(st.floats(-9, 4).map(lambda e: 10**e), st.sampled_from([*TARGETS, 0.0])),
)


@given(GAPS)
def test_shares_reached_by_counting(gap):
    np.testing.assert_allclose(np.log10(TARGETS), np.linspace(2, -8, 51), atol=1e-12)
    shares = shares_reached(-gap, 0.0)
    assert shares.shape == gap.shape
    for row, share in zip(gap, shares, strict=True):
        counts = [sum(min(row[: n + 1]) <= target for target in TARGETS) for n in range(len(row))]
        np.testing.assert_allclose(share, np.array(counts) / 51, rtol=1e-15)


def test_the_interval_over_the_instances():
    seeds = np.arange(360)  # 24 functions, whose means are far apart
    functions = np.array([member(seed)[0] for seed in seeds])
    noise = np.random.default_rng(0).normal(2.0, 3.0, size=(360, 2))
    values = noise + 50.0 * functions[:, None]
    interval = paper.interval_of(values, seeds)
    np.testing.assert_allclose(interval.mean, values.mean(axis=0))
    # of a stratified mean: the functions' own means add nothing
    within = np.array([values[functions == f].var(axis=0, ddof=1) / 15 for f in range(1, 25)])
    freedom = within.sum(axis=0) ** 2 / np.sum(within**2 / 14, axis=0)
    error = np.sqrt(within.sum(axis=0)) / 24
    np.testing.assert_allclose(interval.half_width, stats.t.ppf(0.975, freedom) * error)
    np.testing.assert_allclose(interval.p_above, stats.t.sf(interval.mean / error, freedom))
    same = paper.interval_of(np.full(48, 0.25), seeds[:48])
    np.testing.assert_allclose([same.low, same.mean, same.high], 0.25, rtol=1e-12)
    assert (same.p_above, same.p_below) == (0.0, 1.0)
    # a function of one instance: no interval, rather than one of no width
    for n in (1, 5, 24, 47):
        few = paper.interval_of(values[:n, 0], seeds[:n])
        assert few.mean == pytest.approx(values[:n, 0].mean()) and np.isnan(few.low)


def test_coverage():
    assert coverage(range(360)) == "24 of 24 functions, 15 of 15 instances each"
    assert coverage(range(30)) == "24 of 24 functions, 1 to 2 of 15 instances each"
    assert coverage([0, 24, 48]) == "1 of 24 functions (f1), 3 of 15 instances each"


# Figure and table


def test_the_curves_of_the_figure():
    rng = np.random.default_rng(0)
    gaps = {
        (problem, name): 10 ** rng.uniform(-3, 4, size=(48, 20 * dim + 7))
        for problem, dim in DIMS.items()
        for name in ALGORITHMS
    }
    figure = paper.figure_2(made_runs(gaps, "quick"), output())
    assert [ax.get_title() for ax in figure.axes] == ["2-D", "3-D", "5-D"]
    for ax, (problem, dim) in zip(figure.axes, DIMS.items(), strict=True):
        *curves, initial = ax.get_lines()
        for curve, name in zip(curves, ALGORITHMS, strict=True):
            best = np.minimum.accumulate(gaps[problem, name][:, : 20 * dim], axis=1)
            ecdf = [np.mean(best[:, n, None] <= TARGETS) for n in range(20 * dim)]
            np.testing.assert_allclose(curve.get_ydata(), ecdf, rtol=1e-12)
            np.testing.assert_allclose(curve.get_xdata(), np.arange(1, 20 * dim + 1) / dim)
            assert (curve.get_label(), curve.get_color()) == (
                name.upper(),
                COLORS[ALGORITHMS[name]],
            )
        assert len(ax.collections) == 3
        assert initial.get_xdata()[0] == pytest.approx(3 / dim)
    assert "24 of 24 functions, 2 of 15 instances each" in caption_of(figure)
    assert "48 of 360 seeds" in caption_of(figure)


def test_only_the_pairs_that_all_methods_ran_are_compared():
    runs = made_runs(
        {
            NEURAL_BO: steps([0.2] * 5 + [1.0] * 43),
            GP: (steps(0.6, n=5), SEEDS[:5]),
            ("bbob_3d", "gp_ucb"): (steps(0.3, n=1), [7]),
        }
    )
    table = paper.coco_final(runs, output())
    assert [row[2] for row in tuples(table)] == [5, 5, 1]
    assert [row[4] for row in tuples(table)] == pytest.approx([10 / 51, 31 / 51, 15 / 51])
    figure = drawn(paper.figure_2(runs, output()))
    assert [ax.get_title() for ax in figure.axes] == ["2-D", "3-D"]
    assert figure.axes[0].get_lines()[0].get_ydata()[-1] == pytest.approx(10 / 51)
    assert (
        "Run by all methods shown: 2-D 5 of 24 functions (f1, f6, f11, f16, f21), 1 of 15 instances "
        f"each; 3-D 1 of 24 functions (f{member(7)[0]}), 1 of 15"
    ) in caption_of(figure)
    alone = paper.coco_final(runs, output(algorithms=["neural_bo"]))
    assert tuples(alone)[0][2:5] == (48, 40, pytest.approx((5 * 10 + 43 * 51) / 48 / 51))
    apart = made_runs({NEURAL_BO: (steps(0.2, 2), [0, 1]), GP: (steps(0.2, 2), [2, 3])})
    with pytest.raises(MissingRunsError, match=r"bbob_2d: no .function, instance. was run by all"):
        paper.figure_2(apart, output())


def test_the_table():
    groups = np.searchsorted([5, 9, 14, 19], [member(seed)[0] for seed in SEEDS])
    share = np.array([1.0, 0.8, 0.4, 0.2, 0.0])[groups]
    late = steps(1.0, n=3)
    late[:, 9:] = 1e5
    late[:, 39] = 1.0  # the last evaluation counts
    over = np.concatenate([late, np.zeros((3, 5))], axis=1)  # those beyond 20 D do not
    runs = made_runs(
        {
            NEURAL_BO: steps(share),
            ("bbob_5d", "gp_ucb"): (over, [0, 24, 48]),
            GP: over[[0] * 48],
        }
    )
    first, second, third = tuples(paper.coco_final(runs, output()))
    assert first[:4] == ("2-D", "NEURAL_BO", 48, 40)
    reached = np.round(np.array([1.0, 0.8, 0.4, 0.2, 0.0]) * 51) / 51
    np.testing.assert_allclose(first[7:], reached)
    assert first[4] == pytest.approx(reached @ np.bincount(groups) / 48)
    assert first[5] == pytest.approx(first[4]) == first[6]  # nothing varies within a function
    assert second[:5] == ("2-D", "GP_UCB", 48, 40, pytest.approx(11 / 51))
    assert third[:5] == ("5-D", "GP_UCB", 3, 45, 1.0)  # 45 are fewer than 20 D
    assert third[7:] == (1.0, None, None, None, None)  # f1 alone


# The claim


def compare(gaps, baselines=("gp_ucb",), problems=("bbob_2d",)):
    options = {"problems": problems, "algorithm": "neural_bo", "baselines": baselines}
    return paper.highest_ecdf_at_budget(made_runs(gaps), **options)


def test_a_small_difference_shows_though_the_functions_differ_much():
    spread = np.linspace(0.1, 0.9, 48)
    for rival, outcome in (
        (spread - 0.1, "supported"),
        (spread + 0.1, "contradicted"),
        (spread, "open"),
        (spread[::-1], "open"),
    ):
        assert outcomes(compare({NEURAL_BO: steps(spread), GP: steps(rival)})) == [outcome]


def test_the_numbers_of_the_claim():
    comparisons = compare(
        {
            (problem, name): steps(share)
            for problem in ("bbob_2d", "bbob_3d")
            for name, share in (("neural_bo", 30 / 51), ("gp_ucb", 0.0), ("random_search", 1.0))
        },
        baselines=("gp_ucb", "random_search"),
        problems=("bbob_2d", "bbob_3d"),
    )
    assert outcomes(comparisons) == ["supported", "contradicted"] * 2
    assert comparisons[0].ours == (
        "2-D: NEURAL_BO 0.588, GP_UCB 0.000, difference +0.588 [+0.588, +0.588] "
        "(24 of 24 functions, 2 of 15 instances each), p < 0.0001"
    )
    assert comparisons[3].ours == (
        "3-D: NEURAL_BO 0.588, RANDOM_SEARCH 1.000, difference -0.412 [-0.412, -0.412], "
        "p of the opposite claim < 0.0001"
    )


def test_only_common_seeds_are_paired_and_the_coverage_is_said():
    comparisons = compare(
        {
            NEURAL_BO: (steps([0.2, 0.2, 1.0, 1.0], n=4), [0, 24, 1, 25]),
            GP: (steps([0.6, 0.6, 0.0], n=3), [0, 24, 9]),
            RANDOM: (steps([0.6, 0.6], n=2), [1, 25]),
        },
        baselines=("gp_ucb", "random_search"),
    )
    assert outcomes(comparisons) == ["contradicted", "supported"]
    assert "1 of 24 functions (f1), 2 of 15 instances each" in comparisons[0].ours
    assert "1 of 24 functions (f6), 2 of 15" in comparisons[1].ours
    # with one instance of a function nothing tells the spread, however large the difference
    (comparison,) = compare({NEURAL_BO: steps(1.0), GP: (steps(0.0, n=25), list(range(25)))})
    assert comparison.outcome == "open" and "difference +1.000 (24" in comparison.ours
