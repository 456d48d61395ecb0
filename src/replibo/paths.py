"""The name of every file that the workflow makes or reads, in the project's root folder.

The templates are what Snakemake's rules say; the functions fill them in.
"""

from __future__ import annotations

import re
from pathlib import Path

PAIR = "results/{scale}/{paper}/{problem}/{algorithm}"
"""The folder of one problem and algorithm."""
BLOCK = f"{PAIR}/seeds_{{block}}.parquet"
"""The runs of one block of seeds."""
COLLECTED = f"{PAIR}/runs.parquet"
"""All blocks of a problem and algorithm that has several."""
FIGURE = "figures/{scale}/{paper}/{figure}"
TABLE = "results/{scale}/{paper}/{table}"
VERDICTS = "results/{scale}/verdicts"
VERDICT_MAP = "figures/{scale}/verdict_map"
PAPER_MAP = "figures/{scale}/{paper}/verdict_map"
"""These five take the endings below."""
JUDGED = "results/{scale}/{paper}/verdicts.json"
"""One paper's verdicts, from which those of all papers are put together."""
CLAIM = "results/{scale}/{paper}/claims/{claim}/{reading}.json"
"""The verdict on one claim in one reading or control, or in all of them (`ALL`)."""
ALL = "all"

SITE = "results/{scale}/site/index.html"
"""The first page of the site; all others lie beside it."""

FIGURE_FORMATS = ("pdf", "png", "txt")
"""The last is the caption."""
TABLE_FORMATS = ("csv", "md", "tex", "html")
VERDICTS_FORMATS = ("html", "csv", "md", "tex")

PUBLISHED = "published"
"""The folder of the published traces, and the scale that reads them."""

CONFIG = Path("config")
SHIPPED = Path(__file__).parent / "shipped"
"""What a wheel brings of a clone: ``config/``, and the digests of ``published/`` (setup.py)."""
GALLERY = Path("figures", "gallery")


def block(scale: str, paper: str, problem: str, algorithm: str, block: str) -> str:
    """The file of one block of runs."""
    return BLOCK.format(scale=scale, paper=paper, problem=problem, algorithm=algorithm, block=block)


def collected(scale: str, paper: str, problem: str, algorithm: str) -> str:
    """The file of all runs of a problem and algorithm."""
    return COLLECTED.format(scale=scale, paper=paper, problem=problem, algorithm=algorithm)


def journal_folder(output: Path, scale: str, paper: str, problem: str, algorithm: str) -> Path:
    """The folder beside ``output`` in which a block of runs keeps its journals."""
    return output.parent / f"journal_{paper}_{problem}_{algorithm}_{scale}"


def figure(scale: str, paper: str, name: str) -> list[str]:
    """The files of a figure."""
    stem = FIGURE.format(scale=scale, paper=paper, figure=name)
    return [f"{stem}.{ending}" for ending in FIGURE_FORMATS]


def table(scale: str, paper: str, name: str) -> list[str]:
    """The files of a table."""
    stem = TABLE.format(scale=scale, paper=paper, table=name)
    return [f"{stem}.{ending}" for ending in TABLE_FORMATS]


def verdicts(scale: str) -> list[str]:
    """The files of the verdicts on all claims: the tables, and the map."""
    tables = [f"{VERDICTS.format(scale=scale)}.{ending}" for ending in VERDICTS_FORMATS]
    return tables + [f"{VERDICT_MAP.format(scale=scale)}.{ending}" for ending in FIGURE_FORMATS]


def judged(scale: str, paper: str) -> str:
    """The file of one paper's verdicts."""
    return JUDGED.format(scale=scale, paper=paper)


def claim(scale: str, paper: str, claim: str, reading: str) -> str:
    """The file of the verdict on one claim in one reading or control, or in all."""
    return CLAIM.format(scale=scale, paper=paper, claim=claim, reading=reading)


def paper_map(scale: str, paper: str) -> list[str]:
    """The files of the map of one paper's verdicts."""
    stem = PAPER_MAP.format(scale=scale, paper=paper)
    return [f"{stem}.{ending}" for ending in FIGURE_FORMATS]


def claims_config(paper: str) -> Path:
    """The claims of a paper, in the config."""
    return CONFIG / "claims" / f"{paper}.yaml"


def results_page(paper: str) -> Path:
    """The page with a paper's verdicts."""
    return Path("docs", "results", f"{paper}.md")


def published_folder(paper: str) -> Path:
    """The folder of a paper's published traces."""
    return Path(PUBLISHED, paper)


def is_published(paper: str) -> bool:
    """Whether any trace of a paper is published."""
    return any(published_folder(paper).glob("*/*.parquet"))


def published_traces(paper: str, problem: str, algorithm: str) -> Path:
    """The file of a pair's published traces."""
    return published_folder(paper) / problem / f"{algorithm}.parquet"


def match(template: str, path: str, endings: tuple[str, ...]) -> dict[str, str] | None:
    """The words that fill ``template``, followed by one of ``endings``, to give ``path``; None where
    none do."""
    reading = r"(?:\.\w+)?"  # table_2.pooled

    def group(word: re.Match[str]) -> str:
        return rf"(?P<{word[1]}>[\w@-]+{reading if word[1] in ('figure', 'table') else ''})"

    pattern = re.sub(r"\\{(\w+)\\}", group, re.escape(template))
    if endings:
        pattern += rf"\.(?:{'|'.join(endings)})"
    fit = re.fullmatch(pattern, path)
    return fit.groupdict() if fit else None


def repository() -> str | None:
    """The address of the repository, as the package's metadata name it (``project.urls``)."""
    import importlib.metadata

    urls = importlib.metadata.metadata("replibo").get_all("Project-URL") or []
    addresses = dict(url.split(", ", 1) for url in urls)
    return addresses["Repository"].rstrip("/") if "Repository" in addresses else None


def clone() -> str:
    """How to get a clone, for messages."""
    return f"git clone {repository() or '<the repository>'}; see README.md"
