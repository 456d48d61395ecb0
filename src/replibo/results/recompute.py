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
from replibo.config.models import Config
from replibo.errors import RepliboError, allowed
from replibo.problems.base import Array
from replibo.results import publish
from replibo.run import block, build, commit, loop
from replibo.run.identity import identity_digest, run_identity
from replibo.run.published import PublishedRuns, of_paper


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
            value is equal, their footer says at once that today's code makes these runs, too: they count
            as made by it from then on, and further seeds may join.
        longest: skip pairs of which a run took more CPU seconds when it was published.
        cores: runs at the same time.
    """
    from joblib import Parallel, delayed

    config.paper(paper)  # its name may be wrong
    published = of_paper(paper)
    if not published:
        raise RepliboError(f"{paths.published_folder(paper)}: nothing is published there")
    for name in wanted:
        if not any(_matches(key, name) for key in published):
            problems = {key.partition("/")[0] for key in published}
            raise RepliboError(
                f"{paper}: {name!r} is not published; must be one of {allowed(problems)}, or one of "
                "these, / and an algorithm"
            )
    seconds = {
        key: runs.timing.get("cpu_seconds", 0.0) / runs.runs for key, runs in published.items()
    }
    keys = [
        key
        for key in published
        if seconds[key] <= longest and (not wanted or any(_matches(key, name) for name in wanted))
    ]
    adopted: dict[str, dict[str, Any]] = {}
    if adopt:
        identities = {key: _adoptable(config, published[key]) for key in keys}
        adopted = {key: identity for key, identity in identities.items() if identity}
        keys = sorted(adopted, key=seconds.__getitem__)
        yield _count(config, paper)
    for key in keys:  # before any worker is started, which would have to be killed
        if seed is not None and seed not in published[key].seeds:
            raise RepliboError(f"{paper}: seed {seed} of {key} is not published")
    evidence = f"{commit.of_package()[:12]}, {block.machine()}"
    equal = 0
    machines: set[str] = set()
    repeats = Parallel(n_jobs=cores, return_as="generator_unordered", pre_dispatch=cores)(
        delayed(_repeat)(Path.cwd(), config, published[key], seed) for key in keys
    )
    for key, number, before, after, spent in repeats:
        same = _first_equal(before, after)
        whole = same == len(before) == len(after)
        equal += whole
        parted = ""
        if adopt and whole:
            _adopt(published[key], adopted[key], f"seed {number}, {evidence}")
            parted = ", adopted"
        if same < min(len(before), len(after)):
            parted = f", the next differs by {abs(after[same] - before[same]):.1g}"
            if _of_today(config, published[key]):
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
    folder: Path, config: Config, runs: PublishedRuns, seed: int | None
) -> tuple[str, int, Array, Array, float]:
    """The pair, the seed, its published f, f of the same run made now, and the CPU seconds of the run."""
    os.chdir(folder)  # a worker that is used again has the folder of its first call
    pair = runs.problem, runs.algorithm
    table = publish.rows(runs.paper, *pair)
    seeds, f = (table[name].to_numpy() for name in ("seed", "f"))
    number = min(runs.seeds) if seed is None else seed
    started = time.process_time()
    job = build.experiment(config, runs.paper, runs.scale, *pair)
    run = loop.run_block(dataclasses.replace(job, horizon=runs.horizon), [number])[0]
    spent = time.process_time() - started
    return runs.key, number, f[seeds == number], np.array(run.f), spent


def _count(config: Config, paper: str) -> str:
    """The number of published pairs that today's code made, or has adopted."""
    published = of_paper(paper).values()
    count = sum(_of_today(config, runs) for runs in published)
    return f"{paper}: {count} of {len(published)} published pairs count as of today's code."


def _of_today(config: Config, runs: PublishedRuns) -> bool:
    """Whether today's code made the pair's runs, or has adopted them."""
    identity = _identity(config, runs)
    return identity is not None and identity["code"] == runs.code


def _identity(config: Config, runs: PublishedRuns) -> dict[str, Any] | None:
    """What a run of the pair depends on today; None if the config has the pair no more."""
    entry, pair = config.paper(runs.paper), (runs.problem, runs.algorithm)
    return run_identity(entry, runs.scale, *pair) if pair in entry.pairs(runs.scale) else None


def _adoptable(config: Config, runs: PublishedRuns) -> dict[str, Any] | None:
    """The identity that a pair gets by adoption; None if today's code made it, or if the config has other
    settings."""
    identity = _identity(config, runs)
    if identity is None or identity["code"] == runs.code:
        return None
    identity["horizon"] = runs.horizon
    as_before = identity_digest({**identity, "code": runs.code}) == runs.identity
    return identity if as_before else None


def _adopt(runs: PublishedRuns, identity: dict[str, Any], evidence: str) -> None:
    """Write into the footer that today's code makes the pair's runs."""
    pair = runs.problem, runs.algorithm
    code = {"identity": identity_digest(identity), "code": identity["code"], "adopted": evidence}
    content = publish.file_of(dataclasses.replace(runs, **code), publish.rows(runs.paper, *pair))
    publish.write(paths.published_folder(runs.paper), {pair: content})


def _first_equal(a: Array, b: Array) -> int:
    """The number of equal values at the start."""
    n = min(len(a), len(b))
    differences = np.flatnonzero(a[:n] != b[:n])
    return int(differences[0]) if len(differences) else n
