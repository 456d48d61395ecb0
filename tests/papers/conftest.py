"""An invented paper, its runs and outputs, and the cells of a table as tests compare them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from replibo.config import load
from replibo.config.models import FigureEntry, PaperEntry
from replibo.results import plotting
from replibo.results.comparisons import Comparison
from replibo.results.runs import Runs
from replibo.results.tables import Table


def made_paper(
    problems: Mapping[str, Any],
    algorithms: Mapping[str, str | Mapping[str, Any]],
    settings: Mapping[str, Any],
    first_round: str = "search",
) -> PaperEntry:
    """The config of a paper. An algorithm is its colour, or its entry; without a type it has random search's
    class: outputs need none. Runs have three initial points and ten seeds if ``settings`` name no others."""
    settings = {"initial_points": 3, "seeds": "0-9", "seeds_per_job": 1, **settings}
    plain = {
        name: {"type": "random_search.RandomSearch", "label": name.upper()} for name in algorithms
    }
    return PaperEntry.model_validate(
        {
            "title": "t",
            "reference": "r",
            **{"label": "L", "url": "u", "proposes": "p", "main_claims": []},
            "first_round": first_round,
            "defaults": {**settings, "algorithms": list(algorithms)},
            "problems": problems,
            "algorithms": {
                name: plain[name] | ({"color": look} if isinstance(look, str) else look)
                for name, look in algorithms.items()
            },
            "scales": {"paper": {}, "quick": {}, "smoke": {}},
            "figures": {},
            "tables": {},
        }
    )


def configured(paper: str, *names: str) -> dict[str, dict[str, Any]]:
    """The entries of a paper's algorithms, as the config has them."""
    entry = load.load(Path(__file__).parents[2] / "config").paper(paper)
    return {name: entry.algorithms[name].model_dump() for name in names}


def pair(
    key: tuple[str, str], f: Any, first: int = 1, seeds: Any = None, **columns: Any
) -> pa.Table:
    """The rows of a problem and algorithm: ``f``, ``seeds x queries``, from round ``first`` on."""
    f = np.asarray(f, dtype=float)
    table = pa.table(
        {
            "problem": [key[0]] * f.size,
            "algorithm": [key[1]] * f.size,
            "seed": np.repeat(list(range(len(f)) if seeds is None else seeds), f.shape[1]),
            "t": np.tile(np.arange(first, first + f.shape[1]), len(f)),
            "f": f.ravel(),
            **columns,
        }
    )
    return table.sort_by([("seed", "ascending"), ("t", "ascending")])


def runs_of(
    entry: PaperEntry,
    pairs: list[pa.Table],
    facts: Mapping[str, Mapping[str, Any]],
    scale: str = "paper",
    timings: Mapping[str, Any] | None = None,
) -> Runs:
    """Runs of the pairs, with the facts of each problem."""
    defaults = {"optimal_value": None, "stand_in": "", "initial_points": 3}
    problems = {problem: {**defaults, **changes} for problem, changes in facts.items()}
    metadata = {"scale": scale, "problems": problems, "timings": timings or {}}
    return Runs(entry, metadata, pa.concat_tables(pairs, promote_options="default"))


def output(**options: Any) -> FigureEntry:
    """The config's entry of a figure or table."""
    return FigureEntry(caption="Made up.", function="f", **options)


def records(table: Table) -> list[dict[str, Any]]:
    """The rows by their columns' names; None where there is no value. A reader can be shown all of them, and
    no cell of the CSV is called nan."""
    assert table.frame.columns.is_unique and table.shown().shape == table.frame.shape
    assert "nan" not in table.csv()
    frame = table.frame.astype(object)
    return frame.where(frame.notna(), None).to_dict("records")  # type: ignore[return-value]


def rows(table: Table, **wanted: Any) -> list[dict[str, Any]]:
    """The rows that hold the wanted values."""
    found = records(table)
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def tuples(table: Table) -> list[tuple[Any, ...]]:
    """The rows, None where there is no value."""
    return [tuple(row.values()) for row in records(table)]


def outcomes(comparisons: list[Comparison]) -> list[str]:
    """The outcome of each comparison."""
    return [comparison.outcome for comparison in comparisons]


def caption_of(figure: Figure) -> str:
    """The caption, in one line."""
    return " ".join(plotting.caption_of(figure).split())


def drawn(figure: Figure) -> Figure:
    """The figure, laid out. (As files: `tests/workflow/test_smoke.py`.)"""
    figure.draw_without_rendering()
    return figure
