"""Random streams: a stream depends on its name and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from replibo.streams import RunStreams, generator

RUN = RunStreams("go_ucb", "f1", "gp_ei", 3)


def _first(rng: np.random.Generator) -> int:
    """The first 64 bits of a stream."""
    return int(rng.integers(2**63))


# Published traces stand on these numbers: were they to change, by our code or by NumPy's, every
# trace would.
@pytest.mark.parametrize(
    ("stream", "integer", "uniform", "normal"),
    [
        (lambda: generator(), 902759922, 0.6461336182588584, -1.1109245285602984),
        (lambda: generator("replibo"), 2127017708, 0.94825463852971, -1.7968772168201377),
        (lambda: generator("a", "b", 1), 696025958, 0.8648486924339537, 1.3184613342658382),
        (RUN.initial, 1078328841, 0.8552262837979331, 0.42550949752002337),
        (lambda: RUN.noise(0), 1504484173, 0.8951688543173779, 0.5765781423068519),
        (lambda: RUN.noise(17), 1842080801, 0.25138981187648035, -0.16162194067700036),
        (lambda: RUN.algorithm_at(5), 968021349, 0.39404562384183306, -1.4316371402905337),
        (lambda: RUN.candidates(5), 536845206, 0.6108406905466214, 1.1997692261926338),
        (lambda: RUN.surrogate_at(0), 202753783, 0.7619143300395896, 1.2572052037176868),
        (lambda: RUN.surrogate_at(5), 1026714679, 0.3508030766956639, 1.0989799921279264),
    ],
    ids=[
        *("nameless", "replibo", "a_b_1", "initial", "noise_0", "noise_17", "algorithm_5"),
        *("candidates_5", "surrogate_0", "surrogate_5"),
    ],
)
def test_known_answers(
    stream: Callable[[], np.random.Generator], integer: int, uniform: float, normal: float
) -> None:
    rng = stream()
    drawn = (int(rng.integers(2**31)), float(rng.uniform()), float(rng.standard_normal()))
    assert drawn == (integer, uniform, normal)


def test_the_known_initial_rows_of_a_pool() -> None:
    rows = RUN.initial().choice(600, size=5, replace=False)
    assert rows.tolist() == [512, 477, 353, 299, 82]


def _roles(run: RunStreams, query: int) -> list[int]:
    """The first bits of the streams that the algorithms share, and of the algorithm's own."""
    shared, own = (run.noise, run.candidates), (run.algorithm_at, run.surrogate_at)
    return [_first(stream(query)) for stream in (*shared, *own)]


def test_initial_points_noise_and_candidates_are_shared_by_the_algorithms() -> None:
    other = replace(RUN, algorithm="go_ucb")
    assert _first(RUN.initial()) == _first(other.initial())
    for query in (0, 5, 19):
        same = [a == b for a, b in zip(_roles(RUN, query), _roles(other, query), strict=True)]
        assert same == [True, True, False, False]
