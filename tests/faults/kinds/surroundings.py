"""What surrounds a command: variables, standard streams, permissions, names, limits, clocks."""

from __future__ import annotations

import itertools
import os
import resource
import stat
import time
from collections.abc import Callable

import bench
from bench import PAPER, SCALE, Case, FaultError, Outcome

from kinds.base import drawn, kind, output_of, with_journals

NONSENSE = {
    "OMP_NUM_THREADS": ("abc", "0", "-1", "64", "9" * 40),
    "OPENBLAS_NUM_THREADS": ("abc", "0", "64"),
    "MKL_NUM_THREADS": ("abc", "64"),
    "LC_ALL": ("C", "POSIX", "nowhere", "de_DE.ISO-8859-1"),
    "PYTHONIOENCODING": ("ascii", "latin-1"),
    "TZ": ("nowhere", ""),
    "TMPDIR": ("/nowhere", "/proc", ""),
    "HOME": ("/nowhere", ""),
    "XDG_CACHE_HOME": ("/nowhere", "/proc"),
    "MPLCONFIGDIR": ("/nowhere", "/proc"),
    "MPLBACKEND": ("nonsense", "agg"),
    "PYTHONHASHSEED": ("0", "7"),
    "COLUMNS": ("abc", "1", "-5"),
    "TERM": ("", "nonsense"),
    "PATH": ("", "/nowhere"),
    "GIT_DIR": ("/nowhere",),
    "REPLIBO_DATA_MIRROR": ("nonsense", "ftp://a", "\n"),
    "REPLIBO_SURPRISE": ("1",),
}
"""Variables that a command must not stumble over."""


def must_be_said(outcome: Outcome) -> None:
    if outcome.status != 0 or "Traceback" in outcome.said or "Exception" in outcome.said:
        raise FaultError(f"status {outcome.status}, not 0: {outcome.said[-500:]}")


@kind("surroundings: variables that say nonsense", 1)
def _(case: Case) -> None:
    rng = case.rng
    names = rng.sample(sorted(NONSENSE), rng.randint(1, 5))
    environment = {name: rng.choice(NONSENSE[name]) for name in names}
    algorithm, block = drawn(case)
    match rng.randrange(3):
        case 0:
            must_be_said(case.anew(*case.run_arguments(algorithm, block), **environment))
            case.must_be_undisturbed(algorithm, block)
        case 1:
            case.take("results")
            command = rng.choice(["table", "figure"])
            output = "out/a.md" if command == "table" else "out/a.png"
            arguments = [command, PAPER, command, "--scale", SCALE, "--output", output]
            must_be_said(case.anew(*arguments, **environment))
            if not (case.folder / output).stat().st_size:
                raise FaultError("nothing was made")
        case _:
            must_be_said(case.anew("list", "algorithms", **environment))


@kind("surroundings: REPLIBO_CONFIG names nothing of use", 2)
def _(case: Case) -> None:
    named = case.rng.choice(["nowhere.yaml", ".", "/dev/null", "bad.yaml", "x" * 300, "\udcff"])
    (case.folder / "bad.yaml").write_bytes(
        case.rng.choice([b"\xff", b"[", b"nope: 1", b"- a", b"\0"])
    )
    algorithm, block = drawn(case)
    outcome = case.run(algorithm, block, prepare=lambda: os.environ.update(REPLIBO_CONFIG=named))
    case.must_be_refused(outcome, named.strip(), "config: nope: unknown key", "\\udcff")
    case.must_be_rerun(algorithm, block)


def closed(number: int) -> Callable[[], object]:
    return lambda: os.close(number)


def full(number: int) -> Callable[[], object]:
    return lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), number)


def gone(number: int) -> Callable[[], None]:
    """Its reader has gone, as that of ``| head``."""

    def prepare() -> None:
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, number)

    return prepare


@kind("surroundings: standard streams closed, full, or without a reader", 1.5)
def _(case: Case) -> None:
    rng = case.rng
    number, how = rng.randrange(3), rng.choice([closed, full, gone])
    algorithm, block = drawn(case)
    if rng.random() < 0.4:
        arguments = case.run_arguments(algorithm, block)
        case.must_be_done(case.anew(*arguments, prepare=how(number)))
        case.must_be_undisturbed(algorithm, block)
        return
    arguments = rng.choice(
        [["list"], ["list", "papers"], ["--help"], ["run", "--help"], ["--version"]]
    )
    outcome = case.anew(*arguments, prepare=how(number))
    if (number, how) == (1, full):
        case.must_be_refused(outcome, "standard output: cannot be written (No space left")
    else:
        must_be_said(outcome)


@kind("surroundings: files and folders without permission", 3)
def _(case: Case) -> None:
    rng = case.rng
    algorithm, block = drawn(case)
    arguments = case.run_arguments(algorithm, block)
    output = output_of(case, algorithm, block)
    what = rng.choice(["folder", "output", "journal", "journals", "config", "runs", "out"])
    match what:
        case "folder":
            output.parent.mkdir(parents=True)
            path, mode = output.parent, 0o555
        case "output":  # a file that may not be written is replaced, as by mv -f
            output.parent.mkdir(parents=True)
            output.write_bytes(b"")
            path, mode = output.parent, rng.choice([0o000, 0o444])
        case "journal":
            path, mode = with_journals(case, algorithm, block)[0], rng.choice([0o000, 0o444])
        case "journals":
            path, mode = with_journals(case, algorithm, block)[0].parent, rng.choice([0o000, 0o444])
        case "config":
            name = rng.choice([f"{PAPER}.yaml", "config.yaml", ""])
            path, mode = case.folder / "config" / name, 0o000
        case "runs":
            case.take("results")
            path, mode = output, 0o000
            arguments = case.collect_arguments(algorithm)
        case "out":
            case.take("results")
            path, mode = case.folder / "out", 0o555
            path.mkdir()
            arguments = ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"]
    before = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    outcome = case.do(*arguments, prepare=bench.obey_permissions)
    path.chmod(before)
    case.must_be_refused(outcome, str(path.relative_to(case.folder)))
    if arguments[0] == "run":
        case.must_be_rerun(algorithm, block)
    else:
        case.must_be_done(case.do(*arguments))


@kind("outputs: folders that are missing or odd, names that are long or strange", 3)
def _(case: Case) -> None:
    rng = case.rng
    algorithm, block = drawn(case)
    good = rng.choice(["a/b/c/d.parquet", "ü b/ε 数.parquet", "./-x/'\".parquet",
                       "./././a.parquet", "\udcff/a.parquet", "a/../b.parquet", "x" * 240 + ".parquet"])  # fmt: skip
    bad = rng.choice(["x" * 250 + ".parquet", "x/" * 2100 + "a", "file/a.parquet", "loop/a.parquet",
                      "dangling/a", "", ".", "..", "/", "/proc/a.parquet", "config", "pipe/a", "a\nb.parquet"])  # fmt: skip
    (case.folder / "file").write_bytes(b"here")
    (case.folder / "loop").symlink_to("loop")
    (case.folder / "dangling").symlink_to("nowhere")
    os.mkfifo(case.folder / "pipe")
    arguments = case.run_arguments(algorithm, block)[:-1]
    case.must_be_refused(case.do(*arguments, bad), bad.rstrip("/")[:100], "no line break")
    case.must_be_done(case.do(*arguments, good))
    name = str(output_of(case, algorithm, block).relative_to(case.folder))
    if case.work(lambda: bench.digests(case.folder / good)) != case.expected[name]:
        raise FaultError(f"{good}: not the undisturbed trace")
    if any(path.is_dir() for path in (case.folder / good).parent.glob("journal_*")):
        raise FaultError("a journal was left")


@kind("surroundings: few open files, little memory", 3)
def _(case: Case) -> None:
    rng = case.rng
    algorithm, block = drawn(case)
    most = len(os.listdir("/proc/self/fd")) + rng.randrange(12)
    memory = rng.randrange(80 * 2**20)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    limit = rng.choice([few, lambda: bench.limit_memory(memory)])
    outcome = case.run(algorithm, block, prepare=limit)
    if outcome.status != 0:
        case.must_be_refused(outcome, "Too many open files", "not enough memory")
    case.must_be_rerun(algorithm, block)


@kind("surroundings: clocks that jump", 1)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    seed = case.rng.randrange(2**31)

    def jump() -> None:
        rng = bench.random.Random(seed)
        time.time = lambda: rng.choice([0.0, -1e9, 1e9, 4e9, rng.uniform(0, 1e5)])
        steady = itertools.accumulate(iter(lambda: rng.choice([0.0, 1e-9, 1e3, 1e6]), None))
        for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
            setattr(time, name, lambda: next(steady))  # these never go back

    case.must_be_done(case.run(algorithm, block, prepare=jump))
    case.must_be_undisturbed(algorithm, block)
