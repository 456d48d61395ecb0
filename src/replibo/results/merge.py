"""The published runs of a paper: the largest finished set for each problem and algorithm.

A set is what one code made with the same settings: runs of several codes are never mixed. It grows by
the seeds that it lacks, and gives way only to a set of no fewer queries.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from replibo import paths
from replibo.config.models import Config, Pair
from replibo.errors import RepliboError
from replibo.messages import counted
from replibo.results import publish as files
from replibo.run import collect, finished, published, traces
from replibo.run.finished import Finished
from replibo.run.published import PublishedRuns, text_of


@dataclass
class Change:
    """The fate of the published runs of one pair.

    Attributes:
        key: ``problem/algorithm``.
        before: what is published.
        fate: what becomes of them, in words.
        taken: the finished runs of which ``seeds`` are published anew; None if nothing is.
        seeds: the new ones.
        joins: whether they join those before; else they take their place.
    """

    key: str
    before: PublishedRuns | None
    fate: str
    taken: Finished | None = None
    seeds: Collection[int] = ()
    joins: bool = False


def publish(
    config: Config, paper: str, scale: str, *, replace: bool
) -> tuple[list[str], list[str]]:
    """Merge the finished runs of a paper into ``published/``; returns what was done, a line for each pair
    that has finished runs, and how many others are published; and a line for each file left out.

    Args:
        replace: also where fewer or shorter runs take the place of others, or another scale's.
    """
    if config.variant:
        raise RepliboError(
            f"publish: must be runs of the config itself, got variant {config.variant!r}"
        )
    scale = config.scale(scale)
    folder = paths.published_folder(paper)
    before = published.of_paper(paper)
    other_scale = next((runs.scale for runs in before.values() if runs.scale != scale), scale)
    if other_scale != scale and not replace:
        raise RepliboError(
            f"{folder}: runs of scale {other_scale} are published, got {scale}; allowed: --replace"
        )
    of_scale = before if other_scale == scale else {}
    contents: dict[Pair, bytes | None] = {
        (runs.problem, runs.algorithm): None for runs in before.values() if runs.scale != scale
    }
    lines: list[str] = []
    left_out: list[str] = []
    changes, unchanged = [], 0
    for problem, algorithm in config.paper(paper).pairs(scale):
        key = f"{problem}/{algorithm}"
        here, faults = finished.runs(config.paper(paper), paper, scale, problem, algorithm)
        left_out += [f"left out: {fault}" for fault in faults]
        if here:
            changes.append(_change(key, of_scale.get(key), here, replace=replace))
            lines.append(f"{key}: {changes[-1].fate}")
        else:
            unchanged += key in of_scale
    if not of_scale and not any(change.taken for change in changes):
        return [], left_out
    for problem in config.paper(paper).problems:
        taken = [change for change in changes if _is_of(change.key, problem) and change.taken]
        if taken:
            of_problem = {key: runs for key, runs in of_scale.items() if _is_of(key, problem)}
            lines += _merge(problem, taken, of_problem, contents, replace=replace)
    replaced = {change.key for change in changes if change.taken}
    lines += [
        f"{key}: dropped, run at scale {other_scale}"
        for key in before
        if before is not of_scale and key not in replaced
    ]
    if contents:
        files.write(folder, contents)
    if unchanged:
        lines.insert(0, f"{unchanged} as published: nothing of them is finished here")
    return lines, left_out


def _change(
    key: str, before: PublishedRuns | None, sets: list[Finished], *, replace: bool
) -> Change:
    """What to do with one pair, ``sets`` being its finished runs, the largest set first, which takes the
    place of the published one if it has no fewer seeds and no shorter runs."""

    def say(runs: Finished) -> str:
        return f"{counted(len(runs.files), 'seed')}, T = {runs.horizon}"

    unmixed = "".join(f"; not mixed with {say(run_set)} made otherwise" for run_set in sets[1:])
    largest = sets[0]
    if before is None:
        return Change(key, None, f"new: {say(largest)}{unmixed}", largest, largest.files)
    was = f"{counted(before.runs, 'seed')}, T = {before.horizon}"
    same = next((run_set for run_set in sets if run_set.digest == before.identity), None)
    new = same.files.keys() - before.seeds if same else frozenset()
    runs = before.runs + len(new)
    no_less = len(largest.files) >= runs and largest.queries >= before.queries
    more = len(largest.files) * largest.queries > runs * before.queries
    if new and not replace and not (no_less and more):
        fate = f"joined by seeds {text_of(new)}: now {runs} seeds"
        return Change(key, before, fate, same, new, joins=True)
    if largest is same and not replace:
        return Change(key, before, f"as published: {was}")
    if replace or no_less:
        fate = f"{say(largest)} in place of {was}{unmixed}"
        return Change(key, before, fate, largest, largest.files)
    less = f"{say(largest)} made otherwise here are fewer or shorter; allowed: --replace"
    return Change(key, before, f"as published: {was}; {less}")


def _merge(
    problem: str,
    changes: list[Change],
    before: dict[str, PublishedRuns],
    contents: dict[Pair, bytes | None],
    *,
    replace: bool,
) -> list[str]:
    """Put the files of one problem's changed pairs into ``contents``; returns what is to be said besides.

    Args:
        before: what is published of the problem.
    """
    import pyarrow as pa

    replaced = {change.key for change in changes if not change.joins}
    stays = {key: runs for key, runs in before.items() if key not in replaced}
    horizons = {runs.horizon for runs in stays.values()}
    horizons |= {change.taken.horizon for change in changes if change.taken}
    tables = [change.taken.read(change.seeds, horizons) for change in changes if change.taken]
    together = collect.together(tables)
    facts = traces.read_metadata(together)["problems"][problem]
    differences = [_difference(facts, runs.facts) for runs in stays.values()]
    difference = next(filter(None, differences), "")
    if difference and not replace:
        return [
            f"{problem}: as published after all: its {difference} is another than that of the runs "
            "here; allowed: --replace"
        ]
    lines = [f"{key}: dropped, run with another {difference}" for key in stays if difference]
    contents |= {(problem, runs.algorithm): None for runs in stays.values() if difference}
    for change, table in zip(changes, tables, strict=True):
        joined = change.before if change.joins and not difference else None
        runs = _published(change, joined, traces.read_metadata(table), horizons)
        if joined:
            rows = files.rows(joined.paper, problem, joined.algorithm)
            table = pa.concat_tables([rows, files.thin(table)], promote_options="default")
        contents[problem, runs.algorithm] = files.file_of(runs, table.unify_dictionaries())
    if names := files.dropped(together):
        lines.append(f"{problem}: without the diagnostics {', '.join(names)}, which nothing reads")
    return lines


def _published(
    change: Change,
    before: PublishedRuns | None,
    metadata: dict[str, Any],
    horizons: Collection[int],
) -> PublishedRuns:
    """What one pair's published runs are now.

    Args:
        before: those that the new ones join.
        metadata: of the new ones.
        horizons: the rounds up to which x of the best queries is kept.
    """
    taken = change.taken
    assert taken is not None
    problem, _, algorithm = change.key.partition("/")
    timing, seeds, best_at = metadata["timings"][change.key], frozenset(change.seeds), set(horizons)
    origin = {name: tuple(metadata[name]) for name in collect.ORIGIN}
    if before:
        timing, seeds = collect.added(before.timing, timing), seeds | before.seeds
        best_at &= {*before.best_at}
        for name, new in origin.items():
            old = getattr(before, name)
            origin[name] = (*old, *(value for value in new if value not in old))
    return PublishedRuns(
        paper=metadata["paper"],
        scale=metadata["scale"],
        problem=problem,
        algorithm=algorithm,
        facts={**metadata["problems"][problem], "horizon": taken.horizon},
        timing=timing,
        seeds=seeds,
        identity=taken.digest,
        code=taken.identity["code"],
        best_at=tuple(sorted(h for h in best_at if h <= taken.horizon)),
        changed_config=finished.is_changed(metadata["paper"], metadata["scale"], taken.identity),
        adopted=before.adopted if before else "",
        **origin,
    )


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
