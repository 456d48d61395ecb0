"""The forest's splits against all others, its trees and moments against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from replibo.surrogates import compiled
from replibo.surrogates.forest import Forest


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, d])
    X = rng.random((n, d))
    return X, np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n)


def fit(X: np.ndarray, y: np.ndarray, trees: int, seed: int = 0) -> Forest:
    return Forest(X, y, trees=trees, rng=np.random.default_rng(seed))


def squared_error(y: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sum(weights * (y - np.average(y, weights=weights)) ** 2))


def smallest_error(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """The smallest squared error that a split leaves; infinite if there is none."""
    errors = [np.inf]
    for x in X.T:
        for threshold in np.unique(x)[:-1]:
            below = x <= threshold
            errors.append(sum(squared_error(y[s], weights[s]) for s in (below, ~below)))
    return min(errors)


@given(
    arrays(np.float64, (9, 3), elements=st.integers(0, 4)),
    arrays(np.float64, 9, elements=st.integers(-2, 2)),
)
def test_each_split_leaves_the_smallest_error_and_leaves_are_pure(X, y) -> None:
    """Small whole numbers: repeated points and equal observations."""
    forest = fit(X, y, trees=3)
    for t, counts in enumerate(forest.counts):
        nodes, values = forest.tree(t)
        waiting, visited = [(0, np.flatnonzero(counts))], 0
        while waiting:
            node, rows = waiting.pop()
            visited += 1
            threshold, feature, below = nodes[node]
            assert len(rows) > 0
            assert values[node] == pytest.approx(np.average(y[rows], weights=counts[rows]))
            if below == node:
                one_point = (X[rows] == X[rows[0]]).all()
                assert threshold == np.inf and (np.ptp(y[rows]) == 0 or one_point)
                continue
            left = X[rows, feature] <= threshold
            error = sum(squared_error(y[s], counts[s]) for s in (rows[left], rows[~left]))
            assert error == pytest.approx(smallest_error(X[rows], y[rows], counts[rows]), abs=1e-9)
            neighbours = X[rows, feature][left].max(), X[rows, feature][~left].min()
            assert threshold == pytest.approx(np.mean(neighbours))
            waiting += [(below, rows[left]), (below + 1, rows[~left])]
        assert visited == len(nodes)


@pytest.mark.parametrize("n", [1, 2, 30, 300])
def test_with_one_feature_the_trees_are_scikit_learns(n: int) -> None:
    """With one feature, no two splits leave the same error."""
    X, y = data(n, 1)
    X = X.astype(np.float32).astype(np.float64)
    forest = fit(X, y, trees=20)
    new, _ = data(50, 1, seed=1)
    predictions = []
    for t, counts in enumerate(forest.counts):
        theirs = DecisionTreeRegressor().fit(X, y, sample_weight=counts)
        assert len(forest.tree(t)[0]) == theirs.tree_.node_count
        predictions.append(theirs.predict(new))
    mean, sd = forest.moments(new)
    np.testing.assert_allclose(mean, np.mean(predictions, axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sd, np.std(predictions, axis=0), rtol=1e-9, atol=1e-12)
    assert mean.shape == sd.shape == (50,)


def test_equal_splits_are_drawn_among() -> None:
    """Two features order the observations in one way, two in the other: each is taken as often."""
    y = np.array([0.1, 0.7, 5.3])  # sums that are rounded
    X = np.stack([np.arange(3.0)] * 2 + [np.arange(3.0)[::-1]] * 2, axis=1)
    forest = fit(X, y, trees=4000)
    roots = [nodes[0] for nodes, _ in map(forest.tree, range(4000)) if len(nodes) > 1]
    taken = np.bincount([root["feature"] for root in roots], minlength=4)
    assert stats.chisquare(taken).pvalue > 1e-4


def test_samples_are_bootstrap_samples() -> None:
    """n draws of n; the number of different ones is about n (1 − 1/e)."""
    X, y = data(80, 3)
    counts = fit(X, y, trees=500).counts
    assert np.all(counts.sum(axis=1) == 80)
    assert np.mean(counts > 0) == pytest.approx(1 - (1 - 1 / 80) ** 80, abs=0.01)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (17, 3), (150, 11)])
def test_bits(n: int, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed gives the same forest, at all levels of instructions; another one another."""
    X, y = data(n, d)
    new, _ = data(25, d, seed=1)
    one = fit(X, y, 20).moments(new)
    for level in compiled.levels():
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "_best_level", lambda level=level: level)
            np.testing.assert_array_equal(one, fit(X, y, 20).moments(new))
    assert n == 1 or not np.array_equal(one, fit(X, y, 20, seed=1).moments(new))
