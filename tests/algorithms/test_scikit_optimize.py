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
from replibo.streams import RunStreams

from .conftest import history, observed

STREAMS = RunStreams("go_ucb", "f1", "gp_ei", 3)
NAMES = {"EI": "EI", "PI": "PI", "UCB": "LCB"}  # theirs, as they minimise


def _rising() -> History:
    """A line with noise that rises to the upper end of the interval, which was asked twice before:
    the model's noise keeps the acquisition's maximum at that very end."""
    u = np.array([0.1, 0.35, 0.5, 0.7, 0.9, 1.0, 1.0])
    noise = 0.05 * np.random.default_rng(0).standard_normal(7)
    return observed(u[:, None], 3.0 * u + noise, n_initial=5)


def _by_hand(acquisition_: str, past: History, streams: RunStreams, **settings: Any) -> Any:
    """A stock optimizer, told the queries one by one as its own loop does, and asked once.

    No model is fitted before the last one: the algorithm's random numbers belong to that fit.
    """
    seed = int(streams.algorithm_at(len(past)).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = skopt.Optimizer(
            [(0.0, 1.0)] * past.X.shape[1],
            acq_func=NAMES[acquisition_],
            random_state=seed,
            **{"n_initial_points": past.n_initial, **settings},
        )
        for i, (u, y) in enumerate(zip(past.X, past.y, strict=True)):
            optimizer.tell(u.tolist(), -float(y), fit=i == len(past) - 1)
        return optimizer, np.array(optimizer.ask())


# Proposals


@pytest.mark.parametrize("name", list(NAMES))
@pytest.mark.parametrize(("seed", "n", "dim"), [(0, 5, 1), (2, 9, 3)])
def test_proposals_are_the_stock_optimizers(name: Any, seed: int, n: int, dim: int) -> None:
    past = history(n, dim, 5, seed, noise_std=0.05)
    proposal = ScikitOptimize(Space(dim), STREAMS, acquisition=name).ask(past, n + 1)
    optimizer, expected = _by_hand(name, past, STREAMS, avoid_duplicates=False)
    np.testing.assert_array_equal(proposal.x, expected)
    # the proposal stems from the model, not from the initial design
    assert len(optimizer.models) == 1 and optimizer._n_initial_points <= 0


@pytest.mark.parametrize("n", [5, 9, 10])
def test_ten_initial_points_are_the_stock_optimizers_default(n: int) -> None:
    past = history(n, 1, 5, noise_std=0.05)
    default = _default(skopt.Optimizer, "n_initial_points")
    assert default == _default(skopt.gp_minimize, "n_initial_points") == 10
    algorithm = ScikitOptimize(Space(1), STREAMS, acquisition="EI", n_initial_points=default)
    optimizer, expected = _by_hand(
        "EI", past, STREAMS, avoid_duplicates=False, n_initial_points=default
    )
    np.testing.assert_array_equal(algorithm.ask(past, n + 1).x, expected)
    assert len(optimizer.models) == (1 if n >= 10 else 0)  # uniform until then


# Repeats: releases of the paper's time ask a point again, 0.10 asks a random one instead


@pytest.mark.filterwarnings("error")  # no warning comes out
@pytest.mark.parametrize("name", list(NAMES))
def test_a_repeated_proposal(name: Any) -> None:
    past = _rising()
    repeated = ScikitOptimize(Space(1), STREAMS, acquisition=name).ask(past, 8).x
    np.testing.assert_array_equal(repeated, [1.0])

    algorithm = ScikitOptimize(Space(1), STREAMS, acquisition=name, avoid_duplicates=True)
    replaced = algorithm.ask(past, 8).x
    assert 0 <= replaced[0] <= 1 and replaced[0] not in past.X
    # that is what 0.10 does when nobody tells it otherwise
    optimizer, expected = _by_hand(name, past, STREAMS)  # avoid_duplicates left out
    assert optimizer.avoid_duplicates is True
    np.testing.assert_array_equal(replaced, expected)
    assert optimizer._next_x == [1.0]


def _default(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default
