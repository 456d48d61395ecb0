"""What the kinds of faults share: their register, and the means to damage files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from bench import ALGORITHMS, BLOCKS, PAPER, PROBLEM, SCALE, Case

from replibo import paths
from replibo.run import loop, traces

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
