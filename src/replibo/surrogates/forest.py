"""A random forest as a surrogate: the mean and the deviation of its trees (Breiman 2001).

As GPyOpt's forest, which the NeuralBO paper uses (section 7): scikit-learn's ``RandomForestRegressor``
with its defaults. Its trees are grown here by scikit-learn's own builder, the same to the last bit:
what the two classes above it do around each of 500 trees takes longer than the trees themselves while
there are few observations (in all 0.31 against 0.02 s at 10, 0.58 against 0.29 s at 200, D = 10;
`benchmarks/dngo_forest.py`).
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
        trees: the grown ``sklearn.tree._tree.Tree``, ``tree_`` of a ``DecisionTreeRegressor``.
    """

    def __init__(self, X: Array, y: Array, *, trees: int, random_state: int) -> None:
        # private, so pinned: what sklearn.tree.BaseDecisionTree calls
        from sklearn.tree._criterion import MSE
        from sklearn.tree._splitter import BestSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        n, d = X.shape
        rows, targets = np.ascontiguousarray(X, dtype=np.float32), y.reshape(n, 1).copy()
        states = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max, size=trees)
        rng = np.random.RandomState()
        # one output; all features, leaves of one observation, no least weight, no monotonicity;
        # a split from two observations on, any depth and any gain
        splitter = BestSplitter(MSE(1, n), d, 1, 0.0, rng, None)
        builder = DepthFirstTreeBuilder(splitter, 2, 1, 0.0, np.iinfo(np.int32).max, 0.0)
        self.trees = []
        for state in states:
            rng.seed(state)
            counts = np.bincount(rng.randint(n, size=n), minlength=n).astype(np.float64)
            rng.seed(state)  # the tree's own order of features starts there, too
            tree = Tree(d, np.ones(1, dtype=np.intp), 1)
            builder.build(tree, rows, targets, counts)
            self.trees.append(tree)
        self._values = [tree.value.ravel() for tree in self.trees]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (divisor: the number of trees) over the trees' predictions,
        each ``m``, at the points ``X``, ``m x d``."""
        rows = np.ascontiguousarray(X, dtype=np.float32)  # as the trees compare them
        predictions = np.empty((len(self.trees), len(rows)))
        for tree, values, row in zip(self.trees, self._values, predictions, strict=True):
            np.take(values, tree.apply(rows), out=row, mode="clip")
        return predictions.mean(axis=0), predictions.std(axis=0)
