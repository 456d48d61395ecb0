"""``replibo bench``, as a student calls it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from replibo import cli
from replibo.run import traces

from .conftest import Project
from .test_readme import blocks


@pytest.fixture(scope="module")
def mine(project: Project) -> Path:
    """CONTRIBUTING's example in a file outside of the project, its constant in another one beside it."""
    path = project.path.parent / "mine.py"
    path.with_name("step.py").write_text("STEP = 0.05\n", encoding="utf-8")
    text = blocks("python")[0].replace("0.05 *", "STEP *")
    text = text.replace("import numpy as np\n", "import numpy as np\nfrom step import STEP\n")
    text = text.replace("        best =", "        from scipy import stats\n\n        best =")
    path.write_text(text, encoding="utf-8")
    return path


def test_a_new_algorithm_is_laid_over_the_published_runs(project: Project, mine: Path) -> None:
    command = ("bench", f"{mine}:EpsilonGreedy", "--seeds", "0-4", "--set", "epsilon=0.1")
    both = ("--papers", "go_ucb", "cross", "--problems", "f1_low_noise", "berkenkamp")
    done = project.replibo(*command, *both, "--cores", "2")
    assert "EpsilonGreedy: keeps the contract" in done.stdout
    assert "10 runs, 650 queries on 2 problems" in done.stdout
    said = " ".join(done.stdout.split())
    assert (
        "at least 8 to 10 seeds" in said
        and "none is possible on go_ucb f1_low_noise, cross" in said
    )
    assert max(map(len, done.stdout.splitlines())) <= 100
    folder = project.path / "results/paper@bench_epsilon_greedy"
    with (folder / "bench.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    against = {row["against"] for row in rows if row["paper"] == "go_ucb"}
    assert against == {"GO-UCB", "GP-EI", "GP-PI", "GP-UCB", "Random search"}
    # of the cross table every method without a comma in its label
    against = {row["against"] for row in rows if row["paper"] == "cross"}
    assert {"MLE", "A-GP-UCB", "LNB-GP-UCB"} <= against and "LB-GP-UCB, as released" not in against
    assert {row["n"] for row in rows} == {"5"}
    assert {row["queries"] for row in rows if row["paper"] == "go_ucb"} == {"20"}
    for row in rows:
        assert 0 <= float(row["p"]) <= float(row["p (Holm)"]) <= 1
        assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    page = (folder / "bench.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 2
    assert "bench.csv" in page and "Ranks" in page
    # only the new algorithm was run, with its setting, from the published initial points
    (path,) = folder.glob("go_ucb/*/*/seeds_0-4.parquet")
    content = traces.read(path)
    found = traces.read_metadata(content)
    assert found["algorithm"] == "new_epsilon_greedy"
    assert found["identity"]["algorithm_parameters"] == {"epsilon": 0.1}
    assert len(list(folder.rglob("seeds_*.parquet"))) == 2
    # another constant: run anew
    mine.with_name("step.py").write_text("STEP = 0.061\n", encoding="utf-8")
    project.replibo(*command, "--papers", "go_ucb", "--problems", "f1_low_noise")
    changed = traces.read(path)
    assert traces.read_metadata(changed)["identity"]["code"] != found["identity"]["code"]
    start = content["phase"].combine_chunks().to_pandas() == "initial"
    x, y = (np.array(table["y"].to_pylist()) for table in (content, changed))
    assert np.array_equal(x[start], y[start]) and not np.array_equal(x, y)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{mine}:Epsilon"], "must have a class called 'Epsilon'"),
        (["no_such.py:Mine"], "replibo: no_such.py: not found"),
        (["mine.Mine"], " in all), or FILE.py:CLASS, got 'mine.Mine'"),
        (["{broken}:B", "--problems", "ackley"], "published; did you mean ackley_10, ackley_100,"),
        (
            ["{mine}:EpsilonGreedy", "--seeds", "900-999", "--problems", "f1"],
            "go_ucb f1: has the seeds 0-99; cross f1: has the seeds 0-9)",
        ),
        (
            ["{mine}:EpsilonGreedy", "--papers", "bbo"],
            "no problem is left (bbo n_100: trains networks",
        ),
        (["{mine}:EpsilonGreedy", "--set", "epsilon"], "--set: must be NAME=VALUE, got 'epsilon'"),
        (["{mine}:EpsilonGreedy", "--set", "eps=1"], "eps"),
        (["{mine}:EpsilonGreedy", "--set", "eps=["], "--set: eps must be a value of YAML, got '['"),
        (["{broken}:Broken"], "broken.py: ModuleNotFoundError: No module named 'no_such_module'"),
        (["{script}:Mine"], "script.py: SystemExit: 0"),
        (["{drawing}:EpsilonGreedy"], "calls numpy.random.default_rng() without a seed"),
    ],
)
def test_what_bench_says_to_bad_input(
    project: Project,
    mine: Path,
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    broken = mine.with_name("broken.py")
    broken.write_text("import no_such_module\n")
    drawing = mine.with_name("drawing.py")
    text = mine.read_text().replace(
        "self.streams.algorithm_at(len(history))", "np.random.default_rng()"
    )
    drawing.write_text(text)
    script = mine.with_name("script.py")
    script.write_text("import sys\nsys.exit(0)\n")
    files = {"mine": mine, "broken": broken, "drawing": drawing, "script": script}
    assert cli.main(["bench", *(word.format(**files) for word in arguments)]) == 2
    out, error = capsys.readouterr()
    assert said in error and error.count("\n") == 1 and not out


def test_bench_names_seeds_that_are_not_published(
    project: Project,
    mine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    wanted = ["--papers", "go_ucb", "--problems", "f1", "--seeds", "98-105"]
    assert cli.main(["bench", "-n", f"{mine}:EpsilonGreedy", *wanted]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Cost: 2 runs" in told and "go_ucb f1, seeds 100-105 (not published)" in told
