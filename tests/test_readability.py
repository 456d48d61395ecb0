"""How easily the project's documents read: their sizes, and the words of their sentences."""

import re
from pathlib import Path

import numpy as np
import pytest

from replibo.config import claims, load
from replibo.results import effects

LONGEST, AVERAGE = 35, 20
"""Words of a sentence at most, and on average over a document."""

LABEL = 3
"""Words of what is no sentence: a heading, a short cell."""

BYTES = {
    "README.md": 9_000,
    "READINGS.md": 40_000,
    "docs/results/go_ucb.md": 7_000,
    "docs/results/bbo.md": 9_000,
    "docs/results/lb_gp_ucb.md": 9_000,
    "docs/results/neuralbo.md": 11_000,
}
"""The documents with a largest size."""

GUIDES = (
    *("CONTRIBUTING.md", "config/README.md", "data/README.md", "docs/check_and_bench.md"),
    *("docs/field_reports.md", "docs/glossary.md", "docs/library.md", "docs/paper_scale.md"),
    *("docs/slurm.md", "docs/speed.md"),
)
"""Documents of any size whose sentences are short, too."""


def sentences(markdown: str) -> list[str]:
    """The sentences of a Markdown text: of its paragraphs, items and cells.

    Code and expressions of a template are one word; links count by their text.
    """
    text = re.sub(r"<!-- verdicts: start -->.*<!-- verdicts: end -->", "", markdown, flags=re.S)
    text = re.sub(r"```.*?```|<!--.*?-->|\{%.*?%\}|^#+ .*?$", "\n\n", text, flags=re.S | re.M)
    text = re.sub(r"`[^`]*`|\{\{.*?\}\}|https?://\S+", "code", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |(?<!\\)\||<br>", text)
    parts = [part for block in blocks for part in re.split(r"(?<=[.!?])[\"”)]*\s+(?=\S)", block)]
    return [" ".join(part.split()) for part in parts if len(words(part)) > LABEL]


def words(sentence: str) -> list[str]:
    return [word for word in sentence.split() if re.search(r"\w", word)]


@pytest.mark.parametrize("name", [*BYTES, *GUIDES])
def test_a_document_is_short_and_so_are_its_sentences(name: str) -> None:
    text = (Path(__file__).parents[1] / name).read_text(encoding="utf-8")
    every = sentences(text)
    assert [each for each in every if len(words(each)) > LONGEST] == []
    lengths = [len(words(each)) for each in every if each.endswith((".", "!", "?"))]
    assert sum(lengths) / len(lengths) <= AVERAGE
    assert len(text.encode()) <= BYTES.get(name, np.inf)


def test_the_results_pages_together_are_short_and_so_is_each_paragraph_of_readme() -> None:
    root = Path(__file__).parents[1]
    assert sum(path.stat().st_size for path in root.glob("docs/results/*.md")) <= 40_000
    summary = (root / "README.md").read_text(encoding="utf-8").partition("summary: start -->")[2]
    paragraphs = summary.partition("<!-- summary: end")[0].split("\n### ")[1:]
    assert len(paragraphs) == 4
    assert max(len(words(each.partition("\n")[2])) for each in paragraphs) <= 60


def test_sources_use_no_words_translated_literally() -> None:
    calques = re.compile(r"\b(?:hangs? on|stands? beside|reads on|lets go|but for)\b")
    root = Path(__file__).parents[1]
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for path in (
            *root.glob("src/replibo/**/*.py"),
            *(root / name for name in (*BYTES, *GUIDES)),
        )
        if (match := calques.search(re.sub(r"\s+#?\s*", " ", path.read_text(encoding="utf-8"))))
    ]
    assert found == []


def test_no_line_of_a_page_begins_with_a_number_that_markdown_takes_for_a_list() -> None:
    root = Path(__file__).parents[1]
    for path in (root / "README.md", *root.glob("docs/results/*.md")):
        lines = re.findall(r"^\s*\d+\.\s.*", path.read_text(encoding="utf-8"), re.M)
        assert lines == [], path.name


def test_sentences_of_rules_statements_and_captions_are_short() -> None:
    """What we say of claims and outputs; the papers' values and places are quoted."""
    config = load.load(Path(__file__).parents[1] / "config")
    texts = [
        getattr(claim, field)
        for paper in config.papers
        for claim in claims.load(config, paper).values()
        for field in ("statement", "rule", "weak", "unprinted")
    ]
    for entry in config.entries.values():
        texts += [output.caption for output in (*entry.figures.values(), *entry.tables.values())]
        texts.append(entry.proposes)
    texts += effects.UNITS.values()
    every = [sentence for text in texts for sentence in sentences(text)]
    assert [each for each in every if len(words(each)) > LONGEST] == []
    assert sum(len(words(each)) for each in every) / len(every) <= AVERAGE
