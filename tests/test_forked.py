"""Jobs forked from one process: the same files, status and signals as a plain process's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from replibo import cli, forked
from replibo.run import traces

from .conftest import digests

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux alone has a server")

HANGING = 3600.0
"""Seconds after which a test gives up."""
ROOT = Path(__file__).parents[1]
JOB = [sys.executable, "-c", "import sys; from replibo import forked; sys.exit(forked.main())"]
RUN = ("run", "neuralbo", "ackley_10", "gp_ei", "--seeds", "0", "--scale", "smoke")
LONG = ("run", "go_ucb", "f1", "gp_ucb", "--seeds", "0-2", "--scale", "quick")
SERVED = (
    "import subprocess, sys\n"
    "from replibo import forked\n"
    "forked.start(runs=True)\n"
    "print(forked._servers[0].pid, __import__('os').environ[forked.VARIABLE], flush=True)\n"
    "sys.stdin.read()\n"
)


class Served:
    """A process in Snakemake's place, which has started a server."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        pid, self.address = self.process.stdout.readline().split()
        self.server = psutil.Process(int(pid))

    def start(
        self, *arguments: str, folder: Path, umask: int = -1, preexec_fn: Any = None, **more: str
    ) -> subprocess.Popen[str]:
        """A job, with ``more`` variables in its environment."""
        return subprocess.Popen(
            [*JOB, *arguments],
            cwd=folder,
            env={**os.environ, forked.VARIABLE: self.address, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            umask=umask,
            preexec_fn=preexec_fn,
        )

    def close(self) -> None:
        self.process.communicate()
        self.server.wait(HANGING)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the config."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "published").symlink_to(ROOT / "published")
    return tmp_path


def until(process: subprocess.Popen[str], what: Callable[[], bool]) -> None:
    """Wait until something is so, while the process runs."""
    end = time.monotonic() + HANGING
    while not what():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)


def begun(served: Served, project: Path, **options: Any) -> tuple[subprocess.Popen[str], int]:
    """A long run in the middle of its queries, and the process that makes them."""
    job = served.start(*LONG, "--output", "a.parquet", folder=project, **options)
    until(job, lambda: sum(map(_queries, project.glob("journal_*/*.jsonl"))) > 3)
    (child,) = served.server.children()
    return job, child.pid


def _queries(journal: Path) -> int:
    return journal.read_bytes().count(b"\n")


def test_a_run_has_the_bits_of_a_plain_process(
    served: Served, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the tests' own. One thread, in the server's libraries too: BLAS, PyTorch, scikit-learn."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    for pair in ("neuralbo ackley_10 gp_ei", "neuralbo ackley_10 neural_bo", "go_ucb f1 gp_ei"):
        run = ["run", *pair.split(), *RUN[4:]]
        job = served.start(*run, "--output", "forked.parquet", folder=project)
        assert job.communicate()[0] == "" and job.returncode == 0
        assert cli.main([*run, "--output", "plain.parquet"]) == 0
        kept = [traces.read(project / f"{name}.parquet") for name in ("forked", "plain")]
        assert digests(project / "forked.parquet") == digests(project / "plain.parquet")
        # all columns but those that are measured
        first, second = (one.select([*traces.RUN_COLUMNS]) for one in kept)
        measured = [n for n in first.column_names if n.endswith("seconds") or n == traces.PEAK]
        assert first.drop_columns(measured).equals(second.drop_columns(measured))


def test_streams_status_folder_and_environment_are_the_jobs(served: Served, project: Path) -> None:
    job = served.start("list", "papers", folder=project)
    said, error = job.communicate()
    assert "go_ucb" in said and (error, job.returncode) == ("", 0)
    job = served.start("run", "go_ucb", "f1", "nothing", "--scale", "quick", folder=project)
    said, error = job.communicate()
    assert job.returncode == 2 and "--seeds, --output" in error and said == ""
    # the variable names a file that is not there, as in a plain process
    job = served.start("list", folder=project, REPLIBO_CONFIG="nowhere.yaml")
    _, error = job.communicate()
    assert job.returncode == 2 and "nowhere.yaml" in error
    job = served.start(*RUN, "--output", "a.parquet", folder=project, umask=0o077)
    assert job.wait() == 0
    assert (project / "a.parquet").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_job_stops_its_child(
    served: Served, project: Path, number: signal.Signals, status: int
) -> None:
    job, child = begun(served, project)
    job.send_signal(signal.SIGTSTP)
    until(job, lambda: psutil.Process(child).status() == psutil.STATUS_STOPPED)
    job.send_signal(signal.SIGCONT)
    until(job, lambda: psutil.Process(child).status() != psutil.STATUS_STOPPED)
    job.send_signal(number)
    _, error = job.communicate()
    assert job.returncode == status
    assert error.endswith(f"stopped by {number.name}; the same command goes on from here\n")
    assert not psutil.pid_exists(child)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_killed_job_leaves_no_child(
    served: Served, project: Path, number: signal.Signals
) -> None:
    # as in a terminal, also where the tests themselves run under nohup
    job, child = begun(
        served, project, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)
    )
    job.send_signal(number)
    assert job.wait() == -number
    psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], HANGING)
    assert not psutil.pid_exists(child) and served.server.is_running()


def test_a_killed_child_ends_its_job_alike(served: Served, project: Path) -> None:
    """As where memory runs out."""
    job, child = begun(served, project)
    os.kill(child, signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL


def test_a_killed_snakemake_leaves_neither_server_nor_child(project: Path) -> None:
    own = Served()
    job, child = begun(own, project)
    left = [own.server, psutil.Process(child)]
    own.process.kill()
    own.process.wait()
    _, error = job.communicate(timeout=HANGING)
    assert job.returncode == 1 and "the process of this job was killed" in error
    assert psutil.wait_procs(left, HANGING)[1] == []


def test_a_killed_server_leaves_no_child_and_later_jobs_are_plain(project: Path) -> None:
    own = Served()
    job, child = begun(own, project)
    own.server.kill()
    assert job.wait() == 1
    until(own.process, lambda: not psutil.pid_exists(child))
    one_seed = ["0" if word == "0-2" else word for word in LONG]
    later = own.start(*one_seed, "--output", "a.parquet", folder=project)
    assert later.wait() == 0  # it goes on from the journal
    assert digests(project / "a.parquet").keys() == {"0"}
    own.process.communicate()


def test_a_run_whose_memory_is_published_is_a_plain_process() -> None:
    run = ["run", "go_ucb", "f1", "gp_ucb"]
    assert forked._is_measured(run)  # at paper scale by default
    for scale in ("paper", "paper@mine"):
        assert forked._is_measured([*run, "--scale", scale])
    for scale in ("paper@check", "paper@mine_check", "paper@bench_mine", "quick"):
        assert not forked._is_measured([*run, "--scale", scale])
    assert not forked._is_measured(["figure", "go_ucb", "figure_1", "--scale", "paper"])


def test_another_package_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    """The job runs the command with its own package."""
    monkeypatch.setenv(forked.VARIABLE, served.address)
    monkeypatch.setattr(forked, "__file__", "/elsewhere/forked.py")
    assert forked._by_server(["list"]) is None
    monkeypatch.setenv(forked.VARIABLE, "nobody")
    assert forked._by_server(["list"]) is None


def test_a_workflow_leaves_no_process(project: Path) -> None:
    """Snakemake's children are the shells of its jobs, and the server while it runs."""
    for part in ("Snakefile", "workflow", "profiles", "envs"):
        (project / part).symlink_to(ROOT / part)
    targets = [f"results/smoke/go_ucb/f1/{name}/seeds_0-1.parquet" for name in ("gp_ei", "go_ucb")]
    targets += [f"results/smoke/go_ucb/f2/{name}/seeds_0-1.parquet" for name in ("gp_ei", "go_ucb")]
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", *targets],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    servers: list[psutil.Process] = []

    def has_server() -> bool:
        for child in psutil.Process(process.pid).children():
            with contextlib.suppress(psutil.Error):  # it has ended
                if "replibo.forked" in child.cmdline():
                    servers.append(child)
        return bool(servers)

    until(process, has_server)
    assert process.wait() == 0
    psutil.wait_procs(servers, HANGING)
    assert not servers[0].is_running()
    assert all((project / name).exists() for name in targets)
