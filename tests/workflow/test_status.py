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
    return {one.algorithm: one for one in status.survey(runs.config(), "smoke", ["go_ucb"])}


def test_a_paper_that_is_named_twice_is_counted_once(runs: SmallProject) -> None:
    assert len(status.survey(runs.config(), "smoke", ["go_ucb", "go_ucb"])) == 2


def test_a_figure_is_finished_with_the_last_of_its_runs(runs: SmallProject) -> None:
    def said() -> str:
        config = runs.config()
        found = status.survey(config, "smoke", ["go_ucb"])
        return " ".join(status.outputs(config, "smoke", found))

    runs.run("0", "1", "2")
    waiting = "0 of 1 figure and 0 of 1 table; not for figure_1_all, final_regret."
    assert said() == f"go_ucb: all runs finished for {waiting}"
    runs.run("0", "1", "2", algorithm="exploration_first")
    assert said() == "go_ucb: all runs finished for 1 of 1 figure and 1 of 1 table."


def test_finished_here_or_published_running_failed_and_left(runs: SmallProject) -> None:
    assert survey(runs)["random_search"].state == "untouched"
    assert survey(runs)["random_search"].left is None  # never run
    runs.run("0")
    one = survey(runs)["random_search"]
    assert (one.finished, one.todo, one.running, one.failed) == ({0}, [1, 2], set(), set())
    assert one.left is not None and len(one.left) == 2 and min(one.left) > 0
    assert one.done_seconds == pytest.approx(one.left[0])
    assert one.blocks == ["1", "2"] and one.longest == one.left[0] and one.asked.memory_mb > 0
    runs.publish()
    Path(paths.block("smoke", *PAIR, "0")).unlink()
    assert survey(runs)["random_search"].finished == {0}

    log = Path("logs/smoke/go_ucb/f1/random_search/seeds_1.log")
    log.parent.mkdir(parents=True)
    log.write_text("replibo: the disk is full\n")
    assert survey(runs)["random_search"].failed == {1}
    log.write_text(f"8 of 20 queries\nreplibo: {stopping.STOPPED.format('SIGTERM')}\n")
    assert survey(runs)["random_search"].failed == set()  # it was stopped
    runs.run("1", "2")
    one = survey(runs)["random_search"]
    assert one.state == "finished" and not one.failed and one.left == []
    assert survey(runs)["exploration_first"].state == "untouched"


def test_published_runs_of_other_code_are_finished_only_whole(
    runs: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No further seed can join them (`replibo.results.merge`), so that the queue makes all again."""
    runs.run("0", "1")
    runs.publish()
    shutil.rmtree("results")
    assert survey(runs)["random_search"].finished == {0, 1}
    with monkeypatch.context() as patch:
        patch.setattr(status, "identity_digest", lambda identity: "other code")
        assert survey(runs)["random_search"].todo == [0, 1, 2]
    runs.run("2")
    runs.publish()
    shutil.rmtree("results")
    monkeypatch.setattr(status, "identity_digest", lambda identity: "other code")
    assert survey(runs)["random_search"].state == "finished"


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
    whole = survey(runs)["random_search"].left
    assert whole is not None
    path = paths.journal_folder(output, "smoke", *PAIR) / "seed_1.jsonl"
    path.parent.mkdir()
    path.write_text(kept[2])
    one = survey(runs)["random_search"]
    assert one.running == {1}  # it was written to just now
    assert one.left is not None and one.left[0] < whole[0] and one.left[1] == whole[1]
    old = time.time() - 3600
    os.utime(path, (old, old))
    assert survey(runs)["random_search"].running == set()
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert survey(runs)["random_search"].running == {1}
    # a journal of another code says nothing
    path.write_text(kept[2].replace('"identity":"', '"identity":"0'))
    os.utime(path, (old, old))
    assert survey(runs)["random_search"].left == whole


def test_runs_of_another_length_are_not_finished(runs: SmallProject) -> None:
    runs.run("0")
    runs.configure(horizon=30, seeds="0-2")
    assert survey(runs)["random_search"].finished == set()


def standing(algorithm: str, finished: int, left: list[float] | None) -> status.Standing:
    wanted = list(range(finished + (3 if left is None else len(left))))
    done = set(wanted[:finished])
    names = ("a_paper", "a_problem", algorithm)
    return status.Standing(*names, wanted, done, set(), set(), left, 3600.0 * finished)


def test_hours_and_the_end_on_so_many_cores() -> None:
    found = [standing("a", 2, [3600.0] * 5), standing("b", 0, [7200.0])]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    text = status.summary(found, 2, now)
    assert text.startswith(
        "22 % by cost: 2.0 of 9.0 core hours, 2 of 8 runs.\n7.0 core hours are left: "
    )
    assert "3.5 h on 2 free cores, until 2026-01-01 03:30 UTC" in text
    assert "2.0 h on 99 free cores" in status.summary(found, 99, now)
    found[1].blocks, found[1].longest, found[1].asked = ["0", "1"], 7200.0, Resources(700, 370)
    said = "\nOn a cluster: 2 jobs, the longest of 2.0 h; one asks for at most 700 MB and 370 min."
    assert status.summary(found, 2, now).endswith(said) and "On a cluster" not in text
    assert "nothing like it was ever run: 3 runs (?)." in status.summary(
        [standing("c", 0, None)], 1, now
    )


def test_what_is_alike_shares_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named if their names fit."""
    found = [standing(name, 1, []) for name in "abc"] + [standing("d", 1, [36.0])]
    assert status.rows(found)[0][-1] == "a, b, c"
    monkeypatch.setattr(status, "LONGEST_NAMES", 6)
    assert status.rows(found) == [
        ("a_problem", "3", "3", "", "", "0.00", "3 algorithms"),
        ("a_problem", "2", "1", "", "", "0.01", "d"),
    ]


def test_of_all_that_is_left_only_a_part_may_be_shown() -> None:
    found = [standing("a", 2, [3600.0] * 5), standing("b", 0, [7200.0])]
    lines = status.text(found, 2, shown=found[1:]).splitlines()
    assert lines[0] == "a_paper" and len([line for line in lines if "a_problem" in line]) == 1
    assert status.text(found, 2, shown=[]) == status.summary(found, 2, datetime.now(UTC))
    assert "9.0 core hours" in "".join(lines)


def test_the_survey_fits_a_screen_and_has_the_hours_of_the_estimate(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hours of the runs: the estimate's outputs and Snakemake's own time are not in them."""
    monkeypatch.setenv("COLUMNS", "100")
    config = load.load()
    standings = status.survey(config, "paper", ["lb_gp_ucb"])
    hours = sum(one.done_seconds + sum(one.left or ()) for one in standings)
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
    assert cli.main(["status", "lb_gp_ucb", "--cores", "0"]) == 2
    assert capsys.readouterr().err == "replibo: --cores: must be a number >= 1, got 0\n"


def test_every_problem_is_in_one_stage(root: Path) -> None:
    config = load.load()
    found = [one for stage in paper_runs.stages(config, "paper") for one in stage]
    assert sorted(found) == sorted(
        (paper, name)
        for paper in config.papers
        for name in config.paper(paper).problems_at("paper")
    )
    order = [name for _, name in found]
    for first, second in (
        ("n_100", "ackley_10"),
        ("ackley_20", "bbob_2d"),
        ("bbob_10d", "sensitive_samples"),
        ("sensitive_samples", "ackley_50"),
        ("ackley_100", "robot_pushing"),
    ):
        assert order.index(first) < order.index(second)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """`small_project`, once."""
    return small_project(tmp_path_factory.mktemp("queue"))


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
        (["--cores", "0"], "--cores: must be a number >= 1, got 0"),
        (["--minutes", "0"], "--minutes: must be a number > 0, got 0"),
        (["--minutes", "nan"], "--minutes: must be a number > 0, got nan"),
        (["--profile", "slrum"], "--profile: must be a folder with Snakemake's .*, got slrum"),
    ],
)
def test_a_queue_without_cores_time_or_profile_is_refused(
    arguments: list[str], said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_runs, "stages", lambda config, scale: [])
    monkeypatch.setattr(sys, "argv", ["paper_runs", "--scale", "smoke", *arguments])
    with pytest.raises(RepliboError, match=f"^{said}$"):
        paper_runs.main()


def test_the_queue_runs_what_is_missing_and_publishes_it(small: Project, tmp_path: Path) -> None:
    command = (
        sys.executable,
        "-m",
        "replibo.workflow.paper_runs",
        "--scale",
        "smoke",
        "--cores",
        "2",
    )
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


def test_what_is_no_file_of_runs_is_passed_over(runs: SmallProject) -> None:
    runs.run("0")
    own = Path(paths.block("smoke", *PAIR, "1"))
    own.symlink_to("nowhere")
    os.mkfifo(own.with_name("seeds_2.parquet"))
    assert survey(runs)["random_search"].finished == {0}
