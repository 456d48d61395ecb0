"""One look for all figures: colours, line styles and markers come from the config, so that an algorithm
looks the same wherever it appears. A figure's caption is a file of its own, not a part of the
image."""

from __future__ import annotations

import functools
import io
import math
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from replibo import files
from replibo.config.models import COLORS, AlgorithmEntry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine

WIDTH = 7.2
"""Of a figure that has several columns of panels, in inches: a page of two columns of text."""
PANEL = (3.6, 2.2)
"""The largest panel's width, with its labels, and every panel's height, in inches."""
LEAST = 3.2 / 2.54
"""Of an axes box of a plot, in inches, either way: labels and legend make the figure larger."""
CHARACTERS = 12
"""Of a tick's label, to an inch."""
LONGEST, LINES = 70, 3
"""The most characters in a line of a legend's label, and the most lines of any label."""
BANDS = 4
"""The most curves of a panel whose intervals are bands; of more they are bars at the right margin."""
BETWEEN = 0.025
"""The distance between two bars at the margin, as a share of the panel's rounds."""

STYLE: dict[str, Any] = {
    # one size of text in all figures
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.title_fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 300,
    # text stays text in the PDF, and the file does not change from day to day
    "pdf.fonttype": 42,
    "svg.hashsalt": "replibo",
}

MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "X"}
MARKER_OF_COLOR = {
    **{"blue": "o", "orange": "s", "vermillion": "^", "purple": "D", "green": "v"},
    **{"black": "X", "brown": "P", "sky_blue": "<", "grey": ""},
}
"""The marker of an algorithm whose entry names none, so that no two colours differ by hue alone."""
OWN_COLOR = "blue"
"""The colour of the method that a paper proposes. It is drawn over all others."""


def empty(size: tuple[float, float], **options: Any) -> Figure:
    """A figure without axes, of ``size`` in inches, with the look of all figures.

    The look is Matplotlib's own defaults and `STYLE`, whatever was set before.
    """
    from replibo.clean_matplotlib import matplotlib as mpl

    look: Any = {**mpl.rcParamsDefault, **STYLE}
    look.pop("backend")
    mpl.rcParams.update(look)
    from matplotlib.figure import Figure

    return Figure(figsize=size, **options)  # without pyplot, whose import takes time


def panels(rows: int, columns: int, height: float = PANEL[1]) -> tuple[Figure, np.ndarray]:
    """A figure of ``rows x columns`` panels, ``height`` inches a row; the array of axes always has two
    dimensions."""
    size = (min(WIDTH, max(4.8, PANEL[0] * columns)), height * rows)
    figure = empty(size, layout="constrained")
    axes: np.ndarray = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def grid(number: int, columns: int) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, row by row, at most ``columns`` in a row."""
    columns = min(columns, number)
    figure, axes = panels(-(-number // columns), columns)
    for ax in axes.flat[number:]:
        ax.remove()
    return figure, list(axes.flat[:number])


def line_style(entry: AlgorithmEntry) -> dict[str, Any]:
    """Colour, dashes, marker, label and place in front of one algorithm."""
    marker = MARKERS[entry.marker] if entry.marker else MARKER_OF_COLOR[entry.color]
    return {
        "color": COLORS[entry.color],
        "linestyle": entry.line,
        "marker": marker,
        "markeredgecolor": "white",
        "markeredgewidth": 0.3,
        "label": entry.label,
        "zorder": 2.0
        + (entry.color != "grey")
        + (entry.color == OWN_COLOR) * (2 - _variant(entry)),
    }


def _variant(entry: AlgorithmEntry) -> bool:
    """Whether line or marker say that this is a variant of its colour's method."""
    return entry.line != "solid" or entry.marker is not None


@dataclass(frozen=True)
class Curve:
    """One algorithm in one panel.

    Attributes:
        look: label, colour, line and marker.
        t: rounds, shape ``n``.
        middle, low, high: the curve and the ends of its interval, ``n``; NaN if there is none.
        bold: whether the line is thick and lies in front.
    """

    look: AlgorithmEntry
    t: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bold: bool = False


def draw(ax: Axes, curves: Sequence[Curve], *, bands: bool, step: bool = False) -> None:
    """Draw curves with their intervals.

    Args:
        bands: draw each interval as a band. Otherwise draw it as a bar at the right margin, in the order
            of the legend, and as a band for the paper's method alone.
        step: draw steps, each value kept until the next round.
    """
    where: Any = "post" if step else None
    exponential = ax.get_xscale() == "log"
    for i, curve in enumerate(curves):
        style = line_style(curve.look)
        # Shifted, so that the markers of curves that coincide do not hide each other.
        every = ((i + 0.5) / len(curves) * 0.2, 0.2) if len(curve.t) > 12 else None
        if curve.bold:
            style |= {"linewidth": 2.2, "zorder": 5.0}
        drawstyle = "steps-post" if step else "default"
        ax.plot(curve.t, curve.middle, drawstyle=drawstyle, markevery=every, **style)
        if np.all(np.isnan(curve.low)):
            continue
        proposed = curve.look.color == OWN_COLOR and not _variant(curve.look)
        if bands or proposed or curve.bold:
            color = style["color"]
            face, edge = (color, 0.15), (color, 0.5)
            look: Any = {"facecolor": face, "edgecolor": edge, "lw": 0.4, "zorder": 1.5}
            ax.fill_between(curve.t, curve.low, curve.high, step=where, **look)
        if not bands:
            away = BETWEEN * (i + 1)
            first, last = curve.t[0], curve.t[-1]
            place = last * (last / first) ** away if exponential else last + away * (last - first)
            end = np.flatnonzero(np.isfinite(curve.low))[-1]
            ends: tuple[float, float] = curve.low[end], curve.high[end]
            ax.vlines(place, *ends, color=style["color"], lw=1.2, zorder=style["zorder"])
            bar = {**style, "label": "_interval", "linestyle": "none", "markersize": 3}
            ax.plot([place], [curve.middle[end]], **bar)


def end_axis_at(ax: Axes, last: float) -> None:
    """End the x axis at ``last``, so that the bars at the right margin are no later rounds."""
    ax.spines["bottom"].set_bounds(ax.get_xlim()[0], last)
    low = ax.get_xlim()[0]
    ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= 1.0001 * last])
    ax.set_xticks([], minor=True)


def has_bands(by_problem: Mapping[str, Sequence[object]]) -> bool:
    """Whether no panel of a figure has more than `BANDS` curves, given by their names or themselves."""
    return max(map(len, by_problem.values())) <= BANDS


def intervals_said(names_by_problem: Mapping[str, Sequence[str]], kind: str) -> str:
    """How a figure shows its intervals, for its caption; ``kind`` says what they are."""
    if has_bands(names_by_problem):
        return f"shaded: {kind}"
    return f"bars at the right margin, in the legend's order, and the band of a solid blue line: {kind}"


def say_in_panel(ax: Axes, notes: Iterable[str]) -> None:
    """Write notes on a panel's runs below its title, which must be set before."""
    columns = ax.get_gridspec().ncols  # type: ignore[union-attr]
    width = min(40, 120 // columns)  # of characters that fit beside those of the other panels
    lines = []
    for note in notes:  # broken at commas, and inside a part only where it is too long
        parts = note.replace(" ", "\xa0").replace(",\xa0", ", ")
        for line in textwrap.wrap(parts, width, break_long_words=False):
            lines += textwrap.wrap(line.replace("\xa0", " "), width)
    if lines:
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        look: dict[str, Any] = {"ha": "center", "va": "bottom", "color": "0.35"}
        text = ax.annotate("\n".join(lines), (0.5, 1), (0, 4), **above, **look)
        height = text.get_window_extent().height / ax.figure.dpi * 72
        ax.set_title(ax.get_title(), pad=7 + height)


def say_not_run(ax: Axes) -> None:
    """Say that a panel has no runs, in place of axes that nothing was measured on."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, "not run", ha="center", va="center", transform=ax.transAxes)


def from_zero(ax: Axes) -> None:
    """A y axis from 0 on, with a margin below it, so that no curve lies under the axis."""
    top = ax.get_ylim()[1]
    ax.set_ylim(-0.03 * top, top)


def plain_numbers(ax: Axes, which: Literal["x", "y"] = "y") -> None:
    """Decimals, 0.1 and not 10⁻¹, on an axis whose logarithmic scale and limits are set; up to three
    decades with the twos and fives between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = axis.get_view_interval()
    wide = high > 1e3 * low
    axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


LINEAR_BELOW = 1e-3


def logarithmic_from_zero(ax: Axes) -> None:
    """A y axis that is linear below `LINEAR_BELOW`, logarithmic above, with a margin below 0."""
    ax.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.4)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_ylim(bottom=-LINEAR_BELOW / 3)
    ax.set_yticks([tick for tick in ax.get_yticks() if tick >= 0])


def logarithmic(ax: Axes) -> None:
    """A logarithmic y axis that holds the curves, whatever the lower ends of their intervals are; linear
    near 0 if a curve comes near it."""
    middle = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines])
    smallest, largest = float(np.nanmin(middle)), float(ax.dataLim.y1)
    if smallest <= LINEAR_BELOW:
        logarithmic_from_zero(ax)
        return
    ax.set_yscale("log")
    ax.set_ylim(smallest / 2, 1.3 * largest)
    plain_numbers(ax)


def finish(figure: Figure, caption: str) -> Figure:
    """Keep the caption, put one legend above all panels, and make room for both panels and labels.

    A label that a whole row or column of panels shares is said once.
    """
    figure.set_label(caption)
    _make_drawable(figure)
    _say_labels_once(figure)
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        _legend(figure, [*entries.values()], [drawable(label, LONGEST) for label in entries])
    _make_room(figure)
    return figure


def drawable(text: str, longest: float, most: int = LINES) -> str:
    """``text`` as it can be drawn: at most ``most`` lines of ``longest`` characters.

    The font has no Chinese, Japanese or Korean characters and no emoji; such a character becomes its code
    point, ``[4E2D]``. Dollar signs that enclose no formula are signs.
    """
    from matplotlib import cbook
    from matplotlib.mathtext import MathTextParser

    if cbook.is_math_text(text):
        try:
            MathTextParser("path").parse(text)
            return text
        except ValueError:
            text = text.replace("$", r"\$")
    characters = _characters()
    text = "".join(c if c == "\n" or ord(c) in characters else f"[{ord(c):04X}]" for c in text)
    lines = text.split("\n")
    if max(map(len, lines)) > longest:
        lines = [part for line in lines for part in textwrap.wrap(line, max(int(longest), 2))]
    if len(lines) > most:
        lines[most - 1 :] = [lines[most - 1][:-1] + "…"]
    return "\n".join(lines)


@functools.cache
def _characters() -> frozenset[int]:
    """The code points of the characters that the figures' font has."""
    from matplotlib import font_manager, ft2font

    return frozenset(ft2font.FT2Font(font_manager.findfont("DejaVu Sans")).get_charmap())


def _make_drawable(figure: Figure) -> None:
    """Wrap and shorten titles, axis labels, tick labels and notes to the room of a panel."""
    from matplotlib.ticker import FixedLocator

    for ax in figure.axes:
        spec = ax.get_subplotspec()
        rows, columns = (1, 1) if spec is None else spec.get_gridspec().get_geometry()
        wide, high = figure.get_size_inches() / (columns, rows)
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts):
            room = high if text.get_rotation() == 90 else wide
            most = 20 if text in ax.texts else LINES
            text.set_text(drawable(text.get_text(), math.inf, most))
            extent = text.get_window_extent()
            needed = max(extent.width, extent.height) / figure.dpi
            if needed > room:
                longest = max(len(line) for line in text.get_text().split("\n"))
                text.set_text(drawable(text.get_text(), 0.8 * longest * room / needed, most))
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                labels = [label.get_text() for label in axis.get_ticklabels()]
                texts = [drawable(label, CHARACTERS * wide / 2) for label in labels]
                if texts != labels:
                    axis.set_ticklabels(texts)


def caption_of(figure: Figure) -> str:
    """The caption that `finish` was given."""
    return str(figure.get_label())


def _say_labels_once(figure: Figure) -> None:
    """The y label at the left of a row and the x label below a column, where all of it share them."""
    grid: dict[tuple[int, int], Axes] = {}
    for ax in figure.axes:
        if (place := ax.get_subplotspec()) is not None and ax.axison:
            grid[place.rowspan.start, place.colspan.start] = ax
    for (row, column), ax in sorted(grid.items(), key=lambda item: item[0], reverse=True):
        left = [neighbour for (r, c), neighbour in grid.items() if r == row and c < column]
        if left and all(neighbour.get_ylabel() == ax.get_ylabel() for neighbour in left):
            ax.set_ylabel("")
    for (row, column), ax in sorted(grid.items(), key=lambda item: item[0]):
        below = grid.get((row + 1, column))
        if below is not None and below.get_xlabel() == ax.get_xlabel():
            ax.set_xlabel("")


def _legend(figure: Figure, handles: list[Any], labels: list[str]) -> None:
    """One legend above the panels, of as few rows as fit into the width, evenly filled."""
    for rows in range(1, len(labels) + 1):
        columns = -(-len(labels) // rows)
        legend = figure.legend(
            handles, labels, loc="outside upper center", ncols=columns, columnspacing=1.2
        )
        width = legend.get_window_extent().width / figure.dpi
        if width <= figure.get_figwidth() - 0.1 or rows == len(labels):
            break
        legend.remove()
    figure.set_figwidth(max(figure.get_figwidth(), width + 0.1))


def _make_room(figure: Figure) -> None:
    """Lay the figure out, and enlarge it until no panel is smaller than `LEAST`."""
    plots = [ax for ax in figure.axes if ax.axison and ax.get_aspect() == "auto"]
    layout = cast("LayoutEngine", figure.get_layout_engine())
    for _ in range(20):
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            layout.execute(figure)
        if not any("collapsed" in str(warning.message) for warning in caught_warnings):
            break
        figure.set_size_inches(*(1.2 * figure.get_size_inches()))  # labels leave no room at all
    for _ in range(4 if plots else 0):
        size = np.array(
            [[ax.get_window_extent().width, ax.get_window_extent().height] for ax in plots]
        )
        lacking = np.maximum(LEAST - size.min(axis=0) / figure.dpi, 0)
        if not lacking.any():
            break
        grid = plots[0].get_gridspec()
        room = (lacking + 0.02) * (lacking > 0) * (grid.ncols, grid.nrows)  # type: ignore[union-attr]
        figure.set_size_inches(figure.get_size_inches() + room)
        layout.execute(figure)
    for _ in range(4):
        titles = [ax.title.get_window_extent() for ax in figure.axes if ax.get_title()]
        lacking_width = max((max(-box.x0, box.x1 - figure.bbox.x1) for box in titles), default=0.0)
        if lacking_width <= 1:
            break
        figure.set_figwidth(figure.get_figwidth() + 2 * len(titles) * lacking_width / figure.dpi)
        layout.execute(figure)
    figure.set_layout_engine(None)  # laid out once, the same in every format


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write the figure once for each path, in the format that its suffix names; its caption to .txt."""
    for path in paths:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        content = io.BytesIO()  # on a full disk Matplotlib fails in ways of its own
        if path.suffix == ".txt":
            content.write(f"{caption_of(figure)}\n".encode())
        else:
            if path.suffix == ".pdf":
                _without_layout_tables()
            figure.savefig(content, format=path.suffix[1:], metadata=metadata)
        with files.written_whole(path) as temporary:
            temporary.write_bytes(content.getvalue())


@functools.cache
def _without_layout_tables() -> None:
    """Embed fonts without their layout tables. No viewer reads them, and reducing them to the glyphs that
    are shown took two fifths of the time of a PDF."""
    from matplotlib.backends import _backend_pdf_ps

    options = cast(Any, _backend_pdf_ps).subset.Options
    options._drop_tables_default = [*options._drop_tables_default, "GDEF", "GPOS", "GSUB"]
