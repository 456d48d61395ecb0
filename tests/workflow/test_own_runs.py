"""Every figure and table, from the published runs of its own problems and algorithms: as from all."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from replibo import paths
from replibo.config import load
from replibo.config.models import Pair
from replibo.papers import lookup
from replibo.results import plotting
from replibo.results.runs import Runs, read
from replibo.run import pairs
from replibo.run.published import of_paper
from replibo.workflow import outputs, targets

from ..results.conftest import misfits

ROOT = Path(__file__).parents[2]


def published() -> list[tuple[str, Any, str]]:
    """Paper, kind and name of all that is made at the scale `published`."""
    config = load.load(ROOT / "config")
    return [
        (paper, kind, name)
        for paper in config.papers
        for kind in targets.SAVES
        for name in targets.names_at(config, kind, paper, paths.PUBLISHED)
    ]


def function_of(paper: str, kind: Any, name: str) -> tuple[str, str]:
    entries = getattr(load.load(ROOT / "config").paper(paper), kind)
    return paper, entries[name].function


def leaves_runs_out(paper: str, kind: Any, name: str) -> bool:
    config = load.load(ROOT / "config")
    own = targets.output_pairs(config, kind, paper, name, paths.PUBLISHED)
    return set(own) < set(pairs.at(config, paper, paths.PUBLISHED))


PUBLISHED = published()
OF_EACH_FUNCTION = [
    *{function_of(*output): output for output in PUBLISHED if leaves_runs_out(*output)}.values()
]
OTHER_FIGURES = [
    (paper, name)
    for paper, kind, name in PUBLISHED
    if kind == "figures" and (paper, kind, name) not in OF_EACH_FUNCTION
]


@functools.cache
def runs_of(paper: str, own: frozenset[Pair]) -> Runs:
    """All that is published of a paper, but for runs that are shorter than all of ``own`` on their
    problem: those would cut them (`replibo.results.runs.read`)."""
    horizons = {key: runs.horizon for key, runs in of_paper(paper).items()}
    shortest: dict[str, int] = {}
    for problem, algorithm in own:
        if horizon := horizons.get(f"{problem}/{algorithm}"):
            shortest[problem] = min(horizon, shortest.get(problem, horizon))
    wanted = frozenset(
        pair
        for pair in pairs.at(load.load(), paper, paths.PUBLISHED)
        if horizons["/".join(pair)] >= shortest.get(pair[0], 0)
    )
    return _read(paper, wanted)


@functools.cache
def _read(paper: str, wanted: frozenset[Pair]) -> Runs:
    return read(load.load(), paper, paths.PUBLISHED, wanted, paths.PUBLISHED)


def drawn(figure: Figure) -> list[Any]:
    """The numbers and words of a figure, but for its caption, which says of how many seeds it is."""
    found: list[Any] = []
    for ax in figure.axes:
        found += [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
        found += [text.get_text() for text in ax.texts]
        for line in ax.lines:
            found += [line.get_label(), np.asarray(line.get_xdata()), np.asarray(line.get_ydata())]
        for collection in ax.collections:
            found += [path.vertices for path in collection.get_paths()]
        found += [patch.get_path().vertices for patch in ax.patches]
        found += [np.asarray(image.get_array()) for image in ax.images]
    return found


def test_a_caption_says_what_was_not_run_of_what_is_configured(root: Path) -> None:
    config = load.load()
    for paper in config.papers:
        for kind in targets.SAVES:
            for name, entry in getattr(config.paper(paper), kind).items():
                full = targets.output_pairs(config, kind, paper, name, "paper")
                assert outputs.left_out(config, paper, entry, full) == "", (paper, name)
                if not entry.algorithms or len(full) < 2 or full[0][0] != full[1][0]:
                    continue
                said = outputs.left_out(config, paper, entry, full[1:])
                assert said.startswith("Not run: ")
                assert config.paper(paper).algorithms[full[0][1]].label in said
                rest = [pair for pair in full if pair[0] != full[0][0]]
                if entry.problems and rest:
                    said = outputs.left_out(config, paper, entry, rest)
                    label = config.paper(paper).problems[full[0][0]].label
                    assert said == f"Without runs: {label}."


def test_a_caption_names_an_algorithm_that_runs_nowhere(root: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(
        "go_ucb:\n"
        "  algorithms: {mine: {type: random_search.RandomSearch, label: Mine, color: grey}}\n"
        "  figures: {figure_1: {algorithms: [go_ucb, mine]}}\n"
    )
    config = load.load(overlays=[overlay])
    entry = targets.output_entry(config, "figures", "go_ucb", "figure_1")
    full = targets.output_pairs(config, "figures", "go_ucb", "figure_1", "paper")
    assert outputs.left_out(config, "go_ucb", entry, full) == "Not run: Mine."


@pytest.mark.parametrize(("paper", "name"), OTHER_FIGURES)
def test_no_published_figure_is_cut_or_overprinted(paper: str, name: str, root: Path) -> None:
    """Those that the test below does not make."""
    figure = outputs.made_from_own_runs(load.load(), "figures", paper, name, paths.PUBLISHED)
    assert misfits(figure) == []


@pytest.mark.parametrize(("paper", "kind", "name"), OF_EACH_FUNCTION)
def test_an_output_reads_no_other_runs(
    paper: str, kind: Any, name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load.load()
    all_pairs = frozenset(targets.output_pairs(config, kind, paper, name, paths.PUBLISHED))
    runs = runs_of(paper, all_pairs)
    own = outputs.made_from_own_runs(config, kind, paper, name, paths.PUBLISHED)
    entry = getattr(config.paper(paper), kind)[name]
    function = lookup.load(kind, paper, entry.function, entry.options, name)
    with monkeypatch.context() as patch:
        # The layout takes a third of the time, and is not compared.
        patch.setattr(plotting, "_make_room", lambda figure: None)
        expected = function(runs, entry, **entry.options)
    if kind == "tables":
        assert own.frame.equals(expected.frame)
    else:
        found, wanted = drawn(own), drawn(expected)
        assert len(found) == len(wanted) > 0
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
        assert misfits(own) == []
