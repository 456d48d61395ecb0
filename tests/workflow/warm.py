"""Runs of Snakemake, each in a new process that is forked off one that has imported it: its imports are
most of a dry run's time.

``python warm.py`` takes requests from its standard input, a line of JSON each, and answers each with the
exit code. Of the project, of which a test may have a copy that it edits, nothing is imported beforehand.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

IMPORTED = (
    *("snakemake.cli", "snakemake.report", "snakemake.persistence.file"),
    *("snakemake.scheduling.job_scheduler", "snakemake_executor_plugin_slurm"),
    *("scipy.optimize", "scipy.special"),
)


class Warm:
    """A process that has imported Snakemake."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """``python -m snakemake`` with the arguments, as `subprocess.run` would run it there."""
        assert self._server.stdin and self._server.stdout
        with tempfile.TemporaryDirectory() as scratch:
            texts = Path(scratch, "stdout"), Path(scratch, "stderr")
            request = {
                "arguments": arguments,
                "folder": str(folder),
                "environment": dict(environment),
                "texts": list(map(str, texts)),
            }
            print(json.dumps(request), file=self._server.stdin, flush=True)
            code = int(self._server.stdout.readline())
            said = [path.read_text(encoding="utf-8") for path in texts]
        return subprocess.CompletedProcess(("snakemake", *arguments), code, *said)

    def close(self) -> None:
        """End the process."""
        self._server.communicate()


def _serve() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            _become(**request)
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _become(
    arguments: list[str], folder: str, environment: dict[str, str], texts: list[str]
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate([os.devnull, *texts]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (what was read ahead is no input of this one)
    sys.path[0:1] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = ["snakemake", *arguments]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
