"""Published traces: thinned, and enough for every figure, table and verdict."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from replibo import paths
from replibo.config import claims, load
from replibo.errors import RepliboError
from replibo.results import publish
from replibo.results.runs import read
from replibo.run import pairs, traces
from replibo.run.published import PublishedRuns, written
from replibo.workflow import gallery


def source(rows: int = 40, *, noise: bool = False) -> pa.Table:
    rng = np.random.default_rng(0)
    content = pa.table(
        {
            "problem": ["f1"] * rows,
            "algorithm": ["go_ucb"] * rows,
            "seed": np.zeros(rows, dtype=np.int32),
            "t": np.arange(rows, dtype=np.int32),
            "phase": ["search"] * rows,
            "x": pa.array([[0.5]] + [None] * (rows - 1), type=pa.list_(pa.float64())),
            "y": rng.uniform(size=rows),
            "f": rng.uniform(size=rows) if noise else np.full(rows, 1 / 3),
            "ask_seconds": np.zeros(rows, dtype=np.float32),
            "length_scale": np.full(rows, 0.5),
            "bonus": np.zeros(rows),
        }
    )
    timing = {"runs": 1, "queries": rows}
    own = PublishedRuns(
        **timing,
        horizon=rows - 1,
        seeds=frozenset({0}),
        identity="",
        code="",
        best_at=(rows - 1,),
        changed_config=False,
        versions=(),
        machine=(),
        commit=(),
    )
    metadata = {
        "paper": "go_ucb",
        "scale": "paper",
        "problems": {"f1": {"horizon": rows - 1}},
        "timings": {"f1/go_ucb": timing, "f1/gp_ei": timing},
        "changed_config": False,
        **written({"f1/go_ucb": own, "f1/gp_ei": own}),
    }
    return content.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})


BOTH = [("f1", "go_ucb"), ("f1", "gp_ei")]


def published(table: pa.Table, folder: Path) -> None:
    """Write the traces of one problem to ``folder``."""
    metadata = {**traces.read_metadata(table), "rows": len(table)}
    publish.write(folder, metadata, publish.files_of("f1", table))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the paper is published, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Path("published/go_ucb")


def test_what_is_published_is_thin_exact_and_says_what_it_is(folder: Path) -> None:
    published(source(), folder)
    content = publish.read("go_ucb", BOTH)
    assert content.column_names == [*publish.KEPT, *publish.KEPT_OF_BEST, "length_scale"]
    assert content["f"].to_pylist() == [1 / 3] * 40
    summary = json.loads((folder / "metadata.json").read_text())
    assert summary["scale"] == "paper" and summary["rows"] == 40
    assert traces.read_metadata(content)["scale"] == "paper"


@pytest.mark.parametrize("fault", ["altered", "cut", "gone"])
def test_a_file_that_stays_must_be_the_published_one(folder: Path, fault: str) -> None:
    """Written anew beside others, a damaged file must not become the published one."""
    published(source(), folder)
    metadata = json.loads((folder / "metadata.json").read_text())
    (name,), path = metadata["files"], folder / "f1.parquet"
    content = path.read_bytes()
    if fault == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-9] if fault == "cut" else content[:-9] + b"x" + content[-8:])
    before = (folder / "metadata.json").read_bytes()
    with pytest.raises(RepliboError, match=r"not the published file|cannot be read|not found"):
        publish.write(folder, metadata, {name: None}, metadata["files"])
    assert (folder / "metadata.json").read_bytes() == before
    path.write_bytes(content)
    publish.write(folder, metadata, {name: None}, metadata["files"])
    assert path.read_bytes() == content


def test_a_run_too_large_for_a_file_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 10_000)
    with pytest.raises(RepliboError, match="f1, go_ucb: one run must fit into 10000 bytes, got"):
        published(source(4000, noise=True), folder)
    assert not folder.exists()


def test_large_metadata_are_refused_and_leave_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 500)
    with pytest.raises(RepliboError, match=r"metadata\.json: must have at most 500 bytes, got"):
        publish.write(folder, {"paper": "go_ucb" * 100}, {})
    assert not folder.exists()


def test_an_algorithm_too_large_for_a_file_has_several(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [source(2000, noise=True) for _ in range(5)]
    for seed, one in enumerate(runs):
        runs[seed] = one.set_column(2, "seed", pa.array([seed] * 2000, pa.int32()))
        runs[seed] = runs[seed].set_column(
            7, "f", pa.array(np.random.default_rng(seed).uniform(size=2000))
        )
    table = pa.concat_tables(runs)
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 40_000)
    published(table.replace_schema_metadata(source(2000).schema.metadata), folder)
    names = sorted(path.name for path in folder.glob("*.parquet"))
    assert len(names) > 1 and names[0] == "f1.go_ucb.0.parquet"
    assert all(path.stat().st_size <= 40_000 for path in folder.iterdir())
    content = publish.read("go_ucb", BOTH[:1])
    assert content["f"].to_pylist() == table["f"].to_pylist()
    assert len(publish.read("go_ucb", BOTH[1:])) == 0
    assert len(pairs.published_files("go_ucb", BOTH[:1])) == 1 + len(names)


def test_a_large_problem_has_a_file_for_each_algorithm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = source(2000, noise=True)
    others = runs.set_column(1, "algorithm", pa.array(["gp_ei"] * len(runs)))
    others = others.set_column(
        others.column_names.index("f"),
        "f",
        pa.array(np.random.default_rng(1).uniform(size=len(runs))),
    )
    both = pa.concat_tables([runs, others]).replace_schema_metadata(runs.schema.metadata)
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 30_000)
    published(both, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "f1.go_ucb.parquet",
        "f1.gp_ei.parquet",
        "metadata.json",
    ]
    content = publish.read("go_ucb", BOTH)
    assert content["f"].to_pylist() == both["f"].to_pylist()
    assert content["algorithm"].to_pylist() == both["algorithm"].to_pylist()
    alone = publish.read("go_ucb", BOTH[1:])
    assert alone["f"].to_pylist() == others["f"].to_pylist()
    assert pairs.published_files("go_ucb", BOTH[1:]) == [
        "published/go_ucb/metadata.json",
        "published/go_ucb/f1.gp_ei.parquet",
    ]


def test_one_more_algorithm_leaves_the_others_files_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though their names are coded together while they are in memory."""
    monkeypatch.setattr(publish, "MAXIMAL_BYTES", 30_000)
    place = source().column_names.index("f")
    runs = {
        name: source(2000)
        .set_column(1, "algorithm", pa.array([name] * 2000))
        .set_column(place, "f", pa.array(np.random.default_rng(k).uniform(size=2000)))
        for k, name in enumerate(["exploration_first", "go_ucb", "gp_ei"])
    }
    made = []
    for names in (["go_ucb", "gp_ei"], list(runs)):
        whole = pa.concat_tables([runs[name] for name in names])
        coded = whole["algorithm"].combine_chunks().dictionary_encode()
        made.append(publish.files_of("f1", whole.set_column(1, "algorithm", coded)))
    few, more = made
    assert more.keys() - few.keys() == {"f1.exploration_first.parquet"}
    assert all(more[name] == content for name, content in few.items())


@pytest.mark.parametrize("name", ["f1.parquet", "metadata.json"])
@pytest.mark.parametrize("fault", ["flip", "cut", "missing", "a folder"])
def test_damaged_published_files_are_said_in_one_line(folder: Path, name: str, fault: str) -> None:
    published(source(), folder)
    path = folder / name
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2 - 3] ^= 1
    path.unlink()
    if fault == "flip":
        path.write_bytes(whole)
    elif fault == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif fault == "a folder":
        path.mkdir()
    with pytest.raises(RepliboError) as caught:
        publish.read("go_ucb", BOTH)
    named = str(folder) if fault == "missing" and name == "metadata.json" else str(path)
    assert str(caught.value).startswith(named) and "\n" not in str(caught.value)


def test_a_full_disk_leaves_what_was_published(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(source(), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == paths.METADATA:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RepliboError, match="go_ucb: cannot be written"):
        published(source(60, noise=True), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert os.listdir(folder.parent) == ["go_ucb"]


def published_papers() -> list[str]:
    config = load.load(Path(__file__).parents[2] / "config")
    root = Path(__file__).parents[2] / "published"
    return [paper for paper in config.papers if (root / paper / paths.METADATA).exists()]


@pytest.mark.parametrize("paper", published_papers())
def test_the_published_traces_are_whole(paper: str, root: Path) -> None:
    folder = Path("published", paper)
    assert all(path.stat().st_size <= publish.MAXIMAL_BYTES for path in folder.iterdir())
    config = load.load()
    wanted = pairs.at(config, paper, "published")
    runs = read(config, paper, "published", wanted, "published")
    rows = sum(map(len, publish.rows(paper, wanted, pairs.published_metadata(paper))))
    assert rows == runs.metadata["rows"]
    for problem in runs.problems():
        for algorithm in runs.algorithms(problem):
            f = runs.f(problem, algorithm)
            assert np.isfinite(f).all()
            if runs.metadata["problems"][problem]["optimal_value"] is not None:
                assert f.max() <= runs.optimal_value(problem) + 1e-9
            assert runs.rounds(problem, algorithm)[-1] == runs.horizon(problem)


def test_the_pages_show_the_verdicts_of_the_published_traces(root: Path) -> None:
    for path, content in gallery.pages(load.load()).items():
        assert path.read_text(encoding="utf-8") == content, f"{path}: run 'make gallery'"


def test_every_figure_of_the_gallery_is_shown_on_a_page(root: Path) -> None:
    pages = [root / "README.md", *(root / "docs" / "results").glob("*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    assert [name for name in gallery.SHOWN if name.replace("/", "_") not in text] == []
    kept = {path.name for path in (root / "figures" / "gallery").glob("*.png")}
    assert kept == {name.replace("/", "_") for name in gallery.SHOWN}


def test_the_summary_counts_every_claim_once(root: Path) -> None:
    """README's, which the test above holds to the traces."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    table = readme.partition("verdicts: start -->\n")[2].partition("<!-- verdicts: end")[0]
    rows = [row.split("|")[2:-1] for row in table.strip().splitlines()[2:]]
    counts = [[int(cell.strip() or 0) for cell in (row[0], *row[3:])] for row in rows]
    config = load.load()
    claims_of_papers = [len(claims.load(config, paper)) for paper in config.papers]
    sizes = [size for size in claims_of_papers if size for _ in ("printed", "all")]
    assert [own for own, *_ in counts] == sizes
    for own, *verdict_counts, replicated in counts:
        assert sum(verdict_counts) == own >= replicated


def test_a_readme_without_the_marks_is_refused() -> None:
    with pytest.raises(RepliboError, match="verdicts: start"):
        gallery.filled("no marks", "verdicts", "table")
