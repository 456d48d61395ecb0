"""How well the cost of a published run is predicted from its first queries (`costs.cost_of_job`).

``python benchmarks/estimate.py --cut 0 0.25 [--papers neuralbo lb_gp_ucb] [--longest 1900]``

No run is made. Each published run of at least ``--longest`` queries (random search left out) is predicted
as if only this share of its queries were known (0: none), with its algorithm's longer runs on other
problems and (``nowhere longer``) without. Prints predicted over measured time: quantiles .1, .5 and .9
over the pairs of problem and algorithm, the sum over all of them, and the factor by which the prediction
is off, either way, for half and for 90 % of them.
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np

from replibo.config import load
from replibo.config.models import Config
from replibo.workflow import costs


def first_part(timing: costs.Timing, queries: int) -> costs.Timing:
    """What is known of a run after its first ``queries``."""
    first = [number for number in timing.first if number <= queries]
    until = [timing.run(number - 1) for number in (*first[1:], queries + 1)]
    seconds = tuple(np.diff([0.0, *until]).tolist())
    return dataclasses.replace(timing, queries=queries, first=tuple(first), seconds=seconds)


def cut(config: Config, papers: list[str], share: float, longest: int) -> None:
    """Predict the published runs of at least ``longest`` queries from their first ``share``."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for paper in papers:
        entry = config.paper(paper)
        published = costs.at_one_speed(entry, costs.published(paper))
        for key, whole in published.items():
            problem, algorithm = key.split("/")
            T = whole.queries
            if longest > T or algorithm == "random_search":
                continue
            alone = {name: known for name, known in published.items() if name != key}
            ways = {"not run": alone}
            if share:
                part = int(share * T)
                nowhere = {
                    name: first_part(known, part)
                    for name, known in published.items()
                    if name.endswith(f"/{algorithm}") and part < known.queries
                }
                ways = {
                    "run in part": published | {key: first_part(whole, part)},
                    "nowhere longer": published | nowhere,
                }
            for way, known in ways.items():
                if cost := costs.cost_of_job(known, problem, algorithm, T, 1):
                    real = whole.run(T) + whole.start_seconds + costs.PROCESS_SECONDS
                    ratios.setdefault(way, []).append((cost.seconds, real))
    for way, pairs in ratios.items():
        predicted, measured = np.array(pairs).T
        low, middle, high = np.quantile(predicted / measured, [0.1, 0.5, 0.9])
        off = np.exp(np.quantile(np.abs(np.log(predicted / measured)), [0.5, 0.9]))
        together = predicted.sum() / measured.sum()
        print(
            f"{share:4g}  {way:14}  {low:.2f}, {middle:.2f}, {high:.2f}; {together:.2f}  "
            f"(factor {off[0]:.2f}, {off[1]:.2f}; {len(pairs)} pairs)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cut", type=float, nargs="+", metavar="SHARE", default=[0.0, 0.25])
    parser.add_argument("--papers", nargs="+", default=["neuralbo", "lb_gp_ucb"])
    parser.add_argument("--longest", type=int, default=240)
    options = parser.parse_args()
    config = load.load()
    for share in options.cut:
        cut(config, options.papers, share, options.longest)


if __name__ == "__main__":
    main()
