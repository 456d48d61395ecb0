"""Tables: a DataFrame with a caption, written as csv (full precision), Markdown, LaTeX and HTML (as a
reader wants it).

pandas is imported by the functions that need it, because its import takes half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replibo import files

if TYPE_CHECKING:
    import pandas as pd

Format = str | Callable[[Any], str]
"""How a cell is shown: a format specification such as ``.3f``, or a function."""

ESCAPED = str.maketrans(
    {character: rf"\{character}" for character in "%_&#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>replibo</title>
<link rel="icon" href="data:,">
<style>body{{font:14px sans-serif;margin:1em}}table{{border-collapse:collapse}}\
th,td{{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid #ccc}}</style>
<p>{caption}</p>
{body}
</html>
"""


@dataclass
class Table:
    """A DataFrame with a caption.

    Attributes:
        frame: one column for each quantity; NaN (or None, in a column of words) where there is no
            value.
        caption: what the table shows.
        formats: how a reader sees the cells of a column; by default as `str` has them.
    """

    frame: pd.DataFrame
    caption: str = ""
    formats: Mapping[str, Format] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]],
        caption: str = "",
        formats: Mapping[str, Format] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Table:
        """A table from the cells of each row, in order or by the names of their columns; a missing one
        stays empty. The ``columns`` are by default those of the first row."""
        import pandas as pd

        cells: list[Any] = list(rows)
        frame = pd.DataFrame(cells, columns=list(columns or rows[0]), dtype=object)
        for name in frame:
            # Integers stay integers beside a missing value.
            whole = pd.api.types.infer_dtype(frame[name], skipna=True) == "integer"
            frame[name] = frame[name].astype("Int64") if whole else frame[name].infer_objects()
        return cls(frame, caption, formats or {})

    def shown(self) -> pd.DataFrame:
        """The cells as a reader sees them; a dash where there is no value."""
        import pandas as pd

        def show(column: pd.Series[Any]) -> list[str]:
            how = self.formats.get(str(column.name), str)
            text = how if callable(how) else lambda value: format(value, how)
            return ["–" if pd.isna(value) else text(value) for value in column.astype(object)]

        return pd.DataFrame({name: show(self.frame[name]) for name in self.frame}, dtype=str)

    def csv(self) -> str:
        """The values themselves."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def md(self) -> str:
        """Markdown, with the caption below."""
        shown = self.shown().rename(columns=_cell).map(_cell)
        body = shown.to_markdown(index=False, tablefmt="github", disable_numparse=True)
        return f"{body}\n\n{self.caption}\n"

    def tex(self) -> str:
        """A LaTeX ``table``, with the caption below."""
        # Not by pandas, whose way imports Matplotlib.
        from tabulate import tabulate

        how = {"headers": "keys", "showindex": False, "disable_numparse": True}
        body = tabulate(self.shown(), tablefmt="latex_booktabs", **how)
        caption = self.caption.translate(ESCAPED)
        return f"\\begin{{table}}\n\\centering\n{body}\n\\caption{{{caption}}}\n\\end{{table}}\n"

    def html(self) -> str:
        """A page of its own, for the report."""
        from html import escape

        body = self.shown().to_html(index=False, border=0)
        return PAGE.format(caption=escape(self.caption), body=body)


def _cell(text: str) -> str:
    """``text`` as one cell of a Markdown table."""
    return " ".join(str(text).split("\n")).replace("|", r"\|")


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
