"""The journal of a run: what makes a killed run go on where it was.

One file per seed, beside the output. The first line says which run it is (the digest of its code and
settings, and its seed), every further line holds one query. A line is a checksum, a number, and the
record as JSON; its checksum covers the checksum of the line before. So a line that is damaged, lost,
doubled, moved or of another journal is found. The lines before it are kept, and the queries after them
are made again, which gives the same trace.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import logging
import os
from pathlib import Path
from typing import Any

from replibo import files
from replibo.errors import RepliboError

# The longest line that is read: a file that is not a journal may have no line's end at all.
LONGEST_LINE = 2**26


def line(before: bytes, number: int, record: Any) -> bytes:
    """The line of a record; ``before`` is the line before it (empty: the first)."""
    content = json.dumps(record, separators=(",", ":"), default=_number)
    text = b"%d %s" % (number, content.encode())
    return b"%s %s\n" % (_checksum(before, text), text)


def _number(value: Any) -> float:
    """One of NumPy's numbers, as a diagnostic may be."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RepliboError(f"a diagnostic must be a number, got {value!r}") from None


def _checksum(before: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(before[:16] + text, digest_size=8).hexdigest().encode()


def _record(before: bytes, number: int, content: bytes) -> Any:
    """The record of a line, or None where the line is not whole or not the one that comes next."""
    text = content[17:-1]
    if content != b"%s %s\n" % (_checksum(before, text), text):
        return None
    place, _, record = text.partition(b" ")
    return json.loads(record) if place == b"%d" % number else None


class Journal:
    """An open journal; `records` are the queries it held when it was opened.

    Args:
        path: the file; made with its folder where it is not there.
        identity: what the trace depends on besides its seed.
        seed: the run's seed. A journal of another identity (other code, settings or library
            versions) or seed is begun anew, for its queries would not be this run's.

    Raises:
        RepliboError: the journal cannot be read or written, is no file, its first line is damaged, or
            it belongs to a run in progress.
    """

    def __init__(self, path: Path, identity: str, seed: int) -> None:
        self.path = path
        self.records: list[Any] = []
        self._last, self._lines = b"", 0
        files.check_target(path)
        try:
            self._file = _opened(path)
        except OSError as error:
            raise files.unwritable(path, error) from None
        try:
            self._open({"identity": identity, "seed": seed})
        except BaseException:
            self._file.close()
            raise

    def _open(self, head: dict[str, Any]) -> None:
        good = 0  # bytes up to the end of the last line that is certain
        damaged = False
        try:
            with self.path.open("rb") as file:
                while content := file.readline(LONGEST_LINE):
                    record = _record(self._last, self._lines, content)
                    damaged = record is None and content.endswith(b"\n")  # a kill leaves no end
                    if record is None or (not good and record != head):
                        break
                    if good:
                        self.records.append(record)
                    self._last, self._lines = content, self._lines + 1
                    good += len(content)
            if damaged and not good:
                raise RepliboError(
                    f"{self.path}, line 1: damaged journal; delete the file, and the run starts from its "
                    "beginning"
                )
            self._file.truncate(good)
        except OSError as error:
            raise RepliboError(f"{self.path}: {files.reason(error)}; delete the file") from None
        if damaged:
            logging.getLogger(__name__).warning(
                "%s, line %d: damaged; the %d queries before it are kept, the others made again",
                self.path,
                self._lines + 1,
                len(self.records),
            )
        if not good:
            self.append(head)

    def append(self, record: Any) -> None:
        """Write one query; once this returns, a kill of the process cannot lose it."""
        content = line(self._last, self._lines, record)
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise files.unwritable(self.path, error) from None
        self._last, self._lines = content, self._lines + 1

    def close(self) -> None:
        """Close the journal; its file stays until the caller has put the run's output in place."""
        self._file.close()


def _opened(path: Path) -> io.FileIO:
    """The file, locked, made with its folder where it is not there; closed by `Journal.close`."""
    attempts = 100
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer: what a full disk did not take must not be written later.
            file = io.FileIO(path, "a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise RepliboError(
                    f"{path}: another process is running this seed; wait for it"
                ) from None
            except OSError:
                pass  # a file system without locks: Snakemake keeps jobs apart there
            # A process that ended may have removed the file before it was locked.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
            file.close()
        # Another block that ends may remove the empty folder before the file is in it, and while
        # mkdir looks what is there.
        except (FileNotFoundError, FileExistsError):
            attempts -= 1
            if not attempts:
                raise


def remove_folder_if_empty(folder: Path) -> None:
    """Remove the journals' folder once the last journal has gone."""
    with contextlib.suppress(OSError):  # another block of seeds still runs, or it was never made
        os.rmdir(folder)
