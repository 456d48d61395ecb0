"""The published runs of each problem and algorithm: their files, and what the files' footers say.

Cheap to import and to call: a dry run asks for them hundreds of times.
"""

from __future__ import annotations

import functools
import glob
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from replibo import paths
from replibo.config.models import Pair, block_name, seed_list
from replibo.errors import RepliboError
from replibo.run import metadata

CURE = "take it from the repository"
"""What a damaged file asks for."""


@dataclass(frozen=True)
class PublishedRuns:
    """The published runs of one problem and algorithm: made by one code, with the same settings.

    Attributes:
        facts: of the problem, as `replibo.run.block` wrote them.
        timing: of all runs together (`replibo.run.collect.timings`).
        identity, code: digests of all that the runs depend on except the seed, and of their code.
        best_at: x is kept for the best queries up to each of these rounds.
        changed_config: whether the settings are others than the config's.
        versions, machine, commit: of libraries, machines and code; all that there were.
        adopted: the seed that ``code`` made again to the last bit, with the commit and the machine, if
            other code made the runs; else empty.
    """

    paper: str
    scale: str
    problem: str
    algorithm: str
    facts: dict[str, Any]
    timing: dict[str, Any]
    seeds: frozenset[int]
    identity: str
    code: str
    best_at: tuple[int, ...]
    changed_config: bool
    versions: tuple[dict[str, str], ...]
    machine: tuple[str, ...]
    commit: tuple[str, ...]
    adopted: str = ""

    @property
    def key(self) -> str:
        """``problem/algorithm``."""
        return f"{self.problem}/{self.algorithm}"

    @property
    def runs(self) -> int:
        """Their number."""
        return len(self.seeds)

    @property
    def queries(self) -> int:
        """Queries of one run."""
        return int(self.timing["queries"]) // self.runs

    @property
    def horizon(self) -> int:
        """T, the last round."""
        return int(self.facts["horizon"])

    @property
    def text(self) -> str:
        """As the footer of their file holds them."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return metadata.with_checksum({**content, "seeds": text_of(self.seeds)})

    @property
    def common(self) -> dict[str, Any]:
        """As outputs read them (`replibo.run.metadata.Collected`)."""
        return {
            "paper": self.paper,
            "scale": self.scale,
            "problems": {self.problem: self.facts},
            "timings": {self.key: self.timing},
            "changed_config": self.changed_config,
            "versions": self.versions,
            "machine": self.machine,
            "commit": self.commit,
            "pairs": {self.key: {"horizon": self.horizon, "changed_config": self.changed_config}},
        }


@functools.lru_cache(maxsize=4096)
def _of_file(path: Path, changed: int) -> PublishedRuns:
    """What a file says that was changed last at this time."""
    content = metadata.of_file(path, CURE)
    try:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in content.items()
        }
        return PublishedRuns(**{**values, "seeds": parsed(content["seeds"])})
    except (TypeError, KeyError) as error:  # of another version
        raise RepliboError(f"{path}: holds other metadata ({error}); {CURE}") from None


def of_pair(paper: str, problem: str, algorithm: str) -> PublishedRuns | None:
    """The published runs of a pair, if there are any."""
    path = paths.published_traces(paper, problem, algorithm)
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    runs = _of_file(path, changed)
    if (runs.paper, runs.problem, runs.algorithm) != (paper, problem, algorithm):
        raise RepliboError(f"{path}: holds runs of {runs.paper}/{runs.key}; {CURE}")
    return runs


def of_paper(paper: str) -> dict[str, PublishedRuns]:
    """All published runs of a paper, which must be of one scale, by ``problem/algorithm``."""
    by_key = {runs.key: runs for pair in pairs(paper) if (runs := of_pair(paper, *pair))}
    scales = sorted({runs.scale for runs in by_key.values()})
    if len(scales) > 1:
        raise RepliboError(
            f"{paths.published_folder(paper)}: must be of one scale, got {' and '.join(scales)}"
        )
    return by_key


def pairs(paper: str) -> list[Pair]:
    """The pairs of a paper whose traces are published; none where nothing is."""
    # Not by pathlib's glob, which takes twice as long.
    names = glob.glob("*/*.parquet", root_dir=paths.published_folder(paper))
    return sorted(pair_of(PurePath(name)) for name in names)


def pair_of(path: PurePath) -> Pair:
    """The pair of a published file, ``PROBLEM/ALGORITHM.parquet``."""
    return path.parent.name, path.stem


def text_of(seeds: Collection[int]) -> str:
    """``0-3,5``."""
    blocks: list[list[int]] = []
    for seed in sorted(seeds):
        if blocks and blocks[-1][-1] == seed - 1:
            blocks[-1].append(seed)
        else:
            blocks.append([seed])
    return ",".join(map(block_name, blocks))


@functools.cache
def parsed(text: str) -> frozenset[int]:
    """The seeds in what `text_of` made."""
    return frozenset(seed for part in text.split(",") if part for seed in seed_list(part))
