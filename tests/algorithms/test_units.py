"""What an algorithm asks does not depend on the unit or the zero of y, except where it is said why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.config import load, registry
from replibo.settings import parameters
from replibo.streams import RunStreams

CONFIG = load.load(Path(__file__).parents[2] / "config")
FAST = {"candidates": 64, "epochs": 2, "trees": 10, "warmup": 10, "samples": 10, "width": 20}

AS_OBSERVED = "takes y as it is observed, as its release does"
IN_UNITS_OF_Y = {
    "go_ucb.GoUcb": "the parametric family has a range",
    "go_ucb_hessian.GoUcbHessian": "the parametric family has a range",
    "go_greedy.GoGreedy": "the parametric family has a range",
    "exploration_first.ExplorationFirst": "the parametric family has a range",
    "scikit_optimize.ScikitOptimize": "scikit-optimize's xi = 0.01 is in units of y",
    "neural_bo_released.NeuralBOReleased": AS_OBSERVED,
    "neural_bo_compiled.NeuralBOCompiled": AS_OBSERVED,
    "neural_greedy_released.NeuralGreedyReleased": AS_OBSERVED,
}
TYPES = sorted({e.type for paper in CONFIG.papers for e in CONFIG.paper(paper).algorithms.values()})


def _ask(name: str, values: np.ndarray) -> Proposal:
    """The proposal after eight points of the square with these values."""
    cls: Any = registry.load("algorithms", name)
    known = parameters(cls)
    chosen = {key: value for key, value in FAST.items() if key in known}
    if "y_scaling" in known:
        chosen["y_scaling"] = "standardise"
    if name in ("bbo_ucb.BboUcb", "bbo_beta.BboUcbFixed"):
        chosen["iterations"] = 100
    if "length_scale" in known and "noise_variance" in known:
        chosen |= {"length_scale": 0.2, "noise_variance": 1e-2}
    algorithm: Algorithm = cls(Space(2), RunStreams("p", "q", name, 0), **chosen)
    history = History(2, 4)
    for x, y in zip(np.random.default_rng(0).random((8, 2)), values, strict=True):
        history.append(x, float(y))
    return algorithm.ask(history, 5)


def test_every_exception_is_an_algorithm() -> None:
    assert IN_UNITS_OF_Y.keys() < set(TYPES)


@pytest.mark.parametrize("name", [name for name in TYPES if name not in IN_UNITS_OF_Y])
@settings(max_examples=4, deadline=None)
@given(
    y=st.lists(st.integers(-1000, 1000), min_size=8, max_size=8),
    exponent=st.integers(-664, 664),
    shift=st.integers(-1000, 1000),
)
def test_the_unit_of_y_changes_nothing(name: str, y: list[int], exponent: int, shift: int) -> None:
    """y → a·y + b, a = 2^exponent from 1e-200 to 1e200: all sums are exact, so that bits are compared."""
    plain = np.array(y, dtype=float)
    asked = _ask(name, plain)
    other = _ask(name, np.ldexp(plain + shift, exponent))
    np.testing.assert_array_equal(asked.x, other.x)
