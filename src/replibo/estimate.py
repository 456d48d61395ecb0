"""How long a scale takes: from the timings that traces carry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replibo import publish, traces
from replibo.config.models import Config, seed_list
from replibo.config.workflow import published_files
from replibo.errors import RepliboError
from replibo.tables import Table


def measured(paper: str) -> dict[str, tuple[dict[str, Any], str]]:
    """The timings at hand for each ``problem/algorithm``, and where each comes from: runs on this
    machine first (the largest scale before the smaller ones), then the published ones."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    if published_files(paper):
        metadata = publish.read_metadata(Path("published", paper))
        for key, timing in metadata["timings"].items():
            found[key] = timing, f"published {metadata['scale']} runs"
    for scale in ("smoke", "quick", "paper"):
        path = Path("results", scale, paper, "runs.parquet")
        try:
            metadata = traces.read_metadata(traces.read(path, columns=["seed"]))
        except RepliboError:
            continue
        for key, timing in metadata["timings"].items():
            found[key] = timing, f"{scale} runs here"
    return found


def table(config: Config, papers: Sequence[str], scale: str, cores: int) -> Table:
    """Jobs, core hours, wall time and memory for each paper and algorithm at ``scale``.

    CPU seconds a query are taken as measured, whatever the horizon; a job's start (imports) is added
    once per job. An algorithm that was never run has no estimate.
    """
    columns = ("paper", "algorithm", "jobs", "runs", "queries", "core hours", "peak MB", "from")
    rows: list[tuple[Any, ...]] = []
    total, unknown = 0.0, 0
    for paper in papers:
        entry = config.paper(paper)
        timings = measured(paper)
        work: dict[str, dict[str, Any]] = {}
        for problem in entry.problems_at(scale):
            settings = entry.settings(scale, problem)
            assert settings.horizon and settings.initial_points and settings.seeds
            extra = settings.initial_points if entry.first_round == "search" else 0
            for algorithm in settings.algorithms or []:
                line = work.setdefault(
                    algorithm,
                    {"jobs": 0, "runs": 0, "queries": 0, "seconds": 0.0, "mb": 0.0, "from": set()},
                )
                blocks = entry.blocks(scale, problem, algorithm)
                jobs, runs = len(blocks), sum(len(seed_list(block)) for block in blocks)
                queries = runs * (settings.horizon + extra)
                line["jobs"] += jobs
                line["runs"] += runs
                line["queries"] += queries
                timing, origin = timings.get(f"{problem}/{algorithm}", (None, "not measured"))
                line["from"].add(origin)
                if timing is None:
                    line["seconds"] = float("nan")
                    continue
                line["seconds"] += queries * timing["cpu_seconds"] / timing["queries"]
                line["seconds"] += jobs * timing["import_seconds"] / timing["jobs"]
                line["mb"] = max(line["mb"], timing["peak_mb"])
        for algorithm, line in work.items():
            known = line["seconds"] == line["seconds"]
            total += line["seconds"] / 3600 if known else 0.0
            unknown += not known
            rows.append(
                (
                    paper,
                    algorithm,
                    line["jobs"],
                    line["runs"],
                    line["queries"],
                    line["seconds"] / 3600 if known else None,
                    line["mb"] if known else None,
                    ", ".join(sorted(line["from"])),
                )
            )
    missing = f", and {unknown} rows that were never measured" if unknown else ""
    caption = (
        f"Scale {scale}: {total:.2f} core hours, {total / cores:.2f} hours on {cores} cores{missing}. "
        "CPU time of one thread, by the mean time of the measured queries: runs measured at a shorter "
        "horizon make the estimate too low. The time of Snakemake itself is not in it."
    )
    formats = {"core hours": lambda v: f"{v:.3f}", "peak MB": lambda v: f"{v:.0f}"}
    return Table(columns, rows, caption, formats)
