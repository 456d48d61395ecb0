"""``python -m replibo.workflow.gallery``: what README shows, from the published traces."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from PIL import Image

from replibo import files, paths, verdicts
from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.threads import one_thread
from replibo.verdicts import Verdict
from replibo.workflow import prose, targets

SUMMARY = Path("docs", "results", "summary.md.j2")
"""The template of README's paragraphs on the papers."""


def shown(config: Config, rendered: Mapping[Path, str] | None = None) -> dict[Path, str]:
    """The copies in ``figures/gallery`` to which README and the pages of results link, and for each the
    figure in ``figures/SCALE`` that it is a copy of. ``rendered`` has the pages that are not yet written.
    """
    pages = [*Path().glob("README.md"), *Path("docs", "results").glob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages} | dict(rendered or {})
    text = "".join(texts.values())
    figures = {}
    for name in sorted(set(re.findall(rf"{paths.GALLERY}/(\w+\.png)", text))):
        paper = next((paper for paper in config.papers if name.startswith(f"{paper}_")), "")
        figures[paths.GALLERY / name] = name.replace(f"{paper}_", f"{paper}/", 1) if paper else name
    return figures


def filled(page: str, mark: str, text: str, name: str = "README.md") -> str:
    """``page`` with the text between the marks ``<!-- mark: start -->`` and ``end`` replaced."""
    starts, ends = f"<!-- {mark}: start -->", f"<!-- {mark}: end -->"
    before, start, rest = page.partition(starts)
    _, end, after = rest.partition(ends)
    if not (start and end):
        raise RepliboError(f"{name}: the lines {starts} and {ends} are missing")
    return f"{before}{starts}\n{text.strip()}\n{ends}{after}"


def verdict_table(judged: Sequence[Verdict]) -> str:
    """One row a claim as Markdown: its name, a few words, the labels as printed and over all readings."""
    rows = [(f"`{v.name}`", v.claim.short, v.headline, v.overall) for v in judged]
    return _markdown(rows, ("claim", "in short", "as printed", "all readings"))


def summary(judged: Sequence[Verdict]) -> str:
    """A Markdown table of the labels of each paper's claims, as printed and over all readings, with
    the number of replicated claims."""
    words = get_args(verdicts.Overall)
    rows = []
    for paper in dict.fromkeys(v.paper for v in judged):
        of_paper = [v for v in judged if v.paper == paper]
        sizes = str(len(of_paper)), str(verdicts.sets_of_runs(of_paper))
        link = f"[{paper}](docs/results/{paper}.md)"
        replicated = sum(v.replicated for v in of_paper)
        for name, title, labels, last in (
            (link, "as printed", [v.headline for v in of_paper], replicated),
            (paper, "all readings", [v.overall for v in of_paper], 0),
        ):
            counts = Counter(labels)
            cells = (str(count or "") for count in (*(counts[word] for word in words), last))
            rows.append((name, *sizes, title, *cells))
    return _markdown(rows, ("paper", "claims", "sets of runs", "judged", *words, "replicated"))


def _markdown(rows: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """Not padded to columns: README has little room, and the cells of the pages are long."""
    lines = (names, ["---"] * len(names), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pages(config: Config) -> dict[Path, str]:
    """README and each paper's page of results, with the verdicts of the published traces."""
    judged = verdicts.judge_all(config, config.papers, paths.PUBLISHED)
    papers = targets.judged_papers(config, paths.PUBLISHED)
    readme = Path("README.md")
    numbers = {paper: prose.Numbers(config, paper, judged) for paper in papers}
    text = filled(readme.read_text(encoding="utf-8"), "summary", prose.render(SUMMARY, **numbers))
    texts = {readme: filled(text, "verdicts", summary(judged))}
    for paper in papers:
        path = paths.results_page(paper)
        table = verdict_table([verdict for verdict in judged if verdict.paper == paper])
        texts[path] = filled(prose.page(config, paper, judged), "verdicts", table, str(path))
    return texts


@one_thread()
def main() -> None:
    """Write the verdicts into the pages, and copy the figures that they show, in 256 colours, to
    ``figures/gallery``."""
    config = load.load()
    rendered = pages(config)
    copies = {
        target: Path("figures", paths.PUBLISHED, name)
        for target, name in shown(config, rendered).items()
    }
    for source in copies.values():
        if not source.exists():
            raise RepliboError(f"{source}: not found; 'snakemake --cores 2 published' makes it")
    for path, content in rendered.items():
        with files.written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
    for target, source in copies.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        # A third of the bytes, for they are in the repository.
        with Image.open(source) as picture:
            octree, none = Image.Quantize.FASTOCTREE, Image.Dither.NONE
            colours = picture.convert("RGB").quantize(256, method=octree, dither=none)
            colours.save(target, optimize=True, dpi=picture.info["dpi"])


if __name__ == "__main__":
    try:
        main()
    except (RepliboError, OSError) as error:
        sys.exit(f"replibo: {error}")
