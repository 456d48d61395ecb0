"""The command line: what it prints, what it refuses, and what it does not import."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import replibo
from replibo import cli, paths, verdicts
from replibo.arguments import parser
from replibo.config import load
from replibo.run import pairs

COMMANDS = re.findall(r"^    ([a-z]+)\b", parser().format_help(), re.M)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = cli.main(arguments)
    return status, capsys.readouterr().err


def test_list_names_everything(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    said = capsys.readouterr().out
    for word in (
        *("go_ucb f1_low_noise", "go_ucb go_greedy", "figure_3", "published"),
        "mnist_train_images",
    ):
        assert word in said


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert f"example:\n  replibo {command}" in text


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"replibo {replibo.__version__}\n"


COLLECT = ("collect", "--scale", "quick", "go_ucb")
RUN = ("run", "go_ucb", "f1", "random_search", "--scale", "quick")

BLOCKS = "results/paper/go_ucb/f1/gp_ei"
ONE, A = ("--seeds", "0"), ("--output", "a.parquet")
REFUSED = [
    (("run", "nope", "f1", "go_ucb", *ONE, *A), "no paper is called 'nope'; allowed: bbo"),
    (("run", "go_ucb", "f9", "go_ucb", *ONE, *A), "no problem called 'f9'; allowed: f1"),
    (("run", "go_ucb", "f1", "sgd", *ONE, *A), "no algorithm called 'sgd'; allowed: bumps_expl"),
    ((*RUN[:-1], "huge", *ONE, *A), "must be one of paper, quick or smoke, got 'huge'"),
    ((*RUN, "--seeds=-3", *A), "--seeds: must be a number or FIRST-LAST, e.g. 0-9, got '-3'"),
    ((*RUN, "--seeds", "010", *A), "--seeds: must be a number or FIRST-LAST, e.g. 0-9, got '010'"),
    ((*RUN, "--seeds", "3000000000", *A), "must be seeds in rising order, at most 2147483647"),
    ((*RUN, *ONE, "--output", "."), "got a folder"),
    ((*RUN, *ONE, "--output", "runs.csv"), "--output: must end with .parquet, got runs.csv"),
    ((*COLLECT, "f9", "go_ucb", *A), "no problem called 'f9'"),
    (("claims", "--scale", "huge"), "must be one of paper, published, quick or smoke, got 'huge'"),
    (("site", "--output", "index.html"), "--output: must be FOLDER/index.html, got index.html"),
    (
        ("estimate", "nothing"),
        "is called 'nothing'; allowed: all, published, quick, smoke, a paper",
    ),
    (("estimate", "figures/paper/go_ucb/figure_9.pdf"), "called 'figure_9'; allowed: figure_1"),
    (("estimate", "figures/huge/go_ucb/figure_1.pdf"), "published, quick or smoke, got 'huge'"),
    (
        ("estimate", f"{BLOCKS}/seeds_90-100.parquet"),
        "must be seeds of the config (0-99), got 90-100",
    ),
    (("estimate", "all", "--scale", "quick"), "all, which has a scale of its own"),
    (("estimate", "quick", "--cores", "0"), "--cores: must be a number >= 1, got 0"),
    (("check", "go_ucb_1"), "did you mean go_ucb_1_even_better, go_ucb_1_f1 or go_ucb_1_f2?"),
    (("check", "go_ucb_1_f1", "--reading", "prnted"), "did you mean printed?"),
    (("check", "bbo_11", "-n"), "--reading: must be all, constants_of_zero, noisy_labels or unit_"),
    (("check", "go_ucb_1_f1", "--seeds", "0-100"), "seeds of the config (0-99), got 0-100"),
]


@pytest.mark.parametrize(("arguments", "line"), REFUSED, ids=str)
def test_bad_input_is_refused_in_one_line(
    arguments: tuple[str, ...], line: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    out, error = capsys.readouterr()
    assert line in error and error.count("\n") == 1 and error.startswith("replibo: ") and not out
    assert [path.name for path in elsewhere.iterdir()] == ["config"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("Claim",), "; did you mean claims?"),
        (
            ("status", "--cores", "x"),
            "--cores: invalid int value: 'x'; see 'replibo status --help'",
        ),
        (
            ("run", "go_ucb"),
            "required: problem, algorithm, --seeds, --output; see 'replibo run --help'",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert line in error and error.count("\n") == 1 and error.startswith("replibo: ")


FIGURE = ("figure", "go_ucb", "figure_1", "--scale", "quick", "--output", "a.png")
TABLE = ("table", "go_ucb", "final_regret", "--scale", "quick", "--output", "a.md")


def test_what_misses_runs_names_the_target_that_makes_them(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, target in (
        (FIGURE, "figures/quick/go_ucb/figure_1.pdf"),
        (TABLE, "results/quick/go_ucb/final_regret.csv"),
        (("outputs", "go_ucb", "--scale", "quick"), "figures/quick/go_ucb/figure_1.pdf"),
        (("claims", "--scale", "quick"), "results/quick/verdicts"),
        (("claims", "go_ucb", "--scale", "quick"), "results/quick/go_ucb/verdicts.json"),
    ):
        status, error = said(capsys, *arguments)
        assert status == 2 and error.count("\n") == 1
        first = r"results/quick/go_ucb/f1/go_ucb/seeds_0-2\.parquet and \d+ more: not found"
        assert re.search(first, error)
        assert f"'snakemake --cores 2 {target}" in error
    assert [path.name for path in elsewhere.iterdir()] == ["config"]


def test_figures_and_tables_refuse_what_they_cannot_read_or_write(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = load.load().paper("go_ucb").pairs("quick", ["f1", "f2"])
    for pair in wanted:
        path = Path(pairs.file(load.load().paper("go_ucb"), "go_ucb", "quick", *pair))
        path.parent.mkdir(parents=True)
        path.write_bytes(b"PAR1 and then nothing")
    for arguments, line in (
        (FIGURE, "f1/go_ucb/seeds_0-2.parquet: not a whole parquet file"),
        ((*TABLE[:-1], "a.docx"), "must end in csv, html, md or tex"),
        ((*FIGURE[:-1], "a.md"), "must end in pdf, png, svg or txt"),
    ):
        status, error = said(capsys, *arguments)
        assert status == 2 and line in error, error
    assert not list(elsewhere.glob("a.*"))


@pytest.mark.parametrize("output", ["figures.figure_1", "tables.final_regret"])
def test_an_output_of_runs_that_names_no_problem_is_refused(
    output: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, name = output.split(".")
    overlay = tmp_path / "bad.yaml"
    overlay.write_text(f"go_ucb: {{{kind}: {{{name}: {{problems: []}}}}}}\n")
    command = (kind.removesuffix("s"), "go_ucb", name, "--scale", "published")
    path = tmp_path / ("a.png" if kind == "figures" else "a.csv")
    status, error = said(capsys, *command, "--config", str(overlay), "--output", str(path))
    assert status == 2
    assert error == f"replibo: config: go_ucb.{output}.problems: must name a problem, got []\n"


def test_collect_names_each_missing_or_damaged_file(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ("lb_gp_ucb", "agnp", "mle")
    status, error = said(capsys, "collect", *pair, "--scale", "paper", "--output", "runs.parquet")
    assert status == 2
    lines = error.splitlines()
    assert len(lines) == 4 and all(".parquet: cannot be read" in line for line in lines)
    assert not Path("runs.parquet").exists()


def test_outside_the_project_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    status, error = said(capsys, "list")
    assert status == 2 and "run this in the project's root folder" in error


def test_a_closed_pipe_is_no_error(root: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m replibo list | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.stdout == "papers:\n" and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("streams", "word", "unbuffered"),
    [
        (">/dev/full", "go_ucb", ""),
        (">/dev/full", "go_ucb", "1"),
        ("2>/dev/full", "go_ucb", "1"),
        ("2>/dev/full", "nope", ""),
        ("2>/dev/full", "nope", "1"),
        ("2>&-", "nope", ""),
        ("<&- >&- 2>&-", "go_ucb", ""),
    ],
)
def test_streams_that_cannot_be_written_change_no_exit_status(
    streams: str, word: str, unbuffered: str, root: Path, tmp_path: Path
) -> None:
    """Nor do messages for a closed standard error land elsewhere. Without a buffer even a write of no
    bytes comes to the device; with one, what is left comes there at the end."""
    status = 2 if word == "nope" else 0
    words = f"run go_ucb f1 {word} --seeds 0 --scale smoke --output {tmp_path}/out.parquet"
    command = f"{sys.executable} -m replibo {words} {streams}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert done.returncode == status and not done.stdout
    assert len(done.stderr.splitlines()) == ("2>" not in streams)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"] * (not status)


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("--help", "1"), ("list scales", "")],
)
def test_what_is_asked_for_and_cannot_be_printed_is_an_error(
    words: str, unbuffered: str, root: Path
) -> None:
    command = f"{sys.executable} -m replibo {words} >/dev/full"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("replibo: standard output: cannot be written (No space left")


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """The message of a stop is written to number 2, and would land in a journal."""
    lines = (
        "from replibo import messages",
        "messages.open_streams()",
        "assert open('x', 'w').fileno() > 2",
    )
    code = shlex.quote("; ".join(lines))
    subprocess.run(f"{sys.executable} -c {code} <&- >&- 2>&-", shell=True, check=True, cwd=tmp_path)


def test_estimate_counts_jobs_runs_and_queries(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["estimate", "go_ucb", "--scale", "paper", "--csv"]) == 0
    row = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("go_ucb,gp_ei,")
    )
    # 100 seeds in blocks of 25: 20 queries on each of 6 problems, 40 on `two_bumps`
    assert row.split(",")[2:5] == ["28", "700", "16000"]


def test_initial_points_from_a_file(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from replibo.run import traces

    path, output = tmp_path / "points.csv", tmp_path / "a.parquet"
    path.write_text("x\n-6.0\n0.25\n6.0\n")
    assert (
        cli.main([*RUN, "--seeds", "0", "--output", str(output), "--initial-points", str(path)])
        == 0
    )
    run = traces.read(output).to_pydict()
    assert [x[0] for x in run["x"][:3]] == pytest.approx([-6.0, 0.25, 6.0])
    assert run["phase"].count("initial") == 3
    capsys.readouterr()
    for text, line in (
        ("x\n-6.0\nhere\n", "points.csv, point 2: must be 1 numbers (x), got here"),
        ("x\n", "points.csv: must hold a header, then one point a row; got no point"),
        (
            "1\n2\n",
            "points.csv: must hold a header, then one point a row; got a first row of numbers (1)",
        ),
        ("x,y\n1\n", "points.csv, point 1: must be 2 numbers (x, y), got 1"),
        ('x\n"1\n', "points.csv: cannot be read (not CSV: unexpected end of data)"),
        (f"x\n{'1' * 200_000}\n", "points.csv: cannot be read (not CSV: field larger than"),
        ("x\nnan\n", "initial points: must lie between"),
        ("x,y\n1,2\n", "got shape (1, 2)"),
    ):
        path.write_text(text)
        status, error = said(
            capsys, *RUN, "--seeds", "0", "--output", str(output), "--initial-points", str(path)
        )
        assert status == 2 and line in error and error.count("\n") == 1


def test_compare_reads_all_runs_up_to_the_end_of_the_shorter(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    overlay = elsewhere / "longer.yaml"
    overlay.write_text(
        "variant: longer\ngo_ucb: {scales: {smoke: {problems: {f1: {horizon: 12}}}}}\n"
    )
    pair = ("f1", "random_search")
    for scale, more in (("smoke", []), ("smoke@longer", ["--config", str(overlay)])):
        config = load.load(overlays=[overlay] if more else [])
        for block in config.paper("go_ucb").blocks(scale, *pair):
            output = paths.block(scale, "go_ucb", *pair, block)
            run = ["run", "go_ucb", *pair, "--seeds", block, "--scale", "smoke", "--output", output]
            assert cli.main([*run, *more]) == 0
    compare = ["--scale", "smoke", "--config", str(overlay)]
    assert cli.main(["compare", "go_ucb", "go_ucb", *compare]) == 0  # each paper once
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Random search" in line]
    *_, base, variant, difference = (cell.strip() for cell in line.strip(" |").split("|"))
    assert base == variant and difference == "="  # the same points, and 12 rounds instead of 8
    assert said(capsys, "compare", "nope", *compare)[0] == 2


def test_runs_that_share_a_folder_do_not_share_journals(root: Path, tmp_path: Path) -> None:
    """A run killed in a folder keeps its journal when another run is made there."""
    from replibo.run.journal import Journal

    journal = tmp_path / "journal_go_ucb_f1_gp_ei_quick" / "seed_0.jsonl"
    Journal(journal, "of a killed run", 0).close()
    before = journal.read_bytes()
    assert cli.main([*RUN, "--seeds", "0", "--output", str(tmp_path / "a.parquet")]) == 0
    assert journal.read_bytes() == before


def test_what_the_system_refuses_is_one_line_with_the_file(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied", "published/go_ucb")

    monkeypatch.setattr(load, "load", refused)
    assert said(capsys, "claims") == (2, "replibo: published/go_ucb: Permission denied\n")


def test_that_all_claims_are_judged_anew_is_said_at_once(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "judge_all", lambda *given: [])
    told = "judging all claims anew from the published traces: about a minute\n"
    assert said(capsys, "claims") == (0, told)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("status", "go_ucb: type: there is no replibo.algorithms.go_ucb.GoUcbb"),
        ("estimate", "go_ucb.algorithms.go_ucb.type: must be"),
    ],
)
def test_a_class_that_is_not_there_is_one_line(
    command: str, line: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.yaml").write_text("go_ucb: {algorithms: {go_ucb: {type: go_ucb.GoUcbb}}}\n")
    status, error = said(capsys, command, "go_ucb", "--scale", "smoke", "--config", "mine.yaml")
    assert status == 2 and error.count("\n") == 1
    assert line in error


def test_a_place_is_no_setting(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.yaml").write_text("go_ucb: {algorithms: {random_search: {parameters: {space: 1}}}}\n")
    run = ("run", "go_ucb", "f1", "random_search", "--seeds", "0", "--output", "a.parquet")
    status, error = said(capsys, *run, "--scale", "smoke", "--config", "own.yaml")
    assert status == 2 and error.count("\n") == 1
    assert "go_ucb.algorithms.random_search.parameters.space: is unknown" in error
