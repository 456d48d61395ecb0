"""The verdicts: what our runs say about each claim of the papers, in each of its readings.

A claim (``config/claims/PAPER.yaml``) names a *measure*, a function of the paper's module which splits
the claim into elementary comparisons and says of each whether the runs support it, contradict it or leave
it open. From these to the label the rule is the same for all claims (`replibo.results.comparisons`).

A *reading* is one defensible way to run or to measure what the paper says: it substitutes problems,
algorithms or options, and the measure is made again. A *control* does the same, is no reading of the
paper, and is never counted. A reading is undecided, whatever its comparisons say, if its runs end before
the paper's T or use stand-in data: it says so, and which label these runs alone would give. It does not
count, and neither does a *mend*, which departs from the paper.

The headline of a claim is its label as printed: *not run* if that reading was not run, *not printed* if
the paper leaves open what to run (`Claim.unprinted`), so that only other readings can be. The label over
all readings (`Verdict.overall`) follows the same rule, with the readings that count in place of
comparisons: one that holds, with or without exceptions, is supported, one that fails is contradicted. A
mixed one is neither, and the label with it is mixed unless three quarters agree. If all hold, some of
them with exceptions, the claim holds with exceptions.

A claim that could hardly fail (`Claim.weak`) is no success: in place of "holds" or "holds with
exceptions" it *holds by construction*. *Replicated* is said only of a claim that holds as printed in runs
of the paper's own size on its own data.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from replibo import files, paths
from replibo.config.claims import PRINTED, Claim, Source, Variation, load
from replibo.config.models import Config, Pair, PaperEntry
from replibo.errors import RepliboError
from replibo.messages import counted
from replibo.papers import lookup
from replibo.results import effects
from replibo.results.comparisons import (
    Comparison,
    Label,
    MissingRunsError,
    Word,
    counts,
    judge,
    label_of_counts,
)
from replibo.results.effects import Effect
from replibo.results.runs import Runs, read
from replibo.run import pairs

Overall = Literal[Label, "holds by construction", "not run", "not printed"]
"""The label of a claim."""

UNJUDGED = ("not run", "not printed")
"""The labels of readings without a judgement."""


@dataclass(frozen=True)
class Judgement:
    """The verdict of our runs on a claim in one reading, or in one control.

    Attributes:
        name: of the reading or control, in the claims' file.
        source: where a reading comes from; None of a control.
        changes: what it substitutes, in words; empty as printed.
        word: the verdict.
        reduced: in what the runs are smaller than those behind the paper's statement; empty if they are
            not.
        short: what of that leaves the reading undecided; empty if nothing does.
        comparisons: outcome and numbers, one for each elementary comparison.
        reason: why there is no verdict; empty where there is one.
        missing: the problems and algorithms whose runs are missing.
        seeds: that all the claim's algorithms have.
        differs: whether its effects are shown to be other ones than as printed (`effects.differ`).
        same_runs: whether it reads no other runs than the printed one.
    """

    name: str
    source: Source | None
    changes: str
    word: Word
    reduced: str = ""
    short: str = ""
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""
    missing: tuple[Pair, ...] = ()
    seeds: int = 0
    differs: bool = False
    same_runs: bool = False

    @property
    def verdict(self) -> str:
        """``mixed (for 2, against 1, of 6; reduced: 5 of 10 seeds)``: the word and the counts."""
        if self.word in UNJUDGED:
            return self.word
        s, c, k = counts(self.comparisons)
        notes = []
        if self.short:
            notes.append(f"these runs alone: {judge(self.comparisons)}")
        elif self.word == "undecided" and s != c:
            notes.append(f"leans {'for' if s > c else 'against'}")
        if k > 1:
            notes.append(f"for {s}, against {c}, of {k}")
        if self.reduced:
            notes.append(f"reduced: {self.reduced}")
        return f"{self.word} ({'; '.join(notes)})" if notes else self.word

    @property
    def ours(self) -> tuple[str, ...]:
        """Our numbers, one text for each comparison; or why there are none."""
        return tuple(comparison.said() for comparison in self.comparisons) or (self.reason,)

    @property
    def effects(self) -> list[Effect]:
        """The effects of its comparisons."""
        return [comparison.effect for comparison in self.comparisons if comparison.effect]

    @property
    def effect(self) -> tuple[float, str] | None:
        """The median effect of its comparisons, and its unit; None if they have none or several."""
        signed = [effect for effect in self.effects if not effect.equality] or self.effects
        if len({effect.unit for effect in signed}) != 1:
            return None
        return statistics.median(effect.value for effect in signed), signed[0].unit


@dataclass(frozen=True)
class Verdict:
    """The verdict of our runs on a claim, in all its readings and controls.

    Attributes:
        paper: that makes the claim.
        scale: of the runs.
        readings: ``printed`` first.
        shares_runs_with: the paper's other claims that read some of the same runs as printed.
    """

    name: str
    paper: str
    claim: Claim
    scale: str
    readings: tuple[Judgement, ...]
    controls: tuple[Judgement, ...]
    shares_runs_with: tuple[str, ...] = ()

    @property
    def printed(self) -> Judgement:
        """The verdict as printed."""
        return self.readings[0]

    @property
    def judged(self) -> tuple[Judgement, ...]:
        """The readings that were run."""
        return tuple(reading for reading in self.readings if reading.word not in UNJUDGED)

    @property
    def counting(self) -> tuple[Judgement, ...]:
        """The readings that `overall` counts: those of the paper, so no mends, in runs that are long
        enough to decide."""
        return tuple(
            reading for reading in self.judged if reading.source != "mend" and not reading.short
        )

    @property
    def headline(self) -> Overall:
        """The label as printed."""
        return self.label(self.printed) if self.readings else "not run"

    def label(self, judgement: Judgement) -> Overall:
        """The label in a reading or control, as pages and maps show it."""
        return self._unless_weak(judgement.word)

    @property
    def overall(self) -> Overall:
        """The label over the readings that count."""
        if not self.judged:
            return "not run"
        words = [reading.word for reading in self.counting]
        fail, mixed = words.count("fails"), words.count("mixed")
        label = label_of_counts(self.holding, fail, len(words), mixed)
        exceptions = label == "holds" and "holds with exceptions" in words
        return self._unless_weak("holds with exceptions" if exceptions else label)

    def _unless_weak(self, label: Word) -> Overall:
        return "holds by construction" if self.claim.weak and label in HOLDING else label

    @property
    def holding(self) -> int:
        """In how many of `counting` it holds, with or without exceptions."""
        return sum(reading.word in HOLDING for reading in self.counting)

    @property
    def deciding(self) -> tuple[Judgement, ...]:
        """The readings on which the claim depends: with another label than as printed, in runs that are
        not too short, and effects that are shown to differ."""
        if not self.judged or self.printed.word in UNJUDGED:
            return ()
        label = self.printed.word
        return tuple(
            reading
            for reading in self.judged
            if reading.word != label and reading.differs and not reading.short
        )

    @property
    def multiverse(self) -> str:
        """The effects of all readings in one line; empty if none has one."""
        rows = [(reading, *effect) for reading in self.judged if (effect := reading.effect)]
        if not rows:
            return ""
        values, units = [value for _, value, _ in rows], {unit for _, _, unit in rows}
        parts = []
        if not all(effect.equality for reading, _, _ in rows for effect in reading.effects):
            parts.append(
                f"claimed sign in {sum(value > 0 for value in values)} of {len(values)} readings"
            )
        if len(units) == 1:
            (unit,) = units
            least, middle, most = (
                effects.shown(value, unit)
                for value in (min(values), statistics.median(values), max(values))
            )
            span = f"from {least} to {most}, in the middle {middle}" if len(values) > 1 else middle
            parts.append(f"each reading's median {effects.short(unit)}: {span}")
        return "; ".join(parts)

    @property
    def repeating(self) -> tuple[Judgement, ...]:
        """The readings that judge the printed runs again, by another rule: no independent evidence."""
        if not self.judged or self.judged[0].name != PRINTED:
            return ()
        return tuple(reading for reading in self.judged if reading.same_runs)

    @property
    def units(self) -> dict[str, str]:
        """The units of its effects as they stand before the values, and what they mean."""
        return {
            effects.short(effect.unit): effects.UNITS[effect.unit]
            for judgement in (*self.readings, *self.controls)
            for effect in judgement.effects
        }

    @property
    def replicated(self) -> bool:
        """Whether it holds as printed, in runs of the paper's size on its own problem, and could fail."""
        return self.headline == "holds" and not self.printed.reduced and not self.claim.untested

    @property
    def summary(self) -> str:
        """All readings in one line: ``mixed (holds in 2 of 3 readings, 1 not run): holds as printed,
        stock; fails as code``."""
        count = f"holds in {self.holding} of {counted(len(self.counting), 'reading')}"
        apart = len(self.judged) - len(self.counting)
        count += f", {apart} not counted" * (apart > 0)
        missing = sum(reading.word == "not run" for reading in self.readings)
        count += f", {missing} not run" * (missing > 0)
        if self.repeating:
            again = ", ".join(reading.name for reading in self.repeating)
            count += f"; on the printed runs by another rule: {again}"
        if self.claim.weak:
            count += f"; weak: {self.claim.weak}"
        by_word: dict[str, list[str]] = {}
        for reading in self.judged:
            by_word.setdefault(reading.word, []).append(reading.name)
        if len(by_word) < 2:
            return f"{self.overall} ({count})"
        labels = [f"{word} as {', '.join(names)}" for word, names in by_word.items()]
        return f"{self.overall} ({count}): {'; '.join(labels)}"


HOLDING = ("holds", "holds with exceptions")
"""The labels that count as holding."""

_JSON = TypeAdapter(list[Verdict])


def judge_claim(
    name: str, paper: str, claim: Claim, entry: PaperEntry, runs: Runs | None
) -> Verdict:
    """Judge one claim in all its readings and controls.

    Args:
        runs: of its paper; None if nothing of it was run.
    """
    results = [
        _judgement(f"{paths.claims_config(paper)}: {name}", paper, claim, label, entry, runs)
        for label in claim.variations
    ]
    as_printed = next((reading.comparisons for reading in results if reading.name == PRINTED), ())
    printed = set(claim.pairs(entry, Variation()).values())
    for i, reading in enumerate(results):
        variation = claim.variations[reading.name]
        if reading.name == PRINTED or not reading.comparisons:
            continue
        differs = effects.differ(
            [comparison.effect for comparison in as_printed],
            [comparison.effect for comparison in reading.comparisons],
            scaled=bool(variation.options),
        )
        read_pairs = set(claim.pairs(entry, variation).values())
        results[i] = replace(reading, differs=differs, same_runs=read_pairs <= printed)
    count = len(claim.readings)
    scale = runs.scale if runs else "–"
    return Verdict(name, paper, claim, scale, tuple(results[:count]), tuple(results[count:]))


def _judgement(
    where: str, paper: str, claim: Claim, label: str, entry: PaperEntry, runs: Runs | None
) -> Judgement:
    """The verdict in one reading or control."""
    variation = claim.variations[label]
    source = claim.readings[label].source if label in claim.readings else None
    named = label, source, variation.changes
    if label == PRINTED and claim.unprinted:
        return Judgement(*named, "not printed", reason=claim.unprinted)
    varied = claim.under(variation)
    if label != PRINTED:
        where = f"{where}.{'controls' if source is None else 'readings'}.{label}"
    measure = lookup.load("claims", paper, claim.measure, varied.options, where)
    missing = [pair for pair in claim.needed(variation) if runs is None or not runs.has(*pair)]
    if runs is None or missing:
        reason = f"no runs of {in_words(missing)}"
        return Judgement(*named, "not run", reason=reason, missing=tuple(missing))
    standing = claim.pairs(entry, variation)
    read_runs = runs.of(standing.values()).standing_for(standing)
    try:
        comparisons: list[Comparison] = measure(read_runs, **varied.options)
    except MissingRunsError as error:
        return Judgement(*named, "not run", reason=str(error))
    seeds = {problem: _common_seeds(varied, read_runs, problem) for problem in claim.problems}
    reasons = reductions(claim, read_runs, seeds)
    short = ", ".join(reason for reason in reasons if reason.startswith("T =") or "data" in reason)
    return Judgement(
        *named,
        word="undecided" if short else judge(comparisons),
        reduced=", ".join(reasons),
        short=short,
        comparisons=tuple(comparisons),
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


def reductions(claim: Claim, runs: Runs, seeds: Mapping[str, int]) -> list[str]:
    """In what the runs are less than those behind the paper's statement, e.g. ``quick scale``, ``3 of 20
    seeds``, ``stand-in data``. The claim's own numbers count, not the config's, which anybody may
    change."""
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
    return list(dict.fromkeys(reasons))


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
    """
    verdicts = []
    target = paths.judged(scale, papers[0]) if len(papers) == 1 else paths.verdicts(scale)[0]
    if len(names) == 1:
        target = paths.claim(scale, papers[0], next(iter(names)), reading)
    for paper in papers:
        entry = config.paper(paper)
        every = load(config, paper)
        claims = {
            name: claim.only(reading) for name, claim in every.items() if not names or name in names
        }
        read_by_any = {pair for claim in claims.values() for pair in claim.all_pairs(entry)}
        wanted = pairs.among(config, paper, scale, read_by_any)
        available = pairs.there(config, paper, scale, wanted)
        runs = read(config, paper, scale, available or wanted, target) if wanted else None
        read_as_printed = {
            name: set(claim.pairs(entry, Variation())) for name, claim in every.items()
        }
        for name, claim in claims.items():
            shared = [
                other_name
                for other_name, other_pairs in read_as_printed.items()
                if other_name != name and other_pairs & read_as_printed[name]
            ]
            verdict = judge_claim(name, paper, claim, entry, runs)
            verdicts.append(replace(verdict, shares_runs_with=tuple(shared)))
    return verdicts


def sets_of_runs(verdicts: Sequence[Verdict]) -> int:
    """The number of sets of runs behind claims: claims that share runs, directly or through others, are
    no independent evidence."""
    links = {verdict.name: verdict.shares_runs_with for verdict in verdicts}
    count = 0
    while links:
        count += 1
        reached = [next(iter(links))]
        while reached:
            reached += links.pop(reached.pop(), ())
    return count


def write(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Write verdicts as JSON, for `read_written`."""
    with files.written_whole(path) as temporary:
        temporary.write_bytes(_JSON.dump_json(list(verdicts), indent=1))


def read_written(path: Path) -> list[Verdict]:
    """Verdicts as `write` wrote them; a `RepliboError` if the file is missing or holds something else."""
    try:
        return _JSON.validate_json(files.read_bytes(path))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        at = "".join(f"{part}: " for part in fault["loc"])
        raise RepliboError(
            f"{path}: must be verdicts as 'replibo claims' writes them, got {at}{fault['msg']}"
        ) from None
