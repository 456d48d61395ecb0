"""From the config's names to a problem and an algorithm ready to run."""

from __future__ import annotations

import csv
import importlib
import io
import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from replibo import files
from replibo.algorithms.base import Algorithm, Space
from replibo.config import registry
from replibo.config.load import run_settings
from replibo.config.models import Config, ProblemEntry
from replibo.data.fetch import MIRROR_VARIABLE, fetch, sources_of
from replibo.data.manifest import DataFile, data_file
from replibo.errors import RepliboError, of_class
from replibo.problems.base import Array, Observation, Problem
from replibo.run.loop import Experiment
from replibo.run.traces import RUN_COLUMNS
from replibo.settings import SettingError, checked
from replibo.streams import RunStreams
from replibo.threads import one_thread


def mirrored(config: Config) -> bool:
    """Whether a mirror of the data files is named, by the config or the environment."""
    return bool(config.data_mirror or os.environ.get(MIRROR_VARIABLE))


def missing_data(config: Config, entry: ProblemEntry) -> list[str]:
    """The names of a problem's data files that are neither here nor in the mirror's folder; a mirror on
    the web is not asked, and taken to have all."""

    def missing(file: DataFile) -> bool:
        mirror = mirrored(config) and sources_of(file.path_in_mirror, (), config.data_mirror)[0]
        elsewhere = mirror.exists() if isinstance(mirror, Path) else bool(mirror)
        return not elsewhere and not (Path(config.data_dir) / file.path).exists()

    return [name for name in entry.data_files if missing(data_file(name))]


def data_paths(config: Config, entry: ProblemEntry) -> dict[str, Path]:
    """The data files of a problem by name, each verified; what is missing comes from the mirror if one is
    named."""
    paths, folder = {}, Path(config.data_dir)
    for name in entry.data_files:
        file = data_file(name)
        path = folder / file.path
        if not os.path.lexists(path) and not mirrored(config):
            raise RepliboError(
                f"{path}: not found; 'replibo fetch {name}' gets it, or put it there by hand from "
                f"{' or '.join(file.urls)} ({file.digest})"
            )
        paths[name] = fetch(name, data_dir=folder, mirror=config.data_mirror)
    return paths


def problem(config: Config, paper: str, scale: str, name: str) -> Problem:
    """The problem ``name`` of a paper, on real or stand-in data as the scale says."""
    entry = config.paper(paper).problems[name]
    settings: dict[str, Any] = dict(entry.parameters)
    if entry.data_files:
        real = config.paper(paper).at(scale).data == "real"
        settings["data"] = data_paths(config, entry) if real else None
    where = f"{paper}.problems.{name}"
    problem: Problem = _instance(where, _loaded(where, "problems", entry.type), settings)
    check_problem(problem, where, evaluate=registry.split(entry.type) is not None)
    return problem


def check_problem(problem: Problem, where: str, *, evaluate: bool) -> None:
    """Raise a `RepliboError` at the first attribute of a problem that breaks the contract (`Problem`).

    Args:
        where: what a message begins with.
        evaluate: whether to query a point, too, as for a problem of a user's own file.
    """
    cls = type(problem)

    def check(right: object, attribute: str, must: str, got: object) -> None:
        if not right:
            shown = textwrap.shorten("nothing" if got is ... else repr(got), 60, placeholder=" …")
            raise RepliboError(f"{where}: {cls.__name__}.{attribute} must {must}, got {shown}")

    d: Any = getattr(problem, "dim", ...)
    check(isinstance(d, int) and d >= 1, "dim", "be a whole number, at least 1", d)
    bounds: Any = getattr(problem, "bounds", ...)
    right = isinstance(bounds, np.ndarray) and bounds.shape == (2, d) and bounds.dtype.kind in "fiu"
    right = right and np.isfinite(bounds).all() and (bounds[0] < bounds[1]).all()
    must = f"be a 2 x {d} array of finite numbers, the lower ends first, each below its upper end"
    check(right, "bounds", must, bounds)
    for name, must in (
        ("optimal_value", "be a finite number, or None if it is not known"),
        ("noise_std", "be a finite number, at least 0"),
    ):
        value: Any = getattr(problem, name, ...)
        right = isinstance(value, (int, float, np.number)) and np.isfinite(value)
        right = right and value >= 0 if name == "noise_std" else right or value is None
        check(right, name, must, value)
    pool = problem.candidates
    right = pool is None or (isinstance(pool, np.ndarray) and pool.ndim == 2 and pool.shape[1] == d)
    check(right, "candidates", f"be an m x {d} array, or None", pool)
    if not evaluate:
        return
    x = bounds.mean(axis=0) if pool is None else pool[0]
    method, of = "evaluate_true", f"points of shape (n, {d})"
    try:
        f = problem.evaluate_true(x[None, :])
        check(np.shape(f) == (1,), method, f"return n values for {of}, shape (n,)", f)
        if cls.observe is not Problem.observe:
            method, of = "observe", f"a point of shape ({d},)"
            seen = problem.observe(x, RunStreams("check", "check", "check", 0), 0)
            check(isinstance(seen, Observation), method, f"return an Observation for {of}", seen)
    except (RepliboError, ModuleNotFoundError):
        raise
    except Exception as error:
        raise RepliboError(
            f"{where}: {cls.__name__}.{method} fails; it must take {of}: {of_class(error, cls)}"
        ) from error


LARGEST_POINTS = 2**24
"""Bytes of a file of initial points, at most."""


def read_points(path: Path) -> Array:
    """Initial points of a CSV file: a header, then one point a row, in native coordinates; ``n x d``."""
    content = files.read_bytes(path, LARGEST_POINTS)
    try:
        lines = io.StringIO(content.decode("utf-8"), newline="")
        rows = [row for row in csv.reader(lines, strict=True) if row]
    except UnicodeDecodeError:
        raise RepliboError(f"{path}: cannot be read (not UTF-8)") from None
    except csv.Error as error:
        raise RepliboError(f"{path}: cannot be read (not CSV: {error})") from None

    def shown(row: list[str]) -> str:
        return textwrap.shorten(", ".join(row), 60)

    must = f"{path}: must hold a header, then one point a row"
    if len(rows) < 2:
        raise RepliboError(f"{must}; got no point")
    if _numbers(rows[0]) is not None:
        raise RepliboError(f"{must}; got a first row of numbers ({shown(rows[0])})")
    points = []
    for number, row in enumerate(rows[1:], 1):
        point = _numbers(row)
        if point is None or len(row) != len(rows[0]):
            raise RepliboError(
                f"{path}, point {number}: must be {len(rows[0])} numbers ({shown(rows[0])}), "
                f"got {shown(row)}"
            )
        points.append(point)
    return np.array(points)


def _numbers(row: list[str]) -> list[float] | None:
    try:
        return [float(cell) for cell in row]
    except ValueError:
        return None


@one_thread()  # a problem may be trained or fitted
def experiment(
    config: Config,
    paper: str,
    scale: str,
    problem_name: str,
    algorithm: str,
    given_points: Array | None = None,
) -> Experiment:
    """All that the runs of one problem and algorithm have in common.

    Args:
        given_points: initial points to use instead of drawn ones, ``n x d``, native coordinates.
    """
    settings = run_settings(config, paper, scale, problem_name, algorithm)
    entry = config.paper(paper)
    algorithm_entry = entry.algorithms[algorithm]
    where = f"{paper}.algorithms.{algorithm}"
    cls = _loaded(where, "algorithms", algorithm_entry.type)
    if taken := sorted({*cls.diagnostics} & {*RUN_COLUMNS}):
        raise RepliboError(
            f"{where}.type: diagnostics of {cls.__name__} must not be called as a column of the traces, "
            f"got {', '.join(taken)}"
        )

    def make_algorithm(space: Space, streams: RunStreams) -> Algorithm:
        instance: Algorithm = _instance(where, cls, algorithm_entry.parameters, space, streams)
        return instance

    assert settings.horizon is not None and settings.initial_points is not None
    for module in cls.late_imports:  # before the first query, so that none's time holds an import
        importlib.import_module(module)
    return Experiment(
        paper=paper,
        problem_name=problem_name,
        algorithm_name=algorithm,
        problem=problem(config, paper, scale, problem_name),
        make_algorithm=make_algorithm,
        horizon=settings.horizon,
        initial_points=settings.initial_points if given_points is None else len(given_points),
        first_round=entry.first_round,
        given_points=given_points,
    )


def _loaded(where: str, kind: registry.Kind, name: str) -> type[Any]:
    """The class ``name``; where there is none, this is said with its place."""
    try:
        return registry.load(kind, name)
    except RepliboError as error:
        raise RepliboError(f"{where}.{error}") from None


def _instance(where: str, cls: type[Any], settings: dict[str, Any], *arguments: Any) -> Any:
    """``cls(*arguments, **settings)``; what is wrong with a setting is said with its place."""
    try:
        return cls(*arguments, **checked(cls, settings))
    except SettingError as error:
        raise RepliboError(f"{where}.parameters.{error.key}: {error.fault}") from None
    except RepliboError as error:
        raise RepliboError(f"{where}: {error}") from None
