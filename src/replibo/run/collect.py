"""The runs of one problem and algorithm put together: its blocks in one table, with what they have in
common in the metadata."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import paths
from replibo.config.load import run_settings
from replibo.config.models import Config, seed_list
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.run import metadata, pairs, traces
from replibo.run.identity import run_identity

if TYPE_CHECKING:
    import pyarrow as pa

OTHER = "Snakemake makes it again where it is given this config; what was put there by hand, delete"
"""What to do about runs with other settings."""


def read_pair(
    config: Config,
    paper: str,
    scale: str,
    problem: str,
    algorithm: str,
    horizon: int | None = None,
) -> pa.Table:
    """The runs of one problem and algorithm from the file that outputs read (`replibo.run.pairs.file`).

    Args:
        horizon: only the rows up to this round, with x of each run's best queries up to there.
    """
    path = Path(pairs.file(config.paper(paper), paper, scale, problem, algorithm))
    if path.name == Path(paths.COLLECTED).name:
        content = traces.read(path)
        if fault := _foreign(content, path, config, paper, scale, problem, algorithm):
            raise RepliboError(f"{path}: {fault}; {OTHER}")
    else:
        content = collect(config, paper, scale, problem, algorithm)
    if horizon is None:
        return content
    facts = traces.read_metadata(content)["problems"][problem]
    return until(content, horizon, facts.get("kept_queries", 1))


def _foreign(content: pa.Table, path: Path, config: Config, *names: str) -> str:
    """Why a collected file does not hold the runs of this paper, scale, problem and algorithm; empty
    if it does."""
    record = metadata.check(metadata.Collected, traces.read_metadata(content), path)
    paper, scale, problem, algorithm = names
    held = [record["paper"], record["scale"], *record["timings"]]
    wanted = [paper, scale, f"{problem}/{algorithm}"]
    if held != wanted:
        return f"must hold {' '.join(wanted)}, got {' '.join(held)}"
    entry = config.paper(paper)
    facts, settings = record["problems"].get(problem, {}), entry.settings(scale, problem, algorithm)
    for key in ("horizon", "initial_points"):
        if facts.get(key) != getattr(settings, key):
            return f"holds runs with {key} = {facts.get(key)}, not {getattr(settings, key)}"
    seeds = entry.seeds(scale, problem, algorithm)
    if content["seed"].to_pylist() != [n for n in seeds for _ in range(entry.queries(settings))]:
        return "must hold every query of every seed of the config"
    return ""


def collect(config: Config, paper: str, scale: str, problem: str, algorithm: str) -> pa.Table:
    """One long table of the traces of one problem and algorithm, with what is common in the
    metadata. x stays for each run's best queries only (`Problem.kept_queries`), and is null for the
    others.

    Raises:
        RepliboError: one line for each file that is missing, damaged or of another run.
    """
    entry, scale = config.paper(paper), config.scale(scale)
    queries = entry.queries(run_settings(config, paper, scale, problem, algorithm))
    expected = run_identity(entry, scale, problem, algorithm)
    parts, faults = [], []
    for block in entry.blocks(scale, problem, algorithm):
        path = Path(paths.block(scale, paper, problem, algorithm, block))
        try:
            content = traces.read(path)
            record = metadata.check(metadata.Block, traces.read_metadata(content), path)
            fault = difference(record["identity"], expected)
            if (record["paper"], record["scale"]) != (paper, scale):
                held = f"{record['paper']} at {record['scale']}"
                fault = f"must hold runs of {paper} at scale {scale}, got {held}"
            if fault:
                raise RepliboError(f"{path}: {fault}; {OTHER}")
            traces.check_block(path, content, seed_list(block), queries)
        except RepliboError as error:
            faults.append(str(error))
        else:
            parts.append(of_block(content, record, path, entry.horizons(scale, problem)))
    if faults:
        raise RepliboError("\n".join(faults))
    return together(parts)


def of_block(
    content: pa.Table, record: dict[str, Any], path: Path, horizons: Collection[int] = ()
) -> pa.Table:
    """One block as outputs read it: the columns ``problem`` and ``algorithm`` in front, and x of the
    `best_queries` only."""
    problem, algorithm = record["problem"], record["algorithm"]
    facts = record["problem_facts"]
    common = {
        "paper": record["paper"],
        "scale": record["scale"],
        "problems": {problem: facts},
        "timings": {f"{problem}/{algorithm}": timings(content, record)},
        "changed_config": record["changed_config"],
        **{key: [record[key]] for key in ORIGIN},
        "files": {problem: str(path)},
    }
    content = best_queries(content, facts.get("kept_queries", 1), horizons)
    content = content.add_column(0, "problem", repeated(problem, len(content)))
    content = content.add_column(1, "algorithm", repeated(algorithm, len(content)))
    return content.replace_schema_metadata({traces.METADATA_KEY: json.dumps(common)})


def repeated(text: str, n: int) -> pa.Array:
    """A column of ``n`` times the same text."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), [text])


def until(content: pa.Table, horizon: int, kept: int) -> pa.Table:
    """The runs of one problem and algorithm up to a round, with x of their ``kept`` best queries up to
    there."""
    import pyarrow.compute as pc

    metadata = traces.read_metadata(content)
    for facts in metadata["problems"].values():
        facts["horizon"] = horizon
    content = content.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})
    content = content.filter(pc.less_equal(content["t"], horizon))
    return best_queries(content, kept)


ORIGIN = ("versions", "machine", "commit")
"""What a run's metadata say of its origin. Together, all of them are kept, where the runs were not made
with the same code, libraries or machine."""


def together(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables that `collect` made, of one paper at one scale, in one table with `merged` metadata."""
    import pyarrow as pa

    metadata = merged(map(traces.read_metadata, parts))
    table = pa.concat_tables(
        [part.replace_schema_metadata(None) for part in parts], promote_options="default"
    ).unify_dictionaries()
    return table.replace_schema_metadata({traces.METADATA_KEY: json.dumps(metadata)})


def merged(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The metadata of tables that are put `together`, or a `RepliboError` if their runs of one problem
    recorded different things of it."""
    faults: list[str] = []
    common: dict[str, Any] = {}
    origin: dict[str, set[str]] = {key: set() for key in ORIGIN}
    for record in parts:
        if not common:
            common = {**record, "problems": {}, "timings": {}, "files": {}, "pairs": {}}
        for problem, facts in record["problems"].items():
            first = common["problems"].setdefault(problem, facts)
            path = record.get("files", {}).get(problem, problem)
            common["files"].setdefault(problem, path)
            if facts.get("recorded", {}) != first.get("recorded", {}):
                faults.append(
                    f"{path}: was run on another {problem} than {common['files'][problem]} (made on "
                    "another machine, or of other data); delete it, and its rule makes it again"
                )
        sums = common["timings"]
        for key, timing in record["timings"].items():
            sums[key] = added(sums[key], timing) if key in sums else timing
        for key, values in origin.items():
            values |= {json.dumps(value, sort_keys=True) for value in record[key]}
        common["changed_config"] |= record["changed_config"]
        common["pairs"] |= record.get("pairs", {})
    if faults:
        raise RepliboError("\n".join(faults))
    texts = {key: map(json.loads, sorted(values)) for key, values in origin.items()}
    return common | {key: [*values] for key, values in texts.items()}


def best_queries(content: pa.Table, kept: int, horizons: Collection[int] = ()) -> pa.Table:
    """``content`` with x null in all rows but the ``kept`` of largest y of each run; ties go to the
    earliest. The best among the rounds up to each of the ``horizons`` keep x, too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seeds, t, y = (content[name].to_numpy() for name in ("seed", "t", "y"))
    best = np.zeros(len(seeds), dtype=bool)
    for last in {int(t.max(initial=0)), *horizons}:
        rows = np.flatnonzero(t <= last)
        order = rows[np.lexsort((t[rows], -y[rows], seeds[rows]))]  # by seed, the best first
        _, starts, sizes = np.unique(seeds[order], return_index=True, return_counts=True)
        rank = np.arange(len(order)) - np.repeat(starts, sizes)
        best[order[rank < kept]] = True
    x = content.column("x")
    nothing = pa.nulls(1, x.type)[0]
    position = content.column_names.index("x")
    return content.set_column(position, "x", pc.if_else(pa.array(best), x, nothing))


def difference(
    identity: dict[str, Any], expected: dict[str, Any], ignored: Collection[str] = ("code",)
) -> str:
    """In which setting a run's identity is not the ``expected`` one of today's config; empty if in none.
    What is ``ignored`` may differ: that the code is today's is for Snakemake to see."""
    # JSON has turned the tuples of ``identity`` into lists
    for key, value in json.loads(json.dumps(expected)).items():
        if key not in ignored and identity.get(key) != value:
            return f"holds runs with {key} = {identity.get(key)}, not {expected[key]}"
    if "given_points" in identity:
        return "holds runs from initial points that were given by hand"
    return ""


def timings(content: pa.Table, record: dict[str, Any]) -> dict[str, Any]:
    """One file's CPU seconds.

    The sum of the squares of the runs' CPU seconds is kept too: the spread over the runs is known
    without the timings of the single queries. So is the profile that `replibo.workflow.costs` reads:
    the number of the first query (1, 2, …) of a bin, and the CPU seconds of all runs in it. The first bin
    holds the initial points; the others begin at 2^k and 3·2^k, a step of about 1.4.
    """
    timed = [content[name].to_numpy().astype(float) for name in traces.TIMINGS]
    queries = np.sum(timed, axis=0)
    _, run = np.unique(content["seed"], return_inverse=True)
    seconds = np.bincount(run, weights=queries)
    return {
        "runs": len(record["digests"]),
        "queries": len(content),
        "cpu_seconds": float(seconds.sum()),
        "cpu_seconds_squared": float(seconds @ seconds),
        "evaluate_seconds": float(np.sum(content["evaluate_seconds"].to_numpy())),
        "import_seconds": record["overhead_seconds"],
        "jobs": 1,
        "peak_mb": record["peak_mb"],
        "profile": {key: round(value, 6) for key, value in _profile(content, queries).items()},
    }


def added(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The timings of two files of one problem and algorithm as those of one."""
    added = {key: first[key] + second[key] for key in first if key not in ("peak_mb", "profile")}
    profile = dict(first["profile"])
    for key, seconds in second["profile"].items():
        profile[key] = round(profile.get(key, 0.0) + seconds, 6)
    return {**added, "peak_mb": max(first["peak_mb"], second["peak_mb"]), "profile": profile}


def _profile(content: pa.Table, seconds: Array) -> dict[str, float]:
    """CPU seconds by the number of the query, summed over the runs: see `timings`. A key is a
    text, as JSON will have it."""
    t = content["t"].to_numpy()
    number = t - t.min() + 1
    phase = np.array(content.column("phase").to_pylist())
    n_initial = int(np.max(number[phase == "initial"], initial=0))
    powers = 2 ** np.arange(32)
    steps = np.unique([1, n_initial + 1, *powers, *(3 * powers)])
    first = steps[(steps == 1) | (steps > n_initial)]
    first = first[first <= number.max()]
    sums = np.bincount(np.searchsorted(first, number, "right") - 1, seconds, len(first))
    return {str(n): float(value) for n, value in zip(first, sums, strict=True)}
