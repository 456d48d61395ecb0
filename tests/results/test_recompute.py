"""Published runs, made again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.results import publish, recompute
from replibo.run import block, build, loop, traces
from replibo.run.identity import identity_digest, run_identity
from replibo.run.published import PublishedRuns, of_paper

from .conftest import publish_runs, published_runs


@pytest.fixture
def config(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The project's, in a working folder where seeds 3 and 4 of random search on f1 are published."""
    config = load.load(root / "config")
    monkeypatch.chdir(tmp_path)
    job = build.experiment(config, "go_ucb", "paper", "f1", "random_search")
    job = dataclasses.replace(job, horizon=8)
    runs = loop.run_block(job, [3, 4])
    published = published_runs(
        8,
        algorithm="random_search",
        facts={"horizon": 8},
        timing={"runs": 2, "queries": 2 * len(runs[0])},
        seeds=frozenset({3, 4}),
        code="older",
        machine=("Linux of another age",),
    )
    table = traces.table(runs, {})
    for name in ("algorithm", "problem"):
        table = table.add_column(0, name, pa.array([getattr(published, name)] * len(table)))
    publish_runs(published, table)
    return config


def rows() -> pa.Table:
    return publish.rows("go_ucb", "f1", "random_search")


def known() -> PublishedRuns:
    (runs,) = of_paper("go_ucb").values()
    return runs


def with_another_bit(query: int) -> pa.Table:
    """The published rows, the last bit of f of one of them changed."""
    table = rows()
    f = table["f"].to_numpy().copy()
    f[query] = np.nextafter(f[query], 2)
    return table.set_column(table.column_names.index("f"), "f", pa.array(f))


def test_the_same_code_makes_the_same_runs(config: Config) -> None:
    """On several cores; a pattern names the pair."""
    line, last = recompute.recompute(config, "go_ucb", ["f[13]/random*"], cores=2)
    assert line.startswith("f1/random_search, seed 3: 8 of 8 values of f equal")
    assert last == "1 of 1 runs are equal to the last bit."


def identity_of_today(config: Config) -> dict[str, Any]:
    return run_identity(config.paper("go_ucb"), "paper", "f1", "random_search")


@pytest.mark.parametrize("today", [True, False])
def test_a_last_bit_is_seen(today: bool, config: Config) -> None:
    """The processor explains nothing that was made by other code."""
    code = identity_of_today(config)["code"] if today else "older"
    table = with_another_bit(8 + 5)  # the sixth query of seed 4
    publish_runs(dataclasses.replace(known(), code=code), table)
    line, last, *why = recompute.recompute(config, "go_ucb", ["f1/random_search"], 4)
    older = "" if today else " (older code made it)"
    assert f"seed 4: 5 of 8 values of f equal, the next differs by 2e-16{older}, " in line
    assert last.startswith("0 of 1") and bool(why) == today
    if today:
        assert "published from Linux of another age. This is " in why[0]
        assert block.machine() in why[0]


def of_other_code(config: Config, **settings: object) -> PublishedRuns:
    """The published runs, said to be of other code and of today's settings, but for ``settings``."""
    before = {**identity_of_today(config), "horizon": 8, "code": "older", **settings}
    return dataclasses.replace(known(), identity=identity_digest(before))


def adoption(config: Config, **options: float) -> tuple[list[str], PublishedRuns]:
    return list(recompute.recompute(config, "go_ucb", adopt=True, **options)), known()


def test_equal_runs_of_other_code_are_adopted(config: Config) -> None:
    table = rows()
    publish_runs(of_other_code(config), table)
    lines, runs = adoption(config)
    assert lines[0] == "go_ucb: 0 of 1 published pairs count as of today's code."
    assert "seed 3: 8 of 8 values of f equal, adopted" in lines[1]
    assert lines[-1] == "go_ucb: 1 of 1 published pairs count as of today's code."
    today = identity_of_today(config)
    assert (runs.code, runs.adopted[:8]) == (today["code"], "seed 3, ")
    assert block.machine() in runs.adopted
    assert runs.identity == identity_digest({**today, "horizon": 8})
    assert rows()["f"].equals(table["f"])
    assert not any("values" in line for line in adoption(config)[0])  # nothing is left to adopt


def test_one_changed_bit_is_not_adopted(config: Config) -> None:
    publish_runs(of_other_code(config), with_another_bit(5))
    lines, runs = adoption(config)
    assert "5 of 8 values of f equal" in lines[1] and "0 of 1" in lines[-1]
    assert (runs.code, runs.adopted) == ("older", "")


def test_other_settings_and_long_runs_are_not_tried(config: Config) -> None:
    table = rows()
    publish_runs(of_other_code(config, initial_points=6), table)
    assert len(adoption(config)[0]) == 3
    timing = {"runs": 2, "queries": 16, "cpu_seconds": 8.0}
    publish_runs(dataclasses.replace(of_other_code(config), timing=timing), table)
    assert len(adoption(config, longest=3.9)[0]) == 3
    assert len(adoption(config, longest=4.1)[0]) == 4


@pytest.mark.parametrize(
    ("wanted", "seed", "said"),
    [
        (["f3"], None, "go_ucb: 'f3' is not published; must be one of f1"),
        (["f1"], 5, "go_ucb: seed 5 of f1/random_search is not published"),
    ],
)
def test_what_is_not_published_is_said(
    wanted: list[str], seed: int | None, said: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joblib.Parallel", None)  # no worker is started
    with pytest.raises(RepliboError, match=said):
        list(recompute.recompute(config, "go_ucb", wanted, seed))


def test_the_published_scale_is_made_again(config: Config) -> None:
    """Its horizon is cut by what is published, its data are not: they are the scale's."""
    publish_runs(dataclasses.replace(known(), scale="huge"), rows())
    with pytest.raises(RepliboError, match="must be one of paper, quick or smoke, got 'huge'"):
        list(recompute.recompute(config, "go_ucb", ["f1"]))
