"""The six tables of the BBO paper (Fu et al. 2024, section 5), ours beside the printed numbers, and what
its claims depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replibo.config.models import FigureEntry
from replibo.errors import RepliboError, allowed
from replibo.papers.bbo import claims
from replibo.papers.bbo.printed import ACQUISITIONS, CELLS, PERFORMANCE, STEPS, iterations_of
from replibo.papers.bbo.traces import (
    LEVELS,
    METRICS,
    READINGS,
    REPORTED,
    RULES,
    Reading,
    problems_run,
)
from replibo.results.comparisons import Comparison, MissingRunsError, judge
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table

RANDOM_SEARCH = "random_search"

RULE_SENTENCES = {
    "smallest_mean": (
        "Returned (Algorithm 1): of the T queries the one with the smallest posterior mean"
    ),
    "last_query": "Returned (Algorithm 2): the last of the T queries",
}


# The six tables


def performance_table(
    runs: Runs, entry: FigureEntry, *, algorithm: str = "gp_ei", steps: int = 20
) -> Table:
    """One of the six tables: for each N the paper's performance, and what ours and random search, by EI's
    rule, return after T steps.

    Args:
        algorithm: ``gp_ei`` or ``gp_ucb``.
        steps: T.
    """
    if algorithm not in PERFORMANCE:
        raise RepliboError(f"options.algorithm: must be {allowed(PERFORMANCE)}, got {algorithm!r}")
    if steps not in STEPS:
        raise RepliboError(f"options.steps: must be {allowed(STEPS)}, got {steps!r}")
    rows: list[dict[str, Any]] = []
    for n in iterations_of(steps):
        entropy, error = (
            Reading(metric=metric).cell(runs, algorithm, steps, n)  # type: ignore[arg-type]
            for metric in METRICS
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
            cell = Reading(metric=metric).cell(runs, RANDOM_SEARCH, steps, n)  # type: ignore[arg-type]
            rows[-1][f"random search, {name}"] = cell and cell.mean
            rows[-1][f"± (random search, {name})"] = cell and cell.sd
    ran = [REPORTED.problem(row["N (SGD iterations)"]) for row in rows if row["seeds"]]
    rule = RULE_SENTENCES[RULES.get(algorithm, "smallest_mean")]
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


def larger_network(runs: Runs, entry: FigureEntry) -> Table:
    """The printed cells of T = 20 that the config has a larger network for: its numbers and the small
    one's, empty where they were not run."""
    steps, rows = STEPS[0], []
    known = runs.entry.problems
    for algorithm, label in ACQUISITIONS.items():
        for n in (n for n in iterations_of(steps) if Reading(variant="_large").problem(n) in known):
            row: dict[str, Any] = {"algorithm": label, "N (SGD iterations)": n}
            row["performance, paper"], row["±, paper"] = PERFORMANCE[algorithm][steps][n]
            for network, variant in (("larger", "_large"), ("ours", "")):
                for metric, name in METRICS.items():
                    own = Reading(metric=metric, variant=variant)  # type: ignore[arg-type]
                    cell = own.cell(runs, algorithm, steps, n)
                    row[f"{name}, {network}"] = cell and cell.mean
                    row[f"± ({name}, {network})"] = cell and cell.sd
                    row[f"seeds ({network})"] = len(cell.seeds) if cell else 0
            rows.append(row)
    problems = runs.problems(entry.problems)
    caption = f"{entry.caption} {LEVELS} {runs.note(problems, list(ACQUISITIONS))}"
    formats: dict[str, Format] = dict.fromkeys(
        [name for name in rows[0] if "test" in name or name.startswith("±")], ".3g"
    )
    return Table.of(rows, caption, formats | {"performance, paper": ".2f", "±, paper": ".2f"})


# Sensitivity


@dataclass(frozen=True)
class _Measure:
    """A claim in the sensitivity table: its column, and the function that compares."""

    column: str
    compare: Callable[..., list[Comparison]]
    options: dict[str, Any]


_MEASURES = (
    _Measure("1: improves at first", claims.improves_at_first, {}),
    _Measure("2: UCB levels off", claims.levels_off, {}),
    _Measure("2: EI turns up", claims.turns_up, {}),
    _Measure("3: UCB at least as good", claims.ucb_at_least_as_good, {}),
    _Measure("4: spread shrinks", claims.spread_shrinks, {}),
    _Measure("5: N ≍ T", claims.advised_horizon, {"power": 1}),
    _Measure("5: N ≍ T²", claims.advised_horizon, {"power": 2}),
)


def sensitivity(runs: Runs, entry: FigureEntry, *, iterations: int = 1000) -> Table:
    """The choices on which claims 1 to 5 depend: the return rule of UCB, β, momentum as a second
    hyperparameter, and test error for cross-entropy.

    "changes" names the claims whose verdict is another one than as reported, on the cells that were
    run of both readings.

    Args:
        iterations: N at which the readings are compared by their numbers.
    """
    columns = (
        "reading",
        *(measure.column for measure in _MEASURES),
        *("changes", "metric", "T"),
        *(f"EI at N = {iterations}", "± (EI)", f"UCB at N = {iterations}", "± (UCB)"),
        "seeds",
    )
    rows = []
    for reading in READINGS.values():
        own = _of(runs, reading)
        found = [_judged(own, reading, measure) for measure in _MEASURES]
        shown = [f"{word} {counts}".strip() for word, counts in found]
        changes = None if reading is REPORTED else _changes(runs, reading, [w for w, _ in found])
        row = (reading.label, *shown, changes, *_numbers(own, reading, iterations))
        rows.append(dict(zip(columns, row, strict=True)))
    problems = problems_run(runs, list(READINGS.values()))
    caption = (
        f"{entry.caption} Verdicts on all of T = {', '.join(map(str, STEPS))} together, with the number "
        "of comparisons that support / contradict / leave open; cells that were not run count as one "
        "open comparison. The two of claim 5 differ in the pair of 20,000 SGD steps alone. Changes: "
        "claims with another verdict than as reported, on the cells that were run of both. Numbers: "
        "mean ± standard deviation at the largest T that was run. "
        f"{LEVELS} {runs.note(problems)}"
    )
    return Table.of(rows, caption, dict.fromkeys(columns[-5:-1], ".3g"))


def _of(runs: Runs, *readings: Reading) -> Runs:
    """The runs of these readings, not cut at the shorter ones of others."""
    return runs.of(
        (reading.problem(n), reading.algorithm(name))
        for reading in readings
        for name in ACQUISITIONS
        for n in dict.fromkeys(n for _, n in CELLS)
    )


def _changes(runs: Runs, reading: Reading, words: Sequence[str]) -> str | None:
    """``3: UCB at least as good (was: holds)``; None where nothing was run of the reading."""
    reference, both = replace(REPORTED, where=reading), _of(runs, reading, REPORTED)
    before = [_judged(both, reference, measure)[0] for measure in _MEASURES]
    if set(words) == {"not run"}:
        return None
    changed = [
        f"{measure.column} (was: {old})"
        for measure, word, old in zip(_MEASURES, words, before, strict=True)
        if word != old
    ]
    return "; ".join(changed) or "none"


def _judged(runs: Runs, reading: Reading, measure: _Measure) -> tuple[str, str]:
    """The verdict and the counts behind it."""
    ran = {name for problem in runs.problems() for name in runs.algorithms(problem)}
    if not ran.issuperset(reading.stand_ins.values()):
        return "not run", ""  # EI's half of a claim about EI and UCB says nothing of another UCB
    try:
        comparisons = measure.compare(runs, reading=reading, **measure.options)
    except MissingRunsError:
        return "not run", ""
    outcomes = [comparison.outcome for comparison in comparisons]
    counts = "/".join(str(outcomes.count(o)) for o in ("supported", "contradicted", "open"))
    return judge(comparisons), f"({counts})"


def _numbers(runs: Runs, reading: Reading, iterations: int) -> Sequence[Any]:
    """Metric, T, EI and UCB at N, mean and deviation each, the number of seeds; at the largest T that one
    of them has."""
    for steps in reversed(STEPS):
        cells = [reading.cell(runs, name, steps, iterations) for name in ACQUISITIONS]
        if any(cells):
            break
    else:
        return (METRICS[reading.metric], None, None, None, None, None, 0)
    values: list[Any] = []
    for cell in cells:
        values += [None, None] if cell is None else [cell.mean, cell.sd]
    seeds = min(len(cell.seeds) for cell in cells if cell is not None)
    return (METRICS[reading.metric], steps, *values, seeds)
