"""The material-design tasks of the LB-GP-UCB paper (Ziomek, Adachi and Osborne 2024, section 5).

Both are finite pools: the rows of a table of experiments, grouped by all features; the objective of
a point is the mean over its replicates, looked up exactly (no emulator) and without noise. The data
are those of Liang et al. (2021), gathered by Gongora et al. (2020) and Mekki-Berrada et al. (2021).
"""

from __future__ import annotations

import csv
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.streams import generator


class _Materials(Problem):
    """A pool of materials with measured properties.

    Args:
        data: where the data file lies, by its name in the manifest (`data_name`); None takes a
            generated stand-in of the same shape.

    Attributes:
        candidates: ``m x d``, the distinct points, in lexicographic order of the features.
        replicates: ``m``, number of measurements of each point.

    Raises:
        RepliboError: the file is missing, is no CSV file, lacks a column, or holds something else
            than finite numbers (`evaluate_true`: a point is not in the pool).
    """

    data_name: ClassVar[str]
    features: ClassVar[tuple[str, ...]]
    measured: ClassVar[str]
    sign: ClassVar[float]
    """+1 where the measured property is maximised, -1 where it is minimised."""

    candidates: Array
    replicates: NDArray[np.int64]

    def __init__(self, *, data: Mapping[str, Path] | None = None) -> None:
        if data is None:
            rows = self.generate_stand_in()
        elif self.data_name in data:
            rows = _read(Path(data[self.data_name]), (*self.features, self.measured))
        else:
            raise RepliboError(
                f"data: {type(self).__name__} needs the file called {self.data_name!r}, "
                f"which was not given"
            )
        self.candidates, means, self.replicates = _group(rows)
        self.dim = len(self.features)
        self.bounds = np.array([self.candidates.min(axis=0), self.candidates.max(axis=0)])
        self._f = self.sign * means
        self.optimal_value = float(self._f.max())
        self._row = {tuple(point): row for row, point in enumerate(self.candidates.tolist())}
        if data is None:
            self.stand_in = (
                f"Generated values on {len(self.candidates)} points, with "
                f"{_range(self.replicates)} replicates each, stand in for the measured data."
            )

    @classmethod
    @abstractmethod
    def generate_stand_in(cls) -> Array:
        """Generated measurements, ``rows x (d + 1)``, the features first: the shape of the real
        file, and none of its values. Drawn from a fixed stream, which no seed of a run changes."""

    def evaluate_true(self, X: Array) -> Array:
        try:
            rows = [self._row[tuple(x)] for x in np.asarray(X, dtype=float).tolist()]
        except KeyError as error:
            raise RepliboError(
                f"{type(self).__name__}: ({', '.join(f'{v:g}' for v in error.args[0])}) is no "
                f"point of the pool; allowed: its {len(self.candidates)} candidates"
            ) from None
        return self._f[rows]


class CrossedBarrel(_Materials):
    """Crossed barrels, 4-D: the mean toughness, maximised, over 600 printed designs.

    Features: number of struts n, their twist theta (degrees), their outer radius r (mm), their
    thickness t (mm); 3 replicates each (Gongora et al. 2020).
    """

    data_name = "crossed_barrel"
    features = ("n", "theta", "r", "t")
    measured = "toughness"
    sign = 1.0

    @classmethod
    def generate_stand_in(cls) -> Array:
        rng = generator("stand_in", cls.data_name)
        # The grid of the experiment: theta and r form a checkerboard, the rest is crossed with it.
        points = np.array(
            [
                (n, 25.0 * i, round(1.5 + 0.1 * j, 1), t)
                for n, i, j, t in product((6, 8, 10, 12), range(9), range(11), (0.7, 1.05, 1.4))
                if (i + j) % 2 == 0
            ]
        )
        n, theta, r, t = ((points - points.min(axis=0)) / np.ptp(points, axis=0)).T
        # Tough designs lie along a narrow ridge in (theta, r) on a broad slope.
        slope = 2.0 + 14.0 * n + 8.0 * r * (1.0 - 0.5 * t)
        ridge = 24.0 * np.exp(-(((r - 0.9 + 0.6 * theta) / 0.09) ** 2)) * (0.3 + 0.7 * n * t)
        roughness = rng.lognormal(sigma=0.15, size=len(points))
        toughness = (slope + ridge) * roughness
        replicates = toughness[:, None] * rng.lognormal(sigma=0.08, size=(len(points), 3))
        return np.column_stack([np.repeat(points, 3, axis=0), replicates.ravel()])


class AgNP(_Materials):
    """Silver nanoparticles, 5-D: the mean spectral loss, minimised, over 164 syntheses.

    The loss is maximised with a minus sign. Features: flow rates of silver nitrate, polyvinyl
    alcohol, trisodium citrate and seeds (% of the total), total flow rate (µL/min); 4 to 48
    replicates (Mekki-Berrada et al. 2021).
    """

    data_name = "agnp"
    features = ("QAgNO3(%)", "Qpva(%)", "Qtsc(%)", "Qseed(%)", "Qtot(uL/min)")
    measured = "loss"
    sign = -1.0

    @classmethod
    def generate_stand_in(cls) -> Array:
        rng = generator("stand_in", cls.data_name)
        m = 164
        lower = np.array([4.53, 10.0, 0.5, 0.5, 200.0])
        upper = np.array([42.81, 40.0, 30.5, 19.5, 983.0])
        unit = rng.uniform(size=(m, 5))
        # Tied to the ends of every range, so that the pool spans what the measured one spans.
        unit[:5][np.eye(5, dtype=bool)] = 0.0
        unit[5:10][np.eye(5, dtype=bool)] = 1.0
        points = np.round(lower + (upper - lower) * unit, 2)
        counts = np.clip(np.rint(rng.normal(20.0, 5.0, size=m)), 4, 48).astype(int)
        counts[:2] = 4, 48
        # Little silver or much seed gives a high loss; the best syntheses lie in a small basin.
        height = 3.0 * (0.4 - unit[:, 0]) + 1.5 * (unit[:, 3] - 0.3) + 0.8 * (0.5 - unit[:, 4])
        basin = np.sum(((unit - [0.75, 0.4, 0.2, 0.25, 0.8]) / 0.3) ** 2, axis=1)
        logit = height - 1.5 * np.exp(-0.5 * basin) + rng.normal(0.0, 0.15, size=m)
        noisy = np.repeat(logit, counts) + rng.normal(0.0, 0.06, size=counts.sum())
        loss = 1.0 / (1.0 + np.exp(-noisy))
        return np.column_stack([np.repeat(points, counts, axis=0), loss])


def _group(rows: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Group the ``rows x (d + 1)`` by the features: the points in lexicographic order (``m x d``),
    the means (``m``; sums are rounded once, so that the order of the rows does not matter) and the
    numbers of replicates (``m``)."""
    groups: dict[tuple[float, ...], list[float]] = {}
    for *point, value in rows.tolist():
        groups.setdefault(tuple(point), []).append(value)
    points = sorted(groups)
    means = [math.fsum(groups[point]) / len(groups[point]) for point in points]
    counts = [len(groups[point]) for point in points]
    return np.array(points), np.array(means), np.array(counts)


def _read(path: Path, columns: tuple[str, ...]) -> Array:
    """The ``columns`` of a CSV file, ``rows x len(columns)``; other columns are left alone."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(csv.reader(file, strict=True), path, columns))
    except FileNotFoundError:
        raise RepliboError(f"{path}: no such file; allowed: a CSV file") from None
    except OSError as error:
        raise RepliboError(f"{path}: {error.strerror}; allowed: a readable CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise RepliboError(f"{path}: this is no CSV file; allowed: comma-separated text") from None
    if not rows:
        raise RepliboError(f"{path}: no rows below the header; allowed: 1 or more")
    table = np.array(rows)
    for name, column in zip(columns[:-1], table.T, strict=False):
        if column.min() == column.max():
            raise RepliboError(
                f"{path}: column {name!r} is {column[0]:g} in every row; allowed: 2 or more values"
            )
    return table


def _rows(
    lines: Iterator[list[str]], path: Path, columns: tuple[str, ...]
) -> Iterator[list[float]]:
    header = [name.strip() for name in next(lines, [])]
    if not header:
        raise RepliboError(
            f"{path}: the file is empty; allowed: a header with {', '.join(columns)}"
        )
    for name in columns:
        if header.count(name) != 1:
            fault = "missing" if name not in header else "there more than once"
            raise RepliboError(
                f"{path}: column {name!r} is {fault}; allowed: one each of {', '.join(columns)}"
            )
    positions = [header.index(name) for name in columns]
    for line, cells in enumerate(lines, start=2):
        if not cells:
            continue  # a blank line
        where = f"{path}: line {line}"
        if len(cells) != len(header):
            raise RepliboError(
                f"{where} has {len(cells)} cells; allowed: {len(header)}, as many as the header"
            )
        yield [
            _number(cells[position], f"{where}, column {name!r}")
            for name, position in zip(columns, positions, strict=True)
        ]


def _number(cell: str, where: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RepliboError(f"{where}: must be a finite number, got {cell!r}")
    return number


def _range(counts: NDArray[np.int64]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
