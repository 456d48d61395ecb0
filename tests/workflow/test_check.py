"""``replibo check`` and claims as targets, as a user calls them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from replibo import cli
from replibo.config import load
from replibo.workflow import targets

from .conftest import ROOT, Project, make_project


def test_a_claim_is_checked_by_its_own_runs_alone(project: Project) -> None:
    done = project.replibo("check", "go_ucb_1_f1", "--seeds", "0-2", "--cores", "2")
    head, _, rest = done.stdout.partition("\n\n")
    assert "Cost: 5 jobs, " in head and "seeds 0-2" in head
    names, verdicts, seeds = (rest.splitlines()[row] for row in (0, 2, 5))
    assert "published, these seeds" in names and "yours" in names
    assert verdicts.count("(for ") == 3 and seeds.split() == ["seeds", "100", "3", "3"]
    for column in ("published", "published, these seeds"):
        assert f" of 3 comparisons ({column})." in rest
    assert "of 12 runs are equal to the published ones to the last bit (go_ucb " in rest.replace(
        "\n", " "
    )
    assert max(map(len, done.stdout.splitlines())) <= 100
    figure = next(line for line in rest.splitlines() if line.startswith("figure: "))
    drawn = project.path / figure.removeprefix("figure: ")
    assert drawn.stat().st_size > 10_000
    caption = drawn.with_suffix(".txt").read_text(encoding="utf-8")
    assert "Cumulative regret: the sum of " in caption and "right of the last round" in caption
    (found,) = json.loads(
        (project.path / "results/paper@check/go_ucb/claims/go_ucb_1_f1/printed.json").read_text()
    )
    (own,) = found["readings"]
    assert own["seeds"] == 3 and own["reduced"] == "3 of 100 seeds" and not found["controls"]
    ran = {path.parts[-3:-1] for path in project.path.glob("results/paper@check/*/*/*/seeds*")}
    assert ran == {("f1", name) for name in ("go_ucb", "gp_ei", "gp_pi", "gp_ucb")}
    assert not (project.path / "results/paper").exists()
    # one line of progress, and the log; no more of what Snakemake says
    assert "of 5 jobs" in done.stderr
    assert "rule run" not in done.stderr and len(done.stderr.splitlines()) < 10
    # again: nothing is run, and -v shows what Snakemake says
    again = project.replibo("check", "go_ucb_1_f1", "--seeds", "0-2", "-v")
    assert "Nothing to be done" in again.stderr
    assert again.stdout.split("printed ")[1] == done.stdout.split("printed ")[1]


def test_the_cells_of_the_notebook_run_in_their_order(project: Project) -> None:
    """From the notebook's own folder, as Jupyter starts them. The runs of the test above stand."""
    cells = json.loads((project.path / "docs/notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    script = "\n".join(["import os", "os.chdir('docs')", *code, "assert found.y < 1"])
    done = project.run(sys.executable, "-c", script)
    assert "The same outcome in " in done.stdout and "Nearby: keeps the contract" in done.stdout
    assert (project.path / "results/paper@bench_nearby/bench.html").stat().st_size > 10_000


def test_a_reading_is_judged_though_others_were_not_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runs that are there suffice; without any nothing can be judged, and what makes them is said."""
    monkeypatch.chdir(project.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    seeds = "go_ucb: {scales: {quick: {defaults: {seeds: 0-1}}}}\n"
    (project.path / "two.yaml").write_text(seeds)
    judge = ["claims", "go_ucb_1_f1", "--scale", "quick"]
    assert cli.main(judge) == 2
    refused = capsys.readouterr().err
    assert "'snakemake --cores 2 results/quick/go_ucb/claims/go_ucb_1_f1/all.json'" in refused
    names = ("go_ucb", "gp_ei", "gp_pi", "gp_ucb")
    files = [f"results/quick/go_ucb/f1/{name}/seeds_0-1.parquet" for name in names]
    project.snakemake("--cores", "2", *files, "--configfile", "two.yaml")
    assert cli.main([*judge, "--config", "two.yaml", "--csv"]) == 0
    said = capsys.readouterr().out
    verdicts = {line.split(",")[0]: line for line in said.splitlines()}
    assert len(verdicts) > 1
    assert "no runs of gp_ei_stock on f1" in said
    assert "reduced: quick scale, 2 of 100 seeds" in said


def test_missing_data_files_are_said_before_anything_is_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    line = (
        "Missing data files: amazon_reviews. 'replibo fetch amazon_reviews' gets them; nothing is "
    )
    assert cli.main(["check", "neuralbo_5", "-n"]) == 0
    assert line in capsys.readouterr().out
    assert cli.main(["check", "neuralbo_5"]) == 2
    assert capsys.readouterr().err == f"replibo: {line}run without them.\n"


def test_a_failing_run_is_told_in_three_lines_and_stops_nothing_else(tmp_path: Path) -> None:
    other = make_project(tmp_path / "failing")
    other.edit("config/go_ucb.yaml", "learning_rate: 0.1", "learning_rate: 1.0e+300")
    done = other.replibo("check", "go_ucb_1_f1", "--seeds", "0", "--cores", "2", check=False)
    assert done.returncode == 2
    failed = done.stderr.index("failed: results/paper@check/go_ucb/f1/go_ucb/seeds_0.parquet\n")
    assert "gradient descent diverged at learning_rate 1e+300" in done.stderr[failed:]
    assert "log: logs/paper@check/go_ucb/f1/go_ucb/seeds_0.log" in done.stderr[failed:]
    assert done.stderr.rstrip().endswith("snakemake failed: see above; the same command goes on")
    made = {path.parent.name for path in other.path.glob("results/paper@check/*/*/*/seeds_0.*")}
    assert made == {"gp_ei", "gp_pi", "gp_ucb"}


def test_a_reading_and_a_control_are_judged_alone(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("high_noise", "no_bonus"):
        assert cli.main(["claims", "go_ucb_1_f1", "--reading", name]) == 0
        said = capsys.readouterr().out
        assert name in said and "as printed" not in said.lower() and "supported: " in said
    assert cli.main(["claims", "go_ucb_1_f1", "--reading", "x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_estimates_and_targets_of_claims(
    project: Project, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load.load(ROOT / "config")
    assert cli.main(["estimate", "go_ucb_1_f1"]) == 0
    assert "17 jobs, " in capsys.readouterr().out
    planned = project.planned("results/paper/go_ucb/claims/go_ucb_1_f1/printed.json")
    files = targets.claim_files(config, "go_ucb", "paper", "go_ucb_1_f1", "printed")
    assert set(files) < planned and len(planned) == 17
    every = targets.claim_files(config, "go_ucb", "paper", "go_ucb_1_f1", "all")
    assert set(files) < set(every)
