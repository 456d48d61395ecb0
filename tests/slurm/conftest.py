"""A SLURM of one node, and workflows that run on it. Only `pytest -m slurm` runs the tests on it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..workflow.conftest import Project

SCRIPT = Path(__file__).with_name("single_node.sh")
# The profile as it is; only the questions about jobs come sooner.
PROFILE = (
    *("--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2"),
    "--printshellcmds",  # all that Snakemake says
)


def pytest_configure(config: pytest.Config) -> None:
    """The mark of these tests."""
    config.addinivalue_line("markers", "slurm: runs on a SLURM of one node (make slurm-test)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out unless they are asked for."""
    if "slurm" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("slurm")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def until(true: Callable[[], object], what: str) -> None:
    """Wait until a condition holds; at most ten minutes, against hanging."""
    end = time.monotonic() + 600
    while not true():
        assert time.monotonic() < end, f"not within ten minutes: {what}"
        time.sleep(0.2)


def queue(*arguments: str) -> list[str]:
    """What squeue says, without its header."""
    command = ["squeue", "--noheader", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[
        :-1
    ]


def heed_interrupts() -> None:
    """In a child: a shell's ``command &`` starts its processes with Ctrl-C ignored, and they hand it on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Workflow:
    """A Snakemake in a project's folder that goes on in the background."""

    def __init__(self, project: Project, *arguments: str) -> None:
        self.project = project
        self._said = project.path / f"said_{time.monotonic_ns()}.log"
        with self._said.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *PROFILE, *arguments],
                cwd=project.path,
                env=project.environment(),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=heed_interrupts,
            )

    def said(self) -> str:
        """What it has said so far."""
        return self._said.read_text()

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def status(self) -> int:
        """Wait for its end; its exit status."""
        return self.process.wait()

    def succeed(self) -> None:
        """Wait for its end, which must be a good one."""
        assert self.status() == 0, self.said()[-6000:]


@pytest.fixture(scope="session")
def node() -> Iterator[None]:
    """The node: started where it is not up, and then stopped again."""
    was_up = subprocess.run([SCRIPT, "status"], capture_output=True).returncode == 0
    started = subprocess.run([SCRIPT, "start"], capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    yield
    if not was_up:
        subprocess.run([SCRIPT, "stop"], check=True)
