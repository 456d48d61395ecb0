"""Published traces: what was really run at the largest scale, kept in the repository.

``published/PAPER/`` holds one parquet file for each problem (or, where that would be too large, for each
problem and algorithm, in several parts where needed) and ``metadata.json``: scale, problems, timings, and
of each pair its seeds, horizon, code and origin (`replibo.run.published`). The pseudo-scale
``published`` reads them instead of running. `replibo.results.merge` says what is published.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from replibo import files, paths
from replibo.config.models import Pair
from replibo.errors import RepliboError
from replibo.run import arrow, collect, pairs, traces
from replibo.run.metadata import checksum
from replibo.run.published import pairs_of

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


def files_of(problem: str, table: pa.Table) -> dict[str, bytes]:
    """The files of one problem, thinned: one, or one for each algorithm, or more where these are too
    large.

    Raises:
        RepliboError: a single run is too large for a file.
    """
    import pyarrow.compute as pc

    whole = _compressed(table)
    if len(whole) <= MAXIMAL_BYTES:
        return {f"{problem}.parquet": whole}
    made = {}
    for algorithm in pc.unique(table["algorithm"]).to_pylist():
        rows = table.filter(pc.equal(table["algorithm"], arrow.scalar(algorithm)))
        seeds = np.unique(arrow.values(rows["seed"]))
        for count in range(1, len(seeds) + 1):
            contents = [
                _compressed(rows.filter(pc.is_in(rows["seed"], arrow.numbers(part))))
                for part in np.array_split(seeds, count)
            ]
            if all(len(content) <= MAXIMAL_BYTES for content in contents):
                break
        else:
            raise RepliboError(
                f"{problem}, {algorithm}: one run must fit into {MAXIMAL_BYTES} bytes, got "
                f"{max(map(len, contents))} (keep fewer diagnostics)"
            )
        for part, content in enumerate(contents):
            name = f"{problem}.{algorithm}" + (f".{part}" if count > 1 else "")
            made[f"{name}.parquet"] = content
    return made


def _compressed(rows: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = pa.BufferOutputStream()
    content = thin(rows).replace_schema_metadata(None)  # it has a file of its own
    # The names in these rows alone: one more algorithm leaves the files of the others as they are.
    for i, field in enumerate(content.schema):
        if pa.types.is_dictionary(field.type):
            names = content.column(i).cast(field.type.value_type).combine_chunks()
            content = content.set_column(i, field.name, names.dictionary_encode())
    pq.write_table(content, buffer, compression="zstd", compression_level=19)
    return bytes(buffer.getvalue().to_pybytes())


def write(
    folder: Path,
    metadata: dict[str, Any],
    contents: Mapping[str, bytes | None],
    published: Mapping[str, str] | None = None,
) -> None:
    """Write published files and their metadata to ``folder``, in place of what was there.

    Args:
        contents: for each file its bytes, or None for one that stays as it is.
        published: the digests of those that stay.

    Raises:
        RepliboError: a file that stays is missing or not the published one, the folder cannot be
            written, or the metadata are too large; then nothing in it has changed.
    """
    parts = {
        name: _as_published(folder / name, (published or {})[name]) if content is None else content
        for name, content in contents.items()
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(parts.items())}
    parts[paths.METADATA] = _metadata(folder / paths.METADATA, {**metadata, "files": digests})
    with files.written_whole(folder, folder=True) as temporary:
        temporary.mkdir()
        for name, content in parts.items():
            (temporary / name).write_bytes(content)


def write_metadata(path: Path, metadata: dict[str, Any]) -> None:
    """Write changed metadata in place of those before; the files that they list stay.

    Raises:
        RepliboError: they are too large.
    """
    content = _metadata(path, metadata)
    with files.written_whole(path) as temporary:
        temporary.write_bytes(content)


def _metadata(path: Path, metadata: dict[str, Any]) -> bytes:
    """The content of a file of metadata, with its checksum."""
    content = (json.dumps(metadata | {"checksum": checksum(metadata)}, indent=1) + "\n").encode()
    if len(content) > MAXIMAL_BYTES:
        raise RepliboError(f"{path}: must have at most {MAXIMAL_BYTES} bytes, got {len(content)}")
    return content


def rows(paper: str, wanted: Collection[Pair], metadata: dict[str, Any]) -> list[pa.Table]:
    """The published rows of some problems and algorithms, whole: of each in each of its files.

    Raises:
        RepliboError: a file is missing or damaged.
    """
    return [own.rows() for own in _parts(paper, wanted, metadata)]


def _as_published(path: Path, digest: str) -> bytes:
    """The content of a published file.

    Raises:
        RepliboError: it is missing or has another digest.
    """
    content = files.read_bytes(path)
    if hashlib.sha256(content).hexdigest() != digest:
        raise RepliboError(
            f"{path}: not the published file (its digest is wrong); take it from the repository"
        )
    return content


class _Part(NamedTuple):
    """The rows of one problem and algorithm in one published file.

    Attributes:
        path, digest: the file, and what its content must have.
        changed: when it was, in nanoseconds; what was read of it is remembered as long as it was not,
            for the claims read some files dozens of times.
    """

    path: Path
    digest: str
    changed: int
    problem: str
    algorithm: str

    def rows(self) -> pa.Table:
        """All of them."""
        return _decoded(self.path, self.digest, self.changed)[self.algorithm]


@functools.cache
def _until(part: _Part, horizon: int, kept: int) -> pa.Table:
    """Its rows up to a round, with x of each run's ``kept`` best queries up to there."""
    return collect.until(part.rows(), horizon, kept)


def _parts(paper: str, wanted: Collection[Pair], metadata: Mapping[str, Any]) -> Iterator[_Part]:
    """Where the published rows of some problems and algorithms stand.

    Raises:
        RepliboError: a file is missing or damaged.
    """
    problems = {problem for problem, _ in wanted}
    for name, digest in metadata["files"].items():
        problem = name.partition(".")[0]
        if problem in problems and any(pairs.holds(name, *pair) for pair in wanted):
            path = Path(paths.PUBLISHED, paper, name)
            changed = path.stat().st_mtime_ns if path.is_file() else 0
            for algorithm in _decoded(path, digest, changed):
                if (problem, algorithm) in wanted:
                    yield _Part(path, digest, changed, problem, algorithm)


@functools.cache
def _decoded(path: Path, digest: str, changed: int) -> dict[str, pa.Table]:
    """The rows of each algorithm in a published file, as it was ``changed`` last (`_Part`)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    reader = pa.BufferReader(_as_published(path, digest))
    content = pq.ParquetFile(reader).read(use_threads=False)
    algorithms = content["algorithm"].cast("string")
    return {
        name: content.filter(pc.equal(algorithms, arrow.scalar(name)))
        for name in pc.unique(algorithms).to_pylist()
    }


def read(paper: str, wanted: Collection[Pair]) -> pa.Table:
    """The published traces of some problems and algorithms of a paper, as `replibo.run.collect.together`
    makes them.

    Where the runs of one problem differ in their horizons, all are cut at the shortest of the ``wanted``
    ones, so that what is compared has the same budget.

    Raises:
        RepliboError: nothing is published, or a file is missing or damaged.
    """
    import pyarrow as pa

    metadata = pairs.published_metadata(paper)
    known = {
        name: {key: own for key, own in metadata[name].items() if tuple(key.split("/")) in wanted}
        for name in ("pairs", "timings")
    }
    found = pairs_of(metadata | known)
    problems, different = {}, set()
    for problem in dict.fromkeys(key.partition("/")[0] for key in found):
        own = [found[key] for key in found if key.startswith(f"{problem}/")]
        lengths = {runs.horizon for runs in own}
        problems[problem] = {**metadata["problems"][problem], "horizon": min(lengths)}
        if len(lengths) > 1 or any(len(runs.best_at) > 1 for runs in own):
            different.add(problem)
    changed = any(own.changed_config for own in found.values())
    origin = {
        name: sorted({json.dumps(value) for own in found.values() for value in getattr(own, name)})
        for name in collect.ORIGIN
    }
    metadata = {
        **metadata,
        **known,
        **{name: [json.loads(text) for text in texts] for name, texts in origin.items()},
        "problems": problems,
        "changed_config": changed,
    }
    parts = []
    for part in _parts(paper, wanted, metadata):
        if part.problem in different:
            horizon = problems[part.problem]["horizon"]
            known_x = horizon in found[f"{part.problem}/{part.algorithm}"].best_at
            kept = problems[part.problem].get("kept_queries", 1) if known_x else 0
            parts.append(_until(part, horizon, kept))
        else:
            parts.append(part.rows())
    if not parts:
        return traces.nothing(metadata)
    table = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})
