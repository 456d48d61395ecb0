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
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.data.manifest import load_manifest
from replibo.data.verify import fault_of, record_of
from replibo.errors import RepliboError
from replibo.run.build import data_paths

from .conftest import CSV, DIGITS, OTHERS, REVIEWS, Known, files_below, put

URL = "http://127.0.0.1/x"


def test_a_missing_file_is_not_a_wrong_one(known: Known, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fault_of(tmp_path / "x", known("barrel", URL))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (CSV, None),
        (CSV[:-1], "wrong digest: got 1,207 bytes with sha256 "),
        (CSV + b"6", "wrong digest: must have 1,208 bytes, got more"),
        (b"", "wrong digest: got 0 bytes with sha256 e3b0c44298"),
        (bytes(20_001), "must have at most 20,000 bytes, got 20,001"),
    ],
)
def test_a_file_of_known_digest(
    known: Known, tmp_path: Path, content: bytes, fault: str | None
) -> None:
    found = fault_of(put(tmp_path / "x", content), known("barrel", URL))
    assert found is None if fault is None else (found or "").startswith(fault)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (gzip.compress(DIGITS, 0), None),
        (gzip.compress(DIGITS, 9, mtime=9), None),
        (gzip.compress(DIGITS)[:-20], "truncated gzip"),
        (gzip.compress(DIGITS)[:-1], "truncated gzip"),
        (b"<html>Please log in</html>", "corrupt gzip, or not gzip"),
        (gzip.compress(DIGITS)[:-8] + b"12345678", "corrupt gzip, or not gzip"),
        (gzip.compress(DIGITS)[:10] + b"\xff" * 100, "corrupt gzip, or not gzip"),
        (gzip.compress(DIGITS[:-1]), "wrong digest: got 10,239 bytes"),
        (gzip.compress(DIGITS + b"6"), "wrong digest: must have 10,240 bytes, got more"),
        (gzip.compress(bytes(10**6)), "wrong digest: must have 10,240 bytes, got more"),
    ],
)
def test_a_gz_is_verified_by_its_decompressed_bytes(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, fault: str | None
) -> None:
    # The right number of bytes ends with a chunk: what comes after it must be looked at too.
    monkeypatch.setattr("replibo.data.verify._CHUNK", len(DIGITS) // 2)
    found = fault_of(put(tmp_path / "x.gz", content), known("digits", URL, content=DIGITS))
    assert found is None if fault is None else (found or "").startswith(fault)


@settings(derandomize=True, database=None)
@given(content=st.binary(min_size=1), level=st.integers(0, 9), cut=st.integers(1, 10**6))
def test_a_gz_is_right_whole_and_wrong_in_part(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, level: int, cut: int
) -> None:
    file = load_manifest()["mnist_test_labels"].model_copy(
        update={"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    )
    path = tmp_path_factory.mktemp("gz") / "x.gz"
    gz = gzip.compress(content, level, mtime=cut)
    path.write_bytes(gz)
    assert fault_of(path, file) is None
    path.write_bytes(gz[: -1 - cut % len(gz)])
    assert fault_of(path, file) is not None


# A file whose digest nobody knows beforehand


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "wrong columns: none"),
        (b"<html>Please log in</html>\n", "wrong columns: '<html>Please log in</html>'"),
        (b"x" * 10_000, f"wrong columns: '{'x' * 199}"),
        (REVIEWS.replace(b"kind", b"sort"), "wrong columns: 'text', 'sort'; missing: kind"),
        (REVIEWS.replace(b"text,kind", b"kind,text"), "wrong columns: 'kind', 'text'"),
        (REVIEWS[:-5], "line 6 must have 2 cells, got 1"),
        (REVIEWS[: REVIEWS.index(b"lines")], "not a whole CSV file: unexpected end of data"),
        (REVIEWS[: REVIEWS.index("über".encode())], "must have 4 rows, got 3"),
        (REVIEWS + b"more,a\n", "must have 4 rows, got more"),
        (REVIEWS.replace("ü".encode(), b"\xfc"), "not UTF-8"),
        (REVIEWS.replace(b",b\n", b", \n"), "line 4: column 'kind' is empty"),
        (REVIEWS.replace(b",b\n", b",a\n"), "column 'kind' must hold 2 or more different values"),
        (REVIEWS + bytes(20_000), "must have at most 20,000 bytes"),
    ],
)
def test_a_wrong_structure(known: Known, tmp_path: Path, content: bytes, fault: str) -> None:
    path = put(tmp_path / "x.csv", content)
    found = fault_of(path, known("reviews", URL, content=REVIEWS))
    assert found is not None and found.startswith(fault) and "\n" not in found
    assert not record_of(path).exists()


def test_the_first_right_file_is_recorded_and_no_other_taken(known: Known, tmp_path: Path) -> None:
    file = known("reviews", URL, content=REVIEWS)
    path = put(tmp_path / "x.csv", REVIEWS)
    assert fault_of(path, file) is None
    first = hashlib.sha256(REVIEWS).hexdigest()
    assert record_of(path).read_text() == f"{first}  x.csv\n"
    path.write_bytes(OTHERS)
    other = hashlib.sha256(OTHERS).hexdigest()
    assert (fault_of(path, file) or "").startswith(f"wrong digest: sha256 must be {first}, as ")
    assert f"{record_of(path)} on first use, got {other}" in (fault_of(path, file) or "")
    record_of(path).unlink()
    assert fault_of(path, file) is None
    assert record_of(path).read_text().startswith(other)


def test_a_recorded_file_is_verified_by_its_digest_alone(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = known("reviews", URL, content=REVIEWS)
    path = put(tmp_path / "x.csv", REVIEWS)
    assert fault_of(path, file) is None
    written = record_of(path).stat().st_mtime_ns
    monkeypatch.setattr("replibo.data.verify._wrong_table", lambda *_: "looked at again")
    assert fault_of(path, file) is None
    assert record_of(path).stat().st_mtime_ns == written


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n", bytes(10_001)])
def test_a_damaged_record_is_not_believed(known: Known, tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "x.csv", REVIEWS)
    put(record_of(path), content)
    assert "record" in (fault_of(path, known("reviews", URL, content=REVIEWS)) or "")
    assert record_of(path).read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_fault(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    # The tests may be run by root, who can write anywhere.
    monkeypatch.setattr(os, "replace", refuse)
    path = put(tmp_path / "x.csv", REVIEWS)
    assert fault_of(path, known("reviews", URL, content=REVIEWS)) is None
    assert files_below(tmp_path) == ["x.csv"]


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


# What makes the node, and the fault. The last: a regular file whose first byte cannot be read.
ODD: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "must be a regular file, got a folder"),
    (os.mkfifo, "must be a regular file, got a pipe"),
    (make_socket, "must be a regular file, got a socket"),
    (lambda path: path.symlink_to("/dev/zero"), "must be a regular file, got a device"),
    (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links"),
    (lambda path: path.symlink_to("/proc/self/mem"), "cannot be read: Input/output error"),
]


@pytest.mark.parametrize(("make", "fault"), ODD)
@pytest.mark.parametrize("content", [CSV, DIGITS, REVIEWS], ids=["csv", "gz", "table"])
def test_odd_nodes_are_refused_in_one_line(
    known: Known, tmp_path: Path, make: Callable[[Path], object], fault: str, content: bytes
) -> None:
    file = known("barrel", URL, content=content)
    path = tmp_path / file.path
    path.parent.mkdir()
    make(path)
    assert fault_of(path, file) == fault
    config = SimpleNamespace(data_dir=tmp_path, data_mirror=None)
    entry = SimpleNamespace(data_files=["barrel"])
    with pytest.raises(RepliboError) as caught:
        data_paths(config, entry)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"{path}: {fault}; delete it, and 'replibo fetch barrel' gets it anew"
    )


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_an_odd_record_is_refused(
    known: Known, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    path = put(tmp_path / "x.csv", REVIEWS)
    make(record_of(path))
    fault = fault_of(path, known("reviews", URL, content=REVIEWS))
    assert fault is not None and "must be a regular file, got a" in fault


def test_a_missing_data_file_says_how_to_get_it(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLIBO_DATA_MIRROR", raising=False)
    file = known("barrel", URL)
    config = SimpleNamespace(data_dir=tmp_path, data_mirror=None)
    entry = SimpleNamespace(data_files=["barrel"])
    with pytest.raises(RepliboError) as caught:
        data_paths(config, entry)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"{tmp_path / file.path}: not found; 'replibo fetch barrel' gets it, or put it there by hand "
        f"from {URL} (sha256 {file.sha256})"
    )
    put(tmp_path / file.path, CSV)
    assert data_paths(config, entry) == {"barrel": tmp_path / file.path}  # type: ignore[arg-type]
