"""What docs/slurm.md tells a lab to type, taken by Snakemake."""

from __future__ import annotations

import re
import shlex

import pytest

from replibo.config import load

from ..workflow.conftest import ROOT, Project, make_project

RUN = "results/smoke/go_ucb/f1/random_search/seeds_0-1.parquet"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("page"))


def commands() -> list[list[str]]:
    """The arguments of each snakemake command in the fenced blocks of the page, those of YAML among them, and
    the options that `make paper-runs` hands to Snakemake."""
    text = (ROOT / "docs/slurm.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.S | re.M)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    found = [re.search(r"snakemake (--profile [^>]*)", line) for line in lines]
    handed = [re.search(r"^make paper-runs .*OPTIONS='(.*)'", line) for line in lines]
    return [shlex.split(match[1], comments=True) for match in found if match] + [
        ["--profile", "profiles/slurm", *shlex.split(match[1])] for match in handed if match
    ]


def file_of_the_page(name: str) -> str:
    """What the page puts into the YAML file of this name."""
    text = (ROOT / "docs/slurm.md").read_text(encoding="utf-8")
    found = re.search(rf"`{re.escape(name)}`:\n\n```yaml\n(.*?)^```$", text, flags=re.S | re.M)
    assert found, name
    return found[1]


NAMED = {"all", "smoke", "quick", *load.load(ROOT / "config").papers}


def is_target(argument: str) -> bool:
    return argument in NAMED or bool(re.fullmatch(r"(results|figures)/.*", argument))


def said_to_be_planned(project: Project, *arguments: str) -> None:
    done = project.snakemake("-n", *arguments)
    for words in ("This was a dry-run", "Using profiles profiles/slurm"):
        assert words in done.stdout + done.stderr


def test_the_files_of_the_page_are_known(project: Project) -> None:
    targets = {argument for command in commands() for argument in command if "/" in argument}
    targets.remove("profiles/slurm")
    assert len(targets) == 2
    said_to_be_planned(project, *sorted(targets), "--profile", "profiles/slurm")


@pytest.mark.parametrize(
    "options",
    sorted({tuple(a for a in command if not is_target(a)) for command in commands()})[1:],
    ids=" ".join,
)
def test_the_options_of_the_page_are_taken(options: tuple[str, ...], project: Project) -> None:
    """With a target of one run, for the whole workflow is long to plan. The first are none but the profile,
    with which the test above plans."""
    for name in (option for option in options if option.endswith(".yaml")):
        (project.path / name).write_text(file_of_the_page(name), encoding="utf-8")
    said_to_be_planned(project, RUN, *options)
