"""A run by hand is the run of the workflow, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from replibo import cli
from replibo.run import traces

from .conftest import Project

RUN = ("lb_gp_ucb", "berkenkamp", "mle")
# With more threads than one, these few rounds end in other bits on most machines.
OVERLAY = "lb_gp_ucb: {scales: {quick: {problems: {berkenkamp: {horizon: 15}}}}}\n"


def digests(path: Path) -> object:
    return traces.read_metadata(traces.read(path))["digests"]


def test_by_hand_as_by_the_workflow_whatever_the_number_of_threads(
    project: Project, tmp_path: Path, root: Path
) -> None:
    overlay = tmp_path / "short.yaml"
    overlay.write_text(OVERLAY, encoding="utf-8")
    target = f"results/quick/{'/'.join(RUN)}/seeds_0.parquet"
    project.snakemake("--cores", "1", "--configfile", str(overlay), "--", target)
    by_workflow = digests(project.path / target)
    command = ["run", *RUN, "--seeds", "0", "--scale", "quick", "--config", str(overlay)]
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
