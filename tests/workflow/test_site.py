"""The site's documents and cells. `test_smoke` builds the whole site."""

from __future__ import annotations

import fnmatch
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


def test_options_and_names_are_said_in_words(root: Path) -> None:
    config = load.load(root / "config")
    by_name = {}
    for paper in config.papers:
        entry = config.paper(paper)
        for name, claim in claims.load(config, paper).items():
            for label in claim.variations:
                own = claim.variations[label]
                assert bool(own.words) == bool(own.options), f"{name}.{label}: words"
                by_name[name, label] = own.in_words(entry)
                assert not any("_" in text.replace("R_T", "") for text in by_name[name, label])
    assert by_name["go_ucb_1_f1", "stock"] == ["GP-EI, GP-PI and GP-UCB: no repeats"]
    assert by_name["go_ucb_1_f1", "two_bumps_no_bonus"] == [
        "Two bumps in place of f1 (realizable)",
        "GO, no bonus in place of GO-UCB",
    ]
    assert by_name["go_ucb_1_f1", "low_noise"] == ["f1 (realizable): σ = 0.01 in place of σ = 0.05"]
    together: list[claims.Variation] = []
    for claim in claims.load(config, "go_ucb").values():
        if "low_noise" in claim.readings:
            site._add(together, claim.readings["low_noise"])
    assert [own.in_words(config.paper("go_ucb")) for own in together] == [
        ["f1 (realizable) and f2 (non-realizable): σ = 0.01 in place of σ = 0.05"]
    ]
    assert by_name["bbo_11", "constants_of_zero"] == ["UCB, fixed kernel: without β of Theorem 4"]


def test_a_claim_shows_the_figures_and_tables_that_belong_to_it(root: Path) -> None:
    config = load.load(root / "config")
    shown: dict[str, list[str]] = {}
    for paper in config.papers:
        entry = config.paper(paper)
        for name, claim in claims.load(config, paper).items():
            verdict = verdicts.Verdict(name, paper, claim, "published", (), ())
            made = [
                site.Output(output, "", (), tuple(own.claims))
                for kind in (entry.figures, entry.tables)
                for output, own in kind.items()
            ]
            shown[name] = [output.name for output in site._showing(verdict, made)]
        for own in (*entry.figures.values(), *entry.tables.values()):
            for pattern in own.claims:
                assert fnmatch.filter(shown, pattern), pattern
    assert shown["neuralbo_8"] == shown["neuralbo_9"] == []
    assert shown["neuralbo_1_levy_20"] == ["figure_1", "table_2"]
    assert shown["bbo_4_ucb_t40"] == ["performance", "ucb_40"]


def test_curves_are_the_published_runs(root: Path, tmp_path: Path) -> None:
    config = load.load(root / "config")
    labels, opened = site_curves.write(config, "go_ucb", paths.PUBLISHED, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(labels)
    assert opened == "two_bumps"  # on f1 and f2 most methods end without regret
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
