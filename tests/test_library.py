"""The package as a library: minimise, ask and tell, read what is published; and the page that shows it."""

from __future__ import annotations

import copy
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import replibo
from replibo.algorithms.base import Algorithm, History, Proposal
from replibo.errors import RepliboError
from replibo.results import publish
from replibo.run.published import of_paper

ROOT = Path(__file__).parents[1]
BOX = [(-5.0, 10.0), (0.0, 15.0)]


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 3) ** 2)


def test_the_examples_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In their order, in one interpreter, outside the clone but for its config."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    examples = re.findall(r"^```python\n(.*?)^```$", page, flags=re.S | re.M)
    exec(examples[0], names)
    assert names["found"].y < 2  # the minimum of Branin's function is 0.398, its mean 54
    for example in examples[1:]:
        exec(example, names)
    assert names["optimizer"].X.shape == (8, 2)
    assert len(names["found"].Y) == 46
    every_run = names["runs"].groupby(["problem", "algorithm", "seed"], observed=True).t
    assert (
        sorted(names["last"].t) == sorted(every_run.max()) and names["last"].problem.nunique() > 6
    )


def test_the_default_finds_the_bottom_of_a_bowl(capsys: pytest.CaptureFixture[str]) -> None:
    minimum = replibo.minimize(bowl, BOX, n_iter=15)
    assert capsys.readouterr().out == ""
    assert minimum.y == minimum.Y.min() == bowl(minimum.x) < 0.1
    assert minimum.X.shape == (21, 2)
    assert (minimum.X >= [-5, 0]).all() and (minimum.X <= [10, 15]).all()
    again = replibo.minimize(bowl, BOX, n_iter=3, progress=True)
    assert np.array_equal(again.X, minimum.X[:9])
    assert "minimizing" in capsys.readouterr().out
    other = replibo.minimize(bowl, BOX, n_iter=0, seed=1)
    assert (minimum.X[:6] != other.X).all()


def test_the_package_lists_what_it_offers() -> None:
    assert {"minimize", "Optimizer", "published"} <= set(dir(replibo))
    assert all(hasattr(replibo, name) for name in replibo.__all__)
    assert not hasattr(replibo, "nothing")


def test_a_callback_sees_each_evaluation_and_may_stop_the_search() -> None:
    seen: list[int] = []

    def callback(optimizer: replibo.Optimizer) -> bool:
        seen.append(len(optimizer.y))
        return len(optimizer.y) == 4

    minimum = replibo.minimize(bowl, BOX, "random_search", n_iter=9, n_initial=2, callback=callback)
    assert seen == [1, 2, 3, 4] and len(minimum.Y) == 4
    (values, best) = minimum.plot().axes[0].lines
    assert np.array_equal(values.get_ydata(), minimum.Y)
    assert np.asarray(best.get_ydata())[-1] == minimum.y


def test_the_posterior_is_of_what_was_told_in_its_units() -> None:
    """It knows the values told, is surer there, and has their unit."""
    points = np.random.default_rng(3).uniform([-5, 0], [10, 15], size=(12, 2))
    beliefs = []
    for a, b in ((1.0, 0.0), (1e3, -7.0)):
        optimizer = replibo.Optimizer(BOX)
        for x in points:
            optimizer.tell(x, a * bowl(x) + b)
        mean, sd = optimizer.posterior([*points, [-5.0, 15.0]])
        assert np.allclose(mean[:-1], optimizer.y, atol=0.05 * np.ptp(optimizer.y))
        assert (sd[:-1] < sd[-1]).all()
        beliefs.append(((mean - b) / a, sd / a))
    assert np.allclose(beliefs[0], beliefs[1], rtol=1e-6)

    with pytest.raises(RepliboError, match="posterior: the algorithm must be gp_ts, gp_ucb or"):
        replibo.Optimizer(BOX, "random_search").posterior(points)
    with pytest.raises(RepliboError, match="posterior: needs at least one value that was told"):
        replibo.Optimizer(BOX).posterior(points)
    with pytest.raises(RepliboError, match="x: must be a point between"):
        optimizer.posterior([[0, 99]])


def test_an_optimiser_goes_on_from_what_it_is_told() -> None:
    first = replibo.Optimizer(BOX, "gp_ts", seed=3)
    for _ in range(6):
        x = first.ask()
        assert (first.ask() == x).all()
        first.tell(x, bowl(x))
    second = replibo.Optimizer(BOX, "gp_ts", seed=3)
    for x, y in zip(first.X, first.y, strict=True):
        second.tell(np.clip(x, [-5, 0], [10, 15]), y)
    assert first.ask() == pytest.approx(second.ask(), abs=1e-6)


@examples(max_examples=15)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.1, 1e3)), min_size=1, max_size=4))
def test_points_are_asked_and_told_in_native_coordinates(sides: list[tuple[float, float]]) -> None:
    box = np.array([(lower, lower + width) for lower, width in sides])
    optimizer = replibo.Optimizer(box, "random_search")
    for n in range(len(sides) + 3):
        x = optimizer.ask()
        assert ((x >= box[:, 0]) & (x <= box[:, 1])).all()
        optimizer.tell(x, float(n))
    assert optimizer.X[-1] == pytest.approx(x, rel=1e-9, abs=1e-9)
    assert optimizer.y.tolist() == list(range(len(sides) + 3))


class NoSuper(Algorithm):
    def __init__(self, space: Any, streams: Any) -> None:
        self.step = 1.0

    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.zeros(self.space.dim))


class ShortSuper(NoSuper):
    def __init__(self, space: Any, streams: Any) -> None:
        Algorithm.__init__(self, space)  # type: ignore[call-arg]


class LateSuper(NoSuper):
    def __init__(self, space: Any, streams: Any) -> None:
        self.step = 1.0 / self.space.dim
        Algorithm.__init__(self, space, streams)


class Outside(Algorithm):
    def ask(self, history: History, t: int) -> Proposal:
        return Proposal(np.full(self.space.dim, 1.5))


SUPER = "__init__ must call super().__init__(space, streams)"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"bounds": [(1, 0)]}, "bounds: must be finite and lower < upper, got"),
        ({"algorithm": "gp_tss"}, "algorithm: must be a_gp_ucb, bbo_beta"),
        ({"algorithm": 3}, "algorithm: must be a name or a subclass of Algorithm, got 3"),
        ({"bounds": [(0, 1), (0,)]}, "bounds: must be one pair (lower, upper) a dimension, got"),
        ({"n_iter": 1.5}, "n_iter: must be a whole number of at least 0, got 1.5"),
        ({"function": lambda x: None}, "function: must return a number, got None"),
        ({"n_initial": 0}, "n_initial: must be a whole number of at least 1, got 0"),
        ({"step": 1}, "RandomSearch: step is unknown; must be nothing"),
        ({"bounds": [(-1e308, 1e308)]}, "bounds: must be finite"),
        ({"noise_std": -1}, "noise_std: must be finite and at least 0, got -1.0"),
        ({"function": lambda x: float("nan")}, "function: must return a number, got NaN 56 times"),
        *(
            ({"algorithm": cls}, f"{cls.__name__}: {SUPER}")
            for cls in (NoSuper, ShortSuper, LateSuper)
        ),
        ({"algorithm": Outside}, "Outside: its proposal must be a point of the 2-D unit cube, got"),
    ],
)
def test_bad_arguments_are_one_line(arguments: dict[str, Any], line: str) -> None:
    defaults = {"function": bowl, "bounds": BOX, "algorithm": "random_search"}
    with pytest.raises(RepliboError, match=f"^{re.escape(line)}"):
        replibo.minimize(**{**defaults, **arguments})


def test_bad_answers_are_one_line() -> None:
    optimizer = replibo.Optimizer(BOX, "random_search")
    with pytest.raises(RepliboError, match="y: must be finite, or NaN if the evaluation failed"):
        optimizer.tell([0, 0], float("inf"))
    for value in (None, "1.0", True, [], [1.0, 2.0], 1j, 10**400, 10**5000, object(), [None]):
        with pytest.raises(RepliboError, match="y: must be a number, got "):
            optimizer.tell([0, 0], value)  # type: ignore[arg-type]
    for point in (None, ["0", "1"], "01", [0], [0, None], [0, float("nan")], [[0, 0], [1, 1]]):
        with pytest.raises(RepliboError, match="x: must be a point between"):
            optimizer.tell(point, 1.0)  # type: ignore[arg-type]
    with pytest.raises(RepliboError, match="x: must be a point between"):
        optimizer.tell([0, 99], 1.0)
    with pytest.raises(RepliboError, match="nothing is published"):
        replibo.published("nothing")


def test_published_traces_as_a_data_frame(root: Path) -> None:
    runs = replibo.published("bbo")
    by_key = of_paper("bbo")
    assert len(runs) == sum(pair.timing["queries"] for pair in by_key.values())
    assert set(publish.KEPT) <= set(runs.columns)
    of_pair = runs[(runs.problem == "n_100") & (runs.algorithm == "gp_ei")]
    assert len(of_pair) == by_key["n_100/gp_ei"].timing["queries"]


def test_a_function_may_overwrite_its_argument() -> None:
    def greedy(x: Any) -> float:
        value = bowl(x)
        x[:] = 0
        return value

    plain = replibo.minimize(bowl, BOX, "random_search", n_iter=2)
    overwritten = replibo.minimize(greedy, BOX, "random_search", n_iter=2)
    np.testing.assert_array_equal(plain.X, overwritten.X)
    np.testing.assert_array_equal(plain.Y, overwritten.Y)


def test_what_has_one_meaning_is_taken() -> None:
    optimizer = replibo.Optimizer(BOX, "random_search")
    for value in (1, np.float32(1), np.array([1.0]), np.array(1), Fraction(1), Decimal(1), [1]):
        optimizer.tell([0, 0], value)  # type: ignore[arg-type]
    optimizer.tell(np.array([[0, 0]]), 1.0)
    assert (optimizer.y == 1).all()
    thirds = replibo.Optimizer([(1 / 3, 0.7)], "random_search")
    for x in (np.nextafter(1 / 3, 0), np.nextafter(0.7, 1), np.float32(0.7), 1 / 3):
        thirds.tell([x], 0.0)
    assert (thirds.X >= 1 / 3).all() and (thirds.X <= 0.7).all()


class Counted:
    """A bowl that does something else at one evaluation."""

    def __init__(self, at: int, what: Any) -> None:
        self.at, self.what, self.n = at, what, 0

    def __call__(self, x: Any) -> float:
        self.n += 1
        if self.n - 1 != self.at:
            return bowl(x)
        if isinstance(self.what, BaseException):
            raise self.what
        return float(self.what)


def test_a_failed_evaluation_ends_nothing() -> None:
    minimum = replibo.minimize(Counted(14, float("nan")), BOX, n_iter=14)
    assert np.isnan(minimum.Y).nonzero()[0].tolist() == [14] and len(minimum.Y) == 20
    assert minimum.finished and minimum.y == np.nanmin(minimum.Y) < 0.2


def test_an_exception_carries_what_was_evaluated() -> None:
    for what in (ZeroDivisionError("x"), RepliboError("x")):
        with pytest.raises(type(what)) as caught:
            replibo.minimize(Counted(14, what), BOX, "random_search", n_iter=30)
        result = caught.value.result  # type: ignore[attr-defined]
        assert len(result.Y) == 14 and result.y == result.Y.min() and not result.finished
    with pytest.raises(RepliboError) as infinite:
        replibo.minimize(Counted(9, float("inf")), BOX, "random_search", n_iter=30)
    assert len(infinite.value.result.Y) == 9  # type: ignore[attr-defined]


def test_ctrl_c_returns_the_result_so_far() -> None:
    minimum = replibo.minimize(Counted(14, KeyboardInterrupt()), BOX, "random_search", n_iter=30)
    assert len(minimum.Y) == 14 and not minimum.finished
    with pytest.raises(KeyboardInterrupt):
        replibo.minimize(Counted(0, KeyboardInterrupt()), BOX, "random_search")


@pytest.mark.parametrize("name", ["gp_ts", "neural_bo", "random_search"])
def test_an_optimiser_can_be_pickled_and_copied(name: str) -> None:
    """That a new object of any algorithm asks the same after the same history, the contract tests."""
    optimizer = replibo.Optimizer(BOX, name, n_initial=3)
    for step in range(4):
        x = optimizer.ask()
        optimizer.tell(x, float("nan") if step == 2 else float(np.sin(x.sum())))
    other = pickle.loads(pickle.dumps(optimizer))
    np.testing.assert_array_equal(other.ask(), optimizer.ask())
    np.testing.assert_array_equal(copy.deepcopy(optimizer).X, optimizer.X)
