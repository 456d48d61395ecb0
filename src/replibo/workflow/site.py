"""The site: static HTML pages of the papers, the claims and the package.

The pages are Markdown in ``results/SCALE/site_pages/``. Templates (``site_template/*.md.j2``) fill them
from the config, the verdicts and the figures. Zensical makes the site from them. It needs no server and
no network.
"""

from __future__ import annotations

import csv
import fnmatch
import importlib.resources
import math
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

import replibo
from replibo import files, paths, verdict_tables, verdicts
from replibo.config import claims
from replibo.config.claims import Variation
from replibo.config.models import Config, PaperEntry
from replibo.errors import RepliboError
from replibo.papers import cross
from replibo.results import tables
from replibo.run import collect, pairs, published
from replibo.verdicts import Judgement, Verdict
from replibo.workflow import gallery, outputs, prose, site_curves, targets

TEMPLATE = Path(__file__).parent / "site_template"
README, READINGS = Path("README.md"), Path("READINGS.md")
GLOSSARY = Path("docs", "glossary.md")
GUIDES = {
    "Check and bench": Path("docs", "check_and_bench.md"),
    "Run all": Path("docs", "paper_scale.md"),
    "SLURM": Path("docs", "slurm.md"),
    "As a library": Path("docs", "library.md"),
    "Contribute": Path("CONTRIBUTING.md"),
    "Speed": Path("docs", "speed.md"),
    "Field reports": Path("docs", "field_reports.md"),
    "Faults": Path("docs", "results", "faults.md"),
}
"""The documents that the site has as pages, by their titles in the menu."""
API = ("library", "algorithms", "problems", "surrogates")
"""The modules and packages of the reference."""

LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""A relative link of a Markdown document: its path and its anchor."""
LABELS = get_args(verdicts.Overall)
"""The labels, in the order in which pages show them."""


def inputs(config: Config, scale: str) -> list[str]:
    """The files that the site of a scale is made of."""
    documents = [GLOSSARY, READINGS, *GUIDES.values()]
    if scale == paths.PUBLISHED:  # what came out is said of published runs alone
        documents.append(README)
    papers = targets.papers_at(config, targets.scale_of(config, scale))
    documents += [path for paper in papers for path in _sources(paper)]
    return [
        *targets.outputs(config, scale),
        *map(str, (*documents, *sorted(TEMPLATE.iterdir()))),
    ]


def write(config: Config, scale: str, index: Path) -> None:
    """Write the site: ``index`` and all other files beside it."""
    scale = targets.scale_of(config, scale)
    if index.name != "index.html" or index.parent.resolve() == Path.cwd():
        raise RepliboError(f"--output: must be FOLDER/index.html, got {index}")
    pairs.require(inputs(config, scale), paths.SITE.format(scale=scale))
    site = _Site(config, scale, index.parent.with_name(f"{index.parent.name}_pages"))
    site.write_pages()
    settings = yaml.safe_load((TEMPLATE / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = site.menu()
    settings["plugins"][-1]["mkdocstrings"]["handlers"]["python"]["paths"] = [
        str(Path(replibo.__file__).parents[1])
    ]
    file = site.folder / "mkdocs.yml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(file)]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise RepliboError(f"zensical: {(done.stdout + done.stderr).strip()}")
    shutil.rmtree(index.parent, ignore_errors=True)
    (site.folder / "site" / "404.html").unlink()  # its links need the root of a server
    (site.folder / "site").replace(index.parent)


@dataclass(frozen=True)
class Output:
    """A figure or a table of a paper.

    Attributes:
        files: PNG and PDF of a figure, CSV and LaTeX of a table, as links from the paper's pages.
        claims: patterns of the claims that it shows.
        text: a table as Markdown.
    """

    name: str
    caption: str
    files: tuple[str, ...]
    claims: tuple[str, ...]
    text: str = ""


class _Site:
    """The pages of one scale, written as Markdown below ``folder / "docs"``."""

    def __init__(self, config: Config, scale: str, folder: Path) -> None:
        import jinja2

        self.config, self.scale, self.folder = config, scale, folder
        self.papers = targets.judged_papers(config, scale)
        shown = targets.papers_at(config, scale)
        self.without_claims = [paper for paper in shown if paper not in self.papers]
        self.verdicts = {
            paper: verdicts.read_written(Path(paths.judged(scale, paper))) for paper in self.papers
        }
        self.pages = {
            READINGS: "readings.md",
            GLOSSARY: "glossary.md",
            README: "index.md",
        }
        self.pages |= {path: f"guide/{path.name}" for path in GUIDES.values()}
        self.pages |= {paths.results_page(paper): f"{paper}/index.md" for paper in self.papers}
        self.figures = {  # those of this scale, for the copies in fewer colours
            copy: Path("figures", scale, name) for copy, name in gallery.shown(config).items()
        }
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATE),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        environment.filters |= {"badge": _badge, "cell": _cell}
        environment.globals |= {
            "config": config,
            "scale": scale,
            "labels": LABELS,
            "counts": _counts,
            "tally": _tally,
            "repeats": _repeats,
            "reason": _reason,
            "sign": _sign,
            "sources": claims.SOURCES,
        }
        self.environment = environment

    # Pages

    def write_pages(self) -> None:
        """Write all pages and what they show."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("site.css", "site.js", "curves.js", "iframe-worker.js"):
            self._copied(TEMPLATE / name, f"assets/{name}")
        plotly = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
        with importlib.resources.as_file(plotly) as library:
            self._copied(library, "assets/plotly.min.js")
        stem = paths.VERDICT_MAP.format(scale=self.scale)
        caption = Path(f"{stem}.txt").read_text(encoding="utf-8").strip()
        picture = self._copied(Path(f"{stem}.png"))
        self._fill(
            "index.md",
            picture=picture,
            caption=caption,
            verdicts=self.verdicts,
            what_came_out=self._what_came_out(),
            without_claims={paper: self._conclusion(paper) for paper in self.without_claims},
        )
        for paper in self.papers:
            self._write_paper(paper)
        for paper in self.without_claims:
            self._write_figures(paper)
        for path in (GLOSSARY, *GUIDES.values()):
            self._page(self.pages[path], self._linked(path.read_text(encoding="utf-8"), path))
        self._fill(
            "readings.md",
            readings={
                paper: _by_reading(judged, self.config.paper(paper))
                for paper, judged in self.verdicts.items()
            },
            document=self._linked(_demoted(READINGS.read_text(encoding="utf-8")), READINGS),
        )
        for name in API:
            self._fill(f"reference/{name}.md", "reference.md", modules=_modules(name), name=name)

    def _write_paper(self, paper: str) -> None:
        entry, judged = self.config.paper(paper), self.verdicts[paper]
        figures, made_tables = self._write_figures(paper)
        metadata: dict[str, Any] = {}
        if self.scale == paths.PUBLISHED:
            metadata = collect.merged(runs.common for runs in published.of_paper(paper).values())
        words = {"paper": paper, "entry": entry, "judged": judged}
        table = self.environment.get_template("claims.md.j2").render(judged=judged)
        if self.scale == paths.PUBLISHED:
            document = paths.results_page(paper)
            text = self._linked(_demoted(document.read_text(encoding="utf-8")), document)
            results = gallery.filled(text, "verdicts", table, str(document))
        else:
            picture = self._copied(Path(paths.paper_map(self.scale, paper)[1]))
            results = f"![Map of the verdicts](../{picture})\n\n{table}"
        sources = [(path, f"../{self._copied(path)}") for path in _sources(paper)]
        facts = _facts(metadata)
        self._fill(
            f"{paper}/index.md", "paper.md", **words, facts=facts, sources=sources, results=results
        )
        costs = outputs.missing_costs(self.config, judged)
        titles = {verdict.name: verdict.claim.short for verdict in judged}
        findings = prose.findings(self.config, paper) if self.scale == paths.PUBLISHED else {}
        for verdict in judged:
            about = "\n".join(findings.get(verdict.name, ()))
            data = self.folder / "docs" / paper / verdict.name
            data.parent.mkdir(parents=True, exist_ok=True)
            verdicts.write(data.with_suffix(".json"), [verdict])
            tables.save(verdict_tables.table([verdict], costs), [data.with_suffix(".csv")])
            self._fill(
                f"{paper}/{verdict.name}.md",
                "claim.md",
                verdict=verdict,
                titles=titles,
                entry=entry,
                findings=self._linked(about, paths.results_page(paper)),
                figures=_showing(verdict, figures),
                tables=_showing(verdict, made_tables),
                costs=costs,
                cpu_hours=_cpu_hours(metadata, verdict),
            )

    def _conclusion(self, paper: str) -> str:
        """The conclusion of the cross table; empty of a paper, which has a page of its own."""
        if paper != "cross" or "ranks" not in self._names("tables", paper):
            return ""
        ranks, *_ = paths.table(self.scale, paper, "ranks")
        with Path(ranks).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
            return cross.conclusion(list(csv.DictReader(file)))

    def _what_came_out(self) -> dict[str, str]:
        """README's paragraph on each paper; empty at other scales, whose runs it is not about."""
        text = README.read_text(encoding="utf-8") if self.scale == paths.PUBLISHED else ""
        return {
            paper: self._linked(prose.paragraph(text, paper) if text else "", README)
            for paper in self.papers
        }

    def _write_figures(self, paper: str) -> tuple[list[Output], list[Output]]:
        """Write the pages with all figures and tables of a paper, and with its curves."""
        figures = [self._figure(paper, name) for name in self._names("figures", paper)]
        made_tables = [self._table(paper, name) for name in self._names("tables", paper)]
        words = {"paper": paper, "entry": self.config.paper(paper)}
        self._fill(
            f"{paper}/figures.md",
            "figures.md",
            **words,
            conclusion=self._conclusion(paper),
            figures=figures,
            tables=made_tables,
        )
        folder = self.folder / "docs" / "assets" / "curves" / paper
        problems, opened = site_curves.write(self.config, paper, self.scale, folder)
        sizes = {
            "rounds": site_curves.ROUNDS,
            "seeds": site_curves.SEEDS,
            "readable": site_curves.READABLE,
            "best": site_curves.BEST,
            "opened": opened,
        }
        self._fill(f"{paper}/curves.md", "curves.md", **words, **sizes, problems=problems)
        return figures, made_tables

    def menu(self) -> list[dict[str, Any]]:
        """The menu: titles, and pages below ``docs/``."""
        papers = []
        for paper in (*self.papers, *self.without_claims):
            figures, curves = f"{paper}/figures.md", f"{paper}/curves.md"
            pages: list[Any] = [{"Figures and tables": figures}, {"Curves": curves}]
            if paper in self.papers:
                names = [f"{paper}/{verdict.name}.md" for verdict in self.verdicts[paper]]
                pages = [f"{paper}/index.md", *pages, {"Claims": names}]
            papers.append({self.config.paper(paper).label: pages})
        guides = [{title: self.pages[path]} for title, path in GUIDES.items()]
        reference = [{f"replibo.{name}": f"reference/{name}.md"} for name in API]
        start = [{"Start": "index.md"}, {"Glossary": "glossary.md"}, {"Readings": "readings.md"}]
        return [{"Start": start}, *papers, {"Guide": guides}, {"Reference": reference}]

    # Files

    def _fill(self, page: str, template: str = "", **words: Any) -> None:
        self._page(page, self.environment.get_template(f"{template or page}.j2").render(**words))

    def _page(self, page: str, text: str) -> None:
        with files.written_whole(self.folder / "docs" / page) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _copied(self, path: Path, name: str = "") -> str:
        """Copy a file to ``docs/``; returns its path there. Code and config become text files, which
        browsers show and do not save."""
        text = path.suffix in (".py", ".yaml", ".yml", ".md", ".c", "")
        name = name or f"files/{path.as_posix()}{'.txt' * text}"
        target = self.folder / "docs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        return name

    def _linked(self, text: str, document: Path) -> str:
        """A document of the repository with links that work from its page. What has no page is copied."""
        depth = self.pages[document].count("/")

        def link(match: re.Match[str]) -> str:
            target = Path(os.path.normpath(document.parent / match[1]))
            if target in self.pages:
                anchor = "" if target.name == "README.md" else match[2] or ""
                return f"]({'../' * depth}{self.pages[target]}{anchor})"
            target = self.figures.get(target, target)
            if not target.is_file():
                raise RepliboError(f"{document}: the link to {match[1]} leads to no file")
            return f"]({'../' * depth}{self._copied(target)})"

        return LINK.sub(link, text)

    def _names(self, kind: targets.OutputKind, paper: str) -> list[str]:
        return targets.names_at(self.config, kind, paper, self.scale)

    def _figure(self, paper: str, name: str) -> Output:
        pdf, png, caption = map(Path, paths.figure(self.scale, paper, name))
        copies = tuple(f"../{self._copied(path)}" for path in (png, pdf))
        shown = targets.output_entry(self.config, "figures", paper, name).claims
        text = caption.read_text(encoding="utf-8").strip()
        return Output(name, text, copies, tuple(shown))

    def _table(self, paper: str, name: str) -> Output:
        by_ending = {Path(path).suffix: Path(path) for path in paths.table(self.scale, paper, name)}
        copies = tuple(f"../{self._copied(by_ending[ending])}" for ending in (".csv", ".tex"))
        shown = targets.output_entry(self.config, "tables", paper, name).claims
        text, _, caption = by_ending[".md"].read_text(encoding="utf-8").rpartition("\n\n")
        return Output(name, caption.strip(), copies, tuple(shown), text=text)


def _sources(paper: str) -> list[Path]:
    """The paper's files in the config."""
    candidates = (paths.CONFIG / f"{paper}.yaml", paths.claims_config(paper))
    return [path for path in candidates if path.exists()]


def _demoted(text: str) -> str:
    """A document without its title, its headings one level lower."""
    body = re.sub(r"\A# .*\n", "", text)
    return re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)


def _modules(name: str) -> list[str]:
    """The modules of a package of the reference, or the module itself."""
    folder = Path(replibo.__file__).with_name(name)
    names = [module.name for module in pkgutil.iter_modules([str(folder)])]
    public = [f"replibo.{name}.{module}" for module in names if not module.startswith("_")]
    return public or [f"replibo.{name}"]


# What the templates show of verdicts and runs


def _badge(label: str) -> str:
    return f'<span class="label {label.replace(" ", "-")}">{label}</span>'


def _cell(text: object) -> str:
    """A text as Markdown on one line, in a table or elsewhere. Only backticks keep their meaning."""
    parts = str(text).replace("\n", " ").split("`")
    signs = str.maketrans({sign: f"&#{ord(sign)};" for sign in "*_|<"})
    return "`".join(part if i % 2 else part.translate(signs) for i, part in enumerate(parts))


def _counts(judged: Sequence[Verdict]) -> str:
    """How many claims have which label as printed, as badges with numbers."""
    labels: Counter[str] = Counter(verdict.headline for verdict in judged)
    return " ".join(f"{labels[label]}&nbsp;{_badge(label)}" for label in LABELS if labels[label])


def _tally(verdict: Verdict) -> str:
    """In how many of the readings that count a claim holds."""
    return f"{verdict.holding} of {len(verdict.counting)}"


def _repeats(verdict: Verdict) -> str:
    """Which readings judge the printed runs again, as a sentence after the tally; empty if none does."""
    names = [f"`{reading.name}`" for reading in verdict.repeating]
    if not names:
        return ""
    judges = "judge" if len(names) > 1 else "judges"
    said = f"{', '.join(names)} {judges} the same runs as `printed` by another rule"
    return f"{said}: no independent evidence."


def _sign(verdict: Verdict) -> str:
    """Where an effect lies if the claim is true, as a sentence."""
    rows = (*verdict.readings, *verdict.controls)
    effects = [effect for row in rows for effect in row.effects]
    if all(effect.equality for effect in effects):
        return "The claim is that two values are equal, so an effect near 0 speaks for it."
    if any(effect.equality for effect in effects):
        return (
            "It is positive as claimed, or near 0 if a comparison claims that two values are equal."
        )
    return "It is positive as claimed."


def _reason(row: Judgement, entry: PaperEntry) -> str:
    """Why there is no verdict, by the labels of the paper."""
    missing = [(entry.problems[p].label, entry.algorithms[a].label) for p, a in row.missing]
    return f"no runs of {verdicts.in_words(missing)}" if missing else row.reason


def _by_reading(judged: Sequence[Verdict], entry: PaperEntry) -> list[dict[str, Any]]:
    """Each reading and control of a paper: what it replaces, and its claims by their labels in it."""
    readings: dict[str, dict[str, Any]] = {}
    for verdict in judged:
        for row in (*verdict.readings, *verdict.controls):
            empty: dict[str, Any] = {
                "name": row.name,
                "source": row.source,
                "variations": [],
                "claims": {},
            }
            reading = readings.setdefault(row.name, empty)
            _add(reading["variations"], verdict.claim.variations[row.name])
            reading["claims"].setdefault(verdict.label(row), []).append(verdict)
    for reading in readings.values():
        texts = ("; ".join(variation.in_words(entry)) for variation in reading.pop("variations"))
        reading["changes"] = list(dict.fromkeys(texts))
    return list(readings.values())


def _add(variations: list[Variation], variation: Variation) -> None:
    """Add a variation to others of its name: to the first one with which it agrees, else as one more."""
    for i, other in enumerate(variations):
        both = (other.problems, variation.problems), (other.algorithms, variation.algorithms)
        agree = all(a[name] == b[name] for a, b in both for name in a.keys() & b.keys())
        if agree and other.words == variation.words:
            problems, algorithms = (a | b for a, b in both)
            variations[i] = other.model_copy(
                update={"problems": problems, "algorithms": algorithms}
            )
            return
    variations.append(variation)


def _showing(verdict: Verdict, outputs: Sequence[Output]) -> list[Output]:
    """The figures or tables that belong to the claim: those that its place names, and those whose entry
    in the config names the claim."""
    place = re.findall(r"(Figure|Table) (\d+)", verdict.claim.where)
    named = [f"{kind.lower()}_{number}" for kind, number in place]
    return [
        output
        for output in outputs
        if output.name in named
        or any(fnmatch.fnmatchcase(verdict.name, pattern) for pattern in output.claims)
    ]


def _facts(metadata: Mapping[str, Any]) -> list[str]:
    """What the metadata of published runs say of all of them."""
    if not metadata:
        return []
    timings = metadata["timings"].values()
    hours = math.fsum(timing.get("cpu_seconds", 0.0) for timing in timings) / 3600
    runs, queries = (sum(timing[key] for timing in timings) for key in ("runs", "queries"))
    versions = [", ".join(f"{name} {v}" for name, v in row.items()) for row in metadata["versions"]]
    return [
        f"{runs:,} runs, {queries:,} queries, {hours:,.0f} CPU hours",
        f"Machines: {'; '.join(metadata['machine'])}",
        f"Versions: {'; or '.join(versions)}",
    ]


def _cpu_hours(metadata: Mapping[str, Any], verdict: Verdict) -> str:
    """The CPU hours of the published runs that a claim names; empty if they are not known."""
    timings = metadata.get("timings", {})
    names = [f"{p}/{a}" for p in verdict.claim.problems for a in verdict.claim.algorithms]
    seconds = [
        timings[name]["cpu_seconds"] for name in names if "cpu_seconds" in timings.get(name, {})
    ]
    return f"{math.fsum(seconds) / 3600:.2g}" if seconds else ""
