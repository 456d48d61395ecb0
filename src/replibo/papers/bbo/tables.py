"""The six tables of the BBO paper (Fu et al. 2024, section 5), ours beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from replibo.config.models import FigureEntry
from replibo.papers.bbo.printed import ACQUISITIONS, PERFORMANCE, Steps, iterations_of
from replibo.papers.bbo.traces import LEVELS, METRICS, READINGS, Reading, ReadingName, problem_of
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


def performance_table(
    runs: Runs,
    entry: FigureEntry,
    *,
    algorithm: Literal["gp_ei", "gp_ucb"],
    steps: Steps,
    reading: ReadingName = "reported",
) -> Table:
    """One of the six tables: for each N the paper's performance, and what ours and random search, by EI's
    rule, return after T = ``steps``."""
    readings = {metric: replace(READINGS[reading], metric=metric) for metric in METRICS}
    rows: list[dict[str, Any]] = []
    ran = []
    for n in iterations_of(steps):
        entropy, error = (readings[metric].cell(runs, algorithm, steps, n) for metric in METRICS)
        printed, printed_sd = PERFORMANCE[algorithm][steps][n]
        row = {
            "N (SGD iterations)": n,
            "T·N": steps * n,
            "performance, paper": printed,
            "±, paper": printed_sd,
            "seeds": len(entropy.seeds) if entropy else 0,
            "test cross-entropy": entropy and entropy.mean,
            "± (cross-entropy)": entropy and entropy.sd,
            "test error (%)": error and error.mean,
            "± (error)": error and error.sd,
        }
        for metric, name in METRICS.items():
            cell = readings[metric].cell(runs, RANDOM_SEARCH, steps, n)
            row[f"random search, {name}"] = cell and cell.mean
            row[f"± (random search, {name})"] = cell and cell.sd
        rows.append(row)
        ran += [problem_of(n)] if entropy else []
    rule = RULE_SENTENCES[READINGS[reading].rule(algorithm)]
    caption = (
        f"{entry.caption} {ACQUISITIONS[algorithm]}, T = {steps} outer steps, initial points "
        f"included. {rule}; its network on the test set, mean ± standard deviation over the seeds. "
        "Random search, for comparison, returns by the smallest posterior mean of the same process. "
        f"{LEVELS} {_run_of(runs, ran, steps, len(rows))} {runs.note(ran, [algorithm], rounds=steps)}"
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


def variant_of_problem(
    runs: Runs, entry: FigureEntry, *, variant: str, name: str, steps: Steps
) -> Table:
    """The printed cells of T = ``steps`` for which the config has a variant of the inner problem: its
    numbers and those of the problem itself, empty where they were not run.

    Args:
        variant: ending of the variants' names.
        name: of the variant, in the columns.
    """
    rows = []
    entries = runs.entry.problems
    for algorithm, label in ACQUISITIONS.items():
        for n in (n for n in iterations_of(steps) if problem_of(n, variant) in entries):
            row: dict[str, Any] = {"algorithm": label, "N (SGD iterations)": n}
            row["performance, paper"], row["±, paper"] = PERFORMANCE[algorithm][steps][n]
            for problem, ending in ((name, variant), ("ours", "")):
                for metric, measured in METRICS.items():
                    cell = Reading(metric).cell(runs, algorithm, steps, n, ending)
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
