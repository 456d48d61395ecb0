"""Maps of the verdicts: one of all papers, a row for each group of claims; and one of each paper, claims
down and readings across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replibo.config.claims import LEADING, SOURCES, place
from replibo.config.models import COLORS
from replibo.results import plotting
from replibo.verdicts import HOLDING, Overall, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[Overall, tuple[str, str, str]] = {
    "holds": ("H", COLORS["blue"], "white"),
    "holds with exceptions": ("E", COLORS["sky_blue"], "black"),
    "mixed": ("M", "#F5D77F", "black"),
    "fails": ("F", COLORS["vermillion"], "white"),
    "undecided": ("u", "#D9D9D9", "black"),
    "holds by construction": ("c", "#A9CCEE", "black"),
    "not run": ("–", "#FFFFFF", "0.35"),
    "not printed": ("o", "#B4B4B4", "black"),
}
"""For each verdict its letter, the colour of the cell, and that of the letter."""

CELL, ROW, GAP = 0.19, 0.19, 0.6
"""The width and height of a cell, in inches, and the gap between two groups of cells, in cells."""
LEFT, TOP, FOOT = 2.72, 0.3, 0.65
"""Inches to the left of the cells, above them, and below."""
NAMES, COUNTS = 1.6, 0.45
"""Inches for the names of readings above a paper's cells, and for the counts to their right."""

MARK = "An apostrophe: smaller runs than the paper's, or stand-in data."

CAPTION_OF_ALL = (
    "The verdict on each claim, a cell each; a row is a group of claims of one paper. Left: in the "
    "reading of the paper as printed. Right: over all readings that count, in the same order."
)
CAPTION = (
    "The verdict on each claim (down) in each reading of its paper (across), and in controls, which are "
    "no readings and not counted. No cell: the claim has no such reading. First column: the label over "
    "all readings. At the right: in how many of those that count the claim holds, with or without "
    "exceptions: no mends, and none that is too short; "
    "some judge the printed runs again, by another rule. Where a reading comes from: "
    + "; ".join(f"{source}, {words}" for source, words in SOURCES.items())
    + "."
)


def verdict_map(verdicts: Sequence[Verdict], scale: str, labels: Mapping[str, str]) -> Figure:
    """The map of one paper, or of all, whose names are in ``labels``."""
    single = len({v.paper for v in verdicts}) == 1
    figure = (_of_paper if single else _of_all)(verdicts, labels)
    _legend(figure)
    figure.set_label(f"{CAPTION if single else CAPTION_OF_ALL} {MARK} Scale: {scale}.")
    return figure


def _axes(size: tuple[float, float], top: float, rows: int, cells: float) -> Axes:
    """The only axes of a figure of ``size``, ``top`` inches below its edge; their units are cells and
    rows."""
    figure = plotting.empty(size)
    width, height = CELL * cells / size[0], ROW * rows / size[1]
    ax = figure.add_axes((LEFT / size[0], 1 - top / size[1] - height, width, height))
    ax.set_xlim(0, cells)
    ax.set_ylim(rows, 0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, pad=3)
    ax.set_xticks([])
    return ax


def _cell(ax: Axes, x: float, y: float, word: Overall, reduced: str = "") -> None:
    """A lettered cell; an apostrophe marks reduced runs."""
    from matplotlib.patches import Rectangle

    letter, color, ink = LOOKS[word]
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=color, edgecolor="white", linewidth=1))
    text = letter + ("'" if reduced else "")
    ax.text(x + 0.5, y + 0.52, text, ha="center", va="center_baseline", color=ink)


def _of_all(verdicts: Sequence[Verdict], labels: Mapping[str, str]) -> Figure:
    """A heading for each paper, and below it a row for each group of its claims."""
    groups: dict[str, dict[str, list[Verdict]]] = {}
    for v in verdicts:
        groups.setdefault(v.paper, {}).setdefault(v.claim.group, []).append(v)
    most = max(len(group) for of_paper in groups.values() for group in of_paper.values())
    rows, cells = sum(1 + len(of_paper) for of_paper in groups.values()), 2 * most + GAP
    ax = _axes((LEFT + CELL * cells + 0.05, TOP + ROW * rows + FOOT), TOP, rows, cells)
    for start, title in ((0.0, "as printed"), (most + GAP, "over all readings")):
        ax.text(start, -0.3, title, va="bottom")
    names: dict[float, str] = {}
    y = 0
    for paper, of_paper in groups.items():
        headlines = [v.headline for v in verdicts if v.paper == paper]
        count = f"{sum(label in HOLDING for label in headlines)} of {len(headlines)}"
        heading = f"{labels[paper]}: {count} claims hold as printed, some with exceptions"
        place_of_heading = (-LEFT / CELL + 0.2, y + 0.6)
        ax.text(*place_of_heading, heading, va="center_baseline", fontweight="bold")
        for name, group in of_paper.items():
            y += 1
            names[y + 0.5] = name
            for i, v in enumerate(group):
                _cell(ax, i, y, v.headline, v.printed.reduced if v.readings else "")
                _cell(ax, most + GAP + i, y, v.overall)
        y += 1
    ax.set_yticks(list(names), list(names.values()))
    return ax.figure  # type: ignore[return-value]


def _of_paper(verdicts: Sequence[Verdict], labels: Mapping[str, str]) -> Figure:
    """A row for each claim; columns for the label over all readings, the readings, and the controls."""
    sources = {r.name: r.source or "print" for v in verdicts for r in v.readings}
    readings = sorted(sources, key=lambda name: place(name, sources[name]))
    controls = list(dict.fromkeys(control.name for v in verdicts for control in v.controls))
    groups = ["" if name in LEADING else str(sources[name]) for name in readings]
    columns, x = {}, 1 + GAP
    for name, group, before in zip(readings, groups, [groups[0], *groups], strict=False):
        x += GAP * (group != before)  # room for the name of a source of one reading
        columns[name] = x
        x += 1
    after = x + 2 * GAP
    columns |= {name: after + i for i, name in enumerate(controls)}
    cells = after + len(controls)
    width = LEFT + CELL * cells + COUNTS
    ax = _axes((width, NAMES + TOP + ROW * len(verdicts) + FOOT), NAMES + TOP, len(verdicts), cells)
    for y, v in enumerate(verdicts):
        _cell(ax, 0, y, v.overall)
        for reading in (*v.readings, *v.controls):
            _cell(ax, columns[reading.name], y, v.label(reading), reading.reduced)
        if v.judged:
            ax.text(cells + 0.4, y + 0.52, f"{v.holding}/{len(v.counting)}", va="center_baseline")
    ax.set_yticks([y + 0.5 for y in range(len(verdicts))], [v.claim.short for v in verdicts])
    names = {"all readings": 0.0} | {name.replace("_", " "): x for name, x in columns.items()}
    ax.set_xticks([x + 0.5 for x in names.values()], list(names), rotation=90)
    ax.tick_params(axis="x", top=False, labeltop=True, labelbottom=False)
    ax.text(-0.4, -0.4, labels[verdicts[0].paper], ha="right", va="bottom", fontweight="bold")
    spans = [
        (str(source), [columns[n] for n, of in zip(readings, groups, strict=True) if of == source])
        for source in SOURCES
    ]
    spans.append(("controls", [columns[name] for name in controls]))
    line = -(NAMES + 0.05) / ROW
    for label, places in spans:
        if places:
            ends = min(places) + 0.1, max(places) + 0.9
            ax.plot(ends, [line, line], color="0.4", lw=0.8, clip_on=False)
            ax.text(ends[0], line - 0.2, label, va="bottom")
    return ax.figure  # type: ignore[return-value]


def _legend(figure: Figure) -> None:
    """The letters, below the cells."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=color, edgecolor="0.6", label=f"{letter}  {word}")
        for word, (letter, color, _) in LOOKS.items()
    ]
    where: Any = {"loc": "lower left", "alignment": "left", "ncols": 4}
    figure.legend(handles=handles, title=MARK, columnspacing=1.2, borderpad=0.2, **where)
