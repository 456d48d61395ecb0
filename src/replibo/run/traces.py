"""Traces: one row per query. Their columns, and reading and writing them as parquet.

Columns of a run's own file:

============================ =====================================================================
``seed``                     the run's seed
``t``                        round, counted as the paper counts; initial points of a paper whose
                             t = 1 is the first searched point stand at t = 1 - n … 0
``phase``                    ``initial`` or ``search``
``x``                        the query, native coordinates (list of d numbers)
``y``                        the observed value
``f``                        the noise-free value
``ask_seconds`` …            CPU seconds of ask, tell and evaluation (``tell_``, ``evaluate_seconds``)
``peak_mib``                 the most memory that the process has held until then (`replibo.run.memory`),
                             MiB; a resumed run's is its last process's
any other                    the algorithm's or the problem's diagnostics, e.g. ``length_scale``
============================ =====================================================================

A paper's ``runs.parquet`` holds all traces in one long table: the columns ``problem`` and
``algorithm`` in front, and no ``x``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.errors import RepliboError

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = b"replibo"
TIMINGS = ("ask_seconds", "tell_seconds", "evaluate_seconds")
PEAK = "peak_mib"
RUN_COLUMNS = ("seed", "t", "phase", "x", "y", "f", *TIMINGS, PEAK)


@dataclass
class Trace:
    """The queries of one run: one entry per query in each list; ``peak_mib`` is empty where it was not
    measured (files that are older than it)."""

    seed: int
    t: list[int] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)
    x: list[list[float]] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    f: list[float] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)
    diagnostics: list[dict[str, float]] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.t)

    def digest(self) -> str:
        """SHA-256 of everything but timings and memory: equal traces are equal bit for bit."""
        sha = hashlib.sha256(f"{self.seed} {self.t} {self.phase}".encode())
        for values in (np.ravel(self.x), self.y, self.f):
            sha.update(np.asarray(values, dtype="<f8").tobytes())
        for row in self.diagnostics:
            names = sorted(row)
            sha.update("\x1f".join(names).encode())
            sha.update(np.asarray([row[name] for name in names], dtype="<f8").tobytes())
        return sha.hexdigest()


def check_folder(path: Path) -> None:
    """Make the folder of ``path``; a `RepliboError` where it cannot be made or written."""
    if path.is_dir():
        raise RepliboError(f"{path}: cannot be written (it is a folder); allowed: a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise RepliboError(f"{path}: cannot be written ({error.strerror})") from None


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that is renamed to it at the end, or removed on an error.

    Raises:
        RepliboError: the folder cannot be made or written.
    """
    check_folder(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def table(traces: Sequence[Trace], metadata: dict[str, Any]) -> pa.Table:
    """The traces of one problem and algorithm as an Arrow table with its metadata."""
    import pyarrow as pa

    names = sorted({name for trace in traces for row in trace.diagnostics for name in row})
    columns: dict[str, Any] = {
        "seed": np.concatenate([np.full(len(tr), tr.seed, dtype=np.int32) for tr in traces]),
        "t": np.concatenate([np.asarray(trace.t, dtype=np.int32) for trace in traces]),
        "phase": pa.array([p for trace in traces for p in trace.phase]).dictionary_encode(),
        "x": pa.array([x for trace in traces for x in trace.x], type=pa.list_(pa.float64())),
        "y": np.concatenate([trace.y for trace in traces]),
        "f": np.concatenate([trace.f for trace in traces]),
    }
    seconds = np.concatenate([np.asarray(trace.seconds) for trace in traces])
    for i, name in enumerate(TIMINGS):
        columns[name] = seconds[:, i].astype(np.float32)
    if all(trace.peak_mib for trace in traces):
        peaks = [peak for trace in traces for peak in trace.peak_mib]
        columns[PEAK] = np.asarray(peaks, dtype=np.float32)
    for name in names:
        # A query without this diagnostic (an initial point, say) has a null, not a NaN.
        values = [row.get(name) for trace in traces for row in trace.diagnostics]
        columns[name] = pa.array(values, type=pa.float64())
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(metadata)})


def write(path: Path, content: pa.Table, **options: Any) -> None:
    """Write a table to ``path``, whole or not at all."""
    import pyarrow.parquet as pq

    with written_whole(path) as temporary:
        pq.write_table(content, temporary, **{"compression": "zstd", **options})


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table of traces.

    Raises:
        RepliboError: the file is not there, is no whole parquet file, or was not written by replibo.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = pq.read_table(path, columns=list(columns) if columns else None)
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise RepliboError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise RepliboError(
            f"{path}: not a whole parquet file ({reason}); delete it, and its rule makes it again"
        ) from None
    if METADATA_KEY not in (content.schema.metadata or {}):
        raise RepliboError(f"{path}: holds no traces written by replibo (no metadata 'replibo')")
    return content


def read_metadata(content: pa.Table) -> dict[str, Any]:
    """The metadata that `table` stored."""
    metadata: dict[str, Any] = json.loads(content.schema.metadata[METADATA_KEY])
    return metadata


def split(content: pa.Table) -> list[Trace]:
    """The traces in a run's own file, as `table` was given them."""
    from itertools import groupby

    known = set(RUN_COLUMNS)
    names = [name for name in content.column_names if name not in known]
    traces = []
    for seed, rows in groupby(content.to_pylist(), key=lambda row: row["seed"]):
        trace = Trace(seed)
        for row in rows:
            trace.t.append(row["t"])
            trace.phase.append(row["phase"])
            trace.x.append(row["x"])
            trace.y.append(row["y"])
            trace.f.append(row["f"])
            trace.seconds.append([row[name] for name in TIMINGS])
            trace.diagnostics.append({n: row[n] for n in names if row[n] is not None})
            if row.get(PEAK) is not None:
                trace.peak_mib.append(row[PEAK])
        traces.append(trace)
    return traces
