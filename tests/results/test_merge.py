"""What is published of a paper: the largest finished set of runs of each pair, never mixed, never less."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest

from replibo import cli, paths
from replibo.results import publish
from replibo.run import commit, metadata, traces
from replibo.run.published import of_paper, parsed, text_of

from .conftest import SmallProject, publish_runs

RANDOM = ("f1", "random_search")


def test_seeds_join_and_larger_sets_take_the_place_of_smaller_ones(project: SmallProject) -> None:
    project.run("1")
    assert project.publish()[0] == "f1/random_search: new: 1 seed, T = 8"
    first = project.runs("random_search").f(*RANDOM)
    project.run("0")
    project.run("0", algorithm="exploration_first")
    lines = project.publish()
    assert lines[:2] == [
        "f1/random_search: joined by seeds 0: now 2 seeds",
        "f1/exploration_first: new: 1 seed, T = 8",
    ]
    f = project.runs("random_search").f(*RANDOM)
    assert f.shape == (2, 8) and (f[1] == first[0]).all()
    timing = project.published().timing
    assert (timing["runs"], timing["queries"], timing["jobs"]) == (2, 16, 2)

    # a reduced run gives way to longer ones once there are as many, whatever their queries
    project.configure(horizon=20, seeds="0-2")
    project.run("0")
    assert project.publish()[0] == (
        "f1/random_search: as published: 2 seeds, T = 8; 1 seed, T = 20 made otherwise here are fewer "
        "or shorter; allowed: --replace"
    )
    project.run("1")
    assert project.publish()[0] == "f1/random_search: 2 seeds, T = 20 in place of 2 seeds, T = 8"
    assert project.runs("random_search").f(*RANDOM).shape == (2, 20)


def test_runs_of_different_length_are_compared_at_the_shorter_one(project: SmallProject) -> None:
    project.run("0-1")
    project.run("0-1", algorithm="exploration_first")
    project.publish()
    project.configure(horizon=20, seeds="0-1")
    project.run("0", "1")
    project.publish()
    alone, both = project.runs("random_search"), project.runs("random_search", "exploration_first")
    assert (alone.horizon("f1"), both.horizon("f1")) == (20, 8)
    assert both.f(*RANDOM).tolist() == alone.f(*RANDOM)[:, :8].tolist()
    # x of the best query, by the runs' own files
    for horizon, runs in ((20, alone), (8, both)):
        best = runs.best_queries(*RANDOM)[:, 0]
        for seed, x in enumerate(best):
            file = paths.block("smoke", *("go_ucb", *RANDOM), str(seed))
            run = traces.read(Path(file)).to_pydict()
            assert x.tolist() == run["x"][int(np.argmax(run["y"][:horizon]))]
    queries = [runs.timing["queries"] for runs in of_paper("go_ucb").values()]
    assert sorted(queries) == [2 * 8, 2 * 20]


def test_less_never_takes_the_place_of_more(project: SmallProject) -> None:
    project.run("0-1")
    project.publish()
    before = project.files()
    for path in Path("results").rglob("*.parquet"):
        path.unlink()
    assert project.publish() == ["1 as published: nothing of them is finished here"]
    project.configure(horizon=7, seeds="0-2")
    project.run("0-1")
    (line,) = project.publish()
    assert line == (
        "f1/random_search: as published: 2 seeds, T = 8; 2 seeds, T = 7 made otherwise here are fewer "
        "or shorter; allowed: --replace"
    )
    assert before == project.files()
    assert "2 seeds, T = 7 in place of 2 seeds, T = 8" in project.publish("--replace")[0]
    assert project.runs("random_search").horizon("f1") == 7


def test_runs_of_two_codes_are_not_mixed(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replibo.run import code

    project.run("0")
    digest = code.digest
    monkeypatch.setattr(code, "digest", lambda *names, **more: digest(*names, **more)[::-1])
    project.run("1")
    (line, *_) = project.publish()
    assert (
        line == "f1/random_search: new: 1 seed, T = 8; not mixed with 1 seed, T = 8 made otherwise"
    )
    assert project.published().seeds == {1}  # of equal sets the one by today's code
    monkeypatch.undo()


def test_a_dirty_commit_never_enters(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "described", lambda: "abc-dirty")
    monkeypatch.setattr(commit, "of_package", lambda: commit.UNKNOWN)
    project.run("0")
    path = paths.block("smoke", "go_ucb", *RANDOM, "0")
    why = f"replibo: left out: {path}: was run from changed files (abc-dirty)"
    nothing, said = project.do("publish", "go_ucb", status=2)
    assert nothing.startswith("replibo: published/go_ucb: nothing is finished at scale smoke")
    assert said == why
    project.run("0", algorithm="exploration_first")
    monkeypatch.setattr(commit, "described", lambda: "def")
    project.run("1")
    assert why in project.do("publish", "go_ucb", status=2)  # the others are published
    assert [runs.commit for runs in of_paper("go_ucb").values()] == [("def",)]
    # the code that made them stands at a commit now
    monkeypatch.setattr(commit, "of_package", lambda: "012")
    project.publish()
    assert project.published().commit == ("def", "012")


def git(*arguments: str) -> None:
    """Call git in the working folder."""
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *names, *arguments], check=True, capture_output=True)


def test_the_commit_of_the_package_is_that_of_its_source_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commit, "PACKAGE", tmp_path / "src")
    assert commit.described() == commit.of_package() == commit.UNKNOWN
    git("init")
    (tmp_path / "src").mkdir()
    for name in ("src/a.py", "notes"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "x")
    assert commit.described() == commit.of_package() != commit.UNKNOWN
    (tmp_path / "notes").write_text("2")
    assert commit.described() == commit.of_package() + commit.DIRTY
    (tmp_path / "src/a.py").write_text("2")
    assert commit.of_package() == commit.UNKNOWN


def test_the_commit_is_the_packages_wherever_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "PACKAGE", Path(__file__).parents[2] / "src" / "replibo")
    here = commit.described()
    assert here != commit.UNKNOWN
    monkeypatch.chdir(tmp_path)
    git("init")
    git("commit", "--allow-empty", "-m", "x")
    assert commit.described() == here
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # as in a hook
    assert commit.described() == here
    # a package that lies in another repository, as a wheel in a virtual environment may
    wheel = tmp_path / "site-packages"
    wheel.mkdir()
    (wheel / "a.py").write_text("1")
    monkeypatch.setattr(commit, "PACKAGE", wheel)
    assert commit.described() == commit.of_package() == commit.UNKNOWN


def test_git_that_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = "fatal: detected dubious ownership in repository at '/x'"

    def refuse(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 128, "", f"{refusal}\nmore")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert commit.described() == commit.UNKNOWN
    assert refusal in caplog.text and "safe.directory" in caplog.text


def test_what_older_code_made_gives_way_to_as_many_runs(project: SmallProject) -> None:
    project.run("0-1")
    project.publish()
    made = {"identity": "older", "code": "older", "changed_config": True}
    publish_runs(dataclasses.replace(project.published(), **made), publish.rows("go_ucb", *RANDOM))
    assert project.runs("random_search").metadata["changed_config"]
    project.run("0", algorithm="exploration_first")
    project.publish()
    assert not project.published("exploration_first").changed_config
    assert project.published().code != "older"
    assert not project.runs("random_search").metadata["changed_config"]


def test_a_config_laid_over_the_base_marks_only_what_it_changes(project: SmallProject) -> None:
    for more, changed in (
        ("", False),
        ("  problems: {f1: {parameters: {noise_std: 0.5}}}\n", True),
    ):
        project.overlay.write_text(project.overlay.read_text() + more)
        project.run("0")
        of = metadata.of_file(Path(paths.block("smoke", "go_ucb", *RANDOM, "0")))
        assert of["changed_config"] is changed


def test_another_scale_is_refused_and_takes_the_place_of_all_when_asked(
    project: SmallProject,
) -> None:
    project.run("0")
    project.publish()
    arguments = ["publish", "go_ucb", "--scale", "quick", "--config", str(project.overlay)]
    assert cli.main(arguments) == 2
    assert project.capsys.readouterr().err == (
        "replibo: published/go_ucb: runs of scale smoke are published, got quick; allowed: --replace\n"
    )
    block = paths.block("quick", "go_ucb", "f1", "exploration_first", "0")
    run = ["run", "go_ucb", "f1", "exploration_first", "--scale", "quick", "--seeds", "0"]
    assert cli.main([*run, "--output", block]) == 0
    project.capsys.readouterr()
    assert cli.main([*arguments, "--replace"]) == 0
    said = project.capsys.readouterr().out.splitlines()
    assert "f1/random_search: dropped, run at scale smoke" in said
    assert list(of_paper("go_ucb")) == ["f1/exploration_first"]


def test_another_problem_of_the_same_name_is_not_mixed(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replibo.problems.base import Problem

    monkeypatch.setattr(Problem, "recorded", lambda self: {"weights": [1.0]})
    project.run("0-1")
    project.publish()
    for path in Path("results").rglob("*.parquet"):
        path.unlink()
    monkeypatch.setattr(Problem, "recorded", lambda self: {"weights": [2.0]})
    project.run("0", algorithm="exploration_first")
    assert project.publish()[-1] == (
        "f1: as published after all: its record is another than that of the runs here; "
        "allowed: --replace"
    )
    assert list(of_paper("go_ucb")) == ["f1/random_search"]
    assert "f1/random_search: dropped, run with another record" in project.publish("--replace")
    assert list(of_paper("go_ucb")) == ["f1/exploration_first"]
    assert [path.stem for path in project.files()] == ["exploration_first"]


def test_seeds_as_text() -> None:
    assert text_of({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8"
    assert parsed("0-2,5,7-8") == {0, 1, 2, 5, 7, 8} and parsed(text_of(())) == frozenset()
