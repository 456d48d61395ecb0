"""``replibo check``: one claim in one reading, by runs made here, beside the published verdict."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import paths
from replibo.config import claims
from replibo.config.claims import PRINTED, Claim
from replibo.config.models import Config, block_name
from replibo.errors import RepliboError, allowed
from replibo.messages import counted
from replibo.run import pairs
from replibo.workflow import snakemake, targets, terminal

if TYPE_CHECKING:
    from replibo.results.runs import Runs
    from replibo.verdicts import Judgement

SEEDS = 20
"""Seeds of each algorithm unless others are asked for; fewer if the paper has fewer."""
SEEDS_PER_JOB = 10
"""Seeds that one job runs at most, unless an algorithm's seeds share work."""

SAME_SEEDS = "published, these seeds"
"""The column of the published runs of those seeds that were run here."""


@dataclass(frozen=True)
class Check:
    """A claim that is to be checked.

    Attributes:
        name: of the claim.
        paper: that makes it.
        claim: with the reading (or control) that is asked for alone.
        reading: its name, or `paths.ALL`.
        variant: the config with the seeds that are asked for.
        cores: jobs that run at one time.
        seeds: of the algorithms, in words.
        narrow: without the problems that the claim reads if there are runs (`Claim.also`).
    """

    name: str
    paper: str
    claim: Claim
    reading: str
    variant: snakemake.Variant
    cores: int
    seeds: str
    narrow: bool

    @property
    def target(self) -> str:
        """The file of the verdict."""
        return paths.claim(self.variant.scale, self.paper, self.name, self.reading)

    @property
    def figure(self) -> Path:
        """The file of the curves."""
        name = f"{self.name}_{self.reading}.png"
        return Path("figures", self.variant.scale, self.paper, "claims", name)


def prepare(
    config: Config,
    overlays: Sequence[Path],
    name: str,
    reading: str,
    seeds: str | None,
    cores: int,
    *,
    narrow: bool = False,
) -> Check:
    """The runs to check. The arguments are the command's; ``overlays`` are files laid over the config."""
    paper, whole = claims.find(config, name)
    claim = whole.only(reading)
    if reading == PRINTED and claim.unprinted:
        others = [label for label in (*whole.readings, *whole.controls) if label != PRINTED]
        raise RepliboError(
            f"{name} is not judged as printed: {claim.unprinted}; --reading: must be "
            f"{allowed([*others, paths.ALL])}"
        )
    entry = config.paper(paper)
    wanted = pairs.among(config, paper, config.scale("paper"), claim.all_pairs(entry))
    if narrow:
        needed = {problem for problem, _ in claim.needed_pairs()}
        wanted = [pair for pair in wanted if pair[0] in needed]
    configured = {pair: entry.seeds("paper", *pair) for pair in wanted}
    asked = _asked(seeds, sorted({*itertools.chain(*configured.values())}))
    settings: dict[str, Any] = {}
    for algorithm in dict.fromkeys(algorithm for _, algorithm in wanted):
        problems = [problem for problem, other in wanted if other == algorithm]
        its_seeds = [configured[problem, algorithm] for problem in problems]
        common = [seed for seed in asked if all(seed in row for row in its_seeds)]
        if not common:
            raise RepliboError(f"--seeds: {algorithm} has the seeds {block_name(its_seeds[0])}")
        together = entry.algorithms[algorithm].seeds_per_job
        at_once = [entry.settings("paper", problem).seeds_per_job or 1 for problem in problems]
        settings[algorithm] = {
            "seeds": block_name(common),
            "seeds_per_job": together or min(*at_once, SEEDS_PER_JOB),
        }
    every_problem = sorted({problem for problem, _ in wanted})
    change = {paper: {"scales": {"paper": {"only": every_problem, "algorithms": settings}}}}
    variant = snakemake.Variant(config, overlays, "check", change)
    shown = ", ".join(sorted({changed["seeds"] for changed in settings.values()}))
    return Check(name, paper, claim, reading, variant, cores, shown, narrow)


def _asked(seeds: str | None, configured: list[int]) -> list[int]:
    if seeds is None:
        return configured[:SEEDS]
    return configured if seeds == "all" else targets.seeds_in(seeds, "--seeds", configured)


def cost(check: Check) -> str:
    """The claim, and what its runs cost from nothing, in a few lines."""
    from replibo.run.progress import duration
    from replibo.verdict_tables import wrapped
    from replibo.workflow.estimate import estimate

    needs = estimate(check.variant.config, [check.target], cores=check.cores)
    slow = needs.slowness or 1.0
    lines = [
        f"{check.name} ({check.reading}): {check.claim.short}",
        f"{check.claim.where}: {check.claim.statement}",
        f"Cost: {counted(needs.total('jobs'), 'job')}, {needs.cpu * slow / 3600:.2g} core hours, about "
        f"{duration(needs.wall_seconds * slow)} on {counted(check.cores, 'free core')}; "
        f"seeds {check.seeds}; less if the same seeds were run before.",
    ]
    needed = {problem for problem, _ in check.claim.needed_pairs()}
    others = [name for name in check.claim.also if name not in needed]
    if others and check.narrow:
        lines.append(
            f"Without {', '.join(others)}: fewer comparisons than the published verdict has, and "
            "p-values that are corrected for fewer tests."
        )
    elif others:
        lines.append(f"It reads {', '.join(others)} as well; --narrow leaves these out.")
    lines += _missing_data(check)
    return "\n".join(text for line in lines for text in wrapped("", line))


def _missing_data(check: Check) -> list[str]:
    """A line on the data files that the runs need and that are not here; none if nothing is missing."""
    from replibo.run import build

    config, paper, scale = check.variant.config, check.paper, check.variant.scale
    entry = config.paper(paper)
    if entry.at(scale).data == "stand_in":
        return []
    wanted = pairs.among(config, paper, scale, check.claim.all_pairs(entry))
    left = {*wanted} - {*pairs.there(config, paper, scale, wanted)}
    problems = sorted({problem for problem, _ in left})
    names = dict.fromkeys(
        name for problem in problems for name in build.missing_data(config, entry.problems[problem])
    )
    fetch = f"'replibo fetch {' '.join(names)}' gets them; nothing is run without them."
    return [f"Missing data files: {', '.join(names)}. {fetch}"] if names else []


def run(check: Check, *, verbose: bool = False) -> None:
    """Make the runs and the verdict."""
    if missing := _missing_data(check):
        raise RepliboError(missing[0])
    check.variant.make([check.target], check.cores, verbose=verbose)


def result(config: Config, check: Check) -> str:
    """The published verdict, that of the published runs of the same seeds if these are fewer, and the one
    of the runs made here, side by side, and the figure's path."""
    from replibo import verdicts
    from replibo.results import plotting
    from replibo.results.runs import read

    (mine,) = verdicts.read_written(Path(check.target))
    entry = config.paper(check.paper)
    wanted = check.claim.all_pairs(entry)
    runs = {}
    for scale, of in ((paths.PUBLISHED, config), (check.variant.scale, check.variant.config)):
        there = pairs.there(of, check.paper, scale, pairs.among(of, check.paper, scale, wanted))
        if there:
            runs[scale] = read(of, check.paper, scale, there, check.target)
    published, here = runs.get(paths.PUBLISHED), runs[check.variant.scale]
    columns: dict[str, dict[str, Judgement]] = {"published": {}}
    if published:
        shown = {"published": published, SAME_SEEDS: published.of_the_seeds_in(here)}
        if len(shown[SAME_SEEDS].table) == len(published.table):
            del shown[SAME_SEEDS]
        for title, of_title in shown.items():
            judged = verdicts.judge_claim(check.name, check.paper, check.claim, entry, of_title)
            columns[title] = {row.name: row for row in (*judged.readings, *judged.controls)}
    parts = [
        _side_by_side(row, {title: by_name.get(row.name) for title, by_name in columns.items()})
        for row in (*mine.readings, *mine.controls)
    ]
    figure = _figure(check, published and published.of_the_seeds_in(here), here)
    plotting.save(figure, [check.figure, check.figure.with_suffix(".txt")])
    paths_of_both = f"figure: {check.figure}\nverdict: {check.target}"
    return "\n\n".join([*parts, _equal(published, here), paths_of_both])


def _side_by_side(mine: Judgement, published: Mapping[str, Judgement | None]) -> str:
    """The verdicts, and each comparison with its numbers: the published ones by the titles of their
    columns, then ours."""
    sides = {**published, "yours": mine}
    rows: list[tuple[str, ...]] = [
        ("verdict", *(side.verdict if side else "not published" for side in sides.values())),
        ("seeds", *(str(side.seeds) if side else "" for side in sides.values())),
    ]
    compared = [side.comparisons if side else () for side in sides.values()]
    for number, row in enumerate(itertools.zip_longest(*compared), 1):
        cells = (f"{cell.outcome}: {cell.said()}" if cell else "–" for cell in row)
        rows.append((str(number), *cells))
    reasons = [side.reason if side else "" for side in sides.values()]
    if any(reasons):
        rows.append(("", *reasons))
    table = terminal.wrapped((mine.name, *sides), rows)
    lines = []
    for title, theirs in zip(published, compared, strict=False):
        if theirs and mine.comparisons:
            same = sum(
                a.outcome == b.outcome for a, b in zip(theirs, mine.comparisons, strict=False)
            )
            lines.append(f"The same outcome in {same} of {len(theirs)} comparisons ({title}).")
    return table + "\n\n" * bool(lines) + "\n".join(lines)


def _equal(published: Runs | None, mine: Runs) -> str:
    """The number of runs with the same values as the published ones, to the last bit."""
    if published is None:
        return "Of these runs none is published."
    counts: dict[str, list[bool]] = {}
    for problem in mine.problems():
        for name in mine.algorithms(problem):
            if published.has(problem, name):
                new, old = mine.by_seed(problem, name), published.by_seed(problem, name)
                for seed in new.keys() & old.keys():
                    length = min(len(new[seed]), len(old[seed]))
                    same = np.array_equal(new[seed][:length], old[seed][:length])
                    counts.setdefault(name, []).append(same)
    total, equal = sum(map(len, counts.values())), sum(map(sum, counts.values()))
    each = ", ".join(f"{name} {sum(same)}/{len(same)}" for name, same in counts.items())
    text = f"{equal} of {total} runs are equal to the published ones to the last bit ({each})."
    if equal < total:
        text += " Other processors and libraries round otherwise; runs then agree statistically."
    return "\n".join(textwrap.wrap(text, terminal.WIDTH))


def _figure(check: Check, published: Runs | None, mine: Runs) -> Any:
    """The curves of the published runs with the same seeds, and over them those of the runs made here."""
    from replibo.results import curves, plotting

    panels = {}
    for problem in mine.problems():
        names = mine.algorithms(problem)
        panels[mine.problem_label(problem)] = [
            *(curves.of_runs(published, problem, names) if published else ()),
            *curves.of_runs(mine, problem, names, label=", here", line="dotted"),
        ]
    intervals = (
        "Bars right of the last round: 95 % intervals at it (Student), in the legend's order."
    )
    if plotting.has_bands(panels):
        intervals = "Shaded: 95 % intervals (Student)."
    caption = (
        f"{check.name} ({check.reading}): runs made here (dotted), and the published ones of the same "
        f"problems and seeds. Seeds: {check.seeds}. Means over them. Simple regret: f* minus the best "
        "value so far; the best value itself if f* is not known. Cumulative regret: the sum of f* − f "
        f"over the queries after the initial points. {intervals}"
    )
    return curves.best_so_far(panels, caption, cumulative=True)
