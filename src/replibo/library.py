"""The algorithms on a function of your own, and the published traces: what ``import replibo`` offers.

```python
import replibo

found = replibo.minimize(lambda x: (x[0] - 2) ** 2 + x[1] ** 2, [(-5, 5), (-5, 5)], n_iter=20)
print(found.x, found.y)
```
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.algorithms.base import Algorithm, History, Space
from replibo.algorithms.parts.gp_sampled import GpSampled
from replibo.config import registry
from replibo.errors import RepliboError, allowed, meant
from replibo.outliers import without_outliers
from replibo.problems.base import Array
from replibo.streams import RunStreams
from replibo.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT = "gp_ts"
"""The algorithm of the smallest relative rank in the cross table (`replibo.papers.cross.ranks`)."""
ROUNDING = 1e-7
"""Rounding of float32: the share of a bound by which a point may lie outside."""


class Optimizer:
    """Ask and tell in your own coordinates. It minimises the values that you tell it.

    The first ``n_initial`` points are uniform in the box, the others the algorithm's. Equal seeds and
    equal answers give equal points. What the algorithm sees has no outliers and no failed evaluations
    (`replibo.outliers`). An optimiser can be pickled and copied.

    Args:
        bounds: one pair (lower, upper) a dimension, ``d x 2``.
        algorithm: a file of ``replibo/algorithms`` (``lb_gp_ucb``), one of its classes
            (``scikit_optimize.ScikitOptimize``), or a subclass of
            `replibo.algorithms.base.Algorithm` of your own.
        n_initial: number of initial points; 2 (d + 1) where it is None.
        seed: of all that is drawn.
        noise_std: the standard deviation of the noise, in units of what is told, where it is known.
        settings: the algorithm's own, by name.

    Attributes:
        X: the points told, ``n x d``.
        y: their values, shape ``n``; NaN where the evaluation failed.

    Raises:
        RepliboError: bounds, the algorithm's name or a setting are wrong.
    """

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]] | Array,
        algorithm: str | type[Algorithm] = DEFAULT,
        *,
        n_initial: int | None = None,
        seed: int = 0,
        noise_std: float = 0.0,
        **settings: Any,
    ) -> None:
        box = _numbers(bounds)
        if box is None or box.ndim != 2 or box.shape[1] != 2 or not len(box):
            raise RepliboError(
                f"bounds: must be one pair (lower, upper) a dimension, got {_shown(bounds)}"
            )
        with np.errstate(over="ignore"):
            finite = np.isfinite(box).all() and np.isfinite(box[:, 1] - box[:, 0]).all()
        if not (finite and (box[:, 0] < box[:, 1]).all()):
            raise RepliboError(f"bounds: must be finite and lower < upper, got {box.tolist()}")
        self._lower, self._upper = box.T
        dim = len(box)
        self.n_initial = 2 * (dim + 1) if n_initial is None else _whole("n_initial", n_initial, 1)
        _whole("seed", seed, 0)
        noise = _number("noise_std: must be a number", noise_std)
        if not 0 <= noise < math.inf:
            raise RepliboError(f"noise_std: must be finite and at least 0, got {noise}")
        cls = registry.only("algorithms", algorithm) if isinstance(algorithm, str) else algorithm
        if not (isinstance(cls, type) and issubclass(cls, Algorithm)):
            raise RepliboError(
                f"algorithm: must be a name or a subclass of Algorithm, got {_shown(algorithm)}"
            )
        streams = RunStreams("library", "function", cls.__name__, int(seed))
        self._initial = streams.initial().uniform(size=(self.n_initial, dim))
        self._make = functools.partial(cls, Space(dim, noise), streams, **settings)
        self.X, self.y = np.empty((0, dim)), np.empty(0)
        self._start()

    def _start(self) -> None:
        self._algorithm: Algorithm = self._make()
        for module in self._algorithm.late_imports:  # imported by `ask`, they would keep one thread
            importlib.import_module(module)
        self._history = History(len(self._lower), self.n_initial)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the algorithm, which is a function of the history and is made anew."""
        return {k: v for k, v in vars(self).items() if k not in ("_algorithm", "_history")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    @one_thread()
    def ask(self) -> Array:
        """The next point to evaluate, shape ``d``. Asked again before anything is told, the same."""
        n = len(self.y)
        if n < self.n_initial:
            unit = self._initial[n]
        else:
            unit = np.asarray(self._algorithm.ask(self._seen(), n - self.n_initial + 1).x)
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

        NaN says that the evaluation failed. A point that lies outside of the bounds by rounding (to
        float32 at most) counts as on them.

        Raises:
            RepliboError: x lies outside the bounds, or y is infinite or no number.
        """
        point, value = self._inside(x), _number("y: must be a number", y)
        if math.isinf(value):
            raise RepliboError(f"y: must be finite, or NaN if the evaluation failed, got {value}")
        self.X, self.y = np.vstack([self.X, point]), np.append(self.y, value)
        self._algorithm.tell(self._seen())

    @one_thread()
    def posterior(self, X: Sequence[Sequence[float]] | Array) -> tuple[Array, Array]:
        """The model's belief about the noise-free function: of GP-TS, GP-UCB and GP-EI.

        Args:
            X: points of the box, ``m x d``.

        Returns:
            The posterior mean and standard deviation, ``m`` each, in units of what is told.

        Raises:
            RepliboError: another algorithm; nothing but failed evaluations was told; a point lies
                outside the bounds.
        """
        if not isinstance(self._algorithm, GpSampled):
            raise RepliboError(
                "posterior: the algorithm must be gp_ts, gp_ucb or gp_ei, "
                f"got {type(self._algorithm).__name__}"
            )
        if np.isnan(self.y).all():
            raise RepliboError("posterior: needs at least one value that was told, got none")
        points = np.array([self._inside(x) for x in X]).reshape(-1, len(self._lower))
        gp = self._algorithm.surrogate(self._seen())
        mean, sd = gp.posterior((points - self._lower) / (self._upper - self._lower))
        return -(gp.centre + gp.scale * mean), gp.scale * sd

    def _inside(self, x: Sequence[float] | Array) -> Array:
        """``x`` as a point of the box, ``d``."""
        point, dim = _numbers(x), len(self._lower)
        if point is not None and point.size == dim and point.ndim <= 2 and dim in (*point.shape, 1):
            point = point.reshape(dim)
            margin = ROUNDING * np.maximum(np.abs(self._lower), np.abs(self._upper))
            if ((point >= self._lower - margin) & (point <= self._upper + margin)).all():
                return np.clip(point, self._lower, self._upper)
        raise RepliboError(
            f"x: must be a point between {self._lower.tolist()} and {self._upper.tolist()}, "
            f"got {_shown(x if point is None else point.tolist())}"
        )

    def _seen(self) -> History:
        """What was told, as the algorithm sees it: in the unit cube, to be made large, no outliers."""
        values = -without_outliers(self.y)
        n = len(self._history)
        if n > len(values) or not np.array_equal(self._history.y, values[:n]):
            self._history, n = History(len(self._lower), self.n_initial), 0
        for x, value in zip(self.X[n:], values[n:], strict=True):
            self._history.append((x - self._lower) / (self._upper - self._lower), value)
        return self._history


def _shown(value: object) -> str:
    """``value`` for a message, shortened."""
    try:
        return reprlib.repr(value)
    except Exception:  # of a type that cannot be shown, or a number of too many digits
        return f"a value of type {type(value).__name__}"


def _numbers(values: Any) -> Array | None:
    """An array of numbers; None where they are none (a text or a truth value is no number)."""
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
        if array.dtype.kind == "O":
            number = all(
                isinstance(v, (Real, Decimal)) and not isinstance(v, bool) for v in array.flat
            )
        else:
            number = array.dtype.kind in "fiu"
        return array.astype(float) if number else None
    except (TypeError, ValueError, OverflowError):
        return None


def _number(must: str, value: object) -> float:
    """``value``, or the one number in an array; or a `RepliboError` that begins with ``must``."""
    array = _numbers(value)
    if array is None or array.size != 1:
        raise RepliboError(f"{must}, got {_shown(value)}")
    return float(array.flat[0])


def _whole(name: str, value: object, least: int) -> int:
    """``value``, or a `RepliboError` where it is not a whole number from ``least`` on."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise RepliboError(
            f"{name}: must be a whole number of at least {least}, got {_shown(value)}"
        )
    return int(value)


@dataclass(frozen=True)
class Minimum:
    """The result of `minimize`.

    Attributes:
        x: the point of the smallest value observed, shape ``d``; NaN if every evaluation failed.
        y: that value.
        X: all points in their order, ``n x d``.
        Y: their values, shape ``n``; NaN where the evaluation failed.
        finished: whether all evaluations were made; False after Ctrl-C.
    """

    x: Array
    y: float
    X: Array
    Y: Array
    finished: bool = True

    @classmethod
    def of(cls, optimizer: Optimizer, *, finished: bool) -> Minimum:
        """The best point of all that ``optimizer`` was told."""
        x, y = np.full(optimizer.X.shape[1], math.nan), math.nan
        if not np.isnan(optimizer.y).all():
            best = int(np.nanargmin(optimizer.y))
            x, y = optimizer.X[best], float(optimizer.y[best])
        return cls(x, y, optimizer.X, optimizer.y, finished)

    def plot(self) -> Figure:
        """A figure of the values in their order, and of the smallest so far."""
        from replibo.clean_matplotlib import matplotlib as mpl
        from replibo.results import plotting

        with mpl.rc_context():
            figure, axes = plotting.panels(1, 1)
            ax, n = axes[0, 0], np.arange(1, len(self.Y) + 1)
            ax.plot(n, self.Y, "o", color="0.6", label="value")
            ax.plot(n, np.fmin.accumulate(self.Y), drawstyle="steps-post", label="smallest so far")
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.set_xlabel("evaluation")
            ax.set_ylabel("y")
            return plotting.finish(figure, "Values in the order of their evaluation.")


def minimize(
    function: Callable[[Array], float],
    bounds: Sequence[tuple[float, float]] | Array,
    algorithm: str | type[Algorithm] = DEFAULT,
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

    Nothing that was evaluated is lost. Ctrl-C ends the search, and the result so far is returned. An
    exception of ``function`` or of the algorithm carries it as its attribute ``result``.

    Args:
        function: takes a point, shape ``d``, and returns a number; NaN says that the evaluation failed.
        n_iter: evaluations after the initial points.
        progress: show a progress bar.
        callback: called with the optimizer after each evaluation; True stops the search.
        bounds, algorithm, n_initial, seed, noise_std, settings: as of `Optimizer`.

    Raises:
        RepliboError: a bad argument, an infinite value or no number, or every evaluation failed.
    """
    _whole("n_iter", n_iter, 0)
    optimizer = Optimizer(
        bounds, algorithm, n_initial=n_initial, seed=seed, noise_std=noise_std, **settings
    )
    steps: Iterable[int] = range(optimizer.n_initial + n_iter)
    if progress:
        from rich.progress import track

        steps = track(steps, "minimizing")
    try:
        for _ in steps:
            x = optimizer.ask()
            value = function(x.copy())
            optimizer.tell(x, _number("function: must return a number", value))
            if callback is not None and callback(optimizer):
                break
        if np.isnan(optimizer.y).all():
            raise RepliboError(f"function: must return a number, got NaN {len(optimizer.y)} times")
    except KeyboardInterrupt:
        if not len(optimizer.y):
            raise
        return Minimum.of(optimizer, finished=False)
    except Exception as error:
        with contextlib.suppress(AttributeError, TypeError):  # of a class with slots
            error.result = Minimum.of(optimizer, finished=False)  # type: ignore[attr-defined]
        raise
    return Minimum.of(optimizer, finished=True)


def published(paper: str, problem: str | None = None, algorithm: str | None = None) -> pd.DataFrame:
    """The published traces of a paper, of one problem, or of one problem and algorithm.

    A row is a query, with problem, algorithm, seed, t, phase, f (noise-free, to be *maximised*), x and
    y of each run's best queries, and the diagnostics kept. In a clone, its ``published/`` is read.
    Elsewhere a paper's traces are fetched once from the release of this version (`replibo.release`).

    Args:
        paper: ``go_ucb``, ``bbo``, ``neuralbo``, ``lb_gp_ucb`` or ``cross``.
        problem, algorithm: all if they are left out.

    Raises:
        RepliboError: no such runs are published, a file is damaged, or the traces cannot be fetched.
    """
    import pyarrow as pa

    from replibo import release
    from replibo.results import publish
    from replibo.run import published as traces

    root = release.clone(paper)
    if root is None:
        digests = release.digests(paper)
        there = [traces.pair_of(PurePath(name)) for name in digests]
        wanted = _chosen(there, problem, algorithm)
        root = release.fetched(paper, wanted, digests)
    with contextlib.chdir(root):
        wanted = _chosen(traces.pairs(paper), problem, algorithm)
        parts = [publish.rows(paper, *pair) for pair in wanted]
    return pa.concat_tables(parts, promote_options="default").unify_dictionaries().to_pandas()


def _chosen(
    published: Sequence[tuple[str, str]], problem: str | None, algorithm: str | None
) -> list[tuple[str, str]]:
    """The pairs of a problem and an algorithm; None stands for all."""
    chosen = list(published)
    for kind, name, place in (("problem", problem, 0), ("algorithm", algorithm, 1)):
        names = sorted({pair[place] for pair in chosen})
        if name is not None and name not in names:
            raise RepliboError(
                f"{kind}: must be {allowed(names)}, got {_shown(name)}{meant(str(name), names)}"
            )
        chosen = [pair for pair in chosen if name in (None, pair[place])]
    return chosen
