"""Fetching, against a real HTTP server on this machine."""

from __future__ import annotations

import gc
import io
import logging
import os
import re
import socket
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from replibo.data import fetch as fetching
from replibo.data import manifest as manifests
from replibo.data.fetch import fetch, fetch_all
from replibo.data.manifest import load_manifest
from replibo.data.verify import record_of
from replibo.errors import RepliboError

from .conftest import CSV, OTHERS, REVIEWS, Listed, files_below, put
from .test_verify import ODD

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
        self.over = threading.Event()

    def says(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url + path

    def handle_error(self, *args: object) -> None:
        """Clients that hang up are what is tested."""


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


def body(content: bytes, missing: int = 0, **headers: str) -> Answer:
    """``content``, after announcing ``missing`` bytes more than will come."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        length = {"Content-Length": str(len(content) + missing)}
        for name, value in (length | {k.replace("_", "-"): v for k, v in headers.items()}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def status(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.is_set():
        handler.wfile.write(bytes(1 << 16))


def dripping(handler: Handler) -> None:
    """A byte now and then: always in time for the next, never whole."""
    handler.send_response(200)
    handler.send_header("Content-Length", "20000")
    handler.end_headers()
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"6")


def silent(handler: Handler) -> None:
    handler.server.over.wait(3600)


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    """requests leaves its sockets to the garbage collector, which would warn in another module's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.over.set()
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


def the_error(name: str, data_dir: Path, mirror: str | Path | None = None) -> str:
    """The one line that fetching ``name`` fails with; nothing may be left in ``data_dir``."""
    before = files_below(data_dir)
    with pytest.raises(RepliboError) as caught:
        fetch(name, data_dir=data_dir, mirror=mirror)
    assert files_below(data_dir) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What succeeds


def test_a_file_comes_from_its_url(server: Server, listed: Listed, tmp_path: Path) -> None:
    def answer(handler: Handler) -> None:
        # Packing on the way would hide the file's length, and with it that a body broke off.
        assert handler.headers["Accept-Encoding"] == "identity"
        body(CSV)(handler)

    listed("barrel", server.says("/barrel.csv", answer))
    path = fetch("barrel", data_dir=tmp_path)
    assert path == tmp_path / "blobs" / "barrel.csv"
    assert path.read_bytes() == CSV
    assert files_below(tmp_path) == ["blobs/barrel.csv"]
    # In a shared data folder others may read it: its mode is what the umask says.
    assert path.stat().st_mode == put(tmp_path / "other", b"").stat().st_mode


# Which source, and how often


@pytest.mark.parametrize(
    "failures",
    [[status(500), status(503)], [body(CSV[:100], missing=50)], [body(b"", missing=1)]],
)
def test_a_source_in_trouble_is_asked_again(
    server: Server, listed: Listed, tmp_path: Path, pauses: list[float], failures: list[Answer]
) -> None:
    listed("barrel", server.says("/a", *failures, body(CSV)))
    assert fetch("barrel", data_dir=tmp_path).read_bytes() == CSV
    assert server.asked == {"/a": len(failures) + 1}
    assert len(pauses) == len(failures)


@pytest.mark.parametrize(
    ("argument", "variable", "comes_first"),
    [
        ("{folder}", "/no/such/folder", True),
        (None, "{folder}", True),
        ("{url}/m/", "", True),
        ("", "{folder}", False),
        (None, "", False),
    ],
)
def test_a_mirror_comes_first_and_an_empty_one_is_none(
    server: Server,
    listed: Listed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argument: str | None,
    variable: str,
    comes_first: bool,
) -> None:
    file = listed("barrel", server.says("/barrel.csv", body(CSV)))
    server.says("/m/blobs/barrel%20as%20published", body(CSV))
    mirrored = put(tmp_path / "mirror" / file.path_in_mirror, CSV)
    mirrored.chmod(0o400)
    places = {"folder": tmp_path / "mirror", "url": server.url}
    monkeypatch.chdir(tmp_path / "mirror")
    monkeypatch.setenv(fetching.MIRROR_VARIABLE, variable.format(**places))
    mirror = None if argument is None else argument.format(**places)
    path = fetch("barrel", data_dir=tmp_path / "data", mirror=mirror)
    assert path.read_bytes() == CSV
    assert path.stat().st_mode & 0o200, "the mirror's read-only mode is not taken over"
    assert bool(server.asked["/barrel.csv"]) != comes_first


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.write_bytes(b"wrong"), "wrong digest: got 5 bytes with sha256 "),
        (
            lambda path: path.write_bytes(bytes(20_001)),
            "must have at most 20,000 bytes, got 20,001",
        ),
        *((make, fault.removeprefix("cannot be read: ")) for make, fault in ODD[-3:]),
    ],
)
def test_a_mirror_without_the_right_file_is_passed_over(
    server: Server, listed: Listed, tmp_path: Path, make: Callable[[Path], object], fault: str
) -> None:
    url = server.says("/barrel.csv", status(404), body(CSV))
    file = listed("barrel", url)
    mirrored = tmp_path / "mirror" / file.path_in_mirror
    mirrored.parent.mkdir(parents=True)
    make(mirrored)
    message = the_error("barrel", tmp_path / "data", mirror=tmp_path / "mirror")
    assert re.search(rf"file: {re.escape(str(mirrored))} \({fault}", message)
    assert f"); {url} (HTTP 404); to put it there by hand: " in message
    path = fetch("barrel", data_dir=tmp_path / "data", mirror=tmp_path / "mirror")
    assert path.read_bytes() == CSV


# What fails


def test_without_network_the_line_says_how_to_help_oneself(
    listed: Listed, closed: str, tmp_path: Path, pauses: list[float]
) -> None:
    file = listed("barrel", f"{closed}/a", f"{closed}/b")
    message = the_error("barrel", tmp_path, mirror=closed)
    fault = "(no connection: NewConnectionError); "
    assert message == (
        f"barrel: no source gave the file: {closed}/blobs/barrel%20as%20published {fault}"
        f"{closed}/a {fault}{closed}/b {fault}"
        f"to put it there by hand: {tmp_path / file.path} with sha256 {file.sha256}"
    )
    assert len(pauses) == 6


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(404), r"\(HTTP 404\)"),
        (status(500), r"\(HTTP 500\)"),
        (body(CSV[:100], missing=50), r"\(truncated body\)"),
        (body(CSV[:-1]), r"\(wrong digest: got 1,207 bytes with sha256 [0-9a-f]{64}\)"),
        (body(CSV + b"6"), r"\(wrong digest: must have 1,208 bytes, got more\)"),
        (body(CSV, Content_Length="many"), r"\(unusable answer: ValueError\)"),
        (body(b"wrong", Content_Encoding="gzip"), r"\(ContentDecodingError\)"),
        (endless, r"\(must have at most 20,000 bytes, got more\)"),
    ],
)
def test_the_reason_is_told(
    server: Server, listed: Listed, tmp_path: Path, answer: Answer, reason: str
) -> None:
    listed("barrel", server.says("/barrel.csv", answer))
    assert re.search(rf"^barrel: .*/barrel\.csv {reason};", the_error("barrel", tmp_path))


@pytest.mark.parametrize(
    ("limit", "answer", "fault"),
    [
        ("TIMEOUT", silent, "no answer within 0.2 s"),
        ("TIME_LIMIT", silent, "must arrive within 0.2 s"),
        ("TIME_LIMIT", dripping, "must arrive within 0.2 s"),
    ],
)
def test_a_source_has_a_time_limit(
    server: Server,
    listed: Listed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    answer: Answer,
    fault: str,
) -> None:
    monkeypatch.setattr(fetching, limit, 0.2)
    listed("barrel", server.says("/barrel.csv", answer))
    assert f"/barrel.csv ({fault})" in the_error("barrel", tmp_path)
    assert server.asked["/barrel.csv"] <= (1 if limit == "TIME_LIMIT" else fetching.ATTEMPTS)


def test_a_place_that_cannot_be_written_is_told(
    server: Server, listed: Listed, tmp_path: Path, small_files: None
) -> None:
    path = tmp_path / listed("barrel", server.says("/barrel.csv", body(CSV))).path
    assert the_error("barrel", tmp_path) == f"{path}: cannot be written (File too large)"
    (tmp_path / "blobs").rmdir()
    (tmp_path / "blobs").touch()
    assert the_error("barrel", tmp_path) == f"{path}: cannot be written (Not a directory)"


@pytest.mark.parametrize(
    ("mirror", "got"),
    [
        ("ftp://me:hush@example.org", "ftp://***@example.org (another scheme)"),
        ("~nobody.at.all/x", "~nobody.at.all/x ("),
    ],
)
def test_a_wrong_mirror_is_told(listed: Listed, tmp_path: Path, mirror: str, got: str) -> None:
    listed("barrel", "http://127.0.0.1/x")
    message = the_error("barrel", tmp_path, mirror=mirror)
    assert message.startswith(f"mirror: must be a folder or an http(s) URL, got {got}")


@pytest.mark.parametrize(
    "mirror",
    [
        "http://me:hush@{}/m",
        "http://me:hu/hush@{}/m",
        "http://me:hush@hush@{}/m",
        "http://hush@{}/m",
        "http:/me:hush@{}/m",
        "me:hush@{}/m",
        "http://me:hush@[::1/m",
        "http://me:hush@{}:999999/m",
    ],
)
def test_a_password_is_never_shown(
    listed: Listed,
    closed: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    mirror: str,
) -> None:
    listed("barrel", closed)
    with caplog.at_level(logging.INFO):
        message = the_error("barrel", tmp_path, mirror=mirror.format(closed[len("http://") :]))
    assert "***@" in message
    assert "hush" not in message + caplog.text + "".join(capfd.readouterr())


def test_a_password_is_sent(server: Server, listed: Listed, tmp_path: Path) -> None:
    def answer(handler: Handler) -> None:
        assert handler.headers["Authorization"] == "Basic bWU6aHVzaA=="  # me:hush
        body(CSV)(handler)

    listed("barrel", server.says("/barrel.csv", status(404)))
    server.says("/blobs/barrel%20as%20published", answer)
    mirror = server.url.replace("//", "//me:hush@")
    assert fetch("barrel", data_dir=tmp_path, mirror=mirror).read_bytes() == CSV


def test_two_at_once_do_not_disturb_each_other(
    server: Server, listed: Listed, tmp_path: Path
) -> None:
    both_are_halfway = threading.Barrier(2)

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CSV)))
        handler.end_headers()
        handler.wfile.write(CSV[:600])
        both_are_halfway.wait(3600)
        handler.wfile.write(CSV[600:])

    listed("barrel", server.says("/barrel.csv", answer))
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: fetch("barrel", data_dir=tmp_path), range(2)))
    assert server.asked == {"/barrel.csv": 2}
    assert paths[0] == paths[1] and paths[0].read_bytes() == CSV
    assert files_below(tmp_path) == ["blobs/barrel.csv"]


# A file whose digest nobody knows beforehand


def test_what_is_fetched_again_must_be_what_was_recorded(
    server: Server, listed: Listed, tmp_path: Path
) -> None:
    breaks_off = body(REVIEWS[:-3], missing=3)
    url = server.says("/a", breaks_off, *map(body, (REVIEWS, OTHERS, OTHERS, REVIEWS)))
    listed("reviews", url, content=REVIEWS)
    path = fetch("reviews", data_dir=tmp_path)
    assert files_below(tmp_path) == ["blobs/reviews.csv", "blobs/reviews.csv.sha256"]
    recorded = record_of(path).read_text()
    path.unlink()
    for _ in range(2):
        assert "/a (wrong digest: sha256 must be " in the_error("reviews", tmp_path)
    assert fetch("reviews", data_dir=tmp_path).read_bytes() == REVIEWS
    assert record_of(path).read_text() == recorded


# Several files


def test_all_missing_files_are_told_and_the_others_stay(
    server: Server, listed: Listed, tmp_path: Path
) -> None:
    listed("a", server.says("/a", status(404), body(CSV)))
    listed("b", server.says("/b", body(CSV)))
    listed("c", server.says("/c", body(b"wrong"), body(CSV)))
    with pytest.raises(RepliboError) as caught:
        fetch_all(["a", "b", "c"], data_dir=tmp_path)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "c"]
    assert files_below(tmp_path) == ["blobs/b.csv"]
    paths = fetch_all(["c", "a", "b"], data_dir=tmp_path)
    assert [path.name for path in paths] == ["c.csv", "a.csv", "b.csv"]


def test_an_unknown_name_and_a_wrong_folder_are_told_before_anything_is_fetched(
    server: Server, listed: Listed, tmp_path: Path
) -> None:
    listed("a", server.says("/a", body(CSV)))
    with pytest.raises(RepliboError, match=r"^data file: must be a, got z$"):
        fetch_all(["a", "z"], data_dir=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RepliboError, match=r"^data_dir: must be a folder, got .*file$"):
        fetch_all(["a"], data_dir=tmp_path / "file")
    assert not server.asked


# The progress bar


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_for_terminals(
    server: Server, listed: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    listed("barrel", server.says("/barrel.csv", body(CSV)))
    stderr = io.StringIO()
    stderr.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", stderr)
    fetch("barrel", data_dir=tmp_path)
    assert ("100%" in stderr.getvalue()) if terminal else stderr.getvalue() == ""


# The real files; the reviews may not be in the mirror, as they were not when this was written

KNOWN = [name for name, file in load_manifest().items() if file.sha256]


@pytest.mark.real_data
@pytest.mark.parametrize("name", KNOWN)
def test_the_real_file_comes_from_the_mirror(
    name: str, closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {name: load_manifest()[name].model_copy(update={"urls": (closed,)})}
    monkeypatch.setattr(manifests, "load_manifest", lambda: only)
    path = fetch(name, data_dir=tmp_path, mirror=REAL_MIRROR)
    assert path == tmp_path / only[name].path
