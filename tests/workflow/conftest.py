"""A project folder of its own for each test of the workflow: nothing is written to the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from replibo import threads
from replibo.config.models import Config
from replibo.run import pairs

from .warm import forked

ROOT = Path(__file__).parents[2]
NO_NETWORK = "none://127.0.0.1"
"""A proxy that nothing can use: the same answer where there is a network and where there is none, and no
second attempt."""
PARTS = (
    "Snakefile",
    "workflow",
    "profiles",
    "config",
    "envs",
    "published",
    "src",
    "docs",
    "READINGS.md",
    "CONTRIBUTING.md",
)


@dataclass
class Project:
    """A copy of the project, with its own package, in which Snakemake runs."""

    path: Path

    def environment(self) -> dict[str, str]:
        """What commands in the copy see: its package, no mirror, no network, and not the numbers of
        threads that tests/conftest.py sets. Variables that choose a library's kernels, and with them
        the last bits, stay: the tests' own process has them too."""
        left_out = ("REPLIBO_", "PYTEST_", *threads.VARIABLES)
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(left_out) and not key.lower().endswith("_proxy")
        }
        return {**kept, "PYTHONPATH": str(self.path / "src"), "https_proxy": NO_NETWORK}

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy, with the copy's package and no mirror."""
        environment = self.environment()
        done = subprocess.run(
            arguments, cwd=self.path, env=environment, capture_output=True, text=True
        )
        return _checked(done, check)

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run Snakemake in the copy, in a process forked off a warm one; a dry run with all messages."""
        if "-n" in arguments:
            arguments = (*arguments, "--printshellcmds")
        return _checked(forked(arguments, self.path, self.environment()), check)

    def replibo(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run replibo in the copy."""
        return self.run(sys.executable, "-m", "replibo", *arguments, check=check)

    def planned(self, *arguments: str) -> set[str]:
        """The outputs of the jobs that a dry run would make."""
        done = self.snakemake("-n", *arguments)
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        outputs = [line.removeprefix("output: ") for line in lines if line.startswith("output: ")]
        return {name for line in outputs for name in line.split(", ")}

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace one text in a file of the copy."""
        path = self.path / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} does not hold {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def _checked(
    done: subprocess.CompletedProcess[str], check: bool
) -> subprocess.CompletedProcess[str]:
    if check and done.returncode:
        raise AssertionError(f"{done.args}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done


def make_project(path: Path) -> Project:
    """Copy what the workflow needs to ``path``."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, path / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            path.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, path / part)
    (path / "data").mkdir()
    shutil.copy(ROOT / "data/README.md", path / "data")
    return Project(path)


def run_files(config: Config, paper: str, scale: str) -> list[str]:
    """The files of all the runs that a paper has at a scale."""
    entry = config.paper(paper)
    return [
        name for pair in entry.pairs(scale) for name in pairs.blocks(entry, paper, scale, *pair)
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A fresh copy of the project."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project in which the whole workflow has been run at smoke scale."""
    made = make_project(tmp_path_factory.mktemp("smoke"))
    made.run(sys.executable, "-m", "snakemake", "--cores", "2", "smoke")
    return made
