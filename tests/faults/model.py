"""The model of faults: each kind draws a fault, a moment and a target with Hypothesis, and injects it.

In all kinds the command says in one line what is wrong (status 2), or its output is the undisturbed one.
Without the fault, the same command gives the undisturbed output. Faults that one module meets alone have
tests of that module: data files and their servers, the lines of a config, single reads and writes.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import stat
import string
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import bench
import yaml
from bench import FIGURE, PAPER, PUBLISHED, SCALE, TABLE, Case, command
from hypothesis import strategies as st

from replibo import paths
from replibo.run import loop, traces

KINDS: dict[str, tuple[int, Callable[[Case], None]]] = {}
"""By name: the share of all faults, and the function that injects one."""


def kind(name: str, share: int) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def register(function: Callable[[Case], None]) -> Callable[[Case], None]:
        KINDS[name] = share, function
        return function

    return register


# Damage to a file


def damage(case: Case, path: Path) -> None:
    """Flip a byte of a file, cut it, or write garbage."""
    content = bytearray(path.read_bytes())
    match case.choice(["flip", "cut", "garbage"]):
        case "flip":
            content[case.place(len(content))] ^= case.integer(1, 255)
        case "cut":
            del content[case.place(len(content)) :]
        case _:
            content = bytearray(case.draw(st.binary(max_size=500)))
    path.write_bytes(content)


def put_odd(case: Case, path: Path) -> None:
    """Make something at ``path`` that is no regular file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match case.choice(["a folder", "a pipe", "a link", "a link to a file", "a socket", "a device"]):
        case "a folder":
            path.mkdir()
        case "a link":
            path.symlink_to("nowhere")
        case "a link to a file":
            path.with_name("elsewhere").write_text("precious")
            path.symlink_to("elsewhere")
        case "a socket":  # the name of a socket must be short
            with socket.socket(socket.AF_UNIX) as unix:
                number = os.open(path.parent, os.O_PATH)
                unix.bind(f"/proc/self/fd/{number}/{path.name}")
                os.close(number)
        case "a device":
            with suppress(PermissionError):  # only root can
                os.mknod(path, 0o20666, os.makedev(1, 3))
        case _:
            os.mkfifo(path)


def state(path: Path) -> Any:
    """What is at ``path``, and the content of the file that a link there leads to."""
    mode = path.lstat().st_mode
    return mode, path.read_bytes() if path.is_file() else None


# Processes that are stopped, or disturb each other


def journals(case: Case, output: str) -> list[Path]:
    algorithm, seeds = Path(output).parent.name, Path(output).stem.removeprefix("seeds_")
    folder = paths.journal_folder(case.folder / output, SCALE, PAPER, bench.PROBLEM, algorithm)
    return [loop.journal_path(folder, int(seed)) for seed in seeds.split("-")]


def with_journals(case: Case, output: str) -> list[Path]:
    """The journals of a run that was killed when it would have written its output."""

    def stop() -> None:
        traces.write = lambda *_: os._exit(9)

    case.do(command(output), stop)
    files = journals(case, output)
    assert all(path.stat().st_size > 1000 for path in files)
    return files


def stopped(case: Case, output: str, number: signal.Signals, least: float = 0.0) -> bench.Outcome:
    child = case.child(lambda: bench.cli.main(command(output)))
    child.process.join(case.draw(st.floats(least, 1.1)) * case.seconds)
    os.kill(child.process.pid, number) if child.process.is_alive() else None
    return child.outcome()


@kind("stopped: SIGKILL at a random moment", 12)
def _(case: Case) -> None:
    output, _ = case.block()
    for _ in range(case.integer(1, 3)):
        stopped(case, output, signal.SIGKILL)
    for path in (case.folder / output).parent.glob(".replibo-*"):
        shutil.rmtree(path)  # a killed process cannot; nothing reads it
    case.must_be_run(output)


@kind("stopped: SIGTERM or Ctrl-C at a random moment", 8)
def _(case: Case) -> None:
    (output, _), number = case.block(), case.choice([signal.SIGTERM, signal.SIGINT])
    outcome = stopped(case, output, number, 0.15)  # the handlers are set by then
    said = f"replibo: stopped by {number.name}; the same command goes on from here"
    stops = outcome.status == 128 + number and outcome.errors() == [said]
    right = stops or outcome.status in (0, -number)
    assert right, f"status {outcome.status}: {outcome.text[-500:]}"
    left = list((case.folder / output).parent.glob(".*"))
    assert not left, f"left behind: {left}"
    case.must_be_run(output)


@kind("stopped: several processes at one output", 3)
def _(case: Case) -> None:
    output, _ = case.block()
    processes = range(case.integer(2, 3))
    for child in [case.child(lambda: bench.cli.main(command(output))) for _ in processes]:
        if (outcome := child.outcome()).status != 0:
            case.must_be_refused(outcome, "another process is running this seed")
    case.must_be_run(output)


# Journals and traces


@kind("journals: a byte flipped, cut, garbage; lines lost, doubled, swapped, foreign", 16)
def _(case: Case) -> None:
    """The run goes on; or says that the file must be deleted, and then does."""
    output, _ = case.block()
    path, second = with_journals(case, output)
    lines, foreign = (x.read_bytes().splitlines(keepends=True) for x in (path, second))
    place, other = case.integer(0, len(lines) - 2), case.integer(0, len(lines) - 1)
    match case.choice(["bytes", "bytes", "lost", "doubled", "swapped", "foreign"]):
        case "lost":
            del lines[place : place + case.integer(1, 3)]
        case "doubled":
            lines.insert(other, lines[place])
        case "swapped":
            lines[place], lines[other] = lines[other], lines[place]
        case "foreign":
            lines[place] = foreign[place]
        case _:
            damage(case, path)
            lines = [path.read_bytes()]
    path.write_bytes(b"".join(lines))
    outcome = case.do(command(output))
    if outcome.status != 0:
        case.must_be_refused(
            outcome, f"{path.relative_to(case.folder)}, line 1: damaged journal; delete"
        )
        path.unlink()
        outcome = case.do(command(output))
    case.must_be_done(outcome, output)


@kind("journals: of another seed or run", 5)
def _(case: Case) -> None:
    (output, _), (other, _) = case.block(), case.block()
    contents = [path.read_bytes() for path in with_journals(case, other)]
    shutil.rmtree(case.folder / "results")
    files = journals(case, output)
    files[0].parent.mkdir(parents=True)
    for path, content in zip(files, contents[:: case.choice([1, -1])], strict=True):
        path.write_bytes(content)
    case.must_be_run(output)


@kind("traces: damaged or foreign", 18)
def _(case: Case) -> None:
    """Collecting refuses a block in one line; once it is deleted and made again, it does not."""
    block, algorithm = case.block()
    case.take(
        *(paths.block(SCALE, PAPER, bench.PROBLEM, algorithm, seeds) for seeds in bench.BLOCKS)
    )
    whole = bench.collected(algorithm)
    path, before = case.folder / block, (case.material / block).read_bytes()
    if case.integer(0, 2):
        damage(case, path)
    else:  # another block or pair in its place
        others = [x for x in case.undisturbed if x.endswith(".parquet") and x != block]
        shutil.copyfile(case.material / case.choice(others), path)
    if path.read_bytes() != before:
        case.must_be_refused(case.do(command(whole)), block)
    path.unlink()
    case.must_be_run(block)
    case.must_be_run(whole)


@kind("traces: damaged, read by a figure or table", 6)
def _(case: Case) -> None:
    case.take("results", "published")
    scale, output = case.choice([SCALE, paths.PUBLISHED]), case.choice([TABLE, TABLE, FIGURE])
    files = [case.folder / bench.collected(name) for name in bench.ALGORITHMS]
    if scale != SCALE:
        files = sorted((case.folder / PUBLISHED).rglob("*.parquet"))
    path, other = case.choice(files), case.choice(files)
    before = path.read_bytes()
    damage(case, path) if path == other else path.write_bytes(other.read_bytes())
    outcome = case.do(command(output, scale))
    if path.read_bytes() != before:
        case.must_be_refused(outcome, str(path.relative_to(case.folder)))
        assert not (case.folder / output).exists(), "an output was made"
    path.write_bytes(before)
    outcome = case.do(command(output, scale))
    assert outcome.status == 0, f"status {outcome.status}: {outcome.text[-500:]}"


# Places, disks and permissions


@kind("places: a pipe, a folder, a link, a device where a journal or an output belongs", 8)
def _(case: Case) -> None:
    block, algorithm = case.block()
    words = case.choice([command(block), command(bench.collected(algorithm)),
                         command(TABLE), command(FIGURE), ["claims", "--scale", SCALE, "--output", "a.md"]])  # fmt: skip
    path = Path("odd") / f"a{Path(words[-1]).suffix}"
    words = [*words[:-1], str(path)]
    if case.draw(st.booleans()):
        words, path = command(block), case.choice(journals(case, block)).relative_to(case.folder)
    put_odd(case, case.folder / path)
    before = state(case.folder / path)
    case.must_be_refused(case.do(words), str(path))
    assert state(case.folder / path) == before, f"{path} was replaced, or written through"
    shutil.rmtree((case.folder / path).parent)
    case.must_be_run(block)


@kind("full disk: run", 6)
def _(case: Case) -> None:
    output, _ = case.block()
    path, before = case.folder / output, case.choice([None, b"what was there before"])
    if before:
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
    most = case.integer(0, 380 * bench.QUERIES)
    outcome = case.do(command(output), lambda: bench.limit_files(most))
    case.must_be_refused(outcome, "written (File too")
    assert (path.read_bytes() if path.exists() else None) == before, "what was there is not whole"
    case.must_be_run(output)


@kind("full disk: collect, figure, table, publish", 4)
def _(case: Case) -> None:
    case.take("results", "published", "out")
    whole = bench.collected(case.choice(bench.ALGORITHMS))
    output = case.choice([whole, TABLE, FIGURE, PUBLISHED])
    most = case.integer(0, 199 if output == TABLE else 1999)
    path, before = case.folder / output, bench.result(case.folder / output)
    outcome = case.do(command(output), lambda: bench.limit_files(most))
    case.must_be_refused(outcome, f"{output}: cannot be written (File too")
    assert bench.result(path) == before, "what was there is not whole"
    assert not list(path.parent.glob(".*")), "something was left behind"
    case.must_be_run(output)


@kind("surroundings: files and folders without permission", 3)
def _(case: Case) -> None:
    output, algorithm = case.block()
    path, mode = (case.folder / output).parent, 0o555
    match case.choice(["folder", "journal", "journals", "config", "runs", "out"]):
        case "journal":
            path, mode = with_journals(case, output)[0], case.choice([0o000, 0o444])
        case "journals":
            path, mode = with_journals(case, output)[0].parent, case.choice([0o000, 0o444])
        case "config":
            name = case.choice([f"{PAPER}.yaml", "config.yaml", ""])
            path, mode = case.folder / "config" / name, 0
        case "runs":
            case.take("results")
            path, mode = case.folder / output, 0
            output = bench.collected(algorithm)
        case "out":
            case.take("results")
            path, output = case.folder / "out", TABLE
            path.mkdir()
        case _:
            path.mkdir(parents=True)
    before = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    outcome = case.do(command(output), bench.obey_permissions)
    path.chmod(before)
    case.must_be_refused(outcome, str(path.relative_to(case.folder)))
    case.must_be_run(output)


# Configs, command lines, environments

WORDS = [*("", "~", "true", "-1", "0", "1e400", ".nan", "010", "1:30", "9" * 400, "[]", "{}", "[1]", "nope"),
         *("../../etc/passwd", "os.system", "!!python/name:os.system", "&a [*a]", "'", '"', "{a: }", "[" * 400),
         *("0-2147483647", "9-0", "x" * 5000, "random_search", "2020-01-01", "\x00", "é\u2028", "a: b: c"),
         *("--seeds", "--scale", "--config", ".", "/", "config", "--", "-h", "-", "?")]  # fmt: skip
LEAVES = (st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
VALUES = st.recursive(
    st.one_of(*LEAVES, st.sampled_from(WORDS)),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=9), x, max_size=3),
    max_leaves=5,
)


def mutated(case: Case, value: Any) -> Any:
    """A copy with one leaf or key of a config changed."""
    if isinstance(value, dict) and value and case.integer(0, 19):
        key = case.choice(sorted(value, key=str))
        content = {k: v for k, v in value.items() if k != key}
        match case.integer(0, 11):
            case 0:
                return content
            case 1:
                return content | {case.draw(st.text(max_size=9) | st.none()): value[key]}
            case _:
                return content | {key: mutated(case, value[key])}
    if isinstance(value, list) and value and case.draw(st.booleans()):
        place = case.integer(0, len(value) - 1)
        return [*value[:place], mutated(case, value[place]), *value[place + 1 :]]
    return case.draw(VALUES)


@kind("input: config, fuzzed", 8)
def _(case: Case) -> None:
    path = case.folder / "config" / f"{PAPER}.yaml"
    words = case.choice(
        [["list"], ["estimate", PAPER, "--scale", SCALE], command(case.block()[0]), command(TABLE)]
    )
    match case.choice(["bytes", "overlay", "value"]):
        case "bytes":
            damage(case, path)
        case "overlay":
            key = case.choice(["seeds", "horizon", "initial_points", "algorithms"])
            overlay = f"{PAPER}: {{defaults: {{{key}: {case.choice(WORDS)}}}}}\n"
            (case.folder / "mine.yaml").write_text(overlay)
            words = [*words, "--config", "mine.yaml"]
        case _:
            changed = mutated(case, yaml.safe_load(path.read_text()))
            path.write_text(yaml.safe_dump(changed), errors="replace")
    outcome = case.do(words, bench.limit_memory)
    if outcome.status != 0:
        case.must_be_refused(outcome, lines=True)


@kind("input: command line, fuzzed", 6)
def _(case: Case) -> None:
    block, algorithm = case.block()
    words = case.choice([command(block), command(bench.collected(algorithm)),
                         command(TABLE), ["publish", PAPER, "--scale", SCALE], ["list", "papers"],
                         ["estimate", f"figures/{SCALE}/{PAPER}/figure.pdf"], ["claims", PAPER, "--scale", SCALE]])  # fmt: skip
    text = st.text(string.printable, max_size=300) | st.sampled_from(WORDS)
    for _ in range(case.integer(1, 2)):
        place, lost = case.integer(0, len(words)), case.integer(0, 1)
        given = [case.draw(text).replace("\0", "")] if case.integer(0, 2) else []
        words = [*words[:place], *given, *words[place + lost :]] or ["list"]
    outcome = case.do(words, bench.limit_memory)
    right = outcome.status in (0, 2) and "Traceback" not in outcome.text
    assert right, f"{words}: status {outcome.status}: {outcome.text[-500:]}"


NONSENSE = {
    "OMP_NUM_THREADS": ("abc", "0", "64"), "OPENBLAS_NUM_THREADS": ("abc", "64"), "LC_ALL": ("C", "nowhere"),
    "PYTHONIOENCODING": ("ascii", "latin-1"), "TZ": ("nowhere", ""), "TMPDIR": ("/nowhere", "/proc", ""),
    "HOME": ("/nowhere", ""), "XDG_CACHE_HOME": ("/nowhere", "/proc"), "MPLCONFIGDIR": ("/nowhere", "/proc"),
    "MPLBACKEND": ("nonsense", "agg"), "PYTHONHASHSEED": ("0", "7"), "COLUMNS": ("abc", "1", "-5"),
    "PATH": ("", "/nowhere"), "GIT_DIR": ("/nowhere",), "REPLIBO_DATA_MIRROR": ("nonsense", "ftp://a", "\n"),
}  # fmt: skip
"""Variables that a command must not stumble over."""


@kind("surroundings: variables that say nonsense", 1)
def _(case: Case) -> None:
    names = st.lists(st.sampled_from(sorted(NONSENSE)), min_size=1, max_size=5, unique=True)
    variables = {name: case.choice(NONSENSE[name]) for name in case.draw(names)}
    output = case.choice([case.block()[0], TABLE, FIGURE])
    if output in (TABLE, FIGURE):
        case.take("results")
    outcome = case.anew(command(output), variables)
    case.must_be_done(outcome, output, strict=False)
    assert "Traceback" not in outcome.text, outcome.text[-500:]


@kind("surroundings: clocks that jump", 1)
def _(case: Case) -> None:
    (output, _), moments = case.block(), case.draw(st.lists(st.floats(-1e9, 4e9), min_size=1))
    steps = case.draw(st.lists(st.floats(0, 1e6), min_size=1))

    def jump() -> None:
        time.time = itertools.cycle(moments).__next__
        steady = itertools.accumulate(itertools.cycle(steps))
        for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
            setattr(time, name, steady.__next__)  # these never go back

    case.must_be_done(case.do(command(output), jump), output)
