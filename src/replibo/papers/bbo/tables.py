"""The six tables of the BBO paper (Fu et al. 2024, section 5), ours beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError, allowed
from replibo.papers.bbo.printed import ACQUISITIONS, PERFORMANCE, STEPS, iterations_of
from replibo.papers.bbo.traces import LEVELS, METRICS, Reading, problem_of, reading_of
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

RANDOM_SEARCH = "random_search"

RULE_SENTENCES = {
    "smallest_mean": (
        "Returned (Algorithm 1): of the T queries the one with the smallest posterior mean"
    ),
    "last_query": "Returned (Algorithm 2): the last of the T queries",
    "best_observed": "Returned: of the T queries the one with the smallest validation loss",
}


# The six tables


def performance_table(
    runs: Runs,
    entry: FigureEntry,
    *,
    algorithm: str = "gp_ei",
    steps: int = 20,
    reading: str = "reported",
) -> Table:
    """One of the six tables: for each N the paper's performance, and what ours and random search, by EI's
    rule, return after T steps.

    Args:
        algorithm: ``gp_ei`` or ``gp_ucb``.
        steps: T.
        reading: as of the claims.
    """
    if algorithm not in PERFORMANCE:
        raise RepliboError(f"options.algorithm: must be {allowed(PERFORMANCE)}, got {algorithm!r}")
    if steps not in STEPS:
        raise RepliboError(f"options.steps: must be {allowed(STEPS)}, got {steps!r}")
    read = reading_of(reading)
    by_metric = {metric: replace(read, metric=metric) for metric in METRICS}
    rows: list[dict[str, Any]] = []
    for n in iterations_of(steps):
        entropy, error = (
            of_metric.cell(runs, algorithm, steps, n) for of_metric in by_metric.values()
        )
        printed, printed_sd = PERFORMANCE[algorithm][steps][n]
        rows.append(
            {
                "N (SGD iterations)": n,
                "T·N": steps * n,
                "performance, paper": printed,
                "±, paper": printed_sd,
                "seeds": len(entropy.seeds) if entropy else 0,
                "test cross-entropy": entropy.mean if entropy else None,
                "± (cross-entropy)": entropy.sd if entropy else None,
                "test error (%)": error.mean if error else None,
                "± (error)": error.sd if error else None,
            }
        )
        for metric, name in METRICS.items():
            cell = by_metric[metric].cell(runs, RANDOM_SEARCH, steps, n)
            rows[-1][f"random search, {name}"] = cell and cell.mean
            rows[-1][f"± (random search, {name})"] = cell and cell.sd
    ran = [problem_of(row["N (SGD iterations)"]) for row in rows if row["seeds"]]
    rule = RULE_SENTENCES[read.rule(algorithm)]
    caption = (
        f"{entry.caption} {ACQUISITIONS[algorithm]}, T = {steps} outer steps, initial points "
        f"included. {rule}; its network on the test set, mean ± standard deviation over the seeds. "
        "Random search, for comparison, returns by the smallest posterior mean of the same process. "
        f"{LEVELS} {_run_of(runs, ran, steps, len(rows))} {_note(runs, ran, algorithm)}"
    )
    formats: dict[str, Format] = {"performance, paper": ".2f", "±, paper": ".2f"}
    return Table.of(rows, caption, formats | dict.fromkeys(list(rows[0])[5:], ".3g"))


def _run_of(runs: Runs, ran: Sequence[str], steps: int, of: int) -> str:
    """The number of cells that were run, and the lengths of longer runs, of which the table takes
    the first rounds."""
    text = f"Run: {len(ran)} of {of} cells."
    if longer := sorted({runs.horizon(problem) for problem in ran} - {steps}):
        horizons = " and ".join(map(str, longer))
        text += f" Read from runs to T = {horizons}: their first {steps} rounds are those to T = {steps}."
    return text


@dataclass
class _Prefixes(Runs):
    """Runs of which the table's prefix is whole: how far they went after it is no reduction."""

    def reductions(
        self, problems: Sequence[str], algorithms: Sequence[str] | None = None
    ) -> list[str]:
        reasons = super().reductions(problems, algorithms)
        return [reason for reason in reasons if not reason.startswith("T = ")]


def _note(runs: Runs, ran: Sequence[str], algorithm: str) -> str:
    """`Runs.note` of the problems of a table, all of which were run to the table's T or further."""
    own = _Prefixes(runs.entry, runs.metadata, runs.table, runs.left_out)
    return own.note(ran, [algorithm])


def variant_of_problem(
    runs: Runs, entry: FigureEntry, *, variant: str, name: str, steps: int = STEPS[0]
) -> Table:
    """The printed cells of one T for which the config has a variant of the inner problem: its numbers and
    those of the problem itself, empty where they were not run.

    Args:
        variant: ending of the variants' names.
        name: of the variant, in the columns.
        steps: T.
    """
    rows = []
    known = runs.entry.problems
    for algorithm, label in ACQUISITIONS.items():
        for n in (n for n in iterations_of(steps) if problem_of(n, variant) in known):
            row: dict[str, Any] = {"algorithm": label, "N (SGD iterations)": n}
            row["performance, paper"], row["±, paper"] = PERFORMANCE[algorithm][steps][n]
            for problem, ending in ((name, variant), ("ours", "")):
                for metric, measured in METRICS.items():
                    reading = Reading(metric=metric)
                    cell = reading.cell(runs, algorithm, steps, n, ending)
                    row[f"{measured}, {problem}"] = cell and cell.mean
                    row[f"± ({measured}, {problem})"] = cell and cell.sd
                    row[f"seeds ({problem})"] = len(cell.seeds) if cell else 0
            rows.append(row)
    problems = runs.problems(entry.problems)
    caption = f"{entry.caption} {LEVELS} {runs.note(problems, list(ACQUISITIONS))}"
    formats: dict[str, Format] = dict.fromkeys(
        [column for column in rows[0] if "test" in column or column.startswith("±")], ".3g"
    )
    return Table.of(rows, caption, formats | {"performance, paper": ".2f", "±, paper": ".2f"})
