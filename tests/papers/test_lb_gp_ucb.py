"""The outputs and measures of LB-GP-UCB, on traces whose regret, length scales and times are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from replibo.config import load
from replibo.config.models import PaperEntry
from replibo.errors import RepliboError
from replibo.papers.lb_gp_ucb import claims as measures
from replibo.papers.lb_gp_ucb import figures
from replibo.papers.lb_gp_ucb import tables as printed_tables
from replibo.papers.lb_gp_ucb.traces import (
    TESTS,
    best_regret,
    cumulative_regret,
    final_losses,
    paired_losses,
)
from replibo.results import effects, plotting, tables
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs
from replibo.results.tables import Table

from .conftest import (
    configured,
    drawn,
    made_paper,
    outcomes,
    output,
    pair,
    records,
    rows,
    runs_of,
    tuples,
)

PROBLEMS = {"berkenkamp": 1, "michalewicz5": 5, "crossed_barrel": 4, "agnp": 5}
OPTIMA = {"berkenkamp": 0.75, "michalewicz5": 4.69, "crossed_barrel": 46.7, "agnp": -0.148}
SCALES = {"mle": 0.4, "mcmc": 0.2, "oracle": 0.0354}
INITIAL, HORIZON = 4, 12

ALGORITHMS = configured(
    "lb_gp_ucb",
    *("mle", "mcmc", "a_gp_ucb", "lb_gp_ucb", "lb_gp_ucb_released", "lnb_gp_ucb", "oracle"),
    *("a_gp_ucb_a025", "a_gp_ucb_a075", "lb_gp_ucb_a025", "lb_gp_ucb_a075"),
    *("lb_gp_ucb_gamma", "a_gp_ucb_released_t0", "mle_multi"),
)
ALGORITHMS["oracle"]["parameters"] = {"length_scale": dict.fromkeys(PROBLEMS, 0.0354)}
ENTRY = made_paper(
    {p: {"type": "materials.AgNP", "label": p.title()} for p in PROBLEMS},
    ALGORITHMS,
    {"horizon": HORIZON, "initial_points": INITIAL, "seeds": "0-9", "seeds_per_job": 1},
)
Regrets = Mapping[str, Mapping[str, np.ndarray]]


def made_runs(
    regrets: Regrets,
    diagnostics: Callable[[str, str, int], Mapping[str, float]] | None = None,
    timings: Mapping[str, tuple[float, float]] | None = None,
    scale: str = "paper",
    entry: PaperEntry = ENTRY,
    **facts: Any,
) -> Runs:
    """Runs with the given regrets, ``seeds x (INITIAL + HORIZON)``, with diagnostics that depend on
    problem, algorithm and seed, and with CPU times (mean, standard deviation) of the runs."""
    pairs, times, problems = [], {}, {}
    for problem, algorithms in regrets.items():
        known = {"initial_points": INITIAL, "horizon": HORIZON, **facts}
        problems[problem] = {"optimal_value": OPTIMA[problem], "dim": PROBLEMS[problem], **known}
        for algorithm, regret in algorithms.items():
            seeds, queries = regret.shape
            columns: dict[str, Any] = {}
            if diagnostics is not None:
                found = [diagnostics(problem, algorithm, seed) for seed in range(seeds)]
                for name in found[0]:
                    values = np.array([of_seed[name] for of_seed in found], dtype=float)[:, None]
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
    return runs_of(entry, pairs, problems, scale, times)


def falling(final: float, seeds: int = 10, sd: float = 0.05, key: int = 0) -> np.ndarray:
    """A regret that falls over the queries to about ``final`` (times a factor with deviation sd)."""
    rng = np.random.default_rng(key)
    t = np.arange(INITIAL + HORIZON)
    return final * (1 + 3 * np.exp(-t / 3)) * np.exp(sd * rng.standard_normal((seeds, 1)))


def scales(problem: str, algorithm: str, seed: int) -> dict[str, float]:
    """θ0 varies with the seed; A-GP-UCB goes below θ̂*, LB-GP-UCB near to it."""
    theta0 = 0.1 * 1.5 ** (seed % 7)
    own = {"a_gp_ucb": theta0 / 30, "lb_gp_ucb": 0.0354 * 1.1 ** (seed % 3)}
    family = algorithm[:9] if algorithm.startswith("lb_gp_ucb") else algorithm[:8]
    found = {"length_scale": own.get(family, SCALES.get(algorithm, 0.1))}
    if family in own or algorithm == "lnb_gp_ucb":
        found |= {"theta0": theta0, "theta0_collapsed": float(seed == 0)}
    if algorithm.startswith("mle"):
        found |= {
            "fit_collapsed": float(seed == 0),
            "fit_converged": 1.0,
            "fit_at_bound": 0.0,
            "length_scale_single_start": 0.4 if seed < 8 else 0.8,
        }
    return found


FINALS = {name: 0.05 + 0.03 * i for i, name in enumerate(ALGORITHMS)} | {"lb_gp_ucb": 0.02}
TIMES = {"mle": (10.0, 0.5), "mcmc": (90.0, 5.0), "a_gp_ucb": (9.0, 0.3), "lb_gp_ucb": (9.5, 0.2)}


def full_runs(seeds: int = 10, **changes: Any) -> Runs:
    """Of all problems and algorithms of the paper."""
    return made_runs(
        {
            problem: {
                name: falling(final, seeds, key=i) for i, (name, final) in enumerate(FINALS.items())
            }
            for problem in PROBLEMS
        },
        scales,
        TIMES,
        **changes,
    )


def partial_runs() -> Runs:
    """One problem, one method, a single seed, no diagnostics, no timings, at smoke scale."""
    return made_runs({"agnp": {"mle": falling(0.1, seeds=1)}}, scale="smoke", stand_in="made up")


def other_problem_runs() -> Runs:
    return made_runs({"berkenkamp": {"oracle": falling(0.1, 2), "lb_gp_ucb": falling(0.2, 2)}})


INPUTS = {"full": full_runs, "partial": partial_runs, "other problem": other_problem_runs}


def column(table: Table, name: str) -> list[Any]:
    return [row[name] for row in records(table)]


# Regret


def test_regrets_by_hand() -> None:
    regret = np.full((2, INITIAL + 3), 5.0)
    regret[0] = [9, 1, 9, 9, 4, 2, 0.5]
    found = made_runs({"agnp": {"mle": regret}})
    t, cumulative = cumulative_regret(found, "agnp", "mle")
    np.testing.assert_array_equal(t, [1, 2, 3])  # initial points stand at t <= 0
    np.testing.assert_allclose(cumulative, [[4, 6, 6.5], [5, 10, 15]])
    _, best = best_regret(found, "agnp", "mle")
    np.testing.assert_allclose(best, [[1, 1, 0.5], [5, 5, 5]])  # the initial 1 counts


def test_pairs_are_of_the_seeds_that_both_have() -> None:
    a, b = falling(0.1, 5, key=1), falling(0.2, 3, key=2)
    found = made_runs({"agnp": {"mle": a, "mcmc": b}})
    own, other = final_losses(found, "agnp", ("mle", "mcmc"), "best")
    np.testing.assert_allclose(own - other, a.min(1)[:3] - b.min(1))
    p, reverse = TESTS["t"](*paired_losses(found, "agnp", "mle", "mcmc", "cumulative"))
    expected = stats.ttest_rel(a[:3, INITIAL:].sum(1), b[:, INITIAL:].sum(1), alternative="less")
    assert p == pytest.approx(expected.pvalue) and reverse == pytest.approx(1 - expected.pvalue)
    with pytest.raises(MissingRunsError, match="oracle was not run on agnp"):
        paired_losses(found, "agnp", "mle", "oracle", "best")


def test_equal_runs_show_nothing_in_spite_of_round_off() -> None:
    same = np.full((6, INITIAL + HORIZON), 1e-16)
    found = made_runs({"crossed_barrel": {"mle": same, "mcmc": 3 * same}})
    assert TESTS["t"](*paired_losses(found, "crossed_barrel", "mle", "mcmc", "best")) == (1.0, 1.0)


# Figures

FIGURES: dict[str, tuple[Callable[..., Figure], dict[str, Any]]] = {
    "figure_2": (figures.figure_2, {"problem": "michalewicz5"}),
    "figure_3": (figures.figure_3, {}),
    "figure_3_log": (figures.figure_3, {"log_best": True}),
    "figure_4": (figures.figure_4, {"problem": "michalewicz5"}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("runs_of", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_without_warnings(name: str, runs_of: Callable[[], Runs]) -> None:
    function, options = FIGURES[name]
    figure = drawn(function(runs_of(), output(), **options))
    assert len(figure.legends) <= 1
    # said once for a row or a column where its panels share them
    assert figure.axes[0].get_ylabel() and figure.axes[-1].get_xlabel()
    assert plotting.caption_of(figure).startswith("Made up.")


def test_figure_1_has_the_fits_of_scikit_learn() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    points = [0.0, 0.4, 0.6, 0.8, 1.0]
    figure = figures.figure_1(full_runs(1), output(), points=points, optimal_length_scale=0.1)
    left, right = figure.axes
    assert left.get_title() == r"a length scale that suits, $\theta$ = 0.1"
    x = np.array(points)[:, None]
    y = 0.6 * x[:, 0] + stats.norm.pdf(x[:, 0], 0.2, 0.08) / 8
    unit = (y - y.mean()) / y.std(ddof=1)
    fits = []
    for ax, optimizer in ((left, None), (right, "fmin_l_bfgs_b")):
        kernel = Matern(0.1 if optimizer is None else 0.7, nu=2.5)
        model = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=optimizer).fit(x, unit)
        lines = {str(line.get_label()): line for line in ax.lines}
        grid = np.asarray(lines["objective $f$"].get_xdata())
        mean, sd = model.predict(grid[:, None], return_std=True)
        shown = np.asarray(lines["posterior mean"].get_ydata())
        np.testing.assert_allclose(shown, y.mean() + y.std(ddof=1) * mean, atol=1e-4)
        asked = np.asarray(lines["next 20 queries (UCB)"].get_xdata())[0]
        fits.append((float(asked), float(grid[np.argmax(mean + sd)])))
        optimum = lines["optimum $x^*$"]
        assert np.asarray(optimum.get_xdata())[0] == pytest.approx(0.2061785, abs=5e-4)
        assert np.asarray(optimum.get_ydata())[0] == pytest.approx(0.7451981532, abs=1e-4)
        if optimizer:  # far too long, and so MLE asks for the local optimum
            length_scale = model.kernel_.length_scale
            assert length_scale > 0.5 and asked == 1.0
            assert ax.get_title().endswith(f"= {length_scale:.3g}")
    for asked, expected in fits:
        assert asked == pytest.approx(expected, abs=1e-3)


def test_figure_1_finds_the_peak_on_the_left_alone() -> None:
    options = load.load().paper("lb_gp_ucb").figures["figure_1"].options
    figure = figures.figure_1(full_runs(1), output(), **options)
    asked = []
    for ax in figure.axes:
        lines = {str(line.get_label()): line for line in ax.lines}
        asked.append(np.asarray(lines["next 20 queries (UCB)"].get_xdata()))
    assert np.min(np.abs(asked[0] - 0.2061785)) < 5e-3  # less than 0.001 below f*
    assert asked[1].min() > 0.9  # MLE stays at the local optimum
    caption = plotting.caption_of(figure)
    assert "0.7452 (left) and 0.6 (right)" in caption and "x = 0, 0.4, 0.6, 0.8, 1" in caption


def test_figure_2_shows_shares_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["mle", "a_gp_ucb"]
    found = full_runs()
    figure = figures.figure_2(found, output(algorithms=wanted), problem="michalewicz5")
    (ax,) = figure.axes
    # outlines (after the areas): ten bins a decade; MLE's are all 0.4
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    for outline in outlines:
        edges = np.unique(outline.get_path().vertices[:, 0])
        np.testing.assert_allclose(edges, np.geomspace(0.001, 10, 41))
    heights = {p.get_label(): p.get_path().vertices[:, 1].max() for p in outlines}
    theta = np.array([scales("", "a_gp_ucb", seed)["length_scale"] for seed in range(10)])
    assert heights["MLE"] == pytest.approx(1.0)
    shares = np.unique(np.floor(10 * np.log10(theta)), return_counts=True)[1] / theta.size
    assert len(shares) > 1 and heights["A-GP-UCB"] == pytest.approx(shares.max())
    (line,) = ax.lines
    assert line.get_xdata()[0] == 0.0354 and "0.0354" in str(line.get_label())
    assert ax.get_xscale() == "log" and "outermost" not in plotting.caption_of(figure)  # type: ignore[attr-defined]
    monkeypatch.setattr(figures, "LIMITS", (0.001, 0.1))
    narrow = figures.figure_2(found, output(algorithms=wanted), problem="michalewicz5")
    assert "outermost bins, being outside of 0.001 to 0.1: MLE 100.0%" in " ".join(
        plotting.caption_of(narrow).split()
    )


def test_figure_3_shows_the_known_regret() -> None:
    regret = np.full((2, INITIAL + 3), 5.0)
    regret[0] = [9, 1, 9, 9, 4, 2, 0.5]
    found = made_runs({"agnp": {"mle": regret, "oracle": regret + 1}})
    figure = drawn(figures.figure_3(found, output(algorithms=["mle"])))
    cumulative, best = figure.axes
    assert cumulative.get_title() == "Agnp"
    (line,) = cumulative.lines  # the oracle is not asked for
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), [4.5, 8, 10.75])
    (line,) = best.lines
    np.testing.assert_allclose(line.get_ydata(), [3, 3, 2.75])
    low, high = best.collections[0].get_paths()[0].vertices[:, 1].min(), 2.75 + 2.25
    # standard error of (1, 5): sd 2.83/√2 = 2
    assert low == pytest.approx(0.5) and high == pytest.approx(
        best.collections[0].get_paths()[0].vertices[:, 1].max()
    )
    assert best.get_ylim()[0] < 0  # no curve lies under the axis
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["MLE"]


def test_figure_4_shows_the_regret_over_a() -> None:
    found = full_runs()
    figure = figures.figure_4(found, output(), problem="michalewicz5")
    best, cumulative, boxes = figure.axes
    assert [tick.get_text() for tick in best.get_xticklabels()] == ["0.25", "0.5", "0.75"]
    for ax, metric in ((best, best_regret), (cumulative, cumulative_regret)):
        shown = [container.lines[0].get_ydata() for container in ax.containers]
        for method, values in zip(("a_gp_ucb", "lb_gp_ucb"), shown[:2], strict=True):
            names = (f"{method}_a025", method, f"{method}_a075")
            expected = [metric(found, "michalewicz5", name)[1][:, -1].mean() for name in names]
            np.testing.assert_allclose(np.asarray(values, dtype=float), expected)
    assert len(boxes.lines) == 7 + 1  # of LB-GP-UCB as released a = 0.5 only; and the optimum
    assert boxes.get_yscale() == "log"


# Tables


def test_table_1_by_hand() -> None:
    table = printed_tables.table_1(full_runs(1), output())
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
    table = printed_tables.table_2(full_runs(), output())
    (row,) = rows(table, problem="Crossed_Barrel", method="MCMC")
    assert (row["paper, wall s a run"], row["paper, standard error"]) == (471, 25)
    assert row["ours, CPU s a run"] == pytest.approx(90)
    assert row["standard error"] == pytest.approx(5 / 10**0.5)
    assert row["ours, CPU ms a query"] == pytest.approx(90e3 / (INITIAL + HORIZON))
    assert len(rows(table, problem="Agnp")) == 4
    # what was not run stands there with the paper's number
    table = printed_tables.table_2(partial_runs(), output())
    assert [(row[1], row[2], row[4], row[7]) for row in tuples(table)] == [
        ("MLE", 0, None, 53),
        ("MCMC", 0, None, 246),
        ("A-GP-UCB", 0, None, 49),
        ("LB-GP-UCB", 0, None, 49),
    ]


def test_final_regret_and_its_tests() -> None:
    found = full_runs()
    wanted = ["mle", "mcmc", "a_gp_ucb", "lb_gp_ucb"]
    table = printed_tables.final_regret(found, output(algorithms=wanted))
    (own,) = rows(table, problem="Agnp", algorithm="LB-GP-UCB")
    assert own["p (best)"] is None and own["seeds"] == 10 and own["T"] == HORIZON
    lb = best_regret(found, "agnp", "lb_gp_ucb")[1][:, -1]
    assert own["best regret"] == pytest.approx(lb.mean())
    assert own["standard error (best)"] == pytest.approx(stats.sem(lb))
    expected = {}
    for name in wanted[:3]:
        other = best_regret(found, "agnp", name)[1][:, -1]
        expected[ALGORITHMS[name]["label"]] = stats.ttest_rel(lb, other, alternative="less").pvalue
    adjusted = stats.false_discovery_control(list(expected.values()))
    for (label, p), q in zip(expected.items(), adjusted, strict=True):
        (row,) = rows(table, problem="Agnp", algorithm=label)
        assert row["p (best)"] == pytest.approx(p)
        assert row["adjusted p (best)"] == pytest.approx(q)
    # without LB-GP-UCB there are no tests, and the rest stands
    table = printed_tables.final_regret(partial_runs(), output())
    (row,) = rows(table)
    assert row["p (cumulative)"] is None and row["standard error (best)"] is None


def test_a_shorter_horizon_is_the_first_rounds_of_a_run() -> None:
    found = full_runs()
    table = printed_tables.final_regret(found, output(), rounds=5)
    (own,) = rows(table, problem="Agnp", algorithm="MLE")
    assert own["T"] == 5
    for metric, function in (("best", best_regret), ("cumulative", cumulative_regret)):
        expected = function(found, "agnp", "mle")[1][:, 4].mean()
        assert own[f"{metric} regret"] == pytest.approx(expected)


def test_regret_over_the_oracles() -> None:
    """By hand: constant regrets 3 and 2 a round, on the seeds that both have."""
    regret = np.full((4, INITIAL + HORIZON), 3.0)
    regret[3] = 100.0  # a seed that the oracle has not
    oracle = np.full((3, INITIAL + HORIZON), 2.0)
    found = made_runs({"agnp": {"lb_gp_ucb": regret, "oracle": oracle}})
    t, ratio = figures.ratio_to_oracle(found, "agnp", "lb_gp_ucb")
    np.testing.assert_array_equal(t, np.arange(1, HORIZON + 1))
    for end in (ratio.mean, ratio.low, ratio.high):
        np.testing.assert_allclose(end, 1.5)
    figure = figures.optimality(found, output(algorithms=["oracle", "lb_gp_ucb"]))
    (ax,) = figure.axes
    rate = ax.lines[1].get_ydata()
    np.testing.assert_allclose(rate, 5 * np.log(np.maximum(np.e, np.sqrt(t))))  # d = 5, t0 = e
    with pytest.raises(RepliboError, match="oracle must have been run"):
        figures.optimality(made_runs({"agnp": {"mle": regret}}), output())


def test_optimum_found() -> None:
    regret = falling(1.0, 4)
    regret[:3, -1] = [0.0, 0.0001, 0.0004]  # agnp's optimum is -0.148: found below 0.000148
    table = printed_tables.final_regret(made_runs({"agnp": {"mle": regret}}), output())
    assert column(table, "optimum found (share of seeds)") == [0.5]


def test_theta0_and_its_correlation() -> None:
    rng = np.random.default_rng(1)
    theta = np.exp(rng.normal(size=10))
    regret = np.ones((10, INITIAL + HORIZON)) * (1 + np.log(theta))[:, None] + 5
    noisy = 1 + rng.uniform(size=regret.shape)
    found = made_runs(
        {"agnp": {"a_gp_ucb": regret, "lb_gp_ucb": noisy, "mle": noisy}},
        lambda problem, name, seed: (
            {"length_scale": 0.1}
            if name == "mle"
            else {"theta0": theta[seed], "theta0_collapsed": seed == 0, "length_scale": 0.1}
        ),
    )
    table = printed_tables.theta0(found, output())
    assert tuple(table.frame.columns[3:]) == (
        "A-GP-UCB, cumulative",
        "A-GP-UCB, best",
        "LB-GP-UCB, cumulative",
        "LB-GP-UCB, best",
    )
    assert column(table, "seed") == list(range(10)) and column(table, "θ0") == theta.tolist()
    np.testing.assert_allclose(column(table, "A-GP-UCB, best"), 6 + np.log(theta))
    table = printed_tables.theta0_correlation(found, output())
    (row,) = rows(table, algorithm="A-GP-UCB", metric="best")
    assert row["Spearman"] == pytest.approx(1) and row["Pearson (log θ0)"] == pytest.approx(1)
    assert row["p (Pearson)"] < 1e-6
    assert row["read as white noise (share of seeds)"] == 0.1
    assert row["median θ0"] == pytest.approx(np.median(theta))
    (row,) = rows(table, algorithm="LB-GP-UCB", metric="cumulative")
    expected = stats.spearmanr(theta, noisy[:, INITIAL:].sum(1))
    assert row["Spearman"] == pytest.approx(expected.statistic)
    assert row["p (Spearman)"] == pytest.approx(expected.pvalue)


def test_methods_with_another_theta0_have_a_row_of_their_own() -> None:
    found = made_runs(
        {"agnp": {"a_gp_ucb": falling(0.1, 2), "lb_gp_ucb": falling(0.2, 2)}},
        lambda problem, name, seed: {"theta0": 0.5 if seed or name == "lb_gp_ucb" else 0.1},
    )
    table = printed_tables.theta0(found, output())
    assert [(row[1], row[2], row[3] is None) for row in tuples(table)] == [
        (0, 0.1, False),
        (0, 0.5, True),
        (1, 0.5, False),
    ]


def test_starts_of_the_maximum_likelihood_fit() -> None:
    table = printed_tables.mle_starts(full_runs(), output(problems=["agnp"]))
    single, multi = rows(table)
    assert single["algorithm"] == "MLE" and single["rounds"] == 10 * HORIZON
    assert single["read as white noise"] == multi["read as white noise"] == pytest.approx(0.1)
    assert single["not converged"] == single["at the lower bound"] == 0
    assert single["single start ends elsewhere"] is None  # it has no other start
    # MLE, multi-start chose 0.1; its single start ended at 0.4 or 0.8
    assert multi["single start ends elsewhere"] == multi["seeds where it does"] == 1
    assert "Agnp" in table.md() and "10.0%" in table.md()
    with pytest.raises(RepliboError, match="no run holds fit_collapsed"):
        printed_tables.mle_starts(partial_runs(), output())


# Measures


def stuck(count: int, seeds: int = 20) -> np.ndarray:
    """``count`` seeds end at regret 0.15, the others at 0.01."""
    final = np.where(np.arange(seeds) < count, 0.15, 0.01)
    return final[:, None] + np.zeros((seeds, INITIAL + HORIZON))


@pytest.mark.parametrize(
    ("mle", "lb", "expected"),
    [
        (12, 2, "supported"),
        (5, 1, "open"),
        (6, 1, "supported"),
        (2, 12, "contradicted"),
        (3, 3, "open"),
    ],
)
def test_claim_1_counts_the_seeds_that_are_stuck(mle: int, lb: int, expected: str) -> None:
    found = made_runs({"berkenkamp": {"mle": stuck(mle), "lb_gp_ucb": stuck(lb)}})
    (comparison,) = measures.escapes_local_optimum(
        found, problem="berkenkamp", stuck=["mle"], others=["lb_gp_ucb"], threshold=0.1
    )
    # McNemar's exact p, by hand: the discordant seeds all speak for one side
    p = 0.5 ** abs(mle - lb)
    assert comparison.outcome == expected
    if mle > lb:
        assert comparison.ours.endswith(f"p {tables.p_value(p)}")
    assert f"MLE {mle} of 20" in comparison.ours
    with pytest.raises(MissingRunsError, match="mcmc was not run on berkenkamp"):
        measures.escapes_local_optimum(
            found, problem="berkenkamp", stuck=["mcmc"], others=["lb_gp_ucb"], threshold=0.1
        )


@pytest.mark.parametrize(
    ("early", "expected"), [(20, "supported"), (15, "supported"), (5, "contradicted"), (10, "open")]
)
def test_claim_1_counts_the_seeds_that_find_the_optimum_early(early: int, expected: str) -> None:
    """0.1 % of f* = 0.745 is 7.4e-4; the later seeds find it too, one round too late."""
    regret = np.full((20, INITIAL + HORIZON), 8e-4)
    first = np.where(np.arange(20) < early, 3, 4)
    regret[np.arange(20), INITIAL - 1 + first] = 7e-4  # in round 3 or 4, and not again
    found = made_runs({"berkenkamp": {"lb_gp_ucb": regret}})
    (comparison,) = measures.finds_within(
        found, problem="berkenkamp", algorithms=["lb_gp_ucb"], within=0.25
    )
    assert comparison.outcome == expected
    assert comparison.ours.startswith(f"within 3 rounds: LB-GP-UCB {early} of 20 (95 %: ")
    p = stats.binomtest(early, 20, alternative="less" if early < 10 else "greater").pvalue
    assert comparison.ours.endswith(tables.p_value(p))
    with pytest.raises(MissingRunsError, match="mle was not run on berkenkamp"):
        measures.finds_within(found, problem="berkenkamp", algorithms=["mle"], within=0.25)


@pytest.mark.parametrize(
    ("scale", "count", "expected"),
    [(0.4, 8, "supported"), (0.04, 8, "contradicted"), (0.4, 0, "open"), (0.4, 20, "open")],
)
def test_claim_1_compares_length_scales_where_stuck_and_elsewhere(
    scale: float, count: int, expected: str
) -> None:
    def chosen(problem: str, name: str, seed: int) -> dict[str, float]:
        return {"length_scale": (scale if seed < count else 0.1) * 1.001**seed}

    found = made_runs({"berkenkamp": {"mle": stuck(count)}}, chosen)
    (comparison,) = measures.longer_where_stuck(
        found, problem="berkenkamp", algorithms=["mle"], threshold=0.1
    )
    assert comparison.outcome == expected
    assert f"({count} of 20 seeds stuck)" in comparison.ours


@pytest.mark.parametrize(
    ("lb", "mle", "expected"),
    [(0.04, 0.4, "supported"), (0.4, 0.04, "contradicted"), (0.1, 0.1, "open")],
)
def test_claim_2_compares_distances_in_log(lb: float, mle: float, expected: str) -> None:
    """The distances are of |log θ/θ̂*|: 0.1 lies as far above 0.0354 as 0.01253 lies below."""
    centre = {"lb_gp_ucb": lb, "mle": mle, "a_gp_ucb": 0.0354**2 / mle}

    def chosen(problem: str, name: str, seed: int) -> dict[str, float]:
        return {"length_scale": centre[name] * (1.0 if lb == mle else 1.01**seed)}

    runs_of = {name: falling(0.1, key=i) for i, name in enumerate(centre)}
    found = made_runs({"michalewicz5": runs_of}, chosen)
    options: dict[str, Any] = {
        "problem": "michalewicz5",
        "closer": [("lb_gp_ucb", "mle"), ("lb_gp_ucb", "a_gp_ucb")],
    }
    comparisons = measures.length_scales(found, **options)
    assert outcomes(comparisons)[0] == expected
    if lb == mle:  # equal distances on either side, but for round-off in the logarithm
        assert outcomes(comparisons) == ["open", "open"]
    if expected == "supported":
        assert "closer in 10 of 10 seeds, p 0.0010" in comparisons[0].ours  # 1/1024
        assert outcomes(comparisons) == ["supported", "supported"]
        # with another θ̂* it is the other way round
        other = measures.length_scales(found, **options, optimal_length_scale=0.4)
        assert outcomes(other)[0] == "contradicted"


def test_claim_2_without_length_scales_is_not_run() -> None:
    found = made_runs({"michalewicz5": {"mle": falling(0.1), "lb_gp_ucb": falling(0.1)}})
    options: dict[str, Any] = {"problem": "michalewicz5", "closer": [("lb_gp_ucb", "mle")]}
    with pytest.raises(MissingRunsError, match="hold no length_scale"):
        measures.length_scales(found, **options)
    entry = ENTRY.model_copy(
        update={"algorithms": {k: v for k, v in ENTRY.algorithms.items() if k != "oracle"}}
    )
    without = made_runs({"michalewicz5": {"mle": falling(0.1)}}, scales, entry=entry)
    with pytest.raises(MissingRunsError, match="the config has no oracle"):
        measures.length_scales(without, **options)


def chosen_scales(**centre: float) -> Runs:
    """Runs on Michalewicz whose length scales are about the given ones, a little more in each seed."""
    values = {name: falling(0.1, key=i) for i, name in enumerate(centre)}
    return made_runs(
        {"michalewicz5": values},
        lambda problem, name, seed: {"length_scale": centre[name] * 1.001**seed},
    )


def test_claim_2_on_which_side_of_the_optimal_length_scale() -> None:
    found = chosen_scales(mle=0.08, a_gp_ucb=0.005)
    options: dict[str, Any] = {"problem": "michalewicz5"}
    comparisons = measures.length_scales(found, above=["mle"], below=["a_gp_ucb"], **options)
    assert outcomes(comparisons) == ["supported", "supported"]
    assert "MLE 0.0804, above θ̂* 0.0354 in 10 of 10 seeds, p 0.0010" in comparisons[0].ours
    comparisons = measures.length_scales(found, above=["a_gp_ucb"], below=["mle"], **options)
    assert outcomes(comparisons) == ["contradicted", "contradicted"]
    near = chosen_scales(mle=0.0354 / 1.001**4.5)  # half of the seeds on either side
    assert outcomes(measures.length_scales(near, above=["mle"], **options)) == ["open"]
    # above both, where θ̂* is smaller
    (comparison,) = measures.length_scales(
        found, below=["a_gp_ucb"], optimal_length_scale=0.001, **options
    )
    assert comparison.outcome == "contradicted" and "below θ̂* 0.001 in 0 of 10" in comparison.ours


def test_claim_4_within_a_factor_of_the_optimal_length_scale() -> None:
    found = chosen_scales(mle=0.0354 / 1.9, a_gp_ucb=0.0354 * 2.1)
    names: dict[str, Any] = {"problem": "michalewicz5", "around": ["mle", "a_gp_ucb"]}
    inside, outside = measures.length_scales(found, **names)
    assert (inside.outcome, outside.outcome) == ("supported", "contradicted")
    assert "within a factor of 2 of θ̂* 0.0354 in 10 of 10 seeds, p 0.0020" in inside.ours  # Holm
    assert inside.effect and inside.effect.unit == effects.BEYOND
    assert outcomes(measures.length_scales(found, **names, factor=3)) == ["supported", "supported"]


@pytest.mark.parametrize("metric", ["best", "cumulative"])
def test_claim_3_in_all_outcomes(metric: Any) -> None:
    finals = {"mle": 0.3, "mcmc": 0.1, "a_gp_ucb": 0.201, "lb_gp_ucb": 0.2}
    regrets = {name: falling(final, key=i) for i, (name, final) in enumerate(finals.items())}
    found = made_runs({"agnp": regrets})
    options = {"problem": "agnp", "metric": metric, "algorithm": "lb_gp_ucb"}
    comparisons = measures.lowest_regret(found, **options, others=["mle", "mcmc", "a_gp_ucb"])
    assert outcomes(comparisons) == ["supported", "contradicted", "open"]
    assert comparisons[0].ours.startswith("LB-GP-UCB ") and "±" in comparisons[2].ours
    fewer = made_runs({"agnp": {**regrets, "mle": regrets["mle"][:4]}})
    (comparison,) = measures.lowest_regret(fewer, **options, others=["mle"])
    assert "(of 4 common seeds), p " in comparison.ours
    single = made_runs({"agnp": {name: regret[:1] for name, regret in regrets.items()}})
    assert outcomes(measures.lowest_regret(single, **options, others=["mle"])) == ["open"]
    with pytest.raises(MissingRunsError):
        measures.lowest_regret(found, **options, others=["oracle"])


def test_claim_3_by_the_signs_of_the_differences() -> None:
    found = made_runs({"berkenkamp": {"mle": stuck(8), "lb_gp_ucb": stuck(1)}})
    options = {"problem": "berkenkamp", "metric": "best", "algorithm": "lb_gp_ucb"}
    (comparison,) = measures.lowest_regret(found, **options, others=["mle"], test="sign_flip")
    # McNemar's exact p: seven differences of one size, all of one sign
    assert comparison.ours.endswith(f"p {tables.p_value(0.5**7)}")
    assert comparison.unreachable == ()
    few = made_runs({"berkenkamp": {"mle": stuck(3)[:4], "lb_gp_ucb": stuck(1)[:4]}})
    (comparison,) = measures.lowest_regret(few, **options, others=["mle"], test="sign_flip")
    assert comparison.unreachable == ("supported", "contradicted")


FAMILIES = {
    "variants": ["lb_gp_ucb_a025", "lb_gp_ucb", "lb_gp_ucb_a075"],
    "other_variants": ["a_gp_ucb_a025", "a_gp_ucb", "a_gp_ucb_a075"],
}


def ablation(lb: list[float], agp: list[float], seeds: int = 10, sd: float = 0.05) -> Runs:
    names = [*FAMILIES["variants"], *FAMILIES["other_variants"]]
    return made_runs(
        {
            "michalewicz5": {
                name: falling(final, seeds, sd, key=i)
                for i, (name, final) in enumerate(zip(names, [*lb, *agp], strict=True))
            }
        }
    )


@pytest.mark.parametrize("metric", ["best", "cumulative"])
def test_claim_4_in_all_outcomes(metric: Any) -> None:
    def compared(*arguments: Any, **settings: Any) -> Comparison:
        runs = ablation(*arguments, **settings)
        found = measures.varies_less(runs, problem="michalewicz5", metric=metric, **FAMILIES)
        assert len(found) == 4  # and one for each a
        return found[0]

    steady, varied = [1.0, 1.05, 1.0], [1.0, 2.0, 3.0]
    supported = compared(steady, varied)
    assert supported.outcome == "supported"
    # of 1,024 exchanges one; twice that by Holm, as at two a LB-GP-UCB's lower regret is surer
    assert supported.ours.endswith(f", p {tables.p_value(2 * 2**-10)}")
    assert compared(varied, steady).outcome == "contradicted"
    assert compared(steady, steady, sd=0.5).outcome == "open"
    assert compared([1.0] * 3, [1.0] * 3, sd=0.0).outcome == "open"  # no variance at all
    # six seeds have 64 exchanges
    assert compared(steady, varied, seeds=6).outcome == "supported"
    for seeds in (1, 4):
        few = compared(steady, varied, seeds=seeds)
        assert few.outcome == "open" and few.unreachable == ("supported", "contradicted")


def test_claim_4_shows_the_deviation_of_the_means() -> None:
    found = ablation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], sd=0.0)
    comparison = measures.varies_less(found, problem="michalewicz5", **FAMILIES)[0]
    last = 1 + 3 * np.exp(-(INITIAL + HORIZON - 1) / 3)  # of `falling`
    assert f"regret: 0 (LB-GP-UCB, a = 0.25 {last:.4g}" in comparison.ours
    a025 = f"A-GP-UCB, a = 0.25 {last:.4g}"
    assert f"against {last:.4g} ({a025}, A-GP-UCB {2 * last:.4g}" in comparison.ours


def test_claim_4_is_no_success_of_a_method_that_is_bad_at_each_a() -> None:
    found = measures.varies_less(
        ablation([4.0, 4.1, 4.0], [1.0, 4.1, 8.0], sd=0.01), problem="michalewicz5", **FAMILIES
    )
    assert outcomes(found) == ["supported", "contradicted", "open", "supported"]
    assert found[1].ours.startswith("LB-GP-UCB, a = 0.25 4")
    assert "; A-GP-UCB, a = 0.25 1" in found[1].ours


@pytest.mark.parametrize(
    ("lb", "expected"),
    [((9.0, 0.1), "supported"), ((11.5, 0.1), "contradicted"), ((11.0, 0.5), "open")],
)
def test_claim_5_compares_the_ratio_of_times(lb: tuple[float, float], expected: str) -> None:
    times = {**TIMES, "mle": (10.0, 0.1), "lb_gp_ucb": lb}
    found = made_runs({"agnp": {name: falling(0.1) for name in times}}, timings=times)
    options = {"problems": ["agnp"], "algorithm": "lb_gp_ucb", "others": ["mle"]}
    (comparison,) = measures.time_ratio(found, factor=1.1, **options, at_most=True)
    assert comparison.outcome == expected
    # delta method by hand
    half = 1.959964 * np.hypot(lb[1] / lb[0], 0.1 / 10) / 10**0.5
    ratio = lb[0] / 10
    shown = f"ratio {ratio:.3g} (95 %: {ratio * np.exp(-half):.3g} to {ratio * np.exp(half):.3g})"
    assert f"{shown}, p" in comparison.ours


def test_claim_5_mcmc_costs_several_times_as_much() -> None:
    found = made_runs({"agnp": {name: falling(0.1) for name in TIMES}}, timings=TIMES)
    options = {"problems": ["agnp"], "algorithm": "mcmc", "others": ["mle", "a_gp_ucb"]}
    for factor, expected in (
        (3, ["supported", "supported"]),
        (9, ["open", "supported"]),
        (20, ["contradicted", "contradicted"]),
    ):
        comparisons = measures.time_ratio(found, factor=factor, **options, at_most=False)
        assert outcomes(comparisons) == expected
    for seeds, outcome in ((1, "open"), (5, "open"), (6, "supported")):
        few = made_runs({"agnp": {name: falling(0.1, seeds) for name in TIMES}}, timings=TIMES)
        comparisons = measures.time_ratio(few, factor=3, **options, at_most=False)
        assert outcomes(comparisons) == [outcome, outcome]
    without = made_runs({"agnp": {name: falling(0.1) for name in TIMES}})
    with pytest.raises(MissingRunsError, match="no CPU times of mcmc on agnp"):
        measures.time_ratio(without, factor=3, **options, at_most=False)


def test_a_tie_is_no_win() -> None:
    """Without any regret or with some."""
    none = np.full((10, INITIAL + HORIZON), 0.0)
    options: dict[str, Any] = {"problem": "agnp", "metric": "best", "algorithm": "lb_gp_ucb"}
    made = made_runs({"agnp": {"lb_gp_ucb": none, "a_gp_ucb": none, "mle": none + 0.1}})
    found = measures.lowest_regret(made, **options, others=["a_gp_ucb", "mle"])
    assert outcomes(found) == ["open", "supported"] and "neither has any" in found[0].ours
    made = made_runs({"agnp": {"lb_gp_ucb": none + 0.1, "a_gp_ucb": none + 0.1}})
    assert outcomes(measures.lowest_regret(made, **options, others=["a_gp_ucb"])) == ["open"]


def test_the_first_rounds_are_the_run_to_them() -> None:
    early, late = falling(0.1, key=1), falling(0.2, key=2)
    late[:, -1] = 0.0  # the lower one in the end only
    made = made_runs({"agnp": {"lb_gp_ucb": early, "mle": late}})
    options: dict[str, Any] = {"problem": "agnp", "metric": "best", "algorithm": "lb_gp_ucb"}
    for rounds, expected in ((None, "contradicted"), (HORIZON - 1, "supported")):
        found = measures.lowest_regret(made, **options, others=["mle"], rounds=rounds)
        assert outcomes(found) == [expected]
    with pytest.raises(MissingRunsError, match="runs on agnp are shorter than 999 rounds"):
        measures.lowest_regret(made, **options, others=["mle"], rounds=999)


@pytest.mark.parametrize(
    ("count", "final", "expected"),
    [
        (20, 0.3, "supported"),
        (3, 0.3, "contradicted"),
        (12, 0.3, "open"),
        (20, 0.0, "contradicted"),
    ],
)
def test_claim_3_counts_the_seeds_that_stay_stuck(count: int, final: float, expected: str) -> None:
    """``count`` seeds find nothing better after round 5, the others do in round 6."""
    regret = np.full((20, INITIAL + HORIZON), 0.5)
    regret[:, INITIAL + 4 :] = final
    regret[count:, INITIAL + 5 :] = final / 2
    found = made_runs({"agnp": {"mle": regret}})
    options: dict[str, Any] = {"problem": "agnp", "algorithms": ["mle"]}
    (comparison,) = measures.stays_stuck(found, since=0.4, **options)
    assert comparison.outcome == expected
    stuck = count if final else 0  # a seed at the optimum is not stuck
    assert comparison.ours.startswith(f"stuck since round 5: MLE {stuck} of 20 (95 %: ")
    # what happens after the last round that is read does not count
    (comparison,) = measures.stays_stuck(found, since=0.8, rounds=5, **options)
    assert "MLE 0 of 20" in comparison.ours
    (comparison,) = measures.stays_stuck(found, since=0.25, rounds=4, **options)
    assert "MLE 20 of 20" in comparison.ours


def test_length_scales_that_depend_on_a() -> None:
    """Steady for LB-GP-UCB, by powers of ten for A-GP-UCB: the deviation of ln θ is ln 10."""
    names = [*FAMILIES["variants"], *FAMILIES["other_variants"]]

    def chosen(problem: str, name: str, seed: int) -> dict[str, float]:
        place = FAMILIES["other_variants"].index(name) if name.startswith("a_gp") else 0
        return {"length_scale": 10.0**-place * 1.01**seed}

    made = made_runs({"michalewicz5": {name: falling(0.1) for name in names}}, chosen)
    (found,) = measures.length_scales_vary_less(made, problem="michalewicz5", **FAMILIES)
    assert found.outcome == "supported" and "smaller in 10 of 10 seeds, p 0.0010" in found.ours
    assert f"against {np.log(10):.2g}" in found.ours
    other = dict(zip(FAMILIES, reversed(FAMILIES.values()), strict=True))
    (found,) = measures.length_scales_vary_less(made, problem="michalewicz5", **other)
    assert found.outcome == "contradicted"
