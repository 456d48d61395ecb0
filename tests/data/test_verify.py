"""Whether a file is the right one: digests, structure, and paths that hold no file."""

from __future__ import annotations

import gzip
import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from replibo.data.fetch import fetch
from replibo.data.verify import fault_of, record_of
from replibo.errors import RepliboError
from replibo.run.build import data_paths

from .conftest import CSV, DIGITS, OTHERS, REVIEWS, Listed, files_below, put

URL = "http://127.0.0.1/x"
GZ = gzip.compress(DIGITS)


@pytest.mark.parametrize(
    ("right", "content", "fault"),
    [
        (CSV, CSV, ""),
        (CSV, CSV[:-1], "wrong digest: got 1,207 bytes with sha256 "),
        (CSV, CSV + b"6", "wrong digest: must have 1,208 bytes, got more"),
        (CSV, bytes(20_001), "must have at most 20,000 bytes, got 20,001"),
        (DIGITS, gzip.compress(DIGITS, 0), ""),
        (DIGITS, gzip.compress(DIGITS, 9, mtime=9), ""),
        (DIGITS, GZ[:-1], "truncated gzip"),
        (DIGITS, b"<html>Please log in</html>", "corrupt gzip, or not gzip"),
        (DIGITS, GZ[:-8] + b"12345678", "corrupt gzip, or not gzip"),
        (DIGITS, GZ[:10] + b"\xff" * 100, "corrupt gzip, or not gzip"),
        (DIGITS, gzip.compress(DIGITS[:-1]), "wrong digest: got 10,239 bytes"),
        (DIGITS, gzip.compress(bytes(10**6)), "wrong digest: must have 10,240 bytes, got more"),
        (REVIEWS, REVIEWS, ""),
        (REVIEWS, b"", "wrong columns: none"),
        (REVIEWS, b"<html>log in</html>\n", "wrong columns: '<html>log in</html>'"),
        (REVIEWS, b"x" * 10_000, f"wrong columns: '{'x' * 199}"),
        (REVIEWS, REVIEWS.replace(b"kind", b"sort"), "wrong columns: 'text', 'sort'; missing: kind"),
        (REVIEWS, REVIEWS.replace(b"text,kind", b"kind,text"), "wrong columns: 'kind', 'text'"),
        (REVIEWS, REVIEWS[: REVIEWS.index(b"lines")], "not a whole CSV file in UTF-8: unexpected end of data"),
        (REVIEWS, REVIEWS[: REVIEWS.index("ü".encode())], "must have 4 rows, got 3"),
        (REVIEWS, REVIEWS + b"more,a\n", "must have 4 rows, got 5"),
        (REVIEWS, REVIEWS.replace("ü".encode(), b"\xfc"), "not a whole CSV file in UTF-8: 'utf-8'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(
    listed: Listed, tmp_path: Path, right: bytes, content: bytes, fault: str
) -> None:
    path = put(tmp_path / "x", content)
    said = fault_of(path, listed("wanted", URL, content=right), record_of(path))
    assert said.startswith(fault) and bool(said) == bool(fault) and "\n" not in said


# A file whose digest nobody knows beforehand


def test_the_first_right_file_is_recorded_and_no_other_taken(
    listed: Listed, tmp_path: Path
) -> None:
    file = listed("reviews", URL, content=REVIEWS)
    path = put(tmp_path / file.path, REVIEWS)
    fetch("reviews", data_dir=tmp_path)
    first, other = (hashlib.sha256(content).hexdigest() for content in (REVIEWS, OTHERS))
    assert record_of(path).read_text() == f"{first}  reviews.csv\n"
    path.write_bytes(OTHERS)
    with pytest.raises(RepliboError, match=f"{first}, as recorded in .* on first use, got {other}"):
        fetch("reviews", data_dir=tmp_path)
    record_of(path).unlink()
    fetch("reviews", data_dir=tmp_path)
    assert record_of(path).read_text().startswith(other)
    put(path, b"an edition that somebody recorded by hand, of another structure")
    put(record_of(path), hashlib.sha256(path.read_bytes()).hexdigest().encode() + b"\n")
    fetch("reviews", data_dir=tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n", bytes(10_001), Path.mkdir, os.mkfifo])
def test_a_damaged_record_is_not_believed(
    listed: Listed, tmp_path: Path, content: bytes | Callable[[Path], object]
) -> None:
    path = put(tmp_path / "x.csv", REVIEWS)
    record = record_of(path)
    put(record, content) if isinstance(content, bytes) else content(record)
    assert "record" in fault_of(path, listed("reviews", URL, content=REVIEWS), record)
    assert not isinstance(content, bytes) or record.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_fault(
    listed: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    path = put(tmp_path / listed("reviews", URL, content=REVIEWS).path, REVIEWS)
    # The tests may be run by root, who can write anywhere.
    monkeypatch.setattr(os, "mkdir", refuse)
    assert fetch("reviews", data_dir=tmp_path) == path
    assert files_below(tmp_path) == ["blobs/reviews.csv"]


# Paths that hold no file


def make_socket(path: Path) -> None:
    """At any depth: the name that a socket is bound to may have 100 characters or so."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(before)


# What makes the node, and the fault. The last: a file whose first byte cannot be read.
ODD: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "must be a file, got a folder"),
    (os.mkfifo, "must be a file, got a pipe"),
    (make_socket, "must be a file, got a socket"),
    (lambda path: path.symlink_to("/dev/zero"), "must be a file, got a device"),
    (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links"),
    (lambda path: path.symlink_to("/proc/self/mem"), "cannot be read: Input/output error"),
]


@pytest.mark.parametrize(("make", "fault"), ODD)
@pytest.mark.parametrize("content", [CSV, DIGITS, REVIEWS], ids=["csv", "gz", "table"])
def test_odd_nodes_are_refused_in_one_line(
    listed: Listed, tmp_path: Path, make: Callable[[Path], object], fault: str, content: bytes
) -> None:
    file = listed("barrel", URL, content=content)
    path = tmp_path / file.path
    path.parent.mkdir()
    make(path)
    with pytest.raises(RepliboError) as caught:
        paths_of_barrel(tmp_path)
    assert str(caught.value) == (
        f"barrel: {path} is there, but: {fault}; it must have {file.digest}; move it away or delete it, "
        "and 'replibo fetch barrel' gets it anew"
    )


def paths_of_barrel(folder: Path) -> dict[str, Path]:
    """What a problem gets that reads the file ``barrel``."""
    config = SimpleNamespace(data_dir=folder, data_mirror=None)
    return data_paths(config, SimpleNamespace(data_files=["barrel"]))  # type: ignore[arg-type]


def test_a_missing_data_file_says_how_to_get_it(
    listed: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLIBO_DATA_MIRROR", raising=False)
    file = listed("barrel", URL)
    with pytest.raises(RepliboError) as caught:
        paths_of_barrel(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / file.path}: not found; 'replibo fetch barrel' gets it, or put it there by hand "
        f"from {URL} (sha256 {file.sha256})"
    )
    put(tmp_path / "mirror" / file.path_in_mirror, CSV)
    monkeypatch.setenv("REPLIBO_DATA_MIRROR", str(tmp_path / "mirror"))
    assert paths_of_barrel(tmp_path) == {"barrel": tmp_path / file.path}
    assert (tmp_path / file.path).read_bytes() == CSV
