"""The outputs and measures of the BBO paper, on traces whose losses and test results are known."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from replibo.config import load
from replibo.errors import RepliboError
from replibo.papers.bbo import claims as measures
from replibo.papers.bbo import figures, printed, traces
from replibo.papers.bbo import tables as bbo_tables
from replibo.papers.bbo.traces import READINGS, Reading
from replibo.results import effects, plotting, publish, statistics, tables
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs
from replibo.run import traces as files

from .conftest import caption_of, drawn, made_paper, outcomes, output, pair, runs_of, tuples

# Largest T of each N: one run serves all the tables.
HORIZONS = {100: 20, 500: 40, 1000: 60, 2000: 60, 3000: 60, 4000: 60, 6000: 60}
INITIAL = 5

PROBLEMS: dict[str, Any] = {
    f"n_{n}": {"label": f"N = {n}", "horizon": T, "parameters": {"iterations": n}}
    for n, T in HORIZONS.items()
}
PROBLEMS["n_1000_momentum"] = PROBLEMS["n_1000"] | {
    "label": "N = 1000, momentum",
    "parameters": {"iterations": 1000, "momentum": "tuned"},
}
ENTRY = made_paper(
    {name: {"type": "mnist_cnn.MnistCnn"} | entry for name, entry in PROBLEMS.items()},
    {
        "gp_ei": {"label": "GP-EI", "color": "orange"},
        "gp_ucb": {"label": "GP-UCB", "color": "vermillion"},
        "random_search": {"label": "Random search", "color": "grey"},
    },
    {"initial_points": INITIAL, "seeds": "0-4"},
    "initial",
)
Rows = dict[str, np.ndarray]


def made_runs(
    values: Mapping[str, Mapping[str, Rows]],
    *,
    scale: str = "paper",
    first_seed: Mapping[str, int] | None = None,
) -> Runs:
    """Runs with the given columns, ``seeds x queries`` each: ``f`` and the diagnostics.

    Args:
        first_seed: of an algorithm, if it is not 0.
    """
    pairs, problems = [], {}
    for problem, algorithms in values.items():
        for name, columns in algorithms.items():
            seeds, queries = columns["f"].shape
            others = {column: value.ravel() for column, value in columns.items() if column != "f"}
            ran = np.arange(seeds) + (first_seed or {}).get(name, 0)
            pairs.append(pair((problem, name), columns["f"], 1, ran, **others))
            dim = 2 if problem.endswith("_momentum") else 1
            problems[problem] = {"initial_points": INITIAL, "horizon": queries, "dim": dim}
    return runs_of(ENTRY, pairs, problems, scale)


def ending_in(losses: Any, queries: int = 60) -> Rows:
    """Runs whose every query has this test cross-entropy, one for each seed: whatever is returned."""
    losses = np.asarray(losses, dtype=float)
    rng = np.random.default_rng(len(losses) + queries)
    return {
        "f": -np.abs(rng.normal(1.0, 0.1, (len(losses), queries))),
        "log10_learning_rate": rng.uniform(-4, 0, (len(losses), queries)),
        "test_cross_entropy": np.repeat(losses[:, None], queries, axis=1),
        "test_error": 30 * np.repeat(losses[:, None], queries, axis=1),
    }


def searching(iterations: int, seeds: int, key: int = 0, queries: int | None = None) -> Rows:
    """Made-up runs that look like real ones: queries drawn to the best learning rate, a loss that falls
    with N."""
    rng = np.random.default_rng([iterations, key])
    shape = seeds, queries or HORIZONS[iterations]
    best = -0.2 - 0.1 * math.log10(iterations)
    rate = np.clip(best + np.linspace(1.5, 0.1, shape[1]) * rng.normal(size=shape), -4, 0)
    loss = 4 * iterations**-0.5 * (1 + (rate - best) ** 2) * np.exp(0.05 * rng.normal(size=shape))
    return {
        "f": -loss,
        "log10_learning_rate": rate,
        "test_cross_entropy": loss * np.exp(0.02 * rng.normal(size=shape)),
        "test_error": 30 * loss * np.exp(0.05 * rng.normal(size=shape)),
    }


def first_two_tables() -> Runs:
    """What the smallest acceptable run has: T = 20 and 40, three seeds, EI and UCB."""
    return made_runs(
        {
            f"n_{n}": {
                name: searching(n, 3, key, min(40, HORIZONS[n]))
                for key, name in enumerate(printed.ACQUISITIONS)
            }
            for n in (100, 500, 1000, 2000, 3000, 4000)
        }
    )


def single_seed_runs() -> Runs:
    """One cell, one seed, one algorithm, a smaller scale."""
    return made_runs({"n_100": {"gp_ucb": searching(100, 1)}}, scale="quick")


def too_short_runs() -> Runs:
    """No cell: the horizon is below the smallest T."""
    return made_runs({"n_100": {"gp_ei": searching(100, 2, queries=8)}}, scale="smoke")


# The printed tables

# Section 5: the sums of each table's means and deviations, added up from the paper.
SUMS = {
    ("gp_ei", 20): (13.47, 1.07),
    ("gp_ei", 40): (13.21, 1.81),
    ("gp_ei", 60): (11.67, 1.46),
    ("gp_ucb", 20): (12.71, 1.61),
    ("gp_ucb", 40): (11.68, 1.64),
    ("gp_ucb", 60): (11.45, 1.01),
}


@pytest.mark.parametrize(("algorithm", "steps"), SUMS)
def test_the_printed_tables(algorithm: str, steps: int) -> None:
    cells = printed.PERFORMANCE[algorithm][steps].values()
    assert np.sum([*cells], axis=0) == pytest.approx(SUMS[algorithm, steps])


def test_what_is_said_of_the_printed_tables() -> None:
    ei, ucb = printed.PERFORMANCE["gp_ei"], printed.PERFORMANCE["gp_ucb"]
    better = [ucb[t][n][0] <= ei[t][n][0] for t, n in printed.CELLS]
    assert (sum(better), len(better)) == (14, 15)
    assert printed.CELLS[better.index(False)] == (60, 4000)
    # the last two columns: EI turns up in all, UCB changes by at most .17 of its fall
    assert all(list(ei[t].values())[-1][0] > list(ei[t].values())[-2][0] for t in printed.STEPS)
    changes = []
    for t in printed.STEPS:
        means = [mean for mean, _ in ucb[t].values()]
        changes.append((means[-2] - means[-1]) / (means[0] - means[-2]))
    assert [round(change, 2) for change in changes] == [0.15, 0.17, -0.03]
    assert max(changes) < measures.MARGIN
    # counted by hand in the paper: above 2.30 are 5 + 5 + 3 means of EI, 5 + 2 + 1 of UCB
    assert printed.ABOVE_UNIFORM_GUESS == 21
    assert f"{printed.ABOVE_UNIFORM_GUESS} of its 30 means" in traces.LEVELS


def test_the_pairs_of_cells_that_claims_compare() -> None:
    assert printed.equal_cost() == (
        ((20, 1000), (40, 500)),
        ((20, 2000), (40, 1000)),
        ((20, 3000), (60, 1000)),
        ((40, 3000), (60, 2000)),
    )
    assert [printed.half_of_largest(t) for t in printed.STEPS] == [2000, 2000, 3000]
    # N ≍ T: always the smaller N. N ≍ T²: not at 20,000 steps, where 500 is farther from 1,600 than
    # 1,000 is from 400. N = c T²: from c = 1.77 on always the larger N, below 0.88 never.
    for power, constant, smaller_n in (
        (1, 1.0, [True] * 4),
        (1, 12.0, [True] * 4),
        (2, 1.0, [False, True, True, True]),
        (2, 1.77, [False] * 4),
        (2, 0.88, [True] * 4),
    ):
        distances = [
            [measures.distance_to_advice(*cell, power, constant) for cell in cells]
            for cells in printed.equal_cost()
        ]
        assert [second < first for first, second in distances] == smaller_n


# What is returned


def test_the_last_query_the_best_observation_or_one_training_more_is_returned() -> None:
    columns = ending_in([1.0, 2.0])
    columns["test_cross_entropy"] = np.arange(120.0).reshape(2, 60)
    runs = made_runs({"n_2000": {"gp_ucb": columns}})
    for steps in printed.STEPS:
        cell = Reading().cell(runs, "gp_ucb", steps, 2000)
        assert cell is not None
        np.testing.assert_array_equal(cell.values, [steps - 1, 60 + steps - 1])
        np.testing.assert_array_equal(cell.seeds, [0, 1])
        assert (cell.mean, cell.sd) == (steps + 29, pytest.approx(60 / 2**0.5))
    best = READINGS["best_observed"].cell(runs, "gp_ucb", 20, 2000)
    assert best is not None
    rows_of_best = columns["f"][:, :20].argmax(axis=1)
    np.testing.assert_array_equal(best.values, rows_of_best + np.array([0, 60]))
    more = READINGS["t_plus_1"].cell(runs, "gp_ucb", 40, 2000)
    assert more is not None
    np.testing.assert_array_equal(more.values, [40, 100])
    assert READINGS["t_plus_1"].cell(runs, "gp_ucb", 60, 2000) is None


def test_the_smallest_posterior_mean_is_that_of_scikit_learn() -> None:
    import torch
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    from replibo.surrogates.gp_regression import GpRegression

    columns = searching(1000, 4, 3)
    # a lucky training far from the others, which the smallest loss would choose and the mean does not
    columns["log10_learning_rate"][:, 7] = -3.5
    columns["f"][:, 7] = columns["f"].max() + 0.001
    runs = made_runs({"n_1000": {"gp_ei": columns}})
    chosen = traces.returned_queries(runs, "n_1000", "gp_ei", 20, "smallest_mean")
    for seed in range(4):
        X = ((columns["log10_learning_rate"][seed, :20] + 4) / 4)[:, None]
        y = columns["f"][seed, :20]
        standard = (y - y.mean()) / y.std(ddof=1)
        h = GpRegression(X, y, device=torch.device("cpu"), capacity=20).fitted.hyperparameters
        gp = GaussianProcessRegressor(
            ConstantKernel(h.outputscale) * RBF(h.length_scale),
            alpha=h.noise_variance,
            optimizer=None,
        ).fit(X, standard - h.mean)
        assert chosen[seed] == np.argmax(gp.predict(X))
    assert (chosen < 20).all()


@settings(max_examples=10)
@given(st.integers(0, 2**31), st.sampled_from(printed.STEPS[:2]))
def test_what_follows_the_prefix_does_not_matter(key: int, steps: int) -> None:
    """One run to the largest T serves the smaller ones."""
    columns = searching(1000, 2, key % 100)
    later = {name: value.copy() for name, value in columns.items()}
    rng = np.random.default_rng(key)
    for value in later.values():
        value[:, steps:] = rng.permutation(value[:, steps:].ravel()).reshape(2, -1)
    for rule in ("smallest_mean", "last_query"):
        one, other = (
            traces.returned_queries(
                made_runs({"n_1000": {"gp_ei": c}}), "n_1000", "gp_ei", steps, rule
            )
            for c in (columns, later)
        )
        np.testing.assert_array_equal(one, other)


@given(st.lists(st.tuples(st.floats(-4, 0), st.floats(0, 0.99)), min_size=1, max_size=20))
def test_published_traces_give_the_same_points(asked: list[tuple[float, float]]) -> None:
    """The diagnostics are rounded before they are scaled, so that bytes agree, not only the choice."""
    rate, momentum = np.array(asked).T[:, None, :]
    columns = ending_in([1.0], len(asked)) | {"log10_learning_rate": rate, "momentum": momentum}
    thinned = {name: v.astype(np.float32) if name != "f" else v for name, v in columns.items()}
    for problem in ("n_1000", "n_1000_momentum"):
        one, other = (
            traces._queried_points(made_runs({problem: {"gp_ei": c}}), problem, "gp_ei")
            for c in (columns, thinned)
        )
        assert one.tobytes() == other.tobytes()
        np.testing.assert_allclose(one[0, :, 0], (rate[0] + 4) / 4, atol=1e-6)
        assert one.shape == (1, len(asked), 1 + problem.endswith("_momentum"))


def test_both_hyperparameters_count() -> None:
    """Each learning rate is asked with a bad and with a good momentum: in one dimension their means would
    be equal up to rounding, and one of eight seeds at least would return a bad one."""
    columns = ending_in(np.ones(8))
    columns["log10_learning_rate"] = np.repeat(columns["log10_learning_rate"][:, :30], 2, axis=1)
    good = np.arange(60) % 2 == 1
    columns["momentum"] = np.tile(np.where(good, 0.9, 0.0), (8, 1))
    columns["f"] += np.where(good, 0.0, -1.0)
    runs = made_runs({"n_1000_momentum": {"gp_ei": columns}})
    chosen = traces.returned_queries(runs, "n_1000_momentum", "gp_ei", 60, "smallest_mean")
    assert good[chosen].all()


@pytest.mark.parametrize("values", [[0.3] * 20, [4.605] * 19 + [0.2]], ids=["constant", "diverged"])
def test_hard_histories_return_something(values: list[float]) -> None:
    columns = ending_in([1.0], 20)
    columns["f"] = -np.array([values])
    columns["log10_learning_rate"][:] = -2.0  # and all at one point
    runs = made_runs({"n_100": {"gp_ei": columns}})
    (chosen,) = traces.returned_queries(runs, "n_100", "gp_ei", 20, "smallest_mean")
    assert 0 <= chosen < 20


def test_runs_that_do_not_hold_it() -> None:
    columns = ending_in([1.0, 2.0])
    del columns["log10_learning_rate"]
    runs = made_runs({"n_1000": {"gp_ei": columns, "gp_ucb": columns}})
    assert Reading().cell(runs, "gp_ucb", 20, 1000) is not None  # the last query needs no λ
    with pytest.raises(MissingRunsError, match="of gp_ei on n_1000 hold no log10_learning_rate"):
        Reading().cell(runs, "gp_ei", 20, 1000)
    columns["test_error"][0, 0] = np.nan
    runs = made_runs({"n_1000": {"gp_ucb": columns}})
    with pytest.raises(MissingRunsError, match="hold no test_error"):
        Reading(metric="test_error").cell(runs, "gp_ucb", 20, 1000)


def test_a_problem_of_another_n_than_its_name() -> None:
    problems = ENTRY.problems | {
        "n_1000": ENTRY.problems["n_1000"].model_copy(update={"parameters": {"iterations": 999}})
    }
    runs = made_runs({"n_1000": {"gp_ucb": ending_in([1.0, 2.0])}})
    runs = Runs(ENTRY.model_copy(update={"problems": problems}), runs.metadata, runs.table)
    message = r"^problems\.n_1000\.parameters\.iterations: must be 1000, as in the problem's name, got 999$"
    with pytest.raises(RepliboError, match=message):
        bbo_tables.performance_table(runs, output(), algorithm="gp_ucb", steps=20)


# Claims


def cells_of(losses: Mapping[int, Mapping[str, Any]], **options: Any) -> Runs:
    """Runs of each N and algorithm that return the given losses, one for each seed."""
    return made_runs(
        {
            f"n_{n}": {name: ending_in(values, HORIZONS[n]) for name, values in algorithms.items()}
            for n, algorithms in losses.items()
        },
        **options,
    )


SPREAD = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])


PRINTED = tuple(printed.PERFORMANCE.items())


def printed_runs(steps: int) -> Runs:
    """Five seeds with the mean and the standard deviation of each cell that the paper prints of T."""
    unit = SPREAD / SPREAD.std(ddof=1)
    return cells_of(
        {
            n: {name: table[steps][n][0] + table[steps][n][1] * unit for name, table in PRINTED}
            for n in printed.iterations_of(steps)
        }
    )


def printed_p(less: tuple[float, float], more: tuple[float, float]) -> float:
    """p of a smaller mean, from the printed means and deviations alone."""
    test = stats.ttest_ind_from_stats(*less, 5, *more, 5, equal_var=False, alternative="less")
    return float(test.pvalue)


def contrast_p(cells: list[tuple[float, float]], weights: tuple[float, ...]) -> float:
    """p of a positive weighted sum of means, by Welch's test of 5 seeds each."""
    parts = [(w * sd) ** 2 / 5 for w, (_, sd) in zip(weights, cells, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    mean = sum(w * m for w, (m, _) in zip(weights, cells, strict=True))
    return float(stats.t.sf(mean / math.sqrt(sum(parts)), freedom))


# What claims.yaml says that the printed numbers would give: for each T, claim 1 (before Holm's correction)
# and claim 2 of EI (T = 40: in reading from_3000) and of UCB.
BY_THE_RULES = {
    20: ((0.049, 0.057), (0.36, 0.29)),
    40: ((0.031, 0.167), (0.034, 0.46)),
    60: ((0.219, 0.025), (0.064, 0.21)),
}


@pytest.mark.parametrize("steps", printed.STEPS)
def test_what_the_rules_say_of_the_printed_numbers(steps: int) -> None:
    numbers, runs = printed.iterations_of(steps), printed_runs(steps)
    first, half = numbers[0], printed.half_of_largest(steps)
    before, last = numbers[-2:]
    (ei_first, ucb_first), (ei_up, ucb_level) = BY_THE_RULES[steps]
    ei, ucb = (table[steps] for _, table in PRINTED)
    p_values = [printed_p(table[half], table[first]) for table in (ei, ucb)]
    assert p_values == pytest.approx([ei_first, ucb_first], abs=5e-4)
    p_up = printed_p(ei[before], ei[last])
    assert p_up == pytest.approx(ei_up, abs=5e-3 if ei_up > 0.1 else 5e-4)
    inside = max(
        contrast_p([ucb[n] for n in (first, before, last)], (0.25, -0.25 - sign, sign))
        for sign in (1, -1)
    )
    assert inside == pytest.approx(ucb_level, abs=5.1e-3)
    # and the measures themselves say so
    found = measures.improves_at_first(runs, steps=steps)
    assert outcomes(found) == ["open", "open"]
    mean, sd = ei[first]
    start = f"GP-EI, T = {steps}: {mean:.3g} ± {sd:.2g} (5 seeds) at N = {first}, "
    assert found[0].ours.startswith(start)
    for comparison, p in zip(found, statistics.holm(p_values), strict=True):
        assert comparison.ours.endswith(f", p {tables.p_value(p)}")
    (up,) = measures.turns_up(runs, steps=steps)
    assert up.outcome == ("supported" if steps == 40 else "open")
    assert up.ours.endswith(f", p {tables.p_value(p_up)}")
    if steps == 40:
        (up,) = measures.turns_up(runs, steps=steps, since=1000)
        p = printed_p(ei[1000], ei[last])
        assert p == pytest.approx(0.23, abs=5e-3) and up.ours.endswith(f", p {tables.p_value(p)}")
    (level,) = measures.levels_off(runs, steps=steps)
    assert level.outcome == "open" and level.ours.endswith(f", p {tables.p_value(inside)}")


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=8))
def test_holm_by_its_definition(p_values: list[float]) -> None:
    """A hypothesis is rejected at a level if all smaller p are, each at level/(number of those left)."""
    adjusted = statistics.holm(p_values)
    known = sorted(p for p in p_values if not math.isnan(p))
    for p, value in zip(p_values, adjusted, strict=True):
        assert math.isnan(p) == math.isnan(value)
        if not math.isnan(p):
            steps = [q * (len(known) - i) for i, q in enumerate(known) if q <= p]
            assert value == pytest.approx(min(1.0, max(steps[: known.index(p) + 1])))


WIDE = 3 * SPREAD / SPREAD.max()


@pytest.mark.parametrize(
    ("losses", "spread", "expected"),
    [
        ((3.0, 2.0, 2.0), SPREAD, "supported"),
        ((3.0, 2.0, 1.9), SPREAD, "supported"),
        ((3.0, 2.0, 1.7), SPREAD, "contradicted"),
        ((3.0, 2.0, 3.0), SPREAD, "contradicted"),
        ((3.0, 2.0, 1.7), WIDE, "open"),
        ((1.0, 2.0, 2.0), SPREAD, "contradicted"),  # no fall is shown
        ((2.0, 2.0, 2.0), SPREAD, "open"),  # nothing to level off from
    ],
)
def test_levels_off(losses: tuple[float, ...], spread: np.ndarray, expected: str) -> None:
    """Of a fall from 3 to 2 a quarter is the margin."""
    cells = zip((100, 2000, 3000), losses, strict=True)
    runs = cells_of({n: {"gp_ucb": loss + spread} for n, loss in cells})
    assert outcomes(measures.levels_off(runs, steps=20)) == [expected]


def test_a_stuck_run_is_no_change_of_the_typical_one() -> None:
    """The means change by more than the margin, by one run of twenty; the trimmed means do not. So with
    claims 1 to 3."""
    spread = 0.01 * np.random.default_rng(0).normal(size=20)
    stuck = 2 + spread
    stuck[7] = 20.0
    level = cells_of(
        {n: {"gp_ucb": 2 + (n == 100) + spread} for n in (100, 2000)} | {3000: {"gp_ucb": stuck}}
    )
    first, last = 3 + spread, np.roll(stuck, 3)
    losses = {
        n: {"gp_ei": first if n == 100 else last, "gp_ucb": stuck}
        for n in printed.iterations_of(20)
    }
    losses[100]["gp_ucb"] = first
    for trimmed, expected in ((False, "open"), (True, "supported")):
        options: dict[str, Any] = {"steps": 20, "trimmed": trimmed}
        found = measures.levels_off(level, **options)
        found += measures.improves_at_first(cells_of(losses), **options)
        found += measures.ucb_at_least_as_good(cells_of(losses), **options)[1:]
        assert outcomes(found) == [expected] * 7
    effect = found[-1].effect
    assert effect and effect.unit == effects.TRIMMED_BEYOND  # not 0 at equal means


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(0.5, "supported"), (1.05, "supported"), (1.1, "open"), (1.2, "contradicted")],
)
def test_ucb_at_least_as_good(factor: float, expected: str) -> None:
    """At each N by its mean: a little worse is no worse."""
    numbers = printed.iterations_of(20)
    losses = {n: {"gp_ei": 1 + SPREAD, "gp_ucb": factor * (1 + SPREAD[::-1])} for n in numbers}
    found = measures.ucb_at_least_as_good(cells_of(losses), steps=20)
    assert outcomes(found) == [expected] * 5
    for comparison, n in zip(found, numbers, strict=True):
        assert comparison.ours.startswith(f"T = 20, N = {n}: {factor:.3g} ± ")
        assert "with UCB, 1 ± 0.016 (5 seeds) with EI, p" in comparison.ours
    lead = 1.1 * (1 + SPREAD) - factor * (1 + SPREAD[::-1])
    p = stats.ttest_1samp(lead, 0, alternative="greater").pvalue
    if expected == "supported":  # all are, so that none is corrected
        assert found[0].ours.endswith(f"p {tables.p_value(p)}")


def test_pairs_are_of_common_seeds() -> None:
    """Seeds 0-4 of EI and 2-6 of UCB: three pairs."""
    losses = {1000: {"gp_ei": np.arange(5.0), "gp_ucb": np.arange(5.0) + 1.5}}
    runs = cells_of(losses, first_seed={"gp_ucb": 2})
    found, missing = measures.ucb_at_least_as_good(runs, steps=20)
    assert found.effect is not None and found.effect.n == (3,)
    assert missing.outcome == "open" and "T = 20, N = 100; T = 20, N = 500" in missing.ours
    runs = cells_of(losses, first_seed={"gp_ucb": 5})
    with pytest.raises(MissingRunsError, match="T = 20, N = 1000 with a seed in common"):
        measures.ucb_at_least_as_good(runs, steps=20)


def test_spread_shrinks() -> None:
    numbers, sizes = printed.iterations_of(20), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    for seeds, spreads, expected, text in (
        (5, sizes, "supported", "a factor of 0.68 from one N to the next of 5"),
        (5, sizes[::-1], "contradicted", "a factor of 1.48 from one N to the next of 5"),
        (1, sizes, "open", "too few runs for a test"),
    ):
        spread = SPREAD[:seeds]
        losses = {n: {"gp_ei": 1 + spread * k} for n, k in zip(numbers, spreads, strict=True)}
        (found,) = measures.spread_shrinks(cells_of(losses), steps=20, algorithm="gp_ei")
        assert found.outcome == expected and text in found.ours


def test_advised_horizon() -> None:
    """N = T points at the smaller N in all pairs; N = T² at N = 1000 and not 500 in that of 20,000 steps."""
    losses = {500: 1.0, 1000: 2.0, 2000: 4.0, 3000: 6.0}
    noise = np.exp(0.001 * np.random.default_rng(0).normal(size=(4, 5)))
    made = {
        n: dict.fromkeys(printed.ACQUISITIONS, loss * factors)
        for (n, loss), factors in zip(losses.items(), noise, strict=True)
    }
    found = measures.advised_horizon(cells_of(made))
    assert outcomes(found) == ["supported"] * 8
    pairs = zip(found, (1 / 2, 2 / 4, 2 / 6, 4 / 6), (20, 40, 60, 120), strict=False)
    for comparison, ratio, steps in pairs:
        assert comparison.ours.startswith(f"GP-EI, {steps},000 SGD steps: with T = ")
        assert f"the loss or error is {ratio:.2f} times that with T = " in comparison.ours
    found = measures.advised_horizon(cells_of(made), power=2)
    assert outcomes(found) == ["contradicted", *["supported"] * 3] * 2
    assert "with T = 20 the loss or error is 2.00 times that with T = 40" in found[0].ours
    *found, missing = measures.advised_horizon(cells_of({n: made[n] for n in (500, 1000)}))
    assert outcomes(found) == ["supported"] * 2 and missing.outcome == "open"
    assert missing.ours.startswith("not run: GP-EI, 40,000 SGD steps; GP-EI, 60,000")


def test_each_pair_of_cells_is_tested_and_corrected() -> None:
    """Student's t-test of the seeds' logarithms, against SciPy, with Holm's correction."""
    values = np.exp(np.random.default_rng(4).normal(size=(2, 4, 5)))
    numbers = (500, 1000, 2000, 3000)
    runs = cells_of(
        {n: {"gp_ei": values[0, i], "gp_ucb": values[1, i]} for i, n in enumerate(numbers)}
    )
    found = measures.advised_horizon(runs)
    near, far = np.log(values[:, [0, 1, 1, 2]]), np.log(values[:, [1, 2, 3, 3]])
    p_values = stats.ttest_rel(near, far, axis=2, alternative="less").pvalue.ravel()
    assert "contradicted" not in outcomes(found)
    for comparison, p in zip(found, statistics.holm(p_values), strict=True):
        assert comparison.ours.endswith(f", p {tables.p_value(p)}")


def test_more_steps_help() -> None:
    """The loss of what is returned after 60 steps and after 40 of the same runs."""
    columns = ending_in(1 + SPREAD, 60)
    columns["test_cross_entropy"][:, 39] = 2 + 3 * SPREAD
    made = made_runs({"n_4000": {"gp_ucb": columns}})
    options: dict[str, Any] = {"iterations": 4000, "algorithm": "gp_ucb"}
    (found,) = measures.more_steps_help(made, steps=[40, 60], **options)
    assert found.outcome == "supported" and "2 ± 0.047 (5 seeds) at T = 40" in found.ours
    (found,) = measures.more_steps_help(made, steps=[60, 40], **options)
    assert found.outcome == "contradicted"
    with pytest.raises(MissingRunsError, match="not run: GP-UCB, N = 2000, T = 60"):
        measures.more_steps_help(made, steps=[40, 60], iterations=2000, algorithm="gp_ucb")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "measure",
    [
        measures.improves_at_first,
        measures.turns_up,
        measures.levels_off,
        measures.ucb_at_least_as_good,
        functools.partial(measures.spread_shrinks, algorithm="gp_ei"),
    ],
)
def test_cells_that_were_not_run_are_said(measure: Callable[..., list[Comparison]]) -> None:
    two_tables, single, short = first_two_tables(), single_seed_runs(), too_short_runs()
    assert "not run" not in " ".join(
        comparison.ours for comparison in measure(two_tables, steps=40)
    )
    for runs in (two_tables, single, short):
        try:
            assert "open" in outcomes(measure(runs, steps=60))
        except MissingRunsError as error:
            assert str(error).startswith("not run: ") and "T = 60" in str(error)


# Tables


@pytest.mark.filterwarnings("error")
def test_a_table_by_hand() -> None:
    runs = cells_of(
        {500: {"gp_ucb": [1.0, 3.0], "random_search": [2.0, 5.0]}, 1000: {"gp_ucb": [0.5]}}
    )
    table = bbo_tables.performance_table(runs, output(), algorithm="gp_ucb", steps=40)
    assert [row[:5] for row in tuples(table)] == [
        (500, 20_000, 2.56, 0.53, 2),
        (1000, 40_000, 2.34, 0.45, 1),
        (2000, 80_000, 2.29, 0.20, 0),
        (3000, 120_000, 2.27, 0.30, 0),
        (4000, 160_000, 2.22, 0.16, 0),
    ]
    assert tuples(table)[0][5:9] == pytest.approx((2.0, 2**0.5, 60.0, 30 * 2**0.5))
    assert tuples(table)[0][9:] == pytest.approx((3.5, 4.5**0.5, 105.0, 30 * 4.5**0.5))
    assert tuples(table)[1][5:] == (0.5, None, 15.0, None, *(None,) * 4)
    assert tuples(table)[2][5:] == (None,) * 8
    assert "trends are judged, not levels" in table.caption
    assert "Run: 2 of 5 cells." in table.caption and "1 of 5 seeds" in table.caption
    assert "Returned (Algorithm 2): the last of the T queries" in table.caption
    # of N = 1,000; those of N = 500 end there
    assert "Read from runs to T = 60: their first 40 rounds are those to T = 40." in table.caption


def test_a_table_in_another_reading_shows_what_that_returns() -> None:
    columns = ending_in([1.0, 2.0])
    columns["test_cross_entropy"] = np.arange(120.0).reshape(2, 60)
    runs = made_runs({"n_2000": {"gp_ucb": columns}})
    best = columns["f"][:, :20].argmax(axis=1) + np.array([0, 60])
    for reading, returned in {"reported": [19, 79], "best_observed": best}.items():
        table = bbo_tables.performance_table(
            runs, output(), algorithm="gp_ucb", steps=20, reading=reading
        )
        assert tuples(table)[3][5] == np.mean(returned)
        assert ("smallest validation loss" in table.caption) == (reading == "best_observed")


def test_a_table_is_whole_where_its_prefix_is() -> None:
    """Runs to T = 40 of 60: reduced for the figure, not for the tables of T = 20 and 40."""
    made = first_two_tables()
    for steps in (20, 40):
        caption = bbo_tables.performance_table(
            made, output(), algorithm="gp_ei", steps=steps
        ).caption
        assert "3 of 5 seeds" in caption and "T = 40 of 60" not in caption
        assert ("Read from runs to T = " in caption) == (steps == 20)
    assert "T = 40 of 60" in caption_of(figures.performance(made, output()))
    caption = bbo_tables.performance_table(
        single_seed_runs(), output(), algorithm="gp_ucb", steps=20
    ).caption
    assert "quick scale, 1 of 5 seeds" in caption and "Read from" not in caption
    missing = dataclasses.replace(made, left_out="Not run: Random search.")
    caption = bbo_tables.performance_table(missing, output(), algorithm="gp_ei", steps=20).caption
    assert caption.endswith("Not run: Random search.")


# Figures


@pytest.mark.parametrize(
    ("made", "steps", "without"),
    [
        (first_two_tables, (20, 40), 0),
        (single_seed_runs, (20,), 1),  # EI was not run
        (too_short_runs, (), 2),
    ],
)
@pytest.mark.filterwarnings("error")
def test_every_figure_is_drawn(
    made: Callable[[], Runs], steps: tuple[int, ...], without: int
) -> None:
    """Performance has a row for each T that was run, the frontier one for each acquisition function."""
    empty = []
    for make in (figures.performance, figures.frontier):
        figure = drawn(make(made(), output()))
        caption = caption_of(figure)
        assert caption.startswith("Made up.") and " seed" in caption
        assert "trends are judged, not levels" in caption
        empty.append(sum("not run" in text.get_text() for ax in figure.axes for text in ax.texts))
        if make is figures.performance:
            rows = [ax.get_title() for ax in figure.axes if ax.axison][::2]
            assert rows == [f"T = {t}" for t in steps]
    assert empty == [0 if steps else 2, without]


def test_performance_shows_ours_and_the_printed_numbers() -> None:
    runs = cells_of({n: {"gp_ucb": [1.0 / n, 3.0 / n]} for n in HORIZONS})
    figure = figures.performance(runs, output(algorithms=["gp_ucb"]))
    axes = np.reshape(np.array(figure.axes, dtype=object), (3, 2))
    for steps, (ours, error) in zip(printed.STEPS, axes, strict=True):
        numbers = np.array(printed.iterations_of(steps))
        np.testing.assert_allclose(ours.lines[0].get_ydata(), 2 / numbers)
        seeds = np.concatenate([points.get_offsets()[:, 1] for points in ours.collections])
        np.testing.assert_allclose(seeds.reshape(-1, 2), np.outer(1 / numbers, [1, 3]))
        assert ours.get_yscale() == error.get_yscale() == "log"
        assert f"T = {steps}" in ours.get_title()
    paper = axes[1, 1].containers[0]  # on the same axes as our test error
    assert list(paper.lines[0].get_ydata()) == [2.56, 2.34, 2.29, 2.27, 2.22]
    assert "15 cells: rank correlation" in plotting.caption_of(figure)


def test_agreement_with_the_printed_numbers() -> None:
    """A test error of the printed means has ρ = 1 and no error."""
    means = {n: mean for n, (mean, _) in printed.PERFORMANCE["gp_ucb"][20].items()}
    runs = made_runs({f"n_{n}": {"gp_ucb": ending_in([m / 30], 20)} for n, m in means.items()})
    caption = caption_of(figures.performance(runs, output(algorithms=["gp_ucb"])))
    numbers = f"1.00; root mean square difference 0.00, and {np.std([*means.values()]):.2f} of"
    assert f"5 cells: rank correlation {numbers}" in caption


def test_the_frontier_is_the_best_of_each_budget() -> None:
    """20,000 steps buy 0.4 or 0.3; 40,000 nothing better; 60,000 0.2."""
    losses = {500: [0.3], 1000: [0.4], 3000: [0.2]}
    runs = cells_of({n: {"gp_ei": values} for n, values in losses.items()})
    figure = figures.frontier(runs, output(algorithms=["gp_ei"]))
    ours = figure.axes[0]
    (steps,) = [line for line in ours.lines if line.get_drawstyle() == "steps-post"]
    np.testing.assert_array_equal(steps.get_xdata()[:4], [10_000, 20_000, 40_000, 60_000])
    np.testing.assert_allclose(steps.get_ydata()[:4], [0.3, 0.3, 0.3, 0.2])
    labels = [text.get_text() for text in ours.texts]
    assert labels == ["500", "3k"]  # each cell that is better than all cheaper ones, once
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["T = 20", "T = 40", "T = 60"]


def test_of_equal_posterior_means_the_first_query_is_returned(root: Path) -> None:
    """A published run whose fit reads all observations as noise: the largest mean is a matter of rounding,
    which other kernels of linear algebra do otherwise."""
    table = publish.rows("bbo", "n_2000", "gp_ei")
    runs = Runs(load.load().paper("bbo"), files.read_metadata(table), table)
    for steps in (20, 40, 60):
        found = traces.returned_queries(runs, "n_2000", "gp_ei", steps, "smallest_mean")
        assert found[0] == 0 and (found[1:] > 0).all()
