"""The controls of NeuralBO's Figure 1, on traces whose values are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from replibo.config import load
from replibo.papers.neuralbo import centre, figures

from .conftest import pair, runs_of

ENTRY = load.load(Path(__file__).parents[2] / "config").paper("neuralbo")
INITIAL, HORIZON, SEEDS = 3, 12, 2
BOTH = {
    "ackley_10": {"neural_bo": 0.0, "gp_ts": 5.0},
    "ackley_10_shifted": {"neural_bo": 15.0, "gp_ts": 8.0, "centre_then_random": 17.0},
}


def made_runs(values, distance=True, **columns):
    """Runs that end in ``values[problem][algorithm]``, seed 1 two above seed 0, and ask at a distance of
    t / 10."""
    t = np.arange(1 - INITIAL, HORIZON + 1)
    if distance:
        columns["distance_to_centre"] = t / 10.0
    columns = {name: np.tile(rows, SEEDS) for name, rows in columns.items()}
    pairs = []
    for problem, algorithms in values.items():
        for name, final in algorithms.items():
            f = -(final + np.linspace(3.0, 0.0, len(t)))
            pairs.append(pair((problem, name), [f, f - 2.0], t[0], **columns))
    facts = {"dim": 10, "initial_points": INITIAL, "horizon": HORIZON, "optimal_value": 0.0}
    return runs_of(ENTRY, pairs, {p: facts for p in values})


def test_the_distance_is_the_mean_of_the_last_ten_queries():
    entry = ENTRY.figures["figure_1_centre_distance"]
    line = centre.figure_1_centre_distance(made_runs(BOTH), entry).axes[0].lines[0]
    # distances 0.1, 0.2, …, 1.2 at t = 1 … 12
    np.testing.assert_allclose(line.get_xdata(), [10, 11, 12])
    np.testing.assert_allclose(line.get_ydata(), [0.55, 0.65, 0.75])


def test_a_function_and_its_sister_are_shown_to_the_same_round():
    runs, entry = made_runs(BOTH), ENTRY.tables["centre_final"]
    frame = centre.centre_final(runs, entry).frame.set_index(["problem", "algorithm"])
    row = frame.loc["Ackley, 10-D, shifted", "NeuralBO"]
    assert list(row) == pytest.approx([2, HORIZON, 16.0, np.sqrt(2.0), 0.75])
    without = centre.centre_final(made_runs(BOTH, distance=False), entry)
    assert without.frame.iloc[:, -1].isna().all()

    sister = np.array([p.endswith("shifted") for p in runs.table["problem"].to_pylist()])
    runs.table = runs.table.filter(~sister | (runs.table["t"].to_numpy() <= 6))
    facts = runs.metadata["problems"]
    facts["ackley_10_shifted"] = {**facts["ackley_10_shifted"], "horizon": 6}
    frame = centre.centre_final(runs, entry).frame.set_index(["problem", "algorithm"])
    # 15 rows from 8 down to 5: at t = 6, the ninth, 8 - 3·8/14, and seed 1 is 2 above
    at_6 = 5.0 + 3.0 * 6 / 14 + 1.0
    row = frame.loc["Ackley, 10-D", "GP-TS"]
    assert list(row) == pytest.approx([2, 6, at_6, np.sqrt(2.0), 0.35])
    figure = figures.best_so_far(made_runs(BOTH), ENTRY.figures["figure_1_centre"], rounds=6)
    assert {line.get_xdata()[-1] for ax in figure.axes for line in ax.lines} == {6}


def test_the_factorial_study_has_every_combination_once():
    names = [name for name in ENTRY.algorithms if name.startswith("factorial_")]
    assert ENTRY.settings("paper", "ackley_10_factorial").algorithms == names
    cells = {tuple(ENTRY.algorithms[a].parameters[key] for key in centre.FACTORS) for a in names}
    assert len(cells) == 16

    rounds = np.repeat([np.nan, 1.0, 0.0], [INITIAL, 3, 9])
    values = {"levy_10_factorial": {"factorial_constant_raw_sum_scaled": 1.0}}
    table = centre.factorial(made_runs(values, diverged=rounds), ENTRY.tables["factorial"])
    (row,) = table.frame.to_dict("records")
    factors = [row[key] for key in ("constant input", "y", "loss of a batch", "inputs")]
    assert factors == ["yes", "as observed", "sum", "[−1, 1]/√D"]
    assert row["smallest value, mean"] == pytest.approx(2.0)
    assert row["rounds diverged (share)"] == pytest.approx(0.25) and "25.0%" in table.md()
