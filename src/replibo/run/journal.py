"""The journal of a run: what makes a killed run go on where it was.

One file per seed, beside the output. The first line says which run it is (the digest of its code and
settings), every further line holds one query; each line begins with a checksum of the rest. A line
that a kill cut off is dropped; a line that is damaged anywhere else is an error, for it was not the
kill that did it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from replibo.errors import RepliboError


def _line(record: Any) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _record(line: bytes) -> Any:
    """The record of a line, or None where the line is not whole."""
    if len(line) < 11 or not line.endswith(b"\n"):
        return None
    try:
        if int(line[:8], 16) != zlib.crc32(line[9:-1]):
            return None
        return json.loads(line[9:-1])
    except ValueError:
        return None


class Journal:
    """An open journal; `records` are the queries it held when it was opened.

    Args:
        path: the file; made with its folder where it is not there.
        identity: what the trace depends on. A journal of another identity (other code, settings or
            library versions) is begun anew, for its queries would not be this run's.

    Raises:
        RepliboError: the journal cannot be written, is damaged, or belongs to a run in progress.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.records: list[Any] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115  closed by close()
        except OSError as error:
            raise RepliboError(f"{path}: cannot be written ({error.strerror})") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise RepliboError(
                f"{path}: another process is running this seed; wait for it"
            ) from None
        except OSError:
            pass  # a file system without locks: Snakemake keeps jobs apart there
        try:
            self._open(identity)
        except BaseException:
            self._file.close()
            raise

    def _open(self, identity: str) -> None:
        self._file.seek(0)
        lines = self._file.readlines()
        good = 0  # bytes up to the end of the last whole line
        found = None
        for number, line in enumerate(lines):
            record = _record(line)
            if record is None:
                if number < len(lines) - 1:
                    raise RepliboError(
                        f"{self.path}, line {number + 1}: damaged journal; delete the file, and the "
                        "run starts from its beginning"
                    )
                break
            if number == 0:
                found = record
            else:
                self.records.append(record)
            good += len(line)
        if found != {"identity": identity}:
            self.records, good = [], 0
        self._file.truncate(good)
        if good == 0:
            self._file.write(_line({"identity": identity}))
            self._file.flush()

    def append(self, record: Any) -> None:
        """Write one query; once this returns, a kill of the process cannot lose it."""
        self._file.write(_line(record))
        self._file.flush()

    def close(self) -> None:
        """Close the journal; its file stays until the caller has put the run's output in place."""
        self._file.close()


def remove_folder_if_empty(folder: Path) -> None:
    """Remove the journals' folder once the last journal has gone."""
    with contextlib.suppress(OSError):  # another block of seeds still runs, or it was never made
        os.rmdir(folder)
