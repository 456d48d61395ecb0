"""Reading the reviews: what is in them comes back, and whatever else lies there is one line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from replibo.data.amazon import FILE, LEVELS, TEXT, read_reviews
from replibo.data.manifest import data_file
from replibo.errors import RepliboError

from .conftest import put

COLUMNS = data_file(FILE).table.columns  # type: ignore[union-attr]


def row(text: str, *category: str) -> list[str]:
    """A row of the real file's columns."""
    return ["B000E46LYG", "A title, quoted", "A3XYZ", "0/0", "3.0", "1205539200", text, *category]


ROWS = [
    row('It is "good", and\nlong', "beauty", "skin care", "face"),
    row("", "toys games", "puzzles", "unknown"),
    row("schlecht, überhaupt 不好", "beauty", "hair care", "unknown"),
    row("fine", "toys games", "puzzles", "face"),
]


def content(rows: list[list[str]], columns: tuple[str, ...] = COLUMNS) -> bytes:
    """A CSV file of these rows."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue().encode()


WHOLE = content(ROWS)


def test_the_columns_are_the_manifests() -> None:
    assert {TEXT, *LEVELS} < set(COLUMNS)


def test_what_was_written_is_read_but_for_unknown_categories(tmp_path: Path) -> None:
    reviews = read_reviews({FILE: put(tmp_path / "x.csv", WHOLE)})
    assert reviews.texts == ['It is "good", and\nlong', "fine"]
    # the same name below other parents is another category
    assert reviews.categories == [
        ("beauty", "skin care", "face"),
        ("toys games", "puzzles", "face"),
    ]
    assert reviews.rows == 4


def test_order_of_columns_byte_order_mark_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    text = "\ufeffCat3,Text,Cat1,Cat2\r\nc,hello,a,b\r\n\r\nd,there,a,b\r\n"
    reviews = read_reviews({FILE: put(tmp_path / "x.csv", text.encode())})
    assert reviews.texts == ["hello", "there"]
    assert reviews.categories == [("a", "b", "c"), ("a", "b", "d")]


def renamed(old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in COLUMNS)


def emptied(level: str) -> list[str]:
    """The first row without a category."""
    return ["  " if name == level else cell for name, cell in zip(COLUMNS, ROWS[0], strict=True)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content(ROWS, renamed(name, "other")), f"must have one column '{name}', got none") for name in (TEXT, *LEVELS)),
        (content(ROWS, renamed("Title", TEXT)), "must have one column 'Text', got 2"),
        (b"", "one column 'Text', got none"),
        (b"<html>Please log in</html>\n", "one column 'Text', got none"),
        # the first row's text takes two lines
        *((content([ROWS[0], emptied(level)]), f"line 5: column '{level}' must name a category, got an empty cell") for level in LEVELS),
        (WHOLE.replace("ü".encode(), b"\xfc"), "must be UTF-8, got byte 0xfc"),
        (WHOLE[: WHOLE.index(b"long")], "line 2 must be valid CSV, got: unexpected end of data"),
        (WHOLE[: WHOLE.index(b"fine")], "line 6 must have 10 cells as the header does, got 7"),
        (content([ROWS[0], ROWS[2], ROWS[0]]), "must hold 2 or more categories, got only beauty / skin care / face"),
        (content(ROWS[1:3]), "must hold reviews with a known Cat3, got none among 2 reviews"),
        (content([]), "must hold reviews with a known Cat3, got none among 0 reviews"),
    ],
)  # fmt: skip
def test_another_content_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    refused(put(tmp_path / "x.csv", content), words)


def refused(path: Path, words: str) -> None:
    with pytest.raises(RepliboError) as error:
        read_reviews({FILE: path})
    line = str(error.value)
    assert line.startswith(f"{path}: ") and words in line and "\n" not in line


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "x.csv", "must be a CSV file, got none")
    refused(tmp_path, "irectory")
    with pytest.raises(RepliboError, match="must hold 'amazon_reviews' for retrieval, got nothing"):
        read_reviews({})
