"""The data of the site's interactive curves: one script for each problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from replibo import files
from replibo.config.models import COLORS, Config
from replibo.problems.base import Array
from replibo.results import regret
from replibo.results.intervals import student_interval
from replibo.results.runs import Runs, read
from replibo.run import pairs
from replibo.workflow import targets

ROUNDS = 150
"""Rounds of a curve, at most; longer curves are thinned evenly."""
SEEDS = 10
"""Runs that are drawn one by one, at most."""
READABLE, BEST, REFERENCE = 10, 5, "random_search"
"""Methods that a reader tells apart. If there are more, the page opens with the best ones and the
reference."""
DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
"""The lines of the config in the words of Plotly."""


def write(config: Config, paper: str, scale: str, folder: Path) -> tuple[dict[str, str], str]:
    """Write ``PROBLEM.js`` to ``folder`` for each problem of a paper.

    Returns:
        The label of each problem that has runs; and the problem on which the page opens: the first one
        with the most methods whose regret is not 0 at the end, as a logarithmic axis has no 0.
    """
    entry, labels = config.paper(paper), {}
    drawn: dict[str, int] = {}
    for problem in entry.problems:
        wanted = [pair for pair in pairs.at(config, paper, scale) if pair[0] == problem]
        there = pairs.there(config, paper, scale, wanted)
        if not there:
            continue
        runs = read(config, paper, scale, there, "")
        names = runs.algorithms(problem)
        first = _first_shown(config, paper, scale, problem) & set(names)
        if len(first) > READABLE:
            final = {name: runs.f(problem, name).max(axis=1).mean() for name in first}
            best = sorted(names, key=lambda name: final.get(name, -np.inf), reverse=True)[:BEST]
            first = {*best, *({REFERENCE} & first)}
        methods = {
            algorithm: _method(runs, problem, algorithm) | {"shown": algorithm in first}
            for algorithm in names
        }
        labels[problem] = entry.problems[problem].label
        ends = [next(iter(methods[name]["values"].values()))["mean"][-1] for name in first]
        drawn[problem] = sum(end != 0 for end in ends)
        content = json.dumps(methods, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        with files.written_whole(folder / f"{problem}.js") as temporary:
            temporary.write_text(f'curves["{problem}"]={content};\n', encoding="utf-8")
    return labels, max(drawn, key=drawn.__getitem__, default="")


def _first_shown(config: Config, paper: str, scale: str, problem: str) -> set[str]:
    """The algorithms that the paper's first figure with this problem shows."""
    for name in targets.names_at(config, "figures", paper, scale):
        shown = targets.output_pairs(config, "figures", paper, name, scale)
        if algorithms := {algorithm for place, algorithm in shown if place == problem}:
            return algorithms
    return set(config.paper(paper).algorithms)


def _method(runs: Runs, problem: str, algorithm: str) -> dict[str, Any]:
    """Label, look and curves of one algorithm."""
    entry = runs.entry.algorithms[algorithm]
    whole = runs.of([(problem, algorithm)])
    f, rounds = whole.f(problem, algorithm), whole.rounds(problem, algorithm)
    optimum = runs.metadata["problems"][problem]["optimal_value"]
    if optimum is None:
        values = {"best value so far": np.maximum.accumulate(f, axis=1)}
    else:
        values = {
            "simple regret": regret.best_regret(f, optimum),
            "cumulative regret": regret.cumulative_regret(f, optimum),
        }
    size = min(ROUNDS, len(rounds))
    kept = np.unique(np.linspace(0, len(rounds) - 1, size).round().astype(int))
    return {
        "label": entry.label,
        "color": COLORS[entry.color],
        "dash": DASHES[entry.line],
        "seeds": len(f),
        "t": [int(t) for t in rounds[kept]],
        "values": {
            name: _curve(curves[:, kept], -np.inf if optimum is None else 0.0)
            for name, curves in values.items()
        },
    }


def _curve(values: Array, smallest: float) -> dict[str, Any]:
    """Mean, 95 % interval cut at ``smallest``, and single runs; ``values`` is ``seeds x rounds``."""
    interval = student_interval(values)
    ends = (np.maximum(interval.low, smallest), interval.high)
    band = [_rounded(end) for end in ends] if len(values) > 1 else []
    return {
        "mean": _rounded(interval.mean),
        "band": band,
        "runs": [_rounded(run) for run in values[:SEEDS]],
    }


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
