"""``python -m replibo.workflow.gallery``: what README shows, from the published traces."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from replibo import files
from replibo.errors import RepliboError

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


def with_verdicts(readme: str, verdicts: str) -> str:
    """``readme`` with the table between the two marks replaced.

    Raises:
        RepliboError: the marks are not there.
    """
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise RepliboError(f"README.md: the lines {START} and {END} are missing")
    return f"{before}{START}\n{verdicts.strip()}\n{END}{after}"


def verdict_table(csv_text: str) -> str:
    """The columns that README shows, as Markdown, from ``results/published/claims.csv``."""
    import csv
    import io

    from tabulate import tabulate

    rows = [
        (
            row["paper"],
            row["where"],
            row["statement"],
            row["ours"].replace("; ", "<br>"),
            row["verdict"],
        )
        for row in csv.DictReader(io.StringIO(csv_text))
    ]
    names = ("paper", "where", "claim", "ours", "verdict")
    return tabulate(rows, names, tablefmt="github", disable_numparse=True)


def main(root: Path = Path()) -> None:
    """Copy the figures to ``figures/gallery`` and write the verdicts into README.md."""
    for name in SHOWN:
        source = root / "figures" / "published" / name
        if source.exists():
            target = root / "figures" / "gallery" / name.replace("/", "_")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    readme = root / "README.md"
    claims = (root / "results" / "published" / "claims.csv").read_text(encoding="utf-8")
    content = with_verdicts(readme.read_text(encoding="utf-8"), verdict_table(claims))
    with files.written_whole(readme) as temporary:
        temporary.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (RepliboError, OSError) as error:
        sys.exit(f"replibo: {error}")
