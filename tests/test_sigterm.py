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

from replibo import cli, stopping
from replibo.run import traces

from .conftest import digests

RUN = ("run", "go_ucb", "f1", "random_search", "--seeds", "0", "--scale", "quick")
FOLDER = "journal_go_ucb_f1_random_search_quick"
LINE = "replibo: stopped by {}; the same command goes on from here\n"


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


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of the run that nothing stopped."""
    output = tmp_path_factory.mktemp("whole") / "a.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[1])
        assert cli.main([*RUN, "--output", str(output)]) == 0
    return digests(output)


def test_a_run_stopped_while_modules_are_imported(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "replibo", *RUN, "--output", str(tmp_path / "a.parquet")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: "numpy" in Path(f"/proc/{process.pid}/maps").read_text(), process)
    process.send_signal(signal.SIGTERM)
    assert process.communicate()[1] == LINE.format("SIGTERM")
    assert process.returncode == 143 and not list(tmp_path.iterdir())


def test_a_query_in_flight_is_abandoned_even_where_exceptions_are_swallowed(
    root: Path, tmp_path: Path, expected: dict[str, str]
) -> None:
    """A library may catch what a handler raises and go on with half a computation: the query must not
    come into the journal."""
    code = (
        "import os, signal, sys, time\n"
        "from replibo import cli\n"
        "from replibo.algorithms.random_search import RandomSearch as Algorithm\n"
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
        [sys.executable, "-c", code, *RUN, "--output", str(output)], capture_output=True, text=True
    )
    assert (done.returncode, without_progress(done.stderr)) == (143, [LINE.format("SIGTERM")])
    assert queries(tmp_path / FOLDER) == 8 and not output.exists()
    assert cli.main([*RUN, "--output", str(output)]) == 0
    assert digests(output) == expected


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_while_the_output_is_written_leaves_no_half_file(
    number: signal.Signals,
    status: int,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "a.parquet"
    sealed = traces.sealed

    def half(content: object) -> bytes:
        os.kill(os.getpid(), number)
        return b"PAR1 half"

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(traces, "sealed", half)
    assert cli.main([*RUN, "--output", str(output)]) == status
    assert capsys.readouterr().err.endswith(LINE.format(number.name))
    assert {path.name for path in tmp_path.iterdir()} == {FOLDER}
    assert queries(tmp_path / FOLDER) == 20
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    monkeypatch.setattr(traces, "sealed", sealed)
    assert cli.main([*RUN, "--output", str(output)]) == 0
    assert digests(output) == expected


def test_a_stop_while_a_class_is_made_is_one() -> None:
    """Python 3.11 raises a RuntimeError in its place."""

    class Named:
        def __set_name__(self, owner: type, name: str) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

    with pytest.raises(stopping.Stopped), stopping.on_signals(stopping.unwind):
        type("Owner", (), {"a": Named()})


def test_a_stop_is_not_lost_in_a_destructor() -> None:
    class Destroyed:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

    with pytest.raises(stopping.Stopped), stopping.on_signals(stopping.unwind):
        Destroyed()
        time.sleep(10)
