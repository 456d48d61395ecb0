"""scikit-optimize's baselines: what `skopt.Optimizer` itself proposes, with its default settings."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import skopt

from replibo.algorithms.base import History, Space
from replibo.algorithms.scikit_optimize import ScikitOptimize
from replibo.errors import RepliboError
from replibo.streams import RunStreams, generator

from .conftest import observed

STREAMS = RunStreams("go_ucb", "f1", "gp_ei", 3)
NAMES = {"EI": "EI", "PI": "PI", "UCB": "LCB"}  # theirs, as they minimise


def _history(seed: int, n: int, dim: int = 1) -> History:
    """Uniform queries of a smooth function with noise."""
    rng = generator("history", seed)
    X = rng.uniform(size=(n, dim))
    y = np.sin(5 * X).sum(axis=1) + 0.05 * rng.standard_normal(n)
    return observed(X, y, n_initial=5)


def _rising() -> History:
    """A line with noise that rises to the upper end of the interval, which was asked twice before:
    the model's noise keeps the acquisition's maximum at that very end."""
    u = np.array([0.1, 0.35, 0.5, 0.7, 0.9, 1.0, 1.0])
    noise = 0.05 * np.random.default_rng(0).standard_normal(7)
    return observed(u[:, None], 3.0 * u + noise, n_initial=5)


def _by_hand(acquisition_: str, history: History, streams: RunStreams, **settings: Any) -> Any:
    """A stock optimizer, told the queries one by one as its own loop does, and asked once.

    No model is fitted before the last one: the algorithm's random numbers belong to that fit.
    """
    seed = int(streams.algorithm_at(len(history)).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = skopt.Optimizer(
            [(0.0, 1.0)] * history.X.shape[1],
            acq_func=NAMES[acquisition_],
            random_state=seed,
            **{"n_initial_points": history.n_initial, **settings},
        )
        for i, (u, y) in enumerate(zip(history.X, history.y, strict=True)):
            optimizer.tell(u.tolist(), -float(y), fit=i == len(history) - 1)
        return optimizer, np.array(optimizer.ask())


# Proposals


@pytest.mark.parametrize("name", list(NAMES))
@pytest.mark.parametrize(("seed", "n", "dim"), [(0, 5, 1), (1, 11, 1), (2, 9, 3)])
def test_proposals_are_the_stock_optimizers(name: Any, seed: int, n: int, dim: int) -> None:
    history = _history(seed, n, dim)
    proposal = ScikitOptimize(Space(dim), STREAMS, acquisition=name).ask(history, n + 1)
    optimizer, expected = _by_hand(name, history, STREAMS, avoid_duplicates=False)
    np.testing.assert_array_equal(proposal.x, expected)
    # the proposal stems from the model, not from the initial design
    assert len(optimizer.models) == 1 and optimizer._n_initial_points <= 0


@pytest.mark.parametrize("n", [5, 9, 10])
def test_ten_initial_points_are_the_stock_optimizers_default(n: int) -> None:
    history = _history(0, n)
    default = _default(skopt.Optimizer, "n_initial_points")
    assert default == _default(skopt.gp_minimize, "n_initial_points") == 10
    algorithm = ScikitOptimize(Space(1), STREAMS, acquisition="EI", n_initial_points=default)
    optimizer, expected = _by_hand(
        "EI", history, STREAMS, avoid_duplicates=False, n_initial_points=default
    )
    np.testing.assert_array_equal(algorithm.ask(history, n + 1).x, expected)
    assert len(optimizer.models) == (1 if n >= 10 else 0)  # uniform until then


# Repeats: releases of the paper's time ask a point again, 0.10 asks a random one instead


@pytest.mark.parametrize("name", list(NAMES))
def test_a_repeated_proposal(name: Any) -> None:
    history = _rising()
    repeated = ScikitOptimize(Space(1), STREAMS, acquisition=name).ask(history, 8).x
    np.testing.assert_array_equal(repeated, [1.0])

    algorithm = ScikitOptimize(Space(1), STREAMS, acquisition=name, avoid_duplicates=True)
    replaced = algorithm.ask(history, 8).x
    assert 0 <= replaced[0] <= 1 and replaced[0] not in history.X
    # that is what 0.10 does when nobody tells it otherwise
    optimizer, expected = _by_hand(name, history, STREAMS)  # avoid_duplicates left out
    assert optimizer.avoid_duplicates is True
    np.testing.assert_array_equal(replaced, expected)
    assert optimizer._next_x == [1.0]


def test_no_warning_comes_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for avoid in (False, True):
            algorithm = ScikitOptimize(Space(1), STREAMS, acquisition="UCB", avoid_duplicates=avoid)
            algorithm.ask(_rising(), 8)


def _default(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


# What can go wrong


def test_finite_problems_are_refused() -> None:
    pool = np.linspace(0, 1, 7)[:, None]
    with pytest.raises(RepliboError, match="must be continuous") as error:
        ScikitOptimize(Space(1, 0.1, pool), STREAMS, acquisition="EI")
    assert "\n" not in str(error.value)
