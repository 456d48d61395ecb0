"""The convex inner problem of the BBO paper: measures and figure on regrets with a known answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from replibo.config import claims, load
from replibo.papers.bbo import convex, tables
from replibo.results import plotting
from replibo.results.comparisons import MissingRunsError
from replibo.results.runs import Runs

from .conftest import drawn, pair, runs_of

LOSS = 0.3
BOTH = ["gp_ei", "gp_ucb"]
BUDGETS = {"more_steps": [1600, 6400, 25600], "more_queries": [1600, 6400], "algorithms": BOTH}
ENTRY = load.load(Path(__file__).parents[2] / "config").paper("bbo")
HORIZONS = {
    name: entry.horizon or 0
    for name, entry in ENTRY.problems.items()
    if entry.type == "mnist_softmax.MnistSoftmax"
    and name not in ("softmax_5", "softmax_9", "softmax_13")
}


def made(
    power: float,
    problems: dict[str, int],
    *,
    seeds: Mapping[str, list[int]] | None = None,
    factors: Mapping[str, float] | None = None,
    **columns: float,
) -> Runs:
    """Every query has the regret N^-power, but for a percent of noise that the seed draws.

    Args:
        seeds: of a problem, where they are not 0 to 4.
        factors: of an algorithm's regret, where it is not 1.
    """
    rng, pairs = np.random.default_rng(0), []
    for problem, horizon in problems.items():
        n = int(ENTRY.problems[problem].parameters["iterations"])
        ran = (seeds or {}).get(problem, list(range(5)))
        for name in ("gp_ei", "gp_ucb"):
            level = (factors or {}).get(name, 1.0) * n**-power
            drawn = (1 + 0.01 * rng.normal(size=max(5, *ran) + 1))[ran]
            f = -(LOSS + level * np.repeat(drawn[:, None], horizon, axis=1))
            filled = {key: np.full(f.size, value) for key, value in columns.items()}
            pairs.append(pair((problem, name), f, 1, ran, **filled))
    return runs_of(ENTRY, pairs, {p: {"horizon": t, "dim": 1} for p, t in problems.items()})


@pytest.mark.parametrize(("power", "expected"), [(0.5, "supported"), (-0.5, "contradicted")])
def test_the_exponent_is_that_of_the_runs(power: float, expected: str) -> None:
    """R_T = T^(1 - power) with N = T."""
    runs = made(power, HORIZONS)
    T, totals = convex.totals_at_equal(convex.regrets(runs, "gp_ei", LOSS))
    np.testing.assert_array_equal(T, [20, 40, 80, 160])
    slope = np.polyfit(np.log(np.sqrt(T) * np.log(T)), (1 - power) * np.log(T), 1)[0]
    assert float(convex.exponent(T, totals).mean) == pytest.approx(slope, abs=0.02)
    cells = [(20, 20), (40, 40), (80, 80), (160, 160)]
    found = convex.order_of_the_bound(runs, smallest_loss=LOSS, cells=cells)
    assert [one.outcome for one in found] == [expected] * 2
    assert "futile" not in found[0].ours and "that with N = T" not in found[0].ours


def test_by_the_kernels_own_gain_the_bound_grows_more_slowly() -> None:
    """One observation has the gain ½ ln(1 + σ⁻²), and R_T = T^0.65 is between both orders."""
    cells = [(20, 20), (40, 40), (80, 80), (160, 160)]
    T, kernel = np.array([t for t, _ in cells], dtype=float), (0.2, 0.01)
    np.testing.assert_allclose(convex.root(np.ones(1), kernel), np.sqrt([0.5 * np.log(101)]))
    gains = convex.root(T, kernel) ** 2 / T
    assert (np.diff(gains) > 0).all() and (np.diff(gains / np.log(T) ** 2) < 0).all()
    options: dict[str, Any] = {"smallest_loss": LOSS, "cells": cells}
    for own, expected in (((), "supported"), (kernel, "contradicted")):
        found = convex.order_of_the_bound(made(0.35, HORIZONS), kernel=own, **options)
        assert [one.outcome for one in found] == [expected] * 2
    fixed = ENTRY.algorithms["gp_ei_fixed"].parameters
    reading = claims.load(load.load(), "bbo")["bbo_7"].readings["gain"]
    assert reading.options["kernel"] == [fixed["length_scale"], fixed["noise_variance"]]


def test_the_growth_along_fewer_steps() -> None:
    """R_T = T^½ with N = T, and T^¾ with N = √T, of the seeds that all N have."""
    few: dict[str, Any] = {"softmax_5": 25, "softmax_9": 81, "softmax_13": 169}
    options: dict[str, Any] = {
        "smallest_loss": LOSS,
        "cells": [(20, 20), (40, 40), (80, 80)],
        "rival_cells": [(25, 5), (81, 9), (169, 13)],
    }
    runs = made(0.5, HORIZONS | few, seeds={"softmax_9": [1, 2, 3, 4], "softmax_40": [0, 2, 3, 4]})
    (found,) = convex.slower_growth(runs, algorithm="gp_ei", rival="gp_ei", **options)
    assert found.outcome == "supported" and found.effect is not None and found.effect.n == (3,)
    powers = [float(power) for power in re.findall(r"R_T goes as T to the (\S+) \[", found.ours)]
    assert powers == pytest.approx([0.5, 0.75], abs=0.03)
    options["cells"], options["rival_cells"] = options["rival_cells"], options["cells"]
    two = convex.slower_growth(runs, algorithm="gp_ucb", rival="gp_ei", below_1=True, **options)
    assert [one.outcome for one in two] == ["contradicted", "supported"]
    assert "EI, N" not in two[1].ours and "UCB, (T, N) = (25, 5)" in two[1].ours
    with pytest.raises(
        MissingRunsError, match=r"not run: gp_ei at each of \(T, N\) = \(25, 5\), \(81"
    ):
        convex.slower_growth(made(0.5, HORIZONS), algorithm="gp_ei", rival="gp_ei", **options)


def test_of_equal_cost_the_larger_n_is_better_where_regret_falls_with_n() -> None:
    found = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, **BUDGETS)
    assert [one.outcome for one in found] == ["contradicted"] * 2
    # √2 times that of N = 4 T, and 1/√2 times that of T = 4 N
    assert "is 1.41 times" in found[0].ours or "is 1.42 times" in found[0].ours
    assert "EI, 2 budgets: R_T/T with N = T is 0.71 times that with T = 4 N" in found[0].ours
    # with N = 4 T, against N = T and N = 16 T
    budgets = {"more_steps": [1600], "more_queries": [1600, 6400, 25600], "algorithms": BOTH}
    found = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, constant=4, **budgets)
    assert [one.outcome for one in found] == ["contradicted"] * 2
    assert "3 budgets: R_T/T with N = 4 T is 0.71 times that with N = T" in found[0].ours
    assert "1 budgets: R_T/T with N = 4 T is 1.4" in found[0].ours


@pytest.mark.parametrize(("worse", "expected"), [(2.0, "supported"), (1.0, "open")])
def test_n_is_best_where_fewer_and_more_steps_are_shown_to_be_worse(
    monkeypatch: pytest.MonkeyPatch, worse: float, expected: str
) -> None:
    """Regret with N = 4 T is ``worse`` times that with N = T, with T = 4 N twice."""
    noise = 1 + 0.01 * np.random.default_rng(0).normal(size=(5, 1))
    level = {1: 1.0, 4: worse, 0.25: 2.0}

    def first(values: Any, t: int, n: int) -> Any:
        own = noise if level[n / t] != 1 else noise[::-1]
        return level[n / t] * np.repeat(own, t, axis=1)

    monkeypatch.setattr(convex, "_first", first)
    found = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, **BUDGETS)
    assert [one.outcome for one in found] == [expected] * 2


def test_runs_that_are_shorter_than_asked_leave_a_budget_open() -> None:
    """At 6,400 N = T is 80 rounds, N = 4 T 40 and T = 4 N 160."""
    for problem, horizon, missing in (
        ("softmax_80", 79, ["N = 4 T at T·N = 6,400", "T = 4 N at T·N = 6,400"]),
        ("softmax_160", 39, ["N = 4 T at T·N = 6,400", "N = 4 T at T·N = 25,600"]),
        ("softmax_40", 159, ["T = 4 N at T·N = 6,400"]),
    ):
        runs = made(0.5, {**HORIZONS, problem: horizon})
        found = convex.balance(runs, smallest_loss=LOSS, **BUDGETS)
        assert [one.outcome for one in found[:2]] == ["contradicted"] * 2
        left = [one.ours for one in found[2:]]
        assert left == [
            f"not run: {name}, N = T against {own}" for name in ("EI", "UCB") for own in missing
        ]
        assert {one.outcome for one in found[2:]} == {"open"}
        assert "is 1.4" in found[0].ours  # of equal budgets alone
    with pytest.raises(
        MissingRunsError, match=r"not run: EI, N = T against N = 4 T at T·N = 1,600"
    ):
        convex.balance(made(0.5, {"softmax_20": 160}), smallest_loss=LOSS, **BUDGETS)


def test_n_are_compared_on_the_seeds_that_all_have() -> None:
    seeds = {"softmax_40": [1, 2, 3, 7], "softmax_80": [0, 1, 3, 4, 7]}
    runs = made(0.5, HORIZONS | {"softmax_80": 160}, seeds=seeds)
    values = convex.regrets(runs, "gp_ei", LOSS)
    assert {len(own) for own in values.values()} == {2}  # 1 and 3
    own = -runs.f("softmax_40", "gp_ei")[[0, 2]] - LOSS
    np.testing.assert_allclose(values[40], own)
    comparisons = convex.balance(runs, smallest_loss=LOSS, **BUDGETS)
    assert len(comparisons) == 2
    assert all("] (2 seeds), p" in comparison.ours for comparison in comparisons)
    with pytest.raises(MissingRunsError):
        none = made(0.5, HORIZONS, seeds={"softmax_40": [5]})
        convex.balance(none, smallest_loss=LOSS, **BUDGETS)


def test_with_more_steps_the_order_and_the_ratio_to_n_equal_t() -> None:
    """Per-query regret N^-0.5: with N = 4 T the same order, and half the regret."""
    options: dict[str, Any] = {"smallest_loss": LOSS, "cells": [(20, 80), (40, 160), (80, 320)]}
    found = convex.order_of_the_bound(made(0.5, HORIZONS), **options)
    assert [one.outcome for one in found] == ["supported"] * 2
    assert "(T, N) = (20, 80), (40, 160), (80, 320)" in found[0].ours
    assert "R_T is 0.50 times that with N = T [0." in found[0].ours
    with pytest.raises(MissingRunsError, match=r"EI at each of \(T, N\)"):
        convex.order_of_the_bound(made(0.5, {**HORIZONS, "softmax_320": 79}), **options)


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.9, "supported"), (1.1, "contradicted"), (1.0, "open")]
)
def test_the_resilient_one_has_less_regret(factor: float, expected: str) -> None:
    options: dict[str, Any] = {
        "smallest_loss": LOSS,
        "cells": [(160, 20)],
        "algorithm": "gp_ucb",
        "rivals": ["gp_ei"],
    }
    runs = made(0.5, {"softmax_20": 160}, factors={"gp_ucb": factor})
    (found,) = convex.smaller_regret(runs, **options)
    assert found.outcome == expected
    own, theirs = ((-runs.f("softmax_20", name) - LOSS).sum(axis=1) for name in ("gp_ucb", "gp_ei"))
    ratio = np.exp(np.mean(np.log(own / theirs)))
    assert f"R_T is {ratio:.2f} times that of EI" in found.ours
    with pytest.raises(
        MissingRunsError, match=r"gp_ucb and gp_ei at each of \(T, N\) = \(160, 20\)"
    ):
        convex.smaller_regret(made(0.5, {"softmax_20": 159}), **options)


def test_an_incumbent_is_the_best_mean_so_far_and_its_regret_its_own() -> None:
    """Of a fixed kernel and queries far apart the mean is the observation, shrunk: the best so far."""
    runs = made(0.5, {"softmax_20": 4}, log10_learning_rate=0.0)
    upper = -0.5 * np.log10(20)
    columns = {
        "f": np.tile([-0.9, -0.5, -0.7, -0.4], 10),
        "log10_learning_rate": np.tile(np.linspace(-4, upper, 4), 10),
    }
    for name, values in columns.items():
        column = runs.table.column_names.index(name)
        runs.table = runs.table.set_column(column, name, pa.array(values))
    entry = ENTRY.model_copy(
        update={"algorithms": ENTRY.algorithms | {"gp_ei": ENTRY.algorithms["gp_ei_fixed"]}}
    )
    runs = Runs(entry, runs.metadata, runs.table)
    rows = convex.incumbents_of(runs, "softmax_20", "gp_ei")
    np.testing.assert_array_equal(rows, [[0, 1, 1, 3]] * 5)
    values = convex.regrets(runs, "gp_ei", LOSS, incumbents=True)[20]
    np.testing.assert_allclose(values, [[0.6, 0.2, 0.2, 0.1]] * 5)
    queries = convex.regrets(runs, "gp_ucb", LOSS, incumbents=True)[20]
    np.testing.assert_allclose(queries, [[0.6, 0.2, 0.4, 0.1]] * 5)  # of UCB the queries


def test_cells_of_equal_cost() -> None:
    values = {n: np.zeros((1, t)) for n, t in ((20, 160), (40, 160), (80, 100), (1280, 20))}
    assert convex.cells_of(values, 3200) == [(160, 20), (80, 40), (40, 80)]
    assert convex.cells_of(values, 25600) == [(20, 1280)]


def test_the_figure_and_what_it_needs() -> None:
    figure_entry = ENTRY.figures["convex"]
    runs = made(0.5, HORIZONS)
    figure = drawn(convex.theorem(runs, figure_entry, **figure_entry.options))
    assert "Student" not in plotting.caption_of(figure) and len(figure.axes) == 4
    left, right = figure.axes[:2]
    assert [text.get_text().split(":")[0] for text in left.texts] == ["N = T", "N = 20", "N = 160"]
    assert {line.get_label() for line in right.lines} >= {"N = T"}


@pytest.mark.parametrize(
    ("output", "variant", "printed"),
    [("larger_network", "larger", (3.15, 2.93)), ("momentum", "momentum tuned", (2.58, 2.57))],
)
def test_a_variant_of_the_inner_problem_stands_beside_it(
    output: str, variant: str, printed: tuple[float, float]
) -> None:
    diagnostics = {"test_cross_entropy": 0.1, "test_error": 3.25, "log10_learning_rate": -1.0}
    entry = ENTRY.tables[output]
    horizons = {name: ENTRY.settings("paper", name).horizon or 0 for name in entry.problems or ()}
    table = tables.variant_of_problem(made(0.5, horizons, **diagnostics), entry, **entry.options)
    rows = table.frame.to_dict("records")
    assert tuple(row["performance, paper"] for row in rows) == printed
    assert rows[0][f"test error (%), {variant}"] == pytest.approx(3.25)
    assert rows[0]["seeds (ours)"] == rows[0][f"seeds ({variant})"] == 5
    # not run: its columns are empty
    del horizons[list(horizons)[1]]
    table = tables.variant_of_problem(made(0.5, horizons, **diagnostics), entry, **entry.options)
    counts = table.frame[[f"seeds ({variant})", "seeds (ours)"]]
    assert counts.to_numpy().tolist() == [[0, 5], [0, 5]]
