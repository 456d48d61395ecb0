"""All the runs of one paper at one scale: making ``runs.parquet``, and reading it for figures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import traces
from replibo.config.models import Config, PaperEntry
from replibo.config.workflow import run_files
from replibo.errors import RepliboError
from replibo.problems.base import Array

if TYPE_CHECKING:
    import pyarrow as pa


def collect(config: Config, paper: str, scale: str) -> pa.Table:
    """One long table of all the traces of a paper, without x, with what is common in the metadata.

    Raises:
        RepliboError: one line for each file that is missing, damaged or of another run.
    """
    import pyarrow as pa

    parts, faults = [], []
    problems: dict[str, Any] = {}
    timings: dict[str, dict[str, Any]] = {}
    common: dict[str, Any] = {}
    for path in map(Path, run_files(config, paper, scale)):
        try:
            content = traces.read(path)
        except RepliboError as error:
            faults.append(str(error))
            continue
        metadata = traces.read_metadata(content)
        problem, algorithm = metadata["problem"], metadata["algorithm"]
        problems.setdefault(problem, metadata["problem_facts"])
        common = common or {key: metadata[key] for key in ("versions", "machine", "commit")}
        _add_timings(timings, f"{problem}/{algorithm}", content, metadata)
        names = {"problem": problem, "algorithm": algorithm}
        content = content.drop_columns(["x"])
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
        **common,
    }
    import json

    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})


def _add_timings(
    timings: dict[str, dict[str, Any]], key: str, content: pa.Table, metadata: dict[str, Any]
) -> None:
    """Add one file's CPU seconds to the sums of its problem and algorithm.

    The sum of the squares of the runs' CPU seconds is kept too: the spread over the runs is known
    without the timings of the single queries.
    """
    entry = timings.setdefault(
        key,
        {
            "runs": 0,
            "queries": 0,
            "cpu_seconds": 0.0,
            "cpu_seconds_squared": 0.0,
            "import_seconds": 0.0,
            "jobs": 0,
            "peak_mb": 0.0,
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
    entry["import_seconds"] += metadata["overhead_seconds"]
    entry["peak_mb"] = max(entry["peak_mb"], metadata["peak_mb"])


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

    def note(self, problems: Sequence[str]) -> str:
        """What was run, for captions: scale, seeds, and what is no real data."""
        counts = sorted(
            {len(self.seeds(p, a)) for p in problems for a in self.algorithms(p)} or {0}
        )
        seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        words = [f"Scale: {self.scale}, {seeds} seeds."]
        if self.scale != "paper":
            words.append("A reduced run, not the paper's size.")
        words += sorted({self.stand_in(p) for p in problems} - {""})
        return " ".join(words)
