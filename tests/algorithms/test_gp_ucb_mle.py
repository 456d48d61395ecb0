"""GP-UCB with the length scale of maximum likelihood, against BoTorch, and its contract."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from gpytorch.kernels import MaternKernel, RBFKernel
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.testing import assert_array_equal

from replibo.algorithms.base import History, Space
from replibo.algorithms.gp_ucb_mle import GpUcbMle
from replibo.errors import RepliboError
from replibo.problems.materials import AgNP, CrossedBarrel
from replibo.streams import RunStreams
from replibo.surrogates.kernels import KernelName

STREAMS = RunStreams("lb_gp_ucb", "pool", "mle", 0)


def small_pool(m: int = 60, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pool = rng.random((m, d))
    return pool, 50.0 + 10.0 * np.sin(5 * pool[:, 0]) * np.cos(3 * pool[:, 1]) + pool[:, 2]


def history_of(pool: np.ndarray, f: np.ndarray, rows: object) -> History:
    history = History(pool.shape[1], 5, capacity=4)
    for row in rows:  # type: ignore[attr-defined]
        history.append(pool[row], f[row], int(row))
    return history


def run(algorithm: GpUcbMle, pool: np.ndarray, f: np.ndarray, T: int) -> tuple[History, list[dict]]:
    history = history_of(pool, f, np.random.default_rng(4).choice(len(pool), 5, replace=False))
    diagnostics = []
    for t in range(1, T + 1):
        proposal = algorithm.ask(history, t)
        assert_array_equal(proposal.x, pool[proposal.candidate])
        history.append(proposal.x, f[proposal.candidate], proposal.candidate)
        algorithm.tell(history)
        diagnostics.append(proposal.diagnostics)
    return history, diagnostics


def botorch_ucb(
    history: History, pool: np.ndarray, beta: float, kernel: str = "matern52"
) -> tuple[np.ndarray, float]:
    """The UCB on the pool and the length scale, by BoTorch's own fit and acquisition function."""
    y = torch.tensor(history.y.copy())[:, None]
    # The noise variance holds for the standardised values; Standardize divides what it is given.
    noise = torch.full_like(y, 1e-4) * y.var()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(
            torch.tensor(history.X.copy()),
            y,
            noise,
            covar_module=MaternKernel(nu=2.5) if kernel == "matern52" else RBFKernel(),
            mean_module=ZeroMean(),
            outcome_transform=Standardize(m=1),
        ).double()
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = UpperConfidenceBound(model, beta=beta**2)
    with torch.no_grad():
        values = acquisition(torch.tensor(pool)[:, None, :]).numpy()
    return values, model.covar_module.lengthscale.item()


@pytest.mark.parametrize(
    ("seed", "kernel"), [*((seed, "matern52") for seed in range(12)), (1, "rbf"), (2, "rbf")]
)
def test_proposal_is_botorchs(seed: int, kernel: KernelName) -> None:
    rng = np.random.default_rng(seed)
    pool, f = small_pool(m=300, seed=seed)
    rows = rng.choice(20, size=rng.integers(4, 40))  # with repeated points
    history = history_of(pool, f, rows)
    beta = (0.5, 1.0, 3.0)[seed % 3]
    algorithm = GpUcbMle(Space(3, candidates=pool), STREAMS, beta=beta, kernel=kernel)
    proposal = algorithm.ask(history, 1)
    values, length_scale = botorch_ucb(history, pool, beta, kernel)
    assert proposal.diagnostics["length_scale"] == pytest.approx(length_scale, rel=1e-6)
    assert values[proposal.candidate] == pytest.approx(values.max(), rel=1e-9)
    assert proposal.candidate == values.argmax()


@pytest.mark.parametrize("task", [CrossedBarrel, AgNP])
def test_proposal_is_botorchs_on_the_stand_ins(task: type) -> None:
    problem = task()
    pool, f = problem.to_unit(problem.candidates), problem.evaluate_true(problem.candidates)
    algorithm = GpUcbMle(Space(problem.dim, candidates=pool), STREAMS)
    history, _ = run(algorithm, pool, f, 30)
    proposal = algorithm.ask(history, 31)
    values, _ = botorch_ucb(history, pool, 1.0)
    assert proposal.candidate == values.argmax()


@pytest.mark.parametrize("starts", ["single", "multi"])
def test_rebuilt_from_the_history_bit_for_bit(starts: str) -> None:
    pool, f = small_pool()
    space = Space(3, candidates=pool)
    live = GpUcbMle(space, STREAMS, length_scale_start=starts)  # type: ignore[arg-type]
    history, diagnostics = run(live, pool, f, 75)
    for n in (6, 20, 69, 79):
        past = history_of(pool, f, history.candidate[:n])
        resumed = GpUcbMle(space, STREAMS, length_scale_start=starts)  # type: ignore[arg-type]
        resumed.tell(past)
        proposal = resumed.ask(past, n - 4)
        assert proposal.candidate == history.candidate[n]
        assert proposal.diagnostics == diagnostics[n - 5]
        again = resumed.ask(past, n - 4)
        assert (again.candidate, again.diagnostics) == (proposal.candidate, proposal.diagnostics)


def test_another_history_leaves_no_trace() -> None:
    """What was asked before, of whatever history, does not matter."""
    pool, f = small_pool()
    space = Space(3, candidates=pool)
    rng = np.random.default_rng(0)
    histories = [history_of(pool, f, rng.choice(60, size=n)) for n in (40, 7, 90, 40)]
    shared = GpUcbMle(space, STREAMS)
    for history in [*histories, *reversed(histories)]:
        fresh = GpUcbMle(space, STREAMS).ask(history, 1)
        proposal = shared.ask(history, 1)
        assert (proposal.candidate, proposal.diagnostics) == (fresh.candidate, fresh.diagnostics)


def test_block_is_what_the_runs_are_alone() -> None:
    pool, f = small_pool()
    space = Space(3, candidates=pool)
    histories = [history_of(pool, f, range(n, 2 * n)) for n in (8, 8, 8)]
    algorithms = [GpUcbMle(space, STREAMS) for _ in histories]
    block = GpUcbMle.ask_block(algorithms, histories, 1)
    assert [p.candidate for p in block] == [
        GpUcbMle(space, STREAMS).ask(h, 1).candidate for h in histories
    ]


def test_scale_of_y_does_not_matter() -> None:
    pool, f = small_pool()
    rows = np.random.default_rng(0).choice(60, size=20)
    space = Space(3, candidates=pool)
    one = GpUcbMle(space, STREAMS).ask(history_of(pool, f, rows), 1)
    two = GpUcbMle(space, STREAMS).ask(history_of(pool, 1e-3 * f - 7.0, rows), 1)
    assert one.candidate == two.candidate
    assert one.diagnostics["length_scale"] == pytest.approx(
        two.diagnostics["length_scale"], rel=1e-5
    )


def test_diagnostics_are_the_declared_ones() -> None:
    pool, f = small_pool()
    proposal = GpUcbMle(Space(3, candidates=pool), STREAMS).ask(history_of(pool, f, range(10)), 1)
    assert set(proposal.diagnostics) == set(GpUcbMle.diagnostics)
    assert all(type(value) is float for value in proposal.diagnostics.values())
    assert proposal.diagnostics["jitter"] == 0.0
    assert proposal.diagnostics["fit_converged"] == 1.0


def test_ties_go_to_the_first_candidate() -> None:
    """From one datum at the centre of a square, its corners are the same."""
    pool = np.array([[0.5, 0.5], [0, 0], [0, 1], [1, 0], [1, 1]])
    history = history_of(pool, np.ones(5), [0])
    assert GpUcbMle(Space(2, candidates=pool), STREAMS).ask(history, 1).candidate == 1


def test_a_point_may_be_asked_again() -> None:
    """With as many rounds as the pool has points twice over, and nothing left to be learnt."""
    pool, f = small_pool(m=12)
    history, diagnostics = run(GpUcbMle(Space(3, candidates=pool), STREAMS), pool, f, 30)
    assert len(history) == 35
    assert history.candidate[-1] == f.argmax()
    assert all(d["fit_converged"] == 1.0 for d in diagnostics)


def test_without_noise_repeated_points_take_a_jitter() -> None:
    pool, f = small_pool()
    algorithm = GpUcbMle(Space(3, candidates=pool), STREAMS, noise_variance=0.0)
    proposal = algorithm.ask(history_of(pool, f, [3, 3, 4, 9, 1]), 1)
    assert proposal.diagnostics["jitter"] > 0
    assert np.isfinite(proposal.diagnostics["log_marginal_likelihood"])


def test_equal_observations() -> None:
    pool, _ = small_pool()
    proposal = GpUcbMle(Space(3, candidates=pool), STREAMS).ask(
        history_of(pool, np.full(60, 3.0), range(6)), 1
    )
    assert 0 <= proposal.candidate < 60


def test_multi_start_reports_what_the_single_start_finds() -> None:
    pool, f = small_pool()
    history = history_of(pool, f, range(15))
    space = Space(3, candidates=pool)
    single = GpUcbMle(space, STREAMS).ask(history, 1).diagnostics
    multi = GpUcbMle(space, STREAMS, length_scale_start="multi").ask(history, 1).diagnostics
    assert multi["length_scale_single_start"] == pytest.approx(single["length_scale"], rel=1e-4)
    assert single["length_scale_single_start"] == single["length_scale"]
    assert multi["log_marginal_likelihood"] >= single["log_marginal_likelihood"] - 1e-6
    assert multi["fit_evaluations"] > single["fit_evaluations"]


def test_continuous_domain() -> None:
    """On the cube: rebuilt bit for bit, and as high as BoTorch's fit and optimiser get."""
    rng = np.random.default_rng(0)
    space = Space(2)
    live = GpUcbMle(space, STREAMS)
    history = History(2, 5, capacity=4)
    for x in rng.random((5, 2)):
        history.append(x, float(np.sin(5 * x).sum()))
    for t in range(1, 26):
        past = History(2, 5)
        for x, value in zip(history.X, history.y, strict=True):
            past.append(x, float(value))
        proposal, again = live.ask(history, t), GpUcbMle(space, STREAMS).ask(past, t)
        assert_array_equal(proposal.x, again.x)
        assert proposal.diagnostics == again.diagnostics
        assert set(proposal.diagnostics) == set(GpUcbMle.diagnostics)
        assert proposal.candidate == -1 and np.all((proposal.x >= 0) & (proposal.x <= 1))
        grid = np.concatenate([proposal.x[None], rng.random((2000, 2))])
        if t % 8 == 1:
            values, length_scale = botorch_ucb(history, grid, 1.0)
            assert proposal.diagnostics["length_scale"] == pytest.approx(length_scale, rel=1e-5)
            assert values[0] >= values.max() - 1e-5
        history.append(proposal.x, float(np.sin(5 * proposal.x).sum()))
    assert history.y.max() > 1.999  # the maximum is 2


def test_no_data_is_refused() -> None:
    pool, _ = small_pool()
    with pytest.raises(RepliboError, match="initial_points: must be at least 1, got 0"):
        GpUcbMle(Space(3, candidates=pool), STREAMS).ask(History(3, 0), 1)
