"""Lines on the standard streams, which can be closed, full, or without a reader."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

WIDTH = min(100, shutil.get_terminal_size((100, 24)).columns)
"""Characters of a line: of the terminal, 100 at most."""


def counted(number: int, noun: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{number} {noun}{'s' * (number != 1)}"


def open_streams() -> None:
    """Open ``/dev/null`` as each standard stream that is closed. The next file that a command opens would
    take its number otherwise, and messages to standard error would land in a journal."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest free number


def tell(line: str) -> None:
    """Write a line to standard error, if that is possible: the exit status says the same."""
    if sys.stderr:  # `print` would take standard output in its place
        with suppress(OSError):
            print(line, file=sys.stderr)
        flush_errors()


def flush_errors() -> None:
    """Write what is left for standard error, or drop it: the interpreter would end with status 120."""
    try:
        if sys.stderr:
            sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def show(text: str) -> None:
    """Print, now: an error at the interpreter's end could not be told. A reader that has gone (head,
    less) is no error."""
    if sys.stdout is None:
        return
    try:
        print(text, flush=True)
    except OSError as error:
        _drop(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            from replibo import files  # late: the client of a job's server does not need it

            raise files.unwritable(Path("standard output"), error) from None


def _drop(stream: TextIO) -> None:
    """Let what is left for a stream, and what comes, go to ``/dev/null``."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
