"""Traces: what is written is what is read, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replibo.errors import RepliboError
from replibo.run import traces
from replibo.run.traces import Trace


def trace(seed: int) -> Trace:
    return Trace(
        seed,
        t=[0, 1, 2],
        phase=["initial", "search", "search"],
        x=[[0.1, 0.2], [1 / 3, 2.0**-40], [5.0, 6.0]],
        y=[1.0 + seed, 0.1 + 0.2, -1e300],
        f=[1.0, 0.3, -0.0],
        seconds=[[0.0, 0.0, 0.5], [0.25, 0.0, 0.5], [0.25, 0.125, 0.5]],
        diagnostics=[{}, {"length_scale": 0.1}, {"length_scale": 1 / 7, "jitter": 0.0}],
        peak_mib=[100.0, 100.5, 250.25],
    )


def test_round_trip_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "a.parquet"
    traces.write(path, traces.table([trace(3), trace(4)], {"paper": "p"}))
    content = traces.read(path)
    assert traces.read_metadata(content) == {"paper": "p"}
    assert pq.read_table(path).equals(traces.table([trace(3), trace(4)], {"paper": "p"}))
    assert traces.digests(content) == [(n, 3, trace(n).digest()) for n in (3, 4)]
    seconds = zip(*(content[name].to_pylist()[:3] for name in traces.TIMINGS), strict=True)
    assert list(map(list, seconds)) == trace(3).seconds
    assert content["peak_mib"].to_pylist() == trace(3).peak_mib + trace(4).peak_mib
    assert [p.name for p in path.parent.iterdir()] == ["a.parquet"]


def test_the_digest_sees_every_column_but_what_is_measured() -> None:
    changed = {name: trace(3) for name in ("t", "phase", "x", "y", "f", "diagnostics")}
    changed["t"].t[2] = 3
    changed["phase"].phase[0] = "search"
    changed["x"].x[1][1] *= 1 + 2**-52
    changed["y"].y[1] = 0.3
    changed["f"].f[2] = 0.0
    changed["diagnostics"].diagnostics[2]["jitter"] = 5e-324
    digests = {each.digest() for each in (trace(3), *changed.values())}
    seed = Trace(**{**vars(trace(3)), "seed": 4})
    assert len(digests | {seed.digest()}) == 8
    timed = trace(3)
    timed.seconds[0][0] = timed.peak_mib[0] = 99.0
    assert timed.digest() == trace(3).digest()


def test_damage_anywhere_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    traces.write(path, traces.table([trace(0)], {"paper": "p"}))
    whole = path.read_bytes()
    contents = [b"", whole[: len(whole) // 2], whole + b"\n"]
    for place in [*range(0, len(whole), 17), *range(len(whole) - 12, len(whole))]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        contents.append(flipped)
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(RepliboError, match=r"a\.parquet: not a whole parquet file") as caught:
            traces.read(path)
        assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_foreign_one_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RepliboError, match=r"b\.parquet: cannot be read"):
        traces.read(tmp_path / "b.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "c.parquet")
    with pytest.raises(RepliboError, match="not a whole parquet file written by replibo"):
        traces.read(tmp_path / "c.parquet")
    for metadata in ({}, {traces.METADATA_KEY: "{"}, {traces.METADATA_KEY: "[1]"}):
        content = pa.table({"a": [1]}).replace_schema_metadata(metadata)
        traces.write(tmp_path / "d.parquet", content)
        with pytest.raises(RepliboError, match=r"d\.parquet: holds no traces") as caught:
            traces.read(tmp_path / "d.parquet")
        assert "\n" not in str(caught.value)


def block(**changes: object) -> pa.Table:
    """Two runs of three queries with their digests; ``changes`` replace columns afterwards."""
    runs = [trace(3), trace(4)]
    content = traces.table(runs, {"digests": {str(t.seed): t.digest() for t in runs}})
    for name, values in changes.items():
        position = content.column_names.index(name)
        content = content.set_column(position, name, pa.array(values, content[name].type))
    return content


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (block(t=[0, 1, 2, 0, 2, 1]), "seed 4 is not as it was observed"),
        (block().slice(0, 5), "seed 4 must have 3 queries, got 2"),
        (block().slice(0, 0), r"must hold the seeds \[3, 4\], got \[\]"),
        (pa.concat_tables([block(), block()]), "must hold the seeds"),
        (block().drop_columns(["evaluate_seconds"]), "column evaluate_seconds is missing"),
        (block().drop_columns(["jitter"]), "seed 3 is not as it was observed"),
        (block(y=[None] * 6), "column y must hold double"),
        (block().replace_schema_metadata({traces.METADATA_KEY: "{}"}), "its digest is wrong"),
        (
            block().append_column("text", pa.array(["a"] * 6)),
            "column text must hold double, got string",
        ),
    ],
)
def test_a_block_that_is_not_as_it_was_observed(content: pa.Table, fault: str) -> None:
    traces.check_block(Path("a"), block(), [3, 4], 3)
    with pytest.raises(RepliboError, match=f"^a: .*{fault}"):
        traces.check_block(Path("a"), content, [3, 4], 3)


def test_what_is_no_diagnostic_is_refused() -> None:
    for value, name, fault in (
        (1.0, "y", "must not be called as a column of the traces"),
        ("much", "w", "must be a number, got 'much'"),
    ):
        with pytest.raises(RepliboError, match=f"seed 3, query 1: the diagnostic {name} {fault}"):
            traces.check_diagnostics([Trace(3, diagnostics=[{name: value}])])
    traces.check_diagnostics([Trace(3, diagnostics=[{"w": np.int64(1), "other": True}])])
