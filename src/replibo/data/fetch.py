"""Fetching the files of the manifest: from a mirror or from where they are published, verified.

A file appears under its own name only when it is whole and its digest is right: it is written
beside its destination under a name of its own and then renamed, so that processes which fetch the
same file at the same time do not disturb each other.

Of a file whose digest nobody has published, the structure is checked instead; its digest is recorded
beside it (`record_of`) when the file is first found right, and it is held to that from then on.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from replibo.data.manifest import CsvTable, DataFile, data_file
from replibo.errors import RepliboError

MIRROR_VARIABLE = "REPLIBO_DATA_MIRROR"

# Pause before the second attempt at one source; doubled before each further one.
BACKOFF_SECONDS = 0.5

_CHUNK = 1 << 16


class _SourceError(Exception):
    """One source did not give the file; the message says why, briefly."""


class _TransientError(_SourceError):
    """The same source may well give it in a moment."""


def fetch(
    name: str,
    *,
    data_dir: Path,
    output: Path | None = None,
    mirror: str | Path | None = None,
    progress: bool = True,
    attempts: int = 3,
    timeout: float = 30.0,
) -> Path:
    """The path of the file called ``name``, fetched unless it is already there.

    Args:
        name: its name in the manifest.
        data_dir: the data folder.
        output: where to put the file, instead of its place in the data folder.
        mirror: a folder or an http(s) URL, asked before the published URLs. None: what the
            environment variable REPLIBO_DATA_MIRROR says. Empty: no mirror.
        progress: show a progress bar, where standard error is a terminal.
        attempts: how often one source is asked, at most, where asking again may help.
        timeout: seconds to wait for a connection, and for each further piece of the body.

    Raises:
        RepliboError: one line. The name, the mirror or a number is not allowed; the file is there
            with a wrong digest (it is left as it is); it cannot be written; or no source gave it:
            then the line says why for each of them, and how to put the file there by hand.
    """
    file = data_file(name)
    if attempts < 1:
        raise RepliboError(f"attempts: {attempts} is not allowed; a number >= 1 is")
    if not timeout > 0:
        raise RepliboError(f"timeout: {timeout} is not allowed; seconds > 0 are")
    sources = _sources(file, mirror)
    target = data_dir / file.path if output is None else output
    try:
        if target.exists():
            _refuse_wrong(target, file)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        failures = []
        with _part_of(target) as part:
            for source in sources:
                try:
                    _get(source, part, file, progress, attempts, timeout)
                    # also what was recorded of a file that lay here before
                    if fault := _fault(part, file, record_of(target)):
                        raise _SourceError(fault)
                except _SourceError as failure:
                    failures.append(f"{source} ({failure})")
                else:
                    os.replace(part, target)
                    _record(target, file)
                    return target
    except OSError as error:
        # What can go wrong with a source is caught above; this is our own side, e.g. a full disk.
        raise RepliboError(f"{name}: cannot write {target}: {error.strerror or error}") from error
    raise RepliboError(
        f"{name}: no source gave the file: {'; '.join(failures)}; "
        f"to put it there by hand: {target} with {file.digest}"
    )


def fetch_all(
    names: Iterable[str],
    *,
    data_dir: Path,
    mirror: str | Path | None = None,
    progress: bool = True,
    attempts: int = 3,
    timeout: float = 30.0,
) -> list[Path]:
    """The paths of the files called ``names``, in their order; each fetched as `fetch` does.

    All are tried, and those that could be had stay, also where others are missing.

    Raises:
        RepliboError: one line for each file that is missing or wrong. A name that is not known is
            told before anything is fetched.
    """
    names = list(names)
    for name in names:
        data_file(name)
    paths, faults = [], []
    for name in names:
        try:
            path = fetch(
                name,
                data_dir=data_dir,
                mirror=mirror,
                progress=progress,
                attempts=attempts,
                timeout=timeout,
            )
            paths.append(path)
        except RepliboError as error:
            faults.append(str(error))
    if faults:
        raise RepliboError("\n".join(faults))
    return paths


def fault_of(path: Path, file: DataFile) -> str | None:
    """Why the file at ``path`` is not ``file``, briefly; None where its digest is right.

    Where the digest is unknown and none is recorded yet, that of a file with the right structure is
    recorded (if the folder can be written).

    Raises:
        OSError: it cannot be read.
    """
    fault = _fault(path, file, record_of(path))
    if fault is None:
        _record(path, file)
    return fault


def record_of(path: Path) -> Path:
    """Where the digest of the file at ``path`` is recorded, if the manifest does not know it."""
    return path.with_name(f"{path.name}.sha256")


def _fault(path: Path, file: DataFile, record: Path) -> str | None:
    if file.table is None:
        return _wrong_digest(path, file)
    try:
        recorded = record.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip()
    except FileNotFoundError:
        return _wrong_table(path, file.table)
    if (sha256 := _sha256(path)) != recorded:
        return (
            f"wrong digest: sha256 {sha256}, not {recorded or 'the missing one'}, which was recorded "
            f"in {record} when the file was first used (to take another file, delete that too)"
        )
    return None


def _record(path: Path, file: DataFile) -> None:
    """Record the digest of a file that was found right, unless the manifest or a record has it."""
    record = record_of(path)
    if file.table is None or record.exists():
        return
    # A data folder that others maintain may be read-only: then the structure is checked each time.
    with suppress(OSError), _part_of(record) as part:
        part.write_text(f"{_sha256(path)}  {path.name}\n", encoding="ascii")  # as sha256sum does
        os.replace(part, record)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _wrong_digest(path: Path, file: DataFile) -> str | None:
    assert file.size is not None
    sha256, size = hashlib.sha256(), 0
    try:
        with _opened(path, file) as stream:
            # Stopping beyond the right size keeps a small gz from unpacking into terabytes.
            while size <= file.size and (chunk := stream.read(_CHUNK)):
                sha256.update(chunk)
                size += len(chunk)
    except EOFError:
        return "truncated gzip"
    except (gzip.BadGzipFile, zlib.error):
        return "corrupt gzip, or none at all"
    if size > file.size:
        return f"wrong digest: more than the right {file.size} bytes"
    if sha256.hexdigest() != file.sha256:
        return f"wrong digest: {size} bytes with sha256 {sha256.hexdigest()}"
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
                    return f"more than the right {table.rows:,} rows"
                if len(cells) != len(header):
                    return f"line {lines.line_num} has {len(cells)} cells, not {len(header)}"
                for name, position in positions.items():
                    if not cells[position].strip():
                        return f"line {lines.line_num}: column {name!r} is empty"
                    seen[name].add(cells[position])
    except UnicodeDecodeError:
        return "not UTF-8"
    except csv.Error as error:
        return f"no whole CSV file: {error}"
    if rows != table.rows:
        return f"{rows:,} rows, not {table.rows:,}"
    for name, values in seen.items():
        if len(values) < 2:
            return f"column {name!r} holds {len(values)} different values, not 2 or more"
    return None


def _opened(path: Path, file: DataFile) -> BufferedIOBase:
    return gzip.open(path, "rb") if file.digest_of == "decompressed" else path.open("rb")


def _refuse_wrong(path: Path, file: DataFile) -> None:
    """Somebody put this file there: say what is wrong, and leave it to them to remove it."""
    try:
        fault = fault_of(path, file)
    except OSError as error:
        fault = f"cannot be read: {error.strerror or error}"
    if fault:
        raise RepliboError(
            f"{file.name}: {path} is there already, but: {fault}; right is {file.digest}; "
            "move it away or delete it, and fetch again"
        )


def _sources(file: DataFile, mirror: str | Path | None) -> list[str | Path]:
    """Where to ask for ``file``, in order: a path is in a mirror's folder, a string is a URL."""
    if mirror is None:
        mirror = os.environ.get(MIRROR_VARIABLE, "")
    if mirror == "":
        return [*file.urls]
    root = str(mirror)
    if root.startswith(("http://", "https://")):
        return [f"{root.rstrip('/')}/{quote(file.path_in_mirror)}", *file.urls]
    if "://" in root:
        raise RepliboError(f"mirror: {root} is not allowed; a folder or an http(s) URL is")
    return [Path(root).expanduser() / file.path_in_mirror, *file.urls]


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """A path beside ``target`` that nobody else uses; whatever lies there is gone at the end."""
    # Not tempfile's: the files it makes are for the owner's eyes only, and stay so when renamed.
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _get(
    source: str | Path, part: Path, file: DataFile, progress: bool, attempts: int, timeout: float
) -> None:
    """Write what ``source`` has to ``part``, or raise `_SourceError`."""
    if isinstance(source, Path):
        _copy(source, part)
    else:
        for attempt in range(1, attempts + 1):
            try:
                _download(source, part, file, progress, timeout)
                return
            except _TransientError as failure:
                if attempt == attempts:
                    raise _SourceError(f"{failure}; attempts: {attempts}") from failure
                time.sleep(BACKOFF_SECONDS * 2 ** (attempt - 1))


def _copy(source: Path, part: Path) -> None:
    try:
        stream = source.open("rb")
    except OSError as error:
        raise _SourceError(error.strerror or str(error)) from error
    with stream, part.open("wb") as copy:
        shutil.copyfileobj(stream, copy)


def _download(url: str, part: Path, file: DataFile, progress: bool, timeout: float) -> None:
    # Imported late: a file that is already there needs none of them.
    import requests
    from pooch import HTTPDownloader
    from tqdm import tqdm

    # disable=None: no bar where standard error is not a terminal, as in a job's log.
    with tqdm(
        # pooch replaces it by the length that the server tells, and wants a number until then
        total=file.size or 1,
        desc=file.name,
        unit="B",
        unit_scale=True,
        disable=None if progress else True,
    ) as bar:
        download = HTTPDownloader(
            progressbar=bar,
            chunk_size=_CHUNK,
            timeout=timeout,
            # The bytes as they lie there: a server that packs or unpacks them on the way would
            # turn a gz into what it holds.
            headers={"Accept-Encoding": "identity"},
        )
        try:
            download(url, str(part), None)
        except requests.HTTPError as error:
            status = error.response.status_code
            failure = _TransientError if status >= 500 else _SourceError
            raise failure(f"HTTP {status}") from error
        except requests.Timeout as error:
            raise _TransientError(f"no answer within {timeout:g} s") from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise _TransientError("truncated body") from error
        except requests.ConnectionError as error:
            raise _TransientError(f"no connection: {_cause(error)}") from error
        except requests.RequestException as error:
            raise _SourceError(type(error).__name__) from error


def _cause(error: BaseException) -> str:
    """The innermost cause by its class, e.g. NameResolutionError: its message would fill lines."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _cause(inner) if isinstance(inner, BaseException) else type(error).__name__
