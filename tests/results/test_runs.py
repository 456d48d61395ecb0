"""The queries that collected and published traces keep x of, and what a problem has recorded."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo.config import load
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.results import publish
from replibo.results.runs import Runs
from replibo.run import collect

from ..papers.conftest import pair
from .conftest import SmallProject, publish_runs, published_runs

ENTRY = load.load().paper("go_ucb")


def block(y: Array) -> pa.Table:
    """A run's file with the observations ``y``, ``seeds x queries``; x holds seed and query."""
    x = np.stack(np.indices(y.shape, dtype=float), axis=-1).reshape(-1, 2).tolist()
    return pair(("f1", "go_ucb"), y, first=0, phase=["search"] * y.size, x=x, y=y.ravel())


def of_table(table: pa.Table) -> Runs:
    return Runs(ENTRY, {"problems": {"f1": {}}}, table)


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=1, max_size=4
        )
    ),
    st.integers(1, 3),
)
def test_the_best_queries_are_those_of_largest_y_the_earliest_of_equal_ones(
    values: list[list[int]], kept: int
) -> None:
    y = np.array(values, dtype=float)
    best = of_table(collect.best_queries(block(y), kept)).best_queries("f1", "go_ucb")
    for seed, (row, x) in enumerate(zip(y, best, strict=True)):
        order = sorted(range(len(row)), key=lambda t: (-row[t], t))[:kept]
        assert x.tolist() == [[seed, t] for t in order]


def test_they_are_the_same_in_published_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.random.default_rng(0).standard_normal((3, 20))
    table = collect.best_queries(block(y), 4)
    facts = {"horizon": 19, "kept_queries": 4}
    runs = published_runs(
        20, facts=facts, timing={"runs": 3, "queries": 60}, seeds=frozenset({0, 1, 2})
    )
    monkeypatch.chdir(tmp_path)
    publish_runs(runs, table)
    published = publish.rows("go_ucb", "f1", "go_ucb")
    assert published["y"].null_count == published["x"].null_count == 3 * 16
    assert np.array_equal(
        of_table(published).best_queries("f1", "go_ucb"),
        of_table(table).best_queries("f1", "go_ucb"),
    )


def test_traces_without_them_say_so() -> None:
    table = block(np.zeros((1, 3)))
    for content in (table.drop_columns(["x"]), collect.best_queries(table, 0)):
        with pytest.raises(RepliboError, match="f1, go_ucb: the traces hold no x"):
            of_table(content).best_queries("f1", "go_ucb")


def test_what_a_problem_records_reaches_the_figures(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the commands: run, collect, read."""
    monkeypatch.setattr(Problem, "recorded", lambda self: {"weights": [1.5, self.dim]})
    monkeypatch.setattr(Problem, "kept_queries", 2)
    project.configure(8, "0-1", size=2)
    output = project.run("0-1")
    collected = project.runs("random_search", scale="smoke")
    dim = int(collected.metadata["problems"]["f1"]["dim"])
    assert collected.recorded("f1") == {"weights": [1.5, dim]}
    best = collected.best_queries("f1", "random_search")
    assert best.shape == (2, 2, dim)
    for (_, run), x in zip(pd.read_parquet(output).groupby("seed"), best, strict=True):
        assert run.x.iloc[run.y.argmax()].tolist() == x[0].tolist()


def test_runs_on_problems_that_recorded_something_else_are_not_put_together(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        monkeypatch.setattr(Problem, "recorded", lambda self, weight=seed: {"weight": weight})
        project.run(str(seed))
    collect = ("collect", "go_ucb", "f1", "random_search", "--output", "runs.parquet")
    (error,) = project.do(*collect, status=2)
    assert "seeds_1.parquet: was run on another f1" in error
    assert not Path("runs.parquet").exists()


def test_a_changed_config_is_said_of_the_pairs_that_have_it() -> None:
    table = block(np.zeros((1, 2)))
    metadata = {"problems": {"f1": {}}, "changed_config": True}
    pair = ("f1", "go_ucb")
    assert Runs(ENTRY, metadata, table).standing_for({pair: pair}).metadata["changed_config"]
    metadata["pairs"] = {"f1/go_ucb": {"changed_config": False}}
    standing = Runs(ENTRY, metadata, table).standing_for({pair: pair})
    assert standing.metadata["changed_config"] is False


def test_runs_of_one_problem_are_read_up_to_the_shortest_of_them(project: SmallProject) -> None:
    """x of the best queries up to there is read, too; alone, a longer run is read whole."""
    project.configure(12, "0-1", size=2, more=", horizons: {exploration_first: 8}")
    names = ["random_search", "exploration_first"]
    output, _ = (project.run("0-1", algorithm=name) for name in names)
    long, short = (("f1", name) for name in names)
    both, alone = project.runs(*names, scale="smoke"), project.runs(names[0], scale="smoke")
    assert (both.horizon("f1"), alone.horizon("f1")) == (8, 12)
    assert both.f(*short).shape == both.f(*long).shape == (2, 8)
    assert np.array_equal(both.f(*long), alone.f(*long)[:, :8])
    assert both.cut_for_others([long]) and not both.cut_for_others([long, short])
    assert not alone.cut_for_others([long])
    assert both.of([long]).horizon("f1") == 12 and both.of([long, short]) is both
    assert dataclasses.replace(both, left_out="x").of([long]).left_out == "x"
    # the same of runs that stand for others
    other = ("f1", "gp_ei")
    standing = both.standing_for({other: long, short: short})
    assert standing.of([other, short]) is standing
    assert np.array_equal(standing.of([other]).f(*other), alone.f(*long))
    for runs, T in ((both, 8), (alone, 12)):
        best = runs.best_queries(*long)
        for (_, run), x in zip(pd.read_parquet(output).groupby("seed"), best, strict=True):
            assert run.x.iloc[run.y[:T].argmax()].tolist() == x[0].tolist()
    assert "T = 8 of 20" in both.note(["f1"], ["random_search"])


@given(st.permutations(range(8)))
def test_the_runs_of_a_pair_are_found_wherever_its_rows_are(order: list[int]) -> None:
    rows = pa.concat_tables(
        block(values).set_column(1, "algorithm", pa.repeat(name, 4))
        for name, values in (("go_ucb", np.eye(2)), ("random_search", -np.eye(2)))
    )
    # mixed, each pair's own rows in their order
    mixed = sorted(range(8), key=lambda row: sorted(order[row // 4 * 4 :][:4])[row % 4])
    runs = of_table(rows.take(mixed))
    assert runs.algorithms("f1", ["random_search", "go_ucb"]) == ["random_search", "go_ucb"]
    np.testing.assert_array_equal(runs.f("f1", "go_ucb"), np.eye(2))
    np.testing.assert_array_equal(runs.f("f1", "random_search"), -np.eye(2))


def test_a_caption_says_what_is_mixed() -> None:
    table = block(np.zeros((1, 2)))
    same = {"versions": [{"numpy": "1"}], "machine": ["Linux, Haswell kernels, Python 3.11.7"]}
    assert Runs(ENTRY, same, table).mixed() == ""
    more = {
        "versions": [{"numpy": "1"}, {"numpy": "2", "C": "clang"}],
        "machine": [*same["machine"], "Linux, SkylakeX kernels, NumPy X86_V4, Python 3.11.7"],
    }
    assert Runs(ENTRY, more, table).mixed() == (
        "Not all runs used the same software: Haswell kernels and SkylakeX kernels, numpy 1 and 2."
    )
