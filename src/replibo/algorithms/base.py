"""The algorithm contract: what to query next is a function of the history and of random streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from replibo.problems.base import Array
from replibo.settings import Checked
from replibo.streams import RunStreams


@dataclass(frozen=True)
class Space:
    """What an algorithm may know of a problem: the unit cube, and nothing in native units.

    Attributes:
        dim: number of dimensions ``d``; the domain is ``[0, 1]^d``.
        noise_std: the known standard deviation of the noise, in units of ``y``.
        candidates: ``m x d``, the admissible points (in the unit cube) of a finite problem, or None.
    """

    dim: int
    noise_std: float = 0.0
    candidates: Array | None = None


class History:
    """The queries of one run so far: ``X`` (``n x d``, unit cube), ``y`` (``n``), and for a finite
    problem ``candidate`` (``n``, the row of `Space.candidates` that was asked; -1 elsewhere)."""

    def __init__(self, dim: int, n_initial: int, capacity: int = 64) -> None:
        self.n_initial = n_initial
        self._n = 0
        self._X = np.empty((capacity, dim))
        self._y = np.empty(capacity)
        self._candidate = np.empty(capacity, dtype=np.int64)

    def __len__(self) -> int:
        return self._n

    @property
    def X(self) -> Array:
        return self._X[: self._n]

    @property
    def y(self) -> Array:
        return self._y[: self._n]

    @property
    def candidate(self) -> NDArray[np.int64]:
        return self._candidate[: self._n]

    def append(self, x: Array, y: float, candidate: int = -1) -> None:
        if self._n == len(self._y):
            self._X = np.concatenate([self._X, np.empty_like(self._X)])
            self._y = np.concatenate([self._y, np.empty_like(self._y)])
            self._candidate = np.concatenate([self._candidate, np.empty_like(self._candidate)])
        self._X[self._n], self._y[self._n], self._candidate[self._n] = x, y, candidate
        self._n += 1


@dataclass(frozen=True)
class Proposal:
    """The next query: ``x`` (``d``, unit cube) and, for a finite problem, its row ``candidate`` in
    `Space.candidates`; ``diagnostics`` go into the trace (keys as in `Algorithm.diagnostics`)."""

    x: Array
    candidate: int = -1
    diagnostics: dict[str, float] = field(default_factory=dict)


class Algorithm(metaclass=Checked):
    """An ask-tell optimiser of one run.

    The rule: what `ask` returns is a function of (history, t) and of the run's random streams, and
    of nothing hidden. An object may keep factors, caches and warm starts between calls. It must be
    able to rebuild them from the history, bit for bit: resuming a killed run makes a new object and
    hands it the history.

    Subclasses take their settings as keyword-only arguments after ``space`` and ``streams``; these
    are the ``parameters`` of the algorithm's entry in the config, held to the types that they declare
    (`replibo.settings`).

    Attributes:
        diagnostics: names of the numbers that every `Proposal` carries into the trace, with a line
            on what each means (units, source).
        late_imports: modules that are imported inside functions because they are heavy; a run
            imports them before its first query, so that no query's time holds an import.
    """

    diagnostics: ClassVar[dict[str, str]] = {}
    late_imports: ClassVar[tuple[str, ...]] = ()

    def __init__(self, space: Space, streams: RunStreams) -> None:
        self.space = space
        self.streams = streams

    @abstractmethod
    def ask(self, history: History, t: int) -> Proposal:
        """The query at round ``t``, counted as the paper counts its rounds.

        The query's random stream is ``self.streams.algorithm_at(len(history))``.
        """

    def tell(self, history: History) -> None:
        """Bring caches up to date, and nothing else; called after each observation, and once, with the
        whole history, when a run is resumed."""

    @classmethod
    def ask_block(
        cls, algorithms: Sequence[Algorithm], histories: Sequence[History], t: int
    ) -> list[Proposal]:
        """The proposals of several runs (the seeds of a block) that stand at the same round.

        Each must be what its own `ask` would return, bit for bit. Override it where the runs of a
        block can share the work of one vectorised computation.
        """
        return [
            algorithm.ask(history, t)
            for algorithm, history in zip(algorithms, histories, strict=True)
        ]
