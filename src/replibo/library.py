"""The algorithms on a function of your own, and the published traces: what ``import replibo`` offers.

```python
import replibo

found = replibo.minimize(lambda x: (x[0] - 2) ** 2 + x[1] ** 2, [(-5, 5), (-5, 5)], n_iter=20)
print(found.x, found.y)
```
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo import paths
from replibo.algorithms.base import Algorithm, History, Space
from replibo.config import registry
from replibo.errors import RepliboError
from replibo.problems.base import Array
from replibo.streams import RunStreams
from replibo.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Optimizer:
    """Ask and tell in your own coordinates: what is told is to be made small.

    The first ``n_initial`` points are uniform in the box, the others the algorithm's. Equal seeds and
    equal answers give equal points.

    Args:
        bounds: one pair (lower, upper) a dimension, ``d x 2``.
        algorithm: a file of ``replibo/algorithms`` (``lb_gp_ucb``), one of its classes
            (``scikit_optimize.ScikitOptimize``), or a subclass of
            `replibo.algorithms.base.Algorithm` of your own.
        n_initial: number of initial points; 2 (d + 1) where it is None.
        seed: of all that is drawn.
        noise_std: the standard deviation of the noise, in units of what is told, where it is known.
        settings: the algorithm's own, by name.

    Raises:
        RepliboError: bounds, the algorithm's name or a setting are wrong.
    """

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]] | Array,
        algorithm: str | type[Algorithm] = "lb_gp_ucb",
        *,
        n_initial: int | None = None,
        seed: int = 0,
        noise_std: float = 0.0,
        **settings: Any,
    ) -> None:
        try:
            box = np.asarray(bounds, dtype=float)
        except (TypeError, ValueError):
            box = np.empty(0)
        if box.ndim != 2 or box.shape[1] != 2 or not len(box):
            raise RepliboError(
                f"bounds: must be one pair (lower, upper) a dimension, got {bounds!r}"
            )
        if not (np.isfinite(box).all() and (box[:, 0] < box[:, 1]).all()):
            raise RepliboError(f"bounds: must be finite and lower < upper, got {box.tolist()}")
        self._lower, self._upper = box.T
        dim = len(box)
        self.n_initial = 2 * (dim + 1) if n_initial is None else _whole("n_initial", n_initial, 1)
        _whole("seed", seed, 0)
        cls = registry.only("algorithms", algorithm) if isinstance(algorithm, str) else algorithm
        if not (isinstance(cls, type) and issubclass(cls, Algorithm)):
            raise RepliboError(
                f"algorithm: must be a name or a subclass of Algorithm, got {algorithm!r}"
            )
        self._streams = RunStreams("library", "function", cls.__name__, seed)
        self._initial = self._streams.initial().uniform(size=(self.n_initial, dim))
        self._history = History(dim, self.n_initial)
        self._algorithm: Algorithm = cls(Space(dim, noise_std), self._streams, **settings)

    @property
    def X(self) -> Array:
        """The points told, ``n x d``."""
        return self._lower + (self._upper - self._lower) * self._history.X

    @property
    def y(self) -> Array:
        """Their values, shape ``n``."""
        return -self._history.y

    @one_thread()
    def ask(self) -> Array:
        """The next point to evaluate, shape ``d``. Asked again before anything is told, the same."""
        n = len(self._history)
        if n < self.n_initial:
            unit = self._initial[n]
        else:
            unit = np.asarray(self._algorithm.ask(self._history, n - self.n_initial + 1).x)
            if unit.shape != self._lower.shape or not ((unit >= 0) & (unit <= 1)).all():
                raise RepliboError(
                    f"{type(self._algorithm).__name__}: its proposal must be a point of the "
                    f"{len(self._lower)}-D unit cube, got {unit}"
                )
        inside: Array = np.clip(
            self._lower + (self._upper - self._lower) * unit, self._lower, self._upper
        )
        return inside

    @one_thread()
    def tell(self, x: Sequence[float] | Array, y: float) -> None:
        """The value ``y`` of the function at ``x``, which need not be a point that was asked.

        Raises:
            RepliboError: x lies outside the bounds, or y is not finite.
        """
        point = np.asarray(x, dtype=float)
        if (
            point.shape != self._lower.shape
            or not ((point >= self._lower) & (point <= self._upper)).all()
        ):
            raise RepliboError(
                f"x: must be a point between {self._lower.tolist()} and {self._upper.tolist()}, "
                f"got {point.tolist()}"
            )
        if not math.isfinite(y):
            raise RepliboError(f"y: must be finite, got {y}")
        unit = (point - self._lower) / (self._upper - self._lower)
        self._history.append(unit, -float(y))
        self._algorithm.tell(self._history)


def _whole(name: str, value: object, least: int) -> int:
    """``value``, or a `RepliboError` where it is not a whole number from ``least`` on."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise RepliboError(f"{name}: must be a whole number of at least {least}, got {value!r}")
    return int(value)


@dataclass(frozen=True)
class Minimum:
    """What `minimize` found.

    Attributes:
        x: the point of the smallest value observed, shape ``d``.
        y: that value.
        X: all points in their order, ``n x d``.
        Y: their values, shape ``n``.
    """

    x: Array
    y: float
    X: Array
    Y: Array

    def plot(self) -> Figure:
        """A figure of the values in their order, and of the smallest so far."""
        from replibo.results import plotting

        figure, axes = plotting.panels(1, 1)
        ax, n = axes[0, 0], np.arange(1, len(self.Y) + 1)
        ax.plot(n, self.Y, "o", color="0.6", label="value")
        ax.plot(n, np.minimum.accumulate(self.Y), drawstyle="steps-post", label="smallest so far")
        ax.set_xlabel("evaluation")
        ax.set_ylabel("y")
        return plotting.finish(figure, "Values in the order of their evaluation.")


def minimize(
    function: Callable[[Array], float],
    bounds: Sequence[tuple[float, float]] | Array,
    algorithm: str | type[Algorithm] = "lb_gp_ucb",
    *,
    n_iter: int = 50,
    n_initial: int | None = None,
    seed: int = 0,
    noise_std: float = 0.0,
    progress: bool = False,
    callback: Callable[[Optimizer], bool | None] | None = None,
    **settings: Any,
) -> Minimum:
    """Minimise a function over a box.

    Args:
        function: takes a point, shape ``d``, and returns a number.
        n_iter: evaluations after the initial points.
        progress: show a progress bar.
        callback: called with the optimizer after each evaluation; True stops the search.
        bounds, algorithm, n_initial, seed, noise_std, settings: as of `Optimizer`.

    Raises:
        RepliboError: a bad argument, or a value that is not finite.
    """
    _whole("n_iter", n_iter, 0)
    optimizer = Optimizer(
        bounds, algorithm, n_initial=n_initial, seed=seed, noise_std=noise_std, **settings
    )
    steps: Iterable[int] = range(optimizer.n_initial + n_iter)
    if progress:
        from rich.progress import track

        steps = track(steps, "minimizing")
    for _ in steps:
        x = optimizer.ask()
        value = function(x.copy())
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise RepliboError(f"function: must return a number, got {value!r}") from None
        optimizer.tell(x, number)
        if callback is not None and callback(optimizer):
            break
    best = int(np.argmin(optimizer.y))
    return Minimum(optimizer.X[best], float(optimizer.y[best]), optimizer.X, optimizer.y)


def published(paper: str) -> pd.DataFrame:
    """The published traces of a paper: a row a query, with problem, algorithm, seed, t, phase, f
    (noise-free, to be *maximised*), x and y of each run's best queries, and the diagnostics kept.

    Args:
        paper: ``go_ucb``, ``bbo``, ``neuralbo`` or ``lb_gp_ucb``.

    Raises:
        RepliboError: nothing is published of it here, or a file is damaged.
    """
    import pyarrow as pa

    from replibo.results import publish
    from replibo.run import pairs

    here = Path.cwd()  # the clone that the package was installed from, unless we are in one
    root = here if (here / paths.PUBLISHED).is_dir() else registry.PACKAGE.parents[1]
    with contextlib.chdir(root):
        metadata = pairs.published_metadata(paper)
        parts = publish.rows(paper, pairs.published(paper), metadata)
    return pa.concat_tables(parts, promote_options="default").unify_dictionaries().to_pandas()
