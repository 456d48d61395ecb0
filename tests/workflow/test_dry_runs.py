"""Dry runs of every target at every scale, and what the workflow says to bad input."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replibo import paths
from replibo.config import load
from replibo.config.models import SCALES, Config
from replibo.data.manifest import load_manifest
from replibo.errors import RepliboError
from replibo.workflow import targets
from replibo.workflow.estimate import plan

from .conftest import ROOT, Project, run_files
from .warm import forked


def test_the_default_target_is_all_at_paper_scale(project: Project) -> None:
    """Of two papers, for all are long to plan: `test_the_small_scales_need_no_data` plans all."""
    papers = ["go_ucb", "bbo"]
    config = load.parse(load.read_with({"papers": papers}, ROOT / "config"))
    planned = project.planned("--config", f"papers=[{','.join(papers)}]")
    assert set(targets.outputs(config, "paper")) <= planned
    for paper in papers:
        assert set(run_files(config, paper, "paper")) <= planned
    # the real data are fetched at this scale, and at no other
    assert [name for name in planned if name.startswith("data/mnist/")]


def test_the_small_scales_need_no_data(project: Project) -> None:
    config = load.load(ROOT / "config")
    planned = project.planned("quick", "smoke")
    for scale in ("quick", "smoke"):
        wanted = set(targets.outputs(config, scale))
        assert wanted <= planned
        figures = {name for name in planned if name.startswith(f"figures/{scale}/")}
        assert {name for name in figures if name.endswith(".pdf")} <= wanted
        for paper in config.papers:
            assert set(run_files(config, paper, scale)) <= planned
    assert not [name for name in planned if name.startswith("data/")]


def test_published_computes_no_run(project: Project) -> None:
    planned = project.planned("published")
    config = load.load(ROOT / "config")
    papers = [p for p in config.papers if (ROOT / "published" / p).exists()]
    assert papers, "nothing is published"
    for paper in papers:
        files = (ROOT / "published" / paper).glob("*/*.parquet")
        ran = {(path.parent.name, path.name.partition(".")[0]) for path in files}
        for name, entry in config.paper(paper).figures.items():
            wanted = itertools.product(
                entry.problems or [], entry.algorithms or config.paper(paper).algorithms
            )
            something = not entry.problems or bool(ran & set(wanted))
            assert (f"figures/published/{paper}/{name}.pdf" in planned) == something, name
    assert not [name for name in planned if "seeds_" in name]


def test_a_scale_leaves_out_what_would_show_nothing(root: Path, tmp_path: Path) -> None:
    """A figure whose every problem is left out; one that has a problem left is made."""
    overlay = tmp_path / "some.yaml"
    overlay.write_text("neuralbo: {scales: {smoke: {only: [ackley_10, robot_pushing]}}}\n")
    made = set(targets.names_at(load.load(overlays=[overlay]), "figures", "neuralbo", "smoke"))
    assert {"figure_1", "figure_5", "figure_6"} <= made
    assert not made & {"figure_3", "figure_4", "sensitive_images"}


def test_a_paper_is_a_target_and_data_fetches_every_file(project: Project) -> None:
    config = load.load(ROOT / "config")
    planned = project.planned("go_ucb", "data")
    assert set(run_files(config, "go_ucb", "paper")) <= planned
    assert "figures/paper/go_ucb/figure_1.pdf" in planned
    assert not [name for name in planned if "/bbo/" in name]
    fetched = {name for name in planned if name.startswith("data/")}
    assert fetched == {f"data/{file.path}" for file in load_manifest().values()}


def test_a_figure_needs_its_own_runs_and_nothing_else(project: Project) -> None:
    """One of many runs, and one of none. A paper's published ones are made together."""
    places = ("figures/paper/neuralbo/figure_6", "figures/smoke/lb_gp_ucb/figure_1")
    published = "figures/published/go_ucb/figure_1.pdf"
    planned = project.planned(*(f"{place}.pdf" for place in places), published)
    together = {item for item in planned if item.split("/")[1] == "published"}
    assert {item.split("/")[2] for item in together} == {"go_ucb"}
    tables = {f"results/published/go_ucb/final_regret.{s}" for s in paths.TABLE_FORMATS}
    assert together > {published, *tables}
    own = own_blocks(load.load(ROOT / "config"), "figures", "neuralbo", "figure_6", "paper")
    assert {item for item in planned if "/seeds_" in item} == own and len(own) > 20
    figures = {item for item in planned - together if item.startswith("figures/")}
    assert figures == {f"{place}.{s}" for place in places for s in ("pdf", "png", "txt")}


def own_blocks(config: Config, kind: str, paper: str, name: str, scale: str) -> set[str]:
    """The blocks of the problems and algorithms that an output's entry names, from the config alone."""
    entry = config.paper(paper)
    own = getattr(entry, kind)[name]
    return {
        f"results/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.parquet"
        for problem in (entry.problems if own.problems is None else own.problems)
        if problem in entry.problems_at(scale)
        for algorithm in entry.settings(scale, problem).algorithms or []
        if own.algorithms is None or algorithm in own.algorithms
        for block in entry.blocks(scale, problem, algorithm)
    }


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", load.load(ROOT / "config").papers)
def test_every_output_plans_the_runs_of_its_own_problems_and_algorithms(
    paper: str, scale: str, root: Path
) -> None:
    config = load.load()
    for kind, files in (("figures", paths.figure), ("tables", paths.table)):
        for name in targets.names_at(config, kind, paper, scale):  # type: ignore[arg-type]
            jobs = plan(config, files(scale, paper, name)[:1])
            planned = {paths.block(scale, paper, *job.names) for job in jobs if job.kind == "run"}
            assert planned == own_blocks(config, kind, paper, name, scale), name


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["quick", "--config", "papers=7"], "config: papers: must be a list of papers, got 7"),
        (
            ["quick", "--config", "go_ucb={figures: {figure_1: {options: {nope: 1}}}}"],
            "config: go_ucb.figures.figure_1.options: must be ",
        ),
        (
            ["figures/quick/go_ucb/nope.pdf"],
            "go_ucb has no figure called 'nope'; allowed: figure_1",
        ),
        (
            ["figures/huge/go_ucb/figure_1.pdf"],
            "figures/huge/go_ucb/figure_1.pdf: scale: must be paper, published, quick or smoke, got",
        ),
    ],
    ids=str,
)
def test_bad_input_is_said_in_a_line_of_its_own(
    arguments: list[str], line: str, project: Project
) -> None:
    done = project.snakemake("-n", *arguments, check=False)
    said = [
        text.strip().removeprefix("replibo: ") for text in (done.stdout + done.stderr).splitlines()
    ]
    assert done.returncode != 0
    assert [text for text in said if text.startswith(line)], done.stdout + done.stderr
    assert not [text for text in said if "Traceback" in text or "common.smk" in text]


def test_a_config_file_holds_its_own_paper_alone(tmp_path: Path) -> None:
    path = shutil.copytree(ROOT / "config", tmp_path / "config") / "go_ucb.yaml"
    path.write_text("variant: mine\n" + path.read_text())
    with pytest.raises(RepliboError, match=r"go_ucb\.yaml: has the keys go_ucb or variant"):
        load.load(path.parent)


def test_a_config_given_on_the_command_line_reaches_the_jobs(project: Project) -> None:
    overlay = project.path / "one_seed.yaml"
    overlay.write_text(
        "go_ucb: {scales: {quick: {problems: {f1: {seeds: 1, horizon: 7, "
        "algorithms: [random_search]}}, only: [f1]}}}\n"
    )
    target = "results/quick/go_ucb/f1/random_search/seeds_1.parquet"
    planned = project.planned(target, "--configfile", overlay.name)
    assert planned == {target}
    project.snakemake("--cores", "1", target, "--configfile", overlay.name)
    from replibo.run import traces

    content = traces.read(project.path / target)
    assert len(content) == 7


def test_the_workflow_runs_as_a_module_in_another_folder(project: Project) -> None:
    """With a config of its own, which is laid over the papers'. Nothing is written to the workflow's folder."""
    (project.path / "elsewhere").mkdir()
    other = Project(project.path / "elsewhere")
    (other.path / "Snakefile").write_text(
        'configfile: "mine.yaml"\n'
        'module replibo:\n    snakefile: "../Snakefile"\n    config: config\n'
        "use rule * from replibo\n"
    )
    (other.path / "mine.yaml").write_text(
        "papers: [go_ucb]\ngo_ucb: {scales: {smoke: {problems: {f1: {seeds: 0-2}}}}}\n"
    )
    before = sorted(path for path in project.path.glob("*") if path != other.path)
    run = "results/smoke/go_ucb/f1/random_search/seeds_0-2.parquet"
    environment = {**other.environment(), "PYTHONPATH": str(project.path / "src")}
    done = forked(("--cores", "1", run), other.path, environment)
    assert done.returncode == 0, done.stderr
    assert (other.path / run).stat().st_size > 1000
    assert before == sorted(path for path in project.path.glob("*") if path != other.path)


def test_a_read_only_tree_is_enough(project: Project, tmp_path: Path) -> None:
    """The workflow in another folder and a run by hand: nothing is written to the tree."""
    # Root may write everywhere, unless it gives up this right.
    rights = "-dac_override,-dac_read_search"
    prefix = [] if os.geteuid() else ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
    shutil.rmtree(project.path / ".snakemake", ignore_errors=True)
    tree = [project.path, *project.path.rglob("*")]
    modes = {path: path.stat().st_mode for path in tree if not path.is_symlink()}
    environment = {**project.environment(), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(*arguments: str, folder: Path) -> None:
        done = subprocess.run(
            [*prefix, sys.executable, "-m", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    made = (
        "results/smoke/go_ucb/f1/random_search/seeds_0-1.parquet",
        "figures/smoke/lb_gp_ucb/figure_1.pdf",
    )
    output = tmp_path / "f1.parquet"
    try:
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        if prefix and not shutil.which("setpriv"):
            pytest.skip("root may write everywhere, and there is no setpriv")
        probe = [*prefix, "touch", str(project.path / "probe")]
        if subprocess.run(probe, capture_output=True).returncode == 0:
            (project.path / "probe").unlink()
            pytest.skip("this user may write to read-only folders")
        snakefile = str(project.path / "Snakefile")
        options = ("--snakefile", snakefile, "--directory", str(tmp_path), "--cores", "1")
        run("snakemake", *options, *made, folder=tmp_path)
        names = ("go_ucb", "f1", "random_search", "--seeds", "0", "--scale", "smoke")
        run("replibo", "run", *names, "--output", str(output), folder=project.path)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert all(path.stat().st_size > 1000 for path in (output, *map(tmp_path.joinpath, made)))
    assert sorted(tree) == sorted([project.path, *project.path.rglob("*")])
