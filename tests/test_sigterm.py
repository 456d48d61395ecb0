"""SIGTERM, which SLURM sends before it kills, and Ctrl-C: a run ends at once, and goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from replibo import cli, files
from replibo.run import traces

RUN = ("run", "go_ucb", "f1", "gp_ucb", "--seeds", "0", "--scale", "quick")
FOLDER = "journal_go_ucb_f1_gp_ucb_quick"
LINE = "replibo: stopped by {}; the same command goes on from here\n"


def digests(path: Path) -> dict[str, str]:
    found: dict[str, str] = traces.read_metadata(traces.read(path))["digests"]
    return found


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Look often, so that the moment is met."""
    while not what():
        assert process.poll() is None, "the process had ended before the moment"
        time.sleep(0.01)


def queries(folder: Path) -> int:
    """Queries in the journals (a journal's first line is its head)."""
    return sum(max(path.read_bytes().count(b"\n") - 1, 0) for path in folder.glob("*.jsonl"))


def without_progress(said: str) -> list[str]:
    """The lines of standard error but for those that a slow run reports every ten seconds."""
    return [line for line in said.splitlines(True) if not line.endswith("queries\n")]


def started(output: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "replibo", *(arguments or RUN), "--output", str(output)]
    # Ctrl-C may be ignored here (a shell's ``command &``), and a child would hand that on.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of the run that nothing stopped."""
    output = tmp_path_factory.mktemp("whole") / "a.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[1])
        assert cli.main([*RUN, "--output", str(output)]) == 0
    return digests(output)


@pytest.mark.parametrize(
    ("number", "status", "moments"),
    # 0: while modules are imported; else the number of queries made, of 20, of which 15 are searched for
    [(signal.SIGTERM, 143, (0, 1, 16)), (signal.SIGINT, 130, (16,))],
    ids=["SIGTERM", "SIGINT"],
)
def test_a_run_stopped_at_several_moments(
    number: signal.Signals,
    status: int,
    moments: tuple[int, ...],
    root: Path,
    tmp_path: Path,
    expected: dict[str, str],
) -> None:
    output, folder = tmp_path / "a.parquet", tmp_path / FOLDER
    kept = 0

    def has_come(process: subprocess.Popen[str], moment: int) -> bool:
        if moment:
            return queries(folder) >= moment
        return "numpy" in Path(f"/proc/{process.pid}/maps").read_text()

    for moment in moments:
        process = started(output)
        wait_for(lambda: has_come(process, moment), process)  # noqa: B023
        process.send_signal(number)
        _, error = process.communicate()
        assert process.returncode == status
        assert without_progress(error) == [LINE.format(number.name)]
        # the journals, and nothing half-written
        assert {path.name for path in tmp_path.iterdir()} <= {FOLDER}
        assert queries(folder) >= kept  # no query is lost
        kept = queries(folder)
    assert 16 <= kept < 20
    assert cli.main([*RUN, "--output", str(output)]) == 0
    assert digests(output) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_query_in_flight_is_abandoned_even_where_exceptions_are_swallowed(
    root: Path, tmp_path: Path, expected: dict[str, str]
) -> None:
    """A library may catch what a handler raises and go on with half a computation: the query must not
    come into the journal."""
    code = (
        "import os, signal, sys, time\n"
        "from replibo import cli\n"
        "from replibo.algorithms.scikit_optimize import ScikitOptimize as Algorithm\n"
        "ask = Algorithm.ask\n"
        "def stopped(self, history, t):\n"
        "    if len(history) == 8:\n"
        "        try:\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "            time.sleep(100)\n"
        "        except BaseException:\n"
        "            pass\n"
        "    return ask(self, history, t)\n"
        "Algorithm.ask = stopped\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    output = tmp_path / "a.parquet"
    done = subprocess.run(
        [sys.executable, "-c", code, *RUN, "--output", str(output)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, without_progress(done.stderr)) == (143, [LINE.format("SIGTERM")])
    assert queries(tmp_path / FOLDER) == 8 and not output.exists()
    assert cli.main([*RUN, "--output", str(output)]) == 0
    assert digests(output) == expected


def test_a_stop_while_the_output_is_written_leaves_no_half_file(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "a.parquet"
    sealed = traces.sealed

    def half(content: object) -> bytes:
        os.kill(os.getpid(), signal.SIGTERM)
        return b"PAR1 half"

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(traces, "sealed", half)
    assert cli.main([*RUN, "--output", str(output)]) == 143
    assert capsys.readouterr().err.endswith(LINE.format("SIGTERM"))
    assert {path.name for path in tmp_path.iterdir()} == {FOLDER}
    assert queries(tmp_path / FOLDER) == 20
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    monkeypatch.setattr(traces, "sealed", sealed)
    assert cli.main([*RUN, "--output", str(output)]) == 0
    assert digests(output) == expected


@pytest.mark.parametrize("name", ["figure", "collect"])
def test_the_other_commands_end_as_well(
    name: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def half(options: object) -> None:
        with files.written_whole(tmp_path / "a") as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(cli, {"figure": "_output"}.get(name, f"_{name}"), half)
    arguments = {
        "figure": ["figure", "go_ucb", "figure_1", "--output", str(tmp_path / "a.png")],
        "collect": ["collect", "go_ucb", "f1", "go_ucb", "--output", str(tmp_path / "a.parquet")],
    }[name]
    assert cli.main([*arguments, "--scale", "quick"]) == 143
    assert capsys.readouterr().err == LINE.format("SIGTERM")
    assert list(tmp_path.iterdir()) == []


def test_sigterm_to_a_job_of_snakemake(
    root: Path, tmp_path: Path, expected: dict[str, str]
) -> None:
    import psutil

    for part in ("Snakefile", "workflow", "profiles", "config", "envs", "published"):
        (tmp_path / part).symlink_to(root / part)
    target = "results/quick/go_ucb/f1/gp_ucb/seeds_0.parquet"
    folder = tmp_path / Path(target).parent / FOLDER
    command = [sys.executable, "-m", "snakemake", "--cores", "1", target]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REPLIBO_")}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(lambda: queries(folder) >= 8, process)
    jobs = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "run" in child.cmdline() and "gp_ucb" in child.cmdline()
    ]
    assert len(jobs) == 1
    jobs[0].send_signal(signal.SIGTERM)
    said, _ = process.communicate()
    assert process.returncode != 0
    assert LINE.format("SIGTERM").strip() in said  # the log of the failed job
    assert not (tmp_path / target).exists() and queries(folder) >= 8
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert digests(tmp_path / target) == expected
    assert not folder.exists()
