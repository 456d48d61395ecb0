"""The verdicts: what our runs say about each claim of the papers.

A claim (``config/claims.yaml``) names a *measure*, a function in ``replibo/papers/PAPER.py`` which
splits the claim into elementary comparisons and says of each whether the runs support it, contradict
it or leave it open. The rule for the verdict is the same for all claims:

=================== =================================================================================
replicated          every comparison is supported
partly              some are supported, others contradicted or left open
not replicated      none is supported and at least one is contradicted
inconclusive        none is supported and none is contradicted
not run             runs that the claim needs are missing
=================== =================================================================================

"replicated" is only ever said of runs with real data, and at least the seeds and the horizon that
the claim's paper has. Of smaller runs it says what they show, and that they are smaller.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from replibo.config.load import read_yaml
from replibo.config.models import Config, Model, Name
from replibo.errors import RepliboError, allowed
from replibo.results.comparisons import Comparison, MissingRunsError, judge, qualified
from replibo.results.runs import Runs
from replibo.results.tables import Table


class Claim(Model):
    """One statement of a paper that runs can support or contradict."""

    paper: Name
    """The paper that makes it."""
    where: str
    """Section, figure or table."""
    statement: str
    """What is claimed, in the paper's words or close to them."""
    paper_value: str
    """The paper's own number, or that it gives none."""
    measure: Name
    """The function in ``replibo/papers/PAPER.py`` that compares."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Its keyword arguments."""
    problems: list[Name]
    """The problems whose runs it needs."""
    algorithms: list[Name]
    """The algorithms whose runs it needs."""
    seeds: int | dict[Name, int]
    """The number of seeds behind the paper's statement, of each problem where they differ."""
    horizon: int
    """The horizon behind the paper's statement."""
    rule: str
    """When an elementary comparison counts as supported, contradicted or open."""


@dataclass(frozen=True)
class Verdict:
    """What our runs say about a claim."""

    name: str
    claim: Claim
    verdict: str
    ours: str
    seeds: int
    scale: str


def load(path: Path) -> dict[str, Claim]:
    """The claims by name.

    Raises:
        RepliboError: one line for each fault.
    """
    try:
        return TypeAdapter(dict[Name, Claim]).validate_python(read_yaml(path))
    except ValidationError as error:
        lines = [
            f"{path}: {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_url=False)
        ]
        raise RepliboError("\n".join(lines)) from None


def verdict(name: str, claim: Claim, runs: Runs | None) -> Verdict:
    """Judge one claim; ``runs`` are its paper's, or None where it was not run at all."""
    if runs is None:
        return Verdict(name, claim, "not run", "–", 0, "–")
    needed = [(p, a) for p in claim.problems for a in claim.algorithms]
    if missing := [f"{a} on {p}" for p, a in needed if not runs.has(p, a)]:
        return Verdict(name, claim, "not run", f"no runs of {', '.join(missing)}", 0, runs.scale)
    module = importlib.import_module(f"replibo.papers.{claim.paper}")
    function = getattr(module, claim.measure, None)
    if function is None:
        raise RepliboError(f"claims: {name}.measure: {module.__name__} has no {claim.measure!r}")
    try:
        inspect.signature(function).bind(runs, **claim.options)
    except TypeError as error:
        raise RepliboError(f"claims: {name}.options: {error}") from None
    try:
        comparisons: list[Comparison] = function(runs, **claim.options)
    except MissingRunsError as error:
        return Verdict(name, claim, "not run", str(error), 0, runs.scale)
    seeds = {p: _common_seeds(claim, runs, p) for p in claim.problems}
    word = qualified(judge(comparisons), reduced(claim, runs, seeds))
    ours = "; ".join(comparison.ours for comparison in comparisons)
    return Verdict(name, claim, word, ours, min(seeds.values()), runs.scale)


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


def judge_all(
    config: Config, claims: Mapping[str, Claim], runs: Mapping[str, Runs]
) -> list[Verdict]:
    """The verdicts on all claims, in the order of the claims' file; "not run" where a paper has no
    runs."""
    for name, claim in claims.items():
        config.paper(claim.paper)
        for kind in ("problems", "algorithms"):
            known = getattr(config.entries[claim.paper], kind)
            for wanted in getattr(claim, kind):
                if wanted not in known:
                    raise RepliboError(
                        f"claims: {name}.{kind}: {claim.paper} has no {kind[:-1]} called {wanted!r}; "
                        f"allowed: {allowed(known)}"
                    )
    return [verdict(name, claim, runs.get(claim.paper)) for name, claim in claims.items()]


def table(verdicts: Sequence[Verdict]) -> Table:
    """The claims table."""
    columns = ("claim", "paper", "where", "statement", "paper's value", "ours", "seeds", "verdict")
    rows = [
        (
            v.name,
            v.claim.paper,
            v.claim.where,
            v.claim.statement,
            v.claim.paper_value,
            v.ours,
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
