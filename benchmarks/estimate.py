"""`replibo estimate` against a real run, or against the published ones.

``python benchmarks/estimate.py [--scale quick] [--papers go_ucb lb_gp_ucb] [--cores 2]``
``python benchmarks/estimate.py --cut 0 0.25 [--papers neuralbo lb_gp_ucb] [--longest 1900]``

Clones the commit of today into a temporary folder and estimates there, from what is published, what the
papers' figures and tables need; makes them with ``snakemake --cores N``; and estimates again from the
traces that this has made. Prints the factors, estimate over real, of the CPU time (all processes,
Snakemake's own included) and of the wall time. That one's estimate is for free cores: where other work
shares them, look at the third factor too, against the real CPU time divided by the cores.

``--cut``: no run is made. Each published run of at least ``--longest`` queries (random search left out)
is predicted as if only this share of its queries were known (0: none), with its algorithm's longer runs
on other problems and (``nowhere longer``) without. Prints predicted over measured time: quantiles .1, .5
and .9 over the pairs of problem and algorithm, the sum over all of them, and the factor by which the
prediction is off, either way, for half and for 90 % of them.
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

from replibo.config import load
from replibo.config.models import Config
from replibo.workflow import costs

ESTIMATE = """
import json, sys
from replibo.config import load
from replibo.workflow import targets
from replibo.workflow.estimate import estimate
scale, cores, *papers = sys.argv[1:]
config = load.load()
found = estimate(config, papers, scale, int(cores))
files = [f for f in targets.outputs(config, scale) if any(f"/{paper}/" in f for paper in papers)]
print(json.dumps({"cpu": found.cpu, "wall": found.wall_seconds, "jobs": found.jobs,
                  "unknown": found.unknown, "files": files}))
"""


def first_part(timing: costs.Timing, queries: int) -> costs.Timing:
    """What is known of a run after its first ``queries``."""
    first = [number for number in timing.first if number <= queries]
    until = [timing.run(number - 1) for number in (*first[1:], queries + 1)]
    seconds = tuple(np.diff([0.0, *until]).tolist())
    return dataclasses.replace(timing, queries=queries, first=tuple(first), seconds=seconds)


def cut(config: Config, papers: list[str], share: float, longest: int) -> None:
    """Predict the published runs of at least ``longest`` queries from their first ``share``."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for paper in papers:
        entry = config.paper(paper)
        published = costs.at_one_speed(entry, costs.published(paper))
        for key, whole in published.items():
            problem, algorithm = key.split("/")
            T = whole.queries
            if longest > T or algorithm == "random_search":
                continue
            alone = {name: known for name, known in published.items() if name != key}
            ways = {"not run": alone}
            if share:
                part = int(share * T)
                nowhere = {
                    name: first_part(known, part)
                    for name, known in published.items()
                    if name.endswith(f"/{algorithm}") and part < known.queries
                }
                ways = {
                    "run in part": published | {key: first_part(whole, part)},
                    "nowhere longer": published | nowhere,
                }
            for way, known in ways.items():
                if cost := costs.cost_of_job(known, problem, algorithm, T, 1):
                    real = whole.run(T) + whole.start_seconds + costs.PROCESS_SECONDS
                    ratios.setdefault(way, []).append((cost.seconds, real))
    for way, pairs in ratios.items():
        predicted, measured = np.array(pairs).T
        low, middle, high = np.quantile(predicted / measured, [0.1, 0.5, 0.9])
        off = np.exp(np.quantile(np.abs(np.log(predicted / measured)), [0.5, 0.9]))
        together = predicted.sum() / measured.sum()
        print(
            f"{share:4g}  {way:14}  {low:.2f}, {middle:.2f}, {high:.2f}; {together:.2f}  "
            f"(factor {off[0]:.2f}, {off[1]:.2f}; {len(pairs)} pairs)"
        )


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
    config = load.load()
    for share in options.cut:
        cut(config, options.papers, share, options.longest)
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
            expected, seconds = found["cpu"], found["wall"]
            print(
                f"from {origin}: {expected:.0f} s CPU, factor {expected / cpu:.2f}; {seconds:.0f} s "
                f"wall, factor {seconds / wall:.2f}, of busy cores "
                f"{seconds / (cpu / options.cores):.2f}; {found['jobs']} jobs, {found['unknown']} unknown"
            )


if __name__ == "__main__":
    main()
