"""Inject faults and check that each is survived: ``python tests/faults --count 1000 --seed 1``.

Prints the table kind → injected → survived, and a line for each fault that was not survived, with what
repeats it. Writes below a temporary folder, and the table where ``--report`` says (with the date and the
commit), its sums where ``--readme`` does.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import platform
import random
import shutil
import sys
import tempfile
import time
import traceback
from datetime import date
from pathlib import Path
from typing import Any

import bench
import kinds
from tabulate import tabulate

from replibo.run import commit

START, END = "<!-- faults: start -->", "<!-- faults: end -->"
KINDS = dict(sorted(kinds.KINDS.items(), key=lambda item: item[0].lower()))
SHARES = sum(share for share, _ in KINDS.values())


def shared_out(count: int) -> dict[str, int]:
    """How many faults of each kind: by their shares, at least one (of the dear ones: in large numbers)."""
    numbers = {
        name: max(int(count * share / SHARES), int(min(share, 1)))
        for name, (share, _) in KINDS.items()
    }
    names = [name for name, (share, _) in KINDS.items() if share >= 1]
    for number in range(max(count - sum(numbers.values()), 0)):
        numbers[names[number % len(names)]] += 1
    return {name: number for name, number in numbers.items() if number}


def inject(name: str, number: int, seed: int, folder: Path, material: tuple[object, ...]) -> str:
    """Inject one fault; why it was not survived, or nothing."""
    own = folder / f"case-{os.getpid()}"
    own.mkdir()
    shutil.copytree(folder / "material" / "config", own / "config")
    rng = random.Random(f"{seed} {name} {number}")
    case = bench.Case(own, rng, folder / "material", *material)  # type: ignore[arg-type]
    try:
        KINDS[name][1](case)
    except bench.FaultError as fault:
        return str(fault)
    except Exception:
        return traceback.format_exc()
    finally:
        for child in case.children:
            child.send(bench.signal.SIGKILL)
        shutil.rmtree(own, ignore_errors=True)
    return ""


def injected(task: Any) -> str:
    """`inject` with a tuple of its arguments."""
    return inject(*task)


def table(rows: list[tuple[str, int, int]]) -> str:
    """Kind → injected → survived, and their sums, as Markdown."""
    total = ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))
    return tabulate([*rows, total], ("kind", "injected", "survived"), tablefmt="github")


def summary(rows: list[tuple[str, int, int]]) -> str:
    """The sums in words, for README."""
    injected, survived = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return f"{injected} injected, {survived} survived."


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/faults", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of faults")
    parser.add_argument("--seed", type=int, default=1, help="of moments, places and bytes")
    parser.add_argument("--cores", type=int, default=1, help="faults at the same time")
    parser.add_argument("--only", default="", help="only kinds that begin so")
    parser.add_argument("--number", type=int, help="only this one of each kind")
    parser.add_argument("--report", type=Path, help="Markdown file for the table")
    parser.add_argument("--readme", type=Path, help="page for their sums")
    options = parser.parse_args()
    start, made_from = time.monotonic(), commit.of_package()
    rows: list[tuple[str, int, int]] = []
    with tempfile.TemporaryDirectory(prefix="replibo-faults-") as name:
        folder = Path(name)
        (folder / "material").mkdir()
        material = bench.prepared(folder / "material")
        tasks = [
            (kind, number, options.seed, folder, material)
            for kind, count in shared_out(options.count).items()
            for number in (range(count) if options.number is None else [options.number])
            if kind.startswith(options.only)
        ]
        # Children of this process, which has imported everything and computes nothing.
        with multiprocessing.get_context("fork").Pool(options.cores) as pool:
            found = zip(tasks, pool.imap(injected, tasks), strict=True)
            for kind, group in itertools.groupby(found, key=lambda pair: pair[0][0]):
                told = [(number, text) for (_, number, *_), text in group]
                bad = [(number, text) for number, text in told if text]
                rows.append((kind, len(told), len(told) - len(bad)))
                print(f"{kind}: {len(told)} injected, {len(bad)} not survived", file=sys.stderr)
                for number, text in bad:
                    print(f"  --only '{kind}' --number {number}: {text}", file=sys.stderr)
    print(table(rows))
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s, seed {options.seed}, Python {platform.python_version()}")
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(
            f"# Injected faults\n\n`make faults COUNT={options.count} SEED={options.seed}`, "
            f"{date.today()}, commit {made_from}\n\n{table(rows)}\n"
        )
    if options.readme:
        before, _, rest = options.readme.read_text().partition(START)
        _, _, after = rest.partition(END)
        shown = f"{before}{START}\n{summary(rows)}\n{END}{after}"
        options.readme.write_text(shown)
    return 1 if any(injected != survived for _, injected, survived in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
