"""``python -m replibo.workflow.paper_runs``: carry the papers' own runs on, and publish what is finished.

What is published whole is not run again, whatever code made it; ``snakemake all`` runs everything. Runs
go on from their journals, so the command may be stopped at any time and given again.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from replibo import messages, paths, stopping
from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.files import check_writable
from replibo.results import merge
from replibo.workflow import snakemake, status
from replibo.workflow.costs import check_cores

# The cheapest verdicts first: of each stage a paper and patterns of its problems. What no pattern names
# is the last stage.
STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("bbo", ("*",)),
    ("go_ucb", ("*",)),
    ("lb_gp_ucb", ("*",)),
    ("neuralbo", ("ackley_2", "*_10", "*_10_*", "*_20")),
    ("neuralbo", ("bbob_*",)),
    ("neuralbo", ("sensitive_*",)),
    ("neuralbo", ("retrieval*", "docstrings*")),
    ("neuralbo", ("*_50", "*_100")),
)
SECONDS = 60.0
"""Between two looks at what is finished."""


def stages(config: Config, scale: str) -> list[list[tuple[str, str]]]:
    """The (paper, problem) of each stage, each once."""

    def stage_of(paper: str, problem: str) -> int:
        for number, (stage_paper, patterns) in enumerate(STAGES):
            if paper == stage_paper and any(fnmatch.fnmatch(problem, p) for p in patterns):
                return number
        return len(STAGES)

    groups: list[list[tuple[str, str]]] = [[] for _ in range(len(STAGES) + 1)]
    for paper in config.papers:
        for problem in config.paper(paper).problems_at(scale):
            groups[stage_of(paper, problem)].append((paper, problem))
    return [group for group in groups if group]


def missing(config: Config, scale: str, stage: Sequence[tuple[str, str]]) -> list[str]:
    """The files of the blocks of which a seed is not finished."""
    return [
        paths.block(scale, standing.paper, standing.problem, standing.algorithm, block)
        for standing in status.survey(config, scale, [paper for paper, _ in stage])
        if (standing.paper, standing.problem) in stage
        for block in standing.blocks
    ]


def publish(config: Config, scale: str, paper: str) -> bool:
    """Publish what is finished of a paper, and say what changed and what was left out. Returns whether
    nothing was left out."""
    try:
        lines, faults = merge.publish(config, paper, scale, replace=False)
    except RepliboError as error:
        lines, faults = [], str(error).splitlines()
    for line in lines:
        if "as published: " not in line:
            messages.show(f"{paper}: {line}")
    for fault in faults:
        messages.tell(f"replibo: {fault}")
    return not faults


def run_stage(
    config: Config, scale: str, files: Sequence[str], options: Sequence[str], deadline: float
) -> tuple[bool, list[str], list[str]]:
    """Run Snakemake on ``files`` until it ends or the deadline (`time.monotonic`) comes. A paper is
    published whenever another of its problems is finished, and at the end. A stop reaches all jobs, and
    their journals stay. Returns whether no job failed; the papers; those that were not published whole.
    """
    waiting: dict[tuple[str, str], list[Path]] = {}
    for path in map(Path, files):
        _, _, paper, problem, *_ = path.parts
        waiting.setdefault((paper, problem), []).append(path)
    papers = list(dict.fromkeys(paper for paper, _ in waiting))
    ended = 0
    try:
        with snakemake.started([*options, "--", *files]) as child:
            while time.monotonic() < deadline:
                try:
                    ended = child.wait(min(SECONDS, max(deadline - time.monotonic(), 0.1)))
                    break
                except subprocess.TimeoutExpired:
                    done = [key for key, blocks in waiting.items() if all(map(Path.exists, blocks))]
                    for key in done:
                        del waiting[key]
                    for paper in dict.fromkeys(paper for paper, _ in done):
                        publish(config, scale, paper)
    finally:
        refused = [paper for paper in papers if not publish(config, scale, paper)]
    return ended == 0, papers, refused


def run_stages(
    config: Config,
    scale: str,
    cores: int,
    *,
    minutes: float | None,
    at_once: bool,
    profile: str | None = None,
    options: Sequence[str] = (),
) -> None:
    """All stages, or one of everything where ``at_once``: for more cores than a stage's last runs use.

    Args:
        profile: one of Snakemake, which says where the jobs run; on this machine if it is None.
        options: other options of Snakemake.
    """
    check_cores(cores)
    if profile is not None:
        from snakemake.cli import get_profile_dir

        if get_profile_dir(profile) is None:
            raise RepliboError(
                f"--profile: must be a folder with Snakemake's config.yaml, got {profile}"
            )
    if minutes is not None and not minutes > 0:
        raise RepliboError(f"--minutes: must be a number > 0, got {minutes:g}")
    where = ["--cores", str(cores)] if profile is None else ["--profile", profile]
    deadline = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    failed: dict[str, None] = {}
    refused: set[str] = set()
    order = stages(config, scale)
    for stage in [list(itertools.chain(*order))] if at_once else order:
        if time.monotonic() >= deadline:
            break
        if files := missing(config, scale, stage):
            good, papers, left_out = run_stage(config, scale, files, [*where, *options], deadline)
            failed |= {} if good else dict.fromkeys(papers)
            refused |= {*left_out}
    faults = []
    if failed:
        faults.append(
            f"snakemake failed ({', '.join(failed)}): its messages above say why; if runs failed, "
            f"'replibo status --scale {scale}' names them. The same command goes on"
        )
    if refused:
        faults.append(f"not all was published ({', '.join(sorted(refused))}): see above")
    if faults:
        raise RepliboError("\n".join(faults))


def copy_results(scale: str, folder: Path) -> None:
    """Copy the runs, the journals and what is published to ``folder``, as they lie here."""
    for name in (f"results/{scale}", paths.PUBLISHED):
        if Path(name).is_dir():
            shutil.copytree(
                name,
                folder / name,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.csv", "*.md", "*.tex", "*.html", ".replibo-*"),
            )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="paper_runs",
        description=__doc__,
        epilog="All other options are Snakemake's: --default-resources, --set-resources, --jobs ...",
        allow_abbrev=False,
    )
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores to share")
    parser.add_argument("--scale", default="paper", help="smoke, quick or paper")
    parser.add_argument("--minutes", type=float, help="stop after so long; journals stay")
    parser.add_argument(
        "--at-once", action="store_true", help="all papers in one go, for many cores"
    )
    parser.add_argument(
        "--profile", metavar="FOLDER", help="Snakemake's profile of a cluster; all stages at once"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="copy runs, journals and what is published there"
    )
    parser.add_argument(
        "--configfile",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="files that are laid over the config",
    )
    options, others = parser.parse_known_args()
    config = load.load(overlays=options.configfile)
    if options.configfile:
        others += ["--configfile", *map(str, options.configfile)]
    scale = config.scale(options.scale)
    if options.out:
        check_writable(options.out / paths.PUBLISHED, folder=True)
    try:
        run_stages(
            config,
            scale,
            options.cores,
            minutes=options.minutes,
            at_once=options.at_once or options.profile is not None,
            profile=options.profile,
            options=others,
        )
    finally:
        if options.out:
            copy_results(scale, options.out)


if __name__ == "__main__":
    try:
        with stopping.on_signals(stopping.unwind):
            main()
    except stopping.Stopped:
        sys.exit(130)
    except RepliboError as error:
        sys.exit("\n".join(f"replibo: {line}" for line in str(error).splitlines()))
