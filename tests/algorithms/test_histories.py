"""Every algorithm is a function of its history: rebuilt at any length, whatever it was asked before,
whatever the observations and their unit. `test_contract` holds runs of the config's entries to the loop;
here are longer and stranger histories, of the square and of pools, with fast settings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from replibo.algorithms.base import Algorithm, History, Proposal, Space
from replibo.algorithms.parts import gp_sampled
from replibo.config import load, registry
from replibo.errors import RepliboError
from replibo.settings import parameters
from replibo.streams import RunStreams

from .conftest import first, observed, waves

CONFIG = load.load(Path(__file__).parents[2] / "config")
TYPES = sorted({e.type for paper in CONFIG.papers for e in CONFIG.paper(paper).algorithms.values()})
FAST = dict(
    acquisition="EI",
    candidates=64,
    epochs=5,
    gradient_steps=100,
    iterations=100,
    offset=-8.0,
    raw_samples=16,
    restarts=2,
    samples=10,
    trees=10,
    warmup=10,
    width=20,
)
OF_LENGTH_SCALES = (
    *("a_gp_ucb.", "gp_ucb_mle.", "lb_gp_ucb", "length_scale_readings.", "lnb_gp_ucb.", "oracle."),
)
WITHOUT_DATA = ("centre_then_random.", "random_search.", "upper_end.")
FAMILY = ("go_ucb", "go_greedy", "exploration_first")  # one dimension
NO_POOL = (*FAMILY, "gp_botorch.", "scikit_optimize.")

# Settings that change what an object keeps between two queries.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("dngo.Dngo", {"refit_growth": 0.25}),
    ("gp_ei.GpEi", {"incumbent": "posterior_mean", "refit_growth": 0.3}),
    ("gp_ei.GpEi", {"length_scale_prior": "dimension_scaled", "refit_growth": 0.0}),
    ("gp_ts.GpTs", {"refit_growth": 0.3}),
    ("gp_ucb.GpUcb", {"beta": 1.96}),
    ("gp_ucb_mcmc.GpUcbMcmc", {"average": "variance"}),
    ("gp_ucb_mle.GpUcbMle", {"length_scale_start": "multi"}),
    ("gp_ucb_mle.GpUcbMle", {"noise_variance": 0.0}),
    ("lb_gp_ucb.LbGpUcb", {"information_gain": "maximum", "width": 0.3, "noise_std": 0.0}),
    ("lb_gp_ucb.LbGpUcb", {"noise_variance": 0.0, "noise_std": 0.01, "beta": 1.0}),  # with a jitter
    ("neural_bo.NeuralBO", {"variance": "printed"}),
    ("random_forest.RandomForest", {"refit_growth": 0.25}),
    ("scikit_optimize.ScikitOptimize", {"acquisition": "UCB", "avoid_duplicates": True}),
]
Case = tuple[str, dict[str, Any]]
CASES: list[Case] = [*((name, {}) for name in TYPES), *VARIANTS]


def is_slow(name: str) -> bool:
    return name.startswith(("gp_botorch.", "scikit_optimize.", "gp_ucb_mcmc.")) or name.endswith(
        ("BotorchSearch", "SeveralStarts")
    )


def label(case: Case) -> str:
    return "-".join([case[0].partition(".")[2], *map(str, case[1].values())])


def make(case: Case, space: Space, seed: int = 0) -> Algorithm:
    name, given_settings = case
    cls: Any = registry.load("algorithms", name)
    settings = {key: value for key, value in FAST.items() if key in parameters(cls)}
    if {"length_scale", "noise_variance"} <= parameters(cls).keys():
        settings |= {"length_scale": 0.2, "noise_variance": 1e-2}
    algorithm: Algorithm = cls(
        space, RunStreams("p", "q", name, seed), **{**settings, **given_settings}
    )
    return algorithm


def dimension(name: str, otherwise: int = 2) -> int:
    return 1 if name.startswith(FAMILY) else otherwise


def assert_same(asked: Proposal, other: Proposal) -> None:
    """Bit for bit."""
    assert asked.x.tobytes() == other.x.tobytes() and asked.candidate == other.candidate
    np.testing.assert_equal(asked.diagnostics, other.diagnostics)


def assert_sound(algorithm: Algorithm, proposal: Proposal) -> None:
    """A point of the space, with the declared diagnostics."""
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    pool = algorithm.space.candidates
    if pool is None:
        assert proposal.candidate == -1
    else:
        np.testing.assert_array_equal(proposal.x, pool[proposal.candidate])
    assert proposal.diagnostics.keys() == algorithm.diagnostics.keys()
    assert all(type(v) is float and not math.isnan(v) for v in proposal.diagnostics.values())


def check_rebuilt(case: Case, space: Space, rounds: int) -> None:
    """At several lengths a new object proposes what the run's own object proposed."""
    rng = np.random.default_rng(4)
    pool = space.candidates
    if pool is None:
        history = observed(rng.random((4, space.dim)), rng.standard_normal(4))
    else:
        history = observed(pool[:4], waves(pool[:4]), range(4))
    live, proposals = make(case, space), []
    for t in range(1, rounds + 1):
        torch.manual_seed(t)
        np.random.seed(t)
        before = history.X.tobytes(), history.y.tobytes()
        proposals.append(live.ask(history, t))
        assert (history.X.tobytes(), history.y.tobytes()) == before
        assert_sound(live, proposals[-1])
        history.append(proposals[-1].x, waves(proposals[-1].x), proposals[-1].candidate)
        live.tell(history)
    torch.manual_seed(0)
    np.random.seed(0)
    generators = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]
    for t in sorted({1, 2, rounds // 2 + 1, rounds}):
        past, resumed = first(history, 3 + t), make(case, space)
        if t % 2:
            resumed.tell(past)
        assert_same(resumed.ask(past, t), proposals[t - 1])
    assert torch.equal(torch.get_rng_state(), generators[0]), "a global generator was used"
    np.testing.assert_array_equal(np.random.get_state()[1], generators[1])  # type: ignore[index]


@pytest.mark.parametrize("case", CASES, ids=label)
def test_rebuilt_on_the_square_bit_for_bit(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gp_sampled, "NEAR_FROM", 8)  # fits that start from the last one
    rounds = 3 if is_slow(case[0]) else 12
    check_rebuilt(case, Space(dimension(case[0])), rounds)


POOLED = [case for case in CASES if not case[0].startswith(NO_POOL)]


@pytest.mark.parametrize("case", POOLED, ids=label)
def test_rebuilt_on_a_pool_bit_for_bit(case: Case) -> None:
    """Through more rounds than the pool has points."""
    rounds = 3 if is_slow(case[0]) else 12
    check_rebuilt(case, Space(3, candidates=np.random.default_rng(0).random((10, 3))), rounds)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_another_history_leaves_no_trace(case: Case) -> None:
    """Not even a history of the same points with other values, or (of GPs) with fewer of them initial."""
    name, d = case[0], dimension(case[0])
    pool = None if name.startswith(NO_POOL) else np.random.default_rng(0).random((40, d))
    X = np.random.default_rng(0).random((40, d)) if pool is None else pool
    y = waves(X)
    gp = name.startswith(("gp_", *OF_LENGTH_SCALES))
    there, back = np.arange(40), np.arange(40)[::-1]
    later = np.array([*there[:4], *back[:36]])  # the same initial points, and other ones after them
    histories = {
        "one": (12, there, y, 4),
        "other values": (12, there, y[::-1], 4),
        "other points": (12, later, y, 4),
        "another start": (14, there, y, 6 if gp else 4),
        "backwards": (14, back, y, 4),
    }
    told = ["one", "other values", "one"] if is_slow(name) else [*histories, "one"]
    shared, fresh = make(case, Space(d, candidates=pool)), {}
    for key in told:
        n, order, values, n_initial = histories[key]
        rows = order[:n]
        history = observed(X[rows], values[:n], None if pool is None else rows, n_initial)
        if key not in fresh:
            fresh[key] = make(case, Space(d, candidates=pool)).ask(history, 5)
        assert_same(shared.ask(history, 5), fresh[key])


DETERMINISTIC = (
    *("centre_then_random.", "upper_end.", "scikit_optimize."),
    *FAMILY,
    *OF_LENGTH_SCALES,
)


@pytest.mark.parametrize("name", [name for name in TYPES if not name.startswith(DETERMINISTIC)])
def test_another_seed_is_another_query(name: str) -> None:
    X = np.random.default_rng(0).random((6, 2))
    history = observed(X, waves(X))
    asked = {make((name, {}), Space(2), seed).ask(history, 3).x.tobytes() for seed in range(2)}
    assert len(asked) == 2


STRANGE = {
    "one": (np.full((1, 2), 0.2), [2.0]),
    "constant": (np.random.default_rng(0).random((9, 2)), [-3.0] * 9),
    "one point": (np.full((60, 2), 0.3), [float(i % 3) for i in range(60)]),
    "one dimension, a point twice": (np.array([[0.2], [0.2], [0.7]]), [1.0, 2.0, 0.0]),
    "huge": (np.random.default_rng(0).random((5, 2)), [1e6, -1e6, 0.0, 1.0, 2.0]),
    "tiny": (np.random.default_rng(0).random((5, 2)), [1e-12, 0.0, 0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize(
    ("case", "strange"),
    [(c, s) for c in CASES for s in STRANGE if not is_slow(c[0]) or s in ("one", "constant")],
    ids=lambda value: value if isinstance(value, str) else label(value),
)
def test_it_goes_on_whatever_the_data(case: Case, strange: str) -> None:
    X, y = STRANGE[strange]
    X = X[:, : dimension(case[0])]
    if "y_scaling" in parameters(registry.load("algorithms", case[0])):
        case = case[0], {**case[1], "y_scaling": "divide"}
    algorithm = make(case, Space(X.shape[1]))
    proposal = algorithm.ask(observed(X, y, n_initial=min(4, len(y))), len(y) + 1)
    assert_sound(algorithm, proposal)


@pytest.mark.parametrize(
    "name", [n for n in TYPES if not n.startswith((*FAMILY, *WITHOUT_DATA, "scikit"))]
)
def test_without_data_it_says_so(name: str) -> None:
    with pytest.raises(RepliboError, match=r"^initial_points: must be at least 1, got 0"):
        make((name, {}), Space(2)).ask(History(2, 0), 1)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("bbo_ucb.BboUcb", "iterations"),
        ("neural_bo_offset.NeuralBOOffset", "offset"),
        ("oracle.Oracle", "length_scale"),
    ],
)
def test_a_setting_given_by_problem_must_hold_the_problem(name: str, setting: str) -> None:
    with pytest.raises(RepliboError, match=rf": {setting} must hold q, got r or s$"):
        make((name, {setting: {"r": 1, "s": 1}}), Space(2))


@pytest.mark.parametrize("name", [name for name in TYPES if name.startswith(NO_POOL)])
def test_other_domains_are_refused(name: str) -> None:
    finite = Space(1, candidates=np.linspace(0, 1, 7)[:, None])
    for space in [finite, Space(2)] if name.startswith(FAMILY) else [finite]:
        with pytest.raises(RepliboError, match=r"must be .*continuous") as error:
            make((name, {}), space)
        assert "\n" not in str(error.value)


IN_UNITS_OF_Y = (
    *FAMILY,  # the parametric family has a range
    "scikit_optimize.",  # its xi = 0.01 is in units of y
    # take y as it is observed, as their releases do
    *("neural_bo_released.", "neural_bo_compiled.", "neural_greedy_released."),
)


@pytest.mark.parametrize("name", [name for name in TYPES if not name.startswith(IN_UNITS_OF_Y)])
def test_the_unit_of_y_changes_nothing(name: str) -> None:
    """y → a·y + b, a = 2^exponent from 1e-200 to 1e200: all sums are exact, so that bits are compared."""
    scaled = "y_scaling" in parameters(registry.load("algorithms", name))
    case = name, {"y_scaling": "standardise"} if scaled else {}
    X = np.random.default_rng(0).random((8, 2))
    for seed, exponent in enumerate([664] if is_slow(name) else [664, -664, 5]):
        *y, shift = np.random.default_rng(seed).integers(-1000, 1001, 9).astype(float)
        asked, other = (
            make(case, Space(2)).ask(observed(X, values), 5)
            for values in (y, np.ldexp(np.array(y) + shift, exponent))
        )
        np.testing.assert_array_equal(asked.x, other.x)
