"""How a command ends on SIGTERM (which SLURM sends before it kills) and on Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

STOPPED = "stopped by {}; the same command goes on from here"


class Stopped(BaseException):
    """SIGTERM or Ctrl-C; its argument is the signal."""


@contextlib.contextmanager
def on_signals(handler: Any) -> Iterator[None]:
    """``handler`` for SIGTERM and Ctrl-C within the block (where signals can be handled at all: in the
    main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
    unraisable, sys.unraisablehook = sys.unraisablehook, _raised_again
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause and not isinstance(cause, Stopped):
            cause = cause.__cause__  # Python 3.11 wraps what is raised while a class is made
        if cause:
            raise cause from None
        raise
    finally:
        sys.unraisablehook = unraisable
        for number, old in before.items():
            signal.signal(number, old)


def _raised_again(ignored: sys.UnraisableHookArgs) -> None:
    """Raise a `Stopped` again that a destructor or a callback of the garbage collector has swallowed: a
    moment later, for here it would be swallowed, too."""
    if isinstance(ignored.exc_value, Stopped):
        number = ignored.exc_value.args[0]
        signal.signal(signal.SIGALRM, lambda _, frame: unwind(number, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
    else:
        sys.__unraisablehook__(ignored)


def unwind(number: int, frame: FrameType | None) -> NoReturn:
    """End the command as an exception does, so that temporary files are removed on the way."""
    raise Stopped(number)


def exit_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """End the process while queries are made.

    Not by an exception: a library may swallow one (in a callback, a destructor, a bare ``except``) and
    go on with half a computation, whose outcome would then stand in the journal. Nothing needs to be
    unwound here: a journal's record is written whole before the next query begins (one cut off in the
    middle is dropped when it is read), and its lock ends with the process.
    """
    name = signal.Signals(number).name
    with contextlib.suppress(OSError):
        os.write(2, f"replibo: {STOPPED.format(name)}\n".encode())
    os._exit(128 + number)
