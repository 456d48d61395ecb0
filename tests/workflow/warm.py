"""Runs of Snakemake, each in a process that is forked off one that has imported it: its imports are most of
a dry run's time.

Of the project, of which a test may have a copy that it edits, nothing is imported beforehand.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CHILD = "child"
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        *("snakemake.cli", "snakemake.report", "snakemake.persistence.file"),
        *("snakemake.scheduling.job_scheduler", "snakemake_executor_plugin_slurm"),
        *("scipy.optimize", "scipy.special"),
    ]
)


def forked(
    arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """``python -m snakemake`` with the arguments, as `subprocess.run` would run it there."""
    with tempfile.TemporaryDirectory() as scratch:
        texts = Path(scratch, "stdout"), Path(scratch, "stderr")
        request = (arguments, folder, dict(environment), texts)
        # This file by its path: not every way to start pytest lets a child import the tests.
        child = SERVER.Process(target=runpy.run_path, args=(__file__, {"request": request}, CHILD))
        child.start()
        child.join()
        said = [path.read_text(encoding="utf-8") for path in texts]
    return subprocess.CompletedProcess(("snakemake", *arguments), child.exitcode or 0, *said)


def _become(
    arguments: tuple[str, ...],
    folder: Path,
    environment: dict[str, str],
    texts: tuple[Path, Path],
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate([os.devnull, *texts]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.path[:0] = [str(folder), *environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = ["snakemake", *arguments]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == CHILD:
    _become(*globals()["request"])
