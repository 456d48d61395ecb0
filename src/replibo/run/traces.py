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

Traces that were put together (`replibo.run.collect`) have the columns ``problem`` and ``algorithm`` in
front, and ``x`` of each run's best queries only.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import files
from replibo.errors import RepliboError, allowed
from replibo.run import metadata

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = metadata.KEY
TIMINGS = ("ask_seconds", "tell_seconds", "evaluate_seconds")
PEAK = "peak_mib"
WORDS = ("problem", "algorithm", "phase")
"""The columns of texts, few of which differ."""
RUN_COLUMNS = ("seed", "t", "phase", "x", "y", "f", *TIMINGS, PEAK)


@dataclass
class Trace:
    """The queries of one run: one entry per query in each list (``x``, ``y`` and ``f`` may be arrays).

    Attributes:
        t: the rounds (`replibo.run.loop.Experiment.round`).
        seconds: CPU seconds of `TIMINGS`, in this order.
        peak_mib: the largest memory of the process so far, in MiB.
    """

    seed: int
    t: list[int] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)
    x: Any = field(default_factory=list)
    y: Any = field(default_factory=list)
    f: Any = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)
    diagnostics: list[dict[str, float]] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.t)

    def digest(self) -> str:
        """SHA-256 of all except timings and memory: runs with equal digests are equal bit for bit."""
        sha = hashlib.sha256(f"{self.seed} {self.t} {self.phase}".encode())
        for values in (np.ravel(self.x), self.y, self.f):
            sha.update(np.asarray(values, dtype="<f8").tobytes())
        for row in self.diagnostics:
            names = sorted(row)
            sha.update("\x1f".join(names).encode())
            sha.update(np.asarray([row[name] for name in names], dtype="<f8").tobytes())
        return sha.hexdigest()


def check_diagnostics(traces: Sequence[Trace]) -> None:
    """Raise a `RepliboError` where a diagnostic has the name of a column, or is no number."""
    for trace in traces:
        for query, row in enumerate(trace.diagnostics, 1):
            for name, value in row.items():
                if name in RUN_COLUMNS:
                    fault = f"must not be called as a column of the traces ({allowed(RUN_COLUMNS)})"
                elif not isinstance(value, (int, float, np.number, np.bool_)):
                    fault = f"must be a number, got {value!r}"
                else:
                    continue
                raise RepliboError(
                    f"seed {trace.seed}, query {query}: the diagnostic {name} {fault}"
                )


def table(traces: Sequence[Trace], metadata: dict[str, Any]) -> pa.Table:
    """The traces of one problem and algorithm as an Arrow table with its metadata."""
    import pyarrow as pa

    values: dict[str, list[Any]] = {
        "seed": [trace.seed for trace in traces for _ in trace.t],
        **{
            name: [value for trace in traces for value in getattr(trace, name)]
            for name in ("t", "phase", "x", "y", "f", PEAK)
        },
    }
    for i, name in enumerate(TIMINGS):
        values[name] = [seconds[i] for trace in traces for seconds in trace.seconds]
    columns = {name: pa.array(values[name], kind) for name, kind in _types().items()}
    for name in sorted({name for trace in traces for row in trace.diagnostics for name in row}):
        # A query without this diagnostic (an initial point, say) has a null, not a NaN.
        given = [row.get(name) for trace in traces for row in trace.diagnostics]
        missing = np.array([value is None for value in given])
        columns[name] = pa.array(np.array(given, dtype=float), mask=missing)
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(metadata)})


def nothing(metadata: dict[str, Any]) -> pa.Table:
    """A table of no runs: what an output reads that is computed without any."""
    import pyarrow as pa

    empty = pa.table({name: pa.array([], pa.string()) for name in ("problem", "algorithm")})
    return empty.replace_schema_metadata({METADATA_KEY: json.dumps(metadata)})


def write(path: Path, content: pa.Table) -> None:
    """Write a table to ``path``, whole or not at all."""
    with files.written_whole(path) as temporary:
        temporary.write_bytes(sealed(content))


# A seal is the SHA-256 of all other bytes of a parquet file. It stands just before the footer, where
# a reader that does not know it passes over it.
SEAL_BYTES = 32


def sealed(content: pa.Table, **options: Any) -> bytes:
    """The bytes of a parquet file with a seal, by which `read` finds any damage.

    Args:
        options: of `pyarrow.parquet.ParquetWriter`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = pa.BufferOutputStream()
    schema = content.schema.remove_metadata()  # which would be written twice
    with pq.ParquetWriter(buffer, schema, compression="zstd", **options) as writer:
        writer.write_table(content.replace_schema_metadata(None))
        writer.add_key_value_metadata(content.schema.metadata)
    whole = memoryview(buffer.getvalue())
    footer = _footer(whole)
    return b"".join([whole[:footer], _seal(whole[:footer], whole[footer:]), whole[footer:]])


def _footer(content: memoryview) -> int:
    """Where the footer of a parquet file begins: its length stands before the last four bytes."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def _seal(*parts: memoryview) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def read(path: Path, cure: str = "delete it, and its rule makes it again") -> pa.Table:
    """Read a table of traces, or raise a `RepliboError` if the file is not there, is not as `write` left
    it, or holds no traces; ``cure`` is what a damaged file asks for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = memoryview(files.read_bytes(path))
    footer = _footer(whole)
    seal = footer - SEAL_BYTES
    if seal < 0 or whole[seal:footer] != _seal(whole[:seal], whole[footer:]):
        raise RepliboError(
            f"{path}: not a whole parquet file written by replibo (its checksum is wrong or missing); "
            f"{cure}"
        )
    try:
        reader = pa.BufferReader(whole)
        file = pq.ParquetFile(reader)  # read_table imports more
        words = [name for name in WORDS if name in file.schema_arrow.names]
        file = pq.ParquetFile(reader, metadata=file.metadata, read_dictionary=words)
        content = file.read(use_threads=False)
        if not isinstance(read_metadata(content), dict):
            raise ValueError("its metadata is not a mapping")
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise RepliboError(
            f"{path}: holds no traces written by replibo ({files.reason(error)})"
        ) from None
    return content


def read_metadata(content: pa.Table) -> dict[str, Any]:
    """The metadata that `table` stored."""
    metadata: dict[str, Any] = json.loads(content.schema.metadata[METADATA_KEY])
    return metadata


def digests(content: pa.Table) -> list[tuple[int, int, str]]:
    """Seed, number of queries and `Trace.digest` of each run in a run's own file, in its order."""
    import pyarrow.compute as pc

    names = sorted({*content.column_names} - {*RUN_COLUMNS})
    seeds = content["seed"].to_numpy()
    starts = np.flatnonzero(np.diff(seeds, prepend=-1)).tolist()
    results = []
    for start, end in itertools.pairwise([*starts, len(seeds)]):
        rows = content.slice(start, end - start)
        trace = Trace(
            int(seeds[start]),
            t=rows["t"].to_pylist(),
            phase=rows["phase"].to_pylist(),
            x=pc.list_flatten(rows["x"]).to_numpy(),
            y=rows["y"].to_numpy(),
            f=rows["f"].to_numpy(),
            diagnostics=[
                {name: value for name, value in row.items() if value is not None}
                for row in rows.select(names).to_pylist()
            ],
        )
        results.append((trace.seed, len(trace), trace.digest()))
    return results


def check_block(path: Path, content: pa.Table, seeds: Sequence[int], queries: int) -> None:
    """Raise a `RepliboError` unless a run's own file holds the whole runs of ``seeds``, in this order,
    with this number of ``queries`` each, as they were made."""
    if fault := _fault(content, list(seeds), queries):
        raise RepliboError(f"{path}: {fault}; delete it, and its rule makes it again")


def _fault(content: pa.Table, seeds: list[int], queries: int) -> str:
    import pyarrow as pa

    types = _types()
    for name, kind in {**dict.fromkeys(content.column_names, pa.float64()), **types}.items():
        if name not in content.column_names:
            return f"column {name} is missing"
        column = content[name]
        if column.type != kind or (name in types and column.null_count):
            return f"column {name} must hold {kind}, got {column.type}"
    runs = digests(content)
    if [seed for seed, _, _ in runs] != seeds:
        return f"must hold the seeds {seeds}, got {[seed for seed, _, _ in runs]}"
    recorded = read_metadata(content).get("digests", {})
    for seed, rows, digest in runs:
        if rows != queries:
            return f"seed {seed} must have {queries} queries, got {rows}"
        if recorded.get(str(seed)) != digest:
            return f"seed {seed} is not as it was observed (its digest is wrong)"
    return ""


def _types() -> dict[str, pa.DataType]:
    """The types of the columns that every file of runs has."""
    import pyarrow as pa

    return {
        "seed": pa.int32(),
        "t": pa.int32(),
        "phase": pa.dictionary(pa.int32(), pa.string()),
        "x": pa.list_(pa.float64()),
        "y": pa.float64(),
        "f": pa.float64(),
        **dict.fromkeys((*TIMINGS, PEAK), pa.float32()),
    }
