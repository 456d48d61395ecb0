"""The outputs and measures of LB-GP-UCB, on traces whose regret, length scales and times are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from replibo.config import load
from replibo.errors import RepliboError
from replibo.papers.lb_gp_ucb import claims as measures
from replibo.papers.lb_gp_ucb import figures
from replibo.papers.lb_gp_ucb import tables as printed_tables
from replibo.papers.lb_gp_ucb.traces import (
    TESTS,
    best_regret,
    cumulative_regret,
    final_losses,
)
from replibo.results import effects, plotting, tables
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs

from .conftest import (
    caption_of,
    configured,
    drawn,
    made_paper,
    outcomes,
    output,
    pair,
    rows,
    runs_of,
    tuples,
)

PROBLEMS = {"berkenkamp": 1, "michalewicz5": 5, "crossed_barrel": 4, "agnp": 5}
OPTIMA = {"berkenkamp": 0.75, "michalewicz5": 4.69, "crossed_barrel": 46.7, "agnp": -0.148}
INITIAL, HORIZON = 4, 12

ALGORITHMS = configured(
    "lb_gp_ucb",
    *("mle", "mcmc", "a_gp_ucb", "lb_gp_ucb", "lb_gp_ucb_released", "lnb_gp_ucb", "oracle"),
    *("a_gp_ucb_a025", "a_gp_ucb_a075", "lb_gp_ucb_a025", "lb_gp_ucb_a075"),
    "mle_multi",
)
ALGORITHMS["oracle"]["parameters"] = {"length_scale": dict.fromkeys(PROBLEMS, 0.0354)}
ENTRY = made_paper(
    {p: {"type": "materials.AgNP", "label": p.title()} for p in PROBLEMS},
    ALGORITHMS,
    {"horizon": HORIZON, "initial_points": INITIAL},
)


def made_runs(
    regrets: Mapping[str, Mapping[str, np.ndarray]],
    diagnostics: Callable[[str, int], Mapping[str, float]] | None = None,
    timings: Mapping[str, tuple[float, float]] | None = None,
) -> Runs:
    """Runs with the given regrets, ``seeds x (INITIAL + HORIZON)``, with diagnostics that depend on
    algorithm and seed, and with CPU times (mean, standard deviation) of the runs."""
    pairs, times, problems = [], {}, {}
    for problem, algorithms in regrets.items():
        facts = {"initial_points": INITIAL, "horizon": HORIZON, "dim": PROBLEMS[problem]}
        problems[problem] = {"optimal_value": OPTIMA[problem], **facts}
        for algorithm, regret in algorithms.items():
            seeds, queries = regret.shape
            columns: dict[str, Any] = {}
            if diagnostics is not None:
                by_seed = [diagnostics(algorithm, seed) for seed in range(seeds)]
                for name in by_seed[0]:
                    values = np.array([of_seed[name] for of_seed in by_seed], dtype=float)[:, None]
                    columns[name] = np.where(np.arange(queries) < INITIAL, np.nan, values).ravel()
            key = (problem, algorithm)
            pairs.append(pair(key, OPTIMA[problem] - regret, 1 - INITIAL, **columns))
            if timings and algorithm in timings:
                mean, sd = timings[algorithm]
                times["/".join(key)] = {
                    "runs": seeds,
                    "queries": regret.size,
                    "cpu_seconds": mean * seeds,
                    "cpu_seconds_squared": seeds * mean**2 + (seeds - 1) * sd**2,
                }
    return runs_of(ENTRY, pairs, problems, timings=times)


def falling(final: float, seeds: int = 10, sd: float = 0.05, key: int = 0) -> np.ndarray:
    """A regret that falls over the queries to about ``final`` (times a factor with deviation sd)."""
    rng = np.random.default_rng(key)
    t = np.arange(INITIAL + HORIZON)
    return final * (1 + 3 * np.exp(-t / 3)) * np.exp(sd * rng.standard_normal((seeds, 1)))


def scales(algorithm: str, seed: int) -> dict[str, float]:
    """MLE chooses 0.4, or 0.1 of several starts; the others' length scales vary with the seed."""
    if not algorithm.startswith("mle"):
        return {"length_scale": 1.5 ** (seed % 7) / 300}
    return {
        "length_scale": 0.1 if algorithm == "mle_multi" else 0.4,
        "fit_collapsed": float(seed == 0),
        "fit_converged": 1.0,
        "fit_at_bound": 0.0,
        "length_scale_single_start": 0.1 if seed < 8 else 0.8,
    }


TIMES = {"mle": (10.0, 0.5), "mcmc": (90.0, 5.0), "a_gp_ucb": (9.0, 0.3), "lb_gp_ucb": (9.5, 0.2)}


def runs_on(problem: str, *names: str) -> Runs:
    """Runs of some algorithms, each of which ends with a larger regret than the one before."""
    regrets = {name: falling(0.02 + 0.03 * i, key=i) for i, name in enumerate(names)}
    return made_runs({problem: regrets}, scales, TIMES)


def partial_runs() -> Runs:
    """One problem, one method, a single seed, no diagnostics, no timings."""
    return made_runs({"agnp": {"mle": falling(0.1, seeds=1)}})


# Regret


def test_regrets_by_hand() -> None:
    regret = np.full((2, INITIAL + 3), 5.0)
    regret[0] = [9, 1, 9, 9, 4, 2, 0.5]
    runs = made_runs({"agnp": {"mle": regret}})
    t, cumulative = cumulative_regret(runs, "agnp", "mle")
    np.testing.assert_array_equal(t, [1, 2, 3])  # initial points stand at t <= 0
    np.testing.assert_allclose(cumulative, [[4, 6, 6.5], [5, 10, 15]])
    _, best = best_regret(runs, "agnp", "mle")
    np.testing.assert_allclose(best, [[1, 1, 0.5], [5, 5, 5]])  # the initial 1 counts


def test_pairs_are_of_the_seeds_that_both_have() -> None:
    a, b = falling(0.1, 5, key=1), falling(0.2, 3, key=2)
    same = np.full((6, INITIAL + HORIZON), 1e-16)
    runs = made_runs(
        {"agnp": {"mle": a, "mcmc": b}, "crossed_barrel": {"mle": same, "mcmc": 3 * same}}
    )
    losses, rival = final_losses(runs, "agnp", ("mle", "mcmc"), "best")
    np.testing.assert_allclose(losses - rival, a.min(1)[:3] - b.min(1))
    p, reverse = TESTS["t"](*final_losses(runs, "agnp", ("mle", "mcmc"), "cumulative"))
    expected = stats.ttest_rel(a[:3, INITIAL:].sum(1), b[:, INITIAL:].sum(1), alternative="less")
    assert p == pytest.approx(expected.pvalue) and reverse == pytest.approx(1 - expected.pvalue)
    # equal runs show nothing in spite of round-off
    losses, rival = final_losses(runs, "crossed_barrel", ("mle", "mcmc"), "best")
    assert TESTS["t"](losses, rival) == (1.0, 1.0)


# Figures


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (figures.figure_2, {"problem": "michalewicz5"}),  # which was not run
        (figures.figure_3, {"log_best": True}),
        (figures.figure_4, {"problem": "michalewicz5"}),
    ],
)
def test_a_figure_of_few_runs_is_drawn_without_warnings(
    function: Callable[..., Figure], options: dict[str, Any]
) -> None:
    figure = drawn(function(partial_runs(), output(), **options))
    assert figure.axes[0].get_ylabel() and figure.axes[-1].get_xlabel()


def test_figure_1_has_the_fits_of_scikit_learn_and_finds_the_peak_on_the_left_alone() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    options = load.load().paper("lb_gp_ucb").figures["figure_1"].options
    figure = figures.figure_1(partial_runs(), output(), **options)
    left, right = figure.axes
    assert left.get_title() == r"a length scale that suits, $\theta$ = 0.05"
    x = np.array(options["points"])[:, None]
    y = 0.6 * x[:, 0] + stats.norm.pdf(x[:, 0], 0.2, 0.08) / 8
    unit = (y - y.mean()) / y.std(ddof=1)
    queries = []
    for ax, optimizer in ((left, None), (right, "fmin_l_bfgs_b")):
        kernel = Matern(0.7 if optimizer else 0.05, nu=2.5)
        model = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=optimizer).fit(x, unit)
        lines = {
            str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
            for line in ax.lines
        }
        grid, _ = lines["objective $f$"]
        mean, sd = model.predict(grid[:, None], return_std=True)
        expected = y.mean() + y.std(ddof=1) * mean
        np.testing.assert_allclose(lines["posterior mean"][1], expected, atol=1e-4)
        queries.append(lines["next 20 queries (UCB)"][0])
        assert queries[-1][0] == pytest.approx(grid[np.argmax(mean + sd)], abs=1e-3)
        (at,), (best,) = lines["optimum $x^*$"]
        assert at == pytest.approx(0.2061785, abs=5e-4)
        assert best == pytest.approx(0.7451981532, abs=1e-4)
    # MLE's is far too long: it stays at the local optimum
    assert model.kernel_.length_scale > 0.5 and queries[1].min() > 0.9
    assert right.get_title().endswith(f"= {model.kernel_.length_scale:.3g}")
    assert np.min(np.abs(queries[0] - 0.2061785)) < 5e-3  # less than 0.001 below f*
    assert "0.7452 (left) and 0.6 (right)" in plotting.caption_of(figure)


@pytest.mark.filterwarnings("error")
def test_figure_2_shows_shares_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["mle", "a_gp_ucb"]
    runs = runs_on("michalewicz5", *names)
    figure = drawn(figures.figure_2(runs, output(algorithms=names), problem="michalewicz5"))
    (ax,) = figure.axes
    # outlines (after the areas): ten bins a decade; MLE's are all 0.4
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    for outline in outlines:
        edges = np.unique(outline.get_path().vertices[:, 0])
        np.testing.assert_allclose(edges, np.geomspace(0.001, 10, 41))
    heights = {p.get_label(): p.get_path().vertices[:, 1].max() for p in outlines}
    theta = np.array([scales("a_gp_ucb", seed)["length_scale"] for seed in range(10)])
    assert heights["MLE"] == pytest.approx(1.0)
    shares = np.unique(np.floor(10 * np.log10(theta)), return_counts=True)[1] / theta.size
    assert len(shares) > 1 and heights["A-GP-UCB"] == pytest.approx(shares.max())
    (line,) = ax.lines
    assert line.get_xdata()[0] == 0.0354 and "0.0354" in str(line.get_label())
    assert ax.get_xscale() == "log" and "outermost" not in plotting.caption_of(figure)  # type: ignore[attr-defined]
    monkeypatch.setattr(figures, "LIMITS", (0.001, 0.1))
    narrow = figures.figure_2(runs, output(algorithms=names), problem="michalewicz5")
    assert "bins, being outside of 0.001 to 0.1: MLE 100.0%" in caption_of(narrow)
    (mle,) = (p for p in narrow.axes[0].patches if p.get_label() == "MLE")
    assert mle.get_path().vertices[:, 1].max() == pytest.approx(1.0)


@pytest.mark.filterwarnings("error")
def test_figure_3_shows_the_known_regret() -> None:
    regret = np.full((2, INITIAL + 3), 5.0)
    regret[0] = [9, 1, 9, 9, 4, 2, 0.5]
    runs = made_runs({"agnp": {"mle": regret, "oracle": regret + 1}})
    figure = drawn(figures.figure_3(runs, output(algorithms=["mle"])))
    cumulative, best = figure.axes
    assert cumulative.get_title() == "Agnp"
    (line,) = cumulative.lines  # the oracle is not asked for
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), [4.5, 8, 10.75])
    (line,) = best.lines
    np.testing.assert_allclose(line.get_ydata(), [3, 3, 2.75])
    # standard error of (1, 5): sd 2.83/√2 = 2; of (0.5, 5): 2.25
    band = best.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((0.5, 5.0))
    assert best.get_ylim()[0] < 0  # no curve lies under the axis


@pytest.mark.filterwarnings("error")
def test_figure_4_shows_the_regret_over_a() -> None:
    names = [name for name in ALGORITHMS if name.startswith(("a_gp_ucb", "lb_gp_ucb"))]
    runs = runs_on("michalewicz5", *names)
    figure = drawn(figures.figure_4(runs, output(), problem="michalewicz5"))
    best, cumulative, boxes = figure.axes
    assert [tick.get_text() for tick in best.get_xticklabels()] == ["0.25", "0.5", "0.75"]
    for ax, metric in ((best, best_regret), (cumulative, cumulative_regret)):
        shown = [container.lines[0].get_ydata() for container in ax.containers]
        for method, values in zip(("a_gp_ucb", "lb_gp_ucb"), shown[:2], strict=True):
            variants = (f"{method}_a025", method, f"{method}_a075")
            expected = [metric(runs, "michalewicz5", name)[1][:, -1].mean() for name in variants]
            np.testing.assert_allclose(np.asarray(values, dtype=float), expected)
    assert len(boxes.lines) == 7 + 1  # of LB-GP-UCB as released a = 0.5 only; and the optimum
    assert boxes.get_yscale() == "log"


# Tables


def test_table_1_by_hand() -> None:
    runs = made_runs({p: {"mle": falling(0.1, 1)} for p in ("berkenkamp", "michalewicz5")})
    table = printed_tables.table_1(runs, output())
    agp, agp_released, lb, lb_released = rows(table, problem="Michalewicz5")
    root = 250**0.5  # 15.81, larger than either t0 = e^(1/2) or e
    for printed, released in ((agp, agp_released), (lb, lb_released)):
        assert (printed["t0"], released["t0"]) == (pytest.approx(np.e), pytest.approx(np.e**0.5))
    assert agp["g(T)"] == agp["b(T)"] == pytest.approx(root)
    assert agp["its value"] == agp_released["its value"] == pytest.approx(988_211.8, rel=1e-6)
    assert agp["value of it"] == pytest.approx(250**3)
    assert lb["its value"] == lb_released["its value"] == pytest.approx(2.5 * np.log(250))
    assert lb["value of it"] == pytest.approx(2.5 * np.log(250) * np.log(250) / 2)
    # d = 1: with the printed t0 = e^5 = 148, g stays there until t = 22,000
    agp, agp_released, lb, _ = rows(table, problem="Berkenkamp")
    assert agp["its value"] == pytest.approx(148.413, rel=1e-5)
    assert agp_released["its value"] == pytest.approx(root) and lb["its value"] == pytest.approx(5)


def test_table_2_has_ours_beside_the_papers() -> None:
    table = printed_tables.table_2(runs_on("agnp", *TIMES), output())
    assert len(rows(table)) == 4
    (row,) = rows(table, method="MCMC")
    assert (row["paper, wall s a run"], row["paper, standard error"]) == (246, 3.6)
    assert row["ours, CPU s a run"] == pytest.approx(90)
    assert row["standard error"] == pytest.approx(5 / 10**0.5)
    assert row["ours, CPU ms a query"] == pytest.approx(90e3 / (INITIAL + HORIZON))
    # what was not run is shown with the paper's number
    table = printed_tables.table_2(partial_runs(), output())
    assert [(row[1], row[2], row[4], row[7]) for row in tuples(table)] == [
        ("MLE", 0, None, 53),
        ("MCMC", 0, None, 246),
        ("A-GP-UCB", 0, None, 49),
        ("LB-GP-UCB", 0, None, 49),
    ]


@pytest.mark.parametrize("rounds", [None, 5])
def test_final_regret_and_its_tests(rounds: int | None) -> None:
    """A shorter horizon is the first rounds of a run."""
    names = ["lb_gp_ucb", "mle", "mcmc", "a_gp_ucb"]
    runs, at = runs_on("agnp", *names), (rounds or HORIZON) - 1
    table = printed_tables.final_regret(runs, output(), rounds=rounds)
    values = {
        ALGORITHMS[name]["label"]: best_regret(runs, "agnp", name)[1][:, at] for name in names
    }
    shown = {row["algorithm"]: row for row in rows(table, problem="Agnp")}
    cumulative = cumulative_regret(runs, "agnp", "mle")[1][:, at].mean()
    assert shown["MLE"]["cumulative regret"] == pytest.approx(cumulative)
    for label, regret in values.items():
        assert (shown[label]["seeds"], shown[label]["T"]) == (10, at + 1)
        assert shown[label]["best regret"] == pytest.approx(regret.mean())
        assert shown[label]["standard error (best)"] == pytest.approx(stats.sem(regret))
    lb = values.pop("LB-GP-UCB")
    assert shown["LB-GP-UCB"]["p (best)"] is None
    p = [stats.ttest_rel(lb, rival, alternative="less").pvalue for rival in values.values()]
    for key, expected in (("p", p), ("adjusted p", stats.false_discovery_control(p))):
        assert [shown[label][f"{key} (best)"] for label in values] == pytest.approx(list(expected))


def test_optimum_found_and_no_tests_without_lb_gp_ucb() -> None:
    regret = falling(1.0, 4)
    regret[:3, -1] = [0.0, 0.0001, 0.0004]  # agnp's optimum is -0.148: found below 0.000148
    runs = made_runs({"agnp": {"mle": regret, "mcmc": falling(0.1, 1)}})
    several, single = rows(printed_tables.final_regret(runs, output()))
    assert several["optimum found (share of seeds)"] == 0.5
    assert single["p (cumulative)"] is None and single["standard error (best)"] is None


def test_regret_over_the_oracles() -> None:
    """By hand: regrets of 3 on average and of 2 a round, on the seeds that both have."""
    regret = np.ones((4, INITIAL + HORIZON)) * [[1.0], [2.0], [6.0], [100.0]]
    oracle = np.full((3, INITIAL + HORIZON), 2.0)
    runs = made_runs({"agnp": {"lb_gp_ucb": regret, "oracle": oracle}})
    t, ratio = figures.ratio_to_oracle(runs, "agnp", "lb_gp_ucb")
    np.testing.assert_array_equal(t, np.arange(1, HORIZON + 1))
    np.testing.assert_allclose(ratio.mean, 1.5)
    half = stats.t.ppf(0.975, 2) * stats.sem([0.5, 1.0, 3.0])
    np.testing.assert_allclose(ratio.half_width, half)
    (ax,) = figures.optimality(runs, output(algorithms=["oracle", "lb_gp_ucb"])).axes
    rate = ax.lines[1].get_ydata()
    np.testing.assert_allclose(rate, 5 * np.log(np.maximum(np.e, np.sqrt(t))))  # d = 5, t0 = e
    with pytest.raises(RepliboError, match="oracle must have been run"):
        figures.optimality(partial_runs(), output())


def test_theta0_and_its_correlation() -> None:
    rng = np.random.default_rng(1)
    theta = np.exp(rng.normal(size=10))
    regret = np.ones((10, INITIAL + HORIZON)) * (1 + np.log(theta))[:, None] + 5
    noisy = 1 + rng.uniform(size=regret.shape)
    runs = made_runs(
        {"agnp": {"a_gp_ucb": regret, "lb_gp_ucb": noisy}},
        lambda name, seed: {"theta0": theta[seed], "theta0_collapsed": seed == 0},
    )
    frame = printed_tables.theta0(runs, output()).frame
    regrets = [f"{name}, {m}" for name in ("A-GP-UCB", "LB-GP-UCB") for m in ("cumulative", "best")]
    assert list(frame) == ["problem", "seed", "θ0", *regrets]
    assert frame["seed"].tolist() == list(range(10)) and frame["θ0"].tolist() == theta.tolist()
    np.testing.assert_allclose(frame["A-GP-UCB, best"], 6 + np.log(theta))
    table = printed_tables.theta0_correlation(runs, output())
    (row,) = rows(table, algorithm="A-GP-UCB", metric="best")
    assert row["Spearman"] == pytest.approx(1) and row["Pearson (log θ0)"] == pytest.approx(1)
    assert row["p (Pearson)"] < 1e-6
    assert row["read as white noise (share of seeds)"] == 0.1
    assert row["median θ0"] == pytest.approx(np.median(theta))
    (row,) = rows(table, algorithm="LB-GP-UCB", metric="cumulative")
    expected = stats.spearmanr(theta, noisy[:, INITIAL:].sum(1))
    assert (row["Spearman"], row["p (Spearman)"]) == pytest.approx(tuple(expected))


def test_methods_with_another_theta0_have_a_row_of_their_own() -> None:
    runs = made_runs(
        {"agnp": {"a_gp_ucb": falling(0.1, 2), "lb_gp_ucb": falling(0.2, 2)}},
        lambda name, seed: {"theta0": 0.5 if seed or name == "lb_gp_ucb" else 0.1},
    )
    table = printed_tables.theta0(runs, output())
    shown = [(row[1], row[2], row[3] is None) for row in tuples(table)]
    assert shown == [(0, 0.1, False), (0, 0.5, True), (1, 0.5, False)]


def test_starts_of_the_maximum_likelihood_fit() -> None:
    table = printed_tables.mle_starts(runs_on("agnp", "mle", "mle_multi"), output())
    single, multi = rows(table)
    assert single["algorithm"] == "MLE" and single["rounds"] == 10 * HORIZON
    assert single["read as white noise"] == multi["read as white noise"] == pytest.approx(0.1)
    assert single["not converged"] == single["at the lower bound"] == 0
    assert single["single start ends elsewhere"] is None  # it has no other start
    # MLE, multi-start chose 0.1; the single start of two seeds ended at 0.8
    assert multi["single start ends elsewhere"] == multi["seeds where it does"] == 0.2
    assert "10.0%" in table.md()


# Measures


def judged(
    measure: Callable[..., list[Comparison]],
    regrets: Mapping[str, np.ndarray],
    length_scales: Callable[[str, int], float] | None = None,
    **options: Any,
) -> list[Comparison]:
    """A measure of Berkenkamp's runs, whose length scales depend on algorithm and seed."""
    chosen = length_scales and (lambda name, seed: {"length_scale": length_scales(name, seed)})
    return measure(made_runs({"berkenkamp": regrets}, chosen), problem="berkenkamp", **options)


def stuck(count: int, seeds: int = 20) -> np.ndarray:
    """``count`` seeds end at regret 0.15, the others at 0.01."""
    final = np.where(np.arange(seeds) < count, 0.15, 0.01)
    return final[:, None] + np.zeros((seeds, INITIAL + HORIZON))


@pytest.mark.parametrize(
    ("mle", "lb", "expected"),
    [(5, 1, "open"), (6, 1, "supported"), (2, 12, "contradicted"), (3, 3, "open")],
)
def test_claim_1_counts_the_seeds_that_are_stuck(mle: int, lb: int, expected: str) -> None:
    names = {"stuck": ["mle"], "others": ["lb_gp_ucb"], "threshold": 0.1}
    regrets = {"mle": stuck(mle), "lb_gp_ucb": stuck(lb)}
    (comparison,) = judged(measures.escapes_local_optimum, regrets, **names)
    assert comparison.outcome == expected and f"MLE {mle} of 20" in comparison.ours
    if mle > lb:  # McNemar's exact p, by hand: the discordant seeds all speak for one side
        assert comparison.ours.endswith(f"p {tables.p_value(0.5 ** (mle - lb))}")
    with pytest.raises(MissingRunsError, match="mle was not run on berkenkamp"):
        judged(measures.escapes_local_optimum, {"lb_gp_ucb": stuck(1)}, **names)


@pytest.mark.parametrize(
    ("early", "expected"), [(15, "supported"), (5, "contradicted"), (10, "open")]
)
def test_claim_1_counts_the_seeds_that_find_the_optimum_early(early: int, expected: str) -> None:
    """0.1 % of f* = 0.745 is 7.4e-4; the later seeds find it too, one round too late."""
    regret = np.full((20, INITIAL + HORIZON), 8e-4)
    first = np.where(np.arange(20) < early, 3, 4)
    regret[np.arange(20), INITIAL - 1 + first] = 7e-4  # in round 3 or 4, and not again
    options = {"algorithms": ["lb_gp_ucb"], "within": 0.25}
    (comparison,) = judged(measures.finds_within, {"lb_gp_ucb": regret}, **options)
    assert comparison.outcome == expected
    assert comparison.ours.startswith(f"within 3 rounds: LB-GP-UCB {early} of 20 (95 %: ")
    p = stats.binomtest(early, 20, alternative="less" if early < 10 else "greater").pvalue
    assert comparison.ours.endswith(tables.p_value(p))


@pytest.mark.parametrize(
    ("scale", "count", "expected"),
    [(0.4, 8, "supported"), (0.04, 8, "contradicted"), (0.4, 0, "open"), (0.4, 20, "open")],
)
def test_claim_1_compares_length_scales_where_stuck_and_elsewhere(
    scale: float, count: int, expected: str
) -> None:
    (comparison,) = judged(
        measures.longer_where_stuck,
        {"mle": stuck(count)},
        lambda name, seed: (scale if seed < count else 0.1) * 1.001**seed,
        **{"algorithms": ["mle"], "threshold": 0.1},
    )
    assert comparison.outcome == expected
    assert f"({count} of 20 seeds stuck)" in comparison.ours


def placed(claimed: Mapping[str, Any], growth: float = 1.001, **centre: float) -> list[Comparison]:
    """The claim on length scales about the given ones, a little longer in each seed; θ̂* is 0.0354."""
    regrets = {name: falling(0.1, key=i) for i, name in enumerate(centre)}
    return judged(
        measures.length_scales, regrets, lambda name, seed: centre[name] * growth**seed, **claimed
    )


@pytest.mark.parametrize(
    ("lb", "mle", "expected"),
    [(0.04, 0.4, "supported"), (0.4, 0.04, "contradicted"), (0.1, 0.1, "open")],
)
def test_claim_2_compares_distances_in_log(lb: float, mle: float, expected: str) -> None:
    """The distances are of |log θ/θ̂*|: 0.1 lies as far above 0.0354 as 0.01253 lies below."""
    centre = {"lb_gp_ucb": lb, "mle": mle, "a_gp_ucb": 0.0354**2 / mle}
    closer = {"closer": [("lb_gp_ucb", "mle"), ("lb_gp_ucb", "a_gp_ucb")]}
    comparisons = placed(closer, 1.0 if lb == mle else 1.01, **centre)
    # equal distances on either side are open in spite of round-off in the logarithm
    assert outcomes(comparisons) == [expected] * 2
    if expected == "supported":
        assert "closer in 10 of 10 seeds, p 0.0010" in comparisons[0].ours  # 1/1024
        # with another θ̂* it is the other way round
        other = placed(closer | {"optimal_length_scale": 0.4}, 1.01, **centre)
        assert outcomes(other)[0] == "contradicted"


def test_claim_2_without_length_scales_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    regrets, above = {"mle": falling(0.1)}, {"above": ["mle"]}
    with pytest.raises(MissingRunsError, match="hold no length_scale"):
        judged(measures.length_scales, regrets, **above)
    monkeypatch.delitem(ENTRY.algorithms, "oracle")
    with pytest.raises(MissingRunsError, match="the config has no oracle"):
        judged(measures.length_scales, regrets, **above)


def test_claim_2_on_which_side_of_the_optimal_length_scale() -> None:
    comparisons = placed({"above": ["mle"], "below": ["a_gp_ucb"]}, mle=0.08, a_gp_ucb=0.005)
    assert outcomes(comparisons) == ["supported", "supported"]
    assert "MLE 0.0804, above θ̂* 0.0354 in 10 of 10 seeds, p 0.0010" in comparisons[0].ours
    comparisons = placed({"above": ["a_gp_ucb"], "below": ["mle"]}, mle=0.08, a_gp_ucb=0.005)
    assert outcomes(comparisons) == ["contradicted", "contradicted"]
    # half of the seeds on either side
    assert outcomes(placed({"above": ["mle"]}, mle=0.0354 / 1.001**4.5)) == ["open"]
    (found_below,) = placed({"below": ["mle"], "optimal_length_scale": 0.001}, mle=0.005)
    assert found_below.outcome == "contradicted"
    assert "below θ̂* 0.001 in 0 of 10" in found_below.ours


def test_claim_4_within_a_factor_of_the_optimal_length_scale() -> None:
    centre = {"mle": 0.0354 / 1.9, "a_gp_ucb": 0.0354 * 2.1}
    inside, outside = placed({"around": ["mle", "a_gp_ucb"]}, **centre)
    assert (inside.outcome, outside.outcome) == ("supported", "contradicted")
    assert "within a factor of 2 of θ̂* 0.0354 in 10 of 10 seeds, p 0.0020" in inside.ours  # Holm
    assert inside.effect and inside.effect.unit == effects.BEYOND


def lower(regrets: Mapping[str, np.ndarray], *others: str, **options: Any) -> list[Comparison]:
    """The claim that LB-GP-UCB has the lowest regret; by default the best regret."""
    names = {"algorithm": "lb_gp_ucb", "others": others}
    return judged(measures.lowest_regret, regrets, **{"metric": "best", **names, **options})


@pytest.mark.parametrize("metric", ["best", "cumulative"])
def test_claim_3_in_all_outcomes(metric: str) -> None:
    finals = {"mle": 0.3, "mcmc": 0.1, "a_gp_ucb": 0.201, "lb_gp_ucb": 0.2}
    regrets = {name: falling(final, key=i) for i, (name, final) in enumerate(finals.items())}
    comparisons = lower(regrets, "mle", "mcmc", "a_gp_ucb", metric=metric)
    assert outcomes(comparisons) == ["supported", "contradicted", "open"]
    assert comparisons[0].ours.startswith("LB-GP-UCB ") and "±" in comparisons[2].ours
    (comparison,) = lower({**regrets, "mle": regrets["mle"][:4]}, "mle", metric=metric)
    assert "(of 4 common seeds), p " in comparison.ours
    single = {name: regret[:1] for name, regret in regrets.items()}
    assert outcomes(lower(single, "mle", metric=metric)) == ["open"]


def test_claim_3_by_the_signs_of_the_differences() -> None:
    (comparison,) = lower({"mle": stuck(8), "lb_gp_ucb": stuck(1)}, "mle", test="sign_flip")
    # McNemar's exact p: seven differences of one size, all of one sign
    assert comparison.ours.endswith(f"p {tables.p_value(0.5**7)}")
    assert comparison.unreachable == ()
    (comparison,) = lower({"mle": stuck(3, 4), "lb_gp_ucb": stuck(1, 4)}, "mle", test="sign_flip")
    assert comparison.unreachable == ("supported", "contradicted")


def test_claim_3_a_tie_is_no_win() -> None:
    """Without any regret or with some."""
    none = np.zeros((10, INITIAL + HORIZON))
    comparisons = lower({"lb_gp_ucb": none, "a_gp_ucb": none, "mle": none + 0.1}, "a_gp_ucb", "mle")
    assert (
        outcomes(comparisons) == ["open", "supported"] and "neither has any" in comparisons[0].ours
    )
    comparisons = lower({"lb_gp_ucb": none + 0.1, "a_gp_ucb": none + 0.1}, "a_gp_ucb")
    assert outcomes(comparisons) == ["open"]


def test_claim_3_the_first_rounds_are_the_run_to_them() -> None:
    regrets = {"lb_gp_ucb": falling(0.1, key=1), "mle": falling(0.2, key=2)}
    regrets["mle"][:, -1] = 0.0  # the lower one in the end only
    assert outcomes(lower(regrets, "mle")) == ["contradicted"]
    assert outcomes(lower(regrets, "mle", rounds=HORIZON - 1)) == ["supported"]
    with pytest.raises(MissingRunsError, match="berkenkamp are shorter than 999 rounds"):
        lower(regrets, "mle", rounds=999)


@pytest.mark.parametrize(
    ("count", "final", "expected"),
    [(20, 0.3, "supported"), (12, 0.3, "open"), (20, 0.0, "contradicted")],
)
def test_claim_3_counts_the_seeds_that_stay_stuck(count: int, final: float, expected: str) -> None:
    """``count`` seeds find nothing better after round 5, the others do in round 6."""
    regret = np.full((20, INITIAL + HORIZON), 0.5)
    regret[:, INITIAL + 4 :] = final
    regret[count:, INITIAL + 5 :] = final / 2
    stuck = count if final else 0  # a seed at the optimum is not stuck
    for since, rounds, number in ((0.4, None, stuck), (0.8, 5, 0), (0.25, 4, 20)):
        # what happens after the last round that is read does not count
        options = {"algorithms": ["mle"], "since": since, "rounds": rounds}
        (comparison,) = judged(measures.stays_stuck, {"mle": regret}, **options)
        assert f"MLE {number} of 20 (95 %: " in comparison.ours
        if rounds is None:
            assert comparison.outcome == expected
            assert comparison.ours.startswith("stuck since round 5: ")


FAMILIES = {
    "variants": ["lb_gp_ucb_a025", "lb_gp_ucb", "lb_gp_ucb_a075"],
    "other_variants": ["a_gp_ucb_a025", "a_gp_ucb", "a_gp_ucb_a075"],
}


def ablation(
    lb: list[float], agp: list[float], metric: str = "best", seeds: int = 10, sd: float = 0.05
) -> list[Comparison]:
    """The claim on the final regrets of the two methods at each a."""
    finals = zip([*FAMILIES["variants"], *FAMILIES["other_variants"]], [*lb, *agp], strict=True)
    regrets = {name: falling(final, seeds, sd, key=i) for i, (name, final) in enumerate(finals)}
    comparisons = judged(measures.varies_less, regrets, metric=metric, **FAMILIES)
    assert len(comparisons) == 4  # the spread, and the level at each a
    return comparisons


@pytest.mark.parametrize("metric", ["best", "cumulative"])
def test_claim_4_in_all_outcomes(metric: str) -> None:
    steady, varied = [1.0, 1.05, 1.0], [1.0, 2.0, 3.0]
    supported = ablation(steady, varied, metric)[0]
    assert supported.outcome == "supported"
    # of 1,024 exchanges one; twice that by Holm, as at two a LB-GP-UCB's lower regret is surer
    assert supported.ours.endswith(f", p {tables.p_value(2 * 2**-10)}")
    assert ablation(varied, steady, metric)[0].outcome == "contradicted"
    assert ablation(steady, steady, metric, sd=0.5)[0].outcome == "open"
    assert ablation([1.0] * 3, [1.0] * 3, metric, sd=0.0)[0].outcome == "open"  # no variance at all
    # six seeds have 64 exchanges, four 16
    assert ablation(steady, varied, metric, seeds=6)[0].outcome == "supported"
    few = ablation(steady, varied, metric, seeds=4)[0]
    assert few.outcome == "open" and few.unreachable == ("supported", "contradicted")


def test_claim_4_is_no_success_of_a_method_that_is_bad_at_each_a() -> None:
    comparisons = ablation([4.0, 4.1, 4.0], [1.0, 4.1, 8.0], sd=0.01)
    assert outcomes(comparisons) == ["supported", "contradicted", "open", "supported"]
    assert comparisons[1].ours.startswith("LB-GP-UCB, a = 0.25 4")
    assert "; A-GP-UCB, a = 0.25 1" in comparisons[1].ours
    # the deviation over a is that of the means
    spread = ablation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], sd=0.0)[0].ours
    last = 1 + 3 * np.exp(-(INITIAL + HORIZON - 1) / 3)  # of `falling`
    assert f"regret: 0 (LB-GP-UCB, a = 0.25 {last:.4g}" in spread
    a025 = f"A-GP-UCB, a = 0.25 {last:.4g}"
    assert f"against {last:.4g} ({a025}, A-GP-UCB {2 * last:.4g}" in spread


def test_claim_4_length_scales_that_depend_on_a() -> None:
    """Steady for LB-GP-UCB, by powers of ten for A-GP-UCB: the deviation of ln θ is ln 10."""
    variants, other = FAMILIES.values()
    regrets = {name: falling(0.1) for name in (*variants, *other)}
    for outcome, families in (
        ("supported", (variants, other)),
        ("contradicted", (other, variants)),
    ):
        (comparison,) = judged(
            measures.length_scales_vary_less,
            regrets,
            lambda name, seed: 10.0 ** -(other.index(name) if name in other else 0) * 1.01**seed,
            **dict(zip(FAMILIES, families, strict=True)),
        )
        assert comparison.outcome == outcome
        if outcome == "supported":
            assert "smaller in 10 of 10 seeds, p 0.0010" in comparison.ours
            assert f"against {np.log(10):.2g}" in comparison.ours


def timed(
    times: Mapping[str, tuple[float, float]], *others: str, seeds: int = 10, **options: Any
) -> list[Comparison]:
    """The claim on CPU times; the first method is the one that it is about."""
    runs = made_runs({"agnp": {name: falling(0.1, seeds) for name in TIMES}}, timings=times)
    options = {"problems": ["agnp"], "algorithm": next(iter(times), "mcmc"), **options}
    return measures.time_ratio(runs, others=others, **options)


@pytest.mark.parametrize(
    ("lb", "expected"),
    [((9.0, 0.1), "supported"), ((11.5, 0.1), "contradicted"), ((10.9, 0.3), "open")],
)
def test_claim_5_compares_the_ratio_of_times(lb: tuple[float, float], expected: str) -> None:
    times = {"lb_gp_ucb": lb, "mle": (10.0, 0.1)}
    (comparison,) = timed(times, "mle", factor=1.1, at_most=True)
    assert comparison.outcome == expected
    # delta method by hand
    error, ratio = np.hypot(lb[1] / lb[0], 0.1 / 10) / 10**0.5, lb[0] / 10
    low, high = ratio * np.exp([-1.959964 * error, 1.959964 * error])
    p = stats.norm.cdf(-abs(np.log(ratio / 1.1)) / error)
    assert f"ratio {ratio:.3g} (95 %: {low:.3g} to {high:.3g}), p" in comparison.ours
    assert comparison.ours.endswith(tables.p_value(p))


@pytest.mark.parametrize(
    ("factor", "seeds", "expected"),
    [
        (3, 10, ["supported"] * 2),
        (9, 10, ["open", "supported"]),
        (20, 10, ["contradicted"] * 2),
        (3, 6, ["supported"] * 2),
        (3, 5, ["open"] * 2),
        (3, 1, ["open"] * 2),
    ],
)
def test_claim_5_mcmc_costs_several_times_as_much(
    factor: float, seeds: int, expected: list[str]
) -> None:
    times = {name: TIMES[name] for name in ("mcmc", "mle", "a_gp_ucb")}
    options: dict[str, Any] = {"factor": factor, "at_most": False, "seeds": seeds}
    assert outcomes(timed(times, "mle", "a_gp_ucb", **options)) == expected
    with pytest.raises(MissingRunsError, match="no CPU times of mcmc on agnp"):
        timed({}, "mle", **options)
