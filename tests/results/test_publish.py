"""Published traces: thinned, and enough for every figure, table and verdict."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from replibo import paths, verdicts
from replibo.config import load
from replibo.errors import RepliboError
from replibo.results import publish
from replibo.results.runs import read
from replibo.run import metadata, pairs, published, traces
from replibo.verdicts import Verdict
from replibo.workflow import gallery

from ..papers.conftest import pair
from .conftest import publish_runs, published_runs

ROOT = Path(__file__).parents[2]


def source(rows: int = 40, *, noise: bool = False) -> pa.Table:
    rng = np.random.default_rng(0)
    y, f = rng.uniform(size=(2, 1, rows))
    return pair(
        ("f1", "go_ucb"),
        f if noise else np.full((1, rows), 1 / 3),
        first=0,
        phase=["search"] * rows,
        x=[[0.5]] + [None] * (rows - 1),
        y=y[0],
        ask_seconds=np.zeros(rows, dtype=np.float32),
        length_scale=np.full(rows, 0.5),
        bonus=np.zeros(rows),
    )


def rows(algorithm: str = "go_ucb") -> pa.Table:
    return publish.rows("go_ucb", "f1", algorithm)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the paper is published, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Path("published/go_ucb")


def test_what_is_published_is_thin_exact_and_says_what_it_is(folder: Path) -> None:
    publish_runs(published_runs(40), source())
    assert os.listdir(folder / "f1") == ["go_ucb.parquet"]
    content = rows()
    assert content.column_names == [*publish.KEPT, *publish.KEPT_OF_BEST, "length_scale"]
    assert content["f"].to_pylist() == [1 / 3] * 40
    assert traces.read_metadata(content)["scale"] == "paper"
    frame = pd.read_parquet(folder / "f1" / "go_ucb.parquet")
    assert frame.f.tolist() == [1 / 3] * 40 and set(frame.algorithm) == {"go_ucb"}
    footer = metadata.of_file(folder / "f1" / "go_ucb.parquet")
    assert (footer["seeds"], footer["timing"]) == ("0", {"runs": 1, "queries": 40})


def test_runs_too_large_for_a_file_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 10_000)
    with pytest.raises(RepliboError, match="f1, go_ucb: the runs must fit into 10000 bytes, got"):
        publish_runs(published_runs(4000), source(4000, noise=True))
    assert not folder.exists()


def test_a_pair_takes_its_place_and_leaves_other_pairs(folder: Path) -> None:
    publish_runs(published_runs(40), source())
    publish_runs(published_runs(40, algorithm="gp_ei"), source())
    path = paths.published_traces("go_ucb", "f1", "gp_ei")
    before = path.stat()
    publish_runs(published_runs(60), source(60))
    assert published.pairs("go_ucb") == [("f1", "go_ucb"), ("f1", "gp_ei")]
    assert len(rows()) == 60 and path.stat().st_mtime_ns == before.st_mtime_ns
    publish.write(folder, {("f1", "go_ucb"): None})
    assert os.listdir(path.parent) == ["gp_ei.parquet"]
    publish.write(folder, {("f1", "gp_ei"): None})
    assert os.listdir(folder) == []


@pytest.mark.parametrize("fault", ["flip", "flip in the footer", "missing", "other"])
def test_damaged_published_files_are_said_in_one_line(folder: Path, fault: str) -> None:
    publish_runs(published_runs(40), source())
    path = folder / "f1" / "go_ucb.parquet"
    whole = bytearray(path.read_bytes())
    whole[whole.index(b'"horizon"') if "footer" in fault else len(whole) // 4] ^= 1
    path.unlink()
    if "flip" in fault:
        path.write_bytes(whole)
    elif fault == "other":
        publish_runs(published_runs(40, algorithm="gp_ei"), source())
        path.with_name("gp_ei.parquet").rename(path)
    with pytest.raises(RepliboError) as caught:
        read(load.load(ROOT / "config"), "go_ucb", "published", [("f1", "go_ucb")], "x")
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
    assert fault != "flip" or str(caught.value).endswith("take it from the repository")


def test_a_full_disk_leaves_what_was_published(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    publish_runs(published_runs(40), source())
    publish_runs(published_runs(40, algorithm="gp_ei"), source())
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    request.getfixturevalue("small_files")
    with pytest.raises(RepliboError, match="go_ucb: cannot be written"):
        publish_runs(published_runs(60), source(60, noise=True))
    assert {path: path.read_bytes() for path in folder.rglob("*.parquet")} == before
    assert os.listdir(folder.parent) == ["go_ucb"]


def published_papers() -> list[str]:
    config = load.load(ROOT / "config")
    return [paper for paper in config.papers if (ROOT / "published" / paper).exists()]


@pytest.mark.parametrize("paper", published_papers())
def test_the_published_traces_are_whole(paper: str, root: Path) -> None:
    folder = Path("published", paper)
    sizes = {path: path.stat().st_size for path in folder.rglob("*.*")}
    assert sizes and max(sizes.values()) <= publish.MAXIMAL_BYTES
    assert {path.suffix for path in sizes} == {".parquet"}
    config = load.load()
    wanted = pairs.at(config, paper, "published")
    runs = read(config, paper, "published", wanted, "published")
    assert {f"{problem}/{algorithm}" for problem, algorithm in wanted} == {
        *published.of_paper(paper)
    }
    for problem in runs.problems():
        for algorithm in runs.algorithms(problem):
            f = runs.f(problem, algorithm)
            assert np.isfinite(f).all()
            if runs.metadata["problems"][problem]["optimal_value"] is not None:
                assert f.max() <= runs.optimal_value(problem) + 1e-9
            assert runs.rounds(problem, algorithm)[-1] == runs.horizon(problem)


@functools.cache
def published_verdicts() -> list[Verdict]:
    """The verdicts of the published traces, in the project's root; judging them takes a minute."""
    config = load.load()
    return verdicts.judge_all(config, config.papers, paths.PUBLISHED)


def test_the_pages_show_the_verdicts_of_the_published_traces(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = published_verdicts()
    monkeypatch.setattr(verdicts, "judge_all", lambda *arguments: judged)
    for path, content in gallery.pages(load.load()).items():
        assert path.read_text(encoding="utf-8") == content, f"{path}: run 'make gallery'"


@pytest.mark.parametrize(
    ("paper", "title"), [("go_ucb", "GO-UCB"), ("neuralbo", "NeuralBO"), ("lb_gp_ucb", "LB-GP-UCB")]
)
def test_readings_that_are_said_to_change_no_verdict_change_none(
    paper: str, title: str, root: Path
) -> None:
    text = (root / "READINGS.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    names = re.findall(r"`(\w+)`", part.partition("No verdict changes with reading")[2])
    assert names
    for name in names:
        words = [
            (verdict.printed.word, reading.word)
            for verdict in published_verdicts()
            for reading in verdict.judged
            if verdict.paper == paper and reading.name == name
        ]
        assert words and all(printed == word for printed, word in words), name


def test_measures_without_an_effect_are_those_that_say_why(root: Path) -> None:
    """In the published runs, as printed."""
    having, lacking = set(), set()
    for verdict in published_verdicts():
        for comparison in verdict.printed.comparisons:
            (having if comparison.effect else lacking).add(verdict.claim.measure)
    assert lacking - having == {
        "claims.normally_distributed",  # of p-values: a sample alone has no effect
        "claims.cost_of_a_round",  # the times of all runs are published as one sum
        "memory.memory_growth",  # the bytes of a surrogate follow from its size
    }


def test_the_gallery_has_the_figures_that_pages_show_and_no_other(root: Path) -> None:
    shown = gallery.shown(load.load())
    assert {*paths.GALLERY.iterdir()} == shown.keys()
    assert shown[paths.GALLERY / "go_ucb_figure_1.png"] == "go_ucb/figure_1.png"
    assert shown[paths.GALLERY / "verdict_map.png"] == "verdict_map.png"


def test_a_readme_without_the_marks_is_refused() -> None:
    with pytest.raises(RepliboError, match="verdicts: start"):
        gallery.filled("no marks", "verdicts", "table")
