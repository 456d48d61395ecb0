"""Tables for a terminal, of 100 columns or fewer; the whole of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Literal

from replibo.messages import WIDTH as WIDTH

NARROWEST = 12
"""The columns that a text keeps, on however narrow a terminal."""


def table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """The rows under their names. If they do not fit, the names of numbers take several lines, and then
    the widest texts give way: in the last column they are cut, with an ellipsis, and in others they take
    several lines. Numbers are never cut.

    Args:
        names: of the columns; without a header where all are empty.
        numbers: the columns that are aligned at the right.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    columns = list(zip(names, *rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    room = WIDTH - 2 * (len(names) - 1)
    if sum(widths) > room:
        for place, (name, *cells) in enumerate(columns):
            if name in numbers:
                widths[place] = max(map(cell_len, (*name.split(), *cells)))
    texts = [place for place, name in enumerate(names) if name not in numbers]
    while sum(widths) > room:
        widest = max(texts, key=widths.__getitem__)
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    lines = Table(
        box=box.SIMPLE_HEAD if any(names) else None,
        show_header=any(names),
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for place, name in enumerate(names):
        justify: Literal["left", "right"] = "right" if name in numbers else "left"
        last = place == len(names) - 1
        lines.add_column(
            name,
            justify=justify,
            no_wrap=last,
            overflow="ellipsis" if last else "fold",
            width=widths[place],
        )
    for row in rows:
        lines.add_row(*map(Text, row))
    return _printed(lines, WIDTH + max(sum(widths) - room, 0))


def _printed(table: object, width: int) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.strip("\n").splitlines())


def wrapped(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose last columns share the room that the first leaves; long cells take several lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 2, 0, 0), pad_edge=False)
    lines.add_column(names[0], no_wrap=True)
    for name in names[1:]:
        lines.add_column(name, ratio=1, overflow="fold")
    lines.expand = True
    for row in rows:
        lines.add_row(*map(Text, row))
    return _printed(lines, WIDTH)


def as_csv(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """All columns in full."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return file.getvalue().rstrip("\n")
