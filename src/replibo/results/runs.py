"""All the runs of one paper at one scale: making ``runs.parquet``, and reading it for figures."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import Config, PaperEntry
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.run import traces
from replibo.run.identity import run_identity
from replibo.workflow.targets import run_files

if TYPE_CHECKING:
    import pyarrow as pa


def collect(config: Config, paper: str, scale: str) -> pa.Table:
    """One long table of all the traces of a paper, with what is common in the metadata. Of x, only
    those of each run's best queries stay (`Problem.kept_queries`); the others are null.

    Raises:
        RepliboError: one line for each file that is missing, damaged or of another run.
    """
    import pyarrow as pa

    entry = config.paper(paper)
    parts, faults = [], []
    problems: dict[str, Any] = {}
    timings: dict[str, dict[str, Any]] = {}
    origin: dict[str, set[str]] = {"versions": set(), "machine": set(), "commit": set()}
    changed_config = False
    for path in map(Path, run_files(config, paper, scale)):
        try:
            content = traces.read(path)
        except RepliboError as error:
            faults.append(str(error))
            continue
        metadata = traces.read_metadata(content)
        problem, algorithm = path.parts[-3:-1]
        if fault := _foreign(metadata, entry, scale, problem, algorithm):
            faults.append(f"{path}: {fault}; delete it, and its rule makes it again")
            continue
        facts = metadata["problem_facts"]
        first_facts = problems.setdefault(problem, facts)
        if facts.get("recorded", {}) != first_facts.get("recorded", {}):
            faults.append(
                f"{path}: was run on another {problem} than the files before it (made on another "
                "machine, or of other data); delete it, and its rule makes it again"
            )
            continue
        for key, values in origin.items():
            values.add(json.dumps(metadata[key], sort_keys=True))
        changed_config |= metadata.get("changed_config", False)
        _add_timings(timings, f"{problem}/{algorithm}", content, metadata)
        names = {"problem": problem, "algorithm": algorithm}
        content = _best_queries(content, metadata["problem_facts"].get("kept_queries", 1))
        for position, (column, name) in enumerate(names.items()):
            words = pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(len(content), dtype=np.int32)), pa.array([name])
            )
            content = content.add_column(position, column, words)
        parts.append(content.replace_schema_metadata(None))
    if faults:
        raise RepliboError("\n".join(faults))
    if not parts:
        raise RepliboError(f"{paper} has no runs at scale {scale}")
    table = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
    metadata = {
        "paper": paper,
        "scale": scale,
        "problems": problems,
        "timings": timings,
        "changed_config": changed_config,
        # All of them, where the runs were not made with the same code, libraries or machine.
        **{key: [json.loads(value) for value in sorted(v)] for key, v in origin.items()},
    }
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})


def _best_queries(content: pa.Table, kept: int) -> pa.Table:
    """``content`` with x null in all rows but the ``kept`` of largest y of each run, of equal ones the
    earliest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seeds, t, y = (content.column(name).to_numpy() for name in ("seed", "t", "y"))
    order = np.lexsort((t, -y, seeds))  # by seed, the best first
    _, starts, sizes = np.unique(seeds[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = np.zeros(len(order), dtype=bool)
    best[order[rank < kept]] = True
    x = content.column("x")
    nothing = pa.scalar(None, type=x.type)
    position = content.column_names.index("x")
    return content.set_column(position, "x", pc.if_else(pa.array(best), x, nothing))


# What must be the same in a run's own metadata and in the config of today. (That its code is today's is
# for Snakemake to see.)
SETTINGS = (
    "problem",
    "algorithm",
    "problem_parameters",
    "algorithm_parameters",
    "first_round",
    "horizon",
    "initial_points",
)


def _foreign(
    metadata: dict[str, Any], entry: PaperEntry, scale: str, problem: str, algorithm: str
) -> str:
    """Why a file does not hold the runs that its path says; empty where it does."""
    expected = run_identity(entry, scale, problem, algorithm)
    for key in SETTINGS:
        # as JSON, which does not tell 1 from 1.0 where YAML does
        if json.dumps(metadata["identity"].get(key)) != json.dumps(expected[key]):
            return f"holds runs with {key} = {metadata['identity'].get(key)}, not {expected[key]}"
    return "" if metadata["scale"] == scale else f"holds runs of scale {metadata['scale']}"


def _add_timings(
    timings: dict[str, dict[str, Any]], key: str, content: pa.Table, metadata: dict[str, Any]
) -> None:
    """Add one file's CPU seconds to the sums of its problem and algorithm.

    The sum of the squares of the runs' CPU seconds is kept too: the spread over the runs is known
    without the timings of the single queries. So is the profile that `replibo.workflow.estimate` reads:
    the number of the first query (1, 2, …) of a bin, and the CPU seconds of all runs in it. The first bin
    holds the initial points; the others begin at 2^k and 3·2^k, a step of about 1.4.
    """
    entry = timings.setdefault(
        key,
        {
            "runs": 0,
            "queries": 0,
            "cpu_seconds": 0.0,
            "cpu_seconds_squared": 0.0,
            "evaluate_seconds": 0.0,
            "import_seconds": 0.0,
            "jobs": 0,
            "peak_mb": 0.0,
            "profile": {},
        },
    )
    entry["runs"] += len(metadata["digests"])
    entry["queries"] += len(content)
    entry["jobs"] += 1
    queries = sum(content.column(name).to_numpy().astype(float) for name in traces.TIMINGS)
    _, run = np.unique(content.column("seed").to_numpy(), return_inverse=True)
    seconds = np.bincount(run, weights=queries)
    entry["cpu_seconds"] += float(seconds.sum())
    entry["cpu_seconds_squared"] += float(seconds @ seconds)
    entry["evaluate_seconds"] += float(np.sum(content.column("evaluate_seconds").to_numpy()))
    for first, bin_seconds in _profile(content, queries).items():
        entry["profile"][first] = round(entry["profile"].get(first, 0.0) + bin_seconds, 6)
    entry["import_seconds"] += metadata["overhead_seconds"]
    entry["peak_mb"] = max(entry["peak_mb"], metadata["peak_mb"])


def _profile(content: pa.Table, seconds: Array) -> dict[str, float]:
    """CPU seconds by the number of the query, summed over the runs: see `_add_timings`. A key is a
    text, as JSON will have it."""
    t = content.column("t").to_numpy()
    number = t - t.min() + 1
    phase = content.column("phase").to_numpy(zero_copy_only=False)
    n_initial = int(np.max(number[phase == "initial"], initial=0))
    powers = 2 ** np.arange(32)
    steps = np.unique([1, n_initial + 1, *powers, *(3 * powers)])
    first = steps[(steps == 1) | (steps > n_initial)]
    first = first[first <= number.max()]
    sums = np.bincount(np.searchsorted(first, number, "right") - 1, seconds, len(first))
    return {str(n): float(value) for n, value in zip(first, sums, strict=True)}


@dataclass
class Runs:
    """The traces of one paper, with the config's entry for labels and colours.

    Attributes:
        entry: the paper's config.
        metadata: what `collect` stored: scale, problems' facts, timings, versions.
        table: the long table.
    """

    entry: PaperEntry
    metadata: dict[str, Any]
    table: pa.Table

    @classmethod
    def read(cls, path: Path, entry: PaperEntry) -> Runs:
        """Read a ``runs.parquet``.

        Raises:
            RepliboError: it is missing or damaged.
        """
        table = traces.read(path)
        if "problem" not in table.column_names:
            raise RepliboError(
                f"{path}: holds one block of runs; allowed: a paper's runs.parquet ('replibo collect')"
            )
        return cls(entry, traces.read_metadata(table), table)

    @functools.cached_property
    def _groups(self) -> dict[tuple[str, str], pa.Table]:
        import pyarrow.compute as pc

        groups = {}
        for problem in pc.unique(self.table["problem"]).to_pylist():
            rows = self.table.filter(pc.equal(self.table["problem"], problem))
            for algorithm in pc.unique(rows["algorithm"]).to_pylist():
                groups[problem, algorithm] = rows.filter(pc.equal(rows["algorithm"], algorithm))
        return groups

    @property
    def scale(self) -> str:
        """The scale at which the runs were made."""
        return str(self.metadata["scale"])

    def problems(self, wanted: Sequence[str] | None = None) -> list[str]:
        """The problems that were run, in the order of ``wanted`` or of the config."""
        ran = {problem for problem, _ in self._groups}
        return [problem for problem in (wanted or self.entry.problems) if problem in ran]

    def algorithms(self, problem: str, wanted: Sequence[str] | None = None) -> list[str]:
        """The algorithms that were run on ``problem``, in the order of ``wanted`` or of the config."""
        order = wanted or self.entry.algorithms
        return [name for name in order if (problem, name) in self._groups]

    def has(self, problem: str, algorithm: str) -> bool:
        """Whether there are runs of this problem and algorithm."""
        return (problem, algorithm) in self._groups

    def _column(self, problem: str, algorithm: str, name: str) -> Array:
        rows = self._groups[problem, algorithm]
        seeds = rows["seed"].to_numpy()
        order = np.lexsort((rows["t"].to_numpy(), seeds))
        values = rows[name].to_numpy(zero_copy_only=False)[order]
        return values.reshape(len(np.unique(seeds)), -1)

    def rounds(self, problem: str, algorithm: str) -> Array:
        """The rounds t, shape ``queries``; initial points included."""
        return self._column(problem, algorithm, "t")[0]

    def seeds(self, problem: str, algorithm: str) -> Array:
        """The seeds, in the order of the rows of `f`."""
        return np.unique(self._groups[problem, algorithm]["seed"].to_numpy())

    def f(self, problem: str, algorithm: str) -> Array:
        """The noise-free values, ``seeds x queries``; initial points included."""
        return self._column(problem, algorithm, "f")

    def diagnostic(self, problem: str, algorithm: str, name: str) -> Array:
        """A diagnostic, ``seeds x queries``; NaN at the initial points."""
        return self._column(problem, algorithm, name)

    def best_queries(self, problem: str, algorithm: str) -> Array:
        """x of each run's best queries, native coordinates, the best first: ``seeds x k x d`` with k the
        problem's `kept_queries` (all queries, where a run has fewer).

        Raises:
            RepliboError: the traces hold none (they were published before x was kept).
        """
        import pyarrow.compute as pc

        rows = self._groups[problem, algorithm]
        if "x" in rows.column_names:
            rows = rows.filter(pc.is_valid(rows["x"]))
        if "x" not in rows.column_names or not len(rows):
            raise RepliboError(
                f"{problem}, {algorithm}: the traces hold no x of their best queries"
            )
        seeds, t, y = (rows[name].to_numpy() for name in ("seed", "t", "y"))
        x = np.array(rows["x"].to_pylist())
        return x[np.lexsort((t, -y, seeds))].reshape(len(np.unique(seeds)), -1, x.shape[1])

    def recorded(self, problem: str) -> dict[str, Any]:
        """What `Problem.recorded` said of the problem; empty in traces that are older than it."""
        found: dict[str, Any] = self.metadata["problems"][problem].get("recorded", {})
        return found

    def f_of_common_seeds(self, problem: str, algorithms: Sequence[str]) -> list[Array]:
        """`f` of each algorithm, restricted to the seeds that all of them have, for paired tests."""
        own = [self.seeds(problem, name) for name in algorithms]
        common = functools.reduce(np.intersect1d, own)
        return [
            self.f(problem, name)[np.isin(seeds, common)]
            for name, seeds in zip(algorithms, own, strict=True)
        ]

    def initial_points(self, problem: str) -> int:
        """Number of initial points."""
        return int(self.metadata["problems"][problem]["initial_points"])

    def horizon(self, problem: str) -> int:
        """T, the last round."""
        return int(self.metadata["problems"][problem]["horizon"])

    def optimal_value(self, problem: str) -> float:
        """The known optimum.

        Raises:
            RepliboError: the problem has none.
        """
        value = self.metadata["problems"][problem]["optimal_value"]
        if value is None:
            raise RepliboError(f"{problem}: its optimum is not known, so there is no regret")
        return float(value)

    def stand_in(self, problem: str) -> str:
        """What stands in for the problem's real data; empty where the data are real."""
        return str(self.metadata["problems"][problem]["stand_in"])

    def reductions(
        self, problems: Sequence[str], algorithms: Sequence[str] | None = None
    ) -> list[str]:
        """In what the runs are less than the paper's: scale, seeds, horizon, data, config."""
        reasons = [] if self.scale == "paper" else [f"{self.scale} scale"]
        for problem in problems:
            settings = self.entry.settings("paper", problem)
            counts = [
                (len(self.seeds(problem, a)), len(self.entry.seeds("paper", problem, a)))
                for a in self.algorithms(problem, algorithms)
            ]
            if fewer := [(n, full) for n, full in counts if n < full]:
                reasons.append("{} of {} seeds".format(*min(fewer, key=lambda c: c[0] / c[1])))
            if self.horizon(problem) < (settings.horizon or 0):
                reasons.append(f"T = {self.horizon(problem)} of {settings.horizon}")
            if self.stand_in(problem):
                reasons.append("stand-in data")
        if self.metadata.get("changed_config"):
            reasons.append("a changed config")
        return list(dict.fromkeys(reasons))

    def note(self, problems: Sequence[str], algorithms: Sequence[str] | None = None) -> str:
        """What was run, for captions: scale, seeds, in what it is less than the paper's."""
        counts = sorted(
            {len(self.seeds(p, a)) for p in problems for a in self.algorithms(p, algorithms)} or {0}
        )
        seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        words = [f"Scale: {self.scale}, {seeds} seeds."]
        if reasons := self.reductions(problems, algorithms):
            words.append(f"A reduced run, not the paper's size: {', '.join(reasons)}.")
        words += sorted({self.stand_in(p) for p in problems} - {""})
        return " ".join(words)
