"""Files of runs, collected and published, that are damaged or foreign."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench import ALGORITHMS, BLOCKS, PAPER, PROBLEM, SCALE, Case, FaultError

from kinds.base import cut, drawn, flipped, kind, output_of
from replibo import paths
from replibo.run import traces


def must_be_found(case: Case, algorithm: str, block: str) -> None:
    """Collecting refuses the block in one line; once the file is deleted and made again, it does not."""
    name = paths.block(SCALE, PAPER, PROBLEM, algorithm, block)
    case.must_be_refused(case.do(*case.collect_arguments(algorithm)), name)
    path = case.folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    case.must_be_rerun(algorithm, block)
    case.must_be_done(case.do(*case.collect_arguments(algorithm)))


def blocks_of(case: Case, algorithm: str) -> None:
    case.take(*(paths.block(SCALE, PAPER, PROBLEM, algorithm, block) for block in BLOCKS))


@kind("traces: a flipped byte", 7)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    flipped(case, output_of(case, algorithm, block))
    must_be_found(case, algorithm, block)


@kind("traces: cut or garbage", 3)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    path = output_of(case, algorithm, block)
    match case.rng.randrange(3):
        case 0:
            cut(case, path)
        case 1:
            path.write_bytes(case.rng.randbytes(case.rng.randrange(5000)))
        case _:
            path.unlink()
            path.mkdir()
    must_be_found(case, algorithm, block)


def altered(path: Path, how: str, seed: int) -> None:
    """Write the file anew, with a right checksum, but other content."""
    rng = np.random.default_rng(seed)
    content = traces.read(path)
    rows, columns = len(content), content.column_names
    found = traces.read_metadata(content)
    if how == "a value":
        name = rng.choice(["y", "f"])
        values = content[name].to_numpy().copy()
        values[rng.integers(rows)] += rng.choice([1.0, 1e-9, -1e-12])
        content = content.set_column(columns.index(name), name, pa.array(values))
    elif how == "rows lost":
        content = content.slice(0, int(rng.integers(rows)))
    elif how == "rows doubled":
        content = pa.concat_tables([content, content.slice(int(rng.integers(rows)), 1)])
    elif how == "rows swapped":
        order = np.arange(rows)
        one, two = rng.choice(rows, 2, replace=False)
        order[[one, two]] = two, one
        content = content.take(order)
    elif how == "a column lost":
        kept = ["seed", "t", "phase", "x", "y", "f", "ask_seconds"]
        content = content.drop_columns([str(rng.choice(kept))])
    elif how == "a column of text":
        content = content.set_column(columns.index("y"), "y", pa.array(["a"] * rows))
    elif how == "another seed":
        seeds = content["seed"].to_numpy() + 2
        content = content.set_column(columns.index("seed"), "seed", pa.array(seeds, pa.int32()))
    elif how == "metadata lost":
        del found[str(rng.choice(sorted(set(found) - {"changed_config"})))]
    elif how == "metadata damaged":
        found[str(rng.choice(sorted(found)))] = ["damaged"]
    elif how == "another horizon":
        found["identity"]["horizon"] = 99
    text = json.dumps(found)
    if how == "metadata cut":
        text = text[: int(rng.integers(len(text)))]
    traces.write(path, content.replace_schema_metadata({traces.METADATA_KEY: text}))


ALTERED = (
    "a value",
    "rows lost",
    "rows doubled",
    "rows swapped",
    "a column lost",
    "a column of text",
    "another seed",
    "metadata lost",
    "metadata damaged",
    "metadata cut",
    "another horizon",
)


@kind("traces: foreign content", 8)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    blocks_of(case, algorithm)
    path = output_of(case, algorithm, block)
    match case.rng.randrange(4):
        case 0:  # another block or algorithm in its place
            other = case.rng.choice(
                sorted(set(case.expected) - {str(path.relative_to(case.folder))})
            )
            shutil.copyfile(case.material / other, path)
        case _:
            how, seed = case.rng.choice(ALTERED), case.rng.randrange(2**31)
            case.work(lambda: altered(path, how, seed))
    must_be_found(case, algorithm, block)


@kind("traces: damaged, read by a figure or table", 6)
def _(case: Case) -> None:
    case.take("results", "published")
    scale = case.rng.choice([SCALE, paths.PUBLISHED])
    if scale == SCALE:
        files = [case.folder / paths.collected(SCALE, PAPER, PROBLEM, name) for name in ALGORITHMS]
    else:
        files = sorted((case.folder / paths.PUBLISHED / PAPER).iterdir())
    path = case.rng.choice(files)
    match case.rng.randrange(3):
        case 0:
            flipped(case, path)
        case 1:
            cut(case, path)
        case _:
            path.write_bytes(case.rng.choice([p for p in files if p != path]).read_bytes())
    command = case.rng.choice(["table", "table", "figure"])
    output = "out/a.csv" if command == "table" else "out/a.png"
    arguments = [command, PAPER, command, "--scale", scale, "--output", output]
    outcome = case.do(*arguments)
    if outcome.status == 0:
        # a byte of published metadata that means nothing, e.g. a blank, changes nothing
        same = (
            case.work(
                lambda: (
                    json.loads(path.read_text())
                    == json.loads((case.material / path.relative_to(case.folder)).read_text())
                )
            )
            if path.suffix == ".json"
            else False
        )
        if not same:
            raise FaultError(f"{path.name} was taken")
        return
    case.must_be_refused(outcome, str(path.relative_to(case.folder)))
    if (case.folder / output).exists():
        raise FaultError("an output was made")
    shutil.rmtree(case.folder / "results"), shutil.rmtree(case.folder / "published")
    case.take("results", "published")
    case.must_be_done(case.do(*arguments))
