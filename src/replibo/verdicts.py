"""The verdicts: what our runs say about each claim of the papers.

A claim (``config/claims/PAPER.yaml``) names a *measure*, a function of the paper's module which splits
the claim into elementary comparisons and says of each whether the runs support it, contradict it or leave
it open. The rule for the verdict is the same for all claims (`replibo.results.comparisons.judge`):
replicated, partly, not replicated or inconclusive; and not run, where runs that the claim needs are
missing.

"replicated" is only ever said of runs with real data, and at least the seeds and the horizon that
the claim's paper has. Of smaller runs it says what they show, and that they are smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replibo import paths
from replibo.config.claims import Claim, load
from replibo.config.models import Config
from replibo.papers import lookup
from replibo.results.comparisons import Comparison, MissingRunsError, judge, qualified
from replibo.results.runs import Runs, read
from replibo.results.tables import Table
from replibo.run import pairs


@dataclass(frozen=True)
class Verdict:
    """What our runs say about a claim.

    Attributes:
        paper: that makes the claim.
        verdict: in the words of the rule above.
        ours: our numbers in words, one text for each comparison; or why there are none.
        seeds: that all the claim's algorithms have.
        scale: of the runs.
    """

    name: str
    paper: str
    claim: Claim
    verdict: str
    ours: tuple[str, ...]
    seeds: int
    scale: str


def verdict(name: str, paper: str, claim: Claim, runs: Runs | None) -> Verdict:
    """Judge one claim; ``runs`` are its paper's, or None where it was not run at all."""

    def not_run(reason: str, scale: str) -> Verdict:
        return Verdict(name, paper, claim, "not run", (reason,), 0, scale)

    if runs is None:
        return not_run("–", "–")
    needed = [(p, a) for p in claim.problems for a in claim.algorithms]
    if missing := [f"{a} on {p}" for p, a in needed if not runs.has(p, a)]:
        return not_run(f"no runs of {', '.join(missing)}", runs.scale)
    where = f"{paths.claims_config(paper)}: {name}"
    measure = lookup.load("claims", paper, claim.measure, claim.options, where)
    try:
        comparisons: list[Comparison] = measure(runs, **claim.options)
    except MissingRunsError as error:
        return not_run(str(error), runs.scale)
    seeds = {p: _common_seeds(claim, runs, p) for p in claim.problems}
    word = qualified(judge(comparisons), reduced(claim, runs, seeds))
    ours = tuple(comparison.ours for comparison in comparisons)
    return Verdict(name, paper, claim, word, ours, min(seeds.values()), runs.scale)


def _common_seeds(claim: Claim, runs: Runs, problem: str) -> int:
    """How many seeds all of the claim's algorithms have, and of its baselines those that were run (the
    others are open comparisons)."""
    baselines = [name for name in claim.options.get("baselines", ()) if runs.has(problem, name)]
    return len(runs.f_of_common_seeds(problem, [*claim.algorithms, *baselines])[0])


def reduced(claim: Claim, runs: Runs, seeds: Mapping[str, int]) -> str:
    """Why the runs are less than those behind the paper's statement, e.g. ``quick scale, 3 of 20 seeds,
    stand-in data``; empty if they are not. The claim's own numbers count, not the config's, which
    anybody may change."""
    reasons = [] if runs.scale == "paper" else [f"{runs.scale} scale"]
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


def judge_all(config: Config, papers: Sequence[str], scale: str) -> list[Verdict]:
    """The verdicts on all claims of ``papers``, each from its own runs.

    Raises:
        RepliboError: files of runs are missing or damaged; a fault in the claims.
    """
    found = []
    target = paths.claims(scale)[0]
    for paper in papers:
        claims, entry = load(config, paper), config.paper(paper)
        own = {
            name: pairs.at(config, paper, scale, *claim.reads(entry))
            for name, claim in claims.items()
        }
        wanted = list(dict.fromkeys(pair for needed in own.values() for pair in needed))
        runs = read(config, paper, scale, wanted, target) if wanted else None
        found += [
            verdict(name, paper, claim, runs.only(own[name]) if runs else None)
            for name, claim in claims.items()
        ]
    return found


def table(verdicts: Sequence[Verdict]) -> Table:
    """The claims table."""
    columns = ("claim", "paper", "where", "statement", "paper's value", "ours", "seeds", "verdict")
    rows = [
        (
            v.name,
            v.paper,
            v.claim.where,
            v.claim.statement,
            v.claim.paper_value,
            "; ".join(v.ours),
            v.seeds,
            v.verdict,
        )
        for v in verdicts
    ]
    caption = (
        "The papers' claims and what our runs say. Every number of ours stands with its interval or "
        "p-value; a run that is smaller than the paper's, or on stand-in data, never says "
        "'replicated'."
    )
    return Table.of(
        [dict(zip(columns, row, strict=True)) for row in rows], caption, columns=columns
    )
