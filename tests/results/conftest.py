"""What a figure's layout must hold to, how colours are seen, made-up published runs, and a small project."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from replibo import cli, paths
from replibo.config import load
from replibo.config.models import Config
from replibo.results import publish
from replibo.results.runs import Runs, read
from replibo.run import commit
from replibo.run.published import PublishedRuns, of_paper


def published_runs(queries: int, **changes: Any) -> PublishedRuns:
    """What a published file says of one run of GO-UCB on f1, but for the ``changes``."""
    fields = {
        **{"paper": "go_ucb", "scale": "paper", "problem": "f1", "algorithm": "go_ucb"},
        **{"facts": {"horizon": queries - 1}, "timing": {"runs": 1, "queries": queries}},
        **{"seeds": frozenset({0}), "best_at": (queries - 1,), "changed_config": False},
        **dict.fromkeys(("identity", "code"), ""),
        **dict.fromkeys(("versions", "machine", "commit"), ()),
    }
    return PublishedRuns(**fields | changes)


def publish_runs(runs: PublishedRuns, table: pa.Table) -> None:
    """Publish the runs in the working folder."""
    content = publish.file_of(runs, table)
    publish.write(Path("published", runs.paper), {(runs.problem, runs.algorithm): content})


OVERLAY = """
go_ucb:
  scales:
    smoke:
      only: [f1]
      algorithms: {{random_search: {{seeds_per_job: {size}}}, exploration_first: {{seeds_per_job: {size}}}}}
      problems:
        f1: {{algorithms: [random_search, exploration_first], horizon: {horizon}, seeds: "{seeds}"{more}}}
"""


class SmallProject:
    """A project folder with two cheap algorithms on one problem."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.overlay, self.capsys = folder / "overlay.yaml", capsys
        self.configure(horizon=8, seeds="0-1")

    def configure(self, horizon: int, seeds: str, size: int = 1, more: str = "") -> None:
        """Lay these settings over the config; ``size`` is that of a block of seeds."""
        text = OVERLAY.format(horizon=horizon, seeds=seeds, size=size, more=more)
        self.overlay.write_text(text)

    def config(self) -> Config:
        return load.load(overlays=[self.overlay])

    def do(self, *command: str, status: int = 0) -> list[str]:
        arguments = [*command, "--scale", "smoke", "--config", str(self.overlay)]
        assert cli.main(arguments) == status
        said = self.capsys.readouterr()
        return (said.err if status else said.out).splitlines()

    def run(self, *seeds: str, algorithm: str = "random_search") -> Path:
        """Run blocks of seeds; the file of the last one."""
        for block in seeds:
            output = paths.block("smoke", "go_ucb", "f1", algorithm, block)
            names = ["go_ucb", "f1", algorithm, "--seeds", block, "--output", output]
            self.do("run", *names)
        return Path(output)

    def publish(self, *more: str) -> list[str]:
        return self.do("publish", "go_ucb", *more)

    def published(self, algorithm: str = "random_search") -> PublishedRuns:
        return of_paper("go_ucb")[f"f1/{algorithm}"]

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in Path("published").rglob("*.parquet")}

    def runs(self, *wanted: str, scale: str = "published") -> Runs:
        return read(self.config(), "go_ucb", scale, [("f1", name) for name in wanted], "x")


@pytest.fixture
def project(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> SmallProject:
    monkeypatch.setattr(commit, "PACKAGE", elsewhere)  # where git tracks nothing
    return SmallProject(elsewhere, capsys)


# How the red-blind and the green-blind see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
BLIND = {
    "red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def linear(color: str) -> np.ndarray:
    """Linear RGB (IEC 61966-2-1)."""
    c = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* under D65, whose Euclidean distance is the colour difference."""
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / (0.95047, 1.0, 1.08883)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def misfits(figure: Figure) -> list[str]:
    """What is wrong with a figure's layout: panels below 3 cm, and what is cut or overprinted."""
    figure.draw_without_rendering()
    faults = []
    for ax in figure.axes:
        width, height = np.array(ax.get_window_extent().size) / figure.dpi
        if ax.axison and ax.get_aspect() == "auto" and min(width, height) < 3 / 2.54:
            faults.append(f"a panel of {width:.2f} x {height:.2f} in")
    labels, notes = (
        [(repr(text.get_text()), text.get_window_extent()) for text in texts if text.get_text()]
        for texts in (
            [text for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label)],
            [text for ax in figure.axes for text in (ax.title, *ax.texts)],
        )
    )
    notes += [("the legend", legend.get_window_extent()) for legend in figure.legends]
    whole = figure.bbox
    for text, box in labels + notes:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1:
            faults.append(f"{text} is cut")
    for (text, a), (other, b) in itertools.combinations(notes, 2):
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1:
            faults.append(f"{text} and {other} overprint")
    return faults
