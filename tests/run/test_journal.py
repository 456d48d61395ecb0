"""The journal: what a kill can leave behind, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.errors import RepliboError
from replibo.run.journal import Journal

RECORDS = [
    [[0.1 * i], -1, 1.0 / 3.0 + i, float(i), {"w": 2.0**-i}, [0.0, 0.0, 0.0]] for i in range(5)
]


def written(path: Path, records: list[object], identity: str = "id") -> bytes:
    journal = Journal(path, identity)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def reopened(path: Path, identity: str = "id") -> list[object]:
    journal = Journal(path, identity)
    journal.close()
    return journal.records


def test_records_come_back_bit_for_bit(tmp_path: Path) -> None:
    written(tmp_path / "j", RECORDS)
    assert reopened(tmp_path / "j") == RECORDS


@settings(max_examples=200, deadline=None)
@given(cut=st.integers(0, 10_000))
def test_cut_anywhere_gives_a_prefix_and_can_be_continued(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    whole = written(path, RECORDS)
    path.write_bytes(whole[: cut % (len(whole) + 1)])
    kept = reopened(path)
    assert kept == RECORDS[: len(kept)]
    # every whole line that was there is kept
    lines = whole[: cut % (len(whole) + 1)].count(b"\n")
    assert len(kept) == max(0, lines - 1)
    assert written(path, RECORDS[len(kept) :]) == whole


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_damaged_line_before_the_last_is_an_error_that_names_it(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    lines = written(path, RECORDS).splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 2))
    place = data.draw(st.integers(0, len(lines[number]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b not in (10, lines[number][place])))
    # the checksum is hexadecimal: another case of the same digit is the same number
    if place < 8 and chr(byte).lower() == chr(lines[number][place]).lower():
        return
    line = bytearray(lines[number])
    line[place] = byte
    lines[number] = bytes(line)
    path.write_bytes(b"".join(lines))
    if place == 8:  # the blank between checksum and record carries nothing
        assert reopened(path) == RECORDS
        return
    with pytest.raises(RepliboError, match=rf"j, line {number + 1}: damaged journal; delete"):
        Journal(path, "id")


def test_a_journal_of_another_run_is_begun_anew(tmp_path: Path) -> None:
    written(tmp_path / "j", RECORDS)
    assert reopened(tmp_path / "j", "another identity") == []
    assert reopened(tmp_path / "j") == []


def test_two_processes_cannot_write_one_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "id")
    with pytest.raises(RepliboError, match="another process is running this seed"):
        Journal(tmp_path / "j", "id")
    journal.close()
    Journal(tmp_path / "j", "id").close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepliboError, match="file/j: cannot be written"):
        Journal(tmp_path / "file" / "j", "id")
