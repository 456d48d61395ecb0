"""Collecting the blocks of a problem and algorithm: only whole runs, as they were made, are taken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from replibo import cli, paths
from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.run import collect, identity, traces

OVERLAY = """
go_ucb:
  algorithms: {random_search: {seeds_per_job: 1}}
  scales: {smoke: {only: [f1], problems: {f1: {algorithms: [random_search, exploration_first]}}}}
"""
CONFIG = Path(__file__).parents[2] / "config"
PAIR = ("go_ucb", "smoke", "f1", "random_search")
FIRST = Path(paths.block("smoke", "go_ucb", "f1", "random_search", "0"))
SECOND = Path(paths.block("smoke", "go_ucb", "f1", "random_search", "1"))
OTHER = Path(paths.block("smoke", "go_ucb", "f1", "exploration_first", "0-1"))
COLLECTED = Path(paths.collected("smoke", "go_ucb", "f1", "random_search"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of two pairs."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "one.yaml").write_text(OVERLAY)
    (folder / "config").symlink_to(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for path in (FIRST, SECOND, OTHER):
            names = ["go_ucb", "f1", path.parts[-2], "--seeds", path.stem.partition("_")[2]]
            common = ["--scale", "smoke", "--config", "one.yaml", "--output", str(path)]
            assert cli.main(["run", *names, *common]) == 0
        traces.write(COLLECTED, collect.collect(config(), *PAIR))
    return folder


def config() -> Config:
    return load.load(overlays=[Path("one.yaml")])


@pytest.fixture
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working folder."""
    shutil.copytree(runs, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """The file with another content and a right checksum."""
    traces.write(path, change(traces.read(path)).combine_chunks())


def with_metadata(**changes: Any) -> Callable[[pa.Table], pa.Table]:
    def change(content: pa.Table) -> pa.Table:
        metadata = {**traces.read_metadata(content), **changes}
        metadata = {key: value for key, value in metadata.items() if value is not None}
        return content.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})

    return change


def with_another_f(content: pa.Table) -> pa.Table:
    values = content["f"].to_numpy().copy()
    values[3] = np.nextafter(values[3], np.inf)
    return content.set_column(content.column_names.index("f"), "f", pa.array(values))


FAULTS: dict[str, tuple[Callable[[], object], str]] = {
    "another f": (lambda: rewritten(FIRST, with_another_f), "seed 0 is not as it was observed"),
    "another algorithm": (
        lambda: shutil.copy(OTHER, FIRST),
        "holds runs with algorithm = exploration_first",
    ),
    "another paper": (
        lambda: rewritten(FIRST, with_metadata(paper="bbo")),
        "must hold runs of go_ucb at scale smoke, got bbo at smoke",
    ),
    "no digests": (
        lambda: rewritten(FIRST, with_metadata(digests=None)),
        r"damaged metadata \(digests: field required\)",
    ),
}


def test_settings_are_compared_by_what_they_say() -> None:
    """Whatever the order of keys, and as they come back from JSON; but for the code, all of them count."""
    expected = identity.run_identity(load.load(CONFIG).paper("go_ucb"), "paper", "f1", "gp_ei")
    expected["algorithm_parameters"] = {"a": 1, "b": (1.0, "x"), "c": {"d": 0, "e": None}}
    written = json.loads(json.dumps(expected))
    written["algorithm_parameters"] = {"c": {"e": None, "d": 0}, "b": [1, "x"], "a": 1.0}
    assert collect.difference({**written, "code": "another"}, expected) == ""
    for key in expected.keys() - {"code"}:
        difference = collect.difference({**written, key: "another"}, expected)
        assert difference.startswith(f"holds runs with {key} = another, not ")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_block_that_is_not_whole_is_refused_in_one_line(fault: str, here: Path) -> None:
    make, line = FAULTS[fault]
    make()
    with pytest.raises(RepliboError, match=f"^{FIRST}: .*{line}") as caught:
        collect.collect(config(), *PAIR)
    assert "\n" not in str(caught.value)


COLLECTED_FAULTS: dict[str, tuple[Callable[[], object], str]] = {
    "a missing seed": (
        lambda: rewritten(COLLECTED, lambda content: content.slice(0, 8)),
        "must hold every query of every seed",
    ),
    "another pair": (
        lambda: rewritten(COLLECTED, with_metadata(timings={"f1/go_ucb": {}})),
        "must hold go_ucb smoke f1/random_search, got go_ucb smoke f1/go_ucb",
    ),
    "another horizon": (
        lambda: rewritten(
            COLLECTED, with_metadata(problems={"f1": {"horizon": 9, "initial_points": 5}})
        ),
        "holds runs with horizon = 9, not 8",
    ),
    "no versions": (
        lambda: rewritten(COLLECTED, with_metadata(versions=None)),
        r"damaged metadata \(versions: field required\)",
    ),
    "a block": (lambda: shutil.copy(FIRST, COLLECTED), "damaged metadata"),
}


@pytest.mark.parametrize("fault", COLLECTED_FAULTS)
def test_a_collected_file_that_is_not_whole_is_refused_in_one_line(fault: str, here: Path) -> None:
    assert len(collect.read_pair(config(), *PAIR)) == 16
    make, line = COLLECTED_FAULTS[fault]
    make()
    with pytest.raises(RepliboError, match=f"^{COLLECTED}: {line}") as caught:
        collect.read_pair(config(), *PAIR)
    assert "\n" not in str(caught.value)
