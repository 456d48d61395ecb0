"""Published traces: what was really run at the largest scale, kept in the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replibo import traces
from replibo.errors import RepliboError

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMAL_BYTES = 1_500_000

# What figures, tables and claims read; y, the timings of single queries and the diagnostics that
# only serve to look into a run are left out.
KEPT = ("problem", "algorithm", "seed", "t", "phase", "f")
KEPT_DIAGNOSTICS = ("length_scale",)


def thin(table: pa.Table) -> pa.Table:
    """The columns that figures, tables and claims need."""
    names = [name for name in (*KEPT, *KEPT_DIAGNOSTICS) if name in table.column_names]
    return table.select(names)


def publish(source: Path, folder: Path) -> Path:
    """Write the thinned traces of ``source`` (a ``runs.parquet``) and their metadata to ``folder``.

    Raises:
        RepliboError: the source is missing or damaged, or the file would be larger than 1.5 MB.
    """
    table = traces.read(source)
    metadata = traces.read_metadata(table)
    target = folder / "runs.parquet"
    with traces.written_whole(target) as temporary:
        import pyarrow.parquet as pq

        pq.write_table(thin(table), temporary, compression="zstd", compression_level=19)
        size = temporary.stat().st_size
        if size > MAXIMAL_BYTES:
            raise RepliboError(
                f"{target}: would have {size} bytes; allowed: {MAXIMAL_BYTES} "
                "(keep fewer diagnostics or rounds)"
            )
    with traces.written_whole(folder / "metadata.json") as temporary:
        temporary.write_text(json.dumps(summary(metadata, table), indent=2) + "\n")
    return target


def summary(metadata: dict[str, Any], table: pa.Table) -> dict[str, Any]:
    """The metadata in a form that people read in a diff: what was run, where, with what."""
    return {**metadata, "rows": len(table), "columns": thin(table).column_names}
