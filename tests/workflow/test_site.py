"""The site's documents and cells. `test_smoke` builds the whole site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from replibo import paths, verdicts
from replibo.config import claims, load
from replibo.errors import RepliboError
from replibo.results import effects
from replibo.results.runs import read
from replibo.run import pairs
from replibo.workflow import site, site_curves


def test_the_glossary_has_every_label_source_and_unit(root: Path) -> None:
    text = (root / site.GLOSSARY).read_text(encoding="utf-8")
    for label in get_args(verdicts.Overall):
        assert f"| {label} |" in text
    for source, words in claims.SOURCES.items():
        assert f"*{source}* ({words})" in text.replace("\n", " ")
    for unit, meaning in effects.UNITS.items():
        assert f"| {effects.short(unit)} | {meaning} |" in text


def test_main_claims_are_claims_of_their_paper(root: Path) -> None:
    config = load.load(root / "config")
    for paper, entry in config.entries.items():
        judged = claims.load(config, paper)
        assert set(entry.main_claims) <= judged.keys()
        assert 1 <= len(entry.main_claims) <= 4 if judged else not entry.main_claims


def test_a_cell_shows_signs_as_they_are() -> None:
    assert site._cell("|θ̂*| < `a_b`\nx") == "&#124;θ̂&#42;&#124; &#60; `a_b` x"


def test_a_link_that_leads_nowhere_is_named(root: Path, tmp_path: Path) -> None:
    pages = site._Site.__new__(site._Site)
    pages.pages = {Path("docs/slurm.md"): "guide/slurm.md", Path("READINGS.md"): "readings.md"}
    pages.folder, pages.figures = tmp_path, {}
    document = Path("docs/slurm.md")
    linked = pages._linked("[a](../READINGS.md#bbo) [b](../config/README.md)", document)
    assert linked == "[a](../readings.md#bbo) [b](../files/config/README.md.txt)"
    assert (tmp_path / "docs/files/config/README.md.txt").is_file()
    with pytest.raises(RepliboError, match=r"docs/slurm.md: the link to no.md leads to no file"):
        pages._linked("[c](no.md)", document)


def test_curves_are_the_published_runs(root: Path, tmp_path: Path) -> None:
    config = load.load(root / "config")
    labels = site_curves.write(config, "go_ucb", paths.PUBLISHED, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(labels)
    start, _, content = (tmp_path / "f1.js").read_text(encoding="utf-8").partition("=")
    assert start == 'curves["f1"]'
    method = json.loads(content.rstrip(";\n"))["gp_ei"]
    runs = read(config, "go_ucb", paths.PUBLISHED, [("f1", "gp_ei")], "")
    lowest = (runs.optimal_value("f1") - runs.f("f1", "gp_ei")).min(axis=1)
    curve = method["values"]["simple regret"]
    assert method["seeds"] == len(lowest) and method["t"][-1] == 20 and method["shown"]
    np.testing.assert_allclose(curve["mean"][-1], lowest.mean(), rtol=1e-3)
    np.testing.assert_allclose([run[-1] for run in curve["runs"]], lowest[:10], rtol=1e-3)
    assert curve["band"][0][-1] >= 0


def test_many_methods_open_with_the_five_best_and_random_search(root: Path, tmp_path: Path) -> None:
    config = load.load(root / "config")
    site_curves.write(config, "cross", paths.PUBLISHED, tmp_path)
    wanted = [pair for pair in pairs.at(config, "cross", paths.PUBLISHED) if pair[0] == "ackley_10"]
    runs = read(config, "cross", paths.PUBLISHED, wanted, "")
    names = runs.algorithms("ackley_10")
    best = sorted(names, key=lambda name: -runs.f("ackley_10", name).max(axis=1).mean())
    content = (tmp_path / "ackley_10.js").read_text(encoding="utf-8").partition("=")[2]
    methods = json.loads(content.rstrip(";\n"))
    shown = {name for name, method in methods.items() if method["shown"]}
    assert len(methods) == len(names) > site_curves.READABLE
    assert shown == {*best[:5], "random_search"} and "neural_bo" in shown
