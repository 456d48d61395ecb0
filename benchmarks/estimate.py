"""`replibo estimate` against a real run.

``python benchmarks/estimate.py [--scale quick] [--papers go_ucb lb_gp_ucb] [--cores 2]``

Clones the commit of today into a temporary folder and estimates there, from what is published, what the
papers' figures and tables need; makes them with ``snakemake --cores N``; and estimates again from the
traces that this has made. Prints the factors, estimate over real, of the CPU time (all processes,
Snakemake's own included) and of the wall time. That one's estimate is for free cores: where other work
shares them, look at the third factor too, against the real CPU time divided by the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ESTIMATE = """
import json, sys
from replibo.config import load
from replibo.workflow import targets
from replibo.workflow.estimate import report
scale, cores, *papers = sys.argv[1:]
config = load.load()
found = report.estimate(config, papers, scale, int(cores))
files = [f for f in targets.outputs(config, scale) if any(f"/{paper}/" in f for paper in papers)]
print(json.dumps({"cpu": found.cpu, "wall": found.wall_seconds, "jobs": found.jobs,
                  "unknown": found.unknown, "files": files}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--papers", nargs="+", default=["go_ucb", "lb_gp_ucb"])
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name, "replibo")
        subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
        environment = {**os.environ, "PYTHONPATH": str(clone / "src")}

        def estimated() -> dict[str, Any]:
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    ESTIMATE,
                    options.scale,
                    str(options.cores),
                    *options.papers,
                ],
                cwd=clone,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            found: dict[str, Any] = json.loads(done.stdout)
            return found

        estimates = {"published": estimated()}
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores)]
        made = subprocess.run(
            [*command, *estimates["published"]["files"]],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if made.returncode:
            sys.exit(f"{made.stdout[-3000:]}\nsnakemake ended with {made.returncode}")
        print(f"real: {cpu:.0f} s CPU, {wall:.0f} s wall")
        print(f"  load of the machine at the end: {os.getloadavg()[0]:.1f}")
        estimates["own traces"] = estimated()
        for origin, found in estimates.items():
            (expected, low, high), seconds = found["cpu"], found["wall"]
            print(
                f"from {origin}: {expected:.0f} s CPU ({low:.0f} to {high:.0f}), factor "
                f"{expected / cpu:.2f}; {seconds:.0f} s wall, factor {seconds / wall:.2f}, of busy cores "
                f"{seconds / (cpu / options.cores):.2f}; {found['jobs']} jobs, {found['unknown']} unknown"
            )


if __name__ == "__main__":
    main()
