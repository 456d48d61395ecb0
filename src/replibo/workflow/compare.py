"""Two configs side by side: the base and a variant of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.config.models import Config, Pair
from replibo.errors import RepliboError
from replibo.run import pairs

if TYPE_CHECKING:
    from replibo.results.runs import Runs
    from replibo.results.tables import Table


def table(base: Config, variant: Config, papers: Sequence[str], scale: str) -> Table:
    """The best noise-free value at the end of the runs, in the base and in the variant, for every
    problem and algorithm whose runs either has: means over seeds with Student's intervals, and the
    difference over the seeds that both have, in pairs.
    """
    from replibo.results.tables import Table

    if not variant.variant:
        raise RepliboError(
            "variant: must be a name in the config that --config lays over, got none"
        )
    scales = base.scale(scale), variant.scale(scale)
    columns = ["paper", "problem", "algorithm", *scales, "difference"]
    rows = []
    for paper in dict.fromkeys(papers or variant.papers):
        if paper not in base.papers:
            variant.paper(paper)  # its name may be wrong
        first, second = _runs(base, paper, scale), _runs(variant, paper, scale)
        for pair in dict.fromkeys([*first, *second]):
            both = _cut(
                [runs[pair].by_seed(*pair) if pair in runs else None for runs in (first, second)]
            )
            entry = (variant if pair in second else base).paper(paper)
            labels = entry.problems[pair[0]].label, entry.algorithms[pair[1]].label
            rows.append((paper, *labels, *map(_mean, both), _difference(*both)))
    if not rows:
        raise RepliboError(
            f"no runs at {' nor '.join(scales)}; 'snakemake --cores 2 "
            f"{'all' if scale == 'paper' else scale}' makes them, with '--configfile' those of the "
            "variant"
        )
    caption = ""
    if all(base_value == "–" for _, _, _, base_value, *_ in rows):
        caption = f"No run of the base is there; 'snakemake --cores 2 {scales[0]}' makes them. "
    caption += (
        "Best noise-free value at the end: mean ± half of the 95 % interval (Student) over "
        "the seeds; the difference is the variant's less the base's over common seeds, in pairs. "
        "=: the same runs, bit for bit. Runs of different length are read up to the end of the shorter."
    )
    return Table.of(rows, caption, columns=columns)


def _runs(config: Config, paper: str, scale: str) -> dict[Pair, Runs]:
    """The runs of each problem and algorithm of a paper, where there are any."""
    from replibo.results.runs import read

    if paper not in config.papers:
        return {}
    entry, scale = config.paper(paper), config.scale(scale)
    there = pairs.there(config, paper, scale, entry.pairs(scale))
    return {pair: read(config, paper, scale, [pair], "") for pair in there}


def _cut(both: list[dict[int, Any] | None]) -> list[dict[int, Any] | None]:
    """All runs up to the length of the shortest."""
    length = min(len(f) for runs in both if runs for f in runs.values())
    return [runs and {seed: f[:length] for seed, f in runs.items()} for runs in both]


def _mean(values: dict[int, Any] | None) -> str:
    return "–" if values is None else _shown(np.array([f.max() for f in values.values()]))


def _difference(base: dict[int, Any] | None, variant: dict[int, Any] | None) -> str:
    if base is None or variant is None or not (common := sorted(base.keys() & variant.keys())):
        return "–"
    if all(np.array_equal(base[seed], variant[seed]) for seed in common):
        return "="
    return _shown(np.array([variant[seed].max() - base[seed].max() for seed in common]))


def _shown(values: Any) -> str:
    """``mean ± half-width (n)``."""
    from replibo.results.intervals import student_interval

    if len(values) < 2:
        return f"{values.mean():.4g} ({len(values)})"
    interval = student_interval(values)
    return f"{float(interval.mean):.4g} ± {float(interval.half_width):.2g} ({len(values)})"
