"""The verdicts in words: tables, a line for each claim, and the whole of one claim."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from replibo.config.claims import PRINTED
from replibo.messages import WIDTH
from replibo.results.tables import Table
from replibo.verdicts import Judgement, Verdict

Costs = Mapping[tuple[str, str], str]
"""By claim and reading, what its missing runs would cost, in words."""

COLUMNS = (
    *("claim", "paper", "where", "statement", "reading", "source", "replaces", "verdict"),
    *("paper's value", "ours", "seeds", "decides", "missing runs cost", "as printed"),
    *("all readings", "effects", "shares runs with"),
)


SHORT = {"holds with exceptions": "exceptions", "holds by construction": "weak"}
"""The labels that are too long beside a claim's name and what it is about, on one line."""


def rows(verdicts: Sequence[Verdict], costs: Costs) -> Iterator[tuple[object, ...]]:
    """The cells of `COLUMNS` of each claim and reading, its controls after them."""
    for verdict in verdicts:
        for reading in (*verdict.readings, *verdict.controls):
            yield (
                *(verdict.name, verdict.paper, verdict.claim.where, verdict.claim.statement),
                *(reading.name, reading.source or "control", reading.changes, reading.verdict),
                *(verdict.claim.paper_value, "; ".join(reading.ours), reading.seeds),
                "yes" if reading in verdict.deciding else "",
                costs.get((verdict.name, reading.name), ""),
                verdict.headline,
                verdict.summary,
                verdict.multiverse,
                ", ".join(verdict.shares_runs_with),
            )


def table(verdicts: Sequence[Verdict], costs: Costs) -> Table:
    """A row for each claim and reading, its controls after them."""
    caption = (
        "The papers' claims, and what our runs say in each reading: holds, if every comparison supports "
        "the claim; holds with exceptions, if three quarters do, or half and none contradicts it; fails, "
        "if three quarters contradict it, or half and none supports it; mixed, if some support and some "
        "contradict it; undecided otherwise, and if the runs are shorter than the paper's or use "
        "stand-in data. 'Reduced': in what the runs are smaller than the paper's. Decides: the label "
        "is another one than as printed, and the effects are shown to differ, paired by seed. Controls "
        "are no readings, and are not counted. d: the difference in standard deviations, positive as "
        "claimed, with its 95 % interval."
    )
    return Table.of([*rows(verdicts, costs)], caption, columns=COLUMNS)


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One line for each claim, at most `WIDTH` characters where names leave room."""
    for paper in dict.fromkeys(verdict.paper for verdict in verdicts):
        paper_verdicts = [verdict for verdict in verdicts if verdict.paper == paper]
        labels = []
        for verdict in paper_verdicts:
            first, last = (SHORT.get(word, word) for word in (verdict.headline, verdict.overall))
            count = f"{verdict.holding}/{len(verdict.counting)}"
            labels.append(f"{first:<11} {last} {count}" if verdict.judged else "not run")
        width = max(len(verdict.name) for verdict in paper_verdicts)
        room = max(WIDTH - max(map(len, labels)) - width - 4, 12)
        yield f"{paper} (as printed, then all readings; k/n: it holds in k of the n that count)"
        for verdict, words in zip(paper_verdicts, labels, strict=True):
            short = textwrap.shorten(verdict.claim.short, room, placeholder="…")
            yield f"  {verdict.name:<{width}} {short:<{room}} {words}"


def whole(verdict: Verdict, costs: Costs, *, brief: bool = False) -> Iterator[str]:
    """The whole of one claim: what the paper says, and each reading with its comparisons.

    Args:
        brief: one line for each reading and control whose comparisons have the same outcomes as printed.
    """
    claim = verdict.claim
    yield f"{verdict.name}: {claim.short}"
    yield from wrapped("", f"{claim.where}: {claim.statement}")
    yield from wrapped("", f"The paper's value: {claim.paper_value}.")
    yield from wrapped("", f"Rule: {claim.rule}")
    if any(reading.name == PRINTED for reading in verdict.readings):
        yield from wrapped("", f"As printed, at scale {verdict.scale}: {verdict.headline}.")
    if len(verdict.readings) > 1:
        yield from wrapped("", f"All readings: {verdict.summary}.")
    if verdict.multiverse:
        yield from wrapped("", f"Effects: {verdict.multiverse}.")
    for unit, meaning in verdict.units.items():
        yield from wrapped("  ", f"{unit}: {meaning}")
    if verdict.shares_runs_with:
        shared = ", ".join(verdict.shares_runs_with)
        yield from wrapped("", f"Reads some of the same runs: {shared}.")
    cases = (*verdict.readings, *verdict.controls)
    outcomes = {reading.name: [test.outcome for test in reading.comparisons] for reading in cases}
    short = []
    for reading in cases:
        name = reading.name
        if brief and name != PRINTED and outcomes[name] == outcomes.get(PRINTED, []) != []:
            short.append(reading)
            continue
        yield ""
        yield from wrapped("", _title(reading, verdict))
        for text in (reading.changes, *_numbers(reading, costs.get((verdict.name, name), ""))):
            yield from wrapped("  ", text)
    if short:
        yield ""
        yield "Every comparison has the same outcome as printed:"
        for reading in short:
            yield from wrapped("  ", _title(reading, verdict))
        yield f"'replibo claims {verdict.name} --reading NAME' shows one of these in full."


def _title(reading: Judgement, verdict: Verdict) -> str:
    name = f"as {reading.name} ({reading.source})" if reading.source else f"control {reading.name}"
    decides = " (decides)" if reading in verdict.deciding else ""
    return f"{name}: {reading.verdict}{decides}"


def _numbers(reading: Judgement, cost: str) -> list[str]:
    comparisons = [f"{test.outcome}: {test.said()}" for test in reading.comparisons]
    return [*comparisons, reading.reason + (f" ({cost})" if cost and reading.reason else "")]


def wrapped(indent: str, text: str) -> list[str]:
    """The lines of a text, at most `WIDTH` characters each, indented further after the first."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
