"""Whether a file is the one that the manifest means: by its digest or, where nobody has published one,
by its structure.

In the second case the digest is recorded beside the file when the file is first found right, and the
file is held to it from then on.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import zlib
from pathlib import Path

from replibo import files
from replibo.data.manifest import CsvTable, DataFile
from replibo.errors import RepliboError


def record_of(path: Path) -> Path:
    """Where the digest of the file at ``path`` is recorded, if the manifest does not know it."""
    return path.with_name(f"{path.name}.sha256")


def record(path: Path, file: DataFile) -> None:
    """Record the digest of a file that was found right, unless the manifest or a record has it."""
    target = record_of(path)
    if file.table is None or target.exists():
        return
    # A data folder that others maintain may be read-only: then the structure is checked each time.
    with contextlib.suppress(RepliboError), files.written_whole(target) as part:
        part.write_text(f"{_sha256(path)}  {path.name}\n", encoding="ascii")  # as sha256sum


def fault_of(path: Path, file: DataFile, recorded: Path) -> str:
    """What is wrong with the file at ``path``, briefly; empty if it is ``file``. If the manifest does not
    know its digest, this may be ``recorded``."""
    try:
        if fault := files.not_readable(path, file.max_bytes):
            return fault
        if file.table is None:
            return _wrong_digest(path, file)
        if not recorded.exists():
            return _wrong_table(path, file.table)
        line = files.read_bytes(recorded, 10_000).decode(errors="replace")
        expected = line.partition(" ")[0].strip()
        if (sha256 := _sha256(path)) != expected:
            return (
                f"wrong digest: sha256 must be {expected or 'missing'}, as recorded in {recorded} "
                f"on first use, got {sha256} (to use another file, delete the record too)"
            )
    except OSError as error:
        return f"cannot be read: {files.reason(error)}"
    except RepliboError as error:
        return f"its recorded digest is of no use: {error}"
    return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _wrong_digest(path: Path, file: DataFile) -> str:
    assert file.size is not None
    try:
        with (gzip.open if file.is_gz else open)(path, "rb") as stream:
            # One byte more than there should be: a small gz may unpack into terabytes.
            content = stream.read(file.size + 1)
    except EOFError:
        return "truncated gzip"
    except (gzip.BadGzipFile, zlib.error):
        return "corrupt gzip, or not gzip"
    if len(content) > file.size:
        return f"wrong digest: must have {file.size:,} bytes, got more"
    if (sha256 := hashlib.sha256(content).hexdigest()) != file.sha256:
        return f"wrong digest: got {len(content):,} bytes with sha256 {sha256}"
    return ""


def _wrong_table(path: Path, table: CsvTable) -> str:
    """Why the file at ``path`` is not a CSV file of this structure; empty if it is. Its reader checks the
    cells (`replibo.data.amazon`)."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            header, *rows = [*csv.reader(stream, strict=True)] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        return f"not a whole CSV file in UTF-8: {error}"
    if header != list(table.columns):
        shown = ", ".join(repr(name) for name in header[: len(table.columns)])
        missing = ", ".join(name for name in table.columns if name not in header)
        return f"wrong columns: {shown[:200] or 'none'}; missing: {missing or 'none'}"
    if len(rows) != table.rows:
        return f"must have {table.rows:,} rows, got {len(rows):,}"
    return ""
