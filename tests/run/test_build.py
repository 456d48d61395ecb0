"""From config to a run: data files are verified before they are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from replibo.algorithms.random_search import RandomSearch
from replibo.config import load
from replibo.errors import RepliboError
from replibo.run import build


def on_real_data(data_dir: Path) -> None:
    raw = load.merge(load.read(), {"data_dir": str(data_dir)})
    build.problem(load.parse(raw), "lb_gp_ucb", "paper", "agnp")


def test_a_missing_data_file_is_named_with_its_urls_digest_and_place(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLIBO_DATA_MIRROR", raising=False)
    with pytest.raises(
        RepliboError, match=r"materials/agnp\.csv: not found; 'replibo fetch agnp'"
    ) as e:
        on_real_data(tmp_path)
    assert "https://" in str(e.value) and "sha256 d25ec6fbb178" in str(e.value)


def test_a_missing_data_file_comes_from_the_mirror(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLIBO_DATA_MIRROR", str(tmp_path / "mirror"))
    asked: list[tuple[str, Path]] = []

    def fetch(name: str, *, data_dir: Path, mirror: str | None) -> Path:
        asked.append((name, data_dir))
        raise RepliboError("nothing there")

    monkeypatch.setattr(build, "fetch", fetch)
    with pytest.raises(RepliboError, match="nothing there"):
        on_real_data(tmp_path)
    assert asked == [("agnp", tmp_path)]


def test_a_data_file_with_the_wrong_digest_is_not_used(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "materials" / "agnp.csv"
    path.parent.mkdir()
    path.write_text("QAgNO3(%),Qpva(%),Qtsc(%),Qseed(%),Qtot(uL/min),loss\n1,2,3,4,5,6\n")
    with pytest.raises(RepliboError, match=r"agnp\.csv is there, but: wrong digest: "):
        on_real_data(tmp_path)


def test_a_diagnostic_is_not_called_as_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomSearch, "diagnostics", {"f": "what is predicted", "own": "else"})
    with pytest.raises(RepliboError) as caught:
        build.experiment(load.load(), "go_ucb", "smoke", "f1", "random_search")
    assert str(caught.value) == (
        "go_ucb.algorithms.random_search.type: diagnostics of RandomSearch must not be called as a column "
        "of the traces, got f"
    )
