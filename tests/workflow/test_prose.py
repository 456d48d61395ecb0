"""Numbers of the pages: filled from the published traces, and none typed by hand."""

import re
from pathlib import Path

import numpy as np
import pytest

from replibo import paths
from replibo.config import load
from replibo.errors import RepliboError
from replibo.results.runs import read
from replibo.workflow.prose import Numbers, findings, paragraph, render

ROOT = Path(__file__).parents[2]
README, TEMPLATES = ROOT / "README.md", sorted(ROOT.glob("docs/results/*.md.j2"))


@pytest.fixture
def numbers(root: Path) -> Numbers:
    return Numbers(load.load(), "neuralbo")


def test_a_smallest_value_is_that_of_the_traces(numbers: Numbers) -> None:
    pair = ("ackley_10", "random_search")
    runs = read(load.load(), "neuralbo", paths.PUBLISHED, [pair], "")
    for T in (None, 200):
        smallest = [-run[: None if T is None else 11 + T].max() for run in runs.f(*pair)]
        mean, sd = np.mean(smallest), np.std(smallest, ddof=1)
        assert numbers.best(*pair, T) == f"{mean:.1f} ± {sd:.1f}"
    assert numbers.seeds(*pair) == len(runs.seeds(*pair))


def test_a_cell_is_that_of_the_table(numbers: Numbers) -> None:
    row = {"problem": "bbob, 2-D", "algorithm": "GP-TS"}
    share = float(numbers.cell("coco_final", "targets reached", **row))
    assert float(numbers.percent("coco_final", "targets reached", **row)) == pytest.approx(
        100 * share
    )


def test_a_number_of_a_verdict_is_that_of_the_traces(root: Path) -> None:
    numbers = Numbers(load.load(), "lb_gp_ucb")
    pair = ("berkenkamp", "mle")
    runs = read(load.load(), "lb_gp_ucb", paths.PUBLISHED, [pair], "")
    regrets = runs.optimal_value(pair[0]) - runs.f(*pair).max(axis=1)
    stuck = f"{np.sum(regrets > 0.1)} of {len(regrets)}"
    assert numbers.number("lb_gp_ucb_1", "stuck: MLE") == stuck
    label = numbers.verdict("lb_gp_ucb_1")
    assert numbers.says(label, "lb_gp_ucb_1") == ""
    name, count = re.findall(r"`(\w+)` \((\d+)\)", numbers.most_changing(1))[0]
    changed = [
        each
        for each, verdict in numbers._verdicts.items()
        if name in {reading.name for reading in verdict.judged}
        and numbers.verdict(each, name) != numbers.verdict(each)
    ]
    assert len(changed) == int(count) > 0
    faults = {
        "lb_gp_ucb_1 as printed: .* but the page says never": lambda: numbers.says(
            "never", "lb_gp_ucb_1"
        ),
        "claim must be": lambda: numbers.verdict("nothing"),
        "reading must be": lambda: numbers.verdict("lb_gp_ucb_1", "nothing"),
        "no number after 'stuck'": lambda: numbers.number("lb_gp_ucb_1", "stuck"),
    }
    for message, ask in faults.items():
        with pytest.raises(RepliboError, match=message):
            ask()


def test_what_is_not_there_is_said_in_a_line(numbers: Numbers, tmp_path: Path) -> None:
    faults = {
        "{{ n.best('ackley_10', 'nobody') }}": "nobody on ackley_10: nothing is published",
        "{{ n.cell('coco_final', 'colour') }}": "coco_final: column must be .* got 'colour'",
        "{{ n.cell('coco_final', 'algorithm', problem='x') }}": "coco_final: 0 rows have",
        "{{ n.nothing() }}": "has no attribute 'nothing'",
        "{{ n.best(": "unexpected",
    }
    for text, message in faults.items():
        template = tmp_path / "page.md.j2"
        template.write_text(text, encoding="utf-8")
        with pytest.raises(RepliboError, match=rf"page\.md\.j2: .*{message}"):
            render(template, n=numbers)


@pytest.mark.parametrize("document", [*TEMPLATES, README], ids=lambda path: path.stem)
def test_no_result_is_typed_by_hand(document: Path) -> None:
    """Results have a decimal point, a percent sign or a ±; sizes of experiments are whole numbers."""
    left_out = (
        r"<!-- (\w+): start -->.*?<!-- \1: end -->|```.*?```|\{\{.*?\}\}|\{%.*?%\}|`[^`]*`"
        r"|\]\([^)]*\)|Python [\d.]+ to [\d.]+"
    )
    text = re.sub(left_out, "N", document.read_text(encoding="utf-8"), flags=re.S)
    assert re.findall(r"[^\n]*(?:\d\.\d|\d\s*%|±\s*\d)[^\n]*", text) == []


def test_a_finding_is_about_the_claims_that_its_template_names(root: Path) -> None:
    by_claim = findings(load.load(root / "config"), "neuralbo")
    centre = "- **NeuralBO is good on Ackley because its network peaks at the centre"
    for claim in ("neuralbo_1_ackley_10", "neuralbo_1_ackley_100", "neuralbo_10_ackley"):
        assert by_claim[claim][0].startswith(centre)
    assert by_claim["neuralbo_9"] == []
    text = (root / "docs/results/neuralbo.md").read_text(encoding="utf-8")
    for each in {finding for about in by_claim.values() for finding in about}:
        assert f"{each}\n" in text and "\n\n" not in each and "\n- " not in each


def test_a_finding_that_the_template_has_not_is_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "go_ucb.md").write_text("- **One.** Two.\n- **Three.** Four\n  lines.\n\n- five\n")
    template = tmp_path / "go_ucb.md.j2"
    template.write_text("- **One.** {{ n.about('go_ucb_2') }}\n- **Three.** Four\n")
    monkeypatch.setattr(paths, "results_page", lambda paper: tmp_path / f"{paper}.md")
    by_claim = findings(load.load(root / "config"), "go_ucb")
    assert by_claim.pop("go_ucb_2") == ["- **One.** Two."] and not any(by_claim.values())
    template.write_text("- **One.**\n")
    with pytest.raises(RepliboError, match=r"go_ucb.md: 2 findings, its template has 1"):
        findings(load.load(root / "config"), "go_ucb")


def test_the_paragraph_of_a_paper_in_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for paper in ("go_ucb", "lb_gp_ucb", "neuralbo", "bbo"):
        said = paragraph(text, paper)
        assert 20 < len(said.split()) <= 70 and said in text
        assert not {"#", "<"} & set(said)
    assert "peaks at the centre" in paragraph(text, "neuralbo")
    with pytest.raises(RepliboError, match=r"README.md: there is no paragraph on cross"):
        paragraph(text, "cross")
