"""The cross table, from the published runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from replibo import library, paths
from replibo.config import load
from replibo.papers import cross
from replibo.results.runs import Runs, read
from replibo.run import pairs


@pytest.fixture(scope="module")
def runs() -> Runs:
    config = load.load(Path(__file__).parents[2] / "config")
    return read(config, "cross", paths.PUBLISHED, pairs.at(config, "cross", paths.PUBLISHED), "")


@pytest.fixture(scope="module")
def ranked(runs: Runs) -> pd.DataFrame:
    """The table of ranks."""
    return cross.ranks(runs, runs.entry.tables["ranks"]).frame


def test_ranks_are_those_of_the_best_values(runs: Runs, ranked: pd.DataFrame) -> None:
    """pandas ranks the same values."""
    table = ranked.set_index("algorithm")
    best = (
        library.published("cross").groupby(["problem", "algorithm", "seed"], observed=True).f.max()
    )
    on_levy = best["levy_10"].unstack("algorithm").rank(axis=1, ascending=False).mean()
    for name, rank in on_levy.items():
        assert table.loc[runs.entry.algorithms[str(name)].label, "Levy-10"] == pytest.approx(rank)
    problems = [problem.label for problem in runs.entry.problems.values()]
    relative = ((table[problems] - 1) / (table[problems].count() - 1)).mean(axis=1)
    pd.testing.assert_series_equal(relative, table["relative rank"], check_names=False)
    everywhere = table.problems == table.problems.max()
    assert everywhere.is_monotonic_decreasing
    assert table["relative rank"][everywhere].is_monotonic_increasing


def test_the_librarys_default_is_the_best_of_the_table(runs: Runs, ranked: pd.DataFrame) -> None:
    best = ranked.algorithm[0]
    (algorithm,) = [entry for entry in runs.entry.algorithms.values() if entry.label == best]
    assert algorithm.type.partition(".")[0] == library.DEFAULT
    assert not algorithm.parameters


def test_the_conclusion_is_that_of_the_ranks(runs: Runs, ranked: pd.DataFrame) -> None:
    frame = ranked[ranked.problems == ranked.problems.max()]
    said = cross.conclusion(frame.to_dict("records"))
    first, last = frame.iloc[0], frame.iloc[-1]
    assert f"{first.algorithm} ({first['relative rank']:.2f}) has the best" in said
    assert f"{last.algorithm} ({last['relative rank']:.2f}) the worst" in said
    assert f"Over {len(runs.problems())} problems" in said
    assert cross.conclusion([]) == cross.conclusion(frame.to_dict("records")[:1]) == ""


def test_values_are_means_over_the_seeds(runs: Runs) -> None:
    table = cross.values(runs, runs.entry.tables["values"]).frame.set_index("algorithm")
    best = runs.f("berkenkamp", "mle").max(axis=1)
    assert table.loc["MLE", "Berkenkamp"] == pytest.approx(best.mean())
    assert pd.isna(table.loc["GO-UCB", "Berkenkamp"])
    assert table.loc["GO-UCB", "two bumps"] == pytest.approx(
        runs.f("two_bumps", "go_ucb_bumps").max(axis=1).mean()
    )
