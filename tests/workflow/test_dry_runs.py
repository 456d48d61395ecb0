"""Dry runs of every target at every scale, and what the workflow says to bad input."""

from __future__ import annotations

import json

import pytest

from replibo.config import load
from replibo.config.models import SCALES
from replibo.workflow import targets

from .conftest import ROOT, Project


def test_the_default_target_is_all_at_paper_scale(project: Project) -> None:
    config = load.load(ROOT / "config")
    planned = project.planned()
    assert set(targets.outputs(config, "paper")) <= planned
    for paper in config.papers:
        assert set(targets.run_files(config, paper, "paper")) <= planned
    # the real data are fetched at this scale, and at no other
    assert "data/materials/crossed_barrel.csv" in planned


@pytest.mark.parametrize("scale", ["quick", "smoke"])
def test_the_small_scales_need_no_data(scale: str, project: Project) -> None:
    config = load.load(ROOT / "config")
    planned = project.planned(scale)
    assert set(targets.outputs(config, scale)) <= planned
    for paper in config.papers:
        assert set(targets.run_files(config, paper, scale)) <= planned
    assert not [name for name in planned if name.startswith("data/")]


def test_published_computes_no_run(project: Project) -> None:
    planned = project.planned("published")
    config = load.load(ROOT / "config")
    papers = [p for p in config.papers if (ROOT / "published" / p / "metadata.json").exists()]
    assert papers, "nothing is published"
    for paper in papers:
        published = {
            path.stem.partition(".")[0] for path in (ROOT / "published" / paper).glob("*.parquet")
        }
        for name, entry in config.paper(paper).figures.items():
            something = not entry.problems or bool(published & set(entry.problems))
            assert (f"figures/published/{paper}/{name}.pdf" in planned) == something, name
    assert not [name for name in planned if "seeds_" in name]


def test_a_scale_leaves_out_what_would_show_nothing(project: Project) -> None:
    """A figure whose every problem is left out; one that has a problem left is made."""
    overlay = project.path / "some.yaml"
    overlay.write_text("neuralbo: {scales: {smoke: {only: [ackley_10, robot_pushing]}}}\n")
    planned = project.planned("smoke", "--configfile", overlay.name)
    made = {name for name in planned if name.startswith("figures/smoke/neuralbo/")}
    for name in ("figure_1", "figure_5", "figure_6"):
        assert f"figures/smoke/neuralbo/{name}.pdf" in made
    for name in ("figure_3", "figure_4", "sensitive_images"):
        assert f"figures/smoke/neuralbo/{name}.pdf" not in made


@pytest.mark.parametrize("scale", SCALES)
def test_every_output_is_a_target_of_its_own(scale: str, project: Project) -> None:
    config = load.load(ROOT / "config")
    outputs = targets.outputs(config, scale)
    assert set(outputs) <= project.planned(*outputs)


@pytest.mark.parametrize("paper", load.load(ROOT / "config").papers)
def test_one_figure_needs_the_runs_of_its_paper_and_nothing_else(
    paper: str, project: Project
) -> None:
    config = load.load(ROOT / "config")
    name = next(iter(config.paper(paper).figures))
    planned = project.planned(f"figures/paper/{paper}/{name}.pdf")
    runs = {item for item in planned if "seeds_" in item}
    assert runs == set(targets.run_files(config, paper, "paper"))
    figures = {item for item in planned if item.startswith("figures/")}
    assert figures == {f"figures/paper/{paper}/{name}.{s}" for s in ("pdf", "png")}
    others = [other for other in config.papers if other != paper]
    assert not [item for item in planned if any(f"/{other}/" in item for other in others)]


def test_cocos_own_tools_are_a_target_of_their_own(project: Project) -> None:
    target = "results/quick/neuralbo/cocopp"
    planned = project.planned(target)
    entry = load.load(ROOT / "config").paper("neuralbo")
    algorithms = entry.settings("quick", "bbob_2d").algorithms
    assert {f"results/quick/neuralbo/coco/{name}" for name in algorithms} < planned
    assert {name.split("/")[3] for name in planned if "seeds_" in name} == {"bbob_2d"}
    assert target not in project.planned("quick")


def test_the_data_target_fetches_every_file(project: Project) -> None:
    from replibo.data.manifest import load_manifest

    planned = project.planned("data")
    assert planned == {f"data/{file.path}" for file in load_manifest().values()}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["quick", "--config", "papres=1"], "config: papres: unknown key; allowed: data_dir"),
        (
            [
                "quick",
                "--config",
                json.dumps({"go_ucb": 0}).strip("{}").replace('": ', "=").strip('"'),
            ],
            "config: go_ucb",
        ),
        (
            ["results/quick/go_ucb/f1/nope/seeds_0-4.parquet"],
            "go_ucb has no algorithm called 'nope'; allowed: exploration_first",
        ),
        (
            ["results/quick/go_ucb/nope/go_ucb/seeds_0-4.parquet"],
            "go_ucb has no problem called 'nope'; allowed: f1",
        ),
        (
            ["figures/quick/go_ucb/nope.pdf"],
            "go_ucb has no figure called 'nope'; allowed: figure_1",
        ),
        (
            ["figures/huge/go_ucb/figure_1.pdf"],
            "No rule to produce figures/huge/go_ucb/figure_1.pdf",
        ),
    ],
    ids=str,
)
def test_bad_input_is_said_in_a_line_of_its_own(
    arguments: list[str], line: str, project: Project
) -> None:
    done = project.snakemake("-n", *arguments, check=False)
    assert done.returncode != 0
    said = [text.strip() for text in (done.stdout + done.stderr).splitlines()]
    assert [text for text in said if text.startswith(line)], done.stdout + done.stderr


def test_a_config_given_on_the_command_line_reaches_the_jobs(project: Project) -> None:
    overlay = project.path / "two_seeds.yaml"
    overlay.write_text(
        "go_ucb: {scales: {quick: {problems: {f1: {seeds: 0-1, horizon: 7, "
        "algorithms: [random_search]}}, only: [f1]}}}\n"
    )
    target = "results/quick/go_ucb/runs.parquet"
    planned = project.planned(target, "--configfile", overlay.name)
    run = "results/quick/go_ucb/f1/random_search/seeds_0-1.parquet"
    assert planned == {run, target}
    project.snakemake("--cores", "1", target, "--configfile", overlay.name)
    from replibo.run import traces

    content = traces.read(project.path / target)
    assert len(content) == 2 * 7
