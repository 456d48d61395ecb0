"""``python -m replibo.workflow.summary SCALE``: what the runs of a scale said, on one screen."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from replibo import paths
from replibo.errors import RepliboError
from replibo.workflow import page, terminal


def text(scale: str) -> str:
    """The counts of verdicts for each paper, where all files lie, and the next step."""
    printed: dict[str, Counter[str]] = {}
    overall: dict[str, Counter[str]] = {}
    for rows in page.verdict_rows(scale).values():
        paper, all_readings = rows[0]["paper"], rows[0]["all readings"]
        printed.setdefault(paper, Counter())[rows[0]["as printed"]] += 1
        overall.setdefault(paper, Counter())[all_readings.partition(" (")[0]] += 1
    table = [
        (word, *(f"{printed[paper][word]} / {overall[paper][word]}" for paper in printed))
        for word in page.KINDS
        if any(own[word] for own in (*printed.values(), *overall.values()))
    ]
    lines = [
        f"Claims at scale {scale}, as printed / over all readings:",
        terminal.table(("label", *printed), table, tuple(printed)),
        "",
        f"each claim:  replibo claims --scale {scale}, or results/{scale}/verdicts.md",
        f"figures:     figures/{scale}, each with its caption beside it",
        f"tables:      results/{scale}",
        f"as a page:   snakemake --cores 2 {paths.PAGE.format(scale=scale)}",
    ]
    if scale != paths.PUBLISHED:
        lines += [
            "",
            "Runs this small decide nothing. Next: 'replibo check go_ucb_1_f1' runs one claim at the",
            "paper's size in about a minute, 'make page' shows the published runs,",
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
