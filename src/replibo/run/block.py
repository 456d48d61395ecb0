"""One block of runs, from the config to its file of traces."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from pathlib import Path

from replibo import files, paths
from replibo.config import load, models
from replibo.config.models import Config
from replibo.errors import ENDED, RepliboError
from replibo.run import commit, identity


def run(
    config: Config,
    paper: str,
    problem: str,
    algorithm: str,
    *,
    seeds: str,
    scale: str,
    output: Path,
    initial_points: Path | None = None,
    changed_config: bool = False,
    while_querying: contextlib.AbstractContextManager[None],
) -> None:
    """Run a block of seeds and write its traces to ``output``; a killed run goes on where it was.

    Args:
        seeds: ``FIRST-LAST`` or one seed.
        initial_points: CSV file of the points to start from, instead of the problem's.
        changed_config: whether files were laid over the config, which may have changed these runs.
        while_querying: entered while queries are made.
    """
    started = time.process_time()
    scale = config.scale(scale)
    try:
        block = models.seed_list(seeds)
    except ValueError as error:
        raise RepliboError(f"--seeds: {error}") from None
    settings = load.run_settings(config, paper, scale, problem, algorithm)
    run_identity = identity.run_identity(config.paper(paper), scale, problem, algorithm)
    # A run that could not write its result must say so before it works for hours.
    files.check_writable(output)

    from replibo.run import build, finished, loop, progress, traces
    from replibo.run.journal import remove_folder_if_empty
    from replibo.run.memory import peak_mib

    versions = identity.library_versions()
    folder = paths.journal_folder(output, scale, paper, problem, algorithm)
    given = build.read_points(initial_points) if initial_points else None
    if given is not None:
        run_identity["given_points"] = given.tolist()
    journal = identity.journal_digest(run_identity, paper, versions, kernels())
    job = build.experiment(config, paper, scale, problem, algorithm, given)
    overhead = time.process_time() - started
    name = f"{paper} {problem} {algorithm} seeds {seeds} at scale {scale}"
    try:
        with while_querying:
            done = loop.run_block(
                job, block, journal_folder=folder, identity=journal, report=progress.reporter(name)
            )
    except SystemExit as end:
        raise RepliboError(f"{name}: {ENDED}") from end
    except Exception as error:
        error.add_note(f"in {name}")
        raise
    traces.check_diagnostics(done)
    metadata = {
        "paper": paper,
        "problem": problem,
        "algorithm": algorithm,
        "scale": scale,
        "identity": run_identity,
        "problem_facts": {
            "optimal_value": job.problem.optimal_value,
            "noise_std": job.problem.noise_std,
            "dim": job.problem.dim,
            "stand_in": job.problem.stand_in,
            "kept_queries": job.problem.kept_queries,
            "recorded": job.problem.recorded(),
            "initial_points": job.initial_points,
            "horizon": settings.horizon,
        },
        "digests": {str(trace.seed): trace.digest() for trace in done},
        "versions": versions,
        "overhead_seconds": overhead,
        "changed_config": changed_config and finished.is_changed(paper, scale, run_identity),
        "machine": machine(),
        "peak_mb": round(peak_mib(), 1),
        "commit": commit.described(),
    }
    traces.write(output, traces.table(done, metadata))
    for seed in block:
        loop.journal_path(folder, seed).unlink(missing_ok=True)
    remove_folder_if_empty(folder)


def machine() -> str:
    """This machine: operating system, processor, `kernels`, Python. The kernels decide the last bits of
    sums, and with them which machines make the same traces."""
    parts = (
        f"{platform.system()} {platform.machine()}",
        _processor(),
        kernels(),
        f"Python {platform.python_version()}",
    )
    return ", ".join(filter(None, parts))


def kernels() -> str:
    """The kernels that BLAS and NumPy take for this processor, and limits that variables set to them."""
    from numpy._core import _multiarray_umath as core  # loads NumPy's BLAS, too
    from threadpoolctl import threadpool_info

    blas = {pool["architecture"] for pool in threadpool_info() if pool.get("architecture")}
    levels = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    limits = [f"{name} {os.environ[name]}" for name in LIMITS if os.environ.get(name)]
    parts = [f"{' and '.join(sorted(blas))} kernels"] if blas else []
    parts += [f"NumPy {levels[-1] if levels else 'baseline'}", *limits]
    return ", ".join(parts)


LIMITS = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")
"""Variables that choose the kernels of PyTorch and of its libraries."""


def _processor() -> str:
    """The processor's name; empty where Linux does not say it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return ""
