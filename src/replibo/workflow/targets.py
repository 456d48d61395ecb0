"""The Snakefile's view of the config: targets, input files, digests. Cheap to import."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from replibo import paths
from replibo.config import claims, load, models
from replibo.config.models import Config, FigureEntry, Pair
from replibo.data.manifest import load_manifest
from replibo.errors import RepliboError, allowed, meant
from replibo.papers import lookup
from replibo.run import code, identity, pairs
from replibo.workflow import snakemake

OutputKind = Literal["figures", "tables"]

FILES: dict[OutputKind, Callable[[str, str, str], list[str]]] = {
    "figures": paths.figure,
    "tables": paths.table,
}
"""The files of an output."""

SAVES: dict[OutputKind, str] = {
    "figures": "replibo.results.plotting.save",
    "tables": "replibo.results.tables.save",
}
"""The function that writes an output."""

WRITTEN = (
    *("replibo.verdicts", "replibo.verdict_tables", "replibo.verdict_map"),
    *SAVES.values(),
)
"""The code that writes verdicts."""


def export(config: Config, raw: Mapping[str, Any]) -> None:
    """Set the environment that the jobs inherit.

    ``PATH`` gets the folder of the Python that runs Snakemake, where ``replibo`` lies. A config that
    ``--configfile`` or ``--config`` changed reaches the jobs as a file that ``REPLIBO_CONFIG`` names;
    a config as it lies in ``config/`` needs none.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # What the shell says must not differ from the DAG's config.
    os.environ.pop(load.OVERLAY_VARIABLE, None)
    if config != load.load():
        plain = json.loads(json.dumps(raw))  # Snakemake's mappings are ordered ones
        os.environ[load.OVERLAY_VARIABLE] = str(snakemake.overlay(plain).absolute())


def scale_of(config: Config, name: str) -> str:
    """A scale, or `published`, as files are named by it (`Config.scale`)."""
    return name if name == paths.PUBLISHED else config.scale(name, also=paths.PUBLISHED)


def check_scales(config: Config, files: Collection[str]) -> None:
    """Raise a `RepliboError` if a file that is asked for lies in the folder of no scale of the config."""
    every = scales(config)
    for file in files:
        folder, _, rest = str(file).partition("/")
        scale = rest.partition("/")[0]
        if folder in ("figures", "results") and "/" in rest and scale not in every:
            names = allowed(every)
            raise RepliboError(
                f"{file}: scale: must be {names}, got {scale!r}{meant(scale, every)}"
            )


def scales(config: Config) -> list[str]:
    """Every scale as files are named by it, `published` among them."""
    return [scale_of(config, name) for name in (*models.SCALES, paths.PUBLISHED)]


def papers_at(config: Config, scale: str) -> list[str]:
    """The papers that have runs at a scale: all, or those with published traces."""
    if scale != paths.PUBLISHED:
        return list(config.papers)
    return [paper for paper in config.papers if paths.is_published(paper)]


def judged_papers(config: Config, scale: str) -> list[str]:
    """The papers that have runs at a scale and claims. The cross table has none."""
    return [paper for paper in papers_at(config, scale) if claims.load(config, paper)]


def outputs(config: Config, scale: str) -> list[str]:
    """Every figure and table of a scale, its verdicts, and what holds its runs."""
    scale = scale_of(config, scale)
    files = paths.verdicts(scale)
    for paper in papers_at(config, scale):
        files += of_paper(config, paper, scale)
    return files


def of_paper(config: Config, paper: str, scale: str) -> list[str]:
    """Every figure and table of a paper at a scale, and the files of its runs (which `publish` needs,
    whatever is shown of them); none of these where they are published."""
    files = []
    if scale != paths.PUBLISHED:
        files += pairs.files(config, paper, scale, pairs.at(config, paper, scale))
    for kind, files_of in FILES.items():
        for name in names_at(config, kind, paper, scale):
            files += files_of(scale, paper, name)
    if claims.load(config, paper):
        files += [*paths.paper_map(scale, paper), paths.judged(scale, paper)]
    return files


def names_at(config: Config, kind: OutputKind, paper: str, scale: str) -> list[str]:
    """The figures or tables of a paper that are part of a scale: all but those that the config leaves out
    there, and those none of whose runs are made."""
    paper_entry = config.paper(paper)
    entries: dict[str, FigureEntry] = getattr(paper_entry, kind)
    left_out = [] if scale == paths.PUBLISHED else paper_entry.at(scale).left_out
    return [
        name
        for name, entry in entries.items()
        if name not in left_out
        and (entry.problems == [] or output_pairs(config, kind, paper, name, scale))
    ]


def output_entry(config: Config, kind: OutputKind, paper: str, name: str) -> FigureEntry:
    """The config's entry of a figure or table, or of its reading (`shown`)."""
    return shown(config, kind, paper, name)[0]


def shown(
    config: Config, kind: OutputKind, paper: str, name: str
) -> tuple[FigureEntry, dict[Pair, Pair]]:
    """The entry of a figure or table, and for each problem and algorithm of a reading
    (``table_2.pooled``) the ones whose runs it shows. No pairs if ``name`` has no reading.

    A reading or control changes an output as it changes the claims. The output then shows the problems
    of the claims that have the reading.
    """
    base, dot, reading = name.partition(".")
    entries: dict[str, FigureEntry] = getattr(config.paper(paper), kind)
    if base not in entries:
        raise RepliboError(
            f"{paper} has no {kind[:-1]} called {base!r}; allowed: {allowed(entries)}"
            f"{meant(base, entries)}"
        )
    if not dot:
        return entries[base], {}
    changed = readings(config, kind, paper, base)
    if reading not in changed:
        raise RepliboError(
            f"{paper}.{kind}.{base}: reading: must be {allowed(changed) or 'left out'}, got {reading!r}"
            f"{meant(reading, changed)}"
        )
    return changed[reading]


def readings(
    config: Config, kind: OutputKind, paper: str, name: str
) -> dict[str, tuple[FigureEntry, dict[Pair, Pair]]]:
    """By the name of each reading or control that changes a figure or table: its entry in it, and for
    each problem and algorithm that it reads those whose runs it is given (`shown`)."""
    judged = claims.load(config, paper)
    names = dict.fromkeys(reading for claim in judged.values() for reading in claim.variations)
    outputs = {n: _in_reading(config, kind, paper, name, n, judged) for n in names}
    return {n: output for n, output in outputs.items() if output is not None}


def _in_reading(
    config: Config,
    kind: OutputKind,
    paper: str,
    name: str,
    reading: str,
    judged: Mapping[str, claims.Claim],
) -> tuple[FigureEntry, dict[Pair, Pair]] | None:
    """`shown`; None if the reading changes nothing."""
    paper_entry = config.paper(paper)
    entry: FigureEntry = getattr(paper_entry, kind)[name]
    options = lookup.options_of(kind, paper, entry.function, f"config: {paper}.{kind}.{name}")
    run = {*paper_entry.pairs("paper")}
    standing: dict[Pair, Pair] = {}
    changed: dict[str, Any] = {}
    for problem in paper_entry.problems if entry.problems is None else entry.problems:
        variation = claims.at_problem(judged, reading, problem)
        given = {key: value for key, value in variation.options.items() if key in options}
        algorithms = paper_entry.algorithms if entry.algorithms is None else entry.algorithms
        pairs_of = {(problem, a): variation.stands_in((problem, a)) for a in algorithms}
        pairs_of = {pair: other for pair, other in pairs_of.items() if other in run}
        if given or any(pair != other for pair, other in pairs_of.items()):
            standing |= pairs_of
            changed |= given
    if not standing:
        return None
    # What takes another's place is not shown a second time under its own name.
    doubled = {b for (_, a), (_, b) in standing.items() if a != b}
    standing = {pair: other for pair, other in standing.items() if pair[1] not in doubled}
    words = [
        f"{old} → {new}"
        for names in standing.items()
        for old, new in zip(*names, strict=True)
        if old != new
    ]
    words += [f"{key} = {value}" for key, value in changed.items()]
    changes = {
        "caption": f"{entry.caption} Reading {reading}: {', '.join(dict.fromkeys(words))}.",
        "problems": list(dict.fromkeys(problem for problem, _ in standing)),
        "algorithms": list(dict.fromkeys(algorithm for _, algorithm in standing)),
        "options": entry.options | changed,
    }
    return entry.model_copy(update=changes), standing


def output_pairs(config: Config, kind: OutputKind, paper: str, name: str, scale: str) -> list[Pair]:
    """The problems and algorithms whose runs a figure or table reads."""
    entry, standing = shown(config, kind, paper, name)
    if standing:
        return pairs.among(config, paper, scale, set(standing.values()))
    return pairs.at(config, paper, scale, entry.problems, entry.algorithms)


def output_files(config: Config, kind: OutputKind, paper: str, name: str, scale: str) -> list[str]:
    """The files that a figure or table reads."""
    return pairs.files(config, paper, scale, output_pairs(config, kind, paper, name, scale))


def published_digest(config: Config, paper: str) -> str:
    """What all published figures, tables and verdicts of a paper depend on besides the traces
    (`output_digest`, `verdicts_digest`)."""
    outputs: dict[str, Any] = {
        kind: {
            name: output_digest(config, kind, paper, name)
            for name in names_at(config, kind, paper, paths.PUBLISHED)
        }
        for kind in FILES
    }
    return identity.identity_digest({**outputs, "verdicts": verdicts_digest(config, paper)})


def verdict_files(config: Config, paper: str, scale: str) -> list[str]:
    """The files that the verdicts on a paper's claims read: those of the runs that a claim reads in any
    reading, and that the scale makes."""
    entry = config.paper(paper)
    wanted = {p for claim in claims.load(config, paper).values() for p in claim.all_pairs(entry)}
    return pairs.files(config, paper, scale, pairs.among(config, paper, scale, wanted))


def claim_files(config: Config, paper: str, scale: str, claim: str, reading: str) -> list[str]:
    """The files that the verdict on one claim in one reading or control (or `paths.ALL`) reads."""
    judged = claims.load(config, paper)
    if claim not in judged:
        raise RepliboError(f"{paper} has no claim called {claim!r}{meant(claim, judged)}")
    wanted = judged[claim].only(reading).all_pairs(config.paper(paper))
    return pairs.files(config, paper, scale, pairs.among(config, paper, scale, wanted))


def judged_files(config: Config, scale: str) -> list[str]:
    """The verdicts of each paper, from which those on all claims of a scale are put together."""
    scale = scale_of(config, scale)
    return [paths.judged(scale, paper) for paper in judged_papers(config, scale)]


def block_files(config: Config, paper: str, scale: str, problem: str, algorithm: str) -> list[str]:
    """The files that are collected for one problem and algorithm."""
    load.run_settings(config, paper, scale, problem, algorithm)
    return pairs.blocks(config.paper(paper), paper, scale, problem, algorithm)


def check_block(
    config: Config, paper: str, scale: str, problem: str, algorithm: str, block: str
) -> None:
    """Raise a `RepliboError` where ``block`` (``0-9``) is not made of seeds of the config."""
    load.run_settings(config, paper, scale, problem, algorithm)
    where = paths.block(scale, paper, problem, algorithm, block)
    seeds_in(block, where, config.paper(paper).seeds(scale, problem, algorithm))


def seeds_in(text: str, where: str, configured: list[int] | None = None) -> list[int]:
    """The seeds of a text like ``0-9``."""
    try:
        seeds = models.seed_list(text)
    except ValueError as error:
        raise RepliboError(f"{where}: {error}") from None
    if configured is not None and not set(seeds) <= set(configured):
        raise RepliboError(
            f"{where}: must be seeds of the config ({models.block_name(configured)}), got {text}"
        )
    return seeds


def data_files(config: Config, paper: str, scale: str, problem: str) -> list[str]:
    """The data files that a problem's runs read; none where stand-ins are used."""
    entry = config.paper(paper)
    names = entry.problems[problem].data_files
    if entry.at(scale).data == "stand_in":
        return []
    manifest = load_manifest()
    for name in names:
        if name not in manifest:
            raise RepliboError(
                f"config: {paper}.problems.{problem}.data_files: no data file is called {name!r}; "
                f"allowed: {allowed(manifest)}"
            )
    return [f"{config.data_dir}/{manifest[name].path}" for name in names]


def run_digest(config: Config, paper: str, scale: str, problem: str, algorithm: str) -> str:
    """The digest of all that a run depends on."""
    load.run_settings(config, paper, scale, problem, algorithm)
    return identity.identity_digest(
        identity.run_identity(config.paper(paper), scale, problem, algorithm)
    )


def output_digest(config: Config, kind: OutputKind, paper: str, name: str) -> str:
    """What a figure or table depends on besides the traces: its code, its entry, and the labels and
    colours of the paper."""
    entry, standing = shown(config, kind, paper, name)
    lookup.load(kind, paper, entry.function, entry.options, f"config: {paper}.{kind}.{name}")
    looks = {
        "output": entry.model_dump(exclude={"claims"}),
        "standing": sorted(standing.items()),
        "paper": _shown(config, paper),
        "code": _code(lookup.full_name(paper, entry.function), saves=SAVES[kind]),
    }
    return identity.identity_digest(looks)


def _code(*functions: str, saves: str) -> str:
    """A digest of the code of ``functions``, of what reads their runs, and of what writes the output."""
    # Tables and verdicts do not depend on how figures look, though their modules may draw some.
    plotting = "replibo.results.plotting"
    without = frozenset() if saves.startswith(plotting) else frozenset({plotting})
    return code.digest(*functions, "replibo.results.runs.read", saves, without=without)


def _shown(config: Config, paper: str) -> dict[str, Any]:
    """What outputs take from the config besides their own entries: labels, looks, parameters, and the
    paper's own sizes."""
    entry = config.paper(paper)
    return {
        "problems": {n: (p.label, p.parameters) for n, p in entry.problems.items()},
        "algorithms": {
            n: (a.label, a.color, a.line, a.marker, a.parameters)
            for n, a in entry.algorithms.items()
        },
        "sizes": {n: entry.settings("paper", n).model_dump() for n in entry.problems},
        "own sizes": {n: a.model_dump() for n, a in entry.at("paper").algorithms.items()},
    }


def verdicts_digest(config: Config, paper: str) -> str:
    """What the verdicts on a paper's claims depend on besides the traces: the claims, the code of the
    measures and of what writes verdicts, and what they take from the config."""
    judged = claims.load(config, paper)
    functions = [lookup.full_name(paper, claim.measure) for claim in judged.values()]
    return identity.identity_digest(
        {
            "code": code.digest(*functions, *WRITTEN),
            "claims": {name: claim.model_dump() for name, claim in judged.items()},
            "shown": _shown(config, paper),
        }
    )
