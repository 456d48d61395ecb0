"""Pages of results whose numbers are filled from the published traces.

``docs/results/PAPER.md.j2`` is a Jinja template of ``docs/results/PAPER.md``. It calls `Numbers`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replibo import paths, verdicts
from replibo.config import claims
from replibo.config.models import Config
from replibo.errors import RepliboError, allowed
from replibo.results.runs import Runs, read
from replibo.run import pairs
from replibo.verdicts import Judgement, Verdict
from replibo.workflow import outputs

if TYPE_CHECKING:
    import pandas as pd

NUMBER = r"\s*([-+−]?\d[\d.,]*(?:e[-+]?\d+)?(?: of \d+)?)(?![\d%])"
"""A number of a verdict's text, or a count like ``8 of 20``."""

FINDING = re.compile(r"^- \*\*(?:.|\n)*?(?=\n- |\n\s*\n|\Z)", re.MULTILINE)
"""A finding of a page or its template: an item that begins with a bold sentence."""


class Numbers:
    """The numbers of one paper's published traces, as its page's template asks for them; ``judged`` are
    the verdicts, if the claims were judged already."""

    def __init__(self, config: Config, paper: str, judged: Sequence[Verdict] = ()) -> None:
        self.config, self.paper, self._judged = config, paper, judged
        self._tables: dict[str, pd.DataFrame] = {}

    def _runs(self, problem: str, algorithm: str) -> Runs:
        pair = problem, algorithm
        if not pairs.among(self.config, self.paper, paths.PUBLISHED, [pair]):
            raise RepliboError(f"{algorithm} on {problem}: nothing is published")
        return read(self.config, self.paper, paths.PUBLISHED, [pair], "")

    def _table(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            table = outputs.made_from_own_runs(
                self.config, "tables", self.paper, name, paths.PUBLISHED
            )
            self._tables[name] = table.shown()
        return self._tables[name]

    def best(self, problem: str, algorithm: str, T: int | None = None) -> str:
        """The smallest value that the runs reached (in T iterations), mean ± standard deviation:
        ``0.11 ± 0.01``."""
        runs = self._runs(problem, algorithm)
        if T is not None:
            runs = runs.until(T)
        smallest = -runs.f(problem, algorithm).max(axis=1)
        mean, sd = float(np.mean(smallest)), float(np.std(smallest, ddof=1))
        digits = max(0, -int(np.floor(np.log10(max(sd, 1e-3)))))  # one of the deviation's
        return f"{mean:.{digits}f} ± {sd:.{digits}f}".replace("-", "−")

    def seeds(self, problem: str, algorithm: str) -> int:
        """The number of runs."""
        return len(self._runs(problem, algorithm).seeds(problem, algorithm))

    def cell(self, table: str, column: str, **row: str) -> str:
        """A cell of one of the paper's tables, as the table shows it. The values of other columns pick
        one row; ``CPU_time`` stands for ``CPU time``."""
        shown = self._table(table)
        wanted = {name.replace("_", " "): value for name, value in row.items()}
        for name in (column, *wanted):
            if name not in shown:
                raise RepliboError(f"{table}: column must be {allowed(shown)}, got {name!r}")
        rows = [row for row in shown.to_dict("records") if wanted.items() <= row.items()]
        if len(rows) != 1:
            raise RepliboError(f"{table}: {len(rows)} rows have {wanted}, exactly one must have")
        return str(rows[0][column]).replace("-", "−")

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        judged = self._judged or verdicts.judge_all(self.config, [self.paper], paths.PUBLISHED)
        return {verdict.name: verdict for verdict in judged if verdict.paper == self.paper}

    def _reading(self, claim: str, reading: str) -> Judgement:
        if claim not in self._verdicts:
            raise RepliboError(f"claim must be {allowed(self._verdicts)}, got {claim!r}")
        verdict = self._verdicts[claim]
        judged = {each.name: each for each in (*verdict.readings, *verdict.controls)}
        if reading not in judged:
            raise RepliboError(f"{claim}: reading must be {allowed(judged)}, got {reading!r}")
        return judged[reading]

    def verdict(self, claim: str, reading: str = "printed") -> str:
        """The label of a claim in a reading or control, or over ``"all"`` readings."""
        if reading == "all" and claim in self._verdicts:
            return self._verdicts[claim].overall
        return self._reading(claim, reading).word

    def says(self, label: str, *claims: str, reading: str = "printed") -> str:
        """Empty if all the claims have the label in the reading, as the sentence at this place says."""
        for claim in claims:
            if (actual := self.verdict(claim, reading)) != label:
                raise RepliboError(f"{claim} as {reading}: {actual}, but the page says {label}")
        return ""

    def about(self, *claims: str) -> str:
        """Empty: the finding at this place is about the claims, though no number or label is theirs."""
        for claim in claims:
            self.verdict(claim)
        return ""

    def most_changing(self, count: int = 3) -> str:
        """The readings (or mends) with the most verdicts that differ from those as printed, as Markdown.

        A reading whose runs are too short for a verdict changes none, nor does one of a claim that has no
        verdict as printed.
        """
        changed = Counter(
            reading.name
            for verdict in self._verdicts.values()
            if verdict.printed.word not in verdicts.UNJUDGED
            for reading in verdict.judged
            if reading.word != verdict.printed.word and not reading.short
        )
        return ", ".join(f"`{name}` ({number})" for name, number in changed.most_common(count))

    def number(self, claim: str, after: str, reading: str = "printed") -> str:
        """The first number that follows a text (``stuck: MLE``) in what a verdict says of our runs:
        ``8 of 20``."""
        said = "; ".join(self._reading(claim, reading).ours)
        if not (match := re.search(re.escape(after) + NUMBER, said)):
            raise RepliboError(f"{claim} as {reading}: no number after {after!r} in {said}")
        return match[1].rstrip(".,").replace("-", "−")

    def rounds_with(self, diagnostic: str, problem: str, algorithm: str) -> str:
        """The share of the rounds in which a diagnostic is 1, as a percentage: ``8``."""
        values = self._runs(problem, algorithm).diagnostic(problem, algorithm, diagnostic)
        share = 100 * float(np.nanmean(values))
        return f"{share:.0f}" if share >= 1 else f"{share:.1g}"

    def percent(self, table: str, column: str, **row: str) -> str:
        """A share of a table as a percentage: ``94``."""
        return f"{100 * float(self.cell(table, column, **row).replace('−', '-')):.3g}"


def findings(config: Config, paper: str) -> dict[str, list[str]]:
    """The findings of a paper's page about each of its claims, as Markdown. A finding is about the claims
    that its template names.
    """
    path = paths.results_page(paper)
    template, text = (
        FINDING.findall(file.read_text(encoding="utf-8"))
        for file in (path.with_name(f"{path.name}.j2"), path)
    )
    if len(template) != len(text):
        raise RepliboError(f"{path}: {len(text)} findings, its template has {len(template)}")
    by_claim: dict[str, list[str]] = {claim: [] for claim in claims.load(config, paper)}
    for source, finding in zip(template, text, strict=True):
        for claim in by_claim.keys() & set(re.findall(r"'(\w+)'", source)):
            by_claim[claim].append(finding)
    return by_claim


def paragraph(readme: str, paper: str) -> str:
    """What README says of a paper under "What came out"."""
    title = re.escape(f"](docs/results/{paper}.md)\n\n")
    if not (match := re.search(rf"^### \[[^\]]*{title}(.*?)(?=\n\n|\n<!--)", readme, re.M | re.S)):
        raise RepliboError(f"README.md: there is no paragraph on {paper}")
    return match[1]


def page(config: Config, paper: str, judged: Sequence[Verdict] = ()) -> str:
    """The page of a paper's results: its template with the numbers filled in."""
    path = paths.results_page(paper)
    return render(path.with_name(f"{path.name}.j2"), n=Numbers(config, paper, judged))


def render(template: Path, **numbers: Numbers) -> str:
    """A template's text with the numbers filled in, by the names that the template uses."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=False, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    try:
        return environment.from_string(template.read_text(encoding="utf-8")).render(numbers)
    except (jinja2.TemplateError, RepliboError) as error:
        raise RepliboError(f"{template}: {error}") from None
