"""Published traces: what was really run at the largest scale, kept in the repository.

``published/PAPER/`` holds one parquet file for each problem (or, where that would be too large, for each
problem and algorithm) and ``metadata.json``: scale, problems,
timings, versions, machine, commit. The pseudo-scale ``published`` reads them instead of running.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from replibo import files, paths
from replibo.errors import RepliboError
from replibo.run import pairs, traces
from replibo.run.metadata import checksum
from replibo.run.pairs import Pair

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMAL_BYTES = 1_500_000

# What figures, tables and claims read. The timings of single queries, the diagnostics that only serve to
# look into a run and, but for the best queries, y and x are left out; regret stays exact, diagnostics
# keep single precision.
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
)


def thin(table: pa.Table) -> pa.Table:
    """The columns that figures, tables and claims need."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = table.select([name for name in KEPT if name in table.column_names])
    for name in KEPT_OF_BEST if "x" in table.column_names else ():
        column = table[name]
        nothing = pa.scalar(None, type=column.type)
        kept = kept.append_column(name, pc.if_else(pc.is_valid(table["x"]), column, nothing))
    for name in KEPT_DIAGNOSTICS:
        if name in table.column_names and table[name].null_count < len(table):
            kept = kept.append_column(name, table[name].cast(pa.float32()))
    return kept


def publish(table: pa.Table, folder: Path, *, replace: bool = False) -> list[Path]:
    """Write thinned traces and their metadata to ``folder``, in place of what was there.

    Args:
        table: what `replibo.run.collect.together` made.

    Raises:
        RepliboError: a file would be larger than 1.5 MB, or more than this is published already
            (unless ``replace``); then nothing in the folder has changed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    metadata = traces.read_metadata(table)
    if (folder / paths.METADATA).exists() and not replace:
        before = pairs.published_metadata(metadata["paper"])
        if before["rows"] > len(table) or (before["scale"], metadata["scale"]) == (
            "paper",
            "quick",
        ):
            raise RepliboError(
                f"{folder}: {before['rows']} queries of scale {before['scale']} are published, more than "
                f"these {len(table)} of scale {metadata['scale']}; allowed: --replace"
            )
    parts: dict[str, bytes] = {}

    def compressed(rows: pa.Table) -> bytes:
        buffer = pa.BufferOutputStream()
        content = thin(rows).replace_schema_metadata(None)  # it has a file of its own
        pq.write_table(content, buffer, compression="zstd", compression_level=19)
        return bytes(buffer.getvalue().to_pybytes())

    for problem in pc.unique(table["problem"]).to_pylist():
        rows = table.filter(pc.equal(table["problem"], problem))
        content = compressed(rows)
        if len(content) <= MAXIMAL_BYTES:
            parts[f"{problem}.parquet"] = content
            continue
        for algorithm in pc.unique(rows["algorithm"]).to_pylist():
            own = rows.filter(pc.equal(rows["algorithm"], algorithm))
            parts[f"{problem}.{algorithm}.parquet"] = compressed(own)
    for name, content in parts.items():
        if len(content) > MAXIMAL_BYTES:
            raise RepliboError(
                f"{folder / name}: would have {len(content)} bytes; allowed: {MAXIMAL_BYTES} (keep "
                "fewer diagnostics or algorithms)"
            )
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(parts.items())}
    summary = {**metadata, "rows": len(table), "files": digests}
    summary["checksum"] = checksum(summary)
    parts[paths.METADATA] = (json.dumps(summary, indent=2) + "\n").encode()
    with files.written_whole(folder, folder=True) as temporary:
        temporary.mkdir()
        for name, content in parts.items():
            (temporary / name).write_bytes(content)
    return [folder / name for name in sorted(parts)]


def read(paper: str, wanted: Collection[Pair]) -> pa.Table:
    """The published traces of some problems and algorithms of a paper, as `replibo.run.collect.together`
    makes them.

    Raises:
        RepliboError: nothing is published, or a file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    folder = Path(paths.PUBLISHED, paper)
    metadata = pairs.published_metadata(paper)
    parts = []
    for name, digest in metadata["files"].items():
        own, _, method = name.removesuffix(".parquet").partition(".")
        if not any(own == problem and method in ("", algorithm) for problem, algorithm in wanted):
            continue
        path = folder / name
        whole = files.read_bytes(path)
        if hashlib.sha256(whole).hexdigest() != digest:
            raise RepliboError(
                f"{path}: not the published file (its digest is wrong); publish the paper again, or "
                "take the file from the repository"
            )
        content = pq.read_table(pa.BufferReader(whole))
        problem = content["problem"][0].as_py()
        names = sorted(algorithm for own, algorithm in wanted if own == problem)
        parts.append(content.filter(pc.is_in(content["algorithm"].cast("string"), pa.array(names))))
    if not parts:
        return traces.nothing(metadata)
    table = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})
