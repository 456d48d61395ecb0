"""GO-UCB's figure, table and measures, from made runs, against computations of their own."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

from replibo.algorithms.go_ucb import FAMILIES
from replibo.config import claims, load
from replibo.errors import RepliboError
from replibo.papers import go_ucb as paper
from replibo.problems.go_ucb import F1, F2, TwoBumps
from replibo.results import tables
from replibo.results.comparisons import MissingRunsError

from .conftest import made_paper, outcomes, output, pair, records, runs_of

ALGORITHMS = {"go_ucb": "blue", "gp_ei": "orange", "gp_ucb": "vermillion"}
INITIAL, HORIZON, SEEDS = 2, 6, 30
PROBLEMS = {name: {"type": "go_ucb.F1", "label": name.upper()} for name in ("f1", "f2")}
SETTINGS = {"horizon": HORIZON, "initial_points": INITIAL, "seeds": "0-29"}
ENTRY = made_paper(PROBLEMS, ALGORITHMS, SETTINGS, "initial")
OPTIMUM = 2.0


def made_runs(f, entry=ENTRY):
    """Runs from (problem, algorithm) → f, ``seeds x queries``, observed without noise."""
    facts = {"optimal_value": OPTIMUM, "initial_points": INITIAL, "dim": 3}
    pairs = [pair(key, values, y=np.ravel(values)) for key, values in f.items()]
    horizons = {problem: values.shape[1] for (problem, _), values in f.items()}
    return runs_of(entry, pairs, {p: facts | {"horizon": T} for p, T in horizons.items()})


def noisy(level, seed=0, spread=0.1, n=SEEDS):
    return OPTIMUM - level - spread * np.random.default_rng(seed).random((n, HORIZON))


F = {
    ("f1", name): noisy(level, seed)
    for seed, (name, level) in enumerate(zip(ALGORITHMS, (0.1, 0.5, 0.2), strict=True))
}


def final(f):
    """The mean regret of the rounds after the initial points."""
    return np.mean(OPTIMUM - f[:, INITIAL:], axis=1)


@pytest.mark.parametrize("kind", ["average", "instantaneous"])
def test_the_figure_has_the_means_and_98_percent_bands_of_phase_two(kind):
    figure = paper.regret_panels(made_runs(F), output(), regret=kind)
    (ax,) = figure.axes
    assert ax.get_title() == "F1"
    for line, band, name in zip(ax.lines, ax.collections, ALGORITHMS, strict=True):
        values = OPTIMUM - F["f1", name][:, INITIAL:]
        if kind == "average":
            values = np.cumsum(values, axis=1) / np.arange(1, 5)
        assert list(line.get_xdata()) == [3, 4, 5, 6]
        np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))
        vertices = band.get_paths()[0].vertices
        at_round = [vertices[vertices[:, 0] == t, 1] for t in line.get_xdata()]
        low, high = ([limit(ends) for ends in at_round] for limit in (np.min, np.max))
        half = 2.3263478740408408 * scipy.stats.sem(values)
        np.testing.assert_allclose(high, values.mean(axis=0) + half)
        np.testing.assert_allclose(low, np.maximum(values.mean(axis=0) - half, 0), atol=1e-12)


def test_the_table_against_scipy():
    table = paper.final_regret(made_runs(F), output())
    own = final(F["f1", "go_ucb"])
    rows = records(table)
    assert [row["algorithm"] for row in rows] == ["GO_UCB", "GP_EI", "GP_UCB"]
    assert rows[0]["p (paired t, one-sided)"] is None
    p_values = []
    for row, name in zip(rows, ALGORITHMS, strict=True):
        values = final(F["f1", name])
        assert row["seeds"] == SEEDS
        assert row["average regret at T"] == pytest.approx(values.mean())
        half = 2.3263478740408408 * scipy.stats.sem(values)
        assert row["98 % interval, high"] == pytest.approx(values.mean() + half)
        if name == "go_ucb":
            continue
        difference = own - values
        p_values.append(scipy.stats.ttest_rel(own, values, alternative="less").pvalue)
        assert row["GO-UCB lower: difference"] == pytest.approx(difference.mean())
        assert row["p (paired t, one-sided)"] == pytest.approx(p_values[-1])
        assert row["effect size d_z"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    # Of two tests the larger p stays, and the smaller is doubled, up to the larger.
    adjusted = [row["p, Benjamini-Hochberg"] for row in rows[1:]]
    assert sorted(adjusted) == pytest.approx([min(2 * min(p_values), max(p_values)), max(p_values)])
    assert "98 \\% interval, low" in table.tex()
    assert "| GP_EI" in table.md()


def test_a_single_seed_is_tested_with_nothing():
    runs = made_runs({key: f[:1] for key, f in F.items()})
    rows = records(paper.final_regret(runs, output()))
    assert all(row["p (paired t, one-sided)"] is None for row in rows)
    with pytest.raises(MissingRunsError, match="single seed"):
        paper.below_each_baseline(runs, problem="f1", algorithm="go_ucb", baselines=["gp_ei"])
    with pytest.raises(MissingRunsError, match="f1 has fewer than two seeds of go_ucb and gp_ei"):
        paper.performs_similarly(
            runs, algorithm="go_ucb", baseline="gp_ei", ranges={"f1": 2.0}, margin=0.05
        )
    with pytest.raises(MissingRunsError, match="go_ucb was not run on f2"):
        paper.below_each_baseline(runs, problem="f2", algorithm="go_ucb", baselines=["gp_ei"])


def test_below_each_baseline():
    runs = made_runs(F | {("f1", "gp_ucb"): noisy(0.1, seed=5)})
    below = functools.partial(paper.below_each_baseline, runs, problem="f1")
    found = below(algorithm="go_ucb", baselines=["gp_ei", "gp_ucb"])
    assert outcomes(found) == ["supported", "open"]
    assert all("±" in comparison.ours for comparison in found)
    assert outcomes(below(algorithm="gp_ei", baselines=["go_ucb"])) == ["contradicted"]
    # a difference that disjoint intervals show in four of five cases
    same = found[1]
    difference = same.effect.detectable(same.level) / same.effect.error
    power = scipy.stats.norm.cdf(difference - 2**0.5 * scipy.stats.norm.ppf(0.99))
    assert power == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    ("ahead", "before", "expected"),
    [(0.5, 0.3, "supported"), (0.3, 0.5, "contradicted"), (0.3, 0.3, "open")],
)
def test_larger_lead(ahead, before, expected):
    """GP-EI ends 0.05 plus the given lead behind GO-UCB, which has another regret on each problem."""
    f = {
        ("f2", "go_ucb"): noisy(0.2, seed=1),
        ("f2", "gp_ei"): noisy(0.25 + ahead, seed=2),
        ("f1", "go_ucb"): noisy(0.0, seed=3),
        ("f1", "gp_ei"): noisy(0.05 + before, seed=4, n=SEEDS - 1),  # of the common seeds
    }
    options = {
        "problem": "f2",
        "other_problem": "f1",
        "algorithm": "go_ucb",
        "baselines": ["gp_ei"],
    }
    (found,) = paper.larger_lead(made_runs(f), **options)
    leads = [
        (final(f[name, "gp_ei"]) - final(f[name, "go_ucb"])[: len(f[name, "gp_ei"])])
        for name in ("f2", "f1")
    ]
    side = "less" if expected == "contradicted" else "greater"
    p = scipy.stats.ttest_ind(*leads, equal_var=False, alternative=side).pvalue
    p *= 2 if expected == "contradicted" else 1  # or there is no lead at all
    assert found.outcome == expected and found.ours.endswith(tables.p_value(p))
    start = f"lead over GP_EI: {leads[0].mean():.4f} on F2, {leads[1].mean():.4f} on F1, p "
    assert found.ours.startswith(start)
    # in units of a range ten times as wide the lead on f2 is the smaller one
    (found,) = paper.larger_lead(made_runs(f), **options, ranges={"f1": 1.0, "f2": 10.0})
    assert found.outcome == "contradicted" and f"{leads[0].mean() / 10:.4f} on F2" in found.ours
    # a smaller arrear is no lead
    f["f2", "go_ucb"], f["f1", "go_ucb"] = noisy(1.2, seed=1), noisy(1.8, seed=3)
    assert outcomes(paper.larger_lead(made_runs(f), **options)) == ["contradicted"]


def test_the_ranges_of_the_config_are_those_of_the_functions():
    options = claims.load(load.load(), "go_ucb")["go_ucb_1_even_better"].readings
    for name, problem in (("f1", F1()), ("f2", F2())):
        f = problem.evaluate_true(np.linspace(*problem.bounds[:, 0], 1001)[:, None])
        expected = pytest.approx(np.ptp(f), abs=1e-6)
        assert options["over_the_range"].options["ranges"][name] == expected


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(0.05, "supported"), (-0.05, "supported"), (0.1, "open"), (0.5, "contradicted")],
)
def test_performs_similarly(distance, expected):
    """Against SciPy's paired tests of both ends of the margin, 5 % of a range of 2."""
    f = {
        ("f1", "go_ucb"): noisy(0.6, seed=1),
        ("f1", "gp_ucb"): noisy(0.6 + distance, seed=2, n=20),
    }
    options = {"algorithm": "go_ucb", "baseline": "gp_ucb", "margin": 0.05}
    (found,) = paper.performs_similarly(made_runs(f), ranges={"f1": 2.0}, **options)
    difference = final(f["f1", "gp_ucb"]) - final(f["f1", "go_ucb"][:20])
    test = functools.partial(scipy.stats.ttest_1samp, difference)
    assert found.outcome == expected
    if expected == "contradicted":
        p = test(0.1, alternative="greater").pvalue
    else:
        p = max(test(0.1, alternative="less").pvalue, test(-0.1, alternative="greater").pvalue)
    assert found.ours.endswith(tables.p_value(p))
    assert f"F1: GP_UCB minus GO_UCB {difference.mean():.4f}, margin 0.1000" in found.ours


def test_shrinking_error_bars():
    """Independent rounds of equal spread: the average over k rounds has 1/√k of it."""
    growing = noisy(0.0)
    growing[:, INITIAL:] = OPTIMUM - np.arange(1, 5) ** 3 * noisy(0.3)[:, INITIAL:]
    constant = np.tile(noisy(0.3)[:, :1], (1, HORIZON))
    vanished = OPTIMUM - np.outer(np.arange(SEEDS) / 32, [0, 0, 1, 3, 3, -7])
    for f, expected in (
        (noisy(0.3, spread=1.0), "supported"),
        (growing, "contradicted"),
        (constant, "open"),
        (vanished, "supported"),  # the average grows up to the last round, which ends it at 0
        (np.full_like(constant, 0.3), "left out"),  # no seed differs: there is no error bar
        (noisy(0.3, n=2), "open"),
        (noisy(0.3, spread=1.0, n=5), "open"),  # of 32 exchanges, at 1 %
    ):
        (found,) = paper.shrinking_error_bars(
            made_runs({("f1", "go_ucb"): f}), problems=["f1"], algorithms=["go_ucb"]
        )
        assert found.outcome == expected
        first = OPTIMUM - f[:, INITIAL]
        assert bool(found.unreachable) == (len(f) == 5)
        bar = 2.3263478740408408 * scipy.stats.sem(first)
        assert found.ours.startswith(f"F1, GO_UCB: {bar:.4f} at t = 3, ")


def test_no_spread_left_is_less_than_some():
    """The ratio of spreads by SciPy's permutation test, and the limit of no spread."""
    from replibo.results.intervals import spread_ratio

    def ratio(a, b, axis):
        return np.log(a.std(axis=axis) / b.std(axis=axis))

    first, last = np.random.default_rng(3).normal(size=(2, 12)) * [[2.0], [1.0]]
    found = spread_ratio(first, last)
    sides = [side - np.median(side) for side in (first, last)]
    expected = scipy.stats.permutation_test(
        sides, ratio, permutation_type="samples", vectorized=True, alternative="greater"
    )
    assert len(expected.null_distribution) == 2**12  # all there are
    assert found.mean == pytest.approx(expected.statistic)
    assert found.p_above == pytest.approx(expected.pvalue)
    half = np.quantile(expected.null_distribution, 0.975)
    assert found.high - found.mean == pytest.approx(half, rel=0.03)
    assert spread_ratio(first, np.ones(12)).p_above < 0.001
    assert spread_ratio(np.ones(12), first).p_below < 0.001
    assert spread_ratio(first, first).p_above == 1
    for samples in ((np.ones(12), np.zeros(12)), (first[:2], last[:2])):
        assert np.isnan(spread_ratio(*samples).p_above)


def test_two_seeds_far_off_in_the_first_round_make_no_smaller_spread():
    from replibo.results.intervals import spread_ratio

    first, last = np.random.default_rng(4).normal(size=(2, 100))
    first[:2] = 30.0
    assert spread_ratio(first, last).p_above > 0.05


def test_the_returned_point_is_that_of_largest_y():
    runs = made_runs({("f1", "go_ucb"): np.array([[1.0, 1.5, 0.5, 1.9, 1.2, 0.3]])})
    y = pa.array([None, 1.7, 0.2, 1.6, None, 0.1], type=pa.float64())
    runs.table = runs.table.set_column(runs.table.column_names.index("y"), "y", y)
    np.testing.assert_allclose(paper.returned_regret(runs, "f1", "go_ucb"), [OPTIMUM - 1.5])
    (row,) = records(paper.returned(runs, output()))
    assert row["regret of x̂"] == pytest.approx(0.5) and row["± (regret of x̂)"] is None


@pytest.mark.parametrize("make", [paper.returned, paper.estimates, paper.final_regret])
def test_a_table_without_runs_is_one_line(make):
    with pytest.raises(RepliboError, match="there are no runs on f2; "):
        make(made_runs(F), output(problems=["f2"]))


def test_a_run_is_stuck_if_its_last_five_queries_all_are():
    f = OPTIMUM - np.array(
        [[0, 0.3, 0.3, 0.3, 0.3, 0.3], [0.3, 0.3, 0.3, 0.3, 0.3, 0.1], [0.3] * 6]
    )
    assert paper.stuck_runs(made_runs({("f1", "go_ucb"): f}), "f1", "go_ucb") == 2


def _estimating_runs(w, problem, algorithm):
    """Runs of the config's own algorithm whose ŵ, ``seeds x rounds x 4``, are those of queries 3 to 6."""
    n, rounds, _ = w.shape
    initial = np.full((n, INITIAL, 4), np.nan)
    columns = np.concatenate([initial, w], axis=1).reshape(-1, 4).T
    parameters = dict(zip(("w1", "b1", "w2", "b2"), columns, strict=True))
    values = np.zeros((n, INITIAL + rounds))
    facts = {"optimal_value": OPTIMUM, "initial_points": INITIAL, "horizon": INITIAL + rounds}
    pairs = [pair((problem, algorithm), values, **parameters)]
    return runs_of(
        load.load().paper("go_ucb"), pairs, {problem: facts | {"dim": 1, "noise_std": 0.05}}
    )


@pytest.mark.parametrize(
    ("problem", "algorithm", "true", "mirrored"),
    [
        ("f1", "go_ucb", (1, 1, 1, 1), (-1, -1, -1, 2)),
        ("two_bumps", "bumps_go_ucb", (0.7, -0.5, 1, 0.45), (1, 0.45, 0.7, -0.5)),
    ],
)
def test_the_estimates_are_measured_to_the_nearer_true_parameters(
    problem, algorithm, true, mirrored
):
    """Both w* are the problem's function; the distance is to the nearer one; at w* any bonus covers."""
    function = F1() if problem == "f1" else TwoBumps()
    x = np.linspace(*function.bounds[:, 0], 7)[:, None]
    model = FAMILIES["network" if problem == "f1" else "two_bumps"]
    for w in (true, mirrored):
        predicted = model.predict(np.array(w, dtype=float)[:, None], x)[:, 0]
        np.testing.assert_allclose(predicted, function.evaluate_true(x), rtol=1e-12)
    far = np.add(mirrored, [0, 0, 0, 3.0])
    w = np.array([[true, true, mirrored, far], [mirrored, far, far, true]], dtype=float)
    distance, covered, by_x = paper.estimate_errors(
        _estimating_runs(w, problem, algorithm), problem, algorithm
    )
    np.testing.assert_allclose(distance[1, [0, 3]], 0, atol=1e-12)
    nearer = min(np.linalg.norm(far - true), np.linalg.norm(far - mirrored))
    np.testing.assert_allclose(distance[0, 3], nearer)
    assert covered[0, :3].all() and by_x[0, :3].all()
    assert not by_x[0, 3]


def test_the_bonus_covers_the_error_up_to_its_size():
    """On f1 with only b2 wrong the error is the same at all x; the bonus is smallest at an end."""
    t = np.arange(3, 7)
    x = np.linspace(-2 * np.pi, 2 * np.pi, 2001)
    s = 1 / (1 + np.exp(-(x + 1)))
    norm = np.sqrt((s * (1 - s) * x) ** 2 + (s * (1 - s)) ** 2 + s**2 + 1).min()
    smallest = 0.05 * norm * np.sqrt(10 / t)
    error = np.array([0.99, 1.01, 0.99, 1.01]) * np.add(smallest, [0, 0, 10 / 5, 10 / 6])
    w = np.stack([np.ones(4), np.ones(4), np.ones(4), 1 + error], axis=1)[None]
    _, covered, by_x = paper.estimate_errors(_estimating_runs(w, "f1", "go_ucb"), "f1", "go_ucb")
    assert by_x[0].tolist() == [True, False, False, False]
    assert covered[0].tolist() == [True, True, True, False]


def test_the_table_of_estimates():
    rng = np.random.default_rng(0)
    w = 1 + 0.1 * rng.standard_normal((9, 4, 4))
    runs = _estimating_runs(w, "f1", "go_ucb")
    (row,) = records(paper.estimates(runs, output(algorithms=["go_ucb"])))
    distance = np.linalg.norm(w - 1, axis=2)
    assert row["median ‖ŵ − w*‖, t = T"] == pytest.approx(np.median(distance[:, -1]))
    assert row["90 % of √t ‖ŵ − w*‖, t = n + 1"] == pytest.approx(
        np.sqrt(3) * np.quantile(distance[:, 0], 0.9)
    )
    covered = paper.estimate_errors(runs, "f1", "go_ucb")[1]
    assert row["covered, %"] == pytest.approx(100 * covered.mean())


def test_the_bonus_is_tested_against_none_at_the_same_learning_rate():
    """By SciPy, on the seeds that both have; nothing against no bonus at another rate, or itself."""
    types = {"plain_1": "go_greedy.GoGreedy", "bonus_1": "go_ucb.GoUcb", "bonus_2": "go_ucb.GoUcb"}
    algorithms = {
        name: {
            "type": kind,
            "label": name,
            "color": color,
            "parameters": {"learning_rate": int(name[-1]) / 10},
        }
        for (name, kind), color in zip(types.items(), ("black", "blue", "orange"), strict=True)
    }
    entry = made_paper(PROBLEMS, algorithms, SETTINGS, "initial")
    f = {("f1", name): noisy(0.2, i, n=SEEDS - i) for i, name in enumerate(algorithms)}
    found = {
        row["algorithm"]: row["p against no bonus (paired)"]
        for row in records(paper.returned(made_runs(f, entry), output()))
    }
    pair = final(f["f1", "bonus_1"]), final(f["f1", "plain_1"])[: SEEDS - 1]
    expected = scipy.stats.ttest_rel(*pair).pvalue
    assert found == {"plain_1": None, "bonus_1": pytest.approx(expected), "bonus_2": None}


def test_the_exponent_of_a_power_of_t():
    """R_T = 3 √T on problems whose T are 4 and 100, times a factor of the seed: the slope is 1/2."""
    factor = np.array([0.5, 1.0, 1.5])[:, None]
    f = {
        (problem, "go_ucb"): OPTIMUM - factor * np.full((3, T), 3 / np.sqrt(T))
        for problem, T in (("f1", 4), ("f2", 100))
    }
    runs = made_runs(f)
    np.testing.assert_allclose(paper.total_regret(runs, "f1", "go_ucb"), 6 * factor[:, 0])
    slope = paper.scaling_slope(runs, ["f1", "f2"], "go_ucb")
    np.testing.assert_allclose([slope.mean, slope.low, slope.high], 0.5, atol=1e-12)
    (ax,) = paper.scaling(runs, output()).axes
    assert "0.50" in ax.get_legend_handles_labels()[1][0]
    # only the seeds that both problems have
    f["f1", "go_ucb"] = f["f1", "go_ucb"][:2]
    fewer = paper.scaling_slope(made_runs(f), ["f1", "f2"], "go_ucb")
    assert (fewer.n, slope.n) == (2, 3) and float(fewer.mean) == pytest.approx(0.5)
    pairs = [pair(key, f[key][:1], seeds=[seed]) for seed, key in enumerate(f)]
    with pytest.raises(MissingRunsError, match="f1, f2: no common seeds of go_ucb"):
        apart = runs_of(ENTRY, pairs, runs.metadata["problems"])
        paper.scaling_slope(apart, ["f1", "f2"], "go_ucb")


@pytest.mark.parametrize(
    ("exponent", "spread", "power", "expected"),
    [
        (0.5, 0.01, 0.5, "supported"),
        (0.6, 0.01, 0.5, "supported"),
        (0.9, 0.01, 0.5, "contradicted"),
        (0.5, 0.8, 0.5, "open"),  # an interval that holds 2/3: not rejecting supports nothing
    ],
)
def test_order_of_regret(exponent, spread, power, expected):
    """R_T = T^exponent, with another exponent in each seed."""
    exponents = exponent + spread * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, None]
    runs = made_runs(
        {
            (problem, "go_ucb"): OPTIMUM - np.full((5, T), T ** (exponents - 1))
            for problem, T in (("f1", 16), ("f2", 64))
        }
    )
    options = {"problems": ["f1", "f2"], "algorithm": "go_ucb", "power": power, "margin": 1 / 6}
    (found,) = paper.order_of_regret(runs, **options)
    assert found.outcome == expected
    slope = paper.scaling_slope(runs, ["f1", "f2"], "go_ucb")
    if spread == 0.01:
        assert slope.mean == pytest.approx(exponent, abs=0.001)
    assert f"T = 16, 64: R_T grows as T to the {float(slope.mean):.2f} [" in found.ours
    assert "(5 seeds)" in found.ours


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    ("lower", "expected"), [(0.1, "supported"), (-0.1, "contradicted"), (0.0, "open")]
)
def test_less_regret(same, lower, expected):
    """Paired on one problem, where the seeds differ much and the methods little; Welch's on two."""
    level = np.linspace(0, 3, SEEDS)[:, None] * same
    ours = noisy(0.2, seed=1) - level
    other = "f1" if same else "f2"
    theirs = (noisy(0.2, seed=2) - level - lower)[: SEEDS - 1]
    runs = made_runs({("f1", "go_ucb"): ours, (other, "gp_ei"): theirs})
    options = {"problems": ["f1"], "other_problems": [other], "algorithm": "go_ucb"}
    (found,) = paper.less_regret(runs, others=["gp_ei"], **options)
    assert found.outcome == expected
    totals = [np.sum(OPTIMUM - f, axis=1) for f in (ours, theirs)]  # Phase I as well
    if same:
        totals[0] = totals[0][: SEEDS - 1]
        test = scipy.stats.ttest_rel
    else:
        test = functools.partial(scipy.stats.ttest_ind, equal_var=False)
    side = "greater" if expected == "contradicted" else "less"
    assert found.ours.endswith(tables.p_value(test(*totals, alternative=side).pvalue))
    shown = f"T = {HORIZON}: GO_UCB {totals[0].mean():.2f}, GP_EI {totals[1].mean():.2f}, p "
    assert found.ours.startswith(shown)
    with pytest.raises(MissingRunsError, match="gp_ucb was not run on"):
        paper.less_regret(runs, others=["gp_ucb"], **options)
