"""Reading the Amazon product reviews of NeuralBO's retrieval task (section 7.2.2): texts and categories.

The file is a table of comma-separated values. It is verified where it is fetched; its columns are
checked here, so that a file from elsewhere gives one clear line instead of nonsense.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from replibo.errors import RepliboError, allowed

FILE = "amazon_reviews"
TEXT = "Text"
LEVELS = ("Cat1", "Cat2", "Cat3")
"""The categories, from general to detail."""

UNKNOWN = "unknown"
"""A review without a category of the last level; the paper leaves it out."""

Category = tuple[str, ...]
"""A category by its whole path from level 1 down: names are not unique among parents."""


class Reviews(NamedTuple):
    """Texts and categories of ``n`` reviews, in the file's order; ``rows`` also counts the reviews of
    unknown category."""

    texts: list[str]
    categories: list[Category]
    rows: int


def read_reviews(data: Mapping[str, Path]) -> Reviews:
    """The reviews whose category is known, from the file called `FILE` in the manifest.

    Raises:
        RepliboError: one line. The file was not given, is missing, empty, truncated, not UTF-8 or
            not CSV, lacks a column, has an empty category, or fewer than two categories.
    """
    if FILE not in data:
        raise RepliboError(f"data: must hold {FILE!r} for retrieval, got {allowed(data)}")
    path = Path(data[FILE])
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(file, path))
    except FileNotFoundError:
        raise RepliboError(f"{path}: must be a CSV file, got none") from None
    except OSError as error:
        raise RepliboError(f"{path}: must be a readable CSV file, got: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RepliboError(
            f"{path}: must be UTF-8, got byte {error.object[error.start]:#04x}"
        ) from None
    known = [(text, category) for text, category in rows if category[-1].lower() != UNKNOWN]
    if not known:
        raise RepliboError(
            f"{path}: must hold reviews with a known {LEVELS[-1]}, got none among {len(rows)} reviews"
        )
    texts, categories = [text for text, _ in known], [category for _, category in known]
    if len(set(categories)) == 1:
        raise RepliboError(
            f"{path}: must hold 2 or more categories, got only {' / '.join(categories[0])}"
        )
    return Reviews(texts, categories, len(rows))


def _rows(file: Iterator[str], path: Path) -> Iterator[tuple[str, Category]]:
    """Text and category of each row."""
    lines = csv.reader(file, strict=True)
    wanted = (TEXT, *LEVELS)
    try:
        header = [name.strip() for name in next(lines, [])]
        for name in wanted:
            if (count := header.count(name)) != 1:
                raise RepliboError(f"{path}: must have one column {name!r}, got {count or 'none'}")
        positions = [header.index(name) for name in wanted]
        for cells in lines:
            if not cells:
                continue  # a blank line
            where = f"{path}: line {lines.line_num}"
            if len(cells) != len(header):
                raise RepliboError(
                    f"{where} must have {len(header)} cells as the header does, got {len(cells)}"
                )
            text, *names = (cells[position].strip() for position in positions)
            for level, name in zip(LEVELS, names, strict=True):
                if not name:
                    raise RepliboError(
                        f"{where}: column {level!r} must name a category, got an empty cell"
                    )
            yield text, tuple(names)
    except csv.Error as error:
        raise RepliboError(
            f"{path}: line {lines.line_num} must be valid CSV, got: {error}"
        ) from None
