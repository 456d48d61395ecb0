"""Outputs that cannot be written: no files, a full disk."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from typing import Any

import bench
from bench import PAPER, QUERIES, SCALE, Case, FaultError

from kinds.base import ODD, drawn, kind, output_of, put
from replibo.run import journal


@kind("outputs: a pipe, a folder, a link, a device", 5)
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


@kind("full disk: run", 6)
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


@kind("full disk: collect, figure, table, publish", 4)
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
