"""The convex inner problem of the BBO paper: measures and figure on regrets with a known answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replibo.config import claims, load
from replibo.papers.bbo import convex, tables
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs

from .conftest import drawn, outcomes, pair, runs_of

LOSS = 0.3
BOTH = ["gp_ei", "gp_ucb"]
BUDGETS = {"more_steps": [1600, 6400, 25600], "more_queries": [1600, 6400]}
EVEN = [(20, 20), (40, 40), (80, 80), (160, 160)]
MORE_STEPS = [(20, 80), (40, 160), (80, 320)]
FEW_STEPS = [(25, 5), (81, 9), (169, 13)]
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
    factors: Mapping[str | int, float] | None = None,
    **columns: float,
) -> Runs:
    """Every query has the regret N^-power, except for a percent of noise that the seed draws.

    Args:
        seeds: of a problem or an algorithm, if they are not 0 to 4.
        factors: of the regret of an algorithm or N, if it is not 1.
    """
    rng, pairs, seeds, factors = np.random.default_rng(0), [], seeds or {}, factors or {}
    for problem, horizon in problems.items():
        n = int(ENTRY.problems[problem].parameters["iterations"])
        for name in ("gp_ei", "gp_ucb"):
            ran = seeds.get(problem, seeds.get(name, [*range(5)]))
            level = factors.get(name, 1.0) * factors.get(n, 1.0) * n**-power
            drawn = (1 + 0.01 * rng.normal(size=max(5, *ran) + 1))[ran]
            f = -(LOSS + level * np.repeat(drawn[:, None], horizon, axis=1))
            filled = {key: np.full(f.size, value) for key, value in columns.items()}
            pairs.append(pair((problem, name), f, 1, ran, **filled))
    return runs_of(ENTRY, pairs, {p: {"horizon": t, "dim": 1} for p, t in problems.items()})


def printed(pattern: str, comparison: Comparison) -> list[float]:
    """The numbers that a comparison says."""
    return [float(number) for number in re.findall(pattern, comparison.ours)]


@pytest.mark.parametrize(
    ("power", "cells", "expected"),
    [(0.5, EVEN, "supported"), (-0.5, EVEN, "contradicted"), (0.5, MORE_STEPS, "supported")],
)
def test_the_exponent_is_that_of_the_runs(power: float, cells: Any, expected: str) -> None:
    """R_T = T N^-power, and N in proportion to T; with N = 4 T half the regret of N = T."""
    found = convex.order_of_the_bound(made(power, HORIZONS), smallest_loss=LOSS, cells=cells)
    assert outcomes(found) == [expected] * 2
    T = np.array([t for t, _ in cells])
    slope = np.polyfit(np.log(np.sqrt(T) * np.log(T)), (1 - power) * np.log(T), 1)[0]
    assert printed(r"√\(T γ_T\) to the (\S+) \[", found[0]) == [pytest.approx(slope, abs=0.02)]
    assert ("(T, N) = (20, 80), (40, 160), (80, 320)" in found[0].ours) == (cells == MORE_STEPS)
    assert ("R_T is 0.50 times that with N = T [0." in found[0].ours) == (cells == MORE_STEPS)
    assert ("that with N = T" in found[0].ours) == (cells == MORE_STEPS)


def test_by_the_kernels_own_gain_the_bound_grows_more_slowly() -> None:
    """One observation has the gain ½ ln(1 + σ⁻²), and R_T = T^0.65 is between both orders."""
    T, kernel = np.array([t for t, _ in EVEN], dtype=float), (0.2, 0.01)
    np.testing.assert_allclose(convex.root(np.ones(1), kernel), np.sqrt([0.5 * np.log(101)]))
    gains = convex.root(T, kernel) ** 2 / T
    assert (np.diff(gains) > 0).all() and (np.diff(gains / np.log(T) ** 2) < 0).all()
    options: dict[str, Any] = {"smallest_loss": LOSS, "cells": EVEN}
    for of_bound, expected in (((), "supported"), (kernel, "contradicted")):
        found = convex.order_of_the_bound(made(0.35, HORIZONS), kernel=of_bound, **options)
        assert outcomes(found) == [expected] * 2
    fixed = ENTRY.algorithms["gp_ei_fixed"].parameters
    reading = claims.load(load.load(), "bbo")["bbo_7"].readings["gain"]
    assert reading.options["kernel"] == [fixed["length_scale"], fixed["noise_variance"]]


def test_the_growth_along_fewer_steps() -> None:
    """R_T = T^½ with N = T, and T^¾ with N = √T, of the seeds that all N have."""
    few: dict[str, Any] = {"softmax_5": 25, "softmax_9": 81, "softmax_13": 169}
    options: dict[str, Any] = {"smallest_loss": LOSS, "cells": EVEN[:3], "rival_cells": FEW_STEPS}
    runs = made(0.5, HORIZONS | few, seeds={"softmax_9": [1, 2, 3, 4], "softmax_40": [0, 2, 3, 4]})
    (found,) = convex.slower_growth(runs, algorithm="gp_ei", rival="gp_ei", **options)
    assert found.outcome == "supported" and found.effect is not None and found.effect.n == (3,)
    powers = printed(r"R_T goes as T to the (\S+) \[", found)
    assert powers == pytest.approx([0.5, 0.75], abs=0.03)
    options["cells"], options["rival_cells"] = options["rival_cells"], options["cells"]
    two = convex.slower_growth(runs, algorithm="gp_ucb", rival="gp_ei", below_1=True, **options)
    assert outcomes(two) == ["contradicted", "supported"]
    assert "EI, N" not in two[1].ours and "UCB, (T, N) = (25, 5)" in two[1].ours


def test_of_equal_cost_the_larger_n_is_better_where_regret_falls_with_n() -> None:
    """√2 times that of N = 4 T, and 1/√2 times that of T = 4 N."""
    (found,) = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, **BUDGETS)
    assert found.outcome == "contradicted"
    assert "is 1.41 times" in found.ours or "is 1.42 times" in found.ours
    assert "EI, 2 budgets: R_T/T with N = T is 0.71 times that with T = 4 N" in found.ours
    # with N = 4 T, against N = T and N = 16 T
    budgets = {"more_steps": [1600], "more_queries": [1600, 6400, 25600]}
    (found,) = convex.balance(made(0.5, HORIZONS), smallest_loss=LOSS, constant=4, **budgets)
    assert found.outcome == "contradicted"
    assert "3 budgets: R_T/T with N = 4 T is 0.71 times that with N = T" in found.ours
    assert "1 budgets: R_T/T with N = 4 T is 1.4" in found.ours


@pytest.mark.parametrize(("worse", "expected"), [(2.0, "supported"), (1.0, "open")])
def test_n_is_best_where_fewer_and_more_steps_are_shown_to_be_worse(
    worse: float, expected: str
) -> None:
    """Regret with N = 4 T = 80 is ``worse`` times that with N = T = 40, with T = 4 N = 80 twice."""
    runs = made(0.0, HORIZONS, factors={20: 2.0, 80: worse})
    budgets = {"more_steps": [1600], "more_queries": [1600]}
    (found,) = convex.balance(runs, smallest_loss=LOSS, **budgets)
    assert found.outcome == expected


@pytest.mark.parametrize(
    ("problem", "horizon", "missing"),
    [
        ("softmax_80", 79, ["N = 4 T at T·N = 6,400", "T = 4 N at T·N = 6,400"]),
        ("softmax_160", 39, ["N = 4 T at T·N = 6,400", "N = 4 T at T·N = 25,600"]),
        ("softmax_40", 159, ["T = 4 N at T·N = 6,400"]),
    ],
)
def test_runs_that_are_shorter_than_asked_leave_a_budget_open(
    problem: str, horizon: int, missing: list[str]
) -> None:
    """At 6,400 N = T is 80 rounds, N = 4 T 40 and T = 4 N 160."""
    runs = made(0.5, {**HORIZONS, problem: horizon})
    first, *left = convex.balance(runs, smallest_loss=LOSS, **BUDGETS)
    assert first.outcome == "contradicted" and "is 1.4" in first.ours  # of equal budgets alone
    assert [comparison.ours for comparison in left] == [
        f"not run: EI, N = T against {budget}" for budget in missing
    ]
    assert {comparison.outcome for comparison in left} == {"open"}


def test_n_are_compared_on_the_seeds_that_all_have() -> None:
    seeds = {"softmax_40": [1, 2, 3, 7], "softmax_80": [0, 1, 3, 4, 7]}
    runs = made(0.5, HORIZONS | {"softmax_80": 160}, seeds=seeds)
    values = convex.regrets(runs, "gp_ei", LOSS)
    assert {len(regrets) for regrets in values.values()} == {2}  # 1 and 3
    np.testing.assert_allclose(values[40], -runs.f("softmax_40", "gp_ei")[[0, 2]] - LOSS)
    (found,) = convex.balance(runs, smallest_loss=LOSS, **BUDGETS)
    assert "] (2 seeds), p" in found.ours


def test_cells_that_were_not_run_are_said() -> None:
    line = r"not run: EI at each of \(T, N\) = \(20, 80\), \(40, 160\), \(80, 320\)"
    with pytest.raises(MissingRunsError, match=line):
        runs = made(0.5, HORIZONS | {"softmax_320": 79})
        convex.order_of_the_bound(runs, smallest_loss=LOSS, cells=MORE_STEPS)
    line = "not run: EI, N = T against N = 4 T at T·N = 1,600"
    with pytest.raises(MissingRunsError, match=line):
        convex.balance(made(0.5, {"softmax_20": 160}), smallest_loss=LOSS, **BUDGETS)


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.9, "supported"), (1.1, "contradicted"), (1.0, "open")]
)
def test_the_resilient_one_has_less_regret(factor: float, expected: str) -> None:
    options: dict[str, Any] = {"cells": [(160, 20)], "algorithm": "gp_ucb", "rivals": ["gp_ei"]}
    seeds = {"gp_ei": [*range(2, 9)]}
    runs = made(0.5, {"softmax_20": 160}, seeds=seeds, factors={"gp_ucb": factor})
    (found,) = convex.smaller_regret(runs, smallest_loss=LOSS, **options)
    assert found.outcome == expected
    ucb, ei = ((-runs.f("softmax_20", name) - LOSS).sum(axis=1) for name in ("gp_ucb", "gp_ei"))
    ucb, ei = ucb[2:], ei[:3]  # the seeds that both have
    assert f"R_T is {np.exp(np.mean(np.log(ucb / ei))):.2f} times that of EI" in found.ours


def test_an_incumbent_is_the_best_mean_so_far_and_its_regret_its_own() -> None:
    """Of a fixed kernel and queries far apart the mean is the observation, shrunk: the best so far."""
    f, pairs = [-0.9, -0.5, -0.7, -0.4, -0.6], []
    horizons = {20: 3, 40: 4, 80: 5}
    for n, T in horizons.items():
        rates = np.tile(np.linspace(-4, -0.5 * np.log10(n), T), 2)
        for name in ("gp_ei", "gp_ucb"):
            key = f"softmax_{n}", name
            pairs.append(pair(key, [f[:T], f[:T]], log10_learning_rate=rates))
    algorithms = ENTRY.algorithms | {"gp_ei": ENTRY.algorithms["gp_ei_fixed"]}
    entry = ENTRY.model_copy(update={"algorithms": algorithms})
    facts = {f"softmax_{n}": {"horizon": T, "dim": 1} for n, T in horizons.items()}
    runs = runs_of(entry, pairs, facts)
    rows = convex.incumbents_of(runs, "softmax_40", "gp_ei")
    np.testing.assert_array_equal(rows, [[0, 1, 1, 3]] * 2)
    regrets = convex.regrets(runs, "gp_ei", LOSS, incumbents=True)
    np.testing.assert_allclose(regrets[40], [[0.6, 0.2, 0.2, 0.1]] * 2)
    # the bound of EI is of the incumbents, that of UCB of the queries
    options: dict[str, Any] = {
        "smallest_loss": LOSS,
        "cells": [(T, n) for n, T in horizons.items()],
    }
    of_queries = convex.order_of_the_bound(runs, **options)
    of_incumbents = convex.order_of_the_bound(runs, incumbents=True, **options)
    assert of_queries[0] != of_incumbents[0] and of_queries[1] == of_incumbents[1]


def test_the_figure_and_what_it_needs() -> None:
    """Cells of equal cost T·N = 1,600 have ten queries at least: N = 20, 40, 80, 160."""
    figure_entry = ENTRY.figures["convex"]
    figure = drawn(convex.theorem(made(0.5, HORIZONS), figure_entry, **figure_entry.options))
    assert len(figure.axes) == 4
    left, right = figure.axes[:2]
    assert [text.get_text().split(":")[0] for text in left.texts] == ["N = T", "N = 20", "N = 160"]
    assert {line.get_label() for line in right.lines} >= {"N = T"}
    assert list(right.lines[0].get_xdata()) == [0.25, 1, 4, 16]


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
