"""What Snakemake's scheduler takes while jobs wait: with the ``onstart`` of our `Snakefile`, and without.

``python benchmarks/scheduler.py [--ended 300] [--seconds 20]``

In a workflow of its own ``--ended`` jobs end at once; then each of eight cores has a job that sleeps, and
others wait. Prints, for each of the two, the CPU seconds of Snakemake's own process in ``--seconds`` in
which no job starts or ends, and how often it looked at the ready jobs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

CORES = 8
JOBS = """
rule all:
    input: expand("ended/{{i}}", i=range({ended})), expand("asleep/{{i}}", i=range(1000))

rule end:
    output: "ended/{{i}}"
    priority: 1
    shell: "touch {{output}}"

rule sleep:
    output: "asleep/{{i}}"
    shell: "touch started_{{wildcards.i}}; sleep 3600; touch {{output}}"
"""


def measured(folder: Path, workflow: str, seconds: float) -> tuple[float, int]:
    """CPU seconds and looks of the workflow's Snakemake, from when all cores sleep."""
    (folder / "Snakefile").write_text(workflow)
    log = folder / "log"
    command = [sys.executable, "-m", "snakemake", "--cores", str(CORES), "--scheduler", "greedy"]
    with log.open("w") as said:
        started = subprocess.Popen([*command, "--verbose"], cwd=folder, stdout=said, stderr=said)
    process = psutil.Process(started.pid)
    try:
        while len(list(folder.glob("started_*"))) < CORES:
            assert started.poll() is None, log.read_text()[-2000:]
            time.sleep(0.1)
        time.sleep(2)  # what belongs to the last starts

        def now() -> tuple[float, int]:
            return sum(process.cpu_times()[:2]), log.read_text().count("Ready jobs: ")

        before = now()
        time.sleep(seconds)
        after = now()
    finally:
        for one in [*process.children(recursive=True), process]:
            one.kill()
        started.wait()
    return after[0] - before[0], after[1] - before[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ended", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    snakefile = (Path(__file__).parents[1] / "Snakefile").read_text(encoding="utf-8")
    onstart = re.search(r"^onstart:\n(?:    .*\n)+", snakefile, flags=re.M)
    assert onstart, "Snakefile has no onstart"
    jobs = JOBS.format(ended=options.ended)
    for name, workflow in (("without", jobs), ("with", onstart[0] + jobs)):
        with tempfile.TemporaryDirectory() as folder:
            cpu, looks = measured(Path(folder), workflow, options.seconds)
        print(f"{name} onstart: {cpu:.1f} CPU s and {looks} looks in {options.seconds:g} s")


if __name__ == "__main__":
    main()
