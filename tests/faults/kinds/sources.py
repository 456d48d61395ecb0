"""Data files: mirrors, servers and data folders that hold what they should not."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import bench
from bench import Case, FaultError, Outcome

from kinds.base import ODD, kind, put
from kinds.server import Answer, body, dripping, misbehaving, serve
from replibo.data import fetch as fetching
from replibo.data import manifest
from replibo.data.manifest import CsvTable, DataFile

CSV = b"n,theta\n" + b"6,0.5\n" * 200
DIGITS = bytes(range(256)) * 40
REVIEWS = 'text,kind\n"good, ""very""",a\n"two\nlines",b\n,a\nüber,b\n'.encode()
MOST = 20_000
PASSWORD = "hush"


def drawn_file(case: Case, *urls: str) -> tuple[DataFile, bytes, bytes]:
    """A file known by its digest, by that of its decompressed bytes, or by its structure; what it holds,
    and what it must not hold."""
    content = case.rng.choice([CSV, DIGITS, REVIEWS])
    table = CsvTable(columns=("text", "kind"), rows=4, classes=("kind",))
    known = DataFile(
        name="wanted",
        path="folder/wanted.gz" if content is DIGITS else "folder/wanted.csv",
        mirror_path=case.rng.choice([None, "folder/wanted as published"]),
        urls=urls or ("http://127.0.0.1:1/nobody",),
        sha256=None if content is REVIEWS else hashlib.sha256(content).hexdigest(),
        digest_of={CSV: "file", DIGITS: "decompressed", REVIEWS: "unknown"}[content],
        size=None if content is REVIEWS else len(content),
        max_bytes=MOST,
        table=table if content is REVIEWS else None,
        licence="CC0",
        source="nowhere",
        citation="nobody",
    )
    if content is REVIEWS:
        # any file of this structure is taken on first use
        return known, content, content.replace(b",", b";", 1)
    place = case.rng.randrange(len(content))
    wrong = (
        content[:place]
        + bytes([content[place] ^ case.rng.randrange(1, 256)])
        + content[place + 1 :]
    )
    return (known, gzip.compress(content), gzip.compress(wrong)) if content is DIGITS else (known, content, wrong)  # fmt: skip


def prepared(known: DataFile, seconds: float = 1.0) -> Callable[[], None]:
    """Make a process know one file only, wait for little, and never fill the disk."""

    def prepare() -> None:
        manifest.load_manifest = lambda: {known.name: known}  # type: ignore[assignment]
        fetching.TIMEOUT, fetching.TIME_LIMIT = seconds, 10 * seconds
        time.sleep = lambda _: None
        os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        os.environ.pop(fetching.MIRROR_VARIABLE, None)
        bench.limit_files(2 * MOST)

    return prepare


def fetch(case: Case, known: DataFile, mirror: str | None = None) -> Outcome:
    options = ["--mirror", mirror] if mirror is not None else []
    outcome = case.do("fetch", "--data-dir", "data", *options, prepare=prepared(known))
    if PASSWORD in outcome.said:
        raise FaultError(f"shows the password: {outcome.said}")
    return outcome


def must_be_fetched(case: Case, outcome: Outcome, known: DataFile, content: bytes) -> None:
    """Check that the file is there, whole, and nothing else but its record."""
    path = case.folder / "data" / known.path
    if outcome.status != 0 or outcome.said.split("\n")[-2] != str(path.relative_to(case.folder)):
        raise FaultError(f"status {outcome.status}, not 0: {outcome.said[-500:]}")
    found = path.read_bytes()
    if found != content:
        raise FaultError("another file was taken")
    left = {p.name for p in path.parent.iterdir()} - {path.name, f"{path.name}.sha256"}
    if left:
        raise FaultError(f"left behind: {left}")


def must_be_missed(case: Case, outcome: Outcome, *names: str) -> None:
    case.must_be_refused(outcome, *names)
    left = [path for path in (case.folder / "data").rglob("*") if not path.is_dir()]
    if left:
        raise FaultError(f"left behind: {left}")


@kind("sources: a server that misbehaves", 7)
def _(case: Case) -> None:
    rng = case.rng
    known, content, wrong = drawn_file(case)
    bad = misbehaving(rng, content, wrong)
    answers: dict[str, Answer] = {"/bad": bad, "/good": body(content)}
    if known.table and rng.random() < 0.3:
        answers["/bad"] = bad
    mirror_path = f"/m/{known.path_in_mirror}".replace(" ", "%20")
    answers[mirror_path] = bad
    url = serve(case, answers)
    good = rng.random() < 0.5
    mirror = rng.choice([None, f"{url}/m", f"http://me:{PASSWORD}@{url[7:]}/m/"])
    urls = [f"{url}/good"] if mirror and good else [f"{url}/bad"] + good * [f"{url}/good"]
    known = known.model_copy(update={"urls": tuple(urls)})
    outcome = fetch(case, known, mirror)
    if good:
        must_be_fetched(case, outcome, known, content)
    else:
        must_be_missed(case, outcome, "wanted: no source gave the file")
        must_be_fetched(case, fetch(case, known.model_copy(update={"urls": (f"{url}/good",)})), known, content)  # fmt: skip


@kind("sources: a folder as mirror that holds what it should not", 4)
def _(case: Case) -> None:
    rng = case.rng
    known, content, wrong = drawn_file(case)
    mirror = case.folder / "mirror"
    path = mirror / known.path_in_mirror
    path.parent.mkdir(parents=True)
    match rng.choice(["odd", "odd", "wrong", "cut", "long", "endless", "loop", "above", "none"]):
        case "odd":
            put(path, rng.choice([what for what in ODD if what != "a link to a file"]))
        case "wrong":
            path.write_bytes(wrong)
        case "cut":
            path.write_bytes(content[: rng.randrange(len(content))])
        case "long":
            path.write_bytes(content + bytes(rng.choice([1, MOST, 2**24])))
        case "endless":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case "above":
            shutil.rmtree(mirror)
            mirror.write_bytes(b"a file")
        case "none":
            pass
    good = rng.random() < 0.5
    if good:
        url = serve(case, {"/good": body(content)})
        known = known.model_copy(update={"urls": (f"{url}/good",)})
    outcome = fetch(case, known, rng.choice(["mirror", str(mirror), f"{mirror}/"]))
    if good:
        must_be_fetched(case, outcome, known, content)
        return
    must_be_missed(case, outcome, "wanted: no source gave the file")
    shutil.rmtree(mirror) if mirror.is_dir() else mirror.unlink()
    put(path, "a folder")
    path.rmdir()
    path.write_bytes(content)
    must_be_fetched(case, fetch(case, known, "mirror"), known, content)


@kind("sources: a wrong name of a mirror, a proxy of no use", 2)
def _(case: Case) -> None:
    known, content, _ = drawn_file(case)
    mirror = case.rng.choice(
        [
            *(f"ftp://me:{PASSWORD}@a/b", "https:/a", "http://", "http://[::1", "http://a b/"),
            *(f"http://me:{PASSWORD}@127.0.0.1:99999/", "~nobody/x", "~", "x" * 5000, "\udcff"),
            *(f"me:{PASSWORD}@host:x", "file:///etc", "\n", " ", "http://" + "a." * 200, "http://\udcff"),
            "http://127.0.0.1:1",
        ]
    )  # fmt: skip
    must_be_missed(
        case, fetch(case, known, mirror), "wanted: no source", "mirror: must be", "no line break"
    )
    (case.folder / "mirror").mkdir()
    put(case.folder / "mirror" / known.path_in_mirror, "a link to a file")
    (case.folder / "mirror" / known.path_in_mirror).write_bytes(content)
    must_be_fetched(case, fetch(case, known, "mirror"), known, content)


@kind("sources: a wrong file in the data folder", 3)
def _(case: Case) -> None:
    rng = case.rng
    known, content, wrong = drawn_file(case)
    url = serve(case, {"/good": body(content)})
    known = known.model_copy(update={"urls": (f"{url}/good",)})
    path = case.folder / "data" / known.path
    path.parent.mkdir(parents=True)
    what = rng.choice(["odd", "wrong", "cut", "long", "folder", "record"])
    if what == "odd":
        put(path, rng.choice([what for what in ODD if not what.startswith("a link")]))
    elif what == "folder":  # that should hold it
        path.parent.rmdir()
        put(path.parent, rng.choice([what for what in ODD if not what.startswith("a link")]))
    elif what == "record":
        if known.table is None:
            return
        path.write_bytes(content)
        record = path.with_name(f"{path.name}.sha256")
        if rng.random() < 0.5:
            put(record, rng.choice(["a folder", "a pipe", "a socket"]))
        else:
            record.write_bytes(rng.choice([b"", b"\xff", bytes(2**20), b"0" * 64]))
    else:
        path.write_bytes({"wrong": wrong, "cut": content[:-9], "long": content + bytes(MOST)}[what])
    before = path.read_bytes() if path.is_file() else None
    case.must_be_refused(fetch(case, known), str(path.relative_to(case.folder)), "data/folder")
    if (path.read_bytes() if path.is_file() else None) != before:
        raise FaultError("what was there is not as it was")
    shutil.rmtree(case.folder / "data")
    must_be_fetched(case, fetch(case, known), known, content)


@kind("sources: stopped while a file is fetched", 2)
def _(case: Case) -> None:
    known, content, _ = drawn_file(case)
    url = serve(case, {"/slow": dripping, "/good": body(content)})
    slow = known.model_copy(update={"urls": (f"{url}/slow",)})
    arguments = ("fetch", "--data-dir", "data")
    child = case.start(*arguments, prepare=prepared(slow, 60))
    child.wait(case.rng.uniform(0.2, 0.6))
    number = case.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    child.send(number)
    outcome = child.outcome()
    if number != signal.SIGKILL:
        if outcome.status != 128 + number or len(outcome.faults()) != 1:
            raise FaultError(f"status {outcome.status}: {outcome.said[-500:]}")
        must_leave_nothing = [p for p in (case.folder / "data").rglob("*") if not p.is_dir()]
        if must_leave_nothing:
            raise FaultError(f"left behind: {must_leave_nothing}")
    # A killed process leaves what it had begun under another name.
    for path in Path(case.folder / "data").rglob("tmp*"):
        path.unlink()
    good = known.model_copy(update={"urls": (f"{url}/good",)})
    must_be_fetched(case, fetch(case, good), good, content)
