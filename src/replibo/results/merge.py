"""The published runs of a paper: the largest finished set for each problem and algorithm.

A set is what one code made with the same settings: runs of several codes are never mixed. It grows by
the seeds that it lacks, and gives way only to a set of no fewer queries.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replibo import paths
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.results import publish as files
from replibo.run import collect, finished, pairs, traces
from replibo.run.finished import Finished
from replibo.run.published import PublishedRuns, pairs_of, text_of, written


@dataclass
class Change:
    """The fate of the published runs of one pair.

    Attributes:
        key: ``problem/algorithm``.
        before: what is published.
        taken: the finished runs of which ``seeds`` are published anew; None where nothing is.
        seeds: the new ones.
        joins: whether they join those before; else they take their place.
        said: the same in words.
    """

    key: str
    before: PublishedRuns | None
    taken: Finished | None
    seeds: Collection[int]
    joins: bool
    said: str


def publish(config: Config, paper: str, scale: str, *, replace: bool) -> list[str]:
    """Merge the finished runs of a paper into ``published/``; returns what was done, a line a pair.

    Args:
        replace: also where fewer or shorter runs take the place of others, or another scale's.

    Raises:
        RepliboError: a variant's runs, or another scale's than those published; nothing is finished;
            damaged files. Then nothing has changed.
    """
    if config.variant:
        raise RepliboError(
            f"publish: must be runs of the config itself, got variant {config.variant!r}"
        )
    scale = config.scale(scale)
    folder = Path(paths.PUBLISHED, paper)
    before: dict[str, Any] = {"problems": {}, "timings": {}, "pairs": {}, "files": {}, "rows": 0}
    if (folder / paths.METADATA).exists():
        found = pairs.published_metadata(paper)
        if found["scale"] == scale:
            before = found
        elif not replace:
            raise RepliboError(
                f"{folder}: runs of scale {found['scale']} are published, got {scale}; "
                "allowed: --replace"
            )
    known = pairs_of(before)
    lines: list[str] = []
    changes = []
    for problem, algorithm in config.paper(paper).pairs(scale):
        key = f"{problem}/{algorithm}"
        here = finished.runs(config.paper(paper), paper, scale, problem, algorithm)
        change = _change(key, known.get(key), here[0], replace=replace)
        changes.append(change)
        lines += [f"left out: {said}" for said in here[1]]
        lines += [f"{key}: {change.said}"] if here[0] or change.before else []
    if not known and not any(change.taken for change in changes):
        raise RepliboError(
            f"{folder}: nothing is finished at scale {scale}; 'snakemake --cores 2 "
            f"{paper if scale == 'paper' else scale}' runs it"
        )
    metadata = {**before, "paper": paper, "scale": scale}
    merged = _Merged(
        config, metadata, {**before["timings"]}, {**before["problems"]}, {**known}, replace
    )
    for problem in config.paper(paper).problems:
        own = [one for one in changes if _is_of(one.key, problem) and one.taken]
        if own:
            lines += merged.take(problem, own)
    merged.write(folder)
    return lines


def _change(
    key: str,
    before: PublishedRuns | None,
    here: list[Finished],
    *,
    replace: bool,
) -> Change:
    """What to do with one pair, ``here`` being its finished runs, the largest set first, which takes the
    place of the published one where it has no fewer seeds and no shorter runs.
    """

    def say(one: Finished) -> str:
        return f"{len(one.files)} seeds, T = {one.horizon}"

    if not here:
        return Change(key, before, None, (), False, "as published: nothing is finished here")
    rest = "".join(f"; not mixed with {say(one)} made otherwise" for one in here[1:])
    largest = here[0]
    if before is None:
        return Change(key, None, largest, largest.files, False, f"new: {say(largest)}{rest}")
    was = f"{before.runs} seeds, T = {before.horizon}"
    same = next((one for one in here if one.digest == before.identity), None)
    new = same.files.keys() - before.seeds if same else frozenset()
    runs = before.runs + len(new)
    no_less = len(largest.files) >= runs and largest.queries >= before.queries
    more = len(largest.files) * largest.queries > runs * before.queries
    if new and not replace and not (no_less and more):
        said = f"joined by seeds {text_of(new)}: now {runs} seeds"
        return Change(key, before, same, new, True, said)
    if largest is same and not replace:
        return Change(key, before, None, (), False, f"as published: {was}")
    if replace or no_less:
        said = f"{say(largest)} in place of {was}{rest}"
        return Change(key, before, largest, largest.files, False, said)
    said = (
        f"as published: {was}; {say(largest)} made otherwise here are fewer or shorter; "
        "allowed: --replace"
    )
    return Change(key, before, None, (), False, said)


@dataclass
class _Merged:
    """The metadata and files as they will be."""

    config: Config
    metadata: dict[str, Any]
    timings: dict[str, Any]
    problems: dict[str, Any]
    known: dict[str, PublishedRuns]
    replace: bool

    def __post_init__(self) -> None:
        self.contents: dict[str, bytes | None] = dict.fromkeys(self.metadata["files"])
        self.rows: int = self.metadata["rows"]

    def take(self, problem: str, changes: list[Change]) -> list[str]:
        """Merge the changes of one problem; returns what is to be said besides."""
        import pyarrow as pa

        of_problem = [key for key in self.known if _is_of(key, problem)]
        replaced = {one.key for one in changes if not one.joins}
        stays = [key for key in of_problem if key not in replaced]
        horizons = {self.known[key].horizon for key in stays}
        horizons |= {one.taken.horizon for one in changes if one.taken}
        new = [one.taken.read(one.seeds, horizons) for one in changes if one.taken]
        together = collect.together(new)
        facts = traces.read_metadata(together)["problems"][problem]
        lines = []
        if stays and (other := _difference(facts, self.problems[problem])):
            if not self.replace:
                return [
                    f"{problem}: as published after all: its {other} is another than that of the runs "
                    "here; allowed: --replace"
                ]
            lines = [f"{key}: dropped, run with another {other}" for key in stays]
            stays = []
        paper = self.metadata["paper"]
        pairs_staying = [(problem, key.partition("/")[2]) for key in stays]
        kept = files.rows(paper, pairs_staying, self.metadata) if stays else []
        for key in set(of_problem) - set(stays):
            del self.known[key], self.timings[key]
        for one, part in zip(changes, new, strict=True):
            self._record(problem, one, traces.read_metadata(part), horizons)
        self.problems[problem] = {
            **facts,
            "horizon": max(own.horizon for key, own in self.known.items() if _is_of(key, problem)),
        }
        timings = self.metadata["timings"].items()
        before = sum(own["queries"] for key, own in timings if _is_of(key, problem))
        table = pa.concat_tables(
            [*kept, files.thin(together)], promote_options="default"
        ).unify_dictionaries()
        self.rows += len(table) - before
        for name in [name for name in self.contents if name.partition(".")[0] == problem]:
            del self.contents[name]
        self.contents |= files.files_of(problem, table)
        if left := files.dropped(together):
            lines.append(
                f"{problem}: without the diagnostics {', '.join(left)}, which nothing reads"
            )
        return lines

    def _record(
        self, problem: str, one: Change, of: dict[str, Any], horizons: Collection[int]
    ) -> None:
        """Write down what one pair's published runs are now; ``of``: the new ones' metadata."""
        assert one.taken is not None
        timing = of["timings"][one.key]
        runs, seeds, best_at = len(one.seeds), frozenset(one.seeds), set(horizons)
        origin = {key: tuple(of[key]) for key in collect.ORIGIN}
        if one.joins and one.before:
            timing = collect.added(self.timings[one.key], timing)
            runs, seeds = runs + one.before.runs, seeds | one.before.seeds
            best_at &= {*one.before.best_at}
            origin = {
                key: (
                    *getattr(one.before, key),
                    *(v for v in new if v not in getattr(one.before, key)),
                )
                for key, new in origin.items()
            }
        self.timings[one.key] = timing
        self.known[one.key] = PublishedRuns(
            runs=runs,
            queries=one.taken.queries,
            horizon=one.taken.horizon,
            seeds=seeds,
            identity=one.taken.digest,
            code=one.taken.identity["code"],
            best_at=tuple(sorted(h for h in best_at if h <= one.taken.horizon)),
            changed_config=finished.is_changed(
                self.metadata["paper"], self.metadata["scale"], one.taken.identity
            ),
            adopted=one.before.adopted if one.joins and one.before else "",
            **origin,
        )

    def write(self, folder: Path) -> None:
        """Write everything, the pairs in the config's order."""
        entry = self.config.paper(self.metadata["paper"])
        order = {f"{p}/{a}": i for i, (p, a) in enumerate(entry.pairs(self.metadata["scale"]))}
        keys = sorted(self.known, key=lambda key: order.get(key, len(order)))
        known = {key: self.known[key] for key in keys}
        problems = dict.fromkeys(key.partition("/")[0] for key in keys)
        metadata = {
            "paper": self.metadata["paper"],
            "scale": self.metadata["scale"],
            "problems": {name: self.problems[name] for name in problems},
            "timings": {key: self.timings[key] for key in keys},
            "changed_config": any(own.changed_config for own in known.values()),
            **written(known),
            "rows": self.rows,
        }
        files.write(folder, metadata, self.contents, self.metadata["files"])


def _is_of(key: str, problem: str) -> bool:
    return key.partition("/")[0] == problem


def _difference(facts: dict[str, Any], before: dict[str, Any]) -> str:
    """What tells two problems of one name apart; empty where nothing does."""
    for key in ("dim", "initial_points", "stand_in"):
        if facts[key] != before[key]:
            return key
    for key in ("optimal_value", "noise_std"):
        numbers = facts[key], before[key]
        if None not in numbers and not math.isclose(*numbers, rel_tol=1e-6):
            return key
    recorded = facts.get("recorded", {}), before.get("recorded", {})
    return "record" if all(recorded) and recorded[0] != recorded[1] else ""
