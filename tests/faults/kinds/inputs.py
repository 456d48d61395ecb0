"""Wrong configs, command lines and initial points."""

from __future__ import annotations

import string
from typing import Any

import bench
import yaml
from bench import ALGORITHMS, PAPER, SCALE, Case, FaultError

from kinds.base import cut, drawn, kind, put

WORDS = (
    *(
        "",
        "~",
        "true",
        "no",
        "-1",
        "0",
        "1e400",
        ".nan",
        "010",
        "1:30",
        "9" * 400,
        "[]",
        "{}",
        "[1]",
    ),
    *(
        "nope",
        "../../etc/passwd",
        "os.system",
        "!!python/name:os.system",
        "&a [*a]",
        "'",
        '"',
        "{a: }",
    ),
    *(
        "[" * 400,
        "0-2147483647",
        "x" * 5000,
        "random_search",
        "2020-01-01",
        "\x00",
        "é\u2028",
        "a: b: c",
    ),
)


def mutated(rng: Any, value: Any) -> Any:
    """A copy with one leaf or key changed."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value, key=str))
        changed = dict(value)
        match rng.randrange(12):
            case 0:
                del changed[key]
            case 1:
                changed[rng.choice(["nope", "x" * 200, 1, None, "a b", "../x"])] = changed.pop(key)
            case _:
                changed[key] = mutated(rng, value[key])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.5:
        place = rng.randrange(len(value))
        return [*value[:place], mutated(rng, value[place]), *value[place + 1 :]]
    return rng.choice(
        [
            None,
            True,
            -1,
            0,
            1,
            1.5,
            10**12,
            10**400,
            float("nan"),
            float("inf"),
            "",
            "nope",
            [],
            {},
            [1, 2],
            {"a": 1},
            "x" * 300,
            "9-0",
            "0-2147483647",
            "../x",
            "os.system",
            "random_search",
            "\x00",
        ]
    )


@kind("input: config, fuzzed", 8)
def _(case: Case) -> None:
    rng = case.rng
    path = case.folder / "config" / f"{PAPER}.yaml"
    arguments = rng.choice(
        [
            ["list"],
            ["estimate", PAPER, "--scale", SCALE],
            [*case.run_arguments(*drawn(case))],
            ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"],
        ]
    )
    match rng.randrange(5):
        case 0:
            content = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 5)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content)
        case 1:
            cut(case, path)
        case 2:
            lines = path.read_text().splitlines(keepends=True)
            place = rng.randrange(len(lines))
            indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
            lines.insert(
                place, f"{indent}{rng.choice(['nope', 'seeds', '- 1'])}: {rng.choice(WORDS)}\n"
            )
            path.write_text("".join(lines))
        case 3:
            overlay = case.folder / "overlay.yaml"
            key = rng.choice(["seeds", "horizon", "initial_points", "algorithms"])
            overlay.write_text(f"{PAPER}: {{defaults: {{{key}: {rng.choice(WORDS)}}}}}\n")
            arguments += ["--config", str(overlay)]
        case _:
            raw = yaml.safe_load(path.read_text())
            for _ in range(rng.randint(1, 3)):
                raw = mutated(rng, raw)
            path.write_text(yaml.safe_dump(raw))
    small = bench.limit_memory
    outcome = case.do(*arguments, prepare=small)
    if outcome.status != 0:
        case.must_be_refused(outcome, lines=None)


@kind("input: command line, fuzzed", 6)
def _(case: Case) -> None:
    rng = case.rng
    good = rng.choice(
        [
            case.run_arguments(*drawn(case)),
            case.collect_arguments(rng.choice(ALGORITHMS)),
            ["table", PAPER, "table", "--scale", SCALE, "--output", "out/a.csv"],
            ["publish", PAPER, "--scale", SCALE],
            ["estimate", f"figures/{SCALE}/{PAPER}/figure.pdf"],
            ["list", "papers"],
            ["claims", PAPER, "--scale", SCALE],
        ]
    )
    words = [
        *WORDS,
        "--seeds",
        "--scale",
        "--config",
        "0-0",
        ".",
        "/",
        "config",
        "--",
        "-h",
        "-",
        "?",
    ]
    text = "".join(rng.choices(string.printable, k=rng.randint(0, 300)))
    bad = [word.replace("\0", "") for word in [*words, text]]
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(good))
        match rng.randrange(3):
            case 0:
                good = [*good[:place], rng.choice(bad), *good[place + 1 :]]
            case 1:
                good = good[:place] + good[place + 1 :]
            case _:
                good = [*good[:place], rng.choice(bad), *good[place:]]
        good = good or ["list"]
    outcome = case.do(*good, prepare=bench.limit_memory)
    if outcome.status not in (0, 2) or "Traceback" in outcome.said:
        raise FaultError(f"{good}: status {outcome.status}: {outcome.said[-500:]}")


@kind("input: initial points", 3)
def _(case: Case) -> None:
    rng = case.rng
    path = case.folder / "points.csv"
    bad = [
        b"",
        b"x\n",
        b"x\n1,2\n",
        b"x,y\n1\n",
        b"x,y,z\n1\n",
        b'x\n"1\n',
        b"x\nnan\n",
        b"x\n1e999\n",
        b"x\nhere\n",
        b"x\n" + b"1" * rng.randrange(140_000, 400_000) + b"\n",
        b"x\n" + b"7\n" * 3,
        b"x\n\xff\n",
        b"x\n\0\n",
        ",".join("x" * rng.randint(2, 2000)).encode() + b"\n1\n",
        rng.randbytes(300),
    ]
    path.write_bytes(rng.choice(bad))
    if rng.random() < 0.2:
        path.unlink()
        put(path, rng.choice(["a folder", "a pipe", "a socket", "a device"]))
    arguments = case.run_arguments(*drawn(case))
    outcome = case.do(*arguments, "--initial-points", "points.csv")
    case.must_be_refused(outcome, "points.csv", "initial points")
