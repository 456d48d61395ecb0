"""Figures: the palette, what is drawn how, and room for all that is in them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from replibo.config import load
from replibo.config.models import COLORS, AlgorithmEntry
from replibo.results import plotting
from replibo.results.tables import Table

from .conftest import BLIND, lab, linear, misfits

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("color", COLORS.values())
def test_every_colour_stands_out_from_white(color: str) -> None:
    """3:1, as WCAG 2.1 wants of graphics."""
    luminance = linear(color) @ [0.2126, 0.7152, 0.0722]
    assert 1.05 / (luminance + 0.05) >= 3


@pytest.mark.parametrize("matrix", BLIND.values(), ids=BLIND)
def test_the_colour_blind_tell_any_two_colours_apart(matrix: Any) -> None:
    for a, b in itertools.combinations(COLORS.values(), 2):
        assert np.linalg.norm(lab(matrix @ linear(a)) - lab(matrix @ linear(b))) > 8


@pytest.mark.parametrize("matrix", [np.eye(3), *BLIND.values()], ids=["none", *BLIND])
def test_no_two_methods_of_a_figure_are_told_apart_by_colour_alone(matrix: Any) -> None:
    """They differ in line or marker, or their colours are 20 apart."""
    for paper, config in load.load(ROOT / "config").entries.items():
        for name, figure in config.figures.items():
            looks = [plotting.line_style(config.algorithms[a]) for a in figure.algorithms or ()]
            for a, b in itertools.combinations(looks, 2):
                if (a["linestyle"], a["marker"]) == (b["linestyle"], b["marker"]):
                    seen = [lab(matrix @ linear(look["color"])) for look in (a, b)]
                    assert np.linalg.norm(seen[0] - seen[1]) >= 20, (paper, name, a, b)


def test_every_colour_has_a_marker_of_its_own() -> None:
    """So that this is true of the algorithms that somebody adds, too."""
    assert plotting.MARKER_OF_COLOR.keys() == COLORS.keys()
    assert len(set(plotting.MARKER_OF_COLOR.values())) == len(COLORS)


def test_within_a_paper_one_colour_has_one_meaning() -> None:
    """Variants share the colour of their method, which is the first word of their label."""
    same = {
        "LB": "LB-GP-UCB",
        "bare": "NeuralBO",
        "constant": "NeuralBO",
        "Centre": "Random search",
    }
    for paper, entry in load.load(ROOT / "config").entries.items():
        if paper == "cross":
            continue  # it has more methods than there are colours
        methods: dict[str, set[str]] = {}
        for algorithm in entry.algorithms.values():
            word = algorithm.label.replace(":", ",").split(",")[0]
            methods.setdefault(algorithm.color, set()).add(same.get(word, word))
        assert all(len(words) == 1 for words in methods.values()), (paper, methods)


def entry(label: str, **looks: Any) -> AlgorithmEntry:
    return AlgorithmEntry(
        type="random_search.RandomSearch", label=label, **({"color": "blue"} | looks)
    )


@pytest.mark.parametrize(("rows", "columns", "methods"), [(1, 1, 2), (1, 1, 16), (2, 4, 16)])
def test_any_number_of_panels_and_methods_fits(rows: int, columns: int, methods: int) -> None:
    figure, axes = plotting.panels(rows, columns)
    labels = [f"method {i} with a long name, variant" for i in range(methods)]
    for ax in axes.flat:
        for label in labels:
            ax.plot([0, 1e5], [0, 1e5], **plotting.line_style(entry(label)))
        ax.set_title("Michalewicz, 100-D")
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("smallest value so far")
    plotting.finish(figure, "words " * 200)
    assert misfits(figure) == []
    assert plotting.caption_of(figure) == "words " * 200
    # the shared label is said once for each row, and once below each column
    assert sum(bool(ax.get_ylabel()) for ax in axes.flat) == rows
    assert sum(bool(ax.get_xlabel()) for ax in axes.flat) == columns


def curves(looks: list[AlgorithmEntry]) -> list[plotting.Curve]:
    t = np.arange(1.0, 21.0)
    return [plotting.Curve(look, t, t + i, t + i - 1, t + i + 2) for i, look in enumerate(looks)]


LOOKS = [entry("own"), entry("a", color="orange"), entry("b", color="grey")]


def test_few_curves_have_bands_and_the_papers_method_lies_in_front() -> None:
    assert plotting.has_bands({"f": list("wxyz")}) and not plotting.has_bands({"f": list("vwxyz")})
    assert plotting.intervals_said({"f": ["x"]}, "± 1 sd") == "shaded: ± 1 sd"
    _, axes = plotting.panels(1, 1)
    plotting.draw(axes[0, 0], curves(LOOKS), bands=True)
    lines, bands = axes[0, 0].lines, axes[0, 0].collections
    assert [line.get_label() for line in lines] == ["own", "a", "b"]
    assert lines[0].get_zorder() > lines[1].get_zorder() > lines[2].get_zorder()
    for band, curve in zip(bands, curves(LOOKS), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert {heights.min(), heights.max()} == {curve.low[0], curve.high[-1]}


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_of_many_curves_the_intervals_lie_side_by_side_beyond_the_last_round(scale: Any) -> None:
    figure, axes = plotting.panels(1, 1)
    ax = axes[0, 0]
    ax.set_xscale(scale)
    plotting.draw(ax, curves(LOOKS), bands=False)
    plotting.end_axis_at(ax, 20.0)
    bars = [artist for artist in ax.collections if hasattr(artist, "get_segments")]
    assert len(ax.collections) == len(bars) + 1  # the band of the paper's method
    places = [bar.get_segments()[0][0, 0] for bar in bars]
    assert places == sorted(set(places)) and places[0] > 20
    for bar, curve in zip(bars, curves(LOOKS), strict=True):
        assert bar.get_segments()[0][:, 1].tolist() == [curve.low[-1], curve.high[-1]]
    assert all(tick <= 20 for tick in ax.get_xticks())
    plotting.finish(figure, "")
    assert misfits(figure) == []


def test_a_panel_says_what_its_runs_lack_and_an_empty_one_has_no_axes() -> None:
    figure, axes = plotting.panels(1, 2)
    axes[0, 0].plot([0, 1])
    axes[0, 0].set_title("f")
    plotting.say_in_panel(axes[0, 0], ["5 to 10 of 10 seeds, T = 500 of 2000, stand-in data", ""])
    plotting.say_not_run(axes[0, 1])
    plotting.finish(figure, "")
    (text,) = axes[0, 0].texts
    assert text.get_text() == "5 to 10 of 10 seeds, T = 500 of 2000,\nstand-in data"
    assert not axes[0, 1].axison and axes[0, 1].texts[0].get_text() == "not run"
    assert misfits(figure) == []


def test_no_curve_lies_under_the_axis() -> None:
    for scale in (plotting.from_zero, plotting.logarithmic_from_zero, plotting.logarithmic):
        _, ((ax,),) = plotting.panels(1, 1)
        ax.plot([0, 1, 2], [1.0, 0.0, 0.0])
        scale(ax)
        low = ax.get_ylim()[0]
        assert low < 0, scale
        assert min(tick for tick in ax.get_yticks() if tick >= low) >= 0


def test_the_caption_lies_beside_the_figure(tmp_path: Path) -> None:
    figure, _ = plotting.panels(1, 1)
    plotting.finish(figure, "Regret Rₜ of 10 seeds.")
    plotting.save(figure, [tmp_path / f"a.{ending}" for ending in ("pdf", "png", "txt")])
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "Regret Rₜ of 10 seeds.\n"
    assert plt.imread(tmp_path / "a.png").shape[1] == round(300 * figure.get_figwidth())


DRAW = """
import hashlib, io
{before}
from replibo.results import plotting
figure, axes = plotting.panels(1, 2)
axes[0, 0].plot([1, 2], [3, 5], label="a line")
axes[0, 1].set_title("a title, β")
content = io.BytesIO()
plotting.finish(figure, "").savefig(content, format="png")
print(hashlib.sha256(content.getvalue()).hexdigest())
"""
USERS_RC = "text.usetex: True\nfont.family: serif\nsavefig.bbox: tight\nlines.marker: o\n"


def _drawn(folder: Path, before: str = "", **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MPL", "MATPLOTLIB"))}
    code = DRAW.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=folder, env=environment | variables,
    )  # fmt: skip
    return done.stdout


def test_surroundings_change_no_byte_of_a_figure(tmp_path: Path) -> None:
    """A file in the working folder, one that a variable names, a backend, settings made before."""
    for name, content in {"user": USERS_RC.encode(), "broken": b"\xff\0bad"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "matplotlibrc").write_bytes(content)
    expected = _drawn(tmp_path)
    inline = "module://matplotlib_inline.backend_inline"
    assert _drawn(tmp_path / "user", MPLBACKEND=inline) == expected
    broken = {"MATPLOTLIBRC": str(tmp_path / "broken"), "MPLBACKEND": "nonsense"}
    settings = "{'text.usetex': True, 'figure.dpi': 50, 'axes.grid': False}"
    before = f"import matplotlib as m; m.rcParams.update({settings}); m.use('pdf')"
    assert _drawn(tmp_path, **broken) == _drawn(tmp_path, before) == expected


LABELS = [
    *("x" * 300, "word " * 80, "中文标签" * 10, "ا" * 200, "a\n" * 9),
    *("🚀 and $", "$5 and \\bad $6"),
]


@pytest.mark.parametrize(("label", "columns"), [(LABELS[0], 1), *((label, 3) for label in LABELS)])
@pytest.mark.filterwarnings("error")
def test_any_label_stays_inside(label: str, columns: int) -> None:
    from matplotlib.text import Text

    figure, axes = plotting.panels(2, columns)
    for ax in axes.flat:
        ax.plot([1, 2], [1, 2], label=label)
        ax.plot([1, 2], [2, 1], label=f"{label} too")
        ax.set_title(label)
        ax.set_ylabel(label)
        ax.set_xticks([1, 2], [label, "b"])
    plotting.finish(figure, label)
    figure.draw_without_rendering()
    assert len(figure.legends[0].get_texts()) == 2
    numbers = {tick.get_text() for ax in axes.flat for tick in ax.get_yticklabels()}
    for text in figure.findobj(Text):
        if text.get_text() and text.get_text() not in numbers:
            extent = text.get_window_extent()
            assert extent.x0 >= -1 and extent.x1 <= figure.bbox.x1 + 1, text
            assert extent.y0 >= -1 and extent.y1 <= figure.bbox.y1 + 1, text


def test_a_cell_of_a_markdown_table_stays_one_cell() -> None:
    table = Table.of([{"a|b": "c | d\ne", "f": "g"}])
    rows = table.md().splitlines()[:3]
    assert [row.replace(r"\|", "").count("|") for row in rows] == [3, 3, 3]
    assert r"c \| d e" in rows[2]
