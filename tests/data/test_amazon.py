"""Reading the reviews: what is in them comes back, and whatever else lies there is one line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.data.amazon import FILE, LEVELS, TEXT, read_reviews
from replibo.data.manifest import data_file
from replibo.errors import RepliboError

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


def written(path: Path, rows: list[list[str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def the_error(path: Path) -> str:
    with pytest.raises(RepliboError) as error:
        read_reviews({FILE: path})
    line = str(error.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: ")
    assert "must " in line and ", got" in line
    return line


def test_the_columns_are_the_manifests() -> None:
    assert {TEXT, *LEVELS} < set(COLUMNS)
    assert data_file(FILE).table.classes == LEVELS  # type: ignore[union-attr]


def test_what_was_written_is_read_but_for_unknown_categories(tmp_path: Path) -> None:
    reviews = read_reviews({FILE: written(tmp_path / "x.csv", ROWS)})
    assert reviews.texts == ['It is "good", and\nlong', "fine"]
    # the same name below other parents is another category
    assert reviews.categories == [
        ("beauty", "skin care", "face"),
        ("toys games", "puzzles", "face"),
    ]
    assert reviews.rows == 4


def test_order_of_columns_byte_order_mark_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    text = "\ufeffCat3,Text,Cat1,Cat2\r\nc,hello,a,b\r\n\r\nd,there,a,b\r\n"
    path.write_bytes(text.encode())
    reviews = read_reviews({FILE: path})
    assert reviews.texts == ["hello", "there"]
    assert reviews.categories == [("a", "b", "c"), ("a", "b", "d")]


@settings(derandomize=True, database=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=6)
)
def test_any_texts(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "x.csv"
    rows = [row(text, "a", "b", f"c{i}") for i, text in enumerate([*texts, "last"])]
    assert read_reviews({FILE: written(path, rows)}).texts == [t.strip() for t in [*texts, "last"]]


@pytest.mark.parametrize("missing", [TEXT, *LEVELS])
def test_a_missing_column(tmp_path: Path, missing: str) -> None:
    columns = tuple("another" if name == missing else name for name in COLUMNS)
    path = written(tmp_path / "x.csv", ROWS, columns)
    assert f"must have one column '{missing}', got none" in the_error(path)


def test_a_column_twice(tmp_path: Path) -> None:
    columns = tuple(TEXT if name == "Title" else name for name in COLUMNS)
    assert "must have one column 'Text', got 2" in the_error(
        written(tmp_path / "x.csv", ROWS, columns)
    )


@pytest.mark.parametrize("level", LEVELS)
def test_an_empty_category(tmp_path: Path, level: str) -> None:
    bad = list(ROWS[0])
    bad[COLUMNS.index(level)] = "  "
    # the first row's text takes two lines
    line = the_error(written(tmp_path / "x.csv", [ROWS[0], bad]))
    assert f"line 5: column '{level}' must name a category, got an empty cell" in line


def test_broken_encoding(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", ROWS)
    path.write_bytes(path.read_bytes().replace("ü".encode(), b"\xfc"))
    assert "must be UTF-8, got byte 0xfc" in the_error(path)


def test_truncated_quoting_and_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", ROWS)
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b"long")])
    assert "line 2 must be valid CSV, got: unexpected end of data" in the_error(path)
    path.write_bytes(content[: content.index(b"fine")])
    assert "line 6 must have 10 cells as the header does, got 7" in the_error(path)


def test_too_few_categories(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", [ROWS[0], ROWS[2], ROWS[0]])
    assert "2 or more categories, got only beauty / skin care / face" in the_error(path)
    path = written(tmp_path / "x.csv", ROWS[1:3])
    assert "a known Cat3, got none among 2 reviews" in the_error(path)
    path = written(tmp_path / "x.csv", [])
    assert "got none among 0 reviews" in the_error(path)


def test_no_such_file(tmp_path: Path) -> None:
    assert "must be a CSV file, got none" in the_error(tmp_path / "x.csv")
    assert "irectory" in the_error(tmp_path)
    (tmp_path / "x.csv").touch()
    assert "one column 'Text', got none" in the_error(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("<html>Please log in</html>\n")
    assert "one column 'Text', got none" in the_error(tmp_path / "x.csv")
    with pytest.raises(RepliboError, match="must hold 'amazon_reviews' for retrieval, got nothing"):
        read_reviews({})
