"""A random forest as a surrogate: the mean and the deviation of its trees (Breiman 2001).

As GPyOpt's forest, which the NeuralBO paper uses (section 7): scikit-learn's ``RandomForestRegressor``
with its defaults. The trees are grown by ``forest.c`` and have the same distribution as scikit-learn's,
in a tenth of the time and less (`benchmarks/dngo_forest.py` of commit 8dc61a90): it sorts the
observations once, and not anew at each node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replibo.problems.base import Array
from replibo.surrogates.compiled import call

NODE = np.dtype([("threshold", np.float32), ("feature", np.int32), ("below", np.int32)])
"""A point x goes on to the node ``below`` if x[feature] <= threshold, else to the next one. A leaf has
the threshold ∞ and leads to itself."""


class Forest:
    """A forest fitted to ``X`` (``n x d``) and ``y`` (``n``).

    Each tree is grown on a bootstrap sample of all n, all features tried at each split by squared error,
    until its leaves are pure. A threshold is the middle between two neighbours. One of several splits
    that leave the same error is drawn.

    Args:
        trees: number of trees.
        rng: draws the bootstrap samples, then a seed for each tree's draws among equal splits.

    Attributes:
        counts: ``trees x n``, how often each observation is in the sample of each tree.
    """

    def __init__(self, X: Array, y: Array, *, trees: int, rng: np.random.Generator) -> None:
        n, d = X.shape
        columns = np.ascontiguousarray(X.T, dtype=np.float32)
        samples = rng.integers(n, size=(trees, n))
        self.counts = np.array([np.bincount(row, minlength=n) for row in samples], dtype=np.int32)
        # A tree with u observations has at most u leaves and u − 1 other nodes.
        most_nodes = 2 * np.count_nonzero(self.counts, axis=1) - 1
        self._starts = np.concatenate([[0], np.cumsum(most_nodes)]).astype(np.int64)
        self._nodes = np.empty(self._starts[-1], dtype=NODE)
        self._values = np.empty(self._starts[-1])
        self._sizes = np.empty(trees, dtype=np.int32)
        call(
            "grow_forest",
            n,
            d,
            trees,
            columns,
            np.ascontiguousarray(y, dtype=np.float64),
            np.concatenate([[0.0], 1.0 / np.arange(1, n + 1)]),  # reciprocals
            np.argsort(columns, axis=1, kind="stable").astype(np.int32),
            self.counts,
            rng.integers(1, 2**64, size=trees, dtype=np.uint64),  # seeds
            self._starts,
            self._nodes,
            self._values,
            self._sizes,
            np.empty((d, n), dtype=np.int32),  # room to work in
            np.empty(2 * n),
            np.empty(4 * n, dtype=np.int32),
        )

    def tree(self, t: int) -> tuple[NDArray[np.void], Array]:
        """The nodes (`NODE`) of tree ``t``, the root first, and the mean of y in each."""
        nodes = slice(self._starts[t], self._starts[t] + self._sizes[t])
        return self._nodes[nodes], self._values[nodes]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (divisor: the number of trees) over the trees' predictions,
        each ``m``, at the points ``X``, ``m x d``."""
        rows = np.ascontiguousarray(X, dtype=np.float32)  # as the trees compare them
        predictions = np.empty((len(self.counts), len(rows)))
        call(
            "predict_forest",
            *rows.shape,
            len(predictions),
            rows,
            self._starts,
            self._nodes,
            self._values,
            predictions,
        )
        return predictions.mean(axis=0), predictions.std(axis=0)
