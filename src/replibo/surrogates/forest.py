"""A random forest as a surrogate: the mean and the deviation of its trees (Breiman 2001).

As GPyOpt's forest, which the NeuralBO paper uses (section 7): scikit-learn's ``RandomForestRegressor``
with its defaults. Its trees are grown here one by one, the same to the last bit: what that class does
around each of 500 trees takes longer than the trees themselves while there are few observations
(0.25 against 0.11 s at 20 observations; `benchmarks/dngo_forest.py`).
"""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array


class Forest:
    """A forest fitted to ``X`` (``n x d``) and ``y`` (``n``), on one thread.

    Each tree is grown on a bootstrap sample of all n, all features tried at each split by squared error,
    until its leaves are pure.

    Args:
        trees: number of trees.
        random_state: an integer from 0 to 2³² - 1; gives each tree one of its own, and this the tree's
            sample first, as in scikit-learn.

    Attributes:
        trees: the fitted ``sklearn.tree.DecisionTreeRegressor``.
    """

    def __init__(self, X: Array, y: Array, *, trees: int, random_state: int) -> None:
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        n = len(X)
        rows, targets = np.ascontiguousarray(X, dtype=np.float32), y.reshape(n, 1).copy()
        states = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max, size=trees)
        self.trees = []
        # the same arguments and finite numbers each time: not checked 500 times
        with config_context(skip_parameter_validation=True, assume_finite=True):
            for state in states:
                rng = np.random.RandomState(state)
                counts = np.bincount(rng.randint(n, size=n), minlength=n).astype(np.float64)
                rng.seed(state)  # the tree's own order of features starts there, too
                # spelt out where it matters: scikit-learn's defaults have changed before
                tree = DecisionTreeRegressor(
                    criterion="squared_error",
                    min_samples_split=2,
                    min_samples_leaf=1,
                    max_features=1.0,
                    random_state=rng,
                )
                self.trees.append(tree.fit(rows, targets, counts, check_input=False))
        self._values = [tree.tree_.value.ravel() for tree in self.trees]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (divisor: the number of trees) over the trees' predictions,
        each ``m``, at the points ``X``, ``m x d``."""
        # The trees' own leaves, by float32, without 500 checks of the same points.
        rows = np.ascontiguousarray(X, dtype=np.float32)
        predictions = np.empty((len(self.trees), len(rows)))
        for tree, values, row in zip(self.trees, self._values, predictions, strict=True):
            np.take(values, tree.tree_.apply(rows), out=row, mode="clip")
        return predictions.mean(axis=0), predictions.std(axis=0)
