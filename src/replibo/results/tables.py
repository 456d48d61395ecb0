"""Tables: one content, written as csv (full precision), Markdown and LaTeX (as a reader wants it)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replibo import files

Format = Callable[[Any], str]


@dataclass
class Table:
    """Rows of values, the names of the columns, and how a column is shown to a reader."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    formats: dict[str, Format] = field(default_factory=dict)

    def shown(self) -> list[list[str]]:
        """The cells as a reader sees them."""
        show = [self.formats.get(name, str) for name in self.columns]
        return [
            ["–" if value is None else f(value) for f, value in zip(show, row, strict=True)]
            for row in self.rows
        ]

    def csv(self) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if value is None else value for value in row] for row in self.rows)
        return buffer.getvalue()

    def md(self) -> str:
        from tabulate import tabulate

        body = tabulate(self.shown(), self.columns, tablefmt="github", disable_numparse=True)
        return f"{body}\n\n{self.caption}\n"

    def tex(self) -> str:
        from tabulate import tabulate

        body = tabulate(
            self.shown(), self.columns, tablefmt="latex_booktabs", disable_numparse=True
        )
        caption = self.caption
        for sign, escaped in (
            ("\\", r"\textbackslash{}"),
            ("%", r"\%"),
            ("_", r"\_"),
            ("&", r"\&"),
        ):
            caption = caption.replace(sign, escaped)
        return f"\\begin{{table}}\n\\centering\n{body}\n\\caption{{{caption}}}\n\\end{{table}}\n"

    def html(self) -> str:
        """A page of its own, for the report."""
        from html import escape

        from tabulate import tabulate

        body = tabulate(self.shown(), self.columns, tablefmt="html", disable_numparse=True)
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>replibo</title>\n'
            "<style>body{font:14px sans-serif;margin:1em}table{border-collapse:collapse}"
            "th,td{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid #ccc}"
            f"</style>\n<p>{escape(self.caption)}</p>\n{body}\n</html>\n"
        )


def save(table: Table, paths: Sequence[Path]) -> None:
    """Write the table once for each path: csv, md, tex or html by its suffix."""
    for path in paths:
        content = getattr(table, path.suffix[1:])()
        with files.written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8")


def p_value(value: float) -> str:
    """A p-value as a reader wants it."""
    if value != value:
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"
