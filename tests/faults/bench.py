"""The bench on which faults are injected: a small config, and commands as children of a warm process.

A command is run in a child that is forked from this process, which has imported all it needs and has
computed nothing (libraries' threads do not survive a fork). So a command costs milliseconds, and may be
killed, limited and fed with anything. Everything is written below one temporary folder.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot  # noqa: E402
import pandas  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402
import scipy.stats  # noqa: E402
import tabulate  # noqa: E402
import yaml  # noqa: E402

from replibo import cli, paths  # noqa: E402
from replibo.config import load  # noqa: E402
from replibo.papers import go_ucb  # noqa: E402
from replibo.results import merge, plotting, publish, runs, tables  # noqa: E402
from replibo.run import block, build, collect, identity, loop, traces  # noqa: E402
from replibo.workflow import listing, outputs  # noqa: E402
from replibo.workflow.estimate import report  # noqa: E402

IMPORTED = (
    matplotlib.pyplot,
    pandas,
    pyarrow.compute,
    pyarrow.parquet,
    scipy.stats,
    tabulate,
    tables,
)
IMPORTED += (
    merge,
    publish,
    runs,
    block,
    build,
    collect,
    identity,
    loop,
    go_ucb,
    plotting,
    outputs,
    report,
    listing,
)

ROOT = Path(__file__).parents[2]
PAPER, PROBLEM, SCALE = "go_ucb", "f1", "smoke"
ALGORITHMS = ("go_ucb", "exploration_first", "random_search")
BLOCKS = ("0-1", "2-3")
QUERIES = 12
HANGS = 300.0  # seconds, after which a command is taken to hang


def small_config(folder: Path) -> None:
    """One paper with one problem and three algorithms that compute with NumPy alone."""
    raw = load.read(ROOT / "config")
    paper = raw[PAPER]
    paper["problems"] = {PROBLEM: paper["problems"][PROBLEM]}
    paper["algorithms"] = {name: paper["algorithms"][name] for name in ALGORITHMS}
    for entry in paper["algorithms"].values():
        entry["seeds_per_job"] = 2
        if "gradient_steps" in entry.get("parameters", {}):
            entry["parameters"] = {**entry["parameters"], "gradient_steps": 50, "grid_points": 101}
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
    """What a command did: its exit status (negative: the signal that ended it) and what it said."""

    status: int
    said: str

    def faults(self) -> list[str]:
        """What it said of faults, without progress and what was found in journals."""
        return [
            text
            for text in self.said.splitlines()
            if not text.endswith(" queries") and ": damaged; the " not in text
        ]


class FaultError(AssertionError):
    """A fault that was not survived."""


@dataclass
class Case:
    """One fault: a folder of its own with the config, a source of chance, and the undisturbed digests."""

    folder: Path
    rng: random.Random
    material: Path
    """A folder with the config, and undisturbed runs, collected and published."""
    expected: Mapping[str, Any]
    """By file: seed → digest."""
    seconds: float
    """How long an undisturbed run takes."""
    children: list[Child] = field(default_factory=list)

    def take(self, *names: str) -> list[Path]:
        """Copies of files or folders of the undisturbed material."""
        for name in names:
            source, target = self.material / name, self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copyfile(source, target)
        return [self.folder / name for name in names]

    def start(self, *arguments: str, prepare: Callable[[], object] | None = None) -> Child:
        """Start a command in the case's folder; ``prepare`` is called in its process."""
        child = Child(self.folder, lambda: cli.main(arguments), prepare)
        self.children.append(child)
        return child

    def anew(
        self, *arguments: str, prepare: Callable[[], object] | None = None, **environment: str
    ) -> Outcome:
        """Run a command to its end in a new Python, which reads its environment."""
        command = [sys.executable, "-m", "replibo", *arguments]
        variables = {**os.environ, "TMPDIR": str(self.folder), **environment}
        child = Child(self.folder, lambda: os.execve(sys.executable, command, variables), prepare)
        self.children.append(child)
        return child.outcome()

    def do(self, *arguments: str, prepare: Callable[[], object] | None = None) -> Outcome:
        """Run a command to its end."""
        return self.start(*arguments, prepare=prepare).outcome()

    def work(self, function: Callable[[], Any]) -> Any:
        """What a function returns (JSON) when it is called in a process of its own."""
        outcome = Child(self.folder, lambda: print(json.dumps(function())), None).outcome()
        if outcome.status != 0:
            raise RuntimeError(outcome.said)
        return json.loads(outcome.said.splitlines()[-1])

    def run(self, algorithm: str, block: str, **options: Any) -> Outcome:
        """`replibo run` of a block, to its place among the results."""
        return self.do(*self.run_arguments(algorithm, block), **options)

    def run_arguments(self, algorithm: str, block: str) -> list[str]:
        output = paths.block(SCALE, PAPER, PROBLEM, algorithm, block)
        names = [PAPER, PROBLEM, algorithm, "--seeds", block, "--scale", SCALE]
        return ["run", *names, "--output", output]

    def collect_arguments(self, algorithm: str) -> list[str]:
        output = paths.collected(SCALE, PAPER, PROBLEM, algorithm)
        return ["collect", PAPER, PROBLEM, algorithm, "--scale", SCALE, "--output", output]

    def must_be_refused(self, outcome: Outcome, *names: str, lines: int | None = 1) -> None:
        """Check that a command ended with status 2, and said why in a line that names the place."""
        said = outcome.faults()
        if outcome.status != 2:
            raise FaultError(f"status {outcome.status}, not 2: {outcome.said[-500:]}")
        if any(not text.startswith("replibo: ") for text in said) or not said:
            raise FaultError(f"not said in a line: {outcome.said[-500:]}")
        if lines is not None and len(said) != lines:
            raise FaultError(f"{len(said)} lines, not {lines}: {outcome.said[-500:]}")
        if not any(name in text for name in names or [""] for text in said):
            raise FaultError(f"does not name {' or '.join(names)}: {said}")

    def must_be_done(self, outcome: Outcome) -> None:
        """Check that a command ended well, and said nothing of faults."""
        if outcome.status != 0 or outcome.faults():
            raise FaultError(f"status {outcome.status}, not 0: {outcome.said[-500:]}")

    def must_be_undisturbed(self, algorithm: str, block: str) -> None:
        """Check that the run's file holds the undisturbed trace, by digests computed from its columns,
        and that no journal and no temporary file is left."""
        name = paths.block(SCALE, PAPER, PROBLEM, algorithm, block)
        found = self.work(lambda: digests(self.folder / name))
        if found != self.expected[name]:
            raise FaultError(f"{name}: {found} is not the undisturbed {self.expected[name]}")
        left = [path.name for path in (self.folder / name).parent.iterdir()]
        if any(not text.endswith(".parquet") for text in left):
            raise FaultError(f"left behind: {left}")

    def must_be_rerun(self, algorithm: str, block: str) -> None:
        """Check that the same command, once more, gives the undisturbed trace."""
        self.must_be_done(self.run(algorithm, block))
        self.must_be_undisturbed(algorithm, block)


def digests(path: Path) -> dict[str, str]:
    """The digests of a run's own file, from its columns."""
    return {str(seed): digest for seed, _, digest in traces.digests(traces.read(path))}


class Child:
    """A forked process that calls a function, with its output in a pipe."""

    def __init__(
        self, folder: Path, function: Callable[[], Any], prepare: Callable[[], object] | None
    ) -> None:
        self._said, output = os.pipe()
        self._text = b""
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._said)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout = open(1, "w", buffering=1)  # noqa: SIM115
            sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            status = 1
            try:
                os.chdir(folder)
                if prepare:
                    prepare()
                status = function() or 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.close(output)

    def wait(self, seconds: float) -> bool:
        """Read what it says for some seconds; whether it has ended."""
        end = time.monotonic() + seconds
        while self._status is None:
            left = max(end - time.monotonic(), 0)
            if select.select([self._said], [], [], left)[0]:
                text = os.read(self._said, 65536)
                if not text:
                    self._end()
                self._text += text
            elif left == 0:
                return False
        return True

    @property
    def running(self) -> bool:
        return self._status is None

    def _end(self) -> None:
        os.close(self._said)
        self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs still."""
        if self._status is None:
            os.kill(self.pid, number)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        if not self.wait(HANGS):
            self.send(signal.SIGKILL)
            self.wait(HANGS)
            raise FaultError(f"hangs: {self._text.decode(errors='replace')[-500:]}")
        assert self._status is not None
        return Outcome(self._status, self._text.decode(errors="replace"))


def limit_files(most: int) -> None:
    """No file of this process may have more bytes: a write ends as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def obey_permissions() -> None:
    """Take from a process of root the right to read and write whatever the permissions say."""
    libc = ctypes.CDLL(None, use_errno=True)
    head, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(head, data) == 0:
        for kind in range(3):  # effective, permitted, inheritable
            data[kind] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        if libc.capset(head, data):
            raise OSError(ctypes.get_errno(), "capset")


def prepared(folder: Path) -> tuple[dict[str, Any], float]:
    """Make the undisturbed material in ``folder``; its digests, and how long a run takes."""
    small_config(folder / "config")
    # What every command computes anew, and what stays the same: the children find it done.
    config = load.load(folder / "config")
    for algorithm in ALGORITHMS:
        identity.run_identity(config.paper(PAPER), SCALE, PROBLEM, algorithm)
        loop.run_block(build.experiment(config, PAPER, SCALE, PROBLEM, algorithm), [0])
    identity.library_versions()
    case = Case(folder, random.Random(0), folder, {}, 0.0)
    expected, seconds = {}, []
    for algorithm in ALGORITHMS:
        for seeds in BLOCKS:
            start = time.monotonic()
            case.must_be_done(case.run(algorithm, seeds))
            seconds.append(time.monotonic() - start)
            name = paths.block(SCALE, PAPER, PROBLEM, algorithm, seeds)
            expected[name] = case.work(lambda name=name: digests(folder / name))
        case.must_be_done(case.do(*case.collect_arguments(algorithm)))
    case.work(lambda: _publish(folder))
    return expected, sorted(seconds)[len(seconds) // 2]


def _publish(folder: Path) -> None:
    merge.publish(load.load(folder / "config"), PAPER, SCALE, replace=False)


def limit_memory(more: int = 2**31) -> None:
    """At most so many bytes more than now (2 GiB): what would take all memory ends with an error."""
    for text in Path("/proc/self/status").read_text().splitlines():
        if text.startswith("VmSize:"):
            most = int(text.split()[1]) * 2**10 + more
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
