"""What is made of the verdicts: tables, lines, the whole of a claim, the map."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import itertools
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from replibo import verdict_map, verdict_tables, verdicts
from replibo.config import claims, load
from replibo.config.claims import Claim
from replibo.errors import RepliboError
from replibo.results import plotting, tables
from replibo.results.comparisons import Comparison, Word
from replibo.verdicts import UNJUDGED, Judgement, Overall, Verdict
from replibo.workflow import gallery, outputs, site

from .results.conftest import BLIND, lab, linear

WORDS = get_args(Word)
LABELS = {paper: entry.label for paper, entry in load.load().entries.items()}


@functools.cache
def made_up(paper: str) -> list[Verdict]:
    """Every claim of a paper with its own readings and controls, whose verdicts go round all words."""

    def judged(claim: Claim, label: str, place: int) -> Judgement:
        reading, word = claim.readings.get(label), WORDS[place % len(WORDS)]
        named = label, reading.source if reading else None, claim.variations[label].changes, word
        if word in UNJUDGED:
            missing = (claim.problems[0], claim.algorithms[0])
            return Judgement(*named, reason="no runs of it", missing=(missing,))
        comparison = Comparison("supported", f"numbers of {label}")
        reduced = "3 of 5 seeds" if place % 2 else ""
        return Judgement(*named, reduced, comparisons=(comparison,), seeds=3)

    return [
        Verdict(
            *(name, paper, claim, "published"),
            *(
                tuple(judged(claim, label, i + k) for k, label in enumerate(variations))
                for variations in (claim.readings, claim.controls)
            ),
        )
        for i, (name, claim) in enumerate(claims.load(load.load(), paper).items())
    ]


@pytest.fixture
def found(root: Path) -> list[Verdict]:
    return [verdict for paper in load.load().papers for verdict in made_up(paper)]


def test_verdicts_are_read_as_they_were_written(found: list[Verdict], tmp_path: Path) -> None:
    verdicts.write(tmp_path / "verdicts.json", found)
    assert verdicts.read_written(tmp_path / "verdicts.json") == found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Invalid JSON: EOF"),
        ("{}", "Input should be a valid array"),
        ('[{"name": "c"}]', "0: paper: Field required"),
    ],
)
def test_what_is_no_file_of_verdicts_is_said_in_one_line(
    text: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "verdicts.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RepliboError) as caught:
        verdicts.read_written(path)
    assert str(caught.value).startswith(
        f"{path}: must be verdicts as 'replibo claims' writes them, got {fault}"
    )
    assert "\n" not in str(caught.value)


def test_verdicts_of_each_paper_make_those_of_all(found: list[Verdict], tmp_path: Path) -> None:
    """The workflow judges each paper once."""
    config = load.load()
    parts = [tmp_path / f"{paper}.json" for paper in config.papers]
    for paper, part in zip(config.papers, parts, strict=True):
        verdicts.write(part, [verdict for verdict in found if verdict.paper == paper])
    said = outputs.claims(config, [], "published", [tmp_path / "all.csv"], judged=parts)
    assert said.splitlines() == list(verdict_tables.lines(found))
    expected = verdict_tables.table(found, outputs.missing_costs(config, found)).csv()
    assert (tmp_path / "all.csv").read_text(encoding="utf-8") == expected


def test_verdicts_that_the_files_do_not_hold_are_said(found: list[Verdict], tmp_path: Path) -> None:
    path = tmp_path / "bbo.json"
    verdicts.write(path, [verdict for verdict in found if verdict.paper == "bbo"])
    for names in (["go_ucb"], ["go_ucb", "bbo"]):
        with pytest.raises(RepliboError, match=r"^claims: there is no verdict on go_ucb$"):
            outputs.claims(load.load(), names, "quick", [], judged=[path])


def test_the_page_is_made_again_when_what_it_says_changes(root: Path) -> None:
    made_of = site.inputs(load.load(), "quick")
    for paper in load.load().papers:
        assert f"config/{paper}.yaml" in made_of
    assert "config/claims/go_ucb.yaml" in made_of


def test_long_names_leave_a_line_its_words(found: list[Verdict]) -> None:
    verdict = dataclasses.replace(found[0], name="n" * 200)
    (_, line) = verdict_tables.lines([verdict])
    assert line.startswith("  " + verdict.name)


def test_a_caption_in_latex() -> None:
    table = tables.Table.of([{"a": 1}], "50 % of R_T ~ T^p & {x} for $1 #2 \\")
    assert (
        r"\caption{50 \% of R\_T \textasciitilde{} T\textasciicircum{}p \& \{x\} for \$1 \#2 "
        r"\textbackslash{}}" in table.tex()
    )


def test_the_table_has_a_row_for_each_claim_and_reading(found: list[Verdict]) -> None:
    costs = {(found[0].name, "printed"): "about 3 core hours"}
    table = verdict_tables.table(found, costs)
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    expected = [
        (verdict.name, reading.name)
        for verdict in found
        for reading in (*verdict.readings, *verdict.controls)
    ]
    assert [(row["claim"], row["reading"]) for row in rows] == expected
    assert rows[0]["missing runs cost"] == "about 3 core hours"
    by_name = {verdict.name: verdict for verdict in found}
    for row in rows:
        verdict = by_name[row["claim"]]
        deciding = {reading.name for reading in verdict.deciding}
        assert (row["decides"] == "yes") == (row["reading"] in deciding)
        assert (row["source"] == "control") == (row["reading"] in verdict.claim.controls)
        assert row["all readings"] == verdict.summary and row["ours"]
        assert row["as printed"] == verdict.headline


def test_a_line_for_each_claim_of_a_hundred_characters_at_most(found: list[Verdict]) -> None:
    lines = list(verdict_tables.lines(found))
    assert max(map(len, lines)) <= 100
    assert len(lines) == len(found) + len({verdict.paper for verdict in found})
    for verdict in found:
        (line,) = [line for line in lines if line.split()[0] == verdict.name]
        count = f"{verdict.holding}/{len(verdict.counting)}"
        labels = verdict.headline, verdict.overall
        first, word = (verdict_tables.SHORT.get(label, label) for label in labels)
        expected = f" {first:<11} {word} {count}" if verdict.judged else " not run"
        assert line.endswith(expected)
        assert (
            line[2 + len(verdict.name) :].split()[0].startswith(verdict.claim.short.split()[0][:3])
        )


def test_the_whole_of_a_claim_names_its_readings_and_what_decides(found: list[Verdict]) -> None:
    for verdict in found:
        cases = (*verdict.readings, *verdict.controls)
        costs = {(verdict.name, case.name): f"{case.name} costs" for case in cases}
        text = list(verdict_tables.whole(verdict, costs))
        assert max(map(len, text)) <= 100
        joined = " ".join(" ".join(text).split())
        brief = " ".join(" ".join(verdict_tables.whole(verdict, {}, brief=True)).split())
        as_printed = [test.outcome for test in verdict.printed.comparisons]
        short = [
            case
            for case in cases[1:]
            if case.comparisons and [test.outcome for test in case.comparisons] == as_printed
        ]
        assert brief.endswith("NAME' shows one of these in full.") == bool(short)
        for case in cases:
            title = f"as {case.name} ({case.source})" if case.source else f"control {case.name}"
            decides = " (decides)" if case in verdict.deciding else ""
            assert all(f"{title}: {case.verdict}{decides}" in part for part in (joined, brief))
            assert (f"no runs of it ({case.name} costs)" in joined) == bool(case.reason)
            for part, shown in ((joined, True), (brief, case not in short)):
                numbers = re.search(rf"supported: numbers of {case.name}\b", part)
                assert bool(numbers) == (shown and bool(case.comparisons))
        assert " ".join(verdict.claim.statement.split()) in joined


def test_every_word_has_a_letter_and_a_colour_of_its_own() -> None:
    looks = verdict_map.LOOKS
    assert set(looks) == {*WORDS, *get_args(Overall)}
    for column in (0, 1):
        assert len({look[column] for look in looks.values()}) == len(looks)


@pytest.mark.parametrize("matrix", [np.eye(3), *BLIND.values()], ids=["none", *BLIND])
def test_the_colour_blind_tell_the_verdicts_apart(matrix: Any) -> None:
    """Any two are 12 apart, the outcomes of a claim 20."""
    outcomes = ("holds", "mixed", "fails", "undecided")
    for a, b in itertools.combinations(verdict_map.LOOKS, 2):
        seen = [lab(matrix @ linear(verdict_map.LOOKS[word][1])) for word in (a, b)]
        least = 20 if {a, b} <= set(outcomes) else 12
        assert np.linalg.norm(seen[0] - seen[1]) >= least, (a, b)


def cells(ax: Any) -> dict[tuple[float, float], tuple[str, str]]:
    """Letter and colour of each cell, by its left end and top."""
    letters = {}
    for text in ax.texts:
        x, y = text.get_position()
        letters[round(x - 0.5, 6), round(y - 0.52, 6)] = text.get_text()
    places = {(round(patch.get_x(), 6), round(patch.get_y(), 6)): patch for patch in ax.patches}
    return {at: (letters[at], to_hex(patch.get_facecolor())) for at, patch in places.items()}


def look(word: Any, reduced: str = "") -> tuple[str, str]:
    letter, colour, _ = verdict_map.LOOKS[word]
    return letter + ("'" if reduced else ""), colour.lower()


@pytest.mark.parametrize("paper", ["bbo", "lb_gp_ucb"])
def test_the_map_of_a_paper_shows_each_verdict_by_letter_and_colour(
    paper: str, found: list[Verdict]
) -> None:
    """Each cell lies where its column's name and its row's name are, controls in columns apart."""
    of_paper = [verdict for verdict in found if verdict.paper == paper]
    figure = verdict_map.verdict_map(of_paper, "published", LABELS)
    assert "Scale: published" in plotting.caption_of(figure)
    (ax,) = figure.axes
    columns = dict(zip([t.get_text() for t in ax.get_xticklabels()], ax.get_xticks(), strict=True))
    rows = dict(zip([t.get_text() for t in ax.get_yticklabels()], ax.get_yticks(), strict=True))
    expected = {}
    for verdict in of_paper:
        y = rows[verdict.claim.short] - 0.5
        expected[0.0, y] = look(verdict.overall)
        for reading in (*verdict.readings, *verdict.controls):
            x = round(columns[reading.name.replace("_", " ")] - 0.5, 6)
            expected[x, y] = look(verdict.label(reading), reading.reduced)
    assert cells(ax) == expected
    controls = {name for v in of_paper for name in v.claim.controls}
    last = max(at for name, at in columns.items() if name.replace(" ", "_") not in controls)
    assert all(columns[name.replace("_", " ")] > last + 1 for name in controls)
    assert inside(figure)
    headings = [
        t for t in ax.texts if t.get_text() in ("print", "code", "open", "mend", "controls")
    ]
    ends = sorted((box.x0, box.x1) for box in (t.get_window_extent() for t in headings))
    assert len(ends) > 2 and all(a[1] < b[0] for a, b in itertools.pairwise(ends))


def inside(figure: Any) -> bool:
    """Whether all text lies in the figure, and the cells above the legend."""
    figure.draw_without_rendering()
    (ax,), (legend,) = figure.axes, figure.legends
    boxes = [text.get_window_extent() for text in figure.findobj(Text) if text.get_text()]
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    return bool(ax.get_window_extent().y0 > legend.get_window_extent().y1)


def test_the_map_of_all_papers_has_a_row_for_each_group_and_is_read_at_800_pixels(
    found: list[Verdict],
) -> None:
    figure = verdict_map.verdict_map(found, "quick", LABELS)
    (ax,) = figure.axes
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in found:
        groups.setdefault((verdict.paper, verdict.claim.group), []).append(verdict)
    assert [t.get_text() for t in ax.get_yticklabels()] == [group for _, group in groups]
    shown = cells(ax)
    for group, y in zip(groups.values(), ax.get_yticks(), strict=True):
        row = [shown[place] for place in sorted(shown) if place[1] == y - 0.5]
        printed = [look(v.label(v.printed), v.printed.reduced) for v in group]
        assert row == printed + [look(v.overall) for v in group]
    assert inside(figure)
    for text in figure.findobj(Text):
        if text.get_text():
            assert text.get_fontsize() / 72 * 800 / figure.get_figwidth() >= 11


def test_what_was_not_made_is_missed_in_one_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the pages and the gallery stay as they are."""
    monkeypatch.chdir(tmp_path)
    Path("config").symlink_to(root / "config")
    rendered = {Path("README.md"): "![](figures/gallery/verdict_map.png)"}
    monkeypatch.setattr(gallery, "pages", lambda config: rendered)
    with pytest.raises(RepliboError, match=r"^figures/published/.*\.png: not found; 'snakemake "):
        gallery.main()
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_the_pages_count_each_claim_once(found: list[Verdict]) -> None:
    table = gallery.summary(found)
    papers = [paper for paper in load.load().papers if claims.load(load.load(), paper)]
    lines = table.splitlines()[2:]
    assert len(lines) == 2 * len(papers)  # as printed, over all readings
    for i, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        of_paper = [verdict for verdict in found if verdict.paper == papers[i // 2]]
        assert int(cells[1]) == len(of_paper) == sum(int(cell or 0) for cell in cells[4:-1])
        assert int(cells[2]) == len(of_paper)  # these say of none that it shares runs
        replicated = sum(verdict.replicated for verdict in of_paper)
        assert int(cells[-1] or 0) == (0 if i % 2 else replicated)
    shown = gallery.verdict_table([verdict for verdict in found if verdict.paper == "bbo"])
    assert all(f"`{name}`" in shown for name in claims.load(load.load(), "bbo"))
