"""`replibo estimate` against a real run, or against the published ones.

``python benchmarks/estimate.py [--scale quick] [--papers go_ucb lb_gp_ucb] [--cores 2]``
``python benchmarks/estimate.py --cut 0.05 0.25 0.5 [--papers neuralbo lb_gp_ucb] [--longest 1900]``

Clones the commit of today into a temporary folder and estimates there, from what is published, what the
papers' figures and tables need; makes them with ``snakemake --cores N``; and estimates again from the
traces that this has made. Prints the factors, estimate over real, of the CPU time (all processes,
Snakemake's own included) and of the wall time. That one's estimate is for free cores: where other work
shares them, look at the third factor too, against the real CPU time divided by the cores.

``--cut``: no run is made. The published profiles are cut to these shares of their queries, and the whole
run is predicted from what is left: as another problem's, and by each law of the tail. Predicted over
real: quantiles .1, .5 and .9 over the pairs of problem and algorithm with at least ``--longest`` queries
(random search left out), and the sum over all of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from replibo.workflow.estimate import timings
from replibo.workflow.estimate.profile import Profile

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


def first_part(timing: timings.Timing, queries: int) -> timings.Timing:
    """What is known of a run after its first ``queries``."""
    profile = timing.profile
    assert profile is not None
    first = [number for number in profile.first if number <= queries]
    until = [profile.run(number - 1).expected for number in (*first[1:], queries + 1)]
    seconds = tuple(np.diff([0.0, *until]).tolist())
    kept = Profile(tuple(first), seconds, queries)
    return dataclasses.replace(timing, queries=queries, profile=kept)


def cut(papers: list[str], share: float, longest: int) -> None:
    """Predict the published runs of at least ``longest`` queries from their first ``share``."""
    found: dict[str, list[tuple[float, float]]] = {}
    for paper in papers:
        published = {key: entries[0] for key, entries in timings.published(paper).items()}
        for key, whole in published.items():
            algorithm = key.partition("/")[2]
            T = whole.queries
            if whole.profile is None or longest > T or algorithm == "random_search":
                continue
            known = first_part(whole, int(share * T))
            others = {
                name: other
                for name, other in published.items()
                if name.endswith(f"/{algorithm}") and name != key
            }
            tail = known.run(T)
            predicted = {"geometric mean": tail.expected, "lower": tail.low, "higher": tail.high}
            if any(other.profile and other.queries >= T for other in others.values()):
                predicted["as another"] = timings._carried_on(known, others, T)[0].expected
            for way, seconds in predicted.items():
                found.setdefault(way, []).append((seconds, whole.run(T).expected))
    for way, pairs in found.items():
        predicted_seconds, real = np.array(pairs).T
        low, middle, high = np.quantile(predicted_seconds / real, [0.1, 0.5, 0.9])
        together = predicted_seconds.sum() / real.sum()
        of_all = f"{low:.2f}, {middle:.2f}, {high:.2f}; {together:.2f}"
        print(f"{share:4g}  {way:14}  {of_all}  ({len(pairs)} pairs)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--papers", nargs="+", default=["go_ucb", "lb_gp_ucb"])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--cut", type=float, nargs="+", metavar="SHARE", default=[])
    parser.add_argument("--longest", type=int, default=240)
    options = parser.parse_args()
    for share in options.cut:
        cut(options.papers, share, options.longest)
    if options.cut:
        return
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
