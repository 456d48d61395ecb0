"""The map of the verdicts: claims down, readings across, a coloured and lettered cell for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from replibo.config.claims import SOURCES, place
from replibo.config.models import COLORS
from replibo.results import plotting
from replibo.results.comparisons import Word
from replibo.verdicts import Judgement, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[Word, tuple[str, str, str]] = {
    "holds": ("H", COLORS["blue"], "white"),
    "holds with exceptions": ("E", COLORS["sky_blue"], "black"),
    "mixed": ("M", COLORS["brown"], "white"),
    "fails": ("F", COLORS["vermillion"], "white"),
    "undecided": ("u", "#D9D9D9", "black"),
    "not run": ("–", "#F6F6F6", "0.35"),
}
"""For each verdict its letter, the colour of the cell, and that of the letter."""

SOURCE_LABELS = {"print": "print", "code": "code", "open": "left open", "mend": "mend"}

CELL, ROW, GAP = 0.36, 0.235, 0.5
"""Inches: the width of a cell and its height, and the gap before the controls in cells."""

LEFT, RIGHT, TOP, BETWEEN = 3.1, 2.3, 1.7, 0.2
"""Inches beside and above a panel, and below it."""

MARK = "H'  with an apostrophe: smaller runs than the paper's, or stand-in data"

CAPTION = (
    "The verdict on each claim (down) in each reading of its paper (across, by where the reading comes "
    "from), and in controls, which are no readings and not counted. An apostrophe: smaller runs than the "
    "paper's, or stand-in data. No cell: the claim has no such reading. At the right: the label over all "
    "readings, and in how many of those that were run the claim holds, with or without exceptions."
)


def verdict_map(found: Sequence[Verdict], scale: str) -> Figure:
    """A panel for each paper: its claims down, its readings across by their source, and after a gap the
    controls."""
    papers = {v.paper: [own for own in found if own.paper == v.paper] for v in found}
    widest = max(_width(own) for own in papers.values())
    heights = [TOP + ROW * len(own) + BETWEEN for own in papers.values()]
    foot = 0.6
    size = (LEFT + CELL * widest + RIGHT, sum(heights) + foot)
    figure = plotting.empty(size)
    top = size[1]
    for (paper, own), height in zip(papers.items(), heights, strict=True):
        bounds = (LEFT, top - TOP - ROW * len(own), CELL * _width(own), ROW * len(own))
        fractions = [value / size[i % 2] for i, value in enumerate(bounds)]
        _panel(
            figure.add_axes((fractions[0], fractions[1], fractions[2], fractions[3])), paper, own
        )
        top -= height
    _legend(figure)
    figure.set_label(f"{CAPTION} Scale: {scale}.")
    return figure


def _columns(found: Sequence[Verdict]) -> tuple[list[str], list[str]]:
    """The readings, the leading ones first and the others by their source, and the controls."""
    sources = {own.name: own.source for verdict in found for own in verdict.readings}
    readings = sorted(sources, key=lambda name: place(name, sources[name] or "print"))
    return readings, list(dict.fromkeys(own.name for v in found for own in v.controls))


def _width(found: Sequence[Verdict]) -> float:
    readings, controls = _columns(found)
    return len(readings) + (GAP + len(controls) if controls else 0)


def _panel(ax: Axes, paper: str, found: Sequence[Verdict]) -> None:
    """One paper: seaborn's heatmap of the readings, and another of the controls beside it."""
    readings, controls = _columns(found)
    groups = [(readings, 0.0)] + ([(controls, len(readings) + GAP)] if controls else [])
    ticks = []
    for names, start in groups:
        _heat(ax, found, names, start)
        ticks += [(start + i + 0.5, name) for i, name in enumerate(names)]
    ax.set_xlim(0, _width(found))
    ax.set_ylim(len(found), 0)
    ax.set_xticks([at for at, _ in ticks], [name.replace("_", " ") for _, name in ticks])
    ax.tick_params(
        axis="x",
        labelrotation=90,
        length=0,
        pad=2,
        top=True,
        labeltop=True,
        labelbottom=False,
        bottom=False,
    )
    ax.set_yticks(np.arange(len(found)) + 0.5, [v.claim.short for v in found])
    ax.tick_params(axis="y", length=0, labelrotation=0)
    ax.grid(False)
    for side in ax.spines.values():
        side.set_visible(False)
    for i, verdict in enumerate(found):
        count = f", {verdict.holding}/{len(verdict.judged)}" if verdict.judged else ""
        ax.text(
            _width(found) + 0.25,
            i + 0.5,
            f"{verdict.overall}{count}",
            va="center",
            fontsize=7,
            color="0.25",
        )
    _sources(ax, found, readings, bool(controls))
    ax.text(-0.1, -0.4, paper, ha="right", va="bottom", fontsize=10, fontweight="bold")


def _heat(ax: Axes, found: Sequence[Verdict], names: Sequence[str], start: float) -> None:
    """The cells of ``names``, the first at ``start``; where a claim has no such reading, none."""
    import seaborn
    from matplotlib.colors import ListedColormap
    from matplotlib.transforms import Affine2D

    words = list(LOOKS)
    codes = np.full((len(found), len(names)), np.nan)
    letters = np.full(codes.shape, "", dtype=object)
    for i, verdict in enumerate(found):
        for own in (*verdict.readings, *verdict.controls):
            if own.name in names:
                codes[i, names.index(own.name)] = words.index(own.word)
                letters[i, names.index(own.name)] = _letter(own)
    before = len(ax.texts), len(ax.collections)
    seaborn.heatmap(
        np.ma.masked_invalid(codes),
        mask=np.isnan(codes),
        annot=letters,
        fmt="",
        annot_kws={"fontsize": 7.5},
        cmap=ListedColormap([color for _, color, _ in LOOKS.values()]),
        vmin=-0.5,
        vmax=len(words) - 0.5,
        cbar=False,
        linewidths=1.0,
        linecolor="white",
        xticklabels=False,
        yticklabels=False,
        ax=ax,
    )
    for mesh in ax.collections[before[1] :]:
        mesh.set_transform(Affine2D().translate(start, 0) + ax.transData)
    inks = {letter: ink for letter, _, ink in LOOKS.values()}
    for text in ax.texts[before[0] :]:
        text.set_x(text.get_position()[0] + start)
        text.set_color(inks[text.get_text()[0]])


def _letter(own: Judgement) -> str:
    """The letter of the verdict, with a mark where the runs are reduced."""
    return LOOKS[own.word][0] + ("'" if own.reduced else "")


def _sources(ax: Axes, found: Sequence[Verdict], readings: Sequence[str], controls: bool) -> None:
    """The groups' names above the columns, with a line over each."""
    sources = {own.name: own.source or "print" for verdict in found for own in verdict.readings}
    groups = [
        (SOURCE_LABELS[s], [i for i, n in enumerate(readings) if sources[n] == s]) for s in SOURCES
    ]
    spans = [(label, float(own[0]), own[-1] + 1.0) for label, own in groups if own]
    if controls:
        spans.append(("controls", len(readings) + GAP, _width(found)))
    y = -(TOP - 0.3) / ROW
    for label, start, end in spans:
        ax.plot([start + 0.1, end - 0.1], [y + 0.2] * 2, color="0.4", lw=0.8, clip_on=False)
        ax.text((start + end) / 2, y, label, ha="center", va="bottom", fontsize=7, color="0.25")


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=color, edgecolor="0.6", label=f"{letter}  {word}")
        for word, (letter, color, _) in LOOKS.items()
    ]
    figure.legend(
        handles=handles,
        title=MARK,
        alignment="left",
        title_fontsize=7.5,
        loc="lower left",
        ncols=len(handles),
        columnspacing=1.2,
    )
