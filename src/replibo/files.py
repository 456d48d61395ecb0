"""Files: written whole or not at all, and only over what is a file; read only where they are files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from replibo.errors import RepliboError


def kind_of(mode: int) -> str:
    """What a file of this mode is, in words."""
    kinds = {"-": "a file", "d": "a folder", "l": "a link", "p": "a pipe", "s": "a socket"}
    return kinds.get(stat.filemode(mode)[0], "a device")


def unwritable(path: Path, error: Exception) -> RepliboError:
    """The one line that says why ``path`` cannot be written."""
    return RepliboError(f"{path}: cannot be written ({reason(error)})")


def reason(error: Exception) -> str:
    """What the operating system says, without its number and the path."""
    return getattr(error, "strerror", None) or str(error).partition("\n")[0]


def check_target(path: Path, *, folder: bool = False) -> None:
    """Raise a `RepliboError` unless a regular file (or a folder), or nothing, is at ``path``: a device, a
    pipe or a link would itself be replaced, or be written through."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a name too long, a part of it that is a file, a NUL
        raise unwritable(path, error) from None
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return
    raise RepliboError(
        f"{path}: cannot be written; must be {'a folder' if folder else 'a regular file'} or not "
        f"exist, got {kind_of(mode)}"
    )


def check_writable(path: Path, *, folder: bool = False) -> None:
    """`check_target`; then make the folder that holds ``path`` and check that it can be written."""
    check_target(path, folder=folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise unwritable(path, error) from None


@contextlib.contextmanager
def written_whole(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A name in a private folder beside ``path``. The file (or folder) that is made there takes the
    place of ``path`` at the end; on an error it is removed, and ``path`` is as it was."""
    check_writable(path, folder=folder)
    # Named before it is made: a signal between the two leaves nothing.
    private = path.parent / f".replibo-{secrets.token_hex(8)}"
    try:
        try:
            private.mkdir(0o700)
            draft = private / path.name
            yield draft
            if folder:
                _replace_folder(path, draft, private / "replaced")
            else:
                with draft.open("rb") as file:
                    os.fsync(file.fileno())  # some file systems say only now that they are full
                draft.replace(path)
        except OSError as error:
            raise unwritable(path, error) from None
        finally:
            shutil.rmtree(private, ignore_errors=True)
    finally:
        shutil.rmtree(private, ignore_errors=True)  # a signal while it was removed


def _replace_folder(path: Path, draft: Path, aside: Path) -> None:
    """Move ``draft`` to ``path``, what is there ``aside``, and back if the move fails or a signal comes
    before it."""
    try:
        if path.exists():
            path.rename(aside)
        draft.replace(path)
    except BaseException:
        if aside.exists() and not path.exists():
            aside.rename(path)
        raise


def not_readable(path: Path, limit: int | None = None) -> str:
    """Why not to open ``path``: it is no file (a pipe would be waited for, a device never ends), or
    has more than ``limit`` bytes. Empty if it may be opened.

    Raises:
        OSError, ValueError: the operating system finds no such path.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        return f"must be a file, got {kind_of(status.st_mode)}"
    if limit is not None and status.st_size > limit:
        return f"must have at most {limit:,} bytes, got {status.st_size:,}"
    return ""


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """The content of a regular file, or of what a link leads to; ``limit`` is the most bytes that it may
    have."""
    try:
        if fault := not_readable(path, limit):
            raise RepliboError(f"{path}: cannot be read; {fault}")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise RepliboError(f"{path}: cannot be read ({reason(error)})") from None
