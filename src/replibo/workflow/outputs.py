"""Making the outputs that the rules ask for: figures, tables, verdicts."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replibo import messages, paths
from replibo.config.claims import load as load_claims
from replibo.config.claims import names as names_of_claims
from replibo.config.models import Config, FigureEntry, Pair, PaperEntry
from replibo.errors import RepliboError, allowed, meant
from replibo.papers import lookup
from replibo.workflow import targets, terminal
from replibo.workflow.targets import OutputKind

if TYPE_CHECKING:
    from replibo.verdicts import Verdict

FIGURE_ENDINGS = ("pdf", "png", "svg", "txt")


def check_endings(files: Sequence[Path], endings: Sequence[str]) -> None:
    """Raise a `RepliboError` where a file has another ending."""
    for path in files:
        if path.suffix[1:] not in endings:
            raise RepliboError(f"--output {path}: must end in {allowed(endings)}")


def output(
    config: Config, kind: OutputKind, paper: str, name: str, scale: str, files: Sequence[Path]
) -> None:
    """Make a figure or table from its own runs."""
    check_endings(files, FIGURE_ENDINGS if kind == "figures" else paths.TABLE_FORMATS)
    content = made_from_own_runs(config, kind, paper, name, scale)
    module = targets.SAVES[kind].removesuffix(".save")
    importlib.import_module(module).save(content, files)  # late: tables need no Matplotlib


def every(config: Config, paper: str, scale: str) -> None:
    """Make every figure and table of a paper at a scale, and the verdicts on its claims, where the
    workflow has them.
    """
    scale = targets.scale_of(config, scale)
    for kind, files in targets.FILES.items():
        for name in targets.names_at(config, kind, paper, scale):
            try:
                output(config, kind, paper, name, scale, [*map(Path, files(scale, paper, name))])
            except RepliboError as error:
                raise RepliboError(f"{kind[:-1]} {name}: {error}") from None
    if load_claims(config, paper):
        judged = [*paths.paper_map(scale, paper), paths.judged(scale, paper)]
        claims(config, [paper], scale, [*map(Path, judged)])


def made_from_own_runs(config: Config, kind: OutputKind, paper: str, name: str, scale: str) -> Any:
    """A figure or table, from the runs of its own problems and algorithms."""
    scale = targets.scale_of(config, scale)
    entry, standing = targets.shown(config, kind, paper, name)
    where = f"config: {paper}.{kind}.{name}"
    wanted = targets.output_pairs(config, kind, paper, name, scale)
    if not wanted and entry.problems != []:
        raise RepliboError(f"{where}: none of its runs are made at scale {scale}")
    function = lookup.load(kind, paper, entry.function, entry.options, where)
    from replibo.results.runs import read

    files = paths.figure if kind == "figures" else paths.table
    runs = read(config, paper, scale, wanted, files(scale, paper, name)[0])
    named = [pair for pair, other in standing.items() if other in wanted] if standing else wanted
    runs = dataclasses.replace(runs, left_out=left_out(config, paper, entry, named))
    if standing:
        runs = runs.of(standing.values()).standing_for(standing)
        runs = dataclasses.replace(runs, entry=_labelled(config, paper, runs.entry, standing, name))
    try:
        return function(runs, entry, **entry.options)
    except Exception as error:
        if isinstance(error, RepliboError) and str(error).startswith("options."):
            raise RepliboError(f"{where}.{error}") from None
        if wanted:
            raise
        # a function that reads runs, and an entry that has none
        raise RepliboError(f"{where}.problems: must name a problem, got []") from error


def _labelled(
    config: Config, paper: str, entry: PaperEntry, standing: Mapping[Pair, Pair], name: str
) -> PaperEntry:
    """The entry in which an algorithm that several others stand for keeps its label, with the reading."""
    algorithms = dict(entry.algorithms)
    for algorithm, plain in config.paper(paper).algorithms.items():
        if len({other for (_, shown), (_, other) in standing.items() if shown == algorithm}) > 1:
            label = f"{plain.label}, {name.partition('.')[2]}"
            algorithms[algorithm] = plain.model_copy(update={"label": label})
    return entry.model_copy(update={"algorithms": algorithms})


def left_out(config: Config, paper: str, entry: FigureEntry, wanted: Sequence[Pair]) -> str:
    """What an output's entry names and its runs lack: problems, then algorithms; empty where nothing is.
    An algorithm that the config runs on some of the problems is not missing on the others."""
    paper_entry = config.paper(paper)
    problems = list(dict.fromkeys(problem for problem, _ in wanted))
    without = [
        paper_entry.problems[name].label for name in entry.problems or () if name not in problems
    ]
    full = paper_entry.pairs("paper", entry.problems, entry.algorithms)
    parts = []
    for algorithm in entry.algorithms or ():
        configured = [problem for problem, name in full if name == algorithm]
        asked = [problem for problem in configured if problem in problems]
        missing = [paper_entry.problems[p].label for p in asked if (p, algorithm) not in wanted]
        if missing or (not configured and entry.problems != []):
            where = "" if len(missing) == len(asked) else f" on {' and '.join(missing)}"
            parts.append(f"{paper_entry.algorithms[algorithm].label}{where}")
    text = f"Without runs: {'; '.join(without)}. " if without else ""
    text += f"Not run: {'; '.join(parts)}." if parts else ""
    return text.strip()


def claims(
    config: Config,
    names: Sequence[str],
    scale: str,
    files: Sequence[Path],
    *,
    in_full: bool = False,
    judged: Sequence[Path] = (),
    reading: str = paths.ALL,
) -> str:
    """Judge the claims of some papers, or some claims (all where none is named), and write tables and
    maps of the verdicts to ``files``, or the verdicts themselves (json).

    Args:
        in_full: return the table as CSV.
        reading: judge this reading or control alone.
        judged: files of verdicts that stand as they are; the claims are not judged again.

    Returns:
        A line for each claim; the whole of each claim where claims are named.
    """
    check_endings(files, (*paths.TABLE_FORMATS, *FIGURE_ENDINGS, "json"))
    scale = targets.scale_of(config, scale)
    from replibo import verdict_map, verdict_tables, verdicts
    from replibo.results import plotting, tables

    paper_of = names_of_claims(config)
    for name in names:
        if name not in config.papers and name not in paper_of:
            raise RepliboError(
                f"claims: must be a paper ({allowed(config.papers)}) or a claim ('replibo claims' lists "
                f"them), got {name!r}{meant(name, [*paper_of, *config.papers])}"
            )
    if reading != paths.ALL and not (names and set(names) <= paper_of.keys()):
        raise RepliboError("--reading: must be given with claims, got none or a paper")
    wanted = {name if name in config.papers else paper_of[name] for name in names}
    papers = [paper for paper in config.papers if not names or paper in wanted]
    if judged:
        verdict_list = [verdict for path in judged for verdict in verdicts.read_written(path)]
    else:
        if not names and scale == paths.PUBLISHED:
            messages.tell("judging all claims anew from the published traces: about a minute")
        alone = [] if set(names) & set(config.papers) else names
        verdict_list = verdicts.judge_all(config, papers, scale, alone, reading)
    if names:
        verdict_list = [
            verdict for verdict in verdict_list if verdict.paper in names or verdict.name in names
        ]
        judged_names = {name for verdict in verdict_list for name in (verdict.paper, verdict.name)}
        if unknown := set(names) - judged_names:
            raise RepliboError(f"claims: there is no verdict on {allowed(unknown)}")
    if maps := [path for path in files if path.suffix[1:] in FIGURE_ENDINGS]:
        labels = {paper: config.paper(paper).label for paper in papers}
        plotting.save(verdict_map.verdict_map(verdict_list, scale, labels), maps)
    for path in files:
        if path.suffix == ".json":
            verdicts.write(path, verdict_list)
    rest = [path for path in files if path.suffix[1:] in paths.TABLE_FORMATS]
    shown = rest or in_full or set(names) & paper_of.keys()
    costs = missing_costs(config, verdict_list) if shown else {}
    if rest:
        tables.save(verdict_tables.table(verdict_list, costs), rest)
    if in_full:
        rows = verdict_tables.rows(verdict_list, costs)
        return terminal.as_csv(verdict_tables.COLUMNS, list(rows))
    if set(names) & paper_of.keys():
        brief = reading == paths.ALL
        texts = (
            "\n".join(verdict_tables.whole(verdict, costs, brief=brief)) for verdict in verdict_list
        )
        return "\n\n".join(texts)
    return "\n".join(verdict_tables.lines(verdict_list))


def missing_costs(config: Config, judged: Sequence[Verdict]) -> dict[tuple[str, str], str]:
    """By claim and reading that was not run: what its missing runs would cost at the paper's own scale,
    in words; those that nothing is known of are left out."""
    from replibo.workflow.costs import cost_in_paper, measured

    costs: dict[tuple[str, str], str] = {}
    rows = [(v, row) for v in judged for row in (*v.readings, *v.controls) if row.missing]
    timings = measured(config, config.papers)[0] if rows else {}
    for verdict, row in rows:
        entry = config.paper(verdict.paper)
        seconds = []
        for pair in row.missing:
            queries = entry.queries(entry.settings("paper", *pair))
            seeds = len(entry.seeds("paper", *pair))
            if cost := cost_in_paper(entry, timings[verdict.paper], *pair, queries, seeds):
                seconds.append(cost.seconds)
        if seconds:
            unknown = len(row.missing) - len(seconds)
            more = f" and {unknown} of {len(row.missing)} unknown" if unknown else ""
            hours = sum(seconds) / 3600
            costs[verdict.name, row.name] = f"about {hours:.2g} core hours{more}"
    return costs
