"""The forest against scikit-learn's own, tree by tree, and its moments against the trees' predictions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from replibo.surrogates.forest import Forest


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, d])
    X = rng.random((n, d))
    return X, np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("state", [3, 2**32 - 1])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (30, 4), (100, 20)])
def test_the_trees_are_those_of_scikit_learns_forest(n: int, d: int, state: int) -> None:
    X, y = data(n, d)
    y[n // 2 :] = y[n // 2]  # equal observations
    theirs = RandomForestRegressor(40, random_state=state).fit(X, y).estimators_
    ours = Forest(X, y, trees=40, random_state=state).trees
    assert len(ours) == 40
    for one, other in zip(ours, theirs, strict=True):
        for name in ("feature", "threshold", "children_left", "children_right", "value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other.tree_, name))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (30, 4), (100, 20)])
def test_moments_are_those_of_the_trees(n: int, d: int) -> None:
    X, y = data(n, d)
    new, _ = data(25, d, seed=1)
    trees = RandomForestRegressor(40, random_state=3).fit(X, y).estimators_
    predictions = np.array([tree.predict(new) for tree in trees])
    mean, sd = Forest(X, y, trees=40, random_state=3).moments(new)
    np.testing.assert_allclose(mean, predictions.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sd, np.sqrt(predictions.var(axis=0)), rtol=1e-12, atol=1e-14)
    assert mean.shape == sd.shape == (25,)


def test_trees_are_grown_on_bootstrap_samples_to_the_end() -> None:
    """Each tree gives its own data exactly, and about 1 - 1/e of all data are its own."""
    X, y = data(80, 3)
    forest = Forest(X, y, trees=60, random_state=0)
    rows = X.astype(np.float32)
    exact = np.array([np.isclose(tree.predict(rows)[:, 0], y, atol=1e-12) for tree in forest.trees])
    assert 0.6 < exact.mean() < 0.68
    assert not np.array_equal(exact[0], exact[1])


def test_random_state() -> None:
    X, y = data(30, 4)
    new, _ = data(25, 4, seed=1)
    one, again, other = (Forest(X, y, trees=20, random_state=s).moments(new) for s in (7, 7, 8))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    Forest(X, y, trees=2, random_state=2**32 - 1)


def test_global_generator_is_left_alone() -> None:
    X, y = data(10, 2)
    before = np.random.get_state()[1].copy()
    Forest(X, y, trees=5, random_state=0).moments(X)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


def test_degenerate_data() -> None:
    """One point, equal observations, one point observed several times: no deviation but the noise's."""
    new, _ = data(25, 2)
    for X, y in ((new[:1], np.zeros(1)), (new, np.full(25, 2.0))):
        mean, sd = Forest(X, y, trees=20, random_state=0).moments(new)
        np.testing.assert_array_equal(mean, y[0])
        np.testing.assert_array_equal(sd, 0.0)
    repeated = np.repeat(new[:1], 6, axis=0)
    mean, sd = Forest(repeated, np.arange(6.0), trees=400, random_state=0).moments(new)
    assert np.ptp(mean) == 0.0
    # the mean of a bootstrap sample of 6: mean 2.5, variance (35/12)/6
    assert mean[0] == pytest.approx(2.5, abs=4 * np.sqrt(35 / 72 / 400))
    assert sd[0] == pytest.approx(np.sqrt(35 / 72), rel=0.15)
