"""From config to a run: data files, the checks of a problem, a problem of a file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replibo.algorithms.random_search import RandomSearch
from replibo.config import load
from replibo.data.manifest import data_file
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.problems.synthetic import Synthetic
from replibo.run import block, build, traces


def test_a_data_file_is_missing_that_is_neither_here_nor_in_the_mirrors_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load.parse(load.merge(load.read(), {"data_dir": str(tmp_path / "data")}))
    agnp = config.paper("lb_gp_ucb").problems["agnp"]
    monkeypatch.delenv("REPLIBO_DATA_MIRROR", raising=False)
    assert build.missing_data(config, agnp) == ["agnp"]
    monkeypatch.setenv("REPLIBO_DATA_MIRROR", str(tmp_path))
    assert build.missing_data(config, agnp) == ["agnp"]
    there = tmp_path / data_file("agnp").path_in_mirror
    there.parent.mkdir(parents=True)
    there.touch()
    assert build.missing_data(config, agnp) == []
    monkeypatch.setenv("REPLIBO_DATA_MIRROR", "https://example.org")
    assert build.missing_data(config, agnp) == []


def test_a_diagnostic_is_not_called_as_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomSearch, "diagnostics", {"f": "what is predicted", "other": "else"})
    with pytest.raises(RepliboError) as caught:
        build.experiment(load.load(), "go_ucb", "smoke", "f1", "random_search")
    assert str(caught.value) == (
        "go_ucb.algorithms.random_search.type: diagnostics of RandomSearch must not be called as a column "
        "of the traces, got f"
    )


class Ridge(Problem):
    """The optimum of a unit square is its middle."""

    dim = 2
    bounds = np.array([[0.0, 0.0], [1.0, 1.0]])
    optimal_value = 0.0

    def evaluate_true(self, X: Array) -> Array:
        return -np.sum((X - 0.5) ** 2, axis=1)


LEFT_OUT = property()  # as if the class had no such attribute
BOUNDS = (
    "must be a 2 x 2 array of finite numbers, the lower ends first, each below its upper end, got "
)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("dim", LEFT_OUT, "must be a whole number, at least 1, got nothing"),
        ("dim", 2.0, "must be a whole number, at least 1, got 2.0"),
        ("bounds", [[0, 0], [1, 1]], f"{BOUNDS}[[0, 0], [1, 1]]"),
        ("bounds", np.array([[1, 0], [0, 1]]), f"{BOUNDS}array([[1, 0], [0, 1]])"),
        ("bounds", np.array([[0, 1]] * 3), f"{BOUNDS}array([[0, 1], [0, 1], [0, 1]])"),
        ("bounds", np.array([[0, 0], [1, np.nan]]), f"{BOUNDS}array([[ 0., 0.], [ 1., nan]])"),
        ("optimal_value", LEFT_OUT, "must be a finite number, or None if it is not known, got nothing"),
        ("noise_std", -1.0, "must be a finite number, at least 0, got -1.0"),
        ("candidates", np.ones((3, 1)), "must be an m x 2 array, or None, got array([[1.], [1.], [1.]])"),
        ("evaluate_true", lambda _, X: 0.5, "must return n values for points of shape (n, 2), shape (n,), got 0.5"),
        ("evaluate_true", lambda _, x: sum(x), "must return n values for points of shape (n, 2), shape (n,), got array([0.5, 0.5])"),
        ("evaluate_true", lambda _, x: x[0] * x[1], "fails; it must take points of shape (n, 2): IndexError: index 1 is out of bounds for axis 0 with size 1 (test_build.py, line "),
        ("observe", lambda *_: 0.5, "must return an Observation for a point of shape (2,), got 0.5"),
        ("observe", lambda _: 0.5, "fails; it must take a point of shape (2,): TypeError: "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_problem_is_one_line(
    attribute: str, value: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.check_problem(Ridge(), "mine", evaluate=True)
    monkeypatch.setattr(Ridge, attribute, value)
    with pytest.raises(RepliboError) as caught:
        build.check_problem(Ridge(), "mine", evaluate=True)
    assert str(caught.value).startswith(f"mine: Ridge.{attribute} {said}")
    assert "\n" not in str(caught.value)


def test_a_problem_of_the_package_is_not_queried_when_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Synthetic, "evaluate_true", None)
    assert build.problem(load.load(), "neuralbo", "smoke", "ackley_10").dim == 10


def test_a_problem_of_a_file_is_checked_and_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / "side.py").write_text("SIDE = 1.0\n", encoding="utf-8")
    (tmp_path / "colorsys.py").write_text("", encoding="utf-8")  # the standard library's goes first
    (tmp_path / "ridge.py").write_text(
        "from colorsys import hsv_to_rgb\n\nimport numpy as np\nfrom replibo.problems.base import Problem\nfrom side import SIDE\n\n\n"
        "class Ridge(Problem):\n    dim, optimal_value = 1, 0.0\n"
        "    bounds = np.array([[0.0], [SIDE]])\n\n"
        "    def evaluate_true(self, X):\n        return -X[:, 0]\n",
        encoding="utf-8",
    )
    raw: dict[str, Any] = load.read()
    raw["go_ucb"]["problems"]["f1"] |= {"type": f"{tmp_path}/ridge.py:Ridge", "parameters": {}}
    config, output = load.parse(raw), tmp_path / "out.parquet"
    block.run(
        *(config, "go_ucb", "f1", "random_search"),
        seeds="0",
        scale="smoke",
        output=output,
        while_querying=contextlib.nullcontext(),
    )
    assert traces.read_metadata(traces.read(output))["problem_facts"]["optimal_value"] == 0.0
