"""Snakemake as a child of a command."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from replibo import files
from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.run.identity import identity_digest

PROGRAM = """
import sys
sys.argv[0] = "snakemake"
try:
    from snakemake.cli import main
    main()
except KeyboardInterrupt:
    sys.exit("replibo: stopped before Snakemake ran a job; the same command goes on")
"""


@contextlib.contextmanager
def started(arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Snakemake with some arguments; a stop of this process reaches it and all its jobs, whose journals
    stay."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    child = subprocess.Popen(command, start_new_session=True)
    try:
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
            child.wait()


def overlay(change: dict[str, Any]) -> Path:
    """The file of a change of the config, for ``--configfile``."""
    path = Path(".snakemake", "replibo", f"{identity_digest(change)}.yaml")
    with files.written_whole(path) as temporary:
        temporary.write_text(yaml.safe_dump(change, sort_keys=False), encoding="utf-8")
    return path


class Variant:
    """A changed config, whose results lie in folders of their own, and its files.

    Args:
        config: the config without the change.
        overlays: the files that are laid over it already.
        name: of the change; the config's own variant goes before it.

    Attributes:
        overlays: these files and the one of the change.
        config: the config with all of them.
        scale: of the runs, as files are named by it.
    """

    def __init__(
        self, config: Config, overlays: Sequence[Path], name: str, change: dict[str, Any]
    ) -> None:
        full = f"{config.variant}_{name}" if config.variant else name
        self.overlays = [*overlays, overlay({"variant": full, **change})]
        self.config = load.load(overlays=self.overlays)
        self.scale = self.config.scale("paper")

    def make(self, targets: Sequence[str], cores: int, *, verbose: bool = False) -> None:
        """Make files, with one line of progress on standard error, or all that Snakemake says."""
        # Nobody else makes the files of this variant, so no lock is needed, and none is left behind.
        options = ["--nolock", "--cores", str(cores), *(["--printshellcmds"] if verbose else [])]
        configs = ["--configfile", *map(str, self.overlays)]
        with started([*options, *targets, *configs]) as child:
            if child.wait():
                raise RepliboError("snakemake failed: see above; the same command goes on")
