"""What is finished, runs, failed and is left; and the command that carries the papers' own runs on."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from replibo import cli, paths, stopping
from replibo.config import load
from replibo.errors import RepliboError
from replibo.run import commit
from replibo.workflow import paper_runs, snakemake, status
from replibo.workflow.costs import Resources
from replibo.workflow.estimate import estimate

from ..results.conftest import SmallProject
from .conftest import Project, make_project

PAIR = ("go_ucb", "f1", "random_search")


@pytest.fixture
def runs(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> SmallProject:
    """Three seeds of two cheap algorithms, each seed a job."""
    monkeypatch.setattr(commit, "PACKAGE", elsewhere)  # where git tracks nothing
    small = SmallProject(elsewhere, capsys)
    small.configure(horizon=8, seeds="0-2")
    return small


def survey(runs: SmallProject) -> dict[str, status.Standing]:
    """By algorithm. A paper that is named twice is counted once."""
    standings = status.survey(runs.config(), "smoke", ["go_ucb", "go_ucb"])
    assert len(standings) == 2
    return {standing.algorithm: standing for standing in standings}


def random_search(runs: SmallProject) -> status.Standing:
    return survey(runs)["random_search"]


def test_a_figure_is_finished_with_the_last_of_its_runs(runs: SmallProject) -> None:
    def said() -> str:
        config = runs.config()
        standings = status.survey(config, "smoke", ["go_ucb"])
        return " ".join(status.outputs(config, "smoke", standings))

    runs.run("0", "1", "2")
    waiting = "0 of 1 figure and 0 of 1 table; not for figure_1_all, final_regret."
    assert said() == f"go_ucb: all runs finished for {waiting}"
    runs.run("0", "1", "2", algorithm="exploration_first")
    assert said() == "go_ucb: all runs finished for 1 of 1 figure and 1 of 1 table."


def test_finished_here_or_published_running_failed_and_left(runs: SmallProject) -> None:
    assert random_search(runs).state == "untouched"
    assert random_search(runs).left is None  # never run
    runs.run("0")
    now = random_search(runs)
    assert (now.finished, now.todo, now.running, now.failed) == (
        {0},
        [1, 2],
        set(),
        set(),
    )
    assert now.left is not None and len(now.left) == 2 and min(now.left) > 0
    assert now.done_seconds == pytest.approx(now.left[0])
    assert now.blocks == ["1", "2"] and now.longest == now.left[0] and now.asked.memory_mb > 0
    runs.publish()
    block = Path(paths.block("smoke", *PAIR, "0"))
    block.unlink()
    # what is no file of runs is passed over
    block.with_name("seeds_1.parquet").symlink_to("nowhere")
    os.mkfifo(block.with_name("seeds_2.parquet"))
    assert random_search(runs).finished == {0}
    for name in ("seeds_1.parquet", "seeds_2.parquet"):
        block.with_name(name).unlink()

    log = Path("logs/smoke/go_ucb/f1/random_search/seeds_1.log")
    log.parent.mkdir(parents=True)
    log.write_text("replibo: the disk is full\n")
    assert random_search(runs).failed == {1}
    log.write_text(f"8 of 20 queries\nreplibo: {stopping.STOPPED.format('SIGTERM')}\n")
    assert random_search(runs).failed == set()  # it was stopped
    runs.run("1", "2")
    now = random_search(runs)
    assert now.state == "finished" and not now.failed and now.left == []
    assert survey(runs)["exploration_first"].state == "untouched"
    runs.configure(horizon=30, seeds="0-2")  # runs of another length
    assert random_search(runs).finished == set()


def test_published_runs_of_other_code_are_finished_only_whole(
    runs: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No further seed can join them (`replibo.results.merge`), so that the queue makes all again."""
    runs.run("0", "1")
    runs.publish()
    shutil.rmtree("results")
    assert random_search(runs).finished == {0, 1}
    with monkeypatch.context() as patch:
        patch.setattr(status, "identity_digest", lambda identity: "other code")
        assert random_search(runs).todo == [0, 1, 2]
    runs.run("2")
    runs.publish()
    shutil.rmtree("results")
    monkeypatch.setattr(status, "identity_digest", lambda identity: "other code")
    assert random_search(runs).state == "finished"


def test_a_journal_says_how_far_a_run_has_come(
    runs: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replibo.run.journal import Journal

    runs.run("0")
    output = Path(paths.block("smoke", *PAIR, "1"))
    kept: list[str] = []
    write = Journal.append

    def append(self: Journal, record: object) -> None:
        write(self, record)
        kept.append(self.path.read_text())

    monkeypatch.setattr(Journal, "append", append)
    runs.run("1")
    output.unlink()
    whole = random_search(runs).left
    assert whole is not None
    path = paths.journal_folder(output, "smoke", *PAIR) / "seed_1.jsonl"
    path.parent.mkdir()
    path.write_text(kept[2])
    now = random_search(runs)
    assert now.running == {1}  # it was written to just now
    assert now.left is not None and now.left[0] < whole[0] and now.left[1] == whole[1]
    old = time.time() - 3600
    os.utime(path, (old, old))
    assert random_search(runs).running == set()
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert random_search(runs).running == {1}
    # a journal of another code says nothing
    path.write_text(kept[2].replace('"identity":"', '"identity":"0'))
    os.utime(path, (old, old))
    assert random_search(runs).left == whole


def standing(algorithm: str, finished: int, left: list[float] | None) -> status.Standing:
    wanted = list(range(finished + (3 if left is None else len(left))))
    names = ("a_paper", "a_problem", algorithm)
    return status.Standing(*names, wanted, set(wanted[:finished]), left, 3600.0 * finished)


def test_hours_the_end_and_what_a_cluster_is_asked_for() -> None:
    standings = [standing("a", 2, [3600.0] * 5), standing("b", 0, [7200.0])]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    text = status.summary(standings, 2, now)
    assert text.startswith(
        "22 % by cost: 2.0 of 9.0 core hours, 2 of 8 runs.\n7.0 core hours are left: "
    )
    assert "3.5 h on 2 free cores, until 2026-01-01 03:30 UTC" in text
    assert "On a cluster" not in text
    last = standings[1]
    last.blocks, last.longest, last.asked = ["0", "1"], 7200.0, Resources(700, 370)
    asked = "\nOn a cluster: 2 jobs, the longest of 2.0 h; one asks for at most 700 MB and 370 min."
    assert status.summary(standings, 2, now).endswith(asked)
    unknown = status.summary([standing("c", 0, None)], 1, now)
    assert "nothing like it was ever run: 3 runs (?)." in unknown
    # of all that is left only a part may be shown
    lines = status.text(standings, 2, shown=standings[1:]).splitlines()
    assert lines[0] == "a_paper" and len([line for line in lines if "a_problem" in line]) == 1
    assert "9.0 core hours" in "".join(lines)


def test_what_is_alike_shares_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named if their names fit."""
    standings = [standing(name, 1, []) for name in "abc"] + [standing("d", 1, [36.0])]
    assert status.rows(standings)[0][-1] == "a, b, c"
    monkeypatch.setattr(status, "LONGEST_NAMES", 6)
    assert status.rows(standings) == [
        ("a_problem", "3", "3", "", "", "0.00", "3 algorithms"),
        ("a_problem", "2", "1", "", "", "0.01", "d"),
    ]


def test_the_survey_fits_a_screen_and_has_the_hours_of_the_estimate(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hours of the runs: the estimate's outputs and Snakemake's own time are not in them."""
    monkeypatch.setenv("COLUMNS", "100")
    config = load.load()
    standings = status.survey(config, "paper", ["lb_gp_ucb"])
    hours = sum(standing.done_seconds + sum(standing.left or ()) for standing in standings)
    lines = estimate(config, ["lb_gp_ucb"], "paper").lines
    assert hours == pytest.approx(sum(line.seconds for line in lines if line.runs))
    monkeypatch.setattr(status, "survey", lambda *arguments: standings)
    assert cli.main(["status", "lb_gp_ucb", "--cores", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 100 and "by cost" in "".join(shown)
    assert shown[0] == "lb_gp_ucb" and shown[1].split() == " ".join(status.COLUMNS).split()
    assert not any("…" in line for line in shown)
    assert cli.main(["status", "lb_gp_ucb", "--csv"]) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == len(standings)


def test_every_problem_is_in_one_stage(root: Path) -> None:
    config = load.load()
    problems = [pair for stage in paper_runs.stages(config, "paper") for pair in stage]
    assert sorted(problems) == sorted(
        (paper, name)
        for paper in config.papers
        for name in config.paper(paper).problems_at("paper")
    )
    order = [name for _, name in problems]
    for first, second in (
        ("n_100", "ackley_10"),
        ("ackley_20", "bbob_2d"),
        ("bbob_10d", "sensitive_samples"),
        ("sensitive_samples", "ackley_50"),
        ("ackley_100", "robot_pushing"),
    ):
        assert order.index(first) < order.index(second)


def small_project(path: Path) -> Project:
    """A copy of the project with a single small problem at smoke scale, and nothing published."""
    made = make_project(path)
    shutil.rmtree(made.path / "published")
    made.edit("config/config.yaml", "  - bbo\n  - neuralbo\n  - lb_gp_ucb\n  - cross ", "  ")
    path = made.path / "config/go_ucb.yaml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    own = {"algorithms": ["random_search", "exploration_first"], "seeds": "0-2"}
    entries["go_ucb"]["scales"]["smoke"] |= {"only": ["f1"], "problems": {"f1": own}}
    sizes = {name: {"seeds_per_job": 1} for name in own["algorithms"]}
    entries["go_ucb"]["scales"]["smoke"]["algorithms"] = sizes
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    return made


def test_a_queue_in_which_something_failed_says_so(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All stages are tried with the options of Snakemake, what is finished is published, and the exit is no
    success."""
    tried: list[list[str]] = []
    overlay, options = tmp_path / "none.yaml", ["--set-resources", "run:runtime=500 * attempt"]
    overlay.write_text("papers: [go_ucb, bbo]\n")

    class Failing(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: Any) -> None:
            tried.append(command)
            super().__init__([sys.executable, "-c", "raise SystemExit(3)"], **options)

    monkeypatch.setattr(paper_runs.subprocess, "Popen", Failing)
    monkeypatch.setattr(
        paper_runs.merge, "publish", lambda *given, **options: ([], ["left out: a file"])
    )
    monkeypatch.setattr(paper_runs, "missing", lambda config, scale, stage: ["results/a/b/c/d/e"])
    given = ["--cores", "1", "--configfile", str(overlay), *options]
    monkeypatch.setattr(sys, "argv", ["paper_runs", *given])
    with pytest.raises(
        RepliboError, match=r"^snakemake failed \(b\): .*status --scale paper"
    ) as raised:
        paper_runs.main()
    assert str(raised.value).splitlines()[1:] == ["not all was published (b): see above"]
    assert len(tried) == 2 and len(paper_runs.stages(load.load(), "paper")) > 2
    passed = ["--cores", "1", *options, "--configfile", str(overlay), "--", "results/a/b/c/d/e"]
    assert tried[0][-len(passed) :] == passed


def test_a_stop_before_the_first_job_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "snakemake").mkdir()
    (tmp_path / "snakemake/__init__.py").touch()
    (tmp_path / "snakemake/cli.py").write_text("def main(): raise KeyboardInterrupt\n")
    command = [sys.executable, "-c", snakemake.PROGRAM]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stderr.startswith("replibo: stopped before ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "nan"], "--minutes: must be a number > 0, got nan"),
        (["--profile", "slrum"], "--profile: must be a folder with Snakemake's .*, got slrum"),
    ],
)
def test_a_queue_without_time_or_profile_is_refused(
    arguments: list[str], said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_runs, "stages", lambda config, scale: [])
    monkeypatch.setattr(sys, "argv", ["paper_runs", "--scale", "smoke", *arguments])
    with pytest.raises(RepliboError, match=f"^{said}$"):
        paper_runs.main()


def test_the_queue_runs_what_is_missing_and_publishes_it(tmp_path: Path) -> None:
    small = small_project(tmp_path / "queue")
    module = "replibo.workflow.paper_runs"
    command = (sys.executable, "-m", module, "--scale", "smoke", "--cores", "2")
    out = tmp_path / "out"
    done = small.run(*command, "--out", str(out))
    assert "go_ucb: f1/random_search: new: 3 seeds" in done.stdout
    published = small.path / "published/go_ucb/f1/random_search.parquet"
    before = published.read_bytes()
    # on another machine, with what was copied out: nothing is left to do
    assert (out / "published/go_ucb/f1/random_search.parquet").read_bytes() == before
    assert len(list(out.rglob("seeds_*.parquet"))) == 6
    # published whole: not run again, though the results are gone
    for path in (small.path / "results").rglob("*.parquet"):
        path.unlink()
    again = small.run(*command, "--at-once")
    assert "snakemake" not in (again.stdout + again.stderr).lower()
    assert published.read_bytes() == before
    # of more seeds the new ones run, and join those
    one_more = "go_ucb: {scales: {smoke: {problems: {f1: {seeds: 0-3}}}}}\n"
    (small.path / "more.yaml").write_text(one_more)
    more = small.run(*command, "--configfile", "more.yaml", "--jobs", "1")
    assert "go_ucb: f1/random_search: joined by seeds 3: now 4 seeds" in more.stdout
    assert len(list((small.path / "results").rglob("seeds_*.parquet"))) == 2
