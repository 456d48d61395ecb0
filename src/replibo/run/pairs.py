"""Which problems and algorithms are run together, and the files that hold their runs. Cheap to import."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from replibo import paths
from replibo.config.models import Config, Pair, PaperEntry
from replibo.errors import RepliboError
from replibo.run import published


def at(
    config: Config,
    paper: str,
    scale: str,
    problems: Collection[str] | None = None,
    algorithms: Collection[str] | None = None,
) -> list[Pair]:
    """The pairs that are run at a scale, or published, in the config's order; only those of ``problems``
    and ``algorithms``, where these are not None."""
    entry = config.paper(paper)
    if scale != paths.PUBLISHED:
        return entry.pairs(scale, problems, algorithms)
    published_pairs = {*published.pairs(paper)}
    return [
        (problem, algorithm)
        for problem in entry.problems
        for algorithm in entry.algorithms
        if (problem, algorithm) in published_pairs
        and (problems is None or problem in problems)
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
        return [str(paths.published_traces(paper, *pair)) for pair in pairs]
    return [file(config.paper(paper), paper, scale, *pair) for pair in pairs]


def file(entry: PaperEntry, paper: str, scale: str, problem: str, algorithm: str) -> str:
    """The file of one pair that outputs read: its single block, or all of its blocks together."""
    names = blocks(entry, paper, scale, problem, algorithm)
    return names[0] if len(names) == 1 else paths.collected(scale, paper, problem, algorithm)


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
