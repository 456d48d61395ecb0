"""The kinds of faults: each function injects one, and checks that nothing is lost and nothing wrong.

Either the command says in one line what is wrong (exit status 2), or its result is the undisturbed one.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import socket
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import numpy as np
import pyarrow as pa
import yaml
from bench import ALGORITHMS, BLOCKS, PAPER, PROBLEM, QUERIES, SCALE, Case, FaultError

from replibo import paths
from replibo.run import journal, loop, traces

KINDS: dict[str, tuple[float, Callable[[Case], None]]] = {}
"""By name: its share of all faults, and the function."""


def kind(name: str, share: float) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def register(function: Callable[[Case], None]) -> Callable[[Case], None]:
        KINDS[name] = share, function
        return function

    return register


def drawn(case: Case) -> tuple[str, str]:
    """An algorithm and a block."""
    return case.rng.choice(ALGORITHMS), case.rng.choice(BLOCKS)


def output_of(case: Case, algorithm: str, block: str) -> Path:
    return case.folder / paths.block(SCALE, PAPER, PROBLEM, algorithm, block)


def journals_of(case: Case, algorithm: str, block: str) -> list[Path]:
    output = output_of(case, algorithm, block)
    folder = paths.journal_folder(output, SCALE, PAPER, PROBLEM, algorithm)
    first, _, last = block.partition("-")
    return [loop.journal_path(folder, seed) for seed in range(int(first), int(last) + 1)]


def with_journals(case: Case, algorithm: str, block: str) -> list[Path]:
    """The journals of a run whose process was killed when it would have written its output."""

    def stop() -> None:
        traces.write = lambda *_: os._exit(9)

    case.run(algorithm, block, prepare=stop)
    found = journals_of(case, algorithm, block)
    if not all(path.stat().st_size > 1000 for path in found):
        raise RuntimeError("no journals")
    return found


def flipped(case: Case, path: Path) -> None:
    """Change one byte."""
    content = bytearray(path.read_bytes())
    place = case.rng.randrange(len(content))
    content[place] ^= case.rng.randrange(1, 256)
    path.write_bytes(content)


def cut(case: Case, path: Path) -> None:
    """Leave the first bytes only."""
    os.truncate(path, case.rng.randrange(path.stat().st_size))


@kind("SIGKILL at a random moment", 0.12)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    for _ in range(case.rng.randint(1, 3)):
        child = case.start(*case.run_arguments(algorithm, block))
        if not child.wait(case.rng.uniform(0, 1.1) * case.seconds):
            child.send(signal.SIGKILL)
        child.outcome()
    for path in journals_of(case, algorithm, block):
        if path.exists() and path.stat().st_size and case.rng.random() < 0.3:
            os.truncate(path, max(path.stat().st_size - case.rng.randint(1, 300), 0))
    # What a killed process had in its hands stays beside the output; nothing reads it.
    for path in output_of(case, algorithm, block).parent.glob(".replibo-*"):
        shutil.rmtree(path)
    case.must_be_rerun(algorithm, block)


@kind("SIGTERM or Ctrl-C at a random moment", 0.08)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    number = case.rng.choice([signal.SIGTERM, signal.SIGINT])
    child = case.start(*case.run_arguments(algorithm, block))
    # not before the command has set its handlers
    child.wait(case.rng.uniform(0.15, 1.1) * case.seconds)
    child.send(number)
    outcome = child.outcome()
    if outcome.status not in (0, 128 + number, -number):
        raise FaultError(f"status {outcome.status}: {outcome.said[-500:]}")
    if outcome.status == 128 + number:
        said = [f"replibo: stopped by {number.name}; the same command goes on from here"]
        if outcome.faults() != said:
            raise FaultError(f"not said: {outcome.said[-500:]}")
        left = list(output_of(case, algorithm, block).parent.glob(".*"))
        if left:
            raise FaultError(f"left behind: {left}")
    case.must_be_rerun(algorithm, block)


@kind("several processes at one output", 0.03)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    children = [
        case.start(*case.run_arguments(algorithm, block)) for _ in range(case.rng.randint(2, 3))
    ]
    for child in children:
        outcome = child.outcome()
        if outcome.status != 0:
            case.must_be_refused(outcome, "another process is running this seed")
    case.must_be_rerun(algorithm, block)


@kind("journal cut", 0.06)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    for path in with_journals(case, algorithm, block):
        cut(case, path)
    case.must_be_rerun(algorithm, block)


def rerun_or_refused(case: Case, algorithm: str, block: str, path: Path) -> None:
    """The run goes on to the undisturbed trace; or says that a journal must go, and then does."""
    outcome = case.run(algorithm, block)
    if outcome.status != 0:
        case.must_be_refused(outcome, str(path.relative_to(case.folder)))
        if "delete the file" not in outcome.said:
            raise FaultError(f"does not say what to do: {outcome.said}")
        path.unlink()
        case.must_be_done(case.run(algorithm, block))
    case.must_be_undisturbed(algorithm, block)


@kind("journal with a flipped byte", 0.06)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    path = case.rng.choice(with_journals(case, algorithm, block))
    flipped(case, path)
    rerun_or_refused(case, algorithm, block, path)


@kind("journal lines lost, doubled, swapped, foreign", 0.08)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    first, second = with_journals(case, algorithm, block)
    lines = first.read_bytes().splitlines(keepends=True)
    place = case.rng.randrange(len(lines) - 1)
    other = case.rng.randrange(len(lines))
    match case.rng.randrange(4):
        case 0:
            del lines[place : place + case.rng.randint(1, 3)]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = second.read_bytes().splitlines(keepends=True)[place]
    first.write_bytes(b"".join(lines))
    rerun_or_refused(case, algorithm, block, first)


@kind("journal of another seed or run", 0.06)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    others = [(a, b) for a in ALGORITHMS for b in BLOCKS if (a, b) != (algorithm, block)]
    own = with_journals(case, algorithm, block)
    match case.rng.randrange(3):
        case 0:
            shutil.copyfile(own[1], own[0])
        case 1:
            left, right = (path.read_bytes() for path in own)
            own[0].write_bytes(right), own[1].write_bytes(left)
        case _:
            for path, foreign in zip(
                own, with_journals(case, *case.rng.choice(others)), strict=True
            ):
                path.write_bytes(foreign.read_bytes())
    for folder in (case.folder / "results").rglob("journal_*"):
        if folder != own[0].parent:
            shutil.rmtree(folder)
    for path in own[0].parent.iterdir():
        if path not in own:
            path.unlink()
    case.must_be_rerun(algorithm, block)


def put(path: Path, what: str) -> None:
    """Make something at ``path`` that is no regular file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match what:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case "a link":
            path.symlink_to(path.with_name("elsewhere"))
        case "a link to a file":
            path.with_name("elsewhere").write_text("precious")
            path.symlink_to(path.with_name("elsewhere"))
        case "a socket":
            # a socket's name must be short
            before = os.getcwd()
            os.chdir(path.parent)
            socket.socket(socket.AF_UNIX).bind(path.name)
            os.chdir(before)
        case "a device":
            try:
                os.mknod(path, 0o20666, os.makedev(1, 3))
            except PermissionError:  # only root may
                os.mkfifo(path)


ODD = ("a folder", "a pipe", "a link", "a link to a file", "a socket", "a device")


@kind("journal is a pipe, a folder, a link, a device", 0.03)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    path = case.rng.choice(journals_of(case, algorithm, block))
    put(path, case.rng.choice(ODD))
    before = path.lstat()
    case.must_be_refused(case.run(algorithm, block), str(path.relative_to(case.folder)))
    after = path.lstat()
    if (before.st_mode, before.st_ino) != (after.st_mode, after.st_ino):
        raise FaultError(f"{path} was replaced")
    shutil.rmtree(path.parent)
    case.must_be_rerun(algorithm, block)


@kind("--output is a pipe, a folder, a link, a device", 0.06)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    command = case.rng.choice(["run", "collect", "table", "claims", "figure"])
    name = {"figure": "a.png", "table": "a.csv", "claims": "a.md"}.get(command, "a.parquet")
    path = case.folder / "out" / name
    what = case.rng.choice(ODD)
    put(path, what)
    before = path.lstat()
    arguments = {
        "run": case.run_arguments(algorithm, block),
        "collect": case.collect_arguments(algorithm),
        "table": ["table", PAPER, "table", "--scale", SCALE, "--output", ""],
        "figure": ["figure", PAPER, "figure", "--scale", SCALE, "--output", ""],
        "claims": ["claims", "--scale", SCALE, "--output", ""],
    }[command]
    case.must_be_refused(case.do(*arguments[:-1], str(path)), str(path))
    after = path.lstat()
    if (before.st_mode, before.st_ino) != (after.st_mode, after.st_ino):
        raise FaultError(f"{path} was replaced")
    elsewhere = path.with_name("elsewhere")
    if elsewhere.exists() and elsewhere.read_text() != "precious":
        raise FaultError("written through a link")


def must_be_found(case: Case, algorithm: str, block: str) -> None:
    """Collecting refuses the block in one line; once the file is deleted and made again, it does not."""
    name = paths.block(SCALE, PAPER, PROBLEM, algorithm, block)
    case.must_be_refused(case.do(*case.collect_arguments(algorithm)), name)
    path = case.folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    case.must_be_rerun(algorithm, block)
    case.must_be_done(case.do(*case.collect_arguments(algorithm)))


def blocks_of(case: Case, algorithm: str) -> None:
    case.take(*(paths.block(SCALE, PAPER, PROBLEM, algorithm, block) for block in BLOCKS))


@kind("a run's parquet: flipped byte", 0.08)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    flipped(case, output_of(case, algorithm, block))
    must_be_found(case, algorithm, block)


@kind("a run's parquet: cut or garbage", 0.03)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    path = output_of(case, algorithm, block)
    match case.rng.randrange(3):
        case 0:
            cut(case, path)
        case 1:
            path.write_bytes(case.rng.randbytes(case.rng.randrange(5000)))
        case _:
            path.unlink()
            path.mkdir()
    must_be_found(case, algorithm, block)


def altered(path: Path, how: str, seed: int) -> None:
    """Write the file anew, with a right checksum, but other content."""
    rng = np.random.default_rng(seed)
    content = traces.read(path)
    rows, columns = len(content), content.column_names
    found = traces.read_metadata(content)
    if how == "a value":
        name = rng.choice(["y", "f"])
        values = content[name].to_numpy().copy()
        values[rng.integers(rows)] += rng.choice([1.0, 1e-9, -1e-12])
        content = content.set_column(columns.index(name), name, pa.array(values))
    elif how == "rows lost":
        content = content.slice(0, int(rng.integers(rows)))
    elif how == "rows doubled":
        content = pa.concat_tables([content, content.slice(int(rng.integers(rows)), 1)])
    elif how == "rows swapped":
        order = np.arange(rows)
        one, two = rng.choice(rows, 2, replace=False)
        order[[one, two]] = two, one
        content = content.take(order)
    elif how == "a column lost":
        kept = ["seed", "t", "phase", "x", "y", "f", "ask_seconds"]
        content = content.drop_columns([str(rng.choice(kept))])
    elif how == "a column of text":
        content = content.set_column(columns.index("y"), "y", pa.array(["a"] * rows))
    elif how == "another seed":
        seeds = content["seed"].to_numpy() + 2
        content = content.set_column(columns.index("seed"), "seed", pa.array(seeds, pa.int32()))
    elif how == "metadata lost":
        del found[str(rng.choice(sorted(set(found) - {"changed_config"})))]
    elif how == "metadata damaged":
        found[str(rng.choice(sorted(found)))] = ["damaged"]
    elif how == "another horizon":
        found["identity"]["horizon"] = 99
    text = json.dumps(found)
    if how == "metadata cut":
        text = text[: int(rng.integers(len(text)))]
    traces.write(path, content.replace_schema_metadata({traces.METADATA_KEY: text}))


ALTERED = (
    "a value",
    "rows lost",
    "rows doubled",
    "rows swapped",
    "a column lost",
    "a column of text",
    "another seed",
    "metadata lost",
    "metadata damaged",
    "metadata cut",
    "another horizon",
)


@kind("a run's parquet: foreign content", 0.09)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    path = output_of(case, algorithm, block)
    match case.rng.randrange(4):
        case 0:  # another block or algorithm in its place
            other = case.rng.choice(
                sorted(set(case.expected) - {str(path.relative_to(case.folder))})
            )
            shutil.copyfile(case.material / other, path)
        case _:
            how, seed = case.rng.choice(ALTERED), case.rng.randrange(2**31)
            case.work(lambda: altered(path, how, seed))
    must_be_found(case, algorithm, block)


@kind("figure, table or verdicts from damaged files", 0.06)
def _(case: Case) -> None:
    case.take("results", "published")
    scale = case.rng.choice([SCALE, paths.PUBLISHED])
    if scale == SCALE:
        files = [case.folder / paths.collected(SCALE, PAPER, PROBLEM, name) for name in ALGORITHMS]
    else:
        files = sorted((case.folder / paths.PUBLISHED / PAPER).iterdir())
    path = case.rng.choice(files)
    match case.rng.randrange(3):
        case 0:
            flipped(case, path)
        case 1:
            cut(case, path)
        case _:
            path.write_bytes(case.rng.choice([p for p in files if p != path]).read_bytes())
    command = case.rng.choice(["table", "table", "figure"])
    output = "out/a.csv" if command == "table" else "out/a.png"
    arguments = [command, PAPER, command, "--scale", scale, "--output", output]
    outcome = case.do(*arguments)
    if outcome.status == 0:
        # a byte of published metadata that means nothing, e.g. a blank, changes nothing
        same = (
            case.work(
                lambda: (
                    json.loads(path.read_text())
                    == json.loads((case.material / path.relative_to(case.folder)).read_text())
                )
            )
            if path.suffix == ".json"
            else False
        )
        if not same:
            raise FaultError(f"{path.name} was taken")
        return
    case.must_be_refused(outcome, str(path.relative_to(case.folder)))
    if (case.folder / output).exists():
        raise FaultError("an output was made")
    shutil.rmtree(case.folder / "results"), shutil.rmtree(case.folder / "published")
    case.take("results", "published")
    case.must_be_done(case.do(*arguments))


def full_after(most: int) -> Callable[[], None]:
    """Prepare a process for a disk that is full after so many bytes of journals, or when a whole file
    is to be kept."""

    def prepare() -> None:
        left = most

        class Full(io.FileIO):
            def write(self, content: Any) -> int:
                nonlocal left
                taken = min(len(content), left)
                if not taken:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                left -= taken
                return super().write(content[:taken])

        def fsync(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        journal.open = lambda path, mode, buffering: Full(path, mode)  # type: ignore[attr-defined]
        os.fsync = fsync

    return prepare


@kind("full disk: run", 0.08)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    output = output_of(case, algorithm, block)
    before = case.rng.choice([None, b"what was there before"])
    if before:
        output.parent.mkdir(parents=True)
        output.write_bytes(before)
    most = case.rng.randrange(int(1.1 * 350 * QUERIES))
    limit = case.rng.choice([full_after(2 * most), lambda: bench.limit_files(most)])
    outcome = case.run(algorithm, block, prepare=limit)
    if outcome.status == 0:
        raise FaultError("the fault was not injected")
    case.must_be_refused(outcome, "cannot be written (No space", "cannot be written (File too")
    if (output.read_bytes() if output.exists() else None) != before:
        raise FaultError("what was there before is not whole")
    case.must_be_rerun(algorithm, block)


@kind("full disk: collect, figure, table, publish", 0.05)
def _(case: Case) -> None:
    case.take("results", "published")
    algorithm, _ = drawn(case)
    command = case.rng.choice(["collect", "table", "figure", "publish"])
    arguments = {
        "collect": case.collect_arguments(algorithm),
        "table": ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"],
        "figure": ["figure", PAPER, "figure", "--scale", SCALE, "--output", "out/a.pdf"],
        "publish": ["publish", PAPER, "--scale", SCALE, "--replace"],
    }[command]
    output = case.folder / ("published/go_ucb" if command == "publish" else arguments[-1])
    if command in ("table", "figure"):
        output.parent.mkdir()
        output.write_bytes(b"before")
    most = case.rng.randrange(200 if command == "table" else 2000)

    def content() -> Any:
        if output.is_dir():
            return {path.name: path.read_bytes() for path in output.iterdir()}
        return output.read_bytes()

    before = content()
    outcome = case.do(*arguments, prepare=lambda: bench.limit_files(most))
    case.must_be_refused(outcome, f"{output.relative_to(case.folder)}: cannot be written (File too")
    if content() != before or any(path.name.startswith(".") for path in output.parent.iterdir()):
        raise FaultError("what was there before is not whole, or something was left")
    outcome = case.do(*arguments)
    if outcome.status != 0:
        raise FaultError(f"status {outcome.status}, not 0: {outcome.said[-500:]}")


WORDS = (
    *(
        "",
        "~",
        "true",
        "no",
        "-1",
        "0",
        "1e400",
        ".nan",
        "010",
        "1:30",
        "9" * 400,
        "[]",
        "{}",
        "[1]",
    ),
    *(
        "nope",
        "../../etc/passwd",
        "os.system",
        "!!python/name:os.system",
        "&a [*a]",
        "'",
        '"',
        "{a: }",
    ),
    *(
        "[" * 400,
        "0-2147483647",
        "x" * 5000,
        "random_search",
        "2020-01-01",
        "\x00",
        "é\u2028",
        "a: b: c",
    ),
)


def mutated(rng: Any, value: Any) -> Any:
    """A copy with one leaf or key changed."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value, key=str))
        changed = dict(value)
        match rng.randrange(12):
            case 0:
                del changed[key]
            case 1:
                changed[rng.choice(["nope", "x" * 200, 1, None, "a b", "../x"])] = changed.pop(key)
            case _:
                changed[key] = mutated(rng, value[key])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.5:
        place = rng.randrange(len(value))
        return [*value[:place], mutated(rng, value[place]), *value[place + 1 :]]
    return rng.choice(
        [
            None,
            True,
            -1,
            0,
            1,
            1.5,
            10**12,
            10**400,
            float("nan"),
            float("inf"),
            "",
            "nope",
            [],
            {},
            [1, 2],
            {"a": 1},
            "x" * 300,
            "9-0",
            "0-2147483647",
            "../x",
            "os.system",
            "random_search",
            "\x00",
        ]
    )


@kind("config by hand, fuzzed", 0.1)
def _(case: Case) -> None:
    rng = case.rng
    path = case.folder / "config" / f"{PAPER}.yaml"
    arguments = rng.choice(
        [
            ["list"],
            ["estimate", PAPER, "--scale", SCALE],
            [*case.run_arguments(*drawn(case))],
            ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"],
        ]
    )
    match rng.randrange(5):
        case 0:
            content = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 5)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content)
        case 1:
            cut(case, path)
        case 2:
            lines = path.read_text().splitlines(keepends=True)
            place = rng.randrange(len(lines))
            indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
            lines.insert(
                place, f"{indent}{rng.choice(['nope', 'seeds', '- 1'])}: {rng.choice(WORDS)}\n"
            )
            path.write_text("".join(lines))
        case 3:
            overlay = case.folder / "overlay.yaml"
            key = rng.choice(["seeds", "horizon", "initial_points", "algorithms"])
            overlay.write_text(f"{PAPER}: {{defaults: {{{key}: {rng.choice(WORDS)}}}}}\n")
            arguments += ["--config", str(overlay)]
        case _:
            raw = yaml.safe_load(path.read_text())
            for _ in range(rng.randint(1, 3)):
                raw = mutated(rng, raw)
            path.write_text(yaml.safe_dump(raw))
    small = bench.limit_memory
    outcome = case.do(*arguments, prepare=small)
    if outcome.status != 0:
        case.must_be_refused(outcome, lines=None)


@kind("command line, fuzzed", 0.07)
def _(case: Case) -> None:
    rng = case.rng
    good = rng.choice(
        [
            case.run_arguments(*drawn(case)),
            case.collect_arguments(rng.choice(ALGORITHMS)),
            ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"],
            ["publish", PAPER, "--scale", SCALE],
            ["estimate", f"figures/{SCALE}/{PAPER}/figure.pdf"],
            ["list", "papers"],
            ["claims", PAPER, "--scale", SCALE],
        ]
    )
    words = [
        *WORDS,
        "--seeds",
        "--scale",
        "--config",
        "0-0",
        ".",
        "/",
        "config",
        "--",
        "-h",
        "-",
        "?",
    ]
    text = "".join(rng.choices(string.printable, k=rng.randint(0, 300)))
    bad = [word.replace("\0", "") for word in [*words, text]]
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(good))
        match rng.randrange(3):
            case 0:
                good = [*good[:place], rng.choice(bad), *good[place + 1 :]]
            case 1:
                good = good[:place] + good[place + 1 :]
            case _:
                good = [*good[:place], rng.choice(bad), *good[place:]]
        good = good or ["list"]
    outcome = case.do(*good, prepare=bench.limit_memory)
    if outcome.status not in (0, 2) or "Traceback" in outcome.said:
        raise FaultError(f"{good}: status {outcome.status}: {outcome.said[-500:]}")


@kind("initial points", 0.04)
def _(case: Case) -> None:
    rng = case.rng
    path = case.folder / "points.csv"
    bad = [
        b"",
        b"x\n",
        b"x\n1,2\n",
        b"x,y\n1\n",
        b"x,y,z\n1\n",
        b'x\n"1\n',
        b"x\nnan\n",
        b"x\n1e999\n",
        b"x\nhere\n",
        b"x\n" + b"1" * rng.randrange(140_000, 400_000) + b"\n",
        b"x\n" + b"7\n" * 3,
        b"x\n\xff\n",
        b"x\n\0\n",
        ",".join("x" * rng.randint(2, 2000)).encode() + b"\n1\n",
        rng.randbytes(300),
    ]
    path.write_bytes(rng.choice(bad))
    if rng.random() < 0.2:
        path.unlink()
        put(path, rng.choice(["a folder", "a pipe", "a socket", "a device"]))
    arguments = case.run_arguments(*drawn(case))
    outcome = case.do(*arguments, "--initial-points", "points.csv")
    case.must_be_refused(outcome, "points.csv", "initial points")
