"""One look for all figures: colours and line styles come from the config, so that an algorithm looks
the same wherever it appears."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import files
from replibo.config.models import COLORS, AlgorithmEntry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (3.6, 2.9)  # inches
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "savefig.dpi": 150,
    # text stays text in the PDF, and the file does not change from day to day
    "pdf.fonttype": 42,
    "svg.hashsalt": "replibo",
}


def panels(rows: int, columns: int) -> tuple[Figure, np.ndarray]:
    """A figure of ``rows x columns`` panels; the array of axes always has two dimensions."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update(STYLE)  # type: ignore[arg-type]
    import matplotlib.pyplot as plt

    return plt.subplots(
        rows,
        columns,
        figsize=(PANEL[0] * columns, PANEL[1] * rows),
        squeeze=False,
        layout="constrained",
    )


def line_style(entry: AlgorithmEntry) -> dict[str, Any]:
    """Colour, dashes and label of one algorithm."""
    return {"color": COLORS[entry.color], "linestyle": entry.line, "label": entry.label}


def band(
    ax: Axes, t: np.ndarray, middle: np.ndarray, half: np.ndarray, entry: AlgorithmEntry
) -> None:
    """A curve with a shaded band of ``± half``."""
    ax.plot(t, middle, **line_style(entry))
    ax.fill_between(t, middle - half, middle + half, color=COLORS[entry.color], alpha=0.2, lw=0)


def finish(
    figure: Figure, caption: str, columns: int = 4, characters_per_inch: float | None = None
) -> Figure:
    """Put one legend for all panels and the caption below them.

    Args:
        columns: of the legend, at most.
        characters_per_inch: where it is given, the legend has as many columns as fit instead.
    """
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    width = figure.get_size_inches()[0]
    text = textwrap.fill(caption, int(width * 15))
    figure.supxlabel(text, fontsize=7.5, x=0.01, ha="left", color="0.25")
    if characters_per_inch is not None:
        columns = legend_columns(list(entries), round(characters_per_inch * width))
    if entries:
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside upper center",
            ncols=min(columns, len(entries)),
        )
    return figure


def legend_columns(labels: Sequence[str], width: int) -> int:
    """The largest number of columns in which a legend, filled column by column, is at most ``width``
    characters wide; a handle and the gaps take the room of twelve."""
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        longest = [max(map(len, labels[i : i + rows])) for i in range(0, len(labels), rows)]
        if sum(longest) + 12 * len(longest) <= width:
            return columns
    return 1


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write the figure once for each path, in the format that its suffix names."""
    for path in paths:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        content = io.BytesIO()  # on a full disk Matplotlib fails in ways of its own
        figure.savefig(content, format=path.suffix[1:], metadata=metadata)
        with files.written_whole(path) as temporary:
            temporary.write_bytes(content.getvalue())
        figure.set_layout_engine("none")  # laid out once, the same in every format
