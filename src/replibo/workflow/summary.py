"""``python -m replibo.workflow.summary SCALE``: what the runs of a scale said, on one screen."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from replibo import paths, verdicts
from replibo.config import load
from replibo.errors import RepliboError
from replibo.workflow import targets, terminal


def text(scale: str) -> str:
    """The counts of verdicts for each paper, where all files lie, and the next step."""
    judged = {
        paper: verdicts.read_written(Path(paths.judged(scale, paper)))
        for paper in targets.judged_papers(load.load(), scale)
    }
    table = []
    for label in get_args(verdicts.Overall):
        counts = [
            (sum(v.headline == label for v in of_paper), sum(v.overall == label for v in of_paper))
            for of_paper in judged.values()
        ]
        if any(map(any, counts)):
            table.append((label, *(f"{printed} / {overall}" for printed, overall in counts)))
    lines = [
        f"Claims at scale {scale}, as printed / over all readings:",
        terminal.table(("label", *judged), table, tuple(judged)),
        "",
        f"each claim:  replibo claims --scale {scale}, or results/{scale}/verdicts.md",
        f"figures:     figures/{scale}, each with its caption beside it",
        f"tables:      results/{scale}",
        f"as a site:   snakemake --cores 2 {paths.SITE.format(scale=scale)}",
    ]
    if scale != paths.PUBLISHED:
        lines += [
            "",
            "Runs this small decide nothing. Next: 'replibo check go_ucb_1_f1' runs one claim by",
            "twenty seeds in a minute, 'make site' shows the published runs,",
            "'replibo estimate all' says what the papers' own sizes cost.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="summary", description=__doc__)
    parser.add_argument("scale", metavar="SCALE")
    try:
        print(text(parser.parse_args().scale))
    except (RepliboError, OSError) as error:
        sys.exit(f"replibo: {error}")
