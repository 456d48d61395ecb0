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
from replibo.algorithms.parts.length_scale_range import fit_theta0
from replibo.errors import RepliboError
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.streams import RunStreams
from replibo.surrogates.exact_gp import standardise
from replibo.surrogates.kernels import KERNELS, matern52, pairwise_distances
from replibo.surrogates.length_scale_fit import fit_length_scale

from .conftest import dense_posterior, first, observed, on_pool, run_on_pool, small_pool

STREAMS = RunStreams("lb_gp_ucb", "pool", "lb_gp_ucb", 0)

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
"""Each row of the table "printed versus released": the released side."""


def stand_in(task: type) -> tuple[np.ndarray, np.ndarray]:
    problem = task()
    return problem.to_unit(problem.candidates), problem.evaluate_true(problem.candidates)


def wiggly(X: np.ndarray) -> np.ndarray:
    return np.sin(9 * X[:, 0] ** 2) + 0.5 * np.cos(7 * X.sum(axis=1))


def wiggly_history(n: int, d: int, n_initial: int = 6, seed: int = 0) -> History:
    X = np.random.default_rng(seed).random((n, d))
    return observed(X, wiggly(X), n_initial=n_initial)


# Algorithm 1 written a second time, naively: every linear system solved afresh, R^θ itself


class Naive:
    """Algorithm 1 on a pool with the readings of the table, every number from scratch; printed, with the
    RBF kernel or with increments of R of at most 2B, too."""

    def __init__(
        self,
        pool: np.ndarray,
        f: np.ndarray,
        rows: Any,
        released: bool,
        rbf: bool = False,
        cut: bool = False,
    ) -> None:
        self.pool, self.f, self.rows, self.released = pool, f, list(rows), released
        self.rbf, self.cut = rbf, cut
        self.n0, self.d = len(self.rows), pool.shape[1]
        X = pool[self.rows]
        self.theta0 = fit_length_scale(
            pairwise_distances(X, X),
            standardise(f[self.rows]),
            1e-4,
            kernel=KERNELS["rbf" if rbf else "matern52"],
        ).length_scale
        self.step = 1 / (self.d + 5) if released else 1 / self.d
        self.alive = [self.q(i) for i in range(5)]
        self.created = 5
        self.S: dict[float, list[int]] = {}
        self.width: dict[int, float] = {}
        self.eliminated: list[tuple[int, float]] = []

    def q(self, i: int) -> float:
        return self.theta0 * math.exp(-i * self.step)

    def g(self, t: int) -> float:
        return max(math.exp(5 * self.step), math.sqrt(t))

    def norm(self, theta: float) -> float:
        return 1.0 if self.released else (self.theta0 / theta) ** (self.d / 2)

    def suspected(self, theta: float, n: int) -> float:
        if not self.cut or n == 1:
            return self.R(theta, n)
        return min(self.R(theta, n), self.suspected(theta, n - 1) + 2 * self.norm(theta))

    def R(self, theta: float, n: int) -> float:
        d = self.d
        if self.released:
            gamma = math.log(n) ** (d + 1) / theta**d
            return 0.01 * math.sqrt(n * gamma) * (math.sqrt(gamma) + 1)
        e = d * (d + 1)
        gamma = n ** (e / (5 + e)) * math.log(n) ** (5 / (5 + d)) / theta**d
        if self.rbf:
            gamma = math.log(n) ** (d + 1) / theta**d
        return math.sqrt(n) * (self.norm(theta) * math.sqrt(gamma) + gamma)

    def kernel(self, r: np.ndarray, theta: float) -> np.ndarray:
        k: np.ndarray = np.exp(-0.5 * (r / theta) ** 2) if self.rbf else matern52(r, theta)
        return k

    def round(self, t: int) -> tuple[float, int, float]:
        """θ_t, the row asked, β_t."""
        theta = min(self.alive, key=lambda c: self.suspected(c, len(self.S.get(c, [])) + 1))
        X, y = self.pool[self.rows], standardise(self.f[self.rows])
        K = self.kernel(pairwise_distances(X, X), theta) + 1e-4 * np.eye(len(X))
        k = self.kernel(pairwise_distances(X, self.pool), theta)
        mean = k.T @ np.linalg.solve(K, y)
        noise = 1e-4 if self.released else 0.0
        sd = np.sqrt(np.maximum(1 - np.sum(k * np.linalg.solve(K, k), axis=0), 0) + noise)
        gain = 0.5 * np.linalg.slogdet(K / 1e-4)[1]
        beta = (
            1.000355
            if self.released
            else self.norm(theta) + 0.01 * math.sqrt(2 * (gain + 1 + math.log(2 / 0.01)))
        )
        row = int(np.argmax(mean + beta * sd))
        self.rows.append(row)
        self.S.setdefault(theta, []).append(t)
        self.width[t] = beta * (math.sqrt(1.0001) if self.released else sd[row])
        if all(c in self.S for c in self.alive):
            y = standardise(self.f[self.rows])
            if self.released:
                before = self.f[self.rows[:-1]]
                y = (self.f[self.rows] - before.mean()) / before.std(ddof=1)
            noise = 1e-4 if self.released else 0.01
            xi = (
                2
                * noise**2
                * math.log(self.d * math.log(self.g(t)) * math.pi**2 * t**2 / (3 * 0.01))
            )
            mean_y = {c: np.mean([y[self.n0 + s - 1] for s in self.S[c]]) for c in self.alive}
            root = {c: math.sqrt(xi / len(self.S[c])) for c in self.alive}
            best = max(mean_y[c] - root[c] for c in self.alive)
            for c in list(self.alive):
                w = np.mean([self.width[s] for s in self.S[c]])
                upper = mean_y[c] + root[c] + w if self.released else mean_y[c] - root[c] + 2 * w
                if upper < best:
                    self.alive.remove(c)
                    self.eliminated.append((t, c))
        bound = self.theta0 / (self.g(t + 1) if self.released else self.g(t))
        following = self.q(self.created)
        if following > bound * (1 + 1e-12 if self.released else 1 - 1e-12):
            self.alive.append(following)
            self.created += 1
        return theta, row, beta


@pytest.mark.parametrize("task", [CrossedBarrel, AgNP])
@pytest.mark.parametrize("reading", ["printed", "released", "rbf", "2B"])
def test_is_algorithm_1_written_naively(task: type, reading: str) -> None:
    pool, f = stand_in(task)
    released, rbf = reading == "released", reading == "rbf"
    cls = LbGpUcbReleased if released else LbGpUcb
    own: dict[str, Any] = {"kernel": "rbf", "gamma": "rbf"} if rbf else {}
    own |= {"regret_increments": "2B"} if reading == "2B" else {}
    for seed in (0, 1):
        algorithm = cls(Space(pool.shape[1], candidates=pool), STREAMS, **own)
        history, proposals = run_on_pool(algorithm, pool, f, 60, seed, n_initial=10)
        naive = Naive(pool, f, history.candidate[:10], released, rbf, reading == "2B")
        for t, proposal in enumerate(proposals, start=1):
            theta, row, beta = naive.round(t)
            assert proposal.diagnostics["length_scale"] == pytest.approx(theta, rel=1e-12)
            assert proposal.diagnostics["beta"] == pytest.approx(beta, rel=1e-6)
            assert proposal.candidate == row
        assert algorithm.theta0 == naive.theta0
        assert_allclose([u.length_scale for u in algorithm.candidates], naive.alive)
        assert [t for t, _ in algorithm.eliminations] == [t for t, _ in naive.eliminated]
        assert_allclose(
            [u.length_scale for _, u in algorithm.eliminations], [c for _, c in naive.eliminated]
        )
        assert naive.eliminated or not released  # line 12 is put to the test


def test_released_is_printed_with_every_row_of_the_table() -> None:
    pool, f = stand_in(AgNP)
    space = Space(5, candidates=pool)
    one, two = LbGpUcbReleased(space, STREAMS), LbGpUcb(space, STREAMS, **RELEASED)
    ran, same = (run_on_pool(algorithm, pool, f, 40) for algorithm in (one, two))
    assert_array_equal(ran[0].candidate, same[0].candidate)
    assert [p.diagnostics for p in ran[1]] == [p.diagnostics for p in same[1]]
    assert one.eliminations == two.eliminations != ()


# The candidates


def at_start(cls: type[LbGpUcb], d: int, **settings: Any) -> LbGpUcb:
    algorithm = cls(Space(d), STREAMS, **settings)
    algorithm.tell(wiggly_history(6, d))
    return algorithm


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 11, 16, 20])
def test_five_candidates_at_the_start(d: int) -> None:
    for cls, step in ((LbGpUcb, 1 / d), (LbGpUcbReleased, 1 / (d + 5)), (LnbGpUcb, 1 / d)):
        algorithm = at_start(cls, d)
        count = 6 if d == 1 and cls is LbGpUcbReleased else 5
        expected = algorithm.theta0 * np.exp(-step * np.arange(count))
        assert_allclose([u.length_scale for u in algorithm.candidates], expected, rtol=1e-14)
        assert algorithm.candidates[0].length_scale == algorithm.theta0
        # t0: the next one is where g(1) is
        assert algorithm.growth(1) == pytest.approx(math.exp(5 * step), rel=1e-15)


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


# A function of the history


def test_diagnostics() -> None:
    pool, f = stand_in(AgNP)
    for cls in (LbGpUcb, LbGpUcbReleased, LnbGpUcb):
        algorithm = cls(Space(5, candidates=pool), STREAMS)
        history = on_pool(pool, f, range(20), n_initial=10)
        total = 0.0
        for t in range(11, 60):
            proposal = algorithm.ask(history, t)
            d = proposal.diagnostics
            length_scales = [u.length_scale for u in algorithm.candidates]
            assert d["candidates"] == len(length_scales)
            assert d["smallest_candidate"] == min(length_scales) <= d["length_scale"]
            assert d["largest_candidate"] == max(length_scales) >= d["length_scale"]
            created = algorithm.created
            chosen = [u for i, u in enumerate(created) if int(d["candidate_set"]) >> i & 1]
            assert tuple(chosen) == algorithm.candidates
            assert d["theta0"] == algorithm.theta0
            assert d["jitter"] == d["theta0_collapsed"] == d["theta0_exploded"] == 0.0
            total += d["eliminated"]
            recent = [e for e in algorithm.eliminations if e[0] == t - 1]
            assert d["eliminated"] == len(recent)
            history.append(proposal.x, f[proposal.candidate], proposal.candidate)
        before = [e for e in algorithm.eliminations if e[0] < 10]
        assert total == len(algorithm.eliminations) - len(before)


# The switches


@pytest.mark.parametrize("setting", sorted(RELEASED))
def test_each_single_deviation_can_be_switched(setting: str) -> None:
    """Each row alone makes another algorithm, in what it should and in nothing else."""
    printed = LbGpUcb(Space(4), STREAMS)
    other = LbGpUcb(Space(4), STREAMS, **{setting: RELEASED[setting]})
    theta0, u, history = 0.8, Hyperparameter(0.4, 1.0), wiggly_history(9, 4)

    def facts(a: LbGpUcb) -> dict[str, Any]:
        return {
            "ratio": a._q(1, theta0),
            "t0": a.growth(1),
            "due": [a._is_due(i, t) for t in range(1, 300) for i in range(4, 30)],
            "R": a._log_suspected_regret(u, 7, theta0) - a._log_suspected_regret(u, 2, theta0),
            "R of θ": a._log_suspected_regret(u, 7, theta0)
            - a._log_suspected_regret(Hyperparameter(theta0, 1.0), 7, theta0),
            "β": a._beta(u, theta0, history, 8),
            "ξ": a._xi(9),
            "width": a.width,
            "σ": a._width_sd(u, history, 8),
            "sign": a.xi_sign,
            "y": a._standardised(history.y, 8).tolist(),
        }

    one, two = facts(printed), facts(other)
    changed = {name for name in one if one[name] != two[name]}
    expected = {
        "candidate_ratio": {"ratio", "t0", "due", "ξ"},
        "extension": {"due"},
        "gamma": {"R", "R of θ"},
        "norm_bound": {"R", "R of θ", "β"},
        "beta": {"β"},
        "noise_std": {"β", "ξ"},
        "width": {"width"},
        "width_sd": {"σ"},
        "sigma": {"σ"},
        "xi_sign": {"sign"},
        "elimination_scale": {"y"},
    }
    assert changed == expected[setting]


def test_values_of_the_switches() -> None:
    theta, history = 0.25, wiggly_history(9, 4)
    u = Hyperparameter(theta, 1.5)
    K = matern52(pairwise_distances(history.X[:8], history.X[:8]), theta)
    printed = LbGpUcb(Space(4), STREAMS)
    unscaled = LbGpUcb(Space(4), STREAMS, norm_bound="released")
    difference = printed._beta(u, 0.5, history, 8) - unscaled._beta(u, 0.5, history, 8)
    assert difference == pytest.approx(1.5 * 2.0**2 - 1.5)
    own_noise = LbGpUcb(Space(4), STREAMS, noise_std=1e-3)  # σ_N, of β and ξ, not of the GP
    gain = 0.5 * np.linalg.slogdet(np.eye(8) + 1e6 * K)[1]
    noise = 1e-3 * math.sqrt(2 * (gain + 1 + math.log(200)))
    assert own_noise._beta(u, 0.5, history, 8) == pytest.approx(1.5 * 2.0**2 + noise, rel=1e-12)
    maximum = LbGpUcb(Space(4), STREAMS, information_gain="maximum")
    assert maximum._beta(u, 0.5, history, 8) > printed._beta(u, 0.5, history, 8)
    assert maximum._beta(u, 0.5, history, 7) < maximum._beta(u, 0.5, history, 8)
    _, sd = dense_posterior(first(history, 8), theta, history.X[8:9])
    assert printed._width_sd(u, history, 8) == pytest.approx(sd[0])
    assert LbGpUcb(Space(4), STREAMS, width_sd="raw_x")._width_sd(u, history, 8) == 1.0


def test_xi_of_theorems_4_1_and_f_1() -> None:
    """2σ_N² ln(d ln g(t) π² t² / (3δ)), of pairs with the number of norms, 1 + ln b(t)."""
    for t in (1, 7, 200):
        log_g = max(5 / 4, 0.5 * math.log(t))
        inside = 4 * log_g * math.pi**2 * t**2 / (3 * 0.01)
        assert LbGpUcb(Space(4), STREAMS)._xi(t) == pytest.approx(2e-4 * math.log(inside))
        pairs = inside * (1 + 0.5 * math.log(t))
        assert LnbGpUcb(Space(4), STREAMS)._xi(t) == pytest.approx(2e-4 * math.log(pairs))


def test_raw_x_makes_no_difference_on_the_unit_interval() -> None:
    """Berkenkamp's function lives on [0, 1]: there the released code's σ is the posterior's."""
    x = np.array([0.1, 0.4, 0.9, 0.5])
    history = observed(x[:, None], x, n_initial=3)
    raw = LbGpUcb(Space(1), STREAMS, width_sd="raw_x")
    sd = raw._width_sd(Hyperparameter(0.3, 1.0), history, 3)
    assert sd == LbGpUcb(Space(1), STREAMS)._width_sd(Hyperparameter(0.3, 1.0), history, 3) < 0.5


@pytest.mark.parametrize("cls", [LbGpUcb, LbGpUcbReleased, LnbGpUcb])
def test_a_given_theta0_is_not_fitted(cls: type[LbGpUcb]) -> None:
    algorithm = at_start(cls, 4, theta0=0.2)
    assert algorithm.theta0 == algorithm.candidates[0].length_scale == 0.2


def test_theta0_by_several_starts() -> None:
    """Where the marginal likelihood has two maxima, the start decides."""
    different = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        history = observed(rng.random((8, 2)), rng.standard_normal(8), n_initial=8)
        D, theta0 = pairwise_distances(history.X, history.X), []
        for start in ("single", "multi"):
            own = {"length_scale_start": start, "length_scale_lower_bound": 0.01}
            algorithm = LbGpUcb(Space(2), STREAMS, **own)
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
    one = run_on_pool(LbGpUcb(space, STREAMS), pool, f, 30)
    two = run_on_pool(LnbGpUcb(space, STREAMS, norm_growth_exponent=0.0), pool, f, 30)
    assert_array_equal(one[0].candidate, two[0].candidate)
    assert [p.diagnostics for p in one[1]] == [p.diagnostics for p in two[1]]


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
