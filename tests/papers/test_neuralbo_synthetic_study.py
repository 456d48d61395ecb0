"""The outputs and measures of NeuralBO's synthetic study, on traces whose values are known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from replibo.config import claims, load
from replibo.config.models import COLORS
from replibo.errors import RepliboError
from replibo.papers import common
from replibo.papers.neuralbo import claims as measures
from replibo.papers.neuralbo import figures, synthetic, traces
from replibo.papers.neuralbo import statistics as study
from replibo.papers.neuralbo.printed import BASELINES, KS_P_VALUES, T_TESTS
from replibo.results import tables
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs
from replibo.results.statistics import benjamini_hochberg
from replibo.results.tables import Table

from ..results.conftest import misfits
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
)

HORIZON = 6
DIMS = (10, 20, 50, 100)
PROBLEMS = {f"{function}_{d}": d for function in traces.FUNCTIONS for d in DIMS}
OTHER = {"bbob_2d": 2}  # of the same paper, and none of this study's

NU_GRID = ("neural_bo_nu_01", "neural_bo_nu_1", "neural_bo_nu_10")
SEVEN = ("neural_bo", *BASELINES)
ALGORITHMS = configured("neuralbo", *SEVEN, *NU_GRID)
ENTRY = made_paper(
    {
        problem: {
            "type": "synthetic.Synthetic",
            "label": f"{problem.partition('_')[0].title()}, {d}-D",
            "parameters": {"function": "Ackley", "dim": d},
        }
        for problem, d in (PROBLEMS | OTHER).items()
    },
    ALGORITHMS,
    {"horizon": HORIZON},
)
INITIAL = 3
Values = Mapping[str, Mapping[str, np.ndarray]]


def made_runs(
    values: Values,
    *,
    diverged: Mapping[str, np.ndarray] | None = None,
    timings: Mapping[str, float] | None = None,
    first_seed: Mapping[str, int] | None = None,
    **facts: Any,
) -> Runs:
    """Runs with the given values in the paper's sense (to be minimised), ``seeds x queries``.

    Args:
        diverged: of an algorithm, ``seeds x rounds``.
        timings: CPU seconds of one run of an algorithm.
        first_seed: of an algorithm, where it is not 0.
    """
    pairs, times, dims = [], {}, PROBLEMS | OTHER
    for problem, algorithms in values.items():
        for name, value in algorithms.items():
            seeds, columns = len(value), {}
            if diverged and name in diverged:
                before = np.full((seeds, INITIAL), np.nan)
                columns["diverged"] = np.hstack([before, diverged[name]]).ravel()
            ran = np.arange(seeds) + (first_seed or {}).get(name, 0)
            pairs.append(pair((problem, name), -value, 1 - INITIAL, ran, **columns))
            if timings and name in timings:
                time = {"queries": value.size, "cpu_seconds": timings[name] * seeds}
                times[f"{problem}/{name}"] = {"runs": seeds, **time}
    of_each = {p: {"dim": dims[p], "horizon": HORIZON, **facts} for p in values}
    return runs_of(ENTRY, pairs, of_each, timings=times)


def ending_in(finals: Any) -> np.ndarray:
    """Values of runs that end in ``finals`` (one per seed): ``seeds x (INITIAL + HORIZON)``."""
    steps = np.linspace(10.0, 0.0, INITIAL + HORIZON)
    return np.asarray(finals, dtype=float)[:, None] + steps


def around(mean: float, seeds: int = 10, sd: float = 0.1, key: int = 0) -> np.ndarray:
    """Runs whose final values are normally distributed."""
    return ending_in(mean + sd * np.random.default_rng(key).standard_normal(seeds))


def study_runs(seeds: int = 10, problems: Any = PROBLEMS, **means: float) -> Runs:
    """NeuralBO at 0, the baselines at 1, or at ``means``."""
    values = {
        problem: {
            name: around(means.get(name, float(name != "neural_bo")), seeds, key=100 * i + k)
            for k, name in enumerate(SEVEN)
        }
        for i, problem in enumerate(problems)
    }
    return made_runs(values)


# The paper's printed tables


@pytest.mark.parametrize(
    "family", [axes for n in range(4) for axes in itertools.combinations(range(3), n)]
)
def test_only_families_within_a_function_reproduce_the_printed_outcomes(
    family: tuple[int, ...],
) -> None:
    """The axes are functions, dimensions, baselines. A single cell tells the families apart, p = .0467
    with a T (NeuralGreedy on Ackley, D = 50): they have to stay within a function, and more than that
    the printed table does not say. Taken: (1, 2)."""
    shape = (3, len(DIMS), len(BASELINES))
    cells = [T_TESTS[problem][name] for problem in PROBLEMS for name in BASELINES]
    p_values, printed = (np.array(values).reshape(shape) for values in zip(*cells, strict=True))
    last = range(-len(family), 0)
    families = np.moveaxis(p_values, family, last)
    sizes = [shape[axis] for axis in family]
    adjusted = [benjamini_hochberg(p) for p in families.reshape(-1, *sizes)]
    rejected = np.moveaxis(np.reshape(adjusted, families.shape), last, family) <= 0.05
    different = np.argwhere(rejected != printed).tolist()
    assert different == ([[0, 2, 0]] if 0 in family else [])


def test_the_printed_tables_are_whole() -> None:
    assert set(KS_P_VALUES) == set(T_TESTS) == set(PROBLEMS)
    assert all(set(row) == set(SEVEN) for row in KS_P_VALUES.values())
    assert min(p for row in KS_P_VALUES.values() for p in row.values()) == 0.23  # all exceed .05
    assert sum(rejected for row in T_TESTS.values() for _, rejected in row.values()) == 65


# What is read from the traces


def test_the_smallest_value_by_hand() -> None:
    values = np.array([[9, 4, 6, 8, 5, 3, 7, -2, 0], [1, 5, 5, 5, 5, 5, 5, 5, 5]], dtype=float)
    runs = made_runs({"levy_10": {"gp_ts": values}})
    t, largest = traces.largest_so_far(runs, "levy_10", "gp_ts")
    np.testing.assert_array_equal(t, np.arange(HORIZON + 1))
    np.testing.assert_array_equal(-largest, [[4, 4, 4, 3, 3, -2, -2], [1] * 7])
    np.testing.assert_array_equal(traces.final_values_of(runs, "levy_10", "gp_ts"), [-2, 1])
    np.testing.assert_array_equal(traces.final_values_of(runs, "levy_10", "gp_ts", 3), [3, 1])


# Figures 1, 4 and 5: the best value so far

SPREADS = {  # of the final values 1, 2 and 6
    "deviation": ("mean", "± one standard deviation", (3.0, 3 - 7**0.5, 3 + 7**0.5)),
    "quartiles": ("median", "the quartiles", (2.0, 1.5, 4.0)),
    "interval": ("mean", "Student's 95 %", (3.0, *stats.t.interval(0.95, 2, 3, (7 / 3) ** 0.5))),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("spread", SPREADS)
def test_the_best_value_so_far_has_a_middle_and_a_spread(spread: Any, largest: bool) -> None:
    """Every value falls by 7.5 from the best initial point on; the largest f is minus the smallest value."""
    middle, kind, ends = SPREADS[spread]
    values = ending_in([1.0, 2.0, 6.0])
    runs = made_runs({"levy_20": {"gp_ts": values, "dngo": values + 1}})
    entry = output(algorithms=["gp_ts"])  # DNGO is not asked for
    figure = drawn(figures.best_so_far(runs, entry, spread=spread, largest=largest, value="loss"))
    (ax,) = figure.axes
    labels = (ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
    assert labels == ("Levy, 20-D", "iteration $t$", "loss")
    (line,) = ax.lines
    assert line.get_label() == "GP-TS" and line.get_color() == COLORS["purple"]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(HORIZON + 1))
    corners = np.asarray(ax.collections[0].get_paths()[0].vertices)
    at_end = corners[corners[:, 0] == HORIZON, 1]
    shown = np.array([line.get_ydata()[-1], at_end.min(), at_end.max()])
    if largest:
        shown = -shown[[0, 2, 1]]
    assert shown == pytest.approx(ends)
    assert abs(line.get_ydata()[0]) == pytest.approx(ends[0] + 7.5)
    caption = caption_of(figure)
    smallest = "" if largest else ", without noise, as the paper minimises"
    assert f"Loss{smallest}: {middle}" in caption and f"shaded: {kind}" in caption
    assert "the best of the 3 initial points" in caption
    assert "Smaller than configured at paper scale: 3 of 10 seeds." in caption


def test_the_optimum_ends_the_bands_and_simple_regret_needs_it() -> None:
    values = ending_in([1.0, 3.0])
    runs = made_runs({"levy_10": {"gp_ts": values}, "levy_20": {"gp_ts": values}})
    for problem, optimum in (("levy_10", -0.8), ("levy_20", None)):
        runs.metadata["problems"][problem]["optimal_value"] = optimum
    ax, _ = figures.best_so_far(runs, output(), largest=True).axes
    assert ax.collections[0].get_paths()[0].get_extents().y1 == -0.8
    (ax,) = figures.best_so_far(runs, output(), simple_regret=True).axes
    assert ax.get_title() == "Levy, 10-D" and ax.get_yscale() == "log"
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(2.0 - 0.8)  # f is minus the value


def test_figure_1_says_in_a_panel_the_seeds_and_which_of_its_methods_was_not_run_there() -> None:
    two, three = ending_in([1.0, 3.0]), ending_in([1.0, 3.0, 5.0])
    values = {"levy_10": {"gp_ts": two, "dngo": three}, "levy_20": {"gp_ts": two}}
    figure = figures.best_so_far(made_runs(values), output())
    said = {ax.get_title(): [text.get_text() for text in ax.texts] for ax in figure.axes}
    assert said == {
        "Levy, 10-D": ["2 to 3 of 10 seeds"],
        "Levy, 20-D": ["2 of 10 seeds\nnot run: DNGO"],
    }
    assert misfits(figure) == []


@pytest.mark.filterwarnings("error")
def test_figure_1_of_a_single_seed_has_no_band_and_its_panels_are_in_the_configs_order() -> None:
    problems = ["ackley_10", "levy_10", "michalewicz_10"]
    runs = study_runs(1, problems)
    figure = drawn(figures.best_so_far(runs, output(), columns=2))
    assert [ax.get_title() for ax in figure.axes] == [ENTRY.problems[p].label for p in problems]
    for i, ax in enumerate(figure.axes):
        place = ax.get_subplotspec()
        assert place is not None and place.get_gridspec().get_geometry() == (2, 2)
        assert (place.rowspan.start, place.colspan.start) == divmod(i, 2)
        assert len(ax.lines) == len(SEVEN) and not ax.collections
    at_2 = made_runs({"levy_10": {"gp_ts": ending_in([1.0, 3.0])}}, dim=2)
    assert "the D + 1 initial points" in caption_of(figures.best_so_far(at_2, output()))
    with pytest.raises(RepliboError, match=r"no runs on ackley_10, .* have been run \(dngo\)"):
        figures.best_so_far(at_2, output(algorithms=["dngo"]))


# Tables 1 and 2


def test_table_1_has_ours_beside_the_papers() -> None:
    runs = study_runs(problems=["levy_10", "ackley_50"])
    table = study.table_1(runs, output())
    assert len(table.frame) == 14 and "14 of 14 p-values exceed 0.05" in table.caption
    (row,) = rows(table, function="Ackley", D=50, method="GP-EI")
    values = traces.final_values_of(runs, "ackley_50", "gp_ei")
    expected = stats.kstest((values - values.mean()) / values.std(ddof=1), stats.norm.cdf)
    assert row["p, ours"] == pytest.approx(expected.pvalue)
    assert row["KS distance"] == pytest.approx(expected.statistic)
    assert row["p, Lilliefors"] < row["p, ours"]
    assert (row["seeds"], row["p, paper"]) == (10, 0.52)
    # without runs or spread the cells are empty
    runs = made_runs({"levy_10": {"neural_bo": ending_in(np.ones(5)), "gp_ts": around(1.0, 1)}})
    table = study.table_1(runs, output())
    for method, seeds in (("NeuralBO", 5), ("GP-TS", 1), ("RF", 0)):
        (row,) = rows(table, method=method)
        assert (row["seeds"], row["KS distance"], row["p, ours"]) == (seeds, None, None)
        assert row["p, paper"] is not None
    assert "0 of 0 p-values" in table.caption


@pytest.mark.parametrize("pooled", [False, True])
def test_table_2_is_scipys_tests_with_the_correction_within_a_function(pooled: bool) -> None:
    means = {"neural_greedy": -0.05, "dngo": 0.1, "gp_ei": 0.06, "random_forest": 0.02}
    runs = study_runs(7, ["levy_10", "levy_20", "ackley_10"], **means)
    table = study.table_2(runs, output(), pooled=pooled)
    for function, problems in (("Levy", ("levy_10", "levy_20")), ("Ackley", ("ackley_10",))):
        samples, family, equivalent, printed = {}, {}, {}, {}
        for cell in itertools.product(problems, BASELINES):
            ours, rival = (traces.final_values_of(runs, cell[0], a) for a in ("neural_bo", cell[1]))
            sd = ((rival.var(ddof=1) + ours.var(ddof=1)) / 2) ** 0.5
            samples[cell] = (rival.mean() - ours.mean(), sd)
            family[cell], *sides = (
                stats.ttest_ind(a, b, equal_var=pooled, alternative="greater").pvalue
                for a, b in (
                    (rival, ours),
                    (rival + study.MARGIN * sd, ours),
                    (ours + study.MARGIN * sd, rival),
                )
            )
            equivalent[cell], printed[cell] = max(sides), T_TESTS[cell[0]][cell[1]]
        adjusted = stats.false_discovery_control(list(family.values()))
        parts = {}  # the cells printed true and the others apart
        for word in (True, False):
            cells = [cell for cell in family if printed[cell][1] == word]
            of_word = stats.false_discovery_control([equivalent[cell] for cell in cells])
            parts |= dict(zip(cells, of_word, strict=True))
        for (cell, (difference, sd)), q in zip(samples.items(), adjusted, strict=True):
            name, d = ALGORITHMS[cell[1]]["label"], PROBLEMS[cell[0]]
            (row,) = rows(table, function=function, D=d, baseline=name)
            size = difference / sd
            half = 1.96 * np.sqrt(2 / 7 + size**2 / 28)  # Hedges and Olkin
            expected = {
                "p, ours": family[cell],
                "adjusted p, ours": q,
                "p, equivalence": parts[cell],
                "baseline - NeuralBO": difference,
                **{"d, ours": size, "d, low": size - half, "d, high": size + half},
            }
            assert {key: row[key] for key in expected} == pytest.approx(expected)
            p, rejected = printed[cell]
            # ten seeds each that differ by the printed d have the printed p
            shape = np.arange(10.0) / np.std(np.arange(10.0), ddof=1)
            at_d = stats.ttest_ind(shape + row["d, paper"], shape, alternative="greater")
            assert at_d.pvalue == pytest.approx(p)
            smaller = "yes" if row["d, high"] < row["d, paper"] else "no"
            assert row["smaller than printed"] == (smaller if rejected else None)
            assert row["ours"] == ("true" if q <= 0.05 else "false")
            assert (row["p, paper"], row["paper"]) == (p, "true" if rejected else "false")
            assert row["agree"] == ("yes" if row["ours"] == row["paper"] else "no")
    assert {row["ours"] for row in rows(table)} == {"true", "false"}  # both were tested
    assert "Ackley 6, Levy 12 tests (24 each in the paper)" in table.caption
    agreeing = len(rows(table, agree="yes"))
    assert f"{agreeing} of 18 cells have the paper's word" in table.caption


def test_table_2_says_its_families_and_has_the_configs_baselines() -> None:
    table = study.table_2(study_runs(), output())
    assert "Ackley 24, Levy 24, Michalewicz 24 tests (as in the paper)" in table.caption
    assert "65 of 72 cells have the paper's word" in table.caption
    few = study_runs(2, ["levy_10"])
    named = study.table_2(few, output(algorithms=["neural_bo", "gp_ts", "random_forest"]))
    assert [row["baseline"] for row in rows(named)] == ["GP-TS", "RF"]


def test_cells_without_a_test_are_empty_and_no_part_of_the_family() -> None:
    runs = made_runs(
        {"levy_10": {"neural_bo": around(0.0, 5), "gp_ts": around(1.0, 1), "dngo": around(1.0, 5)}}
    )
    table = study.table_2(runs, output())
    assert len(table.frame) == 6 and "Levy 1 tests" in table.caption
    for name, seeds in (("GP-TS", 1), ("RF", 0)):
        (row,) = rows(table, baseline=name)
        assert (row["seeds, baseline"], row["p, ours"], row["ours"]) == (seeds, None, None)
        assert row["paper"] in ("true", "false") and row["agree"] is None
        assert row["baseline - NeuralBO"] is None and row["d, ours"] is None
    (row,) = rows(table, baseline="DNGO")
    assert row["ours"] == "true" and row["p, ours"] == row["adjusted p, ours"]
    # no NeuralBO at all
    cells = study.compare(made_runs({"levy_10": {"gp_ts": around(1.0)}}), ["levy_10"])
    assert [cell.rejected for cell in cells] == [None] * 6 and cells[1].seeds == (0, 0)


# Final values


def test_final_values_by_hand() -> None:
    values = {"gp_ts": ending_in([1.0, 2.0, 6.0]), "dngo": ending_in([1.0])}
    runs = made_runs({"levy_10": values}, timings={"gp_ts": 12.0})
    several, single = rows(synthetic.final_values(runs, output()))
    low, high = stats.t.interval(0.95, 2, loc=3, scale=(7 / 3) ** 0.5)
    expected = [3, HORIZON, 3.0, 7**0.5, low, high, 12 / HORIZON]
    assert list(several.values())[2:] == pytest.approx(expected)
    assert list(single.values())[2:] == [1, HORIZON, 1.0, *[None] * 4]


# The grid search for ν


def grid_runs(first_seed: int = 1000, **finals: tuple[float, float, float]) -> Runs:
    values: dict[str, dict[str, np.ndarray]] = {
        problem: {
            name: around(mean, 3, sd=1e-3, key=k)
            for k, (name, mean) in enumerate(zip(NU_GRID, means, strict=True))
        }
        | {"neural_bo": around(1.0, 2)}
        for problem, means in finals.items()
    }
    times = dict(zip(NU_GRID, (1.0, 2.0, 4.0), strict=True))
    return made_runs(values, timings=times, first_seed=dict.fromkeys(NU_GRID, first_seed))


def searched(runs: Runs, **options: str) -> Table:
    settings: Any = {"grid": NU_GRID, "algorithm": "neural_bo", **options}
    return synthetic.grid_search(runs, output(), **settings)


def test_one_nu_is_chosen_by_its_mean_rank() -> None:
    # ν = 10 has the smallest mean over the problems, in units that cannot be compared
    runs = grid_runs(levy_10=(500.0, 400.0, 90.0), ackley_10=(3.0, 1.0, 2.0), ackley_20=(3, 1, 2.0))
    table = searched(runs)
    overall = rows(table, problem="all, mean rank")
    assert [row["rank"] for row in overall] == pytest.approx([3, 4 / 3, 5 / 3])
    chosen = [(row["problem"], row["ν"]) for row in rows(table, chosen="yes")]
    assert chosen == [
        ("Ackley, 10-D", 1),
        ("Ackley, 20-D", 1),
        ("Levy, 10-D", 10),
        ("all, mean rank", 1),
    ]
    assert overall[0]["CPU s"] == pytest.approx(3 * 3 * 1.0)
    assert "runs with ν = 1, which is the choice of these runs." in table.caption
    assert "Seeds 1000 to 1002, which no reported run uses." in table.caption
    assert "The grid cost 63 CPU s." in table.caption


def test_a_choice_that_the_config_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = grid_runs(levy_10=(1.0, 2.0, 3.0), first_seed=1)
    table = searched(runs)
    assert "Chosen for all problems: ν = 0.1" in table.caption
    assert "runs with ν = 1, which is not the choice of these runs." in table.caption
    assert "Seeds 1 to 3; 1 of them are those of reported runs, too." in table.caption
    # the search for another constant
    for name, beta in zip((*NU_GRID, "neural_bo"), (1, 4, 16, 1), strict=True):
        monkeypatch.setitem(runs.entry.algorithms[name].parameters, "beta", beta)
    table = searched(runs, parameter="beta", symbol="β")
    assert "β = 1, by the smallest mean rank" in table.caption
    assert "which is the choice of these runs" in table.caption
    assert [row["β"] for row in rows(table, problem="all, mean rank")] == [1, 4, 16]


def test_a_grid_with_holes() -> None:
    values = {"neural_bo_nu_1": around(1.0, 1), "neural_bo_nu_10": around(2.0, 1)}
    runs = made_runs({"levy_10": values})
    table = searched(runs)
    assert "No problem was run with every ν" in table.caption and "cost" not in table.caption
    assert not rows(table, chosen="yes") and len(rows(table, problem="Levy, 10-D")) == 2
    with pytest.raises(RepliboError, match=r"algorithms\.gp_ts\.parameters\.nu: must be a number"):
        searched(runs, algorithm="gp_ts")
    # as at the scale quick
    table = searched(made_runs({"levy_10": {"neural_bo": around(1.0, 1)}}))
    assert len(rows(table)) == 3 and "The grid was not run. Not run." in table.caption


# What the printed recipe does


def test_the_share_of_diverged_rounds() -> None:
    diverged = np.zeros((2, HORIZON))
    diverged[1, 2:] = 1
    values = {"neural_bo": around(0.0, 2), "gp_ts": around(1.0, 2)}
    runs = made_runs(dict.fromkeys(("levy_10", *OTHER), values), diverged={"neural_bo": diverged})
    row, coco = rows(synthetic.literal_recipe(runs, output()))  # GP-TS records none
    assert row["smallest value, mean"] is not None and coco["smallest value, mean"] is None
    assert row["algorithm"] == "NeuralBO" and (row["seeds"], row["rounds"]) == (2, 2 * HORIZON)
    assert row["rounds diverged (share)"] == pytest.approx(4 / (2 * HORIZON))
    assert (row["seeds with such rounds"], row["first such round"]) == (1, 3)
    runs = made_runs({"levy_10": values}, diverged={"neural_bo": 0 * diverged})
    (row,) = rows(synthetic.literal_recipe(runs, output()))
    assert row["rounds diverged (share)"] == 0 and row["first such round"] is None


# Claims


def compared_with(comparisons: list[Comparison], label: str) -> tuple[str, str]:
    """The outcome of the comparison with a baseline, and the text after its label."""
    (comparison,) = [entry for entry in comparisons if f": {label}" in entry.ours]
    return comparison.outcome, comparison.ours.partition(label)[2]


@pytest.mark.parametrize(
    ("seeds", "means", "label", "outcome", "words"),
    [
        (40, {}, "GP-UCB", "supported", "true (p < 0.0001)"),
        (40, {}, "NeuralGreedy", "contradicted", "false (p < 0.0001)"),
        (40, {"neural_greedy": 0}, "NeuralGreedy", "supported", "false (equivalent, p "),
        # that a test does not reject supports no false: few seeds never do
        (3, {"neural_greedy": 0}, "NeuralGreedy", "open", "false (p 0."),
        # a worse NeuralBO is not better, as a printed false says
        (10, {"neural_greedy": -1}, "NeuralGreedy", "supported", "false (NeuralBO is worse, p "),
        (10, {"gp_ts": -1}, "GP-TS", "contradicted", "true (NeuralBO is worse, p < 0.0001)"),
        # a printed true is contradicted where the two are shown to be the same, too
        (40, {"dngo": 0}, "DNGO", "contradicted", "true (equivalent, p "),
        (4, {"dngo": 0}, "DNGO", "open", "true (p "),
        (1, {}, "DNGO", "open", "true (no test)"),
    ],
)
def test_the_pattern_of_table_2(
    seeds: int, means: dict[str, float], label: str, outcome: str, words: str
) -> None:
    """Printed for Levy, 20-D: false for NeuralGreedy, true for the others."""
    runs = study_runs(seeds, ["levy_20"], **means)
    comparisons = measures.pattern_of_table_2(runs, problems=["levy_20"])
    assert len(comparisons) == len(BASELINES)
    word, text = compared_with(comparisons, label)
    assert word == outcome and text.startswith(f", printed: {words}")


@pytest.mark.parametrize(
    ("seeds", "means", "outcome", "words"),
    [
        (40, {}, "supported", " (NeuralBO is better, p < 0.0001)"),
        (40, {"neural_greedy": 0}, "supported", " (NeuralBO is not worse, p "),
        (40, {"neural_greedy": -1}, "contradicted", " (NeuralBO is worse, p < 0.0001)"),
        (3, {"neural_greedy": -0.1}, "open", " (better: p "),
        (1, {}, "open", " (no test)"),
    ],
)
def test_comparable_or_better(
    seeds: int, means: dict[str, float], outcome: str, words: str
) -> None:
    """By the same tests: better or hardly worse supports, worse contradicts, the rest is open."""
    runs = study_runs(seeds, ["levy_20"], **means)
    comparisons = measures.comparable_or_better(runs, problems=["levy_20"])
    word, text = compared_with(comparisons, "NeuralGreedy")
    assert word == outcome and text.startswith(words)


def test_the_claims_say_what_table_2_prints(root: Path) -> None:
    """One claim for each function and dimension, which counts the true cells and names the false ones."""
    by_name, entry = claims.load(load.load(), "neuralbo"), load.load().paper("neuralbo")
    for problem, cells in T_TESTS.items():
        claim = by_name[f"neuralbo_1_{problem}"]
        function, dim = problem.split("_")
        assert claim.problems == claim.options["problems"] == [problem]
        assert sorted(claim.also) == sorted(f"{function}_{d}" for d in DIMS)
        title = f"{function.title()}, D = {dim}"
        assert claim.short == f"Beats rivals (Table 2), {title}" and f"({title})" in claim.where
        assert claim.statement.startswith(f"Table 2, {title.replace(',', ' at')}: the")
        named = [entry.algorithms[name].label for name, (_, letter) in cells.items() if not letter]
        false = f"{6 - len(named)} baselines, false for {' and '.join(named)}"
        assert claim.paper_value == f"true for {false if named else 'all 6 baselines'}"


def test_the_cells_of_a_claim_are_those_of_the_table() -> None:
    """A claim about one dimension is judged within the function's family of all dimensions."""
    runs = study_runs(10, ["levy_10", "levy_20", "levy_50"], **dict.fromkeys(BASELINES, 0.09))
    table = study.table_2(runs, output())
    comparisons = measures.pattern_of_table_2(runs, problems=["levy_10", "levy_20"])
    text = " ".join(c.ours for c in comparisons)
    for row in [*rows(table, D=10), *rows(table, D=20)]:
        if row["ours"] == "true" or row["agree"] == "yes":
            q = tables.p_value(row["adjusted p, ours"])
            assert f"{row['baseline']}, printed: {row['paper']} (p {q})" in text
    alone = [cell.adjusted["better"] for cell in study.compare(runs, ["levy_10"])]
    # judged by itself a cell has another p
    assert not any(tables.p_value(p) in text for p in alone if p > 1e-4)
    assert len(comparisons) == 12 and "Levy, 50-D" not in text


def test_five_seeds_cannot_show_equivalence_and_ten_can() -> None:
    for seeds, unreachable in ((5, ("supported",)), (10, ())):
        runs = study_runs(seeds, ["levy_20"], neural_greedy=0.0)
        first, *_ = measures.pattern_of_table_2(runs, problems=["levy_20"])
        assert "NeuralGreedy, printed: false" in first.ours and first.unreachable == unreachable


def test_normally_distributed() -> None:
    values = {
        "neural_bo": around(0.0),
        "gp_ts": ending_in([100.0, *[1.0] * 9]),
        "dngo": ending_in(np.ones(10)),
        "gp_ei": around(0.0, 5),
    }
    runs, options = made_runs({"levy_20": values}), {"algorithms": list(values)}
    comparisons = measures.normally_distributed(runs, problems=["levy_20"], **options)
    assert outcomes(comparisons) == ["supported", "contradicted", "open", "open"]
    assert comparisons[1].ours == "Levy, 20-D: GP-TS p 0.0044 (n = 10)"
    assert compared_with(comparisons, "DNGO") == ("open", " no test (n = 10)")
    # with five seeds the test never rejects, whatever the values
    assert [entry.unreachable for entry in comparisons] == [(), (), (), ("contradicted",)]
    assert "cannot be contradicted with so few runs" in comparisons[3].said()


def test_missing_runs_are_no_verdict() -> None:
    runs = made_runs({"levy_10": {"neural_bo": around(0.0), "gp_ts": around(1.0)}})
    with pytest.raises(MissingRunsError, match="neural_bo was not run on levy_20"):
        measures.pattern_of_table_2(runs, problems=["levy_20"])
    # a baseline that was not run is an open cell
    comparisons = measures.pattern_of_table_2(runs, problems=["levy_10"])
    assert outcomes(comparisons) == [
        "supported" if "GP-TS" in c.ours else "open" for c in comparisons
    ]


# The order of the regret, and the cost of a round


def growing_as(power: float, rounds: int = 400, seeds: int = 5, sd: float = 0.02) -> np.ndarray:
    """Values above an optimum of 0 whose sums from t = 1 on are c t^power, c by seed; initial points
    far above, which do not count."""
    t = np.arange(rounds + 1)
    powers = power + sd * np.random.default_rng(0).standard_normal((seeds, 1))
    regrets = np.diff(t**powers, axis=1) * np.arange(1, seeds + 1)[:, None]
    return np.hstack([np.full((seeds, INITIAL), 1e6), regrets])


@pytest.mark.parametrize(
    ("power", "expected"), [(0.5, "supported"), (1.0, "open"), (1.2, "contradicted")]
)
def test_sublinear_regret_is_an_exponent_below_1(power: float, expected: str) -> None:
    problems = ["levy_10", "levy_20"]
    values = growing_as(power)
    runs = made_runs({p: {"neural_bo": values} for p in problems}, optimal_value=0.0)
    comparisons = measures.sublinear_regret(runs, problems=problems)
    assert outcomes(comparisons) == [expected] * 2
    slopes = measures.exponents(np.cumsum(values[:, INITIAL:], axis=1))
    assert slopes == pytest.approx(power + 0.02 * np.random.default_rng(0).standard_normal(5))
    # two equal tests: Holm's p is twice Student's
    p = stats.ttest_1samp(slopes, 1.0, alternative="less").pvalue
    assert f"t to the {slopes.mean():.2f} [" in comparisons[0].ours
    if expected == "supported":
        assert comparisons[0].ours.endswith(f"(5 seeds), p {tables.p_value(2 * p)}")


def test_an_early_fall_to_a_level_is_linear_regret() -> None:
    """10 a round in the first quarter, then 1."""
    totals = np.cumsum(np.where(np.arange(400) < 100, 10.0, 1.0))[None]
    assert measures.exponents(totals) == pytest.approx(1.0)


def test_sublinear_regret_needs_rounds_and_an_optimum() -> None:
    short = made_runs({"levy_10": {"neural_bo": growing_as(0.5, rounds=99)}}, optimal_value=0.0)
    with pytest.raises(MissingRunsError, match="99 rounds, fewer than 100"):
        measures.sublinear_regret(short, problems=["levy_10"])
    with pytest.raises(RepliboError, match="its optimum is not known"):
        measures.sublinear_regret(
            made_runs({"levy_10": {"neural_bo": growing_as(0.5)}}), problems=["levy_10"]
        )


def timed_runs(power: float) -> Runs:
    """Three runs of 2,000 queries, the nth at n^power CPU seconds."""
    runs = made_runs({"levy_10": {"neural_bo": around(0.0, 3)}})
    first = [1, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536]
    n = np.arange(1, 2001)
    bins = np.digitize(n, first) - 1
    seconds = np.bincount(bins, weights=3.0 * n**power)
    profile = {str(n): float(s) for n, s in zip(first, seconds, strict=True)}
    runs.metadata["timings"]["levy_10/neural_bo"] = {
        "runs": 3,
        "queries": 6000,
        "cpu_seconds": float(seconds.sum()),
        "profile": profile,
    }
    return runs


@pytest.mark.parametrize(
    ("power", "expected"), [(1.0, "supported"), (1.4, "supported"), (2.0, "contradicted")]
)
def test_the_cost_of_a_round_grows_as_a_power_of_n(power: float, expected: str) -> None:
    runs = timed_runs(power)
    n, seconds = common.cpu_seconds_by_query(runs, "levy_10", "neural_bo")
    assert seconds == pytest.approx(n**power, rel=0.03)  # of the bins' middles
    assert n[-1] == (1536 + 2000) / 2
    (comparison,) = measures.cost_of_a_round(runs, problems=["levy_10"])
    assert comparison.outcome == expected
    assert float(comparison.ours.rpartition("n to the ")[2]) == pytest.approx(power, abs=0.03)


def test_the_cost_of_a_round_needs_times() -> None:
    short = timed_runs(1.0)
    profile = short.metadata["timings"]["levy_10/neural_bo"]["profile"]
    for first in ("384", "512", "768", "1024", "1536"):
        del profile[first]
    for runs in (made_runs({"levy_10": {"neural_bo": around(0.0, 3)}}), short):
        with pytest.raises(
            MissingRunsError, match=r"^no CPU times of .+ on .+ far beyond n = 256$"
        ):
            measures.cost_of_a_round(runs, problems=["levy_10"])
