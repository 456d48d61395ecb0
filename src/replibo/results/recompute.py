"""Published runs, made again by the code that is here and compared bit for bit."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
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
) -> Iterator[str]:
    """Run one seed of each published problem and algorithm again, with the whole of its horizon; a line
    for each says whether f, which is published whole, is the same to the last bit at every query, and if
    not, by how much the first other value differs, and whether other code made it.

    Args:
        wanted: problems (``f1``) or pairs (``f1/go_ucb``); all where it is empty.
        seed: the smallest published one where it is None.
        adopt: run only pairs that other code made with today's settings. Where every value is equal,
            the metadata say at once that today's code makes these runs, too: it counts as theirs from
            then on, and further seeds may join.
        longest: skip pairs of which a run took more CPU seconds when it was published.

    Raises:
        RepliboError: nothing of the kind is published, a file is damaged, data are missing.
    """
    config.paper(paper)  # its name may be wrong
    metadata = pairs.published_metadata(paper)
    known, scale = pairs_of(metadata), metadata["scale"]
    problems = {key.partition("/")[0] for key in known}
    for name in wanted:
        if name not in problems | known.keys():
            raise RepliboError(
                f"{paper}: {name!r} is not published; must be one of {allowed(problems)}, or one of "
                "these, / and an algorithm"
            )
    equal = total = 0
    machines: set[str] = set()
    if adopt:
        yield _count(config, paper)
    for key, own in known.items():
        problem, _, algorithm = key.partition("/")
        if wanted and not {key, problem} & set(wanted):
            continue
        identity = _adoptable(config, paper, scale, key, own) if adopt else None
        seconds = metadata["timings"][key].get("cpu_seconds", 0.0) / own.runs
        if (adopt and identity is None) or seconds > longest:
            continue
        number, before = _published(paper, (problem, algorithm), metadata, seed)
        started = time.process_time()
        job = build.experiment(config, paper, scale, problem, algorithm)
        job = dataclasses.replace(job, horizon=own.horizon)
        after = np.array(loop.run_block(job, [number])[0].f)
        same = _first_equal(before, after)
        whole = same == len(before) == len(after)
        equal, total = equal + whole, total + 1
        parted = ""
        if identity and whole:
            _adopt(paper, key, identity, f"seed {number} at {commit.of_package()}")
            parted = ", adopted"
        if same < min(len(before), len(after)):
            parted = f", the next differs by {abs(after[same] - before[same]):.1g}"
            today = run_identity(config.paper(paper), scale, problem, algorithm)["code"]
            if own.code == today:
                machines |= set(own.machine)
            else:
                parted += " (older code made it)"
        yield (
            f"{key}, seed {number}: {same} of {len(before)} values of f equal{parted}, "
            f"{time.process_time() - started:.1f} CPU s"
        )
    yield f"{equal} of {total} runs are equal to the last bit."
    if adopt:
        yield _count(config, paper)
    if machines:
        yield (
            f"Others of this code were published from {'; '.join(sorted(machines))}. This is "
            f"{block.machine()}. On another processor, be it of the same name, the last bits of sums may "
            "differ, and an algorithm goes its own way from there."
        )


def _count(config: Config, paper: str) -> str:
    """How many published pairs today's code made, or has adopted."""
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
    """How many values at the start are equal."""
    n = min(len(a), len(b))
    other = np.flatnonzero(a[:n] != b[:n])
    return int(other[0]) if len(other) else n
