"""A run by hand is the run of the workflow, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from replibo import cli, threads

from ..conftest import digests
from .conftest import Project

# With more threads than one, its few rounds end in other bits on most machines.
RUN = ("lb_gp_ucb", "berkenkamp", "mle")


def test_by_hand_as_by_the_workflow_whatever_the_number_of_threads(
    project: Project, tmp_path: Path, root: Path
) -> None:
    target = f"results/quick/{'/'.join(RUN)}/seeds_0.parquet"
    project.snakemake("--cores", "1", target)
    by_workflow = digests(project.path / target)
    command = ["run", *RUN, "--seeds", "0", "--scale", "quick"]
    four = ["-m", "replibo", *command, "--output", str(tmp_path / "four.parquet")]
    environment = project.environment() | dict.fromkeys(threads.VARIABLES, "4")
    subprocess.run([sys.executable, *four], cwd=project.path, env=environment, check=True)
    assert digests(tmp_path / "four.parquet") == by_workflow
    # In a process whose libraries were loaded with one thread (tests/conftest.py).
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert cli.main([*command, "--output", str(tmp_path / "one.parquet")]) == 0
    assert digests(tmp_path / "one.parquet") == by_workflow
