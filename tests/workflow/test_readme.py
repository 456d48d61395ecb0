"""What README tells a newcomer to do, done."""

from __future__ import annotations

import re
import shlex

from replibo.run import traces

from .conftest import ROOT, Project


def blocks(language: str) -> list[str]:
    """The fenced blocks of README in one language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.S | re.M)


def test_the_example_of_an_algorithm_runs_beside_the_others(project: Project) -> None:
    code, entry = blocks("python")[0], blocks("yaml")[0]
    name = code.partition("\n")[0].removeprefix("# ")
    (project.path / name).write_text(code, encoding="utf-8")
    (project.path / "my.yaml").write_text(entry, encoding="utf-8")
    target = "results/smoke/go_ucb/f1/epsilon_greedy/seeds_0-1.parquet"
    assert target in project.planned("smoke", "--configfile", "my.yaml")
    project.snakemake("--cores", "1", target, "--configfile", "my.yaml")
    content = traces.read(project.path / target)
    assert traces.read_metadata(content)["algorithm"] == "epsilon_greedy"
    listed = project.replibo("list", "algorithms", "--config", "my.yaml").stdout
    assert "ε-greedy: Random search near the best point so far" in listed


def test_the_commands_of_readme_are_taken(project: Project) -> None:
    """Each snakemake line as a dry run; each replibo line as it stands."""
    lines = [
        line.partition("#")[0].strip()
        for block in blocks("")
        for line in block.splitlines()
        if line.startswith(("snakemake", "replibo"))
    ]
    assert len(lines) >= 6
    for line in lines:
        program, *arguments = shlex.split(line)
        if program == "snakemake":
            if "--profile" in arguments:  # a dry run through the cluster's profile
                arguments += ["--cores", "1"]
            assert "This was a dry-run" in "".join(
                (done := project.snakemake("-n", *arguments)).stdout + done.stderr
            )
        else:
            arguments = [argument.replace("/tmp", str(project.path)) for argument in arguments]
            project.replibo(*arguments)
