"""The papers' own runs, carried on by a cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ..workflow.test_status import small_project
from .conftest import PROFILE

pytestmark = pytest.mark.slurm


def test_what_is_missing_runs_as_jobs_and_is_published(node: None, tmp_path: Path) -> None:
    small = small_project(tmp_path / "small")
    # one of six runs is there already
    ready = "results/smoke/go_ucb/f1/random_search/seeds_0.parquet"
    small.snakemake("--cores", "1", ready)
    before = (small.path / ready).stat().st_mtime_ns
    command = ("-m", "replibo.workflow.paper_runs", "--scale", "smoke", *PROFILE[:2])
    done = small.run(sys.executable, *command)
    assert "go_ucb: f1/random_search: new: 3 seeds" in done.stdout
    assert "go_ucb: f1/exploration_first: new: 3 seeds" in done.stdout
    assert "SLURM run ID" in done.stderr and "of 5 jobs" in done.stderr
    assert (small.path / ready).stat().st_mtime_ns == before
    assert "100 % by cost" in small.replibo("status", "--scale", "smoke").stdout
    # published whole: nothing is left to send
    assert "SLURM" not in small.run(sys.executable, *command).stderr
