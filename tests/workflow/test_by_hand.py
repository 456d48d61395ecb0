"""A run by hand is the run of the workflow, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from replibo import cli

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
    for threads in (None, "4"):
        output = tmp_path / f"{threads}.parquet"
        environment = project.environment()
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment |= {name: threads} if threads else {}
        subprocess.run(
            [sys.executable, "-m", "replibo", *command, "--output", str(output)],
            cwd=project.path,
            env=environment,
            check=True,
        )
        assert digests(output) == by_workflow, f"threads: {threads}"
    # In a process whose libraries were loaded with one thread (tests/conftest.py).
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert cli.main([*command, "--output", str(tmp_path / "one.parquet")]) == 0
    assert digests(tmp_path / "one.parquet") == by_workflow
