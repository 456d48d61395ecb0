"""Published runs, made again by the code that is here and compared bit for bit."""

from __future__ import annotations

import dataclasses
import fnmatch
import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replibo import paths
from replibo.config.models import Config, Pair
from replibo.errors import RepliboError, allowed
from replibo.problems.base import Array
from replibo.results import publish
from replibo.run import arrow, block, build, commit, loop, pairs
from replibo.run.identity import identity_digest, run_identity
from replibo.run.published import PublishedRuns, pairs_of


def recompute(
    config: Config,
    paper: str,
    wanted: Sequence[str] = (),
    seed: int | None = None,
    *,
    adopt: bool = False,
    longest: float = math.inf,
    cores: int = 1,
) -> Iterator[str]:
    """Run one seed of each published problem and algorithm again, with its whole horizon.

    Each pair gets a line. It says whether f, which is published whole, is the same to the last bit at
    every query. If not, it says by how much the first other value differs, and whether older code made
    the published run.

    Args:
        wanted: problems (``f1``), pairs (``f1/go_ucb``) or patterns (``f1*/gp_*``); empty for all.
        seed: None for the smallest published one.
        adopt: run only pairs that other code made with today's settings, the shortest first. Where every
            value is equal, the metadata say at once that today's code makes these runs, too: they count
            as made by it from then on, and further seeds may join.
        longest: skip pairs of which a run took more CPU seconds when it was published.
        cores: runs at the same time.

    Raises:
        RepliboError: nothing of the kind is published, a file is damaged, data are missing.
    """
    from joblib import Parallel, delayed

    config.paper(paper)  # its name may be wrong
    metadata = pairs.published_metadata(paper)
    published, scale = pairs_of(metadata), metadata["scale"]
    for name in wanted:
        if not any(_matches(key, name) for key in published):
            problems = {key.partition("/")[0] for key in published}
            raise RepliboError(
                f"{paper}: {name!r} is not published; must be one of {allowed(problems)}, or one of "
                "these, / and an algorithm"
            )
    seconds = {
        key: metadata["timings"][key].get("cpu_seconds", 0.0) / runs.runs
        for key, runs in published.items()
    }
    keys = [
        key
        for key in published
        if seconds[key] <= longest and (not wanted or any(_matches(key, name) for name in wanted))
    ]
    identities: dict[str, dict[str, Any]] = {}
    if adopt:
        for key in keys:
            if identity := _adoptable(config, paper, scale, key, published[key]):
                identities[key] = identity
        keys = sorted(identities, key=seconds.__getitem__)
        yield _count(config, paper)
    evidence = f"{commit.of_package()[:12]}, {block.machine()}"
    equal = 0
    machines: set[str] = set()
    repeats = Parallel(n_jobs=cores, return_as="generator_unordered", pre_dispatch=cores)(
        delayed(_repeat)(Path.cwd(), config, paper, metadata, key, published[key].horizon, seed)
        for key in keys
    )
    for key, number, before, after, spent in repeats:
        same = _first_equal(before, after)
        whole = same == len(before) == len(after)
        equal += whole
        parted = ""
        if adopt and whole:
            _adopt(paper, key, identities[key], f"seed {number}, {evidence}")
            parted = ", adopted"
        if same < min(len(before), len(after)):
            parted = f", the next differs by {abs(after[same] - before[same]):.1g}"
            today = _identity(config, paper, scale, key)
            if today and published[key].code == today["code"]:
                machines |= set(published[key].machine)
            else:
                parted += " (older code made it)"
        yield (
            f"{key}, seed {number}: {same} of {len(before)} values of f equal{parted}, "
            f"{spent:.1f} CPU s"
        )
    yield f"{equal} of {len(keys)} runs are equal to the last bit."
    if adopt:
        yield _count(config, paper)
    if machines:
        yield (
            f"Others of this code were published from {'; '.join(sorted(machines))}. This is "
            f"{block.machine()}. On another processor, be it of the same name, the last bits of sums may "
            "differ, and an algorithm goes its own way from there."
        )


def _matches(key: str, pattern: str) -> bool:
    """Whether a pattern names a pair or its problem."""
    return any(fnmatch.fnmatchcase(name, pattern) for name in (key, key.partition("/")[0]))


def _repeat(
    folder: Path,
    config: Config,
    paper: str,
    metadata: dict[str, Any],
    key: str,
    horizon: int,
    seed: int | None,
) -> tuple[str, int, Array, Array, float]:
    """The pair, the seed, its published f, f of the same run made now, and the CPU seconds of the run."""
    os.chdir(folder)  # a worker that is used again has the folder of its first call
    problem, _, algorithm = key.partition("/")
    number, before = _published(paper, (problem, algorithm), metadata, seed)
    started = time.process_time()
    job = build.experiment(config, paper, metadata["scale"], problem, algorithm)
    run = loop.run_block(dataclasses.replace(job, horizon=horizon), [number])[0]
    return key, number, before, np.array(run.f), time.process_time() - started


def _count(config: Config, paper: str) -> str:
    """The number of published pairs that today's code made, or has adopted."""
    metadata = pairs.published_metadata(paper)
    known = pairs_of(metadata)
    today = [_identity(config, paper, metadata["scale"], key) for key in known]
    count = sum(
        identity is not None and identity["code"] == own.code
        for identity, own in zip(today, known.values(), strict=True)
    )
    return f"{paper}: {count} of {len(known)} published pairs count as of today's code."


def _identity(config: Config, paper: str, scale: str, key: str) -> dict[str, Any] | None:
    """What a run of the pair depends on today; None if the config has the pair no more."""
    pair = tuple(key.split("/"))
    entry = config.paper(paper)
    return run_identity(entry, scale, *pair) if pair in entry.pairs(scale) else None


def _adoptable(
    config: Config, paper: str, scale: str, key: str, own: PublishedRuns
) -> dict[str, Any] | None:
    """The identity that a pair gets by adoption; None if today's code made it, or if the config has other
    settings."""
    identity = _identity(config, paper, scale, key)
    if identity is None or identity["code"] == own.code:
        return None
    identity["horizon"] = own.horizon
    as_before = identity_digest({**identity, "code": own.code}) == own.identity
    return identity if as_before else None


def _adopt(paper: str, key: str, identity: dict[str, Any], evidence: str) -> None:
    """Write into the metadata that today's code makes the pair's runs."""
    metadata = pairs.published_metadata(paper)
    metadata["pairs"][key] |= {
        "identity": identity_digest(identity),
        "code": identity["code"],
        "adopted": evidence,
    }
    publish.write_metadata(paths.published_metadata(paper), metadata)


def _published(
    paper: str, pair: Pair, metadata: dict[str, object], seed: int | None
) -> tuple[int, Array]:
    """A published seed and its f, in the order of the queries."""
    import pyarrow as pa

    table = pa.concat_tables(
        [part.select(["seed", "f"]) for part in publish.rows(paper, [pair], metadata)]
    )
    seeds, f = (arrow.values(table[name]) for name in ("seed", "f"))
    number = int(seeds.min()) if seed is None else seed
    if number not in seeds:
        raise RepliboError(f"{paper}: seed {number} of {'/'.join(pair)} is not published")
    return number, f[seeds == number]


def _first_equal(a: Array, b: Array) -> int:
    """The number of equal values at the start."""
    n = min(len(a), len(b))
    other = np.flatnonzero(a[:n] != b[:n])
    return int(other[0]) if len(other) else n
