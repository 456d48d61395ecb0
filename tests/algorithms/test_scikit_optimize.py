"""scikit-optimize's baselines: what `skopt.Optimizer` itself proposes, with its default settings.

Its defaults are written down here, for a new release could otherwise change the paper's baselines
without a word.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import skopt
from skopt import acquisition
from skopt.utils import cook_estimator

from replibo.algorithms.base import History, Space
from replibo.algorithms.scikit_optimize import ACQUISITIONS, ScikitOptimize
from replibo.errors import RepliboError
from replibo.streams import RunStreams, generator

STREAMS = RunStreams("go_ucb", "f1", "gp_ei", 3)
NAMES = {"EI": "EI", "PI": "PI", "UCB": "LCB"}  # theirs, as they minimise


def _history(seed: int, n: int, dim: int = 1, n_initial: int = 5) -> History:
    """Uniform queries of a smooth function with noise."""
    rng = generator("history", seed)
    history = History(dim, n_initial)
    for _ in range(n):
        u = rng.uniform(size=dim)
        history.append(u, float(np.sin(5 * u).sum() + 0.05 * rng.standard_normal()))
    return history


def _rising() -> History:
    """A line with noise that rises to the upper end of the interval, which was asked twice before:
    the model's noise keeps the acquisition's maximum at that very end."""
    history, rng = History(1, 5), np.random.default_rng(0)
    for u in (0.1, 0.35, 0.5, 0.7, 0.9, 1.0, 1.0):
        history.append(np.array([u]), 3.0 * u + 0.05 * rng.standard_normal())
    return history


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
@pytest.mark.parametrize(("seed", "n"), [(0, 5), (1, 11)])
def test_proposals_are_the_stock_optimizers(name: Any, seed: int, n: int) -> None:
    history = _history(seed, n)
    proposal = ScikitOptimize(Space(1), STREAMS, acquisition=name).ask(history, n + 1)
    optimizer, expected = _by_hand(name, history, STREAMS, avoid_duplicates=False)
    np.testing.assert_array_equal(proposal.x, expected)
    assert len(optimizer.models) == 1
    assert proposal.candidate == -1 and proposal.diagnostics == {}
    # the proposal stems from the model, not from the initial design
    assert optimizer._n_initial_points <= 0
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))


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


def test_several_dimensions() -> None:
    history = _history(2, 9, dim=3, n_initial=4)
    proposal = ScikitOptimize(Space(3), STREAMS, acquisition="EI").ask(history, 10)
    _, expected = _by_hand("EI", history, STREAMS, avoid_duplicates=False)
    assert proposal.x.shape == (3,)
    np.testing.assert_array_equal(proposal.x, expected)


def test_the_value_is_maximised() -> None:
    history = History(1, 5)
    for u in (0.05, 0.2, 0.4, 0.6, 0.8):
        history.append(np.array([u]), 3.0 * u)
    assert ScikitOptimize(Space(1), STREAMS, acquisition="EI").ask(history, 6).x[0] > 0.8


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


@pytest.mark.parametrize("avoid_duplicates", [False, True])
def test_a_new_proposal_is_kept_either_way(avoid_duplicates: bool) -> None:
    history = _history(0, 5)
    algorithm = ScikitOptimize(
        Space(1), STREAMS, acquisition="EI", avoid_duplicates=avoid_duplicates
    )
    _, expected = _by_hand("EI", history, STREAMS, avoid_duplicates=not avoid_duplicates)
    np.testing.assert_array_equal(algorithm.ask(history, 6).x, expected)


def test_no_warning_comes_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for avoid in (False, True):
            algorithm = ScikitOptimize(Space(1), STREAMS, acquisition="UCB", avoid_duplicates=avoid)
            algorithm.ask(_rising(), 8)


# The library's defaults


def _default(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


def test_defaults() -> None:
    """Of the acquisitions, of the optimizer, and of its Gaussian process."""
    for function, name, value in (
        (acquisition.gaussian_ei, "xi", 0.01),
        (acquisition.gaussian_pi, "xi", 0.01),
        (acquisition.gaussian_lcb, "kappa", 1.96),
        (skopt.gp_minimize, "xi", 0.01),
        (skopt.gp_minimize, "kappa", 1.96),
        (skopt.Optimizer, "base_estimator", "gp"),
        (skopt.Optimizer, "initial_point_generator", "random"),
        (skopt.Optimizer, "acq_optimizer", "auto"),
        (skopt.Optimizer, "acq_func_kwargs", None),
        (skopt.Optimizer, "acq_optimizer_kwargs", None),
        (skopt.Optimizer, "space_constraint", None),
        (skopt.Optimizer, "avoid_duplicates", True),
    ):
        assert _default(function, name) == value, name
    optimizer = skopt.Optimizer([(0.0, 1.0)], random_state=0)
    assert optimizer.acq_optimizer == "lbfgs"
    assert (optimizer.n_points, optimizer.n_restarts_optimizer) == (10_000, 5)
    gp = cook_estimator("GP", space=[(0.0, 1.0)], random_state=0)
    assert (gp.noise, gp.normalize_y, gp.n_restarts_optimizer) == ("gaussian", True, 2)
    assert repr(gp.kernel) == "1**2 * Matern(length_scale=1, nu=2.5)"
    assert tuple(gp.kernel.k1.constant_value_bounds) == (0.01, 1000.0)
    np.testing.assert_array_equal(gp.kernel.k2.length_scale_bounds, [(0.01, 100)])


def test_the_optimizer_gets_no_other_settings_than_these(monkeypatch: Any) -> None:
    given: list[dict[str, Any]] = []
    stock = skopt.Optimizer

    def spy(dimensions: Any, **settings: Any) -> Any:
        given.append({"dimensions": dimensions, **settings})
        return stock(dimensions, **settings)

    monkeypatch.setattr(skopt, "Optimizer", spy)
    history = _history(0, 6, dim=2)
    ScikitOptimize(Space(2), STREAMS, acquisition="UCB").ask(history, 7)
    (settings,) = given
    seed = settings.pop("random_state")
    assert seed == int(STREAMS.algorithm_at(6).integers(2**31))
    assert settings == {
        "dimensions": [(0.0, 1.0), (0.0, 1.0)],
        "base_estimator": "GP",
        "n_initial_points": 5,
        "acq_func": "LCB",
        "acq_func_kwargs": {"xi": 0.01, "kappa": 1.96},
        "avoid_duplicates": False,
    }


# What can go wrong


def test_names_of_the_acquisitions() -> None:
    assert ACQUISITIONS == NAMES


def test_finite_problems_are_refused() -> None:
    pool = np.linspace(0, 1, 7)[:, None]
    with pytest.raises(RepliboError, match="must be continuous") as error:
        ScikitOptimize(Space(1, 0.1, pool), STREAMS, acquisition="EI")
    assert "\n" not in str(error.value)
