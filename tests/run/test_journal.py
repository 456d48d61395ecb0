"""The journal: what a kill can leave behind, and what it must not."""

from __future__ import annotations

import errno
import fcntl
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.errors import RepliboError
from replibo.run.journal import Journal, remove_folder_if_empty

RECORDS = [
    [[0.1 * i], -1, 1.0 / 3.0 + i, float(i), {"w": 2.0**-i}, [0.0, 0.0, 0.0]] for i in range(5)
]


def written(path: Path, records: list[object], identity: str = "id", seed: int = 3) -> bytes:
    journal = Journal(path, identity, seed)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def reopened(path: Path, identity: str = "id", seed: int = 3) -> list[object]:
    journal = Journal(path, identity, seed)
    journal.close()
    return journal.records


@settings(max_examples=200)
@given(cut=st.integers(0, 10_000))
def test_cut_anywhere_gives_a_prefix_and_can_be_continued(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    whole = written(path, RECORDS)
    path.write_bytes(whole[: cut % (len(whole) + 1)])
    n = max(0, path.read_bytes().count(b"\n") - 1)  # every whole line that was there is kept
    assert reopened(path) == RECORDS[:n]
    assert written(path, RECORDS[n:]) == whole


DAMAGE = ("flip", "lose", "double", "swap", "foreign seed", "foreign run")


@settings(max_examples=200)
@given(data=st.data(), kind=st.sampled_from(DAMAGE))
def test_damage_anywhere_leaves_the_unbroken_prefix_or_is_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("j")
    path = folder / "j"
    lines = written(path, RECORDS).splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 2))
    if kind == "flip":
        place = data.draw(st.integers(0, len(lines[number]) - 2))
        byte = data.draw(st.integers(0, 255).filter(lambda b: b not in (10, lines[number][place])))
        line = bytearray(lines[number])
        line[place] = byte
        lines[number] = bytes(line)
    elif kind == "lose":
        del lines[number]
    elif kind == "double":
        number += 1
        lines.insert(number, lines[number - 1])
    elif kind == "swap":
        lines[number], lines[number + 1] = lines[number + 1], lines[number]
    else:
        seed, identity = (4, "id") if kind == "foreign seed" else (3, "another")
        number += 1
        lines[number] = written(folder / "other", RECORDS, identity, seed).splitlines(True)[number]
    path.write_bytes(b"".join(lines))
    if number == 0:
        before = path.read_bytes()
        with pytest.raises(RepliboError, match="j, line 1: damaged journal; delete the file"):
            Journal(path, "id", 3)
        assert path.read_bytes() == before
        return
    assert reopened(path) == RECORDS[: number - 1]
    written(path, RECORDS[number - 1 :])
    assert reopened(path) == RECORDS


def test_damage_in_the_middle_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "j"
    lines = written(path, RECORDS).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    assert reopened(path) == RECORDS[:2]
    (message,) = caplog.messages
    assert message == (
        f"{path}, line 4: damaged; the 2 queries before it are kept, the others made again"
    )
    reopened(path)  # what a kill leaves, or nothing, is not said
    assert len(caplog.messages) == 1


def test_a_journal_of_another_run_is_begun_anew(tmp_path: Path) -> None:
    written(tmp_path / "j", RECORDS)
    assert reopened(tmp_path / "j", "another identity") == []
    assert reopened(tmp_path / "j") == []
    written(tmp_path / "j", RECORDS)
    assert reopened(tmp_path / "j", seed=4) == []


@pytest.mark.parametrize("room", [0, 1, 7])
def test_a_full_disk_is_said_and_costs_no_query_that_was_written(tmp_path: Path, room: int) -> None:
    class Full(io.FileIO):
        def write(self, content: Any) -> int:
            if not room or not self.tell() < size + room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(content[: size + room - self.tell()])

    whole, path = written(tmp_path / "whole", RECORDS), tmp_path / "j"
    size = len(written(path, RECORDS[:2]))
    journal = Journal(path, "id", 3)
    journal._file.close()
    journal._file = Full(path, "a")
    with pytest.raises(RepliboError, match=r"j: cannot be written \(No space left on device\)"):
        journal.append(RECORDS[2])
    journal.close()
    assert path.read_bytes() == whole[: size + room]
    assert reopened(path) == RECORDS[:2]


def test_two_processes_cannot_write_one_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "id", 3)
    with pytest.raises(RepliboError, match="another process is running this seed"):
        Journal(tmp_path / "j", "id", 3)
    journal.close()
    reopened(tmp_path / "j")


@pytest.mark.parametrize("begun_anew", [False, True])
def test_a_journal_that_is_removed_before_it_is_locked_is_begun_anew(
    begun_anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process whose output is in place; another may have begun a journal since."""
    path, lock = tmp_path / "j", fcntl.flock

    def late(file: Any, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()
        if begun_anew:
            path.touch()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    written(path, RECORDS[:1])
    assert reopened(path) == RECORDS[:1]


def test_a_folder_that_another_block_removes_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and the file's."""
    path, make, folders = tmp_path / "journals" / "j", Path.mkdir, []

    def and_removed(self: Path, *arguments: Any, **settings: Any) -> None:
        make(self, *arguments, **settings)
        folders.append(self)
        if len(folders) < 3:
            remove_folder_if_empty(self)
        if len(folders) == 2:  # what mkdir says where it goes while mkdir looks
            raise FileExistsError(self)

    monkeypatch.setattr(Path, "mkdir", and_removed)
    reopened(path)
    assert folders == [path.parent] * 3 and path.exists()


def test_numpys_numbers_are_kept_and_other_things_refused(tmp_path: Path) -> None:
    with pytest.raises(RepliboError, match="a diagnostic must be a number, got <object"):
        written(tmp_path / "j", [[np.int64(3), np.float64(0.1)], [object()]])
    assert reopened(tmp_path / "j") == [[3.0, 0.1]]
