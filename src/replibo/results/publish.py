"""Published traces: what was really run at the largest scale, kept in the repository.

``published/PAPER/PROBLEM/ALGORITHM.parquet`` holds the runs of a pair, or several parts do if it would be
too large. Its footer says their seeds, horizon, timing, code and origin (`replibo.run.published`). The
pseudo-scale ``published`` reads them instead of running. `replibo.results.merge` says what is published.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replibo import files, paths
from replibo.config.models import Pair
from replibo.errors import RepliboError
from replibo.run import collect, published, traces
from replibo.run.published import PublishedRuns

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMAL_BYTES = 1_500_000

# What figures, tables and claims read. Left out are the timings of single queries, diagnostics that
# only serve to look into a run, and y and x except those of the best queries. Regret stays exact,
# diagnostics keep single precision.
KEPT = ("problem", "algorithm", "seed", "t", "phase", "f")
KEPT_OF_BEST = ("x", "y")
KEPT_DIAGNOSTICS = (
    "length_scale",
    "length_scale_single_start",
    "theta0",
    "theta0_collapsed",
    "fit_collapsed",
    "fit_converged",
    "fit_at_bound",
    "diverged",
    "distance_to_centre",
    "surrogate_bytes",
    "peak_mib",
    "test_cross_entropy",
    "test_error",
    "log10_learning_rate",
    "momentum",
    "w1",  # ŵ of GO-UCB
    "b1",
    "w2",
    "b2",
)


def dropped(table: pa.Table) -> list[str]:
    """The diagnostics that `thin` leaves out."""
    kept = {*KEPT, *KEPT_OF_BEST, *KEPT_DIAGNOSTICS, *traces.TIMINGS}
    return [name for name in table.column_names if name not in kept]


def thin(table: pa.Table) -> pa.Table:
    """The columns that figures, tables and claims need."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = table.select([name for name in KEPT if name in table.column_names])
    for name in KEPT_OF_BEST if "x" in table.column_names else ():
        column = table[name]
        nothing = pa.nulls(1, column.type)[0]
        kept = kept.append_column(name, pc.if_else(pc.is_valid(table["x"]), column, nothing))
    for name in KEPT_DIAGNOSTICS:
        if name in table.column_names and table[name].null_count < len(table):
            kept = kept.append_column(name, table[name].cast(pa.float32()))
    return kept


def files_of(runs: PublishedRuns, table: pa.Table) -> list[bytes]:
    """The files of a pair, thinned: one, or more where it would be too large.

    Raises:
        RepliboError: a single run is too large for a file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    content = thin(table).replace_schema_metadata({traces.METADATA_KEY: runs.text})
    seeds = np.unique(content["seed"])
    for count in range(1, len(seeds) + 1):
        contents = [
            _compressed(content.filter(pc.is_in(content["seed"], pa.array(part))))
            for part in np.array_split(seeds, count)
        ]
        if all(len(part) <= MAXIMAL_BYTES for part in contents):
            return contents
    raise RepliboError(
        f"{runs.problem}, {runs.algorithm}: one run must fit into {MAXIMAL_BYTES} bytes, got "
        f"{max(map(len, contents))} (keep fewer diagnostics)"
    )


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


def write(folder: Path, changes: Mapping[Pair, Collection[bytes]]) -> None:
    """Write the files of some pairs to a paper's folder, in place of what was there; none removes a pair.
    The files of all other pairs stay.

    Raises:
        RepliboError: the folder cannot be written; then nothing in it has changed.
    """
    with files.written_whole(folder, folder=True) as new:
        new.mkdir()
        for path in folder.glob("*/*.parquet"):
            if published.pair_of(path) not in changes:
                (new / path.parent.name).mkdir(exist_ok=True)
                shutil.copy2(path, new / path.parent.name)
        for (problem, algorithm), contents in changes.items():
            for part, content in enumerate(contents):
                name = algorithm if len(contents) == 1 else f"{algorithm}.{part}"
                (new / problem).mkdir(exist_ok=True)
                (new / problem / f"{name}.parquet").write_bytes(content)


def rows(paper: str, problem: str, algorithm: str, horizon: int | None = None) -> pa.Table:
    """The published rows of a pair, as `replibo.run.collect.read_pair` gives those of runs made here.

    Args:
        horizon: only the rows up to this round, with x of each run's best queries up to there.

    Raises:
        RepliboError: a file is missing or damaged.
    """
    parts = paths.published_traces(paper, problem, algorithm)
    times = [path.stat().st_mtime_ns if path.is_file() else 0 for path in parts]
    return _rows(paper, problem, algorithm, tuple(zip(parts, times, strict=True)), horizon)


@functools.cache
def _rows(
    paper: str,
    problem: str,
    algorithm: str,
    parts: tuple[tuple[Path, int], ...],
    horizon: int | None,
) -> pa.Table:
    """`rows` of files that were changed last at these times: the claims read some dozens of times."""
    import pyarrow as pa

    runs = published.of_pair(paper, problem, algorithm)
    if runs and horizon is not None:
        kept = runs.facts.get("kept_queries", 1) if horizon in runs.best_at else 0
        return collect.until(_rows(paper, problem, algorithm, parts, None), horizon, kept)
    tables = [traces.read(path, published.CURE) for path, _ in parts]
    assert runs is not None
    table = pa.concat_tables(tables).unify_dictionaries()
    table = table.sort_by([("seed", "ascending"), ("t", "ascending")])
    seeds = frozenset(table["seed"].unique().to_pylist())
    publications = len({part.schema.metadata[traces.METADATA_KEY] for part in tables})
    if (publications, seeds, len(table)) != (1, runs.seeds, runs.timing["queries"]):
        raise RepliboError(
            f"{parts[0][0]}: must hold, with its other parts, {runs.timing['queries']} queries of the "
            f"seeds {published.text_of(runs.seeds)}, published at once, got {len(table)} of "
            f"{published.text_of(seeds)} from {publications} publications; {published.CURE}"
        )
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(runs.common)})
