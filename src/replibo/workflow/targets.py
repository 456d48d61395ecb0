"""What the Snakefile asks of the config: targets, input files, digests. Cheap to import."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from replibo.config import load, models
from replibo.config.models import Config, FigureEntry
from replibo.data.manifest import load_manifest
from replibo.errors import RepliboError, allowed
from replibo.run import code, identity

SCALES = (*models.SCALES, "published")
CLAIMS_FORMATS = ("html", "csv", "md", "tex")
FIGURE_FORMATS = ("pdf", "png")
TABLE_FORMATS = ("csv", "md", "tex")


def export(config: Config, raw: Mapping[str, Any]) -> None:
    """Set the environment that the jobs inherit.

    ``PATH`` gets the folder of the Python that runs Snakemake, where ``replibo`` lies. A config that
    ``--configfile`` or ``--config`` changed reaches the jobs as a file that ``REPLIBO_CONFIG`` names;
    a config as it lies in ``config/`` needs none.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.pop(
        "REPLIBO_CONFIG", None
    )  # what the shell says must not differ from the DAG's config
    if config != load.load():
        overlay = Path(
            ".snakemake", "replibo", f"{identity.identity_digest(dict(raw))}.yaml"
        ).absolute()
        overlay.parent.mkdir(parents=True, exist_ok=True)
        plain = json.loads(json.dumps(raw))  # Snakemake's mappings are ordered ones
        overlay.write_text(yaml.safe_dump(plain), encoding="utf-8")
        os.environ["REPLIBO_CONFIG"] = str(overlay)


def papers_at(config: Config, scale: str) -> list[str]:
    """The papers that have runs at a scale: all, or those with published traces."""
    if scale != "published":
        return list(config.papers)
    return [paper for paper in config.papers if published_files(paper)]


def published_files(paper: str) -> list[str]:
    """The published files of a paper; none where nothing is published."""
    return [str(path) for path in sorted(Path("published", paper).glob("*.*"))]


def published_problems(paper: str) -> set[str]:
    """The problems of a paper whose traces are published."""
    names = [Path(name).name for name in published_files(paper)]
    return {name.partition(".")[0] for name in names if name.endswith(".parquet")}


def outputs(config: Config, scale: str) -> list[str]:
    """Every figure and table of a scale, and its verdicts."""
    files = [f"results/{scale}/claims.{suffix}" for suffix in CLAIMS_FORMATS]
    for paper in papers_at(config, scale):
        files += [
            f"figures/{scale}/{paper}/{name}.{suffix}"
            for name in names_at(config, "figures", paper, scale)
            for suffix in FIGURE_FORMATS
        ]
        files += [
            f"results/{scale}/{paper}/{name}.{suffix}"
            for name in names_at(config, "tables", paper, scale)
            for suffix in TABLE_FORMATS
        ]
    return files


def names_at(config: Config, kind: str, paper: str, scale: str) -> list[str]:
    """The figures or tables (``kind``) of a paper that have something to show at a scale: all but those
    whose every problem is left out there."""
    entry = config.paper(paper)
    ran = set(entry.problems_at(scale)) if scale != "published" else published_problems(paper)
    known: dict[str, FigureEntry] = getattr(entry, kind)
    return [
        name for name, own in known.items() if not own.problems or not ran.isdisjoint(own.problems)
    ]


def run_files(config: Config, paper: str, scale: str) -> list[str]:
    """The files of all the runs that a paper has at a scale."""
    entry = config.paper(paper)
    return [
        f"results/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.parquet"
        for problem in entry.problems_at(scale)
        for algorithm in entry.settings(scale, problem).algorithms or []
        for block in entry.blocks(scale, problem, algorithm)
    ]


def data_files(config: Config, paper: str, scale: str, problem: str) -> list[str]:
    """The data files that a problem's runs read; none where stand-ins are used."""
    entry = config.paper(paper)
    found = entry.problems.get(problem)
    if found is None or entry.scales[scale].data == "stand_in":  # type: ignore[index]
        return []
    manifest = load_manifest()
    for name in found.data_files:
        if name not in manifest:
            raise RepliboError(
                f"config: {paper}.problems.{problem}.data_files: no data file is called {name!r}; "
                f"allowed: {allowed(manifest)}"
            )
    return [f"{config.data_dir}/{manifest[name].path}" for name in found.data_files]


def run_digest(config: Config, paper: str, scale: str, problem: str, algorithm: str) -> str:
    """What a run depends on."""
    load.run_settings(config, paper, scale, problem, algorithm)
    return identity.identity_digest(
        identity.run_identity(config.paper(paper), scale, problem, algorithm)
    )


def output_entry(config: Config, kind: str, paper: str, name: str) -> FigureEntry:
    """The config's entry of a figure or table (``kind``: ``figures`` or ``tables``)."""
    known: dict[str, FigureEntry] = getattr(config.paper(paper), kind)
    if name not in known:
        raise RepliboError(f"{paper} has no {kind[:-1]} called {name!r}; allowed: {allowed(known)}")
    return known[name]


def output_digest(config: Config, kind: str, paper: str, name: str) -> str:
    """What a figure or table depends on besides the traces: its code, its entry, and the labels and
    colours of the paper."""
    without = NO_FIGURE if kind == "tables" else frozenset()
    looks = {
        "output": output_entry(config, kind, paper, name).model_dump(),
        "paper": _shown(config, paper),
        "code": code.digest(f"replibo.papers.{paper}", without=without),
    }
    return identity.identity_digest(looks)


# What tables and verdicts do not depend on, though their modules import it.
NO_FIGURE = frozenset({"replibo.results.plotting"})


def _shown(config: Config, paper: str) -> dict[str, Any]:
    """What outputs take from the config besides their own entries: labels, looks, parameters, and the
    paper's own sizes."""
    entry = config.paper(paper)
    return {
        "problems": {n: (p.label, p.parameters) for n, p in entry.problems.items()},
        "algorithms": {
            n: (a.label, a.color, a.line, a.parameters) for n, a in entry.algorithms.items()
        },
        "sizes": {n: entry.settings("paper", n).model_dump() for n in entry.problems},
    }


def claims_digest(config: Config) -> str:
    """What the verdicts depend on besides the traces and the claims' file: the measures' code, and
    what they take from the config."""
    modules = ("replibo.verdicts", *(f"replibo.papers.{paper}" for paper in config.papers))
    shown = {paper: _shown(config, paper) for paper in config.papers}
    return identity.identity_digest(
        {"code": code.digest(*modules, without=NO_FIGURE), "shown": shown}
    )
