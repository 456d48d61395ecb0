"""The workflow through profiles/slurm on a real SLURM."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from replibo.config import load
from replibo.workflow import targets

from ..conftest import digests
from ..workflow.conftest import ROOT, Project, make_project, run_files
from .conftest import SCRIPT, Workflow, queue, until

pytestmark = pytest.mark.slurm

HELD = '''
"""f1, which notes every query, and waits at the sixth as long as there is a file called `hold`."""

import time
from pathlib import Path

from replibo.problems.base import Array, Observation
from replibo.problems.go_ucb import F1
from replibo.streams import RunStreams


class Held(F1):
    def observe(self, x: Array, streams: RunStreams, query: int) -> Observation:
        while query == 5 and Path("hold").exists():
            time.sleep(0.1)
        with Path("queries.txt").open("a", encoding="utf-8") as file:
            print(query, file=file)
        return super().observe(x, streams, query)
'''
OVERLAY = """
go_ucb:
  problems: {held: {type: held.Held, label: held, parameters: {noise_std: 0.05}}}
  scales:
    smoke:
      only: [held]
      problems: {held: {seeds: 0-1, horizon: 8, algorithms: [gp_ei]}}
"""
TARGET = "results/smoke/go_ucb/held/gp_ei/seeds_0-1.parquet"
# Its jobs overtake those of the whole workflow, which is under way.
ARGUMENTS = (TARGET, "--configfile", "held.yaml", "--default-resources", "slurm_partition=urgent")


@pytest.fixture(scope="module", autouse=True)
def smoke(node: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workflow]:
    """The whole workflow at smoke scale, which runs on SLURM while the other tests have their turn."""
    running = Workflow(make_project(tmp_path_factory.mktemp("smoke")), "smoke")
    yield running
    if running.process.poll() is None:
        running.interrupt()
        running.status()


class Held:
    """A project with one run that waits until it is let go."""

    def __init__(self, project: Project) -> None:
        self.project = project
        (project.path / "src/replibo/problems/held.py").write_text(HELD, encoding="utf-8")
        (project.path / "held.yaml").write_text(OVERLAY, encoding="utf-8")
        (project.path / "hold").touch()

    def queries(self) -> list[int]:
        """The queries made so far, by both seeds."""
        path = self.project.path / "queries.txt"
        return sorted(map(int, path.read_text().split())) if path.exists() else []

    def job(self) -> str:
        """The id of its job, once the run has come to where it waits."""
        until(lambda: len(self.queries()) == 10, "the run has made ten queries")
        (job,) = (i for i, name in self.jobs() if name == str(self.project.path))
        return job

    @staticmethod
    def jobs() -> list[tuple[str, str]]:
        """Id and working folder of the running jobs."""
        lines = queue("--partition", "urgent", "--states", "running", "--format", "%i %Z")
        return [tuple(line.split(maxsplit=1)) for line in lines]  # type: ignore[misc]

    def let_go(self) -> None:
        """Let the run go on."""
        (self.project.path / "hold").unlink()

    def check(self) -> None:
        """Each query was made once, and the traces are those of a run that nothing held up."""
        assert self.queries() == sorted([*range(8)] * 2)
        other = self.project.path / "undisturbed.parquet"
        settings = ("--seeds", "0-1", "--scale", "smoke", "--config", "held.yaml")
        self.project.replibo("run", "go_ucb", "held", "gp_ei", *settings, "--output", str(other))
        assert digests(self.project.path / TARGET) == digests(other)


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(make_project(tmp_path / "held"))


def limits(job: str) -> tuple[int, int]:
    """Time limit in minutes and memory in MB of a job."""
    said = subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True).stdout
    days, hours, minutes = re.search(r"TimeLimit=(?:(\d+)-)?(\d+):(\d+):", said).groups()  # type: ignore[union-attr]
    memory = re.search(r"MinMemoryNode=([\d.]+)([MG])", said)
    assert memory is not None, said
    megabytes = float(memory[1]) * {"M": 1, "G": 1024}[memory[2]]
    return (int(days or 0) * 24 + int(hours)) * 60 + int(minutes), round(megabytes)


def sent(said: str) -> list[str]:
    """The ids of the jobs that were sent."""
    return re.findall(r"has been submitted with SLURM jobid (\d+)", said)


def test_a_job_over_its_time_limit_goes_on_from_its_journal_with_more(held: Held) -> None:
    running = Workflow(held.project, *ARGUMENTS)
    job = held.job()
    minutes, megabytes = limits(job)
    # Limits are whole minutes, so the end is moved. SLURM looks at limits every half minute.
    subprocess.run(["scontrol", "update", f"JobId={job}", "EndTime=now+1"], check=True)
    until(lambda: "TIMEOUT" in running.said(), "Snakemake has seen the time-out")
    until(lambda: len(sent(running.said())) == 2, "Snakemake has sent the job again")
    more = limits(sent(running.said())[1])
    assert more[0] > minutes and more[1] > megabytes
    held.let_go()
    running.succeed()
    held.check()


def test_after_scancel_a_rerun_finishes_with_the_same_traces(held: Held) -> None:
    running = Workflow(held.project, *ARGUMENTS, "--retries", "0")
    subprocess.run(["scancel", held.job()], check=True)
    assert running.status() != 0
    assert "SLURM status is: 'CANCELLED'" in running.said()
    assert not (held.project.path / TARGET).exists()
    # what SLURM and Snakemake said around the failure is where the page says
    logs = held.project.path / "logs/slurm/rule_run/smoke_go_ucb_held_gp_ei_0-1"
    assert [path.stem for path in logs.iterdir()] == sent(running.said())
    held.let_go()
    again = Workflow(held.project, *ARGUMENTS)
    again.succeed()
    assert len(sent(again.said())) == 1
    held.check()


def test_an_interrupted_workflow_leaves_no_job_and_goes_on(held: Held) -> None:
    running = Workflow(held.project, *ARGUMENTS)
    job = held.job()
    running.interrupt()
    assert running.status() != 0
    until(lambda: job not in [i for i, _ in held.jobs()], "its job is gone")
    held.let_go()
    Workflow(held.project, *ARGUMENTS).succeed()  # no lock is left behind
    held.check()


def test_a_job_over_its_memory_is_sent_again_with_more(held: Held) -> None:
    held.let_go()
    memory = "run:mem_mb=100 if attempt == 1 else 3000"
    running = Workflow(held.project, *ARGUMENTS, "--set-resources", memory)
    running.succeed()
    first, second = sent(running.said())
    assert f"SLURM-job '{first}' failed" in running.said()
    assert limits(second)[1] == 3000
    held.check()


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("run:mem_mb=99999999", "Memory specification can not be satisfied"),
        ("run:cpus_per_task=999", "More processors requested than permitted"),
    ],
)
def test_an_impossible_request_is_refused(request_: str, message: str, held: Held) -> None:
    running = Workflow(held.project, *ARGUMENTS, "--set-resources", request_, "--retries", "0")
    assert running.status() != 0
    refusal = running.said().partition("SLURM sbatch failed. The error message was")[2]
    assert message in refusal.partition("sbatch call:")[0]
    assert not sent(running.said())


def test_without_root_the_script_says_so_in_a_line() -> None:
    done = subprocess.run(
        ["bash", "-s", "start"],
        input=SCRIPT.read_text(encoding="utf-8"),
        capture_output=True,
        text=True,
        cwd="/",
        user=65534 if os.getuid() == 0 else None,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("no SLURM on this machine: slurmctld, slurmd and munged run as")
    assert done.stderr.count("\n") == 1


def test_the_whole_workflow_ends_with_the_traces_of_a_local_one(smoke: Workflow) -> None:
    smoke.succeed()
    project = smoke.project
    config = load.load(ROOT / "config")
    for name in targets.outputs(config, "smoke"):
        assert (project.path / name).stat().st_size > 100, name
    runs = [name for paper in config.papers for name in run_files(config, paper, "smoke")]
    # every run was a job of its own, every other rule was local
    assert len(sent(smoke.said())) == len(runs)
    assert not list((project.path / "logs/slurm").rglob("*.log")), "logs of jobs that succeeded"
    found = {name: digests(project.path / name) for name in runs}
    local = make_project(project.path.parent / "local")
    local.snakemake("--cores", "2", *runs)
    assert found == {name: digests(local.path / name) for name in runs}
