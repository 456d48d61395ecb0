"""Published traces: what was really run at the largest scale, kept in the repository.

``published/PAPER/PROBLEM/ALGORITHM.parquet`` holds the runs of a pair. Its footer says their seeds,
horizon, timing, code and origin (`replibo.run.published`). The pseudo-scale ``published`` reads them
instead of running. `replibo.results.merge` says what is published.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from replibo import files, paths
from replibo.config.models import Pair
from replibo.errors import RepliboError
from replibo.run import collect, published, traces
from replibo.run.published import PublishedRuns

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMAL_BYTES = 5_000_000
"""Of a file. Git keeps every version of it; the largest has a tenth of that."""

# What figures, tables and claims read. Left out are the timings of single queries, diagnostics that
# only serve to look into a run, and y and x except those of the best queries. Regret stays exact,
# diagnostics keep single precision.
KEPT = ("problem", "algorithm", "seed", "t", "phase", "f")
KEPT_OF_BEST = ("x", "y")
KEPT_DIAGNOSTICS = (
    *("length_scale", "length_scale_single_start", "theta0", "theta0_collapsed"),
    *("fit_collapsed", "fit_converged", "fit_at_bound", "diverged", "distance_to_centre"),
    *("surrogate_bytes", "peak_mib", "test_cross_entropy", "test_error"),
    *("log10_learning_rate", "momentum"),
    *("w1", "b1", "w2", "b2"),  # ŵ of GO-UCB
)


def dropped(table: pa.Table) -> list[str]:
    """The diagnostics that `thin` leaves out."""
    columns = {*KEPT, *KEPT_OF_BEST, *KEPT_DIAGNOSTICS, *traces.TIMINGS}
    return [name for name in table.column_names if name not in columns]


def thin(table: pa.Table) -> pa.Table:
    """The columns that figures, tables and claims need."""
    import pyarrow as pa
    import pyarrow.compute as pc

    thinned = table.select([name for name in KEPT if name in table.column_names])
    for name in KEPT_OF_BEST if "x" in table.column_names else ():
        column = table[name]
        nothing = pa.nulls(1, column.type)[0]
        thinned = thinned.append_column(name, pc.if_else(pc.is_valid(table["x"]), column, nothing))
    for name in KEPT_DIAGNOSTICS:
        if name in table.column_names and table[name].null_count < len(table):
            thinned = thinned.append_column(name, table[name].cast(pa.float32()))
    return thinned


def file_of(runs: PublishedRuns, table: pa.Table) -> bytes:
    """The file of a pair, thinned; a `RepliboError` if it is too large."""
    content = _compressed(
        thin(table).replace_schema_metadata({traces.METADATA_KEY: runs.text}).combine_chunks()
    )
    if len(content) > MAXIMAL_BYTES:
        raise RepliboError(
            f"{runs.problem}, {runs.algorithm}: the runs must fit into {MAXIMAL_BYTES} bytes, got "
            f"{len(content)} (keep fewer diagnostics)"
        )
    return content


def _compressed(rows: pa.Table) -> bytes:
    """The bytes of a file: a third smaller if the bytes of numbers are sorted by their place first."""
    import pyarrow as pa

    words = [name for name in traces.WORDS if name in rows.column_names]
    for name in words:  # as texts, for a dictionary has the names of other rows, too
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, rows[name].cast("string"))
    leaves = {"x": "x.list.element"}
    encoding = {
        leaves.get(field.name, field.name): "DELTA_BINARY_PACKED"
        if pa.types.is_integer(field.type)
        else "BYTE_STREAM_SPLIT"
        for field in rows.schema
        if field.name not in words
    }
    return traces.sealed(
        rows,
        compression_level=19,
        write_statistics=False,
        store_schema=False,  # types of Arrow: they are as parquet has them
        use_dictionary=words,
        column_encoding=encoding,
    )


def write(folder: Path, changes: Mapping[Pair, bytes | None]) -> None:
    """Write the files of some pairs to a paper's folder, in place of what was there; None removes a pair.
    All other files stay, and all of them if the folder cannot be written."""
    with files.written_whole(folder, folder=True) as new:
        new.mkdir()
        for path in folder.glob("*/*.parquet"):
            if published.pair_of(path) not in changes:
                (new / path.parent.name).mkdir(exist_ok=True)
                shutil.copy2(path, new / path.parent.name)
        for (problem, algorithm), content in changes.items():
            if content is not None:
                (new / problem).mkdir(exist_ok=True)
                (new / problem / f"{algorithm}.parquet").write_bytes(content)


def rows(paper: str, problem: str, algorithm: str, horizon: int | None = None) -> pa.Table:
    """The published rows of a pair, as `replibo.run.collect.read_pair` gives those of runs made here.

    Args:
        horizon: only the rows up to this round, with x of each run's best queries up to there.
    """
    path = paths.published_traces(paper, problem, algorithm)
    return _rows(path, path.stat().st_mtime_ns if path.is_file() else 0, horizon)


@functools.cache
def _rows(path: Path, changed: int, horizon: int | None) -> pa.Table:
    """`rows` of a file that was changed last at this time: the claims read some dozens of times."""
    runs = published.of_pair(path.parts[-3], *published.pair_of(path))
    if runs and horizon is not None:
        queries = runs.facts.get("kept_queries", 1) if horizon in runs.best_at else 0
        return collect.until(_rows(path, changed, None), horizon, queries)
    table = traces.read(path, published.CURE).unify_dictionaries()
    assert runs is not None
    table = table.sort_by([("seed", "ascending"), ("t", "ascending")])
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(runs.common)})
