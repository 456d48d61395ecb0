"""``python -m replibo.workflow.gallery``: what README shows, from the published traces."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from replibo import files, paths, verdicts
from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.verdicts import Verdict

WORDS = (
    "replicated",
    "holds",
    "partly",
    "holds in part",
    "not replicated",
    "does not hold",
    "inconclusive",
    "not run",
)
"""The verdicts, of full and of reduced runs."""

START, END = "<!-- verdicts: start -->", "<!-- verdicts: end -->"

# Figures under figures/published that README shows.
SHOWN = (
    "go_ucb/figure_1.png",
    "go_ucb/figure_1_variants.png",
    "neuralbo/figure_1.png",
    "neuralbo/figure_1_readings_standardised.png",
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


def with_verdicts(page: str, table: str, name: str = "README.md") -> str:
    """``page`` with the table between the two marks replaced.

    Raises:
        RepliboError: the marks are not there.
    """
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise RepliboError(f"{name}: the lines {START} and {END} are missing")
    return f"{before}{START}\n{table.strip()}\n{END}{after}"


def verdict_table(found: Sequence[Verdict]) -> str:
    """The verdicts on the claims of one paper, as Markdown."""
    rows = [
        (v.claim.where, v.claim.statement, v.claim.paper_value, "<br>".join(v.ours), v.verdict)
        for v in found
    ]
    return _markdown(rows, ("where", "claim", "paper", "ours", "verdict"))


def summary(found: Sequence[Verdict]) -> str:
    """How many claims of each paper have which verdict, as Markdown."""
    counts: dict[str, Counter[str]] = {}
    for v in found:
        counts.setdefault(v.paper, Counter())[v.verdict.partition(" (")[0]] += 1
    rows = [
        (f"[{paper}](docs/results/{paper}.md)", *(str(own[word] or "") for word in WORDS))
        for paper, own in counts.items()
    ]
    return _markdown(rows, ("paper", *WORDS))


def _markdown(rows: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    from tabulate import tabulate

    return tabulate(rows, names, tablefmt="github", disable_numparse=True)


def pages(config: Config) -> dict[Path, str]:
    """README and each paper's page of results, with the verdicts of the published traces."""
    found = verdicts.judge_all(config, config.papers, paths.PUBLISHED)
    tables = {Path("README.md"): summary(found)}
    for paper in config.papers:
        tables[paths.results_page(paper)] = verdict_table([v for v in found if v.paper == paper])
    return {
        path: with_verdicts(path.read_text(encoding="utf-8"), table, str(path))
        for path, table in tables.items()
    }


def main() -> None:
    """Copy the figures to ``figures/gallery`` and write the verdicts into the pages."""
    for name in SHOWN:
        source = Path("figures", paths.PUBLISHED, name)
        if source.exists():
            target = paths.GALLERY / name.replace("/", "_")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for path, content in pages(load.load()).items():
        with files.written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (RepliboError, OSError) as error:
        sys.exit(f"replibo: {error}")
