"""What a figure's layout must hold to."""

from __future__ import annotations

import itertools

from matplotlib.figure import Figure


def misfits(figure: Figure) -> list[str]:
    """What is wrong with a figure's layout: panels below 3 cm, and what is cut or overprinted."""
    figure.draw_without_rendering()
    found = []
    for ax in figure.axes:
        box = ax.get_window_extent()
        if (
            ax.axison
            and ax.get_aspect() == "auto"
            and min(box.width, box.height) < 3 / 2.54 * figure.dpi
        ):
            found.append(
                f"a panel of {box.width / figure.dpi:.2f} x {box.height / figure.dpi:.2f} in"
            )
    words = [
        text for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)
    ]
    boxes = {text.get_text(): text.get_window_extent() for text in words if text.get_text()}
    for legend in figure.legends:
        boxes["the legend"] = legend.get_window_extent()
    whole = figure.bbox
    for text, box in boxes.items():
        if box.x0 < -1 or box.y0 < -1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1:
            found.append(f"{text!r} is cut")
    said = [text for ax in figure.axes for text in (ax.title, *ax.texts) if text.get_text()]
    placed = [(repr(text.get_text()), text.get_window_extent()) for text in said]
    placed += [("the legend", legend.get_window_extent()) for legend in figure.legends]
    for (one, a), (other, b) in itertools.combinations(placed, 2):
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1:
            found.append(f"{one} and {other} overprint")
    return found
