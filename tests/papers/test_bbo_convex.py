"""The convex inner problem of the BBO paper: measures and figure on regrets with a known answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from replibo.config import load
from replibo.papers.bbo import convex, tables
from replibo.results import plotting
from replibo.results.comparisons import MissingRunsError
from replibo.results.runs import Runs

LOSS, BUDGETS = 0.3, [1600, 6400, 25600]
ENTRY = load.load(Path(__file__).parents[2] / "config").paper("bbo")
HORIZONS = {
    name: entry.horizon or 0
    for name, entry in ENTRY.problems.items()
    if entry.type == convex.CONVEX
}


def made(power: float, problems: dict[str, int], **columns: float) -> Runs:
    """Every query has the regret N^-power, but for a percent of noise that the seed draws."""
    rng, parts, facts = np.random.default_rng(0), [], {}
    for problem, horizon in problems.items():
        n = int(ENTRY.problems[problem].parameters["iterations"])
        for name in ("gp_ei", "gp_ucb"):
            losses = LOSS + n**-power * np.repeat(1 + 0.01 * rng.normal(size=5), horizon)
            parts.append(
                pa.table(
                    {
                        "problem": [problem] * len(losses),
                        "algorithm": [name] * len(losses),
                        "seed": np.repeat(np.arange(5), horizon),
                        "t": np.tile(np.arange(1, horizon + 1), 5),
                        "f": -losses,
                        **{key: np.full(len(losses), value) for key, value in columns.items()},
                    }
                )
            )
        facts[problem] = {
            "initial_points": 3,
            "horizon": horizon,
            "optimal_value": None,
            "stand_in": "",
            "dim": 1,
        }
    return Runs(ENTRY, {"scale": "paper", "problems": facts}, pa.concat_tables(parts))


@pytest.mark.parametrize(("power", "expected"), [(0.5, "supported"), (-0.5, "contradicted")])
def test_the_exponent_is_that_of_the_runs(power: float, expected: str) -> None:
    """R_T = T^(1 - power) with N = T."""
    runs = made(power, HORIZONS)
    T, totals = convex.totals_at_equal(convex.regrets(runs, "gp_ei", LOSS))
    np.testing.assert_array_equal(T, [20, 40, 80, 160])
    slope = np.polyfit(np.log(np.sqrt(T) * np.log(T)), (1 - power) * np.log(T), 1)[0]
    assert float(convex.exponent(T, totals).mean) == pytest.approx(slope, abs=0.02)
    found = convex.order_of_the_bound(runs, smallest_loss=LOSS)
    assert [one.outcome for one in found] == [expected] * 2


def test_of_equal_cost_the_larger_n_is_better_where_regret_falls_with_n() -> None:
    found = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, budgets=BUDGETS)
    assert [one.outcome for one in found] == ["contradicted", "supported"] * 2
    # √2 times that of N = 4 T, and 1/√2 times that of T = 4 N
    assert "is 1.41 times" in found[0].ours or "is 1.42 times" in found[0].ours
    assert "is 0.71 times" in found[1].ours and "2 budgets" in found[1].ours


def test_cells_of_equal_cost() -> None:
    values = {n: np.zeros((1, t)) for n, t in ((20, 160), (40, 160), (80, 100), (1280, 20))}
    assert convex.cells_of(values, 3200) == [(160, 20), (80, 40), (40, 80)]
    assert convex.cells_of(values, 25600) == [(20, 1280)]


def test_the_figure_and_what_it_needs(tmp_path: Path) -> None:
    figure_entry = ENTRY.figures["convex"]
    runs = made(0.5, HORIZONS)
    figure = convex.theorem(runs, figure_entry, **figure_entry.options)
    figure.savefig(tmp_path / "figure.png")
    assert "Student" not in plotting.caption_of(figure) and len(figure.axes) == 4
    left, right = figure.axes[:2]
    assert [text.get_text().split(":")[0] for text in left.texts] == ["N = T", "N = 20", "N = 160"]
    assert {line.get_label() for line in right.lines} >= {"N = T"}
    with pytest.raises(MissingRunsError, match="N = T at three T"):
        convex.order_of_the_bound(made(0.5, {"softmax_20": 160}), smallest_loss=LOSS)


def test_the_table_of_the_larger_network() -> None:
    diagnostics = {"test_cross_entropy": 0.1, "test_error": 3.25, "log10_learning_rate": -1.0}
    runs = made(0.5, {"n_100": 20, "n_100_large": 20}, **diagnostics)
    table = tables.larger_network(runs, ENTRY.tables["larger_network"])
    rows = table.frame.to_dict("records")
    assert [(row["algorithm"], row["performance, paper"]) for row in rows] == [
        ("EI", 3.15),
        ("UCB", 2.93),
    ]
    assert rows[0]["test error (%), larger"] == pytest.approx(3.25) and rows[0]["seeds (ours)"] == 5
    # not run: its columns are empty
    runs = made(0.5, {"n_100": 20}, **diagnostics)
    rows = tables.larger_network(runs, ENTRY.tables["larger_network"]).frame.to_dict("records")
    assert [(row["seeds (larger)"], row["seeds (ours)"]) for row in rows] == [(0, 5), (0, 5)]
