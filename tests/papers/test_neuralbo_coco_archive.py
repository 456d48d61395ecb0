"""COCO's data of replayed runs: what the observer wrote and cocopp reads is what Figure 2 computes."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from replibo.algorithms.random_search import RandomSearch
from replibo.config import load
from replibo.errors import RepliboError
from replibo.papers.neuralbo import coco_archive
from replibo.papers.neuralbo.coco import TARGETS, evaluations_to_target
from replibo.papers.neuralbo.coco_archive import (
    archive,
    archived_algorithms,
    archived_files,
    postprocess,
)
from replibo.problems.coco import Bbob, member
from replibo.run import identity, loop, traces
from replibo.run.traces import Trace

SEEDS = [0, 1, 2, 3, 4, 24, 30]
LOOK = {"type": "random_search.RandomSearch", "color": "grey"}
CONFIG = load.parse(
    {
        "papers": ["neuralbo"],
        "neuralbo": {
            "title": "t",
            "reference": "r",
            **{"label": "L", "url": "u", "proposes": "p", "main_claims": []},
            "first_round": "initial",
            "defaults": {
                "horizon": 40,
                "initial_points": 3,
                "seeds": "0-4",
                "seeds_per_job": 3,
                "algorithms": ["one", "two"],
            },
            "problems": {
                "branin": {
                    "type": "botorch_interface.BotorchProblem",
                    "label": "Branin",
                    "parameters": {"function": "Branin"},
                    "algorithms": ["one", "two", "three"],
                },
                **{
                    f"bbob_{d}d": {"type": "coco.Bbob", "label": f"{d}-D", "parameters": {"dim": d}}
                    for d in (2, 3)
                },
            },
            "algorithms": {name: {**LOOK, "label": name} for name in ("one", "two", "three")},
            "scales": {"paper": {}, "quick": {"only": ["branin", "bbob_2d"]}, "smoke": {}},
            "figures": {},
            "tables": {},
        },
    }
)


def write_runs(folder, name, made, *, algorithm="one", problem="bbob_2d", scale="paper"):
    """A run's own file, with the metadata that 'replibo run' gives it."""
    metadata = {
        "paper": "neuralbo",
        "problem": problem,
        "algorithm": algorithm,
        "scale": scale,
        "identity": identity.run_identity(CONFIG.paper("neuralbo"), scale, problem, algorithm),
    }
    path = Path(folder, name)
    traces.write(path, traces.table(made, metadata))
    return path


def random_traces(dim, seeds, algorithm="one"):
    """Random search, by the loop that real runs use."""
    experiment = loop.Experiment(
        paper="neuralbo",
        problem_name=f"bbob_{dim}d",
        algorithm_name=algorithm,
        problem=Bbob(dim=dim),
        make_algorithm=RandomSearch,
        horizon=40,
        initial_points=3,
        first_round="initial",
    )
    return loop.run_block(experiment, seeds)


def closing_in(dim, seed):
    """A run that comes within every target: ever closer to the optimum, and there at last."""
    problem = Bbob(dim=dim).of_seed(seed)
    rng = np.random.default_rng(seed)
    reach = np.append(10 ** np.sort(rng.uniform(-10, 1, size=40))[::-1], 0.0)
    X = np.clip(problem.optimizers + reach[:, None] * rng.normal(size=(41, dim)), -5, 5)
    f = problem.evaluate_true(X)
    trace = Trace(seed)
    for t, (x, value) in enumerate(zip(X, f, strict=True), start=1):
        trace.t.append(t)
        trace.phase.append("search")
        trace.x.append([float(v) for v in x])
        trace.y.append(float(value))
        trace.f.append(float(value))
        trace.seconds.append([0.0, 0.0, 0.0])
        trace.diagnostics.append({})
    return trace


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The traces by (dim, seed), and the folder into which they were replayed."""
    folder = tmp_path_factory.mktemp("a folder with spaces")
    found, files = {}, []
    for dim in (2, 3):
        own = random_traces(dim, SEEDS) + [closing_in(dim, seed) for seed in range(31, 31 + 24)]
        for part in (own[:5], own[5:]):  # blocks, as real runs have them
            files.append(
                write_runs(folder, f"{dim}_{len(files)}.parquet", part, problem=f"bbob_{dim}d")
            )
        found |= {(dim, trace.seed): trace for trace in own}
    output = folder / "coco" / "one"
    archive(CONFIG, "paper", "one", files[::-1], output)
    return found, output


def observed(folder):
    """(function, dim, instance) → rows (evaluations, best f - f_opt) that the observer wrote."""
    found = {}
    for info in folder.glob("*.info"):
        text = info.read_text()
        for header, line in re.findall(r"^(suite.*)\n%.*\n(.*)$", text, re.MULTILINE):
            function, dim = (
                int(re.search(rf"{key} = (\d+)", header)[1]) for key in ("funcId", "DIM")
            )
            assert "algId = 'one'" in header and "suite = 'bbob'" in header
            name, *runs = line.split(", ")
            sections = (folder / name).read_text().split("%")[1:]
            for run, section in zip(runs, sections, strict=True):
                instance, evaluations = map(int, re.match(r"(\d+):(\d+)\|", run).groups())
                rows = [line.split() for line in section.splitlines()[1:]]
                assert int(rows[-1][0]) == evaluations
                found[function, dim, instance] = [(int(row[0]), float(row[2])) for row in rows]
    return found


def test_the_observers_files_agree_with_the_traces(made):
    found, folder = made
    written = observed(folder)
    assert set(written) == {(member(s)[0], dim, member(s)[1]) for dim, s in found}
    deepest = np.inf
    for (dim, seed), trace in found.items():
        function, instance = member(seed)
        rows = written[function, dim, instance]
        assert rows[-1][0] == len(trace)
        assert rows[-1][1] == pytest.approx(-max(trace.f), rel=1e-9, abs=1e-14)
        ours = evaluations_to_target(np.array([trace.f]), 0.0)[0]
        theirs = [next((n for n, gap in rows if gap <= target), np.inf) for target in TARGETS]
        np.testing.assert_array_equal(ours, theirs)
        deepest = min(deepest, rows[-1][1])
        if seed > 30:
            assert np.all(np.isfinite(ours))
    assert deepest <= 1e-8


@pytest.mark.filterwarnings("ignore::UserWarning:cocopp")
def test_cocopp_reads_the_same_numbers_of_evaluations(made, monkeypatch):
    for variable in ("http_proxy", "https_proxy"):  # importing cocopp asks for lists of archives
        monkeypatch.setenv(variable, coco_archive.NO_NETWORK)
    from cocopp import pproc

    found, folder = made
    seen = 0
    for data in pproc.DataSetList([str(folder)]):
        theirs = np.array(data.detEvals(TARGETS))  # targets x instances, nan where not reached
        for column, instance in enumerate(data.instancenumbers):
            (seed,) = [
                s for d, s in found if d == data.dim and member(s) == (data.funcId, instance)
            ]
            ours = evaluations_to_target(np.array([found[data.dim, seed].f]), 0.0)[0]
            np.testing.assert_array_equal(np.where(np.isinf(ours), np.nan, ours), theirs[:, column])
            seen += 1
    assert seen == len(found)


def test_the_same_archive_whatever_the_order_and_nothing_is_left_beside_it(made, tmp_path):
    _, folder = made
    assert [path.name for path in folder.parent.iterdir()] == ["one"]
    files = sorted(folder.parents[1].glob("*.parquet"))
    other = tmp_path / "one"
    other.mkdir()
    (other / "old.info").write_text("of an older archive")
    archive(CONFIG, "paper", "one", files, other)
    names = [sorted(p.relative_to(at) for p in at.rglob("*.*")) for at in (folder, other)]
    assert names[0] == names[1]  # and old.info is gone
    for name in names[0]:
        if (folder / name).is_file():
            assert (folder / name).read_bytes() == (other / name).read_bytes()


def test_a_value_that_differs_is_one_line_and_leaves_nothing(tmp_path):
    made = random_traces(2, [3])
    made[0].f[17] *= 1 + 1e-6
    path = write_runs(tmp_path, "wrong.parquet", made)
    output = tmp_path / "coco" / "one"
    with pytest.raises(
        RepliboError, match=r"wrong\.parquet, seed 3, query 18: COCO's value is"
    ) as e:
        archive(CONFIG, "paper", "one", [path], output)
    assert "\n" not in str(e.value)
    assert list(output.parent.iterdir()) == []
    made[0].f[17] = float("nan")
    path = write_runs(tmp_path, "wrong.parquet", made)
    with pytest.raises(RepliboError, match="query 18"):
        archive(CONFIG, "paper", "one", [path], output)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"algorithm": "two"}, {}, "holds runs of algorithm two; allowed: one"),
        ({"scale": "quick"}, {}, "holds runs of scale quick; allowed: paper"),
        ({"problem": "branin"}, {}, "holds runs of branin; allowed: a bbob problem"),
        ({}, {"times": 2}, "f1, instance 1, 2-D is in .* too; allowed: each run once"),
        ({}, {"times": 0}, "no runs to archive"),
        ({"problem": "bbob_3d"}, {"dim": 2}, r"holds runs with \{'dim': 2\}, not \{'dim': 3\}"),
    ],
)
def test_files_of_other_runs_are_refused(tmp_path, change, arguments, message):
    path = write_runs(tmp_path, "runs.parquet", random_traces(2, [0]), **change)
    if "dim" in arguments:
        content = traces.read(path)
        metadata = traces.read_metadata(content)
        metadata["identity"]["problem_parameters"] = {"dim": 2}
        traces.write(path, traces.table(traces.split(content), metadata))
    with pytest.raises(RepliboError, match=message) as error:
        archive(CONFIG, "paper", "one", [path] * arguments.get("times", 1), tmp_path / "out")
    assert "\n" not in str(error.value)
    assert [p.name for p in tmp_path.iterdir()] == ["runs.parquet"]


def test_a_missing_file_and_an_output_that_is_a_file(tmp_path):
    with pytest.raises(RepliboError, match=r"none\.parquet: cannot be read"):
        archive(CONFIG, "paper", "one", [tmp_path / "none.parquet"], tmp_path / "out")
    path = write_runs(tmp_path, "runs.parquet", random_traces(2, [0]))
    with pytest.raises(RepliboError, match="must be a folder or not exist, got a file"):
        archive(CONFIG, "paper", "one", [path], path)
    assert path.is_file()


def test_which_files_and_algorithms_are_archived():
    assert archived_algorithms(CONFIG, "paper") == ["one", "two"]  # three runs on Branin only
    assert archived_files(CONFIG, "paper", "two") == [
        f"results/paper/neuralbo/{problem}/two/seeds_{block}.parquet"
        for problem in ("bbob_2d", "bbob_3d")
        for block in ("0-2", "3-4")
    ]
    assert len(archived_files(CONFIG, "quick", "two")) == 2
    with pytest.raises(RepliboError, match=r"'three' has no runs on bbob .*; allowed: one or two"):
        archived_files(CONFIG, "paper", "three")


def test_it_writes_nothing_on_standard_output(tmp_path, capfd):
    import cocoex

    before = cocoex.log_level()
    path = write_runs(tmp_path, "runs.parquet", random_traces(2, [0]))
    archive(CONFIG, "paper", "one", [path], tmp_path / "one")
    assert capfd.readouterr() == ("", "")
    assert cocoex.log_level() == before


def test_postprocessing_makes_cocopps_pages(tmp_path):
    folders = []
    for algorithm in ("one", "two"):
        path = write_runs(
            tmp_path,
            f"{algorithm}.parquet",
            random_traces(2, [0, 1], algorithm),
            algorithm=algorithm,
        )
        folders.append(tmp_path / "coco" / algorithm)
        archive(CONFIG, "paper", algorithm, [path], folders[-1])
    output = tmp_path / "pages"
    postprocess(folders, output)
    (pages,) = [path for path in output.iterdir() if path.is_dir()]
    assert f"{pages.name}/index.html" in (output / "index.html").read_text()
    assert list(pages.glob("pprldmany_02D_*.svg"))
    assert pages.name.startswith("one_two_")
    html = "".join(p.read_text() for p in (*output.glob("*.html"), *pages.rglob("*.html")))
    assert str(tmp_path) not in html  # the pages can be moved
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "coco",
        "one.parquet",
        "pages",
        "two.parquet",
    ]


def test_postprocessing_says_in_one_line_what_is_wrong(tmp_path, monkeypatch):
    with pytest.raises(RepliboError, match="folders: none"):
        postprocess([], tmp_path / "pages")
    with pytest.raises(RepliboError, match="empty: holds no data of COCO's observer"):
        postprocess([tmp_path / "empty"], tmp_path / "pages")
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "x.info").write_text("suite\n")
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho first\necho the reason\nexit 3\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(RepliboError, match=r"^cocopp failed: the reason$"):
        postprocess([bad], tmp_path / "pages")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "failing"]


def test_the_command_line_says_in_one_line_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    with pytest.raises(
        RepliboError, match="'nope' has no runs on bbob at scale quick; allowed: gp_ts, neural_bo"
    ):
        coco_archive.main(["archive", "nope", "--scale", "quick", "--output", str(tmp_path / "o")])
    with pytest.raises(RepliboError, match="holds no data of COCO's observer"):
        coco_archive.main(["postprocess", str(tmp_path), "--output", str(tmp_path / "o")])
    with pytest.raises(RepliboError, match="scale: must be one of paper, quick or smoke"):
        coco_archive.main(["archive", "gp_ei", "--scale", "published", "--output", "o"])
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_archives_what_the_config_names(tmp_path, monkeypatch):
    called = []
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(coco_archive, "archive", lambda *arguments: called.append(arguments))
    coco_archive.main(["archive", "neural_bo", "--scale", "smoke", "--output", str(tmp_path / "o")])
    ((config, scale, algorithm, files, output),) = called
    assert (scale, algorithm, output) == ("smoke", "neural_bo", tmp_path / "o")
    assert files == archived_files(config, "smoke", "neural_bo") != []
