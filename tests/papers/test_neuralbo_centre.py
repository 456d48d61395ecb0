"""The controls of NeuralBO's Figure 1, on traces whose values are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from replibo.config import load
from replibo.errors import RepliboError
from replibo.papers.neuralbo import centre, figures

from .conftest import pair, runs_of

ENTRY = load.load(Path(__file__).parents[2] / "config").paper("neuralbo")
INITIAL, HORIZON, SEEDS = 3, 12, 2


def made_runs(values, distance=True, **columns):
    """Runs that end in ``values[problem][algorithm]`` and ask at a distance of the last digit of t."""
    t = np.arange(1 - INITIAL, HORIZON + 1)
    if distance:
        columns["distance_to_centre"] = t / 10.0
    columns = {name: np.tile(rows, SEEDS) for name, rows in columns.items()}
    pairs = []
    for problem, algorithms in values.items():
        for name, final in algorithms.items():
            f = -(final + np.linspace(3.0, 0.0, len(t)))
            # seed 1 is 2 above seed 0
            pairs.append(pair((problem, name), [f, f - 2.0], t[0], **columns))
    facts = {"dim": 10, "initial_points": INITIAL, "horizon": HORIZON, "optimal_value": 0.0}
    return runs_of(ENTRY, pairs, {p: facts for p in values})


BOTH = {
    "ackley_10": {"neural_bo": 0.0, "gp_ts": 5.0},
    "ackley_10_shifted": {"neural_bo": 15.0, "gp_ts": 8.0, "centre_then_random": 17.0},
}


def entry(name, kind="figures"):
    return getattr(ENTRY, kind)[name]


def test_the_distance_is_the_mean_of_the_last_ten_queries():
    figure = centre.figure_1_centre_distance(made_runs(BOTH), entry("figure_1_centre_distance"))
    line = figure.axes[0].lines[0]
    # distances 0.1, 0.2, …, 1.2 at t = 1 … 12
    np.testing.assert_allclose(line.get_xdata(), [10, 11, 12])
    np.testing.assert_allclose(line.get_ydata(), [0.55, 0.65, 0.75])


def test_the_table_of_the_sisters():
    table = centre.centre_final(made_runs(BOTH), entry("centre_final", "tables"))
    frame = table.frame.set_index(["problem", "algorithm"])
    row = frame.loc["Ackley, 10-D, shifted", "NeuralBO"]
    assert (row["seeds"], row["T"]) == (2, HORIZON)
    assert list(row.iloc[2:]) == pytest.approx([16.0, np.sqrt(2.0), 0.75])
    without = centre.centre_final(made_runs(BOTH, distance=False), entry("centre_final", "tables"))
    assert without.frame.iloc[:, -1].isna().all()


def test_a_function_and_its_sister_are_shown_to_the_same_round():
    runs = made_runs(BOTH)
    sister = np.array([p.endswith("shifted") for p in runs.table["problem"].to_pylist()])
    runs.table = runs.table.filter(~sister | (runs.table["t"].to_numpy() <= 6))
    facts = runs.metadata["problems"]
    facts["ackley_10_shifted"] = {**facts["ackley_10_shifted"], "horizon": 6}
    figure = figures.best_so_far(made_runs(BOTH), entry("figure_1_centre"), rounds=6)
    assert {line.get_xdata()[-1] for ax in figure.axes for line in ax.lines} == {6}
    frame = centre.centre_final(runs, entry("centre_final", "tables")).frame
    row = frame.set_index(["problem", "algorithm"]).loc["Ackley, 10-D", "GP-TS"]
    # 15 rows from 8 down to 5: at t = 6, the ninth, 8 - 3·8/14, and seed 1 is 2 above
    at_6 = 5.0 + 3.0 * 6 / 14 + 1.0
    assert list(row) == pytest.approx([2, 6, at_6, np.sqrt(2.0), 0.35])


def test_the_table_of_the_factorial_study():
    rounds = np.full(INITIAL + HORIZON, np.nan)
    rounds[INITIAL:] = [1.0] * 3 + [0.0] * 9
    name = "factorial_constant_raw_sum_scaled"
    runs = made_runs({"levy_10_factorial": {name: 1.0}}, diverged=rounds)
    table = centre.factorial(runs, entry("factorial", "tables"))
    (row,) = table.frame.to_dict("records")
    assert [row[key] for key in ("constant input", "y", "loss of a batch", "inputs")] == [
        "yes",
        "as observed",
        "sum",
        "[−1, 1]/√D",
    ]
    assert row["smallest value, mean"] == pytest.approx(2.0)
    assert row["rounds diverged (share)"] == pytest.approx(0.25)
    assert "25.0%" in table.md()


def test_the_factorial_study_has_every_combination_once():
    cells = {
        tuple(a.parameters[key] for key in centre.FACTORS)
        for name, a in ENTRY.algorithms.items()
        if name.startswith("factorial_")
    }
    assert len(cells) == 16
    listed = ENTRY.settings("paper", "ackley_10_factorial").algorithms
    assert listed == [name for name in ENTRY.algorithms if name.startswith("factorial_")]


def test_no_runs_is_said_in_one_line():
    runs = made_runs({"ackley_20": {"neural_bo": 0.0}})
    with pytest.raises(RepliboError, match="no runs on ackley_10, ackley_10_shifted"):
        figures.best_so_far(runs, entry("figure_1_centre"))
    with pytest.raises(RepliboError, match="no run holds distance_to_centre"):
        centre.figure_1_centre_distance(runs, entry("figure_1_centre_distance"))
