"""Writing whole or not at all, and only over files; reading only files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from replibo import files
from replibo.errors import RepliboError


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.written_whole(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_a_stop_once_the_private_folder_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def stopped(name: str | Path, mode: int = 0o777) -> None:
        mkdir(name, mode)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", stopped)
    with pytest.raises(KeyboardInterrupt), files.written_whole(tmp_path / "a.txt"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_file_and_is_said(tmp_path: Path, small_files: None) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with (
        pytest.raises(RepliboError, match=r"a\.txt: cannot be written \(File too large\)"),
        files.written_whole(path) as temporary,
    ):
        temporary.write_bytes(bytes(2000))
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content in ("first", "second"):
        with files.written_whole(path, folder=True) as temporary:
            temporary.mkdir()
            (temporary / content).touch()
        assert os.listdir(path) == [content] and os.listdir(tmp_path) == ["a"]
    with pytest.raises(RepliboError, match="must be a regular file or not exist, got a folder"):
        files.check_target(path)


@pytest.mark.parametrize(("call", "left"), [("rename", "old"), ("replace", "new")])
def test_a_signal_at_any_move_leaves_one_of_the_folders(
    call: str, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, move = tmp_path / "a", getattr(Path, call)
    path.mkdir()
    (path / "old").touch()

    def interrupted(self: Path, target: Path) -> None:
        move(self, target)
        monkeypatch.undo()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), files.written_whole(path, folder=True) as temporary:
        temporary.mkdir()
        (temporary / "new").touch()
        monkeypatch.setattr(Path, call, interrupted)
    assert os.listdir(path) == [left] and os.listdir(tmp_path) == ["a"]


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one cannot be moved to its place: the old one is there again."""
    path = tmp_path / "a"
    path.mkdir()
    (path / "old").touch()

    def refused(self: Path, target: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "replace", refused)
    with (
        pytest.raises(RepliboError, match=r"a: cannot be written \(Input/output error\)"),
        files.written_whole(path, folder=True) as temporary,
    ):
        temporary.mkdir()
    assert os.listdir(path) == ["old"] and os.listdir(tmp_path) == ["a"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with files.written_whole(tmp_path / "a") as temporary:
        temporary.touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/dev/null", "must be a regular file or not exist, got a device"),
        ("x" * 300, "File name too long"),
        ("file/a", "Not a directory"),
        ("/proc/a", "No such file or directory"),
    ],
)
def test_names_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    with pytest.raises(RepliboError, match=f"^{path}: cannot be written.*{reason}"):
        files.check_writable(path)


def test_only_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    assert files.read_bytes(tmp_path / "link") == b"content"
    for path, reason in (
        (tmp_path / "pipe", "must be a file, got a pipe"),
        (tmp_path, "must be a file, got a folder"),
        (Path("/dev/zero"), "must be a file, got a device"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(RepliboError, match=f"^{path}: cannot be read.*{reason}"):
            files.read_bytes(path)
    with pytest.raises(RepliboError, match="must have at most 6 bytes, got 7"):
        files.read_bytes(tmp_path / "file", limit=6)
