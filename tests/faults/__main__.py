"""Inject faults and check that none is lost: ``python tests/faults --count 1000 --seed 1``.

Prints the table kind → injected → survived, and a line for each fault that was not survived, with what
repeats it. Writes below a temporary folder, and the table where ``--report`` says.
"""

from __future__ import annotations

import argparse
import platform
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import bench
from kinds import KINDS
from tabulate import tabulate

SHARES = sum(share for share, _ in KINDS.values())


def shared_out(count: int) -> dict[str, int]:
    """How many faults of each kind: by their shares, at least one."""
    numbers = {name: max(1, int(count * share / SHARES)) for name, (share, _) in KINDS.items()}
    names = list(KINDS)
    for number in range(max(count - sum(numbers.values()), 0)):
        numbers[names[number % len(names)]] += 1
    return numbers


def inject(name: str, number: int, seed: int, folder: Path, material: tuple[object, ...]) -> str:
    """Inject one fault; why it was not survived, or nothing."""
    own = folder / "case"
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/faults", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of faults")
    parser.add_argument("--seed", type=int, default=1, help="of moments, places and bytes")
    parser.add_argument("--only", help="only kinds that begin so")
    parser.add_argument("--number", type=int, help="only this one of each kind")
    parser.add_argument("--report", type=Path, help="Markdown file for the table")
    options = parser.parse_args()
    start = time.monotonic()
    rows, faults = [], []
    with tempfile.TemporaryDirectory(prefix="replibo-faults-") as name:
        folder = Path(name)
        (folder / "material").mkdir()
        material = bench.prepared(folder / "material")
        for kind, count in shared_out(options.count).items():
            if options.only and not kind.startswith(options.only):
                continue
            numbers = range(count) if options.number is None else [options.number]
            found = [(n, inject(kind, n, options.seed, folder, material)) for n in numbers]
            bad = [(n, text) for n, text in found if text]
            rows.append((kind, len(found), len(found) - len(bad)))
            faults += bad
            print(f"{kind}: {len(found)} injected, {len(bad)} not survived", file=sys.stderr)
            for n, text in bad:
                print(f"  --only '{kind}' --number {n}: {text}", file=sys.stderr, flush=True)
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    table = tabulate(rows, ("kind", "injected", "survived"), tablefmt="github")
    print(table)
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s, seed {options.seed}, Python {platform.python_version()}")
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(
            f"# Injected faults\n\n`make faults COUNT={options.count} SEED={options.seed}`\n\n{table}\n"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
