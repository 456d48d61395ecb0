"""Fetching the files of the manifest: from a mirror, then from where they are published; verified.

pooch downloads and shows the progress; `replibo.files.written_whole` keeps an incomplete or wrong file
out of the way, so that nothing is left behind and processes that fetch the same file do not disturb each
other. Here are the sources, the bounds of size and time, and one line for whatever goes wrong.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

from replibo import files
from replibo.data.manifest import data_file
from replibo.data.verify import fault_of, record, record_of
from replibo.errors import RepliboError

MIRROR_VARIABLE = "REPLIBO_DATA_MIRROR"

ATTEMPTS = 3
"""How often one URL is asked, at most, where asking again may help."""

TIMEOUT = 30.0
"""Seconds to wait for a connection, and for each further piece of the body."""

TIME_LIMIT = 600.0
"""Seconds for one URL, all attempts together."""

# User name and password: after the scheme, or in a mirror that lacks it, up to the last @.
_SECRET = re.compile(r"^(?:(\w+:/+)|(?=[^@]*:)).*@", re.DOTALL)


class _SourceError(Exception):
    """One source did not give the file; the message says why, briefly."""


class _TransientError(_SourceError):
    """The same source may well give it in a moment."""


def fetch(name: str, *, data_dir: Path, mirror: str | Path | None = None) -> Path:
    """The path of the manifest's file called ``name``, fetched unless it is already there.

    Args:
        mirror: a folder or an http(s) URL, asked before the published URLs. None: what the
            environment variable REPLIBO_DATA_MIRROR says. Empty: no mirror.

    Raises:
        RepliboError: one line. The name or the mirror is wrong; the file is there but is not the
            right one (it is left as it is); it cannot be written; or no source gave it: then the
            line says why for each of them, and how to put the file there by hand.
    """
    file = data_file(name)
    target = data_dir / file.path
    recorded = record_of(target)
    if os.path.lexists(target):
        if fault := fault_of(target, file, recorded):
            raise RepliboError(
                f"{name}: {target} is there, but: {fault}; it must have {file.digest}; move it away or "
                f"delete it, and 'replibo fetch {name}' gets it anew"
            )
    else:
        fetch_verified(
            name,
            target,
            sources_of(file.path_in_mirror, file.urls, mirror),
            max_bytes=file.max_bytes,
            fault=lambda path: fault_of(path, file, recorded),
            by_hand=f"to put it there by hand: {target} with {file.digest}",
        )
    record(target, file)
    return target


def fetch_all(
    names: Iterable[str], *, data_dir: Path, mirror: str | Path | None = None
) -> list[Path]:
    """The paths of the files called ``names``, in their order; each fetched as `fetch` does.

    All are tried, and those that arrive stay, even if others fail.

    Raises:
        RepliboError: one line for each file that is missing or wrong. An unknown name is reported
            before anything is fetched, and a ``data_dir`` that is no folder.
    """
    if data_dir.exists() and not data_dir.is_dir():
        raise RepliboError(f"data_dir: must be a folder, got {data_dir}")
    names = list(names)
    for name in names:
        data_file(name)
    paths, faults = [], []
    for name in names:
        try:
            paths.append(fetch(name, data_dir=data_dir, mirror=mirror))
        except RepliboError as error:
            faults.append(str(error))
    if faults:
        raise RepliboError("\n".join(faults))
    return paths


def sources_of(
    path_in_mirror: str, urls: Sequence[str], mirror: str | Path | None = None
) -> list[str | Path]:
    """Where to ask for a file, in order: a path is in a mirror's folder, a string is a URL."""
    root = os.environ.get(MIRROR_VARIABLE, "") if mirror is None else str(mirror)
    if not root:
        return [*urls]
    if root.startswith(("http://", "https://")):
        return [f"{root.rstrip('/')}/{quote(path_in_mirror)}", *urls]
    try:
        if "://" in root:
            raise RuntimeError("another scheme")
        return [Path(root).expanduser() / path_in_mirror, *urls]
    except RuntimeError as error:  # expanduser: no such user
        raise RepliboError(
            f"mirror: must be a folder or an http(s) URL, got {_shown(root)} ({error})"
        ) from None


def _shown(source: str | Path) -> str:
    """A source as messages may show it: without a password, in one line."""
    shown = _SECRET.sub(r"\1***@", str(source))
    return shown if shown.isprintable() else repr(shown)


def fetch_verified(
    name: str,
    target: Path,
    sources: list[str | Path],
    *,
    max_bytes: int,
    fault: Callable[[Path], str],
    by_hand: str,
) -> None:
    """Write ``target`` from the first of ``sources`` that gives the right file.

    Args:
        name: of the file, for messages.
        max_bytes: a longer file is refused.
        fault: what is wrong with a file, briefly; empty if it is the right one.
        by_hand: the end of the message if no source gives it.
    """
    failures = []
    for source in sources:
        try:
            with files.written_whole(target) as part:
                _get(source, part, max_bytes)
                if problem := fault(part):
                    raise _SourceError(problem)
        except _SourceError as failure:
            failures.append(f"{_shown(source)} ({failure})")
        else:
            return
    tried = "; ".join(failures) or "none is known"
    raise RepliboError(f"{name}: no source gave the file: {tried}; {by_hand}")


def _get(source: str | Path, part: Path, max_bytes: int) -> None:
    """Write what ``source`` gives to ``part``; ask a URL again if that may help."""
    if isinstance(source, Path):
        try:
            if problem := files.not_readable(source, max_bytes):
                raise _SourceError(problem)
            content = source.read_bytes()
        except (OSError, ValueError) as error:
            raise _SourceError(files.reason(error)) from error
        part.write_bytes(content)
        return
    end = time.monotonic() + TIME_LIMIT
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _download(source, part, max_bytes, end - time.monotonic())
        except _TransientError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(attempt)


def _download(url: str, part: Path, max_bytes: int, seconds: float) -> None:
    import pooch  # late: a file that is already there does not need it
    import requests

    download = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 16,
        timeout=TIMEOUT,
        # The bytes as they lie there: a server that packs or unpacks them on the way would turn a gz
        # into what it holds, and hide the file's length.
        headers={"Accept-Encoding": "identity"},
    )

    def write(content: bytes) -> None:
        if stream.tell() + len(content) > max_bytes:
            raise _SourceError(f"must have at most {max_bytes:,} bytes, got more")
        stream.write(content)

    try:
        # In a thread, because a server that sends a byte now and then can keep a single read busy for
        # hours. An abandoned thread ends at its next write, when its file is closed.
        with part.open("wb") as stream, ThreadPool(1) as pool:
            output = SimpleNamespace(write=write, flush=stream.flush)
            pool.apply_async(download, (url, output, None)).get(max(0, seconds))
    except multiprocessing.TimeoutError as error:
        raise _SourceError(f"must arrive within {TIME_LIMIT:g} s") from error
    except requests.HTTPError as error:
        status = error.response.status_code
        raise (_TransientError if status >= 500 else _SourceError)(f"HTTP {status}") from error
    except requests.Timeout as error:
        raise _TransientError(f"no answer within {TIMEOUT:g} s") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise _TransientError("truncated body") from error
    except requests.ConnectionError as error:
        raise _TransientError(f"no connection: {_cause(error)}") from error
    except requests.RequestException as error:
        raise _SourceError(type(error).__name__) from error  # its message may hold a password
    except (_SourceError, OSError):
        raise
    except Exception as error:  # the libraries do not expect all that a server may say
        raise _SourceError(f"unusable answer: {type(error).__name__}") from error


def _cause(error: BaseException) -> str:
    """The innermost cause by its class, e.g. NameResolutionError: its message would fill lines."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _cause(inner) if isinstance(inner, BaseException) else type(error).__name__
