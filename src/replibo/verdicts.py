"""The verdicts: what our runs say about each claim of the papers, in each of its readings.

A claim (``config/claims/PAPER.yaml``) names a *measure*, a function of the paper's module which splits
the claim into elementary comparisons and says of each whether the runs support it, contradict it or leave
it open. From these to the verdict the rule is the same for all claims (`replibo.results.comparisons`).

A *reading* is one defensible way to run or to measure what the paper says: it substitutes problems,
algorithms or options, and the measure is made again. A *control* does the same, is no reading of the
paper, and is never counted. From the verdicts of its readings a claim (`Verdict.overall`)

=============================== =====================================================================
not run as printed              the reading `printed` was not run, others were
holds in every reading          all that were run hold
holds by construction           the same of a claim that could hardly fail (`Claim.weak`)
holds in part in every reading  all that were run hold in part
holds in none                   none of those that were run holds, even in part, and one at least does not
depends on the reading          they differ; `Verdict.deciding` names those that are not as printed
open                            all that were run are open
not run                         none was run
=============================== =====================================================================

A verdict of runs that are smaller than those behind the paper's statement, or on stand-in data, has the
same words, followed by what is reduced. *Replicated* is said only of a claim that holds as printed in
runs of the paper's own size on its own data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from replibo import files, paths
from replibo.config.claims import PRINTED, Claim, Source, load
from replibo.config.models import Config, Pair, PaperEntry
from replibo.errors import RepliboError
from replibo.papers import lookup
from replibo.results.comparisons import Comparison, MissingRunsError, Word, judge
from replibo.results.runs import Runs, read
from replibo.run import pairs

Overall = Literal[
    "holds in every reading",
    "holds by construction",
    "holds in part in every reading",
    "holds in none",
    "depends on the reading",
    "open",
    "not run as printed",
    "not run",
]

UNANIMOUS: Mapping[Word, Overall] = {
    "holds": "holds in every reading",
    "holds in part": "holds in part in every reading",
    "does not hold": "holds in none",
    "open": "open",
}


@dataclass(frozen=True)
class Judgement:
    """What our runs say about a claim in one reading, or in one control.

    Attributes:
        name: of the reading or control, in the claims' file.
        source: where a reading comes from; None of a control.
        changes: what it substitutes, in words; empty as printed.
        word: the verdict.
        reduced: in what the runs are smaller than those behind the paper's statement; empty where they
            are not.
        comparisons: outcome and numbers, one for each elementary comparison.
        reason: why there is no verdict; empty where there is one.
        missing: the problems and algorithms whose runs are missing.
        seeds: that all the claim's algorithms have.
    """

    name: str
    source: Source | None
    changes: str
    word: Word
    reduced: str = ""
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""
    missing: tuple[Pair, ...] = ()
    seeds: int = 0

    @property
    def verdict(self) -> str:
        """The word, and what is reduced."""
        return f"{self.word} (reduced: {self.reduced})" if self.reduced else self.word

    @property
    def ours(self) -> tuple[str, ...]:
        """Our numbers, one text for each comparison; or why there are none."""
        return tuple(own.ours for own in self.comparisons) or (self.reason,)


@dataclass(frozen=True)
class Verdict:
    """What our runs say about a claim.

    Attributes:
        paper: that makes the claim.
        scale: of the runs.
        readings: ``printed`` first.
        controls: variations that are no readings.
    """

    name: str
    paper: str
    claim: Claim
    scale: str
    readings: tuple[Judgement, ...]
    controls: tuple[Judgement, ...]

    @property
    def printed(self) -> Judgement:
        """The verdict as printed."""
        return self.readings[0]

    @property
    def judged(self) -> tuple[Judgement, ...]:
        """The readings that were run."""
        return tuple(own for own in self.readings if own.word != "not run")

    @property
    def overall(self) -> Overall:
        """The verdict of all readings, by the table of this module."""
        words = {own.word for own in self.judged}
        if not words:
            return "not run"
        if self.printed.word == "not run":
            return "not run as printed"
        if words == {"holds"} and self.claim.weak:
            return "holds by construction"
        if len(words) == 1:
            return UNANIMOUS[words.pop()]
        return "holds in none" if words <= {"does not hold", "open"} else "depends on the reading"

    @property
    def holding(self) -> int:
        """In how many readings it holds; of `judged`."""
        return sum(own.word == "holds" for own in self.judged)

    @property
    def deciding(self) -> tuple[Judgement, ...]:
        """The readings whose verdict is another one than as printed. Each differs from the printed one
        by one choice, which decides then."""
        if self.printed.word == "not run":
            return ()
        return tuple(own for own in self.judged if own.word != self.printed.word)

    @property
    def replicated(self) -> bool:
        """Whether it holds as printed, in runs of the paper's size on its own data, and could fail."""
        return self.printed.word == "holds" and not (self.printed.reduced or self.claim.weak)

    @property
    def headline(self) -> str:
        """``depends on the reading (holds in 1 of 3 run, 2 not run): holds as printed; does not hold as
        standardised``."""
        n, total = len(self.judged), len(self.readings)
        count = f"holds in {self.holding} of {n} run" + (f", {total - n} not run" * (n < total))
        if self.overall == "not run":
            return "not run"
        if self.claim.weak:
            count += f"; weak: {self.claim.weak}"
        if self.overall not in ("depends on the reading", "not run as printed"):
            return f"{self.overall} ({count})"
        by_word: dict[str, list[str]] = {}
        for own in self.judged:
            by_word.setdefault(own.word, []).append(own.name)
        said = [f"{word} as {', '.join(names)}" for word, names in by_word.items()]
        return f"{self.overall} ({count}): {'; '.join(said)}"


_JSON = TypeAdapter(list[Verdict])


def judge_claim(
    name: str,
    paper: str,
    claim: Claim,
    entry: PaperEntry,
    runs: Runs | None,
) -> Verdict:
    """Judge one claim in all its readings and controls.

    Args:
        runs: its paper's; None where nothing was run of it.

    Raises:
        RepliboError: the measure has no such option.
    """
    found = [
        _judged(f"{paths.claims_config(paper)}: {name}", paper, claim, label, entry, runs)
        for label in (*claim.readings, *claim.controls)
    ]
    count = len(claim.readings)
    scale = runs.scale if runs else "–"
    return Verdict(name, paper, claim, scale, tuple(found[:count]), tuple(found[count:]))


def _judged(
    where: str,
    paper: str,
    claim: Claim,
    label: str,
    entry: PaperEntry,
    runs: Runs | None,
) -> Judgement:
    """The verdict in one reading or control."""
    variation = claim.variation(label)
    source = claim.readings[label].source if label in claim.readings else None
    if label == PRINTED and claim.unprinted:
        return Judgement(label, source, "", "not run", reason=claim.unprinted)
    own = claim.under(variation)
    if label != PRINTED:
        where = f"{where}.{'controls' if source is None else 'readings'}.{label}"
    measure = lookup.load("claims", paper, claim.measure, own.options, where)
    missing = [pair for pair in claim.needed(variation) if runs is None or not runs.has(*pair)]
    if runs is None or missing:
        reason = f"no runs of {in_words(missing)}"
        return Judgement(
            label, source, variation.changes, "not run", reason=reason, missing=tuple(missing)
        )
    standing = claim.pairs(entry, variation)
    seen = runs.of(standing.values()).standing_for(standing)
    try:
        comparisons: list[Comparison] = measure(seen, **own.options)
    except MissingRunsError as error:
        return Judgement(label, source, variation.changes, "not run", reason=str(error))
    seeds = {problem: _common_seeds(own, seen, problem) for problem in claim.problems}
    return Judgement(
        label,
        source,
        variation.changes,
        judge(comparisons),
        reduced(claim, seen, seeds),
        tuple(comparisons),
        seeds=min(seeds.values()),
    )


def in_words(missing: Sequence[Pair]) -> str:
    """``neural_bo on ackley_10, ackley_20; gp_ts on ackley_10``."""
    problems: dict[str, list[str]] = {}
    for problem, algorithm in missing:
        problems.setdefault(algorithm, []).append(problem)
    return "; ".join(f"{algorithm} on {', '.join(on)}" for algorithm, on in problems.items())


def _common_seeds(claim: Claim, runs: Runs, problem: str) -> int:
    """How many seeds all of the claim's algorithms have, and of its baselines those that were run (the
    others are open comparisons)."""
    baselines = [name for name in claim.options.get("baselines", ()) if runs.has(problem, name)]
    return len(runs.f_of_common_seeds(problem, [*claim.algorithms, *baselines])[0])


def reduced(claim: Claim, runs: Runs, seeds: Mapping[str, int]) -> str:
    """Why the runs are less than those behind the paper's statement, e.g. ``quick scale, 3 of 20 seeds,
    stand-in data``; empty if they are not. The claim's own numbers count, not the config's, which
    anybody may change."""
    reasons = [] if runs.scale.partition("@")[0] == "paper" else [f"{runs.scale} scale"]
    for problem in claim.problems:
        full = claim.seeds if isinstance(claim.seeds, int) else claim.seeds[problem]
        if seeds[problem] < full:
            reasons.append(f"{seeds[problem]} of {full} seeds")
        if runs.horizon(problem) < claim.horizon:
            reasons.append(f"T = {runs.horizon(problem)} of {claim.horizon}")
        if runs.stand_in(problem):
            reasons.append("stand-in data")
    if runs.metadata.get("changed_config"):
        reasons.append("a changed config")
    return ", ".join(dict.fromkeys(reasons))


def judge_all(
    config: Config,
    papers: Sequence[str],
    scale: str,
    names: Collection[str] = (),
    reading: str = paths.ALL,
) -> list[Verdict]:
    """The verdicts on the claims of ``papers``; a reading whose runs are not there is "not run".

    Args:
        names: claims; all of the papers' if it is empty.
        reading: judge this reading or control alone.

    Raises:
        RepliboError: no runs are there, or files are damaged; a fault in the claims.
    """
    found = []
    one = len(papers) == 1
    target = paths.judged(scale, papers[0]) if one else paths.verdicts(scale)[0]
    if len(names) == 1:
        target = paths.claim(scale, papers[0], next(iter(names)), reading)
    for paper in papers:
        entry = config.paper(paper)
        claims = {
            name: claim.only(reading)
            for name, claim in load(config, paper).items()
            if not names or name in names
        }
        read_by_any = {pair for claim in claims.values() for pair in claim.all_pairs(entry)}
        wanted = pairs.among(config, paper, scale, read_by_any)
        here = pairs.there(config, paper, scale, wanted)
        runs = read(config, paper, scale, here or wanted, target) if wanted else None
        found += [judge_claim(name, paper, claim, entry, runs) for name, claim in claims.items()]
    return found


def write(path: Path, found: Sequence[Verdict]) -> None:
    """Write verdicts as JSON, for `read_written`."""
    with files.written_whole(path) as temporary:
        temporary.write_bytes(_JSON.dump_json(list(found), indent=1))


def read_written(path: Path) -> list[Verdict]:
    """Verdicts as `write` wrote them.

    Raises:
        RepliboError: the file is missing, or holds something else.
    """
    try:
        return _JSON.validate_json(files.read_bytes(path))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        at = "".join(f"{part}: " for part in fault["loc"])
        raise RepliboError(
            f"{path}: must be verdicts as 'replibo claims' writes them, got {at}{fault['msg']}"
        ) from None
