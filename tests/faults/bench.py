"""The bench of the fault model: a small config, undisturbed results, and commands in forked processes.

A command is a fork of this process, which has imported all modules and has computed nothing (threads of
libraries do not survive a fork). So a command costs milliseconds, and can be killed and limited at will.
"""

from __future__ import annotations

import ctypes
import fcntl
import multiprocessing
import os
import resource
import shutil
import signal
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import yaml  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from replibo import cli, paths  # noqa: E402
from replibo.config import load  # noqa: E402
from replibo.run import build, commit, identity, loop, traces  # noqa: E402

ROOT = Path(__file__).parents[2]
PAPER, PROBLEM, SCALE = "go_ucb", "f1", "smoke"
ALGORITHMS = ("go_ucb", "exploration_first", "random_search")
BLOCKS = ("0-1", "2-3")
QUERIES = 12
SECONDS = 300.0  # after which a command is taken to hang
FORK = multiprocessing.get_context("fork")
Prepare = Callable[[], object]


def small_config(folder: Path) -> None:
    """One paper with one problem and three algorithms that compute with NumPy alone."""
    raw = load.read(ROOT / "config")
    paper = raw[PAPER]
    paper["problems"] = {PROBLEM: paper["problems"][PROBLEM]}
    paper["algorithms"] = {name: paper["algorithms"][name] for name in ALGORITHMS}
    for entry in paper["algorithms"].values():
        entry["seeds_per_job"] = 2
        if "gradient_steps" in entry.get("parameters", {}):
            entry["parameters"] |= {"gradient_steps": 50, "grid_points": 101}
    settings = {"horizon": QUERIES, "seeds": "0-3", "seeds_per_job": 2, "algorithms": [*ALGORITHMS]}
    paper["defaults"] |= settings
    paper["scales"] = {"paper": {}, "quick": {}, SCALE: {}}
    paper["figures"] = {"figure": {**paper["figures"]["figure_1_all"], "problems": [PROBLEM]}}
    table = {**paper["tables"]["final_regret"], "problems": [PROBLEM], "algorithms": [*ALGORITHMS]}
    paper["tables"] = {"table": table}
    folder.mkdir()
    (folder / f"{PAPER}.yaml").write_text(yaml.safe_dump({PAPER: paper}))
    others = {key: raw[key] for key in ("data_dir", "memory_mb", "runtime_minutes") if key in raw}
    (folder / "config.yaml").write_text(yaml.safe_dump({"papers": [PAPER], **others}))


@dataclass
class Outcome:
    """The exit status of a command (negative: the signal that ended it), and its messages."""

    status: int
    text: str

    def errors(self) -> list[str]:
        """The messages without progress, and without the lines on damaged journals."""
        lines = self.text.splitlines()
        return [x for x in lines if not x.endswith(" queries") and ": damaged; the " not in x]


class Child:
    """A forked process that calls a function in a folder; its messages go to a pipe of 1 MiB."""

    def __init__(self, folder: Path, function: Callable[[], Any], prepare: Prepare | None) -> None:
        self.messages, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 2**20)
        os.set_blocking(self.messages, False)
        self.process = FORK.Process(target=self._call, args=(writing, folder, function, prepare))
        self.process.start()
        os.close(writing)

    def _call(
        self, writing: int, folder: Path, function: Callable[[], Any], prepare: Prepare | None
    ) -> None:
        os.dup2(writing, 1), os.dup2(writing, 2), os.close(writing), os.close(self.messages)
        sys.stdout = open(1, "w", buffering=1)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.chdir(folder)
        if prepare:
            prepare()
        raise SystemExit(function() or 0)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        os.close(self.messages)

    def outcome(self) -> Outcome:
        """What the process did, after its end."""
        self.process.join(SECONDS)
        hangs = self.process.is_alive()
        self.process.kill()
        self.process.join()
        text = os.read(self.messages, 2**20).decode(errors="replace")
        assert not hangs, f"hangs: {text[-500:]}"
        return Outcome(self.process.exitcode, text)


@dataclass
class Case:
    """One fault: a folder with the config, a source of choices, and the undisturbed results."""

    folder: Path
    draw: Callable[[Any], Any]
    material: Path
    undisturbed: Mapping[str, Any]
    seconds: float
    children: list[Child] = field(default_factory=list)

    def choice(self, values: Any) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def integer(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def place(self, length: int) -> int:
        """A place in a file, whose length may depend on how long a run took."""
        return int(self.draw(st.floats(0, 1, exclude_max=True)) * length)

    def take(self, *names: str) -> None:
        """Copy files or folders of the undisturbed material."""
        for name in names:
            source, target = self.material / name, self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)

    def block(self) -> tuple[str, str]:
        """A path of a block, and its algorithm."""
        algorithm = self.choice(ALGORITHMS)
        return paths.block(SCALE, PAPER, PROBLEM, algorithm, self.choice(BLOCKS)), algorithm

    def child(self, function: Callable[[], Any], prepare: Prepare | None = None) -> Child:
        child = Child(self.folder, function, prepare)
        self.children.append(child)
        return child

    def do(self, words: list[str], prepare: Prepare | None = None) -> Outcome:
        """Run a command to its end."""
        return self.child(lambda: cli.main(words), prepare).outcome()

    def anew(self, words: list[str], variables: Mapping[str, str]) -> Outcome:
        """Run a command to its end in a new Python, which reads its environment."""
        command = [sys.executable, "-m", "replibo", *words]
        environment = {**os.environ, "TMPDIR": str(self.folder), **variables}
        return self.child(lambda: os.execve(sys.executable, command, environment)).outcome()

    def must_be_refused(self, outcome: Outcome, *names: str, lines: bool = False) -> None:
        """Check that a command ended with status 2, and said why in a line that has one of the names."""
        errors, text = outcome.errors(), outcome.text[-700:]
        assert outcome.status == 2, f"status {outcome.status}, not 2: {text}"
        assert errors and all(x.startswith("replibo: ") for x in errors), (
            f"not said in a line: {text}"
        )
        assert lines or len(errors) == 1, f"{len(errors)} lines, not 1: {text}"
        named = any(name in x for name in names or [""] for x in errors)
        assert named, f"does not name {' or '.join(names)}: {errors}"

    def must_be_done(self, outcome: Outcome, output: str, *, strict: bool = True) -> None:
        """Check that a command ended well, and that its output is the undisturbed one."""
        right = outcome.status == 0 and not (strict and outcome.errors())
        assert right, f"status {outcome.status}, not 0: {outcome.text[-700:]}"
        same = result(self.folder / output) == self.undisturbed[output]
        assert same, f"{output} is not the undisturbed one"
        names = [path.name for path in (self.folder / output).parent.iterdir()]
        left = [name for name in names if name.startswith((".", "journal_"))]
        assert not left, f"left behind: {left}"

    def must_be_run(self, output: str) -> None:
        """Check that the command of an output, without a fault, gives the undisturbed one."""
        self.must_be_done(self.do(command(output)), output, strict=output != PUBLISHED)


TABLE, FIGURE, PUBLISHED = "out/a.csv", "out/a.pdf", f"published/{PAPER}"


def collected(algorithm: str) -> str:
    """The file of all runs of an algorithm."""
    return paths.collected(SCALE, PAPER, PROBLEM, algorithm)


def command(output: str, scale: str = SCALE) -> list[str]:
    """The command that makes an output of the bench."""
    path, options = Path(output), ["--scale", scale, "--output", output]
    if output in (TABLE, FIGURE):
        name = "table" if output == TABLE else "figure"
        return [name, PAPER, name, *options]
    if output == PUBLISHED:
        return ["publish", PAPER, "--scale", SCALE, "--replace"]
    pair = [PAPER, PROBLEM, path.parent.name]
    if path.stem == "runs":
        return ["collect", *pair, *options]
    return ["run", *pair, "--seeds", path.stem.removeprefix("seeds_"), *options]


def result(path: Path) -> Any:
    """What is compared of an output: the digests of a trace's columns, the bytes of other files."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.rglob("*.parquet")}
    if path.name == "runs.parquet":
        return traces.read(path).select(["seed", "y", "f"]).to_pydict()
    if path.suffix == ".parquet":
        return {seed: digest for seed, _, digest in traces.digests(traces.read(path))}
    return path.read_bytes()


def prepared(folder: Path) -> tuple[dict[str, Any], float]:
    """Make the undisturbed results in ``folder``; they, and how many seconds a run takes."""
    small_config(folder / "config")
    commit.described = lambda: "0" * 40  # `publish` refuses runs of a checkout that is being edited
    # What every command would compute again: the forks find it done.
    config = load.load(folder / "config")
    for algorithm in ALGORITHMS:
        identity.run_identity(config.paper(PAPER), SCALE, PROBLEM, algorithm)
        loop.run_block(build.experiment(config, PAPER, SCALE, PROBLEM, algorithm), [0])
    identity.library_versions()
    case, seconds = Case(folder, lambda _: None, folder, {}, 0.0), []
    pairs = [collected(name) for name in ALGORITHMS]
    blocks = [paths.block(SCALE, PAPER, PROBLEM, a, seeds) for a in ALGORITHMS for seeds in BLOCKS]
    outputs = [*blocks, *pairs, PUBLISHED, TABLE, FIGURE]
    for output in outputs:
        start = time.monotonic()
        if (outcome := case.do(command(output))).status:
            raise RuntimeError(outcome.text)
        seconds.append(time.monotonic() - start)
    return {x: result(folder / x) for x in outputs}, statistics.median(seconds[: len(blocks)])


def limit_files(most: int) -> None:
    """No file of this process can have more bytes: a write ends as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def limit_memory() -> None:
    """At most 2 GiB more than now."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**31,) * 2)


def obey_permissions() -> None:
    """Take from a process of root the right to read and write whatever the permissions say."""
    libc = ctypes.CDLL(None, use_errno=True)
    head, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(head, data) == 0:
        for kind in range(3):  # effective, permitted, inheritable
            data[kind] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        if libc.capset(head, data):
            raise OSError(ctypes.get_errno(), "capset")
