"""Inject faults and check that each is survived: ``python tests/faults --count 1000 --seeds 1-10``.

Prints the table kind → injected → survived. A fault that was not survived is shown as the smallest
choices that Hypothesis finds for it; the rest of its kind and seed is left out then.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import bench
import hypothesis
import model
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from tabulate import tabulate

from replibo.config.models import seed_list
from replibo.run import commit

START, END = "<!-- faults: start -->", "<!-- faults: end -->"
KINDS = dict(sorted(model.KINDS.items(), key=lambda item: item[0].lower()))


def shared_out(count: int) -> dict[str, int]:
    """How many faults of each kind: by their shares, rounded up."""
    total = sum(share for share, _ in KINDS.values())
    return {name: math.ceil(count * share / total) for name, (share, _) in KINDS.items()}


def injected(kind: str, count: int, seed: int, folder: Path, material: Any) -> tuple[str, int, str]:
    """Inject ``count`` faults of a kind; how many were, and what was not survived."""
    number, survived = 0, True

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @hypothesis.given(st.data())
    def inject(data: st.DataObject) -> None:
        nonlocal number, survived
        number += survived  # what is injected again to find smaller choices is not counted
        place = Path(tempfile.mkdtemp(prefix=f"case-{os.getpid()}-", dir=folder))
        shutil.copytree(folder / "material" / "config", place / "config")
        case = bench.Case(place, data.draw, folder / "material", *material)
        try:
            KINDS[kind][1](case)
        except Exception:
            survived = False
            raise
        finally:
            for child in case.children:
                child.end()
            shutil.rmtree(place, ignore_errors=True)

    try:
        inject()
    except Exception as error:
        fault = "".join(traceback.format_exception(error, chain=False))
        return kind, number, f"{kind}, seed {seed}: {fault}"
    return kind, number, ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/faults", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of faults")
    parser.add_argument("--seeds", default="1-10", help="of moments, places and bytes")
    parser.add_argument("--cores", type=int, default=1, help="faults at the same time")
    parser.add_argument("--report", type=Path, help="Markdown file for the table")
    parser.add_argument("--readme", type=Path, help="page for their sums")
    options = parser.parse_args()
    start, made_from, seeds = time.monotonic(), commit.of_package(), seed_list(options.seeds)
    counts = {kind: [0, 0] for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="replibo-faults-") as name:
        folder = Path(name)
        (folder / "material").mkdir()
        set_hypothesis_home_dir(folder / "hypothesis")
        material = bench.prepared(folder / "material")
        tasks = [
            (kind, len(range(i, count, len(seeds))), seed, folder, material)
            for i, seed in enumerate(seeds)
            for kind, count in shared_out(options.count).items()
            if i < count
        ]
        # Forks of this process, which has imported everything and computes nothing.
        with ProcessPoolExecutor(options.cores, mp_context=bench.FORK) as pool:
            for kind, number, fault in pool.map(injected, *zip(*tasks, strict=True)):
                counts[kind][0] += number
                counts[kind][1] += number - bool(fault)
                if fault:
                    print(fault, file=sys.stderr, flush=True)
    rows = [(kind, *numbers) for kind, numbers in counts.items() if numbers[0]]
    rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2))))
    table = tabulate(rows, ("kind", "injected", "survived"), tablefmt="github")
    seconds = f"{time.monotonic() - start:.0f} s"
    print(f"{table}\n{seconds}, {len(seeds)} seeds ({options.seeds})")
    if options.report:
        options.report.write_text(
            f"# Injected faults\n\n`make faults COUNT={options.count} SEED={options.seeds}`: "
            f"{len(seeds)} seeds, {date.today()}, commit {made_from}\n\n{table}\n"
        )
    if options.readme:
        before, _, rest = options.readme.read_text().partition(START)
        _, _, after = rest.partition(END)
        said = f"{rows[-1][1]} injected with {len(seeds)} seeds, {rows[-1][2]} survived."
        options.readme.write_text(f"{before}{START}\n{said}\n{END}{after}")
    return 0 if rows[-1][1] == rows[-1][2] else 1


if __name__ == "__main__":
    sys.exit(main())
