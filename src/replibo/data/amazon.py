"""Reading the Amazon product reviews of NeuralBO's retrieval task (section 7.2.2): texts and categories.

The file is a table of comma-separated values. Its digest or its size is checked where it is fetched;
here its structure is, so that a file of another origin gives one clear line instead of nonsense.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from replibo.errors import RepliboError

FILE = "amazon_reviews"
TEXT = "Text"
LEVELS = ("Cat1", "Cat2", "Cat3")
"""The categories, from general to detail."""

UNKNOWN = "unknown"
"""A review without a category of the last level; the paper leaves it out."""

Category = tuple[str, ...]
"""A category by its whole path from level 1 down: names are not unique among parents."""


class Reviews(NamedTuple):
    """Texts and categories of ``n`` reviews, in the file's order; ``rows``: how many the file has, those
    without a known category included."""

    texts: list[str]
    categories: list[Category]
    rows: int


def read_reviews(data: Mapping[str, Path]) -> Reviews:
    """The reviews whose category is known, from the file called `FILE` in the manifest.

    Raises:
        RepliboError: one line. The file was not given, is missing, empty, truncated, not UTF-8 or no
            CSV file, lacks a column, has an empty category, or fewer than two categories.
    """
    if FILE not in data:
        raise RepliboError(f"data: retrieval needs the file called {FILE!r}, which was not given")
    path = Path(data[FILE])
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(file, path))
    except FileNotFoundError:
        raise RepliboError(f"{path}: no such file; allowed: a CSV file") from None
    except OSError as error:
        raise RepliboError(f"{path}: {error.strerror}; allowed: a readable CSV file") from None
    except UnicodeDecodeError as error:
        raise RepliboError(
            f"{path}: byte {error.object[error.start]:#04x} is no UTF-8; allowed: UTF-8 text"
        ) from None
    known = [(text, category) for text, category in rows if category[-1].lower() != UNKNOWN]
    if not known:
        raise RepliboError(
            f"{path}: {len(rows)} reviews, none with a known {LEVELS[-1]}; allowed: 2 or more"
        )
    texts, categories = [text for text, _ in known], [category for _, category in known]
    if len(set(categories)) == 1:
        raise RepliboError(
            f"{path}: all reviews are of the category {' / '.join(categories[0])}; allowed: 2 or more "
            "categories"
        )
    return Reviews(texts, categories, len(rows))


def _rows(file: Iterator[str], path: Path) -> Iterator[tuple[str, Category]]:
    """Text and category of each row."""
    lines = csv.reader(file, strict=True)
    wanted = (TEXT, *LEVELS)
    try:
        header = [name.strip() for name in next(lines, [])]
        for name in wanted:
            if header.count(name) != 1:
                fault = "there more than once" if name in header else "missing"
                raise RepliboError(
                    f"{path}: column {name!r} is {fault}; allowed: one each of {', '.join(wanted)}"
                )
        positions = [header.index(name) for name in wanted]
        for cells in lines:
            if not cells:
                continue  # a blank line
            where = f"{path}: line {lines.line_num}"
            if len(cells) != len(header):
                raise RepliboError(
                    f"{where} has {len(cells)} cells; allowed: {len(header)}, as many as the header"
                )
            text, *names = (cells[position].strip() for position in positions)
            for level, name in zip(LEVELS, names, strict=True):
                if not name:
                    raise RepliboError(f"{where}: column {level!r} is empty; allowed: a category")
            yield text, tuple(names)
    except csv.Error as error:
        raise RepliboError(
            f"{path}: line {lines.line_num}: {error}; allowed: whole comma-separated text"
        ) from None
