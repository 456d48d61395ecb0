"""The finished runs of one problem and algorithm in ``results/``, whatever blocks they were run in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replibo import paths
from replibo.config import load
from replibo.config.models import PaperEntry
from replibo.errors import RepliboError
from replibo.run import collect, commit, metadata, traces
from replibo.run.identity import identity_digest, run_identity

if TYPE_CHECKING:
    import pyarrow as pa

IGNORED = ("code", "horizon")
"""What may differ from the config: whether the code is today's, and fewer rounds."""


def is_changed(paper: str, scale: str, identity: dict[str, Any]) -> bool:
    """Whether the runs of this identity have other settings than the config in ``config/``. Their
    number and horizon do not count, as these are reported separately."""
    entry = load.load().entries.get(paper)
    problem, algorithm = identity["problem"], identity["algorithm"]
    if entry is None or problem not in entry.problems or algorithm not in entry.algorithms:
        return True
    expected = run_identity(entry, scale, problem, algorithm)
    return bool(collect.difference(identity, expected, IGNORED))


@dataclass
class Finished:
    """Runs of one problem and algorithm, all made by the same code with the same settings.

    Attributes:
        identity: of `replibo.run.identity.run_identity`.
        queries: of one run.
        files: the file of each seed, with its metadata.
    """

    identity: dict[str, Any]
    queries: int
    files: dict[int, tuple[Path, dict[str, Any]]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Digest of the identity."""
        return identity_digest(self.identity)

    @property
    def horizon(self) -> int:
        """T, the last round."""
        return int(self.identity["horizon"])

    def read(self, seeds: Collection[int], horizons: Collection[int] = ()) -> pa.Table:
        """The runs of some of the seeds, as `replibo.run.collect.together` makes them; ``horizons`` as of
        `replibo.run.collect.best_queries`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted: dict[Path, tuple[dict[str, Any], list[int]]] = {}
        for seed in sorted(seeds):
            path, of = self.files[seed]
            wanted.setdefault(path, (of, []))[1].append(seed)
        parts = []
        for path, (of, chosen) in wanted.items():
            content = traces.read(path)
            traces.check_block(path, content, [int(seed) for seed in of["digests"]], self.queries)
            content = content.filter(pc.is_in(content["seed"], pa.array(chosen, pa.int32())))
            of = {**of, "digests": {str(seed): of["digests"][str(seed)] for seed in chosen}}
            parts.append(collect.of_block(content, of, path, horizons))
        return collect.together(parts)


def runs(
    entry: PaperEntry, paper: str, scale: str, problem: str, algorithm: str
) -> tuple[list[Finished], list[str]]:
    """The finished runs of a pair by the code and settings that made them, the largest set first; and
    why files were left out.

    Runs of a shorter horizon than the config's are among them. Runs from changed files are taken where
    the package's source, as committed, is the code that made them; this commit then is theirs.
    """
    expected = run_identity(entry, scale, problem, algorithm)
    longest = entry.settings(scale, problem, algorithm).horizon
    assert longest is not None
    pair = {"scale": scale, "paper": paper, "problem": problem, "algorithm": algorithm}
    by_digest: dict[str, Finished] = {}
    left_out = []
    for path in sorted(Path(paths.PAIR.format(**pair)).glob("seeds_*.parquet")):
        try:
            of = metadata.check(metadata.Block, metadata.of_file(path), path)
        except RepliboError as error:
            left_out.append(str(error))
            continue
        identity = of["identity"]
        fault = collect.difference(identity, expected, IGNORED)
        if not fault and identity["horizon"] > longest:
            fault = f"holds runs with horizon = {identity['horizon']}, not {longest}"
        if not fault and (of["commit"].endswith(commit.DIRTY) or of["commit"] == commit.UNKNOWN):
            made_from = (
                commit.of_package() if identity["code"] == expected["code"] else commit.UNKNOWN
            )
            if of["commit"].endswith(commit.DIRTY) and made_from == commit.UNKNOWN:
                fault = f"was run from changed files ({of['commit']})"
            of = {**of, "commit": made_from}
        if fault:
            left_out.append(f"{path}: {fault}")
            continue
        # the horizon's first rounds may be initial points: see PaperEntry.queries
        settings = entry.settings(scale, problem, algorithm).model_copy(
            update={"horizon": identity["horizon"]}
        )
        empty = Finished(identity, entry.queries(settings))
        finished = by_digest.setdefault(empty.digest, empty)
        for seed in of["digests"]:
            finished.files.setdefault(int(seed), (path, of))

    def size(finished: Finished) -> tuple[int, bool]:
        return len(finished.files) * finished.queries, finished.identity["code"] == expected["code"]

    return sorted(by_digest.values(), key=size, reverse=True), left_out
