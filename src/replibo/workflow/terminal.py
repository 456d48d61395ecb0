"""Tables for a terminal of 100 columns, a row on a line of its own; the whole of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Literal

WIDTH = 100


def table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """The rows under their names; what does not fit is cut in the last column, with an ellipsis.

    Args:
        names: of the columns; without a header where all are empty.
        numbers: the columns that are aligned at the right.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
    widths[-1] = min(
        widths[-1], WIDTH - sum(widths[:-1]) - 2 * len(widths[:-1])
    )  # a space after each column
    made = Table(
        box=box.SIMPLE_HEAD if any(names) else None,
        show_header=any(names),
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name, width in zip(names, widths, strict=True):
        justify: Literal["left", "right"] = "right" if name in numbers else "left"
        made.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        made.add_row(*map(Text, row))
    return _printed(made)


def _printed(table: object) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    console.print(table)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.strip("\n").splitlines())


def wrapped(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose last columns share the room that the first leaves; long cells take several lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 2, 0, 0), pad_edge=False)
    made.add_column(names[0], no_wrap=True)
    for name in names[1:]:
        made.add_column(name, ratio=1, overflow="fold")
    made.expand = True
    for row in rows:
        made.add_row(*map(Text, row))
    return _printed(made)


def as_csv(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """All columns in full."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return file.getvalue().rstrip("\n")
