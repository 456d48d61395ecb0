"""Fetching, against a real HTTP server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.data import fetch as fetching
from replibo.data import manifest as manifests
from replibo.data.fetch import fault_of, fetch, fetch_all, record_of
from replibo.data.manifest import CsvTable, DataFile, load_manifest
from replibo.errors import RepliboError

CSV = b"n,theta\n" + b"6,0.5\n" * 200
DIGITS = bytes(range(256)) * 40

# Read before the fixture below takes it out of every test's environment.
REAL_MIRROR = os.environ.get(fetching.MIRROR_VARIABLE, "")


class Server(ThreadingHTTPServer):
    """Answers each path with what was queued for it; the last answer is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers: dict[str, list[Answer]] = {}
        self.asked: Counter[str] = Counter()

    def says(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url + path


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        answers = self.server.answers.get(self.path, [status(404)])
        turn = self.server.asked[self.path]
        self.server.asked[self.path] += 1
        answers[min(turn, len(answers) - 1)](self)

    def log_message(self, *args: object) -> None:
        """Not on the tests' standard error."""


Answer = Callable[[Handler], None]


def body(content: bytes, missing: int = 0) -> Answer:
    """``content``, after announcing ``missing`` bytes more than will come."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) + missing))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def status(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture
def closed() -> Iterator[str]:
    """The URL of a port at which nobody listens: bound, so that nobody else can take it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for, none of them made; and no mirror or proxy of the user's."""
    monkeypatch.delenv(fetching.MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    asked: list[float] = []
    monkeypatch.setattr(time, "sleep", asked.append)
    return asked


Known = Callable[..., DataFile]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Known:
    """Makes a file known to the manifest, which then holds only such files."""
    entries: dict[str, DataFile] = {}
    monkeypatch.setattr(manifests, "load_manifest", lambda: entries)

    def add(name: str, *urls: str, content: bytes = CSV) -> DataFile:
        gz = content == DIGITS
        entries[name] = DataFile(
            name=name,
            path=f"blobs/{name}.{'gz' if gz else 'csv'}",
            mirror_path=None if gz else f"blobs/{name} as published.csv",
            urls=urls,
            sha256=hashlib.sha256(content).hexdigest(),
            digest_of="decompressed" if gz else "file",
            size=len(content),
            licence="CC0",
            source="nowhere",
            citation="nobody",
        )
        return entries[name]

    return add


def files_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def the_error(name: str, data_dir: Path, **options: object) -> str:
    """The one line that fetching ``name`` fails with; nothing may be left in ``data_dir``."""
    before = files_below(data_dir)
    with pytest.raises(RepliboError) as caught:
        fetch(name, data_dir=data_dir, **options)  # type: ignore[arg-type]
    assert files_below(data_dir) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What succeeds


def test_a_file_comes_from_its_url(server: Server, known: Known, tmp_path: Path) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    path = fetch("barrel", data_dir=tmp_path)
    assert path == tmp_path / "blobs" / "barrel.csv"
    assert path.read_bytes() == CSV
    assert files_below(tmp_path) == ["blobs/barrel.csv"]


def test_it_can_be_put_elsewhere(server: Server, known: Known, tmp_path: Path) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    output = tmp_path / "results" / "x.csv"
    assert fetch("barrel", data_dir=tmp_path / "data", output=output) == output
    assert files_below(tmp_path) == ["results/x.csv"]


def test_others_may_read_it(server: Server, known: Known, tmp_path: Path) -> None:
    """A shared data folder: the file's mode is what the umask says, as of any other file."""
    known("barrel", server.says("/barrel.csv", body(CSV)))
    other = tmp_path / "other"
    other.touch()
    assert fetch("barrel", data_dir=tmp_path).stat().st_mode == other.stat().st_mode


def test_a_file_that_is_there_is_not_asked_for(known: Known, closed: str, tmp_path: Path) -> None:
    file = known("barrel", closed)
    path = tmp_path / file.path
    path.parent.mkdir()
    path.write_bytes(CSV)
    written = path.stat().st_mtime_ns
    assert fetch("barrel", data_dir=tmp_path) == path
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize("level", [0, 9])
def test_a_gz_may_be_compressed_anew(
    server: Server, known: Known, tmp_path: Path, level: int
) -> None:
    gz = gzip.compress(DIGITS, level, mtime=level)
    assert gz != gzip.compress(DIGITS, mtime=1)
    known("digits", server.says("/digits.gz", body(gz)), content=DIGITS)
    assert fetch("digits", data_dir=tmp_path).read_bytes() == gz


# Which source, and how often


def test_a_server_in_trouble_is_asked_again(
    server: Server, known: Known, tmp_path: Path, pauses: list[float]
) -> None:
    known("barrel", server.says("/barrel.csv", status(500), status(503), body(CSV)))
    assert fetch("barrel", data_dir=tmp_path).read_bytes() == CSV
    assert server.asked["/barrel.csv"] == 3
    assert pauses == [fetching.BACKOFF_SECONDS, 2 * fetching.BACKOFF_SECONDS]


def test_a_truncated_body_is_asked_for_again(server: Server, known: Known, tmp_path: Path) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV[:100], missing=50), body(CSV)))
    assert fetch("barrel", data_dir=tmp_path).read_bytes() == CSV
    assert server.asked["/barrel.csv"] == 2


@pytest.mark.parametrize("code", [403, 404])
def test_a_server_without_the_file_is_asked_once(
    server: Server, known: Known, tmp_path: Path, pauses: list[float], code: int
) -> None:
    known("barrel", server.says("/a.csv", status(code)), server.says("/b.csv", body(CSV)))
    assert fetch("barrel", data_dir=tmp_path).read_bytes() == CSV
    assert server.asked == {"/a.csv": 1, "/b.csv": 1}
    assert pauses == []


def test_a_wrong_file_is_passed_over(server: Server, known: Known, tmp_path: Path) -> None:
    wrong = CSV.replace(b"6", b"7")
    known("barrel", server.says("/a.csv", body(wrong)), server.says("/b.csv", body(CSV)))
    assert fetch("barrel", data_dir=tmp_path).read_bytes() == CSV
    assert server.asked == {"/a.csv": 1, "/b.csv": 1}


def test_a_source_that_stays_broken_is_passed_over(
    server: Server, known: Known, closed: str, tmp_path: Path
) -> None:
    known("barrel", closed, server.says("/a", status(502)), server.says("/b", body(CSV)))
    assert fetch("barrel", data_dir=tmp_path, attempts=2).read_bytes() == CSV
    assert server.asked == {"/a": 2, "/b": 1}


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_mirror_folder_comes_first(
    server: Server, known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    file = known("barrel", server.says("/barrel.csv", body(CSV)))
    mirror, data = tmp_path / "mirror", tmp_path / "data"
    mirrored = mirror / file.path_in_mirror
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CSV)
    mirrored.chmod(0o400)
    if by == "environment":
        monkeypatch.setenv(fetching.MIRROR_VARIABLE, str(mirror))
        path = fetch("barrel", data_dir=data)
    else:
        monkeypatch.setenv(fetching.MIRROR_VARIABLE, "/no/such/folder")
        path = fetch("barrel", data_dir=data, mirror=mirror)
    assert path.read_bytes() == CSV
    assert path.stat().st_mode & 0o200, "the mirror's read-only mode is not taken over"
    assert not server.asked


def test_a_mirror_url_comes_first(server: Server, known: Known, tmp_path: Path) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    server.says("/m/blobs/barrel%20as%20published.csv", body(CSV))
    fetch("barrel", data_dir=tmp_path, mirror=f"{server.url}/m/")
    assert server.asked == {"/m/blobs/barrel%20as%20published.csv": 1}


def test_an_empty_mirror_is_none(
    server: Server, known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = known("barrel", server.says("/barrel.csv", body(CSV)))
    mirrored = tmp_path / "mirror" / file.path_in_mirror
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CSV)
    monkeypatch.setenv(fetching.MIRROR_VARIABLE, str(tmp_path / "mirror"))
    fetch("barrel", data_dir=tmp_path / "a", mirror="")
    monkeypatch.chdir(tmp_path / "mirror")
    monkeypatch.setenv(fetching.MIRROR_VARIABLE, "")
    fetch("barrel", data_dir=tmp_path / "b")
    assert server.asked == {"/barrel.csv": 2}


@pytest.mark.parametrize("content", [None, b"wrong"])
def test_a_mirror_without_the_file_is_passed_over(
    server: Server, known: Known, tmp_path: Path, content: bytes | None
) -> None:
    file = known("barrel", server.says("/barrel.csv", body(CSV)))
    mirror = tmp_path / "mirror"
    if content:
        (mirror / file.path_in_mirror).parent.mkdir(parents=True)
        (mirror / file.path_in_mirror).write_bytes(content)
    assert fetch("barrel", data_dir=tmp_path, mirror=mirror).read_bytes() == CSV
    assert server.asked == {"/barrel.csv": 1}


def test_the_bytes_are_asked_for_as_they_lie_there(
    server: Server, known: Known, tmp_path: Path
) -> None:
    """Packing on the way would hide the file's length, and with it that a body broke off."""

    def answer(handler: Handler) -> None:
        assert handler.headers["Accept-Encoding"] == "identity"
        body(CSV)(handler)

    known("barrel", server.says("/barrel.csv", answer))
    fetch("barrel", data_dir=tmp_path)


# What fails


def test_without_network_the_line_says_how_to_help_oneself(
    known: Known, closed: str, tmp_path: Path, pauses: list[float]
) -> None:
    file = known("barrel", f"{closed}/a", f"{closed}/b")
    mirror = tmp_path / "mirror"
    message = the_error("barrel", tmp_path, mirror=mirror)
    assert message == (
        "barrel: no source gave the file: "
        f"{mirror / file.path_in_mirror} (No such file or directory); "
        f"{closed}/a (no connection: NewConnectionError; attempts: 3); "
        f"{closed}/b (no connection: NewConnectionError; attempts: 3); "
        f"to put it there by hand: {tmp_path / file.path} with sha256 {file.sha256}"
    )
    assert len(pauses) == 4


def test_a_mirror_without_the_file_is_named_too(
    server: Server, known: Known, closed: str, tmp_path: Path
) -> None:
    known("barrel", closed)
    message = the_error("barrel", tmp_path, mirror=server.url)
    assert f"{server.url}/blobs/barrel%20as%20published.csv (HTTP 404); {closed} (no" in message


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(404), r"\(HTTP 404\)"),
        (status(500), r"\(HTTP 500; attempts: 2\)"),
        (body(CSV[:100], missing=50), r"\(truncated body; attempts: 2\)"),
        (body(CSV[:-1]), r"\(wrong digest: 1207 bytes with sha256 [0-9a-f]{64}\)"),
        (body(CSV + b"6"), r"\(wrong digest: more than the right 1208 bytes\)"),
        (body(b""), r"\(wrong digest: 0 bytes with sha256 e3b0c44298"),
    ],
)
def test_the_reason_is_told(
    server: Server, known: Known, tmp_path: Path, answer: Answer, reason: str
) -> None:
    known("barrel", server.says("/barrel.csv", answer))
    message = the_error("barrel", tmp_path, attempts=2)
    assert re.search(r"^barrel: .*/barrel\.csv " + reason, message)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(DIGITS)[:-20], "truncated gzip"),
        (gzip.compress(DIGITS)[:-1], "truncated gzip"),
        (b"<html>Please log in</html>", "corrupt gzip, or none at all"),
        (gzip.compress(DIGITS)[:-8] + b"12345678", "corrupt gzip, or none at all"),
        (gzip.compress(DIGITS)[:10] + b"\xff" * 100, "corrupt gzip, or none at all"),
        (gzip.compress(DIGITS[:-1]), "wrong digest: 10239 bytes"),
        (gzip.compress(DIGITS + b"6"), "wrong digest: more than the right 10240 bytes"),
        (gzip.compress(bytes(10**6)), "wrong digest: more than the right 10240 bytes"),
    ],
)
def test_a_bad_gz_is_refused(
    server: Server,
    known: Known,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    reason: str,
) -> None:
    # The right number of bytes ends with a chunk: what comes after it must be looked at too.
    monkeypatch.setattr(fetching, "_CHUNK", len(DIGITS) // 2)
    known("digits", server.says("/digits.gz", body(content)), content=DIGITS)
    message = the_error("digits", tmp_path)
    assert f"/digits.gz ({reason}" in message
    assert message.endswith("of the decompressed bytes")
    assert server.asked == {"/digits.gz": 1}


def test_a_silent_server_is_not_waited_for(server: Server, known: Known, tmp_path: Path) -> None:
    over = threading.Event()

    def answer(handler: Handler) -> None:
        over.wait(3600)

    known("barrel", server.says("/barrel.csv", answer))
    try:
        message = the_error("barrel", tmp_path, timeout=0.1, attempts=2)
    finally:
        over.set()
    assert "(no answer within 0.1 s; attempts: 2)" in message


@pytest.mark.parametrize("content", [CSV[:-1], b""])
def test_a_wrong_file_that_is_there_is_left_alone(
    server: Server, known: Known, tmp_path: Path, content: bytes
) -> None:
    file = known("barrel", server.says("/barrel.csv", body(CSV)))
    path = tmp_path / file.path
    path.parent.mkdir()
    path.write_bytes(content)
    message = the_error("barrel", tmp_path)
    assert message.startswith(f"barrel: {path} is there already, but: wrong digest: {len(content)}")
    assert file.sha256 in message and "delete it" in message
    assert path.read_bytes() == content
    assert not server.asked


def test_a_place_that_cannot_be_written_is_told(
    server: Server, known: Known, tmp_path: Path
) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    (tmp_path / "blobs").touch()
    message = the_error("barrel", tmp_path)
    assert message.startswith(f"barrel: cannot write {tmp_path / 'blobs' / 'barrel.csv'}: ")
    (tmp_path / "folder.csv").mkdir()
    message = the_error("barrel", tmp_path, output=tmp_path / "folder.csv")
    assert "folder.csv is there already, but: cannot be read: Is a directory" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mirror": "ftp://example.org"}, "mirror: ftp://example.org is not allowed"),
        ({"attempts": 0}, "attempts: 0 is not allowed"),
        ({"timeout": 0.0}, "timeout: 0.0 is not allowed"),
    ],
)
def test_a_wrong_option_is_told(
    known: Known, closed: str, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    known("barrel", closed)
    assert the_error("barrel", tmp_path, **options).startswith(message)


def test_an_interruption_leaves_nothing_behind(
    server: Server, known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    seen: list[str] = []

    class Interrupted(pooch.HTTPDownloader):  # type: ignore[misc]
        def __call__(self, *args: object, **kwargs: object) -> None:
            super().__call__(*args, **kwargs)
            seen.extend(files_below(tmp_path))
            raise KeyboardInterrupt

    monkeypatch.setattr(pooch, "HTTPDownloader", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("barrel", data_dir=tmp_path)
    assert len(seen) == 1 and seen[0].startswith("blobs/.barrel.csv."), "beside its destination"
    assert files_below(tmp_path) == []


def test_two_at_once_do_not_disturb_each_other(
    server: Server, known: Known, tmp_path: Path
) -> None:
    both_are_halfway = threading.Barrier(2)

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CSV)))
        handler.end_headers()
        handler.wfile.write(CSV[:600])
        both_are_halfway.wait(3600)
        handler.wfile.write(CSV[600:])

    known("barrel", server.says("/barrel.csv", answer))
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: fetch("barrel", data_dir=tmp_path, attempts=1), range(2)))
    assert server.asked == {"/barrel.csv": 2}
    assert paths[0] == paths[1] and paths[0].read_bytes() == CSV
    assert files_below(tmp_path) == ["blobs/barrel.csv"]


# Several files


def test_all_files_come_in_the_order_asked_for(
    server: Server, known: Known, tmp_path: Path
) -> None:
    known("a", server.says("/a", body(CSV)))
    known("b", server.says("/b", body(CSV)))
    assert fetch_all(["b", "a"], data_dir=tmp_path) == [
        tmp_path / "blobs" / "b.csv",
        tmp_path / "blobs" / "a.csv",
    ]


def test_all_missing_files_are_told_and_the_others_stay(
    server: Server, known: Known, tmp_path: Path
) -> None:
    known("a", server.says("/a", status(404)))
    known("b", server.says("/b", body(CSV)))
    known("c", server.says("/c", body(b"wrong")))
    with pytest.raises(RepliboError) as caught:
        fetch_all(["a", "b", "c"], data_dir=tmp_path)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "c"]
    assert files_below(tmp_path) == ["blobs/b.csv"]


def test_an_unknown_name_is_told_before_anything_is_fetched(
    server: Server, known: Known, tmp_path: Path
) -> None:
    known("a", server.says("/a", body(CSV)))
    with pytest.raises(RepliboError, match=r"^data file: z is not known; a is$"):
        fetch_all(["a", "z"], data_dir=tmp_path)
    assert not server.asked


# The progress bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "shown"),
    [(Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False)],
)
def test_the_bar_is_for_terminals(
    server: Server,
    known: Known,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    progress: bool,
    shown: bool,
) -> None:
    known("barrel", server.says("/barrel.csv", body(CSV)))
    stderr = stream()
    monkeypatch.setattr(sys, "stderr", stderr)
    fetch("barrel", data_dir=tmp_path, progress=progress)
    written = stderr.getvalue()
    assert ("barrel: 100%" in written) if shown else written == ""


# Any gz


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
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

TABLE = CsvTable(columns=("text", "kind"), rows=4, classes=("kind",))
REVIEWS = 'text,kind\n"good, ""very""",a\n"two\nlines",b\n,a\nüber,b\n'.encode()
OTHERS = REVIEWS.replace(b"good", b"poor")


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DataFile]:
    """Makes one file of `TABLE` known to the manifest, which then holds only this."""
    entries: dict[str, DataFile] = {}
    monkeypatch.setattr(manifests, "load_manifest", lambda: entries)

    def add(*urls: str) -> DataFile:
        entries["reviews"] = DataFile(
            name="reviews",
            path="blobs/reviews.csv",
            urls=urls,
            digest_of="unknown",
            table=TABLE,
            licence="CC0",
            source="nowhere",
            citation="nobody",
        )
        return entries["reviews"]

    return add


def put(tmp_path: Path, file: DataFile, content: bytes) -> Path:
    path = tmp_path / file.path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_its_digest_is_recorded_beside_it(
    server: Server, unknown: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown(server.says("/reviews.csv", body(REVIEWS)))
    path = fetch("reviews", data_dir=tmp_path)
    assert path.read_bytes() == REVIEWS
    assert files_below(tmp_path) == ["blobs/reviews.csv", "blobs/reviews.csv.sha256"]
    sha256 = hashlib.sha256(REVIEWS).hexdigest()
    assert record_of(path).read_text() == f"{sha256}  reviews.csv\n"
    # from then on only the digest is looked at, and the record stays as it is
    written = record_of(path).stat().st_mtime_ns
    monkeypatch.setattr(fetching, "_wrong_table", lambda *_: "looked at again")
    assert fetch("reviews", data_dir=tmp_path) == path
    assert record_of(path).stat().st_mtime_ns == written
    assert server.asked == {"/reviews.csv": 1}


def test_it_is_recorded_when_it_was_put_there_by_hand(
    closed: str, unknown: Known, tmp_path: Path
) -> None:
    file = unknown(closed)
    path = put(tmp_path, file, REVIEWS)
    assert fault_of(path, file) is None  # what a run asks before it reads a file
    assert record_of(path).exists()
    path.write_bytes(OTHERS)
    fault = fault_of(path, file)
    assert fault is not None and "\n" not in fault
    assert fault.startswith(f"wrong digest: sha256 {hashlib.sha256(OTHERS).hexdigest()}, not ")
    assert hashlib.sha256(REVIEWS).hexdigest() in fault and str(record_of(path)) in fault
    message = the_error("reviews", tmp_path)
    assert message.startswith(f"reviews: {path} is there already, but: wrong digest: ")
    record_of(path).unlink()
    assert fetch("reviews", data_dir=tmp_path) == path
    assert record_of(path).read_text().startswith(hashlib.sha256(OTHERS).hexdigest())


def test_what_is_fetched_again_must_be_what_was_recorded(
    server: Server, unknown: Known, tmp_path: Path
) -> None:
    unknown(
        server.says("/a", body(REVIEWS), body(OTHERS), body(OTHERS), body(REVIEWS)),
    )
    path = fetch("reviews", data_dir=tmp_path)
    path.unlink()
    for _ in range(2):
        message = the_error("reviews", tmp_path)
        assert f"/a (wrong digest: sha256 {hashlib.sha256(OTHERS).hexdigest()}, not " in message
    assert fetch("reviews", data_dir=tmp_path).read_bytes() == REVIEWS


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n"])
def test_a_record_that_cannot_be_read_is_not_believed(
    closed: str, unknown: Known, tmp_path: Path, content: bytes
) -> None:
    file = unknown(closed)
    path = put(tmp_path, file, REVIEWS)
    record_of(path).write_bytes(content)
    fault = fault_of(path, file)
    assert fault is not None and "recorded" in fault
    assert record_of(path).read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_fault(
    closed: str, unknown: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = unknown(closed)
    path = put(tmp_path, file, REVIEWS)

    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(
        os, "replace", refuse
    )  # the tests may be run by root, who can write anywhere
    assert fault_of(path, file) is None
    assert files_below(tmp_path) == ["blobs/reviews.csv"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "wrong columns: none"),
        (b"<html>Please log in</html>\n", "wrong columns: '<html>Please log in</html>'"),
        (b"x" * 10_000, f"wrong columns: '{'x' * 199}"),
        (REVIEWS.replace(b"kind", b"sort"), "wrong columns: 'text', 'sort'"),
        (REVIEWS.replace(b"text,kind", b"kind,text"), "wrong columns: 'kind', 'text'"),
        (REVIEWS[:-5], "line 6 has 1 cells, not 2"),
        (REVIEWS[: REVIEWS.index(b"lines")], "no whole CSV file: unexpected end of data"),
        (REVIEWS[: REVIEWS.index("über".encode())], "3 rows, not 4"),
        (REVIEWS + b"more,a\n", "more than the right 4 rows"),
        (REVIEWS.replace("ü".encode(), b"\xfc"), "not UTF-8"),
        (REVIEWS.replace(b",b\n", b", \n"), "line 4: column 'kind' is empty"),
        (
            REVIEWS.replace(b",b\n", b",a\n"),
            "column 'kind' holds 1 different values, not 2 or more",
        ),
    ],
)
def test_a_wrong_structure_is_told(
    server: Server, unknown: Known, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = unknown(server.says("/reviews.csv", body(content)))
    message = the_error("reviews", tmp_path)
    assert f"/reviews.csv ({reason}" in message
    assert message.endswith(
        f"by hand: {tmp_path / file.path} with 4 rows of text, kind (digest unknown)"
    )
    path = put(tmp_path, file, content)
    fault = fault_of(path, file)
    assert fault is not None and fault.startswith(reason)
    assert not record_of(path).exists()


def test_a_body_that_breaks_off_is_no_record(
    server: Server, unknown: Known, tmp_path: Path
) -> None:
    unknown(server.says("/a", body(REVIEWS[:-3], missing=3), status(500), body(REVIEWS)))
    assert fetch("reviews", data_dir=tmp_path).read_bytes() == REVIEWS
    assert server.asked == {"/a": 3}


def test_the_reviews_of_the_manifest_offline(
    closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = load_manifest()["amazon_reviews"].model_copy(update={"urls": (closed,)})
    monkeypatch.setattr(manifests, "load_manifest", lambda: {"amazon_reviews": file})
    message = the_error("amazon_reviews", tmp_path, mirror=tmp_path / "mirror")
    assert str(tmp_path / "mirror" / "amazon" / "train_40k.csv") in message
    assert message.endswith(
        f"by hand: {tmp_path / 'amazon' / 'train_40k.csv'} with 40,000 rows of productId, Title, userId, "
        "Helpfulness, Score, Time, Text, Cat1, Cat2, Cat3 (digest unknown)"
    )


# The real files; the reviews may not be in the mirror, as they were not when this was written

KNOWN = [name for name, file in load_manifest().items() if file.digest_of != "unknown"]


@pytest.mark.real_data
@pytest.mark.parametrize("name", KNOWN)
def test_the_real_file_comes_from_the_mirror(
    name: str, closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {name: load_manifest()[name].model_copy(update={"urls": (closed,)})}
    monkeypatch.setattr(manifests, "load_manifest", lambda: only)
    path = fetch(name, data_dir=tmp_path, mirror=REAL_MIRROR)
    assert path == tmp_path / only[name].path
    assert fault_of(path, only[name]) is None
