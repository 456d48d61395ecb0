"""``python -m replibo.workflow.gallery``: what README shows, from the published traces."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from replibo import files, paths, verdicts
from replibo.config import load
from replibo.errors import RepliboError
from replibo.verdicts import Verdict

START, END = "<!-- verdicts: start -->", "<!-- verdicts: end -->"

# Figures under figures/published that README shows.
SHOWN = (
    "go_ucb/figure_1.png",
    "go_ucb/figure_1_variants.png",
    "neuralbo/figure_1.png",
    "neuralbo/figure_1_readings.png",
    "neuralbo/figure_2.png",
    "neuralbo/figure_3.png",
    "neuralbo/figure_5.png",
    "neuralbo/figure_6.png",
    "neuralbo/robot_strip.png",
    "neuralbo/sensitive_images.png",
    "bbo/performance.png",
    "bbo/frontier.png",
    "lb_gp_ucb/figure_1.png",
    "lb_gp_ucb/figure_2.png",
    "lb_gp_ucb/figure_3.png",
    "lb_gp_ucb/figure_3_extra.png",
    "lb_gp_ucb/figure_4.png",
)


def with_verdicts(readme: str, table: str) -> str:
    """``readme`` with the table between the two marks replaced.

    Raises:
        RepliboError: the marks are not there.
    """
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise RepliboError(f"README.md: the lines {START} and {END} are missing")
    return f"{before}{START}\n{table.strip()}\n{END}{after}"


def verdict_table(found: Sequence[Verdict]) -> str:
    """The columns that README shows, as Markdown."""
    from tabulate import tabulate

    rows = [
        (v.paper, v.claim.where, v.claim.statement, "<br>".join(v.ours), v.verdict) for v in found
    ]
    names = ("paper", "where", "claim", "ours", "verdict")
    return tabulate(rows, names, tablefmt="github", disable_numparse=True)


def main() -> None:
    """Copy the figures to ``figures/gallery`` and write the verdicts into README.md."""
    for name in SHOWN:
        source = Path("figures", paths.PUBLISHED, name)
        if source.exists():
            target = paths.GALLERY / name.replace("/", "_")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    readme = Path("README.md")
    config = load.load()
    found = verdicts.judge_all(config, config.papers, paths.PUBLISHED)
    content = with_verdicts(readme.read_text(encoding="utf-8"), verdict_table(found))
    with files.written_whole(readme) as temporary:
        temporary.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (RepliboError, OSError) as error:
        sys.exit(f"replibo: {error}")
