"""The traces that figures, tables and claims read, of one paper at one scale."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replibo import paths
from replibo.config.models import Config, Pair, PaperEntry
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.results import publish
from replibo.results.comparisons import MissingRunsError
from replibo.run import collect, pairs, published, traces

if TYPE_CHECKING:
    import pyarrow as pa


def read(config: Config, paper: str, scale: str, wanted: Sequence[Pair], target: str) -> Runs:
    """The runs of the ``wanted`` problems and algorithms, and of no others.

    Args:
        target: what a user asks Snakemake for where files are missing.
    """
    pairs.require(pairs.files(config, paper, scale, wanted), target)
    if wanted:
        table = collect.together(_of_equal_length(config, paper, scale, wanted))
    else:
        of_paper = published.of_paper(paper).values() if scale == paths.PUBLISHED else ()
        run_at = next((runs.scale for runs in of_paper), scale)
        table = traces.nothing({"paper": paper, "scale": run_at, "problems": {}, "timings": {}})
    # Remembered: the claims on one function's dimensions read the same runs
    alone = functools.lru_cache(8)(functools.partial(read, config, paper, scale, target=target))
    return Runs(config.paper(paper), traces.read_metadata(table), table, read_alone=alone)


def _of_equal_length(
    config: Config, paper: str, scale: str, wanted: Sequence[Pair]
) -> list[pa.Table]:
    """The runs of each of the ``wanted``, those of one problem cut at the shortest of them, so that what
    is compared has the same budget."""
    entry = config.paper(paper)
    if scale == paths.PUBLISHED:
        read_pair = functools.partial(publish.rows, paper)
    else:
        read_pair = functools.partial(collect.read_pair, config, paper, scale)
    horizons: dict[str, set[int]] = {}
    cut = set()  # problems of which x is kept for several horizons
    for problem, algorithm in wanted:
        if scale == paths.PUBLISHED:
            runs = published.of_pair(paper, problem, algorithm)
            assert runs is not None
            horizon, kept_for = runs.horizon, {*runs.best_at}
        else:
            horizon = entry.settings(scale, problem, algorithm).horizon or 0
            kept_for = entry.horizons(scale, problem)
        horizons.setdefault(problem, set()).add(horizon)
        if len(kept_for) > 1 or len(horizons[problem]) > 1:
            cut.add(problem)
    return [
        read_pair(problem, algorithm, min(horizons[problem]) if problem in cut else None)
        for problem, algorithm in wanted
    ]


def of_common_seeds(
    samples: Iterable[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """The seeds that all samples have, and of each sample the values of these.

    Args:
        samples: of each the seeds, ``n``, and the values, ``n x …``.
    """
    pairs = list(samples)
    common = functools.reduce(np.intersect1d, [seeds for seeds, _ in pairs])
    return common, [values[np.isin(seeds, common)] for seeds, values in pairs]


@dataclass
class Runs:
    """The traces of one paper, with the config's entry for labels and colours.

    Attributes:
        entry: the paper's config.
        metadata: what `replibo.run.collect` stored: scale, problems' facts, timings, versions.
        table: the long table, the rows of a problem and algorithm by seed and t.
        left_out: what an output should show and these runs lack, for captions.
        read_alone: reads the runs of some pairs and of no others, for `of`.
        stood_for: of `standing_for` the runs that it took, and which of them stands for which, for `of`.
    """

    entry: PaperEntry
    metadata: dict[str, Any]
    table: pa.Table
    left_out: str = ""
    read_alone: Callable[[tuple[Pair, ...]], Runs] | None = None
    stood_for: tuple[Runs, Mapping[Pair, Pair]] | None = None

    @functools.cached_property
    def _groups(self) -> dict[Pair, pa.Table]:
        import pyarrow as pa

        (problems, problem), (algorithms, algorithm) = (
            _words(self.table[name]) for name in ("problem", "algorithm")
        )
        changes = np.flatnonzero((np.diff(problem) != 0) | (np.diff(algorithm) != 0)) + 1
        parts: dict[Pair, list[pa.Table]] = {}
        for first, end in itertools.pairwise([0, *changes.tolist(), len(problem)]):
            if first < end:
                pair = problems[problem[first]], algorithms[algorithm[first]]
                parts.setdefault(pair, []).append(self.table.slice(first, end - first))
        return {pair: pa.concat_tables(tables) for pair, tables in parts.items()}

    @property
    def scale(self) -> str:
        """The scale at which the runs were made."""
        return str(self.metadata["scale"])

    def problems(self, wanted: Sequence[str] | None = None) -> list[str]:
        """The problems that were run, in the order of ``wanted`` or of the config."""
        ran = {problem for problem, _ in self._groups}
        order = self.entry.problems if wanted is None else wanted
        return [problem for problem in order if problem in ran]

    def algorithms(
        self, problem: str, wanted: Sequence[str] | None = None, diagnostic: str | None = None
    ) -> list[str]:
        """The algorithms that were run on ``problem``, in the order of ``wanted`` or of the config; those
        alone whose runs hold the ``diagnostic``, if one is named."""
        return [
            name
            for name in (self.entry.algorithms if wanted is None else wanted)
            if self.has(problem, name)
            and (diagnostic is None or self.held(problem, name, diagnostic) is not None)
        ]

    def label(self, algorithm: str) -> str:
        """An algorithm's name in figures and tables; its name in the config if it has no entry."""
        entries = self.entry.algorithms
        return entries[algorithm].label if algorithm in entries else algorithm

    def problem_label(self, problem: str) -> str:
        """A problem's title in figures and tables; its name in the config if it has no entry."""
        entries = self.entry.problems
        return entries[problem].label if problem in entries else problem

    def require(self, problem: str, *algorithms: str) -> None:
        """Raise a `MissingRunsError` where one of the algorithms was not run on the problem."""
        if missing := [name for name in algorithms if not self.has(problem, name)]:
            raise MissingRunsError(f"{', '.join(missing)} was not run on {problem}")

    def standing_for(self, pairs: Mapping[Pair, Pair]) -> Runs:
        """The runs of each source in ``pairs`` (target to source), named as its target, with the
        source's label, facts, timings and config; a source that was not run is left out."""
        import pyarrow as pa

        entry, metadata = self.entry, self.metadata
        facts, timings = dict(metadata["problems"]), dict(metadata.get("timings", {}))
        problems, algorithms = dict(entry.problems), dict(entry.algorithms)
        parts, changed = [], False
        for target, source in pairs.items():
            if source not in self._groups:
                continue
            origin = metadata.get("pairs", {}).get("/".join(source), metadata)
            changed |= origin.get("changed_config", False)
            rows = self._groups[source]
            for name, word in zip(("problem", "algorithm"), target, strict=True):
                column = rows.column_names.index(name)
                rows = rows.set_column(column, name, collect.repeated(word, len(rows)))
            parts.append(rows)
            facts[target[0]] = metadata["problems"][source[0]]
            if "/".join(source) in metadata.get("timings", {}):
                timings["/".join(target)] = metadata["timings"]["/".join(source)]
            problems[target[0]] = entry.problems[source[0]]
            algorithms[target[1]] = entry.algorithms[source[1]]
        return Runs(
            entry.model_copy(update={"problems": problems, "algorithms": algorithms}),
            {**metadata, "problems": facts, "timings": timings, "changed_config": changed},
            pa.concat_tables(parts).unify_dictionaries() if parts else self.table.slice(0, 0),
            self.left_out,
            stood_for=(self, pairs),
        )

    def cut_for_others(self, pairs: Iterable[Pair]) -> bool:
        """Whether each of ``pairs`` on some problem was run to a longer horizon than is read here,
        because another algorithm's is shorter."""
        published = self.metadata.get("pairs", {})
        shortest: dict[str, float] = {}
        for problem, algorithm in pairs:
            if runs := published.get(f"{problem}/{algorithm}"):
                horizon = runs["horizon"]
            elif published:
                horizon = 0  # not published
            else:
                horizon = self.entry.settings(self.scale, problem, algorithm).horizon
            shortest[problem] = min(horizon, shortest.get(problem, np.inf))
        return any(t > self.horizon(problem) for problem, t in shortest.items())

    def of(self, pairs: Iterable[Pair]) -> Runs:
        """These runs; or, if another algorithm's shorter runs cut them here, the full runs of
        ``pairs``."""
        run_pairs = tuple(dict.fromkeys(pair for pair in pairs if self.has(*pair)))
        if self.stood_for is not None:
            runs, sources = self.stood_for
            standing = {pair: sources[pair] for pair in run_pairs}
            full_runs = runs.of(standing.values())
            return self if full_runs is runs else full_runs.standing_for(standing)
        if self.read_alone is None or not self.cut_for_others(run_pairs):
            return self
        return dataclasses.replace(self.read_alone(run_pairs), left_out=self.left_out)

    def until(self, t: int) -> Runs:
        """As they were after round ``t``; runs that ended before are left as they are."""
        import pyarrow.compute as pc

        problems = {
            problem: {**facts, "horizon": min(facts["horizon"], t)}
            for problem, facts in self.metadata["problems"].items()
        }
        table = self.table.filter(pc.less_equal(self.table["t"], t))
        return Runs(self.entry, {**self.metadata, "problems": problems}, table, self.left_out)

    def of_the_seeds_in(self, reference: Runs) -> Runs:
        """These runs, but only the seeds that ``reference`` has of each problem and algorithm."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = [self.table.slice(0, 0)]
        for pair, rows in self._groups.items():
            if reference.has(*pair):
                seeds = pa.array(reference.seeds(*pair))
                parts.append(rows.filter(pc.is_in(rows["seed"], value_set=seeds)))
        reader = self.read_alone
        alone = (lambda pairs: reader(pairs).of_the_seeds_in(reference)) if reader else None
        return dataclasses.replace(self, table=pa.concat_tables(parts), read_alone=alone)

    def has(self, problem: str, algorithm: str) -> bool:
        """Whether there are runs of this problem and algorithm."""
        return (problem, algorithm) in self._groups

    def lacking(self, problem: str, wanted: Iterable[str]) -> list[str]:
        """The labels of the ``wanted`` algorithms configured for ``problem`` that were not run."""
        configured = self.entry.settings("paper", problem).algorithms or []
        return [
            self.entry.algorithms[name].label
            for name in wanted
            if name in configured and not self.has(problem, name)
        ]

    def _column(self, problem: str, algorithm: str, name: str) -> Array:
        rows = self._groups[problem, algorithm]
        seeds = 1 + np.count_nonzero(np.diff(rows["seed"].to_numpy()))
        return rows[name].to_numpy().reshape(seeds, -1)

    def rounds(self, problem: str, algorithm: str) -> Array:
        """The rounds t, shape ``queries``; initial points included."""
        return self._column(problem, algorithm, "t")[0]

    def seeds(self, problem: str, algorithm: str) -> Array:
        """The seeds, in the order of the rows of `f`."""
        return self._column(problem, algorithm, "seed")[:, 0]

    def f(self, problem: str, algorithm: str) -> Array:
        """The noise-free values, ``seeds x queries``; initial points included."""
        return self._column(problem, algorithm, "f")

    def by_seed(self, problem: str, algorithm: str) -> dict[int, Array]:
        """For each seed the noise-free values of its queries, in full (`of`)."""
        runs, pair = self.of([(problem, algorithm)]), (problem, algorithm)
        return dict(zip(runs.seeds(*pair).tolist(), runs.f(*pair), strict=True))

    def diagnostic(self, problem: str, algorithm: str, name: str) -> Array:
        """A diagnostic, ``seeds x queries``, NaN at the initial points; a `MissingRunsError` if there are
        no runs, or they do not hold it."""
        self.require(problem, algorithm)
        if (values := self.held(problem, algorithm, name)) is None:
            raise MissingRunsError(f"the runs of {algorithm} on {problem} hold no {name}")
        return values

    def held(self, problem: str, algorithm: str, name: str) -> Array | None:
        """A diagnostic, ``seeds x queries``; None if these runs do not hold it."""
        if not self.has(problem, algorithm) or name not in self.table.column_names:
            return None
        values = self._column(problem, algorithm, name)
        return None if np.isnan(values).all() else values

    def best_queries(self, problem: str, algorithm: str) -> Array:
        """x of each run's best queries, native coordinates, the best first: ``seeds x k x d`` with k the
        problem's `kept_queries` (all queries, if a run has fewer).

        Traces that were published before x was kept hold none; then a `RepliboError`.
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
        facts: dict[str, Any] = self.metadata["problems"][problem].get("recorded", {})
        return facts

    def f_of_common_seeds(self, problem: str, algorithms: Sequence[str]) -> list[Array]:
        """`f` of each algorithm, restricted to the seeds that all of them have, for paired tests."""
        samples = [(self.seeds(problem, name), self.f(problem, name)) for name in algorithms]
        return of_common_seeds(samples)[1]

    def dim(self, problem: str) -> int:
        """The number of dimensions."""
        return int(self.metadata["problems"][problem]["dim"])

    def initial_points(self, problem: str) -> int:
        """Number of initial points."""
        return int(self.metadata["problems"][problem]["initial_points"])

    def horizon(self, problem: str) -> int:
        """T, the last round."""
        return int(self.metadata["problems"][problem]["horizon"])

    def optimal_value(self, problem: str) -> float:
        """The optimum; a `RepliboError` if it is not known."""
        value = self.metadata["problems"][problem]["optimal_value"]
        if value is None:
            raise RepliboError(f"{problem}: its optimum is not known, so there is no regret")
        return float(value)

    def stand_in(self, problem: str) -> str:
        """What stands in for the problem's real data; empty where the data are real."""
        return str(self.metadata["problems"][problem]["stand_in"])

    def reductions(
        self,
        problems: Sequence[str],
        algorithms: Sequence[str] | None = None,
        rounds: float = math.inf,
    ) -> list[str]:
        """In what the runs are less than at paper scale: scale, seeds, horizon, data, config.

        Args:
            rounds: T of what is shown; it is no reduction if the runs end after it.
        """
        reasons = [] if self.scale.partition("@")[0] == "paper" else [f"{self.scale} scale"]
        for problem in problems:
            names = self.algorithms(problem, algorithms)
            counts = [
                (len(self.seeds(problem, name)), len(self.entry.seeds("paper", problem, name)))
                for name in names
            ]
            if fewer := [(n, full) for n, full in counts if n < full]:
                least, full = min(fewer, key=lambda count: count[0] / count[1])
                most = max(n for n, configured in counts if configured == full)
                seeds = f"{least} to {most}" if most > least else str(least)
                reasons.append(f"{seeds} of {full} seeds")
            horizons = [self.entry.settings("paper", problem, name).horizon or 0 for name in names]
            horizon = min(horizons, default=0)
            if self.horizon(problem) < min(horizon, rounds):
                reasons.append(f"T = {self.horizon(problem)} of {horizon}")
            if self.stand_in(problem):
                reasons.append("stand-in data")
        if self.metadata.get("changed_config"):
            reasons.append("a changed config")
        return list(dict.fromkeys(reasons))

    def note(
        self,
        problems: Sequence[str],
        algorithms: Sequence[str] | None = None,
        rounds: float = math.inf,
    ) -> str:
        """A caption's note on the runs: their seeds, their `reductions`, stand-in data, mixed software.

        Args:
            rounds: how many rounds the figure or table shows.
        """
        counts = sorted(
            {len(self.seeds(p, a)) for p in problems for a in self.algorithms(p, algorithms)} or {0}
        )
        seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        words = [f"{seeds} seed{'' if seeds == '1' else 's'}." if counts[-1] else "Not run."]
        if reasons := self.reductions(problems, algorithms, rounds):
            words.append(f"Smaller than configured at paper scale: {', '.join(reasons)}.")
        elif counts[-1]:
            words.append("As configured at paper scale.")
        words += sorted({self.stand_in(p) for p in problems} - {""})
        words += [text for text in (self.mixed(), self.left_out) if text]
        return " ".join(words)

    def mixed(self) -> str:
        """A line for captions on what can change numbers and is not the same in all runs; else empty."""
        machines = [word.split(", ") for word in self.metadata.get("machine", [])]
        kernels = {word for words in machines for word in words if word.endswith(" kernels")}
        values: dict[str, set[str]] = {}
        for versions in self.metadata.get("versions", []):
            for name, version in versions.items():
                values.setdefault(name, set()).add(version)
        kinds = [" and ".join(sorted(kernels))] if len(kernels) > 1 else []
        kinds += [
            f"{name} {' and '.join(sorted(numbers))}"
            for name, numbers in sorted(values.items())
            if len(numbers) > 1
        ]
        return f"Not all runs used the same software: {', '.join(kinds)}." if kinds else ""


def _words(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The different texts of a column, and for each row the place of its text among them."""
    encoded = column.dictionary_encode().combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
