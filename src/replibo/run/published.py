"""What the metadata of published traces say of the runs of each problem and algorithm."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from replibo.config.models import block_name, seed_list
from replibo.run.collect import ORIGIN


@dataclass(frozen=True)
class PublishedRuns:
    """The published runs of one problem and algorithm: made by one code, with the same settings.

    Attributes:
        runs: their number.
        queries: of one run.
        horizon: T, the last round.
        identity, code: digests of all that the runs depend on except the seed, and of their code.
        best_at: x is kept for the best queries up to each of these rounds.
        changed_config: whether the settings are others than the config's.
        versions, machine, commit: of libraries, machines and code; all that there were.
        adopted: the seed that ``code`` made again to the last bit, with the commit and the machine, if
            other code made the runs; else empty.
    """

    runs: int
    queries: int
    horizon: int
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
    def size(self) -> int:
        """Queries of all runs."""
        return self.runs * self.queries


def pairs_of(metadata: Mapping[str, Any]) -> dict[str, PublishedRuns]:
    """The published runs by ``problem/algorithm``."""
    found = {}
    for key, own in metadata["pairs"].items():
        timing = metadata["timings"][key]
        known = {
            **own,
            "runs": timing["runs"],
            "queries": timing["queries"] // timing["runs"],
            "seeds": parsed(own["seeds"]),
            "best_at": tuple(own["best_at"]),
            **{name: tuple(metadata[name][i] for i in own[name]) for name in ORIGIN},
        }
        found[key] = PublishedRuns(**known)
    return found


def written(found: Mapping[str, PublishedRuns]) -> dict[str, Any]:
    """The part of the metadata that `pairs_of` reads: ``pairs``, and what all of them were made with."""
    everything: dict[str, list[Any]] = {}
    for name in ORIGIN:
        values = (value for own in found.values() for value in getattr(own, name))
        texts = {json.dumps(value, sort_keys=True) for value in values}
        everything[name] = [json.loads(text) for text in sorted(texts)]
    pairs = {}
    for key, own in found.items():
        pairs[key] = {
            **{f.name: getattr(own, f.name) for f in fields(own)},
            "seeds": text_of(own.seeds),
            **{n: [everything[n].index(value) for value in getattr(own, n)] for n in ORIGIN},
        }
        del pairs[key]["runs"], pairs[key]["queries"]  # the timings say them
        if not own.adopted:
            del pairs[key]["adopted"]
    return {"pairs": pairs, **everything}


def text_of(seeds: Collection[int]) -> str:
    """``0-3,5``."""
    blocks: list[list[int]] = []
    for seed in sorted(seeds):
        if blocks and blocks[-1][-1] == seed - 1:
            blocks[-1].append(seed)
        else:
            blocks.append([seed])
    return ",".join(map(block_name, blocks))


def parsed(text: str) -> frozenset[int]:
    """The seeds in what `text_of` made."""
    return frozenset(seed for part in text.split(",") if part for seed in seed_list(part))
