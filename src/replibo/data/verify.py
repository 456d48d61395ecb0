"""Whether a file is the one that the manifest means: by its digest or, where nobody has published one,
by its structure.

In the second case the digest is recorded beside the file (`record_of`) when the file is first found
right, and the file is held to it from then on.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from replibo import files
from replibo.data.manifest import CsvTable, DataFile

_CHUNK = 1 << 16
_RECORD_BYTES = 10_000


def fault_of(path: Path, file: DataFile) -> str | None:
    """What is wrong with the file at ``path``, briefly; None where it is ``file``.

    Where the digest is unknown and none is recorded yet, that of a file with the right structure is
    recorded (if the folder can be written).

    Raises:
        FileNotFoundError: there is no such file.
    """
    fault = fault_with_record(path, file, record_of(path))
    if fault is None:
        record(path, file)
    return fault


def fault_with_record(path: Path, file: DataFile, recorded: Path) -> str | None:
    """As `fault_of`, for a file whose digest is recorded at ``recorded`` or not yet; records nothing.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if fault := irregular(path, file.max_bytes):
        return fault
    try:
        if file.table is None:
            return _wrong_digest(path, file)
        if not recorded.exists():
            return _wrong_table(path, file.table)
        if fault := irregular(recorded, _RECORD_BYTES):
            return f"its recorded digest cannot be read: {recorded} {fault}"
        known = recorded.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip()
        if (sha256 := _sha256(path)) != known:
            return (
                f"wrong digest: sha256 must be {known or 'missing'}, as recorded in {recorded} on first "
                f"use, got {sha256} (to use another file, delete the record too)"
            )
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None


def irregular(path: Path, max_bytes: int | None = None) -> str | None:
    """Why ``path`` is not to be opened (opening a pipe may take forever); None where it may be.

    Raises:
        FileNotFoundError: there is no such file.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if not stat.S_ISREG(found.st_mode):
        kind = files.kind_of(found.st_mode) or "something else"
        return f"must be a regular file, got {kind}"
    if max_bytes is not None and found.st_size > max_bytes:
        return f"must have at most {max_bytes:,} bytes, got {found.st_size:,}"
    return None


def record_of(path: Path) -> Path:
    """Where the digest of the file at ``path`` is recorded, if the manifest does not know it."""
    return path.with_name(f"{path.name}.sha256")


def record(path: Path, file: DataFile) -> None:
    """Record the digest of a file that was found right, unless the manifest or a record has it."""
    target = record_of(path)
    if file.table is None or target.exists():
        return
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    # A data folder that others maintain may be read-only: then the structure is checked each time.
    with suppress(OSError):
        try:
            part.write_text(f"{_sha256(path)}  {path.name}\n", encoding="ascii")  # as sha256sum
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _wrong_digest(path: Path, file: DataFile) -> str | None:
    assert file.size is not None
    sha256, size = hashlib.sha256(), 0
    opened = gzip.open if file.digest_of == "decompressed" else open
    try:
        with opened(path, "rb") as stream:
            # Stopping beyond the right size keeps a small gz from unpacking into terabytes.
            while size <= file.size and (chunk := stream.read(_CHUNK)):
                sha256.update(chunk)
                size += len(chunk)
    except EOFError:
        return "truncated gzip"
    except (gzip.BadGzipFile, zlib.error):
        return "corrupt gzip, or not gzip"
    if size > file.size:
        return f"wrong digest: must have {file.size:,} bytes, got more"
    if sha256.hexdigest() != file.sha256:
        return f"wrong digest: got {size:,} bytes with sha256 {sha256.hexdigest()}"
    return None


def _wrong_table(path: Path, table: CsvTable) -> str | None:
    """Why the file at ``path`` is not a CSV file of this structure; None where it is."""
    seen: dict[str, set[str]] = {name: set() for name in table.classes}
    positions = {name: table.columns.index(name) for name in table.classes}
    rows = 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = csv.reader(stream, strict=True)
            header = next(lines, [])
            if header != list(table.columns):
                shown = ", ".join(repr(name) for name in header[: len(table.columns)])
                missing = ", ".join(name for name in table.columns if name not in header)
                return f"wrong columns: {shown[:200] or 'none'}; missing: {missing or 'none'}"
            for cells in lines:
                rows += 1
                if rows > table.rows:
                    return f"must have {table.rows:,} rows, got more"
                if len(cells) != len(header):
                    return f"line {lines.line_num} must have {len(header)} cells, got {len(cells)}"
                for name, position in positions.items():
                    if not cells[position].strip():
                        return f"line {lines.line_num}: column {name!r} is empty"
                    seen[name].add(cells[position])
    except UnicodeDecodeError:
        return "not UTF-8"
    except csv.Error as error:
        return f"not a whole CSV file: {error}"
    if rows != table.rows:
        return f"must have {table.rows:,} rows, got {rows:,}"
    for name, values in seen.items():
        if len(values) < 2:
            return f"column {name!r} must hold 2 or more different values, got {len(values)}"
    return None
