"""LB-GP-UCB as printed and as released, and LNB-GP-UCB."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from replibo.algorithms import lb_gp_ucb
from replibo.algorithms.base import History, Space
from replibo.algorithms.lb_gp_ucb import LbGpUcb
from replibo.algorithms.lb_gp_ucb_released import LbGpUcbReleased
from replibo.algorithms.lnb_gp_ucb import LnbGpUcb
from replibo.algorithms.parts.balancing import Hyperparameter
from replibo.algorithms.parts.information_gain import MaximumInformationGain
from replibo.algorithms.parts.length_scale_range import fit_theta0
from replibo.errors import RepliboError
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import KERNELS, matern52, pairwise_distances
from replibo.surrogates.length_scale_fit import fit_length_scale

from .conftest import observed, run_on_pool, small_pool

STREAMS = RunStreams("lb_gp_ucb", "pool", "lb_gp_ucb", 0)


def stand_in(task: type) -> tuple[np.ndarray, np.ndarray]:
    problem = task()
    return problem.to_unit(problem.candidates), problem.evaluate_true(problem.candidates)


PRINTED: dict[str, Any] = {
    "candidate_ratio": "printed",
    "extension": "printed",
    "gamma": "matern",
    "norm_bound": "printed",
    "beta": None,
    "sigma": "latent",
    "noise_std": 0.01,
    "width": 2.0,
    "width_sd": "posterior",
    "xi_sign": "printed",
    "elimination_scale": "now",
}
"""Each row of the table "printed versus released": the printed side."""

RELEASED: dict[str, Any] = {
    "candidate_ratio": "released",
    "extension": "released",
    "gamma": "rbf",
    "norm_bound": "released",
    "beta": 1.000355,
    "sigma": "predictive",
    "noise_std": 1e-4,
    "width": 1.0,
    "width_sd": "raw_x",
    "xi_sign": "proof",
    "elimination_scale": "round_start",
}

ELIMINATING = RELEASED | {"noise_std": 0.03, "width": 0.3}
"""By which so many candidates are eliminated that the sign of ξ and the scale of y decide some."""

READINGS: dict[str, dict[str, Any]] = {
    "printed": {},
    "rbf": {"kernel": "rbf", "gamma": "rbf"},
    "2B": {"regret_increments": "2B"},
    "maximum gain": {"information_gain": "maximum"},
    "released": RELEASED,
    "eliminating": ELIMINATING,
    **{
        f"but {name}": (ELIMINATING if name in ("xi_sign", "elimination_scale") else RELEASED)
        | {name: printed}
        for name, printed in PRINTED.items()
    },
}


class Naive:
    """Algorithm 1 on a pool, every linear system solved afresh, and R^θ itself; candidates by their number."""

    def __init__(self, pool: np.ndarray, f: np.ndarray, rows: Any, reading: dict[str, Any]) -> None:
        self.pool, self.f, self.rows = pool, f, list(rows)
        self.settings = {"kernel": "matern52", "regret_increments": "any", **PRINTED, **reading}
        self.n0, self.d = len(self.rows), pool.shape[1]
        X = pool[self.rows]
        self.theta0 = fit_length_scale(
            pairwise_distances(X, X),
            standardise(f[self.rows]),
            1e-4,
            kernel=KERNELS[self.settings["kernel"]],
        ).length_scale
        self.step = 1 / (self.d + 5) if self.is_released("candidate_ratio") else 1 / self.d
        self.created = 6 if self.d == 1 and self.is_released("extension") else 5
        self.alive = list(range(self.created))
        self.plays: dict[int, list[int]] = {}
        self.width: dict[int, float] = {}
        self.eliminated: list[tuple[int, int]] = []

    def is_released(self, name: str) -> bool:
        return bool(self.settings[name] == RELEASED[name])

    def q(self, i: int) -> float:
        return self.theta0 * math.exp(-i * self.step)

    def g(self, t: int) -> float:
        return max(math.exp(5 * self.step), math.sqrt(t))

    def norm(self, i: int) -> float:
        return 1.0 if self.is_released("norm_bound") else (self.theta0 / self.q(i)) ** (self.d / 2)

    def suspected(self, i: int, n: int) -> float:
        if self.settings["regret_increments"] == "any" or n == 1:
            return self.R(i, n)
        return min(self.R(i, n), self.suspected(i, n - 1) + 2 * self.norm(i))

    def R(self, i: int, n: int) -> float:
        d, e = self.d, self.d * (self.d + 1)
        of_n = n ** (e / (5 + e)) * math.log(n) ** (5 / (5 + d))
        if self.settings["gamma"] == "rbf":
            of_n = math.log(n) ** (d + 1)
        gamma = of_n / self.q(i) ** d
        return math.sqrt(n) * (self.norm(i) * math.sqrt(gamma) + gamma)

    def kernel(self, r: np.ndarray, theta: float) -> np.ndarray:
        rbf = self.settings["kernel"] == "rbf"
        return np.asarray(np.exp(-0.5 * (r / theta) ** 2) if rbf else matern52(r, theta))

    def round(self, t: int) -> tuple[float, int, float]:
        """θ_t, the row asked, β_t."""
        i = min(self.alive, key=lambda c: self.suspected(c, len(self.plays.get(c, [])) + 1))
        theta, noise_std = self.q(i), self.settings["noise_std"]
        X, y = self.pool[self.rows], standardise(self.f[self.rows])
        K = self.kernel(pairwise_distances(X, X), theta)
        k = self.kernel(pairwise_distances(X, self.pool), theta)
        solved = np.linalg.solve(K + 1e-4 * np.eye(len(X)), k)
        added = 1e-4 if self.is_released("sigma") else 0.0
        sd = np.sqrt(np.maximum(1 - np.sum(k * solved, axis=0), 0) + added)
        gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K / noise_std**2)[1]
        if self.settings.get("information_gain") == "maximum":
            gain = MaximumInformationGain(self.pool, theta, noise_std**2)(len(X))
        noise = noise_std * math.sqrt(2 * (gain + 1 + math.log(2 / 0.01)))
        beta = self.settings["beta"] or self.norm(i) + noise
        row = int(np.argmax(y @ solved + beta * sd))
        self.rows.append(row)
        self.plays.setdefault(i, []).append(t)
        prior = self.is_released("width_sd") and self.d > 1
        self.width[t] = beta * (math.sqrt(1 + added) if prior else sd[row])
        if all(c in self.plays for c in self.alive):
            self.eliminate(t)
        bound = self.theta0 / self.g(t + 1 if self.is_released("extension") else t)
        rounding = 1 + 1e-12 if self.is_released("extension") else 1 - 1e-12
        if self.q(self.created) > bound * rounding:
            self.alive.append(self.created)
            self.created += 1
        return theta, row, beta

    def eliminate(self, t: int) -> None:
        """Lines 9 to 12."""
        y = self.f[self.rows]
        scale = y[:-1] if self.is_released("elimination_scale") else y
        y = (y - scale.mean()) / scale.std(ddof=1)
        inside = self.d * math.log(self.g(t)) * math.pi**2 * t**2 / (3 * 0.01)
        xi = 2 * self.settings["noise_std"] ** 2 * math.log(inside)
        mean_y = {c: np.mean([y[self.n0 + s - 1] for s in self.plays[c]]) for c in self.alive}
        root = {c: math.sqrt(xi / len(self.plays[c])) for c in self.alive}
        best = max(mean_y[c] - root[c] for c in self.alive)
        sign = 1 if self.is_released("xi_sign") else -1
        for c in list(self.alive):
            w = self.settings["width"] * np.mean([self.width[s] for s in self.plays[c]])
            if mean_y[c] + sign * root[c] + w < best:
                self.alive.remove(c)
                self.eliminated.append((t, c))


POOLS = {
    "crossed barrel": stand_in(CrossedBarrel),
    "AgNP": stand_in(AgNP),
    "line": small_pool(200, 1),
}


@pytest.mark.parametrize("pool_name", POOLS)
@pytest.mark.parametrize("reading", READINGS)
def test_is_algorithm_1_written_naively(pool_name: str, reading: str) -> None:
    pool, f = POOLS[pool_name]
    space, settings = Space(pool.shape[1], candidates=pool), READINGS[reading]
    released = reading == "released"
    algorithm = LbGpUcbReleased(space, STREAMS) if released else LbGpUcb(space, STREAMS, **settings)
    history, proposals = run_on_pool(algorithm, pool, f, 40, seed=0, n_initial=10)
    naive = Naive(pool, f, history.candidate[:10], settings)
    for t, proposal in enumerate(proposals, start=1):
        alive, length_scales = naive.alive.copy(), [naive.q(i) for i in naive.alive]
        theta, row, beta = naive.round(t)
        assert proposal.candidate == row
        assert proposal.diagnostics == {
            "length_scale": pytest.approx(theta, rel=1e-12),
            "theta0": naive.theta0,
            "theta0_collapsed": 0.0,
            "theta0_exploded": 0.0,
            "candidates": len(alive),
            "smallest_candidate": pytest.approx(min(length_scales), rel=1e-12),
            "largest_candidate": pytest.approx(max(length_scales), rel=1e-12),
            "candidate_set": sum(2**i for i in alive),
            "eliminated": sum(after == t - 1 for after, _ in naive.eliminated),
            "beta": pytest.approx(beta, rel=1e-6),
            "jitter": 0.0,
        }
    for units, numbers in (
        (algorithm.created, range(naive.created)),
        (algorithm.candidates, naive.alive),
        ([u for _, u in algorithm.eliminations], [i for _, i in naive.eliminated]),
    ):
        length_scales = [naive.q(i) for i in numbers]
        assert [u.length_scale for u in units] == pytest.approx(length_scales, rel=1e-12)
    assert [u.length_scale for u in algorithm.played] == [
        proposal.diagnostics["length_scale"] for proposal in proposals
    ]
    assert [t for t, _ in algorithm.eliminations] == [t for t, _ in naive.eliminated]
    assert naive.eliminated or not released  # line 12 is put to the test


@pytest.mark.parametrize("d", [1, 3, 4, 5, 16])
@pytest.mark.parametrize("exponent", [0.25, 0.5, 0.75])
def test_candidates_created_by_round_t(d: int, exponent: float) -> None:
    """In closed form: i/d ≤ ln g, as long as one candidate a round is fast enough."""
    for released in (False, True):
        step = 1 / (d + 5) if released else 1 / d
        algorithm = (LbGpUcbReleased if released else LbGpUcb)(
            Space(d), STREAMS, growth_exponent=exponent
        )
        created = [Hyperparameter(1.0, 1.0)] * (6 if released and d == 1 else 5)
        for t in range(1, 400):
            created += algorithm._propose(t, created, 0.5)
            log_g = max(5 * step, exponent * math.log(t + 1 if released else t))
            exact = log_g / step
            allowed = math.ceil(exact - 1e-6) if released else math.floor(exact + 1e-6) + 1
            if t >= 60:
                assert len(created) == max(allowed, 6 if d == 1 else 5)
            assert len(created) <= max(allowed, 6)


def test_theta0_by_several_starts() -> None:
    """Where the marginal likelihood has two maxima, the start decides."""
    different = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        history = observed(rng.random((8, 2)), rng.standard_normal(8), n_initial=8)
        D, theta0 = pairwise_distances(history.X, history.X), []
        for start in ("single", "multi"):
            settings: Any = {"length_scale_start": start, "length_scale_lower_bound": 0.01}
            algorithm = LbGpUcb(Space(2), STREAMS, **settings)
            algorithm.tell(history)
            fit = fit_length_scale(D, standardise(history.y), 1e-4, starts=start, lower_bound=0.01)
            theta0.append(algorithm.theta0)
            assert algorithm.theta0 == fit.length_scale
        different += abs(theta0[0] / theta0[1] - 1) > 0.01
    assert different


# LNB-GP-UCB


def test_lnb_without_norm_growth_is_lb() -> None:
    pool, f = small_pool()
    space = Space(3, candidates=pool)
    lb = run_on_pool(LbGpUcb(space, STREAMS), pool, f, 30)
    lnb = run_on_pool(LnbGpUcb(space, STREAMS, norm_growth_exponent=0.0), pool, f, 30)
    assert_array_equal(lb[0].candidate, lnb[0].candidate)
    assert [p.diagnostics for p in lb[1]] == [p.diagnostics for p in lnb[1]]


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
def test_lnb_candidates_are_all_pairs(exponent: float) -> None:
    algorithm = LnbGpUcb(Space(3), STREAMS, norm=2.0, norm_growth_exponent=exponent)
    created: list[Hyperparameter] = algorithm._propose(0, [], 0.6)
    for t in range(1, 251):
        created += algorithm._propose(t, created, 0.6)
        assert len(set(created)) == len(created)
        length_scales = {u.length_scale for u in created}
        norms = sorted({u.norm for u in created})
        assert len(created) == len(length_scales) * len(norms)
        assert_allclose(norms, 2.0 * np.exp(np.arange(len(norms))))
        # v(j) = N0 e^j < N0 b(t)
        assert len(norms) == max(1, math.ceil(exponent * math.log(t) - 1e-12))
    assert len(norms) == {0.25: 2, 0.5: 3, 1.0: 6}[exponent]


def test_xi_of_pairs_is_that_of_theorem_f_1() -> None:
    """2σ_N² ln(|A| π² t² / (3δ)), |A| = d ln g(t) (1 + ln b(t)), b(t) = √t."""
    for t in (1, 7, 200):
        count = 4 * max(5 / 4, 0.5 * math.log(t)) * (1 + 0.5 * math.log(t))
        expected = 2e-4 * math.log(count * math.pi**2 * t**2 / (3 * 0.01))
        assert LnbGpUcb(Space(4), STREAMS)._xi(t) == pytest.approx(expected)


# Bad input


def test_nothing_to_look_at_before_the_initial_points() -> None:
    algorithm = LbGpUcb(Space(3), STREAMS)
    algorithm.tell(History(3, 4))
    with pytest.raises(RepliboError, match="nothing is known before the initial points"):
        _ = algorithm.theta0


@pytest.mark.parametrize("theta0", [1e-9, 1e7])
@pytest.mark.parametrize("cls", [LbGpUcb, LbGpUcbReleased, LnbGpUcb])
def test_survives_a_theta0_that_collapsed_or_exploded(
    cls: type[LbGpUcb], theta0: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        lb_gp_ucb,
        "fit_theta0",
        lambda *a: replace(
            fit_theta0(*a), length_scale=theta0, collapsed=theta0 < 1, exploded=theta0 > 1
        ),
    )
    pool, f = small_pool()
    _, proposals = run_on_pool(cls(Space(3, candidates=pool), STREAMS), pool, f, 30)
    for proposal in proposals:
        assert np.all(np.isfinite(list(proposal.diagnostics.values())))
        assert proposal.diagnostics["theta0_collapsed"] == float(theta0 < 1)
        assert proposal.diagnostics["theta0_exploded"] == float(theta0 > 1)


def test_a_length_scale_out_of_range_is_an_error() -> None:
    algorithm = LbGpUcb(Space(3), STREAMS)
    with pytest.raises(RepliboError, match=r"must be at least 1e-60 and finite, got .*θ0 = 1e-60"):
        algorithm._q(3, 1e-60)
