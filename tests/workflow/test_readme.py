"""What README and CONTRIBUTING tell a newcomer to do, done."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from replibo import cli
from replibo.run import traces

from .conftest import ROOT, Project, make_project


def blocks(language: str) -> list[str]:
    """The fenced blocks of README and CONTRIBUTING in one language."""
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    text = "".join(path.read_text(encoding="utf-8") for path in documents)
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.S | re.M)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project with CONTRIBUTING's algorithm and its ``my.yaml``, verbatim."""
    made = make_project(tmp_path_factory.mktemp("readme"))
    code, entry = blocks("python")[0], blocks("yaml")[0]
    name = code.partition("\n")[0].removeprefix("# ")
    (made.path / name).write_text(code, encoding="utf-8")
    (made.path / "my.yaml").write_text(entry, encoding="utf-8")
    return made


def test_the_example_of_an_algorithm_passes_the_projects_own_style(extended: Project) -> None:
    code = blocks("python")[0].partition("\n")[2]
    path = extended.path / "epsilon_greedy.py"
    path.write_text(code, encoding="utf-8")
    config = ["--config", str(ROOT / "pyproject.toml")]
    extended.run(sys.executable, "-m", "ruff", "check", *config, str(path))
    extended.run(sys.executable, "-m", "ruff", "format", "--check", *config, str(path))


def test_the_example_of_an_algorithm_runs_beside_the_base(extended: Project) -> None:
    """A variant's runs and figure stand in folders of their own, what the base has is untouched, and the
    two can be compared."""
    figure = "figures/smoke@mine/go_ucb/figure_1.png"
    base = "results/smoke/go_ucb/f1/go_greedy/seeds_0-1.parquet"
    variant = ["--configfile", "my.yaml"]
    planned = extended.planned(figure, *variant)
    own = "results/smoke@mine/go_ucb/f1/epsilon_greedy/seeds_0-1.parquet"
    assert own in planned
    assert not [name for name in planned if name.startswith(("results/smoke/", "figures/smoke/"))]
    extended.snakemake("--cores", "1", base)
    before = (extended.path / base).read_bytes()
    changed = base.replace("smoke", "smoke@mine")
    extended.snakemake("--cores", "1", own, changed, *variant)
    assert (extended.path / base).read_bytes() == before
    metadata = traces.read_metadata(traces.read(extended.path / own))
    assert (metadata["algorithm"], metadata["scale"]) == ("epsilon_greedy", "smoke@mine")
    compared = extended.replibo("compare", "go_ucb", "--scale", "smoke", "--config", "my.yaml")
    lines = {
        line.split("|")[3].strip(): line for line in compared.stdout.splitlines() if "σ" in line
    }
    # the same settings give the same runs, and the new algorithm stands alone
    assert lines["GO, no bonus"].rstrip(" |").endswith("=")
    assert lines["ε-greedy"].count("–") == 2
    listed = extended.replibo("list", "algorithms", "--config", "my.yaml").stdout
    assert "ε-greedy: Random search" in listed


def test_a_variant_is_no_target_of_the_base_and_the_other_way_round(
    extended: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = ["--configfile", "my.yaml"]
    for target, more in (
        ("figures/smoke@mine/go_ucb/figure_1.pdf", []),
        ("results/smoke/verdicts.md", variant),
    ):
        assert extended.snakemake("-n", target, *more, check=False).returncode
    monkeypatch.chdir(extended.path)
    figure = ["figure", "go_ucb", "figure_1", "--config", "my.yaml", "--output", "x.png"]
    assert cli.main([*figure, "--scale", "smoke@other"]) == 2
    assert capsys.readouterr().err == (
        "replibo: scale: must be one of paper@mine, published, quick@mine or smoke@mine, got "
        "'smoke@other'\n"
    )


def test_the_commands_of_both_are_taken(extended: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each snakemake line as a dry run but `all`, which is the default target (`test_dry_runs`), and `check` and
    `bench` as well, which have tests of their own. Each other replibo line as it stands, but the one that
    needs runs, which a test above makes; the verdicts of one paper (on all of them:
    `test_the_pages_show_the_verdicts_of_the_published_traces`); and of the published runs one method's."""
    lines = [
        line.partition("#")[0].strip()
        for block in blocks("")
        for line in block.splitlines()
        if line.startswith(("snakemake", "replibo")) and not line.startswith("replibo compare")
        if not line.startswith("snakemake --cores 8 all ")
    ]
    assert len(lines) >= 6
    monkeypatch.chdir(extended.path)
    Path("mine.py").write_text(blocks("python")[0], encoding="utf-8")
    for line in lines:
        program, *arguments = shlex.split(line)
        if program == "snakemake":
            done = extended.snakemake("-n", *arguments)
            assert "This was a dry-run" in done.stdout + done.stderr
        else:
            arguments = [argument.replace("/tmp", str(extended.path)) for argument in arguments]
            arguments += ["go_ucb"] if arguments == ["claims"] else []
            arguments[2:] = ["f1/random_search"] if arguments[0] == "recompute" else arguments[2:]
            arguments += ["-n"] if arguments[0] in ("check", "bench") else []
            assert cli.main(arguments) == 0, line
