"""The results page: one folder of static files, made from figures, tables and verdicts that lie there.

``index.html`` needs no server and no network. All that it links to is copied beside it.
"""

from __future__ import annotations

import csv
import math
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from replibo import files, paths
from replibo.config import claims
from replibo.config.claims import Claim
from replibo.config.models import Config
from replibo.errors import RepliboError
from replibo.run import pairs
from replibo.workflow import targets
from replibo.workflow.targets import OutputKind

KINDS = {
    "holds": "holds",
    "holds with exceptions": "part",
    "mixed": "depends",
    "fails": "not",
    "undecided": "open",
    "holds by construction": "none",
    "not run": "none",
}
"""The colour's class for each verdict, in the order of the counts."""

HERE = Path(__file__).parent
READINGS = Path("READINGS.md")
FAULTS = Path("docs", "results", "faults.md")
API = Path("results", "api")
"""The reference of functions and classes, where ``make api`` writes it."""
NAMED = re.compile(r"\b(?:reading|control)s? (?:<code>\w+</code>(?:, | and )?)+", re.IGNORECASE)
"""What a row of READINGS.md says of the readings and controls that it stands for."""


DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>replibo: readings</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<p><a href="index.html">Results</a></p>
{body}
</body>
</html>
"""


def inputs(config: Config, scale: str) -> list[str]:
    """The files that the page of a scale is made of."""
    made_with = [HERE / f"page.{ending}" for ending in ("html.j2", "css", "js")]
    papers = targets.papers_at(config, targets.scale_of(config, scale))
    said = [path for paper in papers for _, path in _sources(paper)]
    return [*targets.outputs(config, scale), *map(str, (*said, READINGS, FAULTS, *made_with))]


def write(config: Config, scale: str, index: Path) -> None:
    """Write the page to ``index`` and what it links to beside it.

    Raises:
        RepliboError: figures, tables or verdicts are missing.
    """
    scale = targets.scale_of(config, scale)
    if index.suffix != ".html":
        raise RepliboError(f"--output: must end with .html, got {index}")
    if index.parent.resolve() == Path.cwd():
        raise RepliboError(f"--output: must lie in a folder of the page's own, got {index}")
    pairs.require(inputs(config, scale), paths.PAGE.format(scale=scale))
    import jinja2

    folder = index.parent
    style = (HERE / "page.css").read_text(encoding="utf-8")
    rows = verdict_rows(scale)
    papers = [
        _paper(config, scale, name, rows, folder) for name in targets.papers_at(config, scale)
    ]
    found = [claim for paper in papers for claim in paper["claims"]]
    counted = Counter(claim["headline"] for claim in found)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["kind"] = KINDS.__getitem__
    content = environment.get_template("page.html.j2").render(
        style=style,
        script=(HERE / "page.js").read_text(encoding="utf-8"),
        scale=scale,
        papers=papers,
        claims=found,
        counts=[(word, counted[word]) for word in KINDS if counted[word]],
        map=_copied(Path(_ending(paths.verdicts(scale), ".png")), folder),
        faults=_html(FAULTS.read_text(encoding="utf-8")),
        api=_reference(folder),
    )
    _readings(folder / "readings.html", style)
    with files.written_whole(index) as temporary:
        temporary.write_text(content, encoding="utf-8")


def verdict_rows(scale: str) -> dict[str, list[dict[str, str]]]:
    """The verdicts' rows, a reading or control each, by claim.

    Raises:
        RepliboError: they were not made.
    """
    path = Path(_ending(paths.verdicts(scale), ".csv"))
    if not path.exists():
        raise RepliboError(f"{path}: not found; 'snakemake --cores 2 {path}' makes it")
    with path.open(encoding="utf-8", newline="") as file:
        found: dict[str, list[dict[str, str]]] = {}
        for row in csv.DictReader(file):
            found.setdefault(row["claim"], []).append(row)
    return found


# Papers and claims, as the template wants them


def _sources(paper: str) -> list[tuple[str, Path]]:
    """What of the config the page links to, and by which words."""
    found = [("config", paths.CONFIG / f"{paper}.yaml")]
    if (own := paths.claims_config(paper)).exists():
        found.append(("claims and rules", own))
    return found


def _paper(
    config: Config,
    scale: str,
    name: str,
    rows: Mapping[str, Sequence[Mapping[str, str]]],
    folder: Path,
) -> dict[str, Any]:
    entry, own = config.paper(name), claims.load(config, name)
    if new := [claim for claim in own if claim not in rows]:
        path = _ending(paths.verdicts(scale), ".csv")
        raise RepliboError(
            f"{path}: no verdict on {', '.join(new)}; 'snakemake --cores 2 {path}' judges it"
        )
    metadata = pairs.published_metadata(name) if scale == paths.PUBLISHED else {}
    figures = [
        _Output(config, scale, name, output, "figures", folder)
        for output in targets.names_at(config, "figures", name, scale)
    ]
    tables = [
        _Output(config, scale, name, output, "tables", folder)
        for output in targets.names_at(config, "tables", name, scale)
    ]
    links = [(said, _as_text(path, folder)) for said, path in _sources(name)]
    links.append(("readings of the paper", f"readings.html#{name}"))
    traces = paths.published_traces if metadata else (lambda *_: [])
    files_of = {p: [_copied(f, folder) for f in traces(name, p)] for p in entry.problems}
    return {
        "name": name,
        "title": entry.title,
        "reference": entry.reference,
        "facts": _facts(metadata),
        "links": links,
        "claims": [
            _claim(claim, own[claim], rows[claim], figures, tables)
            | {"cost": _cost(metadata, own[claim])}
            | {"links": _links(own[claim], tables, files_of, links)}
            for claim in own
        ],
        "outputs": [(made.name, made.caption, made.page) for made in (*figures, *tables)],
    }


class _Output:
    """A figure or a table, copied beside the page."""

    def __init__(
        self, config: Config, scale: str, paper: str, name: str, kind: OutputKind, folder: Path
    ) -> None:
        self.name = name
        self.pairs = set(targets.output_pairs(config, kind, paper, name, scale))
        if kind == "figures":
            pdf, png, caption = (Path(path) for path in paths.figure(scale, paper, name))
            self.caption = caption.read_text(encoding="utf-8").strip()
            self.pdf, self.page = _copied(pdf, folder), _copied(png, folder)
            with Image.open(png) as picture:
                self.size = picture.size
        else:
            self.caption = targets.output_entry(config, kind, paper, name).caption
            self.page = _copied(Path(_ending(paths.table(scale, paper, name), ".html")), folder)


def _nearest(claim: Claim, outputs: Sequence[_Output]) -> _Output | None:
    """What shows the claim's runs: the output that the claim's place names, else the one that shows most
    of them and least else."""
    words = re.findall(r"(Figure|Table) (\d+)", claim.where)
    named = [f"{kind.lower()}_{number}" for kind, number in words]
    own = {(problem, name) for problem in claim.problems for name in claim.algorithms}

    def merit(made: _Output) -> tuple[bool, int, int]:
        shared = len(own & made.pairs)
        return made.name in named and shared > 0, shared, -len(made.pairs)

    best = max(outputs, key=merit, default=None)
    return best if best is not None and merit(best)[1] else None


def _claim(
    name: str,
    claim: Claim,
    rows: Sequence[Mapping[str, str]],
    figures: Sequence[_Output],
    tables: Sequence[_Output],
) -> dict[str, Any]:
    judged = [
        {
            "name": row["reading"],
            "source": row["source"],
            "replaces": row["replaces"],
            "verdict": row["verdict"],
            "word": row["verdict"].partition(" (")[0],
            "ours": row["ours"].split("; "),
            "seeds": int(row["seeds"]),
            "decides": bool(row["decides"]),
        }
        for row in rows
    ]
    overall, _, rest = rows[0]["all readings"].partition(" (")
    figure = _nearest(claim, figures)
    return {
        "name": name,
        "short": claim.short,
        "statement": claim.statement,
        "where": claim.where,
        "paper_value": claim.paper_value,
        "rule": claim.rule,
        "headline": rows[0]["as printed"],
        "overall": overall,
        "effects": rows[0]["effects"],
        "shares": rows[0]["shares runs with"],
        "summary": rest.replace("): ", "; ").removesuffix(")"),
        "readings": [own for own in judged if own["source"] != "control"],
        "controls": [own for own in judged if own["source"] == "control"],
        "figure": figure
        and {
            "name": figure.name,
            "caption": figure.caption,
            "png": figure.page,
            "pdf": figure.pdf,
            "size": figure.size,
        },
    }


def _links(
    claim: Claim,
    tables: Sequence[_Output],
    traces: Mapping[str, Sequence[str]],
    links: Sequence[tuple[str, str]],
) -> list[tuple[str, str]]:
    """The claim's table, traces, config and readings."""
    table = _nearest(claim, tables)
    found = [(f"table {table.name}", table.page)] if table else []
    for problem in claim.problems:
        found += [(f"traces {Path(link).stem}", link) for link in traces[problem]]
    return [*found, *links]


# How long it took, on what, and by which code


def _facts(metadata: Mapping[str, Any]) -> list[str]:
    """What the metadata of published runs say of all of them."""
    if not metadata:
        return []
    seconds = [own.get("cpu_seconds", 0.0) for own in metadata["timings"].values()]
    runs = sum(own.get("runs", 0) for own in metadata["timings"].values())
    numbers = [
        ", ".join(f"{name} {version}" for name, version in own.items())
        for own in metadata["versions"]
    ]
    return [
        f"{runs:,} runs, {math.fsum(seconds) / 3600:.3g} CPU hours, {metadata['rows']:,} queries",
        f"Machine: {'; '.join(metadata['machine'])}",
        f"Commit: {', '.join(metadata['commit'])}",
        f"Versions: {'; or '.join(numbers)}",
    ]


def _cost(metadata: Mapping[str, Any], claim: Claim) -> str:
    """CPU hours of the runs that the claim names."""
    timings = metadata.get("timings", {})
    own = [timings.get(f"{p}/{a}") for p in claim.problems for a in claim.algorithms]
    known = [found["cpu_seconds"] for found in own if found and "cpu_seconds" in found]
    return f"Its runs took {math.fsum(known) / 3600:.2g} CPU hours." if known else ""


# Files beside the page


def _ending(names: Sequence[str], ending: str) -> str:
    """The first of the files that ends so."""
    return next(name for name in names if name.endswith(ending))


def _copied(path: Path, folder: Path) -> str:
    """Copy a file to the same place below the page's folder; returns the link to it."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    return path.as_posix()


def _as_text(path: Path, folder: Path) -> str:
    """The same under a name that browsers show and do not save."""
    link = _copied(path, folder)
    (folder / link).replace(folder / f"{link}.txt")
    return f"{link}.txt"


def _html(markdown: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").render(markdown)


def _reference(folder: Path) -> str | None:
    """Copy the reference, where it was made; returns the link to it."""
    if not (API / "index.html").is_file():
        return None
    shutil.copytree(API, folder / "api", dirs_exist_ok=True)
    return "api/index.html"


def _readings(target: Path, style: str) -> None:
    """READINGS.md as a page: ``#go_ucb`` is a paper's section, ``#go_ucb.stock`` the row of a reading."""
    body = ""
    for part in re.split(r"(?=<h2>)", _html(READINGS.read_text(encoding="utf-8"))):
        title = re.match(r"<h2>(.+?)</h2>", part)
        section = title[1].lower().replace("-", "_") if title else ""
        body += _anchored(part.replace("<h2>", f'<h2 id="{section}">'), section)
    with files.written_whole(target) as temporary:
        temporary.write_text(DOCUMENT.format(style=style, body=body), encoding="utf-8")


def _anchored(part: str, section: str) -> str:
    """An anchor at the first row that stands for a reading or control."""
    seen: set[str] = set()

    def anchor(name: re.Match[str]) -> str:
        if name[1] in seen:
            return name[0]
        seen.add(name[1])
        return f'<code id="{section}.{name[1]}">{name[1]}</code>'

    return NAMED.sub(lambda words: re.sub(r"<code>(\w+)</code>", anchor, words[0]), part)
