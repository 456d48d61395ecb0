"""The model of faults: each kind draws a fault, a moment and a target with Hypothesis, and injects it.

In all kinds the command says in one line what is wrong (status 2), or its output is the undisturbed one.
Without the fault, the same command gives the undisturbed output.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import resource
import shutil
import signal
import socket
import stat
import string
import struct
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import bench
import numpy as np
import pyarrow as pa
import snakemake.cli
import yaml
from bench import (
    ALGORITHMS,
    BLOCKS,
    FIGURE,
    PAPER,
    PROBLEM,
    PUBLISHED,
    QUERIES,
    SCALE,
    TABLE,
    Case,
    Child,
    FaultError,
    Outcome,
    Prepare,
    command,
)
from hypothesis import strategies as st

from replibo import paths
from replibo.data import fetch as fetching
from replibo.data import manifest
from replibo.data.manifest import CsvTable, DataFile
from replibo.run import journal, loop, traces

KINDS: dict[str, tuple[float, Callable[[Case], None]]] = {}
"""By name: the share of all faults, and the function that injects one."""
ODD = ("a folder", "a pipe", "a link", "a link to a file", "a socket", "a device")
STOPS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def kind(name: str, share: float) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def register(function: Callable[[Case], None]) -> Callable[[Case], None]:
        KINDS[name] = share, function
        return function

    return register


# Damage to a file


def put(path: Path, kind: str) -> None:
    """Make something at ``path`` that is no regular file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name("elsewhere")
    match kind:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case "a link" | "a link to a file":
            if kind == "a link to a file":
                other.write_text("precious")
            path.symlink_to(other)
        case "a socket":  # the name of a socket must be short
            with socket.socket(socket.AF_UNIX) as unix:
                number = os.open(path.parent, os.O_PATH)
                unix.bind(f"/proc/self/fd/{number}/{path.name}")
                os.close(number)
        case "a device":
            with suppress(PermissionError):  # only root can
                return os.mknod(path, 0o20666, os.makedev(1, 3))
            os.mkfifo(path)


def state(path: Path) -> Any:
    status = path.lstat() if os.path.lexists(path) else None
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    return status and (status.st_mode, status.st_ino, content)


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def damage(case: Case, path: Path, how: str = "") -> None:
    """Flip a byte of a file, cut it, or write garbage."""
    content = bytearray(path.read_bytes())
    match how or case.choice(["flip", "cut", "garbage"]):
        case "flip":
            content[case.place(len(content))] ^= case.integer(1, 255)
        case "cut":
            del content[case.place(len(content)) :]
        case _:
            content = bytearray(case.draw(st.binary(max_size=500)))
    path.write_bytes(content)


# Processes that are stopped, or disturb each other


def journals(case: Case, output: str) -> list[Path]:
    algorithm, seeds = Path(output).parent.name, Path(output).stem.removeprefix("seeds_")
    folder = paths.journal_folder(case.folder / output, SCALE, PAPER, PROBLEM, algorithm)
    return [loop.journal_path(folder, int(seed)) for seed in seeds.split("-")]


def with_journals(case: Case, output: str) -> list[Path]:
    """The journals of a run that was killed when it would have written its output."""

    def stop() -> None:
        traces.write = lambda *_: os._exit(9)

    case.do(command(output), stop)
    files = journals(case, output)
    assert all(path.stat().st_size > 1000 for path in files)
    return files


def stopped(case: Case, output: str, number: signal.Signals, least: float = 0.0) -> Outcome:
    child = case.child(lambda: bench.cli.main(command(output)))
    child.wait(case.draw(st.floats(least, 1.1)) * case.seconds)
    child.send(number)
    return child.outcome()


def must_stop(outcome: Outcome, number: signal.Signals) -> None:
    said = f"replibo: stopped by {number.name}; the same command goes on from here"
    stops = outcome.status == 128 + number and outcome.errors() == [said]
    if not stops and outcome.status not in (0, -number):
        raise FaultError(f"status {outcome.status}: {outcome.text[-500:]}")


@kind("stopped: SIGKILL at a random moment", 12)
def _(case: Case) -> None:
    output, _ = case.block()
    for _ in range(case.integer(1, 3)):
        stopped(case, output, signal.SIGKILL)
    for path in journals(case, output):
        lost = case.integer(0, 300) * case.integer(0, 1)
        if path.exists():
            os.truncate(path, max(path.stat().st_size - lost, 0))
    for path in (case.folder / output).parent.glob(".replibo-*"):
        shutil.rmtree(path)  # a killed process cannot; nothing reads it
    case.must_be_run(output)


@kind("stopped: SIGTERM or Ctrl-C at a random moment", 8)
def _(case: Case) -> None:
    (output, _), number = case.block(), case.choice(STOPS[1:])
    must_stop(stopped(case, output, number, 0.15), number)  # the handlers are set by then
    if left := list((case.folder / output).parent.glob(".*")):
        raise FaultError(f"left behind: {left}")
    case.must_be_run(output)


@kind("stopped: several processes at one output", 3)
def _(case: Case) -> None:
    output, _ = case.block()
    for child in [
        case.child(lambda: bench.cli.main(command(output))) for _ in range(case.integer(2, 3))
    ]:
        if (outcome := child.outcome()).status != 0:
            case.must_be_refused(outcome, "another process is running this seed")
    case.must_be_run(output)


# Journals


@kind("journals: cut", 5)
def _(case: Case) -> None:
    output, _ = case.block()
    for path in with_journals(case, output):
        damage(case, path, "cut")
    case.must_be_run(output)


def must_go_on(case: Case, output: str, path: Path) -> None:
    """The run goes on; or says that the file must be deleted, and then does."""
    outcome = case.do(command(output))
    if not case.must_be_refused_or_done(outcome, output, str(path.relative_to(case.folder))):
        if "delete the file" not in outcome.text:
            raise FaultError(f"does not say what to do: {outcome.text}")
        path.unlink()
        case.must_be_run(output)


@kind("journals: a flipped byte", 5)
def _(case: Case) -> None:
    output, _ = case.block()
    path = case.choice(with_journals(case, output))
    damage(case, path, "flip")
    must_go_on(case, output, path)


@kind("journals: lines lost, doubled, swapped, foreign", 6)
def _(case: Case) -> None:
    output, _ = case.block()
    path, second = with_journals(case, output)
    lines, foreign = (x.read_bytes().splitlines(keepends=True) for x in (path, second))
    place, other = case.integer(0, len(lines) - 2), case.integer(0, len(lines) - 1)
    match case.integer(0, 3):
        case 0:
            del lines[place : place + case.integer(1, 3)]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = foreign[place]
    path.write_bytes(b"".join(lines))
    must_go_on(case, output, path)


@kind("journals: of another seed or run", 5)
def _(case: Case) -> None:
    (output, _), (other, _) = case.block(), case.block()
    files = with_journals(case, output)
    contents = [path.read_bytes() for path in files]
    if other != output:
        contents = [path.read_bytes() for path in with_journals(case, other)]
    contents = contents[:: case.choice([1, -1])]
    for folder in (case.folder / "results").rglob("journal_*"):
        shutil.rmtree(folder)
    files[0].parent.mkdir(parents=True)
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    case.must_be_run(output)


@kind("journals: a pipe, a folder, a link, a device", 3)
def _(case: Case) -> None:
    output, _ = case.block()
    path = case.choice(journals(case, output))
    put(path, case.choice(ODD))
    before = state(path)
    case.must_be_refused(case.do(command(output)), str(path.relative_to(case.folder)))
    if state(path) != before:
        raise FaultError(f"{path} was replaced")
    shutil.rmtree(path.parent)
    case.must_be_run(output)


# Traces


def must_be_noticed(case: Case, block: str, algorithm: str) -> None:
    """Collecting refuses a block in one line; once it is deleted and made again, it does not."""
    collected = paths.collected(SCALE, PAPER, PROBLEM, algorithm)
    if (case.folder / block).is_dir() or (case.folder / block).read_bytes() != (
        case.material / block
    ).read_bytes():
        case.must_be_refused(case.do(command(collected)), block)
    remove(case.folder / block)
    case.must_be_run(block)
    case.must_be_run(collected)


def taken(case: Case) -> tuple[str, str]:
    block, algorithm = case.block()
    case.take(*(paths.block(SCALE, PAPER, PROBLEM, algorithm, seeds) for seeds in BLOCKS))
    return block, algorithm


@kind("traces: a flipped byte", 7)
def _(case: Case) -> None:
    block, algorithm = taken(case)
    damage(case, case.folder / block, "flip")
    must_be_noticed(case, block, algorithm)


@kind("traces: cut or garbage", 3)
def _(case: Case) -> None:
    block, algorithm = taken(case)
    if case.integer(0, 4):
        damage(case, case.folder / block, case.choice(["cut", "garbage"]))
    else:
        remove(case.folder / block)
        (case.folder / block).mkdir()
    must_be_noticed(case, block, algorithm)


def altered(case: Case, path: Path) -> None:
    """Write a block anew, with a right checksum, but other content."""
    content = traces.read(path)
    rows, names, metadata = len(content), content.column_names, traces.read_metadata(content)
    row, order = case.integer(0, rows - 1), list(range(rows))
    match case.integer(0, 9):
        case 0:
            name, by = case.choice("yf"), case.choice([1.0, 1e-9, -1e-12])
            values = content[name].to_numpy() + by * (np.arange(rows) == row)
            content = content.set_column(names.index(name), name, pa.array(values))
        case 1:
            content = content.slice(0, row)
        case 2:
            content = pa.concat_tables([content, content.slice(row, 1)])
        case 3:
            order[row], order[row - 1] = order[row - 1], order[row]
            content = content.take(order)
        case 4:
            kept = ["seed", "t", "phase", "x", "y", "f", "ask_seconds"]
            content = content.drop_columns([case.choice(kept)])
        case 5:
            content = content.set_column(names.index("y"), "y", pa.array(["a"] * rows))
        case 6:
            seeds = pa.array(content["seed"].to_numpy() + 2, pa.int32())
            content = content.set_column(names.index("seed"), "seed", seeds)
        case 7:
            del metadata[case.choice(sorted(set(metadata) - {"changed_config"}))]
        case 8:
            metadata[case.choice(sorted(metadata))] = ["damaged"]
        case _:
            metadata["identity"]["horizon"] = 99
    text = json.dumps(metadata)
    text = text[: case.choice([None, len(text) // 2])]
    traces.write(path, content.replace_schema_metadata({traces.METADATA_KEY: text}))


@kind("traces: foreign content", 8)
def _(case: Case) -> None:
    block, algorithm = taken(case)
    if case.integer(0, 3):
        altered(case, case.folder / block)
    else:  # another block or pair in its place
        others = [x for x in case.undisturbed if x.endswith(".parquet") and x != block]
        shutil.copyfile(case.material / case.choice(others), case.folder / block)
    must_be_noticed(case, block, algorithm)


@kind("traces: damaged, read by a figure or table", 6)
def _(case: Case) -> None:
    case.take("results", "published")
    scale, output = case.choice([SCALE, paths.PUBLISHED]), case.choice([TABLE, TABLE, FIGURE])
    files = [case.folder / paths.collected(SCALE, PAPER, PROBLEM, name) for name in ALGORITHMS]
    if scale != SCALE:
        files = sorted((case.folder / PUBLISHED).rglob("*.parquet"))
    path, other = case.choice(files), case.choice(files)
    before = path.read_bytes()
    damage(case, path) if path == other else path.write_bytes(other.read_bytes())
    outcome = case.do(command(output, scale))
    if path.read_bytes() != before:
        case.must_be_refused(outcome, str(path.relative_to(case.folder)))
        if (case.folder / output).exists():
            raise FaultError("an output was made")
    path.write_bytes(before)
    if (outcome := case.do(command(output, scale))).status:
        raise FaultError(f"status {outcome.status}: {outcome.text[-500:]}")


# Outputs and disks


@kind("outputs: a pipe, a folder, a link, a device", 5)
def _(case: Case) -> None:
    block, algorithm = case.block()
    collected = paths.collected(SCALE, PAPER, PROBLEM, algorithm)
    words = case.choice([command(block), command(collected), command(TABLE), command(FIGURE),
                         ["claims", "--scale", SCALE, "--output", "a.md"]])  # fmt: skip
    path = case.folder / "odd" / f"a{Path(words[-1]).suffix}"
    put(path, case.choice(ODD))
    before = state(path)
    case.must_be_refused(case.do([*words[:-1], str(path)]), str(path))
    other = path.with_name("elsewhere")
    if state(path) != before or (other.exists() and other.read_text() != "precious"):
        raise FaultError(f"{path} was replaced, or written through")


@kind("outputs: folders that are missing or odd, names that are long or strange", 3)
def _(case: Case) -> None:
    block, _ = case.block()
    good = case.choice(["a/b/c/d.parquet", "ü b/ε 数.parquet", "./-x/'\".parquet", "./././a.parquet",
                        "\udcff/a.parquet", "a/../b.parquet", "x" * 240 + ".parquet"])  # fmt: skip
    bad = case.choice(["x" * 250 + ".parquet", "x/" * 2100 + "a", "file/a.parquet", "loop/a.parquet",
                       "dangling/a", "", ".", "..", "/", "/proc/a.parquet", "config", "pipe/a", "a\nb.parquet"])  # fmt: skip
    (case.folder / "file").write_bytes(b"here")
    (case.folder / "loop").symlink_to("loop")
    (case.folder / "dangling").symlink_to("nowhere")
    os.mkfifo(case.folder / "pipe")
    words = command(block)[:-1]
    case.must_be_refused(case.do([*words, bad]), bad.rstrip("/")[:100], "no line break")
    outcome = case.do([*words, good])
    if outcome.status or bench.result(case.folder / good) != case.undisturbed[block]:
        raise FaultError(f"{good}: not the undisturbed trace: {outcome.text[-500:]}")


def full_after(most: int) -> Prepare:
    """The disk is full after so many bytes of journals, or when a whole file is to be kept."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full(io.FileIO):
        def write(self, content: Any) -> int:
            nonlocal most
            size = min(len(content), most)
            if not size:
                full()
            most -= size
            return super().write(content[:size])

    def prepare() -> None:
        journal.open = lambda path, mode, buffering: Full(path, mode)
        os.fsync = full

    return prepare


@kind("full disk: run", 6)
def _(case: Case) -> None:
    output, _ = case.block()
    before = case.choice([None, b"what was there before"])
    if before:
        (case.folder / output).parent.mkdir(parents=True)
        (case.folder / output).write_bytes(before)
    most = case.integer(0, 380 * QUERIES)
    limit = case.choice([full_after(2 * most), lambda: bench.limit_files(most)])
    case.must_be_refused(case.do(command(output), limit), "written (No space", "written (File too")
    if ((case.folder / output).read_bytes() if (case.folder / output).exists() else None) != before:
        raise FaultError("what was there before is not whole")
    case.must_be_run(output)


@kind("full disk: collect, figure, table, publish", 4)
def _(case: Case) -> None:
    case.take("results", "published", "out")
    collected = paths.collected(SCALE, PAPER, PROBLEM, case.choice(ALGORITHMS))
    output = case.choice([collected, TABLE, FIGURE, PUBLISHED])
    most, before = (
        case.integer(0, 199 if output == TABLE else 1999),
        bench.result(case.folder / output),
    )
    outcome = case.do(command(output), lambda: bench.limit_files(most))
    case.must_be_refused(outcome, f"{output}: cannot be written (File too")
    path = case.folder / output
    if bench.result(path) != before or any(x.name.startswith(".") for x in path.parent.iterdir()):
        raise FaultError("what was there before is not whole, or something was left")
    case.must_be_run(output)


# Configs, command lines, initial points

WORDS = [*("", "~", "true", "-1", "0", "1e400", ".nan", "010", "1:30", "9" * 400, "[]", "{}", "[1]", "nope"),
         *("../../etc/passwd", "os.system", "!!python/name:os.system", "&a [*a]", "'", '"', "{a: }", "[" * 400),
         *("0-2147483647", "9-0", "x" * 5000, "random_search", "2020-01-01", "\x00", "é\u2028", "a: b: c"),
         *("--seeds", "--scale", "--config", ".", "/", "config", "--", "-h", "-", "?")]  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(WORDS)
)
VALUES = st.recursive(
    LEAVES,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=9), x, max_size=3),
    max_leaves=5,
)


def mutated(case: Case, value: Any) -> Any:
    """A copy with one leaf or key of a config changed."""
    if isinstance(value, dict) and value and case.integer(0, 19):
        key = case.choice(sorted(value, key=str))
        content = {k: v for k, v in value.items() if k != key}
        match case.integer(0, 11):
            case 0:
                return content
            case 1:
                return content | {case.draw(st.text(max_size=9) | st.none()): value[key]}
            case _:
                return content | {key: mutated(case, value[key])}
    if isinstance(value, list) and value and case.draw(st.booleans()):
        place = case.integer(0, len(value) - 1)
        return [*value[:place], mutated(case, value[place]), *value[place + 1 :]]
    return case.draw(VALUES)


@kind("input: config, fuzzed", 8)
def _(case: Case) -> None:
    path = case.folder / "config" / f"{PAPER}.yaml"
    words = case.choice(
        [["list"], ["estimate", PAPER, "--scale", SCALE], command(case.block()[0]), command(TABLE)]
    )
    lines = path.read_text().splitlines(keepends=True)
    match case.integer(0, 3):
        case 0:
            damage(case, path)
        case 1:
            place = case.integer(0, len(lines) - 1)
            indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
            key = case.choice(["nope", "seeds", "- 1", "horizon"])
            lines.insert(place, f"{indent}{key}: {case.choice(WORDS)}\n")
            path.write_text("".join(lines))
        case 2:
            key = case.choice(["seeds", "horizon", "initial_points", "algorithms"])
            (case.folder / "mine.yaml").write_text(
                f"{PAPER}: {{defaults: {{{key}: {case.choice(WORDS)}}}}}\n"
            )
            words = [*words, "--config", "mine.yaml"]
        case _:
            path.write_text(
                yaml.safe_dump(mutated(case, yaml.safe_load("".join(lines)))), errors="replace"
            )
    outcome = case.do(words, bench.limit_memory)
    if outcome.status != 0:
        case.must_be_refused(outcome, lines=True)


@kind("input: command line, fuzzed", 6)
def _(case: Case) -> None:
    block, algorithm = case.block()
    words = case.choice([command(block), command(paths.collected(SCALE, PAPER, PROBLEM, algorithm)),
                         command(TABLE), ["publish", PAPER, "--scale", SCALE], ["list", "papers"],
                         ["estimate", f"figures/{SCALE}/{PAPER}/figure.pdf"], ["claims", PAPER, "--scale", SCALE]])  # fmt: skip
    text = st.text(string.printable, max_size=300) | st.sampled_from(WORDS)
    for _ in range(case.integer(1, 2)):
        place, lost = case.integer(0, len(words)), case.integer(0, 1)
        given = [case.draw(text).replace("\0", "")] if case.integer(0, 2) else []
        words = [*words[:place], *given, *words[place + lost :]] or ["list"]
    outcome = case.do(words, bench.limit_memory)
    if outcome.status not in (0, 2) or "Traceback" in outcome.text:
        raise FaultError(f"{words}: status {outcome.status}: {outcome.text[-500:]}")


@kind("input: initial points", 3)
def _(case: Case) -> None:
    path = case.folder / "points.csv"
    bad = [b"", b"x\n", b"x\n1,2\n", b"x,y\n1\n", b"x,y,z\n1\n", b'x\n"1\n', b"x\nnan\n", b"x\n1e999\n",
           b"x\nhere\n", b"x\n" + b"1" * 200_000 + b"\n", b"x\n7\n7\n7\n", b"x\n\xff\n", b"x\n\0\n"]  # fmt: skip
    if case.integer(0, 4):
        path.write_bytes(case.draw(st.sampled_from(bad) | st.binary(max_size=300)))
    else:
        put(path, case.choice(["a folder", "a pipe", "a socket", "a device"]))
    outcome = case.do([*command(case.block()[0]), "--initial-points", "points.csv"])
    case.must_be_refused(outcome, "points.csv", "initial points")


# Data files: mirrors, servers and data folders that hold what they should not

CSV, DIGITS = b"n,theta\n" + b"6,0.5\n" * 200, bytes(range(256)) * 40
REVIEWS = 'text,kind\n"good, ""very""",a\n"two\nlines",b\n,a\nüber,b\n'.encode()
MOST, PASSWORD = 20_000, "hush"
Answer = Callable[[], Iterable[bytes]]
"""The pieces in which a server sends an answer."""


def drawn_file(case: Case) -> tuple[DataFile, bytes, bytes]:
    """A file known by its digest, by that of the decompressed bytes, or by its structure; its content,
    and a wrong one."""
    content = case.choice([CSV, DIGITS, REVIEWS])
    table = CsvTable(columns=("text", "kind"), rows=4, classes=("kind",))
    known = content is not REVIEWS
    file = DataFile(
        name="wanted",
        path="folder/wanted.gz" if content is DIGITS else "folder/wanted.csv",
        mirror_path=case.choice([None, "folder/wanted as published"]),
        urls=("http://127.0.0.1:1/nobody",),
        sha256=hashlib.sha256(content).hexdigest() if known else None,
        size=len(content) if known else None,
        max_bytes=MOST,
        table=None if known else table,
        licence="CC0",
        source="nowhere",
        citation="nobody",
    )
    wrong = bytearray(content)
    if known:
        wrong[case.integer(0, len(wrong) - 1)] ^= case.integer(1, 255)
    else:  # any file of this structure is taken on first use
        wrong = bytearray(content.replace(b",", b";", 1))
    pack = gzip.compress if content is DIGITS else bytes
    return file, pack(content), pack(bytes(wrong))


CELL = '"(?:[^"]|"")*"|(?!")[^,\r\n]*'
RECORD = re.compile(rf"({CELL}),({CELL})(?:\r\n|\r|\n|\Z)")


def has_structure(content: bytes) -> bool:
    """Whether a file can be the reviews, of which nobody knows the digest: four rows of two cells, with two
    or more kinds. By a grammar of CSV, independent of the reader that is tested."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    place, rows = 0, []
    while place < len(text):
        if not (record := RECORD.match(text, place)):
            return False
        place = record.end()
        cells = (x[1:-1].replace('""', '"') if x.startswith('"') else x for x in record.groups())
        rows.append(tuple(cells))
    kinds = {kind for _, kind in rows[1:]}
    return (
        rows[:1] == [("text", "kind")]
        and len(rows) == 5
        and len(kinds) > 1
        and all(map(str.strip, kinds))
    )


def first_taken(file: DataFile, given: bytes, content: bytes) -> bytes:
    """What is taken if the first source gives ``given`` and a later one ``content``: the first file that
    can be the wanted one. A flipped letter in a text shows only if the digest is known."""
    return given if file.table and has_structure(given) else content


def fetch(case: Case, file: DataFile, url: str = "", mirror: str | None = None) -> Outcome:
    outcome = fetching_child(case, file, url, mirror).outcome()
    if PASSWORD in outcome.text:
        raise FaultError(f"shows the password: {outcome.text}")
    return outcome


def fetching_child(
    case: Case, file: DataFile, url: str, mirror: str | None = None, seconds: float = 1.0
) -> Child:
    """Start a fetch in a process that knows one file only, waits for little, and never fills the disk."""
    file = file.model_copy(update={"urls": tuple(url.split())}) if url else file

    def prepare() -> None:
        manifest.load_manifest = lambda: {file.name: file}
        fetching.TIMEOUT, fetching.TIME_LIMIT = seconds, 10 * seconds
        time.sleep = lambda _: None
        os.environ |= {
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            fetching.MIRROR_VARIABLE: "",
        }
        bench.limit_files(2 * MOST)

    options = [] if mirror is None else ["--mirror", mirror]
    return case.child(lambda: bench.cli.main(["fetch", "--data-dir", "data", *options]), prepare)


def must_be_fetched(case: Case, outcome: Outcome, file: DataFile, content: bytes) -> None:
    """Check that the file is there, whole, and nothing else but its record."""
    path = case.folder / "data" / file.path
    if outcome.status != 0 or outcome.text.split("\n")[-2] != str(path.relative_to(case.folder)):
        raise FaultError(f"status {outcome.status}, not 0: {outcome.text[-500:]}")
    unpack = gzip.decompress if path.suffix == ".gz" else bytes
    if unpack(path.read_bytes()) != unpack(content):
        raise FaultError("another file was taken")
    record, digest = path.with_name(f"{path.name}.sha256"), hashlib.sha256(path.read_bytes())
    if file.table and record.read_text().split()[0] != digest.hexdigest():
        raise FaultError("its digest was not recorded")
    if left := {x.name for x in path.parent.iterdir()} - {path.name, f"{path.name}.sha256"}:
        raise FaultError(f"left behind: {left}")


def must_be_missed(case: Case, outcome: Outcome, *names: str) -> None:
    case.must_be_refused(outcome, *names)
    if left := [path for path in (case.folder / "data").rglob("*") if not path.is_dir()]:
        raise FaultError(f"left behind: {left}")


def must_be_fetched_or_missed(
    case: Case, outcome: Outcome, file: DataFile, content: bytes, first: bytes
) -> None:
    """Check that ``first``, what is `first_taken`, was taken; if that is no more than the right
    content, none may be, and the line says so."""
    if outcome.status == 0 or first != content:
        must_be_fetched(case, outcome, file, first)
    else:
        must_be_missed(case, outcome, "wanted: no source gave the file")


def serve(case: Case, answers: dict[str, Answer]) -> str:
    """Answer each path in a process, as long as the case lasts; the URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # clients that hang up
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            for piece in answers.get(request.split(b" ")[1].decode(), status(404))():
                connection.sendall(piece)
                if not piece:  # the client sees a reset
                    connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )

    def accept() -> None:
        while True:
            threading.Thread(target=answer, args=listening.accept()[:1], daemon=True).start()

    case.child(accept)
    with listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def body(content: bytes, length: object = None, headers: str = "", code: int = 200) -> Answer:
    """``content``, as long as it is or as ``length`` says."""
    length = len(content) if length is None else length
    head = f"HTTP/1.1 {code} Told\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
    return lambda: [head.encode() + content]


def status(code: int, headers: str = "") -> Answer:
    return body(b"", headers=headers, code=code)


def dripping() -> Iterable[bytes]:
    """A byte now and then: always in time for the next, never whole."""
    yield from body(b"", MOST)()
    while not time.sleep(0.02):
        yield b"6"


def silent(content: bytes) -> Answer:
    """These bytes, and then silence."""
    return lambda: itertools.chain([content], iter(lambda: time.sleep(3600), 0))


def misbehaving(case: Case, content: bytes, wrong: bytes) -> tuple[Answer, bytes]:
    """One way of not giving ``content``; and the file that a client sees, if it cannot see that it is cut."""
    place, ok, chunked = (
        case.integer(0, len(content) - 1),
        b"HTTP/1.1 200 OK\r\n",
        "Transfer-Encoding: chunked\r\n",
    )
    lengths, codes = ["many", -1, 10**30, "", "1, 2", len(content) + 1, place], [204, 206, 300, 304, 400, 404, 429, 500, 503, 999]  # fmt: skip
    places = [
        "/bad",
        "file:///etc/passwd",
        "ftp://a/b",
        "//",
        "http://[",
        "http://127.0.0.1:1/",
        "",
    ]
    endless = lambda start, again: lambda: itertools.chain([start], itertools.repeat(again))  # noqa: E731
    whole, length = next(iter(body(content)())), case.choice(lengths)
    cut, told = body(content[:place]), body(content, length)
    answers: list[Answer] = [
        body(content[:place], len(content)), cut, body(wrong), body(b""),
        body(wrong, headers="Content-Encoding: gzip\r\n"), body(content + b"6,0.5\n"),
        body(b"<!doctype html><title>Sign in</title>"), body(case.draw(st.binary())),
        told, body(content, headers=chunked),  # there are no chunks
        lambda: body(gzip.compress(bytes(100 * 2**20), 1), headers="Content-Encoding: gzip\r\n")(),
        lambda: [ok + chunked.encode() + b"\r\nffffffffff\r\n" + content], lambda: [ok + chunked.encode() + b"\r\nno\r\n\r\n"],
        lambda: [whole[: place % (len(whole) - len(content))]], lambda: [], lambda: [b""],
        lambda: [b"HTTP/9.9 huh\r\n\r\n"], lambda: [ok + b"X: " + b"y" * 200_000 + b"\r\n\r\n"],
        lambda: [ok + b"X: y\r\n" * 5_000 + b"\r\n"], dripping, silent(b""), silent(whole[:place]),
        endless(ok + b"\r\n", bytes(2**16)), endless(ok, b"X: y\r\n"),
        endless(ok + chunked.encode() + b"\r\n", b"4\r\nabcd\r\n"), status(302, f"Location: {case.choice(places)}\r\n"),
        status(case.choice(codes)), body(content, code=case.choice([404, 503])),
    ]  # fmt: skip
    answer = case.choice(answers)
    is_cut = answer is cut or (answer is told and length == place)
    return answer, content[:place] if is_cut else content


@kind("sources: a server that misbehaves", 7)
def _(case: Case) -> None:
    file, content, wrong = drawn_file(case)
    bad, given = misbehaving(case, content, wrong)
    first = first_taken(file, given, content)
    mirror_path = f"/m/{file.path_in_mirror}".replace(" ", "%20")
    url = serve(case, {"/bad": bad, mirror_path: bad, "/good": body(content)})
    mirror = case.choice([None, f"{url}/m", f"http://me:{PASSWORD}@{url[7:]}/m/"])
    if case.draw(st.booleans()):  # another source is good
        must_be_fetched(case, fetch(case, file, f"{url}/bad {url}/good", mirror), file, first)
    else:
        outcome = fetch(case, file, f"{url}/bad", mirror)
        must_be_fetched_or_missed(case, outcome, file, content, first)
        must_be_fetched(case, fetch(case, file, f"{url}/good"), file, first)


@kind("sources: a folder as mirror that holds what it should not", 4)
def _(case: Case) -> None:
    file, content, wrong = drawn_file(case)
    mirror = case.folder / "mirror"
    path, first = mirror / file.path_in_mirror, content
    path.parent.mkdir(parents=True)
    match case.choice(["odd", "odd", "wrong", "long", "endless", "loop", "above", "none"]):
        case "odd":
            put(path, case.choice(ODD))
        case "wrong":
            path.write_bytes(content)
            damage(case, path) if case.draw(st.booleans()) else path.write_bytes(wrong)
            first = first_taken(file, path.read_bytes(), content)
        case "long":
            path.write_bytes(content + bytes(case.choice([1, MOST, 2**24])))
        case "endless" | "loop" as what:
            path.symlink_to("/dev/zero" if what == "endless" else path)
        case "above":
            shutil.rmtree(mirror)
            mirror.write_bytes(b"a file")
    url = serve(case, {"/good": body(content)})
    if case.draw(st.booleans()):
        must_be_fetched(case, fetch(case, file, f"{url}/good", "mirror"), file, first)
    else:
        named = case.choice(["mirror", str(mirror), f"{mirror}/"])
        outcome = fetch(case, file, mirror=named)
        must_be_fetched_or_missed(case, outcome, file, content, first)
        must_be_fetched(case, fetch(case, file, f"{url}/good"), file, first)


@kind("sources: a wrong name of a mirror, a proxy of no use", 2)
def _(case: Case) -> None:
    file, content, _ = drawn_file(case)
    named = case.choice([f"ftp://me:{PASSWORD}@a/b", "https:/a", "http://", "http://[::1", "http://a b/",
                         f"http://me:{PASSWORD}@127.0.0.1:99999/", "~nobody/x", "~", "x" * 5000, "\udcff",
                         f"me:{PASSWORD}@host:x", "file:///etc", "\n", " ", "http://" + "a." * 200,
                         "http://\udcff", "http://127.0.0.1:1"])  # fmt: skip
    outcome = fetch(case, file, mirror=named)
    must_be_missed(case, outcome, "wanted: no source", "mirror: must be", "no line break")
    path = case.folder / "mirror" / file.path_in_mirror
    put(path, "a link to a file")
    path.write_bytes(content)
    must_be_fetched(case, fetch(case, file, mirror="mirror"), file, content)


@kind("sources: a wrong file in the data folder", 3)
def _(case: Case) -> None:
    file, content, wrong = drawn_file(case)
    url = serve(case, {"/good": body(content)}) + "/good"
    path, first = case.folder / "data" / file.path, content
    path.parent.mkdir(parents=True)
    no_links = [what for what in ODD if not what.startswith("a link")]
    match case.choice(["odd", "wrong", "damaged", "long", "folder", "record"]):
        case "odd":
            put(path, case.choice(no_links))
        case "folder":  # that should hold it
            path.parent.rmdir()
            put(path.parent, case.choice(no_links))
        case "record":
            path.write_bytes(content)
            record = path.with_name(f"{path.name}.sha256")
            record.write_bytes(case.choice([b"", b"\xff", bytes(2**20), b"0" * 64]))
        case "long":
            path.write_bytes(content + bytes(MOST))
        case how:
            path.write_bytes(wrong if how == "wrong" else content)
            damage(case, path) if how == "damaged" else None
            first = first_taken(file, path.read_bytes(), content)
    before, outcome = state(path), fetch(case, file, url)
    # The file was right (a record of a known digest is not read), or could be put there.
    if outcome.status == 0 or first != content:
        must_be_fetched(case, outcome, file, first)
    else:
        case.must_be_refused(outcome, str(path.relative_to(case.folder)), "data/folder")
        if state(path) != before:
            raise FaultError("what was there is not as it was")
    shutil.rmtree(case.folder / "data")
    must_be_fetched(case, fetch(case, file, url), file, content)


@kind("sources: stopped while a file is fetched", 2)
def _(case: Case) -> None:
    file, content, _ = drawn_file(case)
    url, number = serve(case, {"/slow": dripping, "/good": body(content)}), case.choice(STOPS)
    child = fetching_child(case, file, f"{url}/slow", seconds=60)
    child.wait(case.draw(st.floats(0.2, 0.6)))
    child.send(number)
    must_stop(outcome := child.outcome(), number)
    files = [path for path in (case.folder / "data").rglob("*") if not path.is_dir()]
    if number != signal.SIGKILL and files:
        raise FaultError(f"left behind: {files}: {outcome.text[-500:]}")
    if files:
        shutil.rmtree(case.folder / "data")
    must_be_fetched(case, fetch(case, file, f"{url}/good"), file, content)


# Surroundings

NONSENSE = {
    "OMP_NUM_THREADS": ("abc", "0", "-1", "64", "9" * 40), "OPENBLAS_NUM_THREADS": ("abc", "0", "64"),
    "MKL_NUM_THREADS": ("abc", "64"), "LC_ALL": ("C", "POSIX", "nowhere", "de_DE.ISO-8859-1"),
    "PYTHONIOENCODING": ("ascii", "latin-1"), "TZ": ("nowhere", ""), "TMPDIR": ("/nowhere", "/proc", ""),
    "HOME": ("/nowhere", ""), "XDG_CACHE_HOME": ("/nowhere", "/proc"), "MPLCONFIGDIR": ("/nowhere", "/proc"),
    "MPLBACKEND": ("nonsense", "agg"), "PYTHONHASHSEED": ("0", "7"), "COLUMNS": ("abc", "1", "-5"),
    "TERM": ("", "nonsense"), "PATH": ("", "/nowhere"), "GIT_DIR": ("/nowhere",), "REPLIBO_SURPRISE": ("1",),
    "REPLIBO_DATA_MIRROR": ("nonsense", "ftp://a", "\n"),
}  # fmt: skip
"""Variables that a command must not stumble over."""


def must_be_quiet(outcome: Outcome) -> None:
    if outcome.status != 0 or "Traceback" in outcome.text or "Exception" in outcome.text:
        raise FaultError(f"status {outcome.status}, not 0: {outcome.text[-500:]}")


@kind("surroundings: variables that say nonsense", 1)
def _(case: Case) -> None:
    names = case.draw(
        st.lists(st.sampled_from(sorted(NONSENSE)), min_size=1, max_size=5, unique=True)
    )
    variables = {name: case.choice(NONSENSE[name]) for name in names}
    output = case.choice([case.block()[0], TABLE, FIGURE])
    if output in (TABLE, FIGURE):
        case.take("results")
    must_be_quiet(outcome := case.anew(command(output), **variables))
    case.must_be_done(outcome, output, strict=False)
    must_be_quiet(case.anew(["list", "algorithms"], **variables))


@kind("surroundings: REPLIBO_CONFIG names nothing of use", 2)
def _(case: Case) -> None:
    named = case.choice(["nowhere.yaml", ".", "/dev/null", "bad.yaml", "x" * 300, "\udcff"])
    (case.folder / "bad.yaml").write_bytes(case.choice([b"\xff", b"[", b"nope: 1", b"- a", b"\0"]))
    output, _ = case.block()
    outcome = case.do(command(output), lambda: os.environ.update(REPLIBO_CONFIG=named))
    case.must_be_refused(outcome, named.strip(), "config: nope: unknown key", "\\udcff")
    case.must_be_run(output)


@kind("surroundings: standard streams closed, full, or without a reader", 1.5)
def _(case: Case) -> None:
    number, how = case.integer(0, 2), case.choice(["closed", "full", "without a reader"])

    unbuffered = case.choice(["", "1"])

    def prepare() -> None:
        if how == "closed":
            return os.close(number)
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(os.open("/dev/full", os.O_WRONLY) if how == "full" else writing, number)

    if case.integer(0, 2) == 0:
        output, _ = case.block()
        case.must_be_done(case.anew(command(output), prepare, PYTHONUNBUFFERED=unbuffered), output)
        return
    if case.integer(0, 2) == 0:
        wrong = command(paths.block(SCALE, PAPER, PROBLEM, "nope", BLOCKS[0]))
        outcome = case.anew(wrong, prepare, PYTHONUNBUFFERED=unbuffered)
        if number != 2:
            case.must_be_refused(outcome, "no algorithm called 'nope'")
        elif outcome != Outcome(2, ""):
            raise FaultError(
                f"status {outcome.status}, not 2, or not silent: {outcome.text[-500:]}"
            )
        return
    words = case.choice(
        [["list"], ["list", "papers"], ["--help"], ["run", "--help"], ["--version"]]
    )
    outcome = case.anew(words, prepare, PYTHONUNBUFFERED=unbuffered)
    if (number, how) == (1, "full"):
        case.must_be_refused(outcome, "standard output: cannot be written (No space left")
    else:
        must_be_quiet(outcome)


@kind("surroundings: files and folders without permission", 3)
def _(case: Case) -> None:
    (output, algorithm), name = case.block(), case.choice([f"{PAPER}.yaml", "config.yaml", ""])
    path = case.folder / output
    match case.choice(["folder", "output", "journal", "journals", "config", "runs", "out"]):
        case "folder":
            path.parent.mkdir(parents=True)
            path, mode = path.parent, 0o555
        case "output":  # a file that may not be written is replaced, as by mv -f
            path.parent.mkdir(parents=True)
            path.write_bytes(b"")
            path, mode = path.parent, case.choice([0o000, 0o444])
        case "journal":
            path, mode = with_journals(case, output)[0], case.choice([0o000, 0o444])
        case "journals":
            path, mode = with_journals(case, output)[0].parent, case.choice([0o000, 0o444])
        case "config":
            path, mode = case.folder / "config" / name, 0o000
        case "runs":
            case.take("results")
            path, mode, output = path, 0o000, paths.collected(SCALE, PAPER, PROBLEM, algorithm)
        case "out":
            case.take("results")
            path, mode, output = case.folder / "out", 0o555, TABLE
            path.mkdir()
    before = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    outcome = case.do(command(output), bench.obey_permissions)
    path.chmod(before)
    case.must_be_refused(outcome, str(path.relative_to(case.folder)))
    case.must_be_run(output)


@kind("surroundings: few open files, little memory", 3)
def _(case: Case) -> None:
    (output, _), memory = case.block(), case.integer(0, 80 * 2**20)
    most = len(os.listdir("/proc/self/fd")) + case.integer(0, 11)
    if few := case.draw(st.booleans()):
        outcome = case.do(
            command(output), lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        )
    else:
        outcome = case.do(command(output), lambda: bench.limit_memory(memory))
    # Without memory, a library may end the process as it likes (SIGSEGV, SystemError), as the system's killer of
    # processes would: then, too, nothing may be lost.
    if few or outcome.status == 0:
        case.must_be_refused_or_done(outcome, output, "Too many open files")
    for path in (case.folder / output).parent.glob(".replibo-*"):
        shutil.rmtree(path)
    case.must_be_run(output)


@kind("surroundings: clocks that jump", 1)
def _(case: Case) -> None:
    (output, _), moments = case.block(), case.draw(st.lists(st.floats(-1e9, 4e9), min_size=1))
    steps = case.draw(st.lists(st.floats(0, 1e6), min_size=1))

    def jump() -> None:
        time.time = itertools.cycle(moments).__next__
        steady = itertools.accumulate(itertools.cycle(steps))
        for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
            setattr(time, name, steady.__next__)  # these never go back

    case.must_be_done(case.do(command(output), jump), output)


# Snakemake

PAIR = f"results/{SCALE}/{PAPER}/{PROBLEM}/go_ucb"


def started(case: Case, *words: str) -> Child:
    """Start Snakemake in the case's folder, with the project's Snakefile."""

    def start() -> None:
        os.setpgid(0, 0)
        snakemake.cli.main(["--snakefile", "Snakefile", *words])

    for name in ("Snakefile", "workflow", "profiles"):
        if not (case.folder / name).exists():
            (case.folder / name).symlink_to(bench.ROOT / name)
    return case.child(start)


def must_be_said(case: Case, outcome: Outcome, *names: str) -> None:
    """Check that Snakemake ended with an error, said in a line what is wrong, and made nothing."""
    if outcome.status != 1 or "Traceback" in outcome.text or "common.smk" in outcome.text:
        raise FaultError(f"status {outcome.status}: {outcome.text[-700:]}")
    if not any(name in outcome.text for name in names):
        raise FaultError(f"does not name {' or '.join(names)}: {outcome.text[-700:]}")
    if (case.folder / "results").exists() or (case.folder / "figures").exists():
        raise FaultError("something was made")
    if any((case.folder / ".snakemake" / "locks").glob("*")):
        raise FaultError("the folder stays locked")


@kind("Snakemake: wrong targets", 2)
def _(case: Case) -> None:
    scale = case.choice(["huge", "smoke@mine", "quik", "9", "smoke "])
    target, name = case.choice(
        [
            *((f"{PAIR}/seeds_{x}.parquet",) * 2 for x in ("9-0", "010", "3-12", "4", "0-2147483647", "9" * 30)),
            *((f"{PAIR}/seeds_{x}.parquet", "No rule to produce") for x in ("x", "-1", "1-", "0,1", "")),
            (f"results/{SCALE}/{PAPER}/{PROBLEM}/nope/seeds_0-1.parquet", "no algorithm called 'nope'"),
            (f"results/{SCALE}/{PAPER}/nope/go_ucb/runs.parquet", "no problem called 'nope'"),
            (f"results/{SCALE}/nope/{PROBLEM}/go_ucb/seeds_0-1.parquet", "No rule to produce"),
            (f"figures/{SCALE}/{PAPER}/nope.pdf", "no figure called 'nope'"),
            (f"results/{SCALE}/{PAPER}/nope.csv", "no table called 'nope'"),
            *((x,) * 2 for x in (f"figures/{scale}/{PAPER}/figure.pdf", f"results/{scale}/claims.html")),
            *((f"figures/{SCALE}/{PAPER}/figure.{x}", "No rule to produce") for x in ("svg", "PDF", "")),
            *((x, "No rule to produce") for x in ("nope", "x" * 300, "../x", "/nope", "ü b")),
        ]
    )  # fmt: skip
    must_be_said(case, started(case, case.choice(["-n", "--cores=1"]), target).outcome(), name)


@kind("Snakemake: wrong configs", 2)
def _(case: Case) -> None:
    defaults, problem = f"{PAPER}: {{defaults: {{", f"{PAPER}: {{problems: {{{PROBLEM}: {{"
    text, name = case.choice(
        [
            (f"{PAPER}: {{nope: 1}}", f"{PAPER}.nope: unknown key"), ("nope: 1", "nope: unknown key"),
            ("papers: 7", "config: papers: must be a list"), ("papers: [go_ucb, go_ucb]", "config: papers"),
            (defaults + "seeds: 9-0}}", f"{PAPER}.defaults.seeds"), (defaults + "horizon: -1}}", f"{PAPER}.defaults.horizon"),
            (defaults + "algorithms: [nope]}}", "nope"), (defaults + "horizon: 010}}", "mine.yaml, line 1"),
            (defaults + "horizon: 9, horizon: 8}}", "mine.yaml, line 1"),
            *((f"{problem}{x}}}}}}}", f"{PAPER}.problems.{PROBLEM}") for x in ("type: os.system", "parameters: {x: 1}")),
            (f"{PAPER}: {{figures: {{figure: {{function: os.system}}}}}}", f"config: {PAPER}.figures.figure"),
            (f"{PAPER}: {{tables: {{table: {{options: {{x: 1}}}}}}}}", f"config: {PAPER}.tables.table.options"),
            (f"{PAPER}: {{algorithms: {{go_ucb: {{parameters: {{x: 1}}}}}}}}", f"{PAPER}.algorithms.go_ucb"),
            ("variant: ../x", "config: variant"), ("memory_mb: many", "config: memory_mb"),
            (f"{PAPER}: !!python/name:os.system", "mine.yaml"), (f"{PAPER}: 7", f"config: {PAPER}"),
        ]
    )  # fmt: skip
    words = ["--configfile", "mine.yaml"]
    (case.folder / "mine.yaml").write_text(text + "\n")
    if case.draw(st.booleans()):  # what is wrong stands in the config itself
        path = case.folder / "config" / f"{PAPER}.yaml"
        content = path.read_bytes()
        place = case.integer(0, len(content) - 1)
        bad = content[:place] + case.choice([b"\x00", b"\xff"]) + content[place + 1 :]
        path.write_bytes(case.choice([bad, content + b"\n- 1\n", b""]))
        words, name = [], f"config/{PAPER}.yaml"
    target = case.choice([SCALE, f"figures/{SCALE}/{PAPER}/figure.pdf", f"{PAIR}/runs.parquet"])
    outcome = started(case, case.choice(["-n", "--cores=1"]), target, *words).outcome()
    must_be_said(case, outcome, name, "mine.yaml")


@kind("Snakemake: killed, unlocked and run again", 0.4)
def _(case: Case) -> None:
    target = paths.collected(SCALE, PAPER, PROBLEM, case.choice(ALGORITHMS))
    child = started(case, "--cores=1", target)
    child.wait(case.draw(st.floats(1, 12)))
    child.send(case.choice(STOPS), group=True)
    child.outcome()
    for words in (["--unlock"], ["--cores=1", "--rerun-incomplete", target]):
        if (outcome := started(case, *words).outcome()).status != 0:
            raise FaultError(f"{words}: status {outcome.status}: {outcome.text[-700:]}")
    case.must_be_done(outcome, target, strict=False)
    if any(case.folder.rglob("journal_*")):
        raise FaultError("a journal was left")
