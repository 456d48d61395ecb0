"""Which problems and algorithms are run together, and the files that hold their runs. Cheap to import."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from replibo import paths
from replibo.config.models import Config, Pair, PaperEntry
from replibo.errors import RepliboError
from replibo.files import read_bytes
from replibo.run import metadata


def at(
    config: Config,
    paper: str,
    scale: str,
    problems: Collection[str] | None = None,
    algorithms: Collection[str] | None = None,
) -> list[Pair]:
    """The pairs that are run at a scale, or published; only those of ``problems`` and ``algorithms``,
    where these are not None."""
    entry = config.paper(paper)
    pairs = published(paper) if scale == paths.PUBLISHED else entry.pairs(scale)
    return [
        (problem, algorithm)
        for problem, algorithm in pairs
        if problem in (entry.problems if problems is None else problems)
        and (algorithms is None or algorithm in algorithms)
    ]


def among(config: Config, paper: str, scale: str, wanted: Collection[Pair]) -> list[Pair]:
    """The ``wanted`` pairs that are run at a scale, or published."""
    return [pair for pair in at(config, paper, scale) if pair in wanted]


def there(config: Config, paper: str, scale: str, pairs: Iterable[Pair]) -> list[Pair]:
    """The ``pairs`` whose files exist."""
    return [pair for pair in pairs if all(map(os.path.exists, files(config, paper, scale, [pair])))]


def files(config: Config, paper: str, scale: str, pairs: Iterable[Pair]) -> list[str]:
    """The files that hold the runs of ``pairs``."""
    if scale == paths.PUBLISHED:
        return published_files(paper, pairs)
    return [file(config.paper(paper), paper, scale, *pair) for pair in pairs]


def published_files(paper: str, pairs: Iterable[Pair]) -> list[str]:
    """The metadata of a paper's published traces, and the files that hold those of ``pairs``."""
    found = [paths.published_metadata(paper)]
    known: dict[str, list[Path]] = {}
    for problem, algorithm in pairs:
        if problem not in known:
            known[problem] = paths.published_traces(paper, problem)
        found += [path for path in known[problem] if holds(path.name, problem, algorithm)]
    return [str(path) for path in dict.fromkeys(found)]


def holds(name: str, problem: str, algorithm: str) -> bool:
    """Whether a published file may hold runs of this pair: ``PROBLEM.parquet``, or where that would be
    too large, ``PROBLEM.ALGORITHM.parquet`` or ``PROBLEM.ALGORITHM.PART.parquet``."""
    parts = name.removesuffix(".parquet").split(".")
    return parts[0] == problem and (len(parts) == 1 or parts[1] == algorithm)


def file(entry: PaperEntry, paper: str, scale: str, problem: str, algorithm: str) -> str:
    """The file of one pair that outputs read: its single block, or all of its blocks together."""
    own = blocks(entry, paper, scale, problem, algorithm)
    return own[0] if len(own) == 1 else paths.collected(scale, paper, problem, algorithm)


def blocks(entry: PaperEntry, paper: str, scale: str, problem: str, algorithm: str) -> list[str]:
    """The files of the blocks of one pair."""
    return [
        paths.block(scale, paper, problem, algorithm, block)
        for block in entry.blocks(scale, problem, algorithm)
    ]


def require(files: Sequence[str], target: str) -> None:
    """Raise a `RepliboError` where files are missing, which names the target that makes them."""
    missing = [name for name in files if not Path(name).exists()]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RepliboError(
            f"{missing[0]}{others}: not found; 'snakemake --cores 2 {target}' makes what is missing"
        )


def published(paper: str) -> list[Pair]:
    """The pairs of a paper whose traces are published; none where nothing is."""
    if not paths.published_metadata(paper).exists():
        return []
    found = (key.split("/") for key in published_metadata(paper)["timings"])
    return [(problem, algorithm) for problem, algorithm in found]


def published_metadata(paper: str) -> dict[str, Any]:
    """What was published of a paper: scale, problems, timings, versions.

    Raises:
        RepliboError: nothing is published, or the metadata are damaged.
    """
    path = paths.published_metadata(paper)
    if not path.exists():
        raise RepliboError(f"{path.parent}: nothing is published there")
    return _metadata(path, read_bytes(path))


@functools.lru_cache(maxsize=8)
def _metadata(path: Path, content: bytes) -> dict[str, Any]:
    """The metadata that a file of this content holds; a dry run asks for them hundreds of times."""
    try:
        found: Any = json.loads(content)
    except ValueError as error:
        raise RepliboError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict) or found.get("checksum") != metadata.checksum(found):
        raise RepliboError(
            f"{path}: damaged (its checksum is wrong or missing); take it from the repository"
        )
    return found
