"""NeuralBO's choice, computed again by automatic differentiation and dense matrices."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.two_layer_network import TwoLayerNetwork, train_sgd

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_bo", 0)


def history(n, dim=3, n_initial=4):
    rng = np.random.default_rng(0)
    made = History(dim, n_initial)
    for x in rng.uniform(size=(n, dim)):
        made.append(x, 3.0 + 2.0 * float(np.sin(5 * x).sum()))
    return made


def inputs(U):
    return np.column_stack([2 * U - 1, np.ones(len(U))]) / math.sqrt(U.shape[1])


def feature(x, hidden, output):
    """g(x; θ₀)/√m by automatic differentiation."""
    W1, w2 = (torch.tensor(v, requires_grad=True) for v in (hidden, output))
    h = math.sqrt(len(output)) * (w2 @ torch.relu(W1 @ torch.tensor(x)))
    by = torch.autograd.grad(h, [W1, w2])
    return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(len(output))


def by_hand(past, trained_on, nu, setting):
    """Lines 3 to 6 of Algorithm 1: (candidates, h, σ, sample), in standardised units."""
    rng, m = STREAMS.surrogate_at(0), setting["width"]
    hidden = rng.standard_normal((m, past.X.shape[1] + 1)) / math.sqrt(m)
    output = rng.standard_normal(m) / math.sqrt(m)
    y = past.y[:trained_on]
    training = train_sgd(
        TwoLayerNetwork(hidden, output),
        inputs(past.X[:trained_on]),
        (y - y.mean()) / y.std(ddof=1),
        rng=STREAMS.surrogate_at(trained_on),
        learning_rate=0.001,
        epochs=setting["epochs"],
        batch_size=50,
        regularizer=0.01,
    )
    algorithm = NeuralBO(Space(past.X.shape[1]), STREAMS, **setting)
    X, _ = algorithm.candidates.draw(past)
    phi = np.array([feature(x, hidden, output) for x in inputs(X)])
    seen = np.array([feature(x, hidden, output) for x in inputs(past.X)])
    U = 0.01 * np.eye(phi.shape[1]) + seen.T @ seen
    sigma = np.sqrt(0.01 * np.sum(phi * np.linalg.solve(U, phi.T).T, axis=1))
    h = training.network.predict(inputs(X))
    return X, h, sigma, STREAMS.algorithm_at(len(past)).normal(h, nu * sigma), training


@pytest.mark.parametrize("nu", [0.0, 0.1, 10.0])
# trainings at 4, 6, 9, 14, …; σ takes in all 12
@pytest.mark.parametrize(("n", "trained_on"), [(4, 4), (12, 9)])
def test_the_query_is_the_maximum_of_a_thompson_sample(nu, n, trained_on):
    past = history(n)
    setting = {**SMALL, "refit_growth": 0.5}
    algorithm = NeuralBO(Space(3), STREAMS, nu=nu, **setting)
    proposal = algorithm.ask(past, len(past) + 1)
    X, h, sigma, sample, training = by_hand(past, trained_on, nu, setting)
    best = int(np.argmax(sample))
    np.testing.assert_array_equal(proposal.x, X[best])
    mean, sd = past.y[:trained_on].mean(), past.y[:trained_on].std(ddof=1)
    assert proposal.diagnostics == pytest.approx(
        {
            "mean": mean + sd * h[best],
            "sigma": sd * sigma[best],
            "training_loss": training.loss,
            "diverged": 0.0,
            "trained_on": trained_on,
            # 64 rows of the factor, of inputs and features and of two buffers; W₁ and W₂ twice
            "surrogate_bytes": 8 * 64 * (64 + 4 + 2 * 40 + 2 * 60) + (8 + 4) * 40 * (4 + 1),
        },
        rel=1e-6,
    )


def test_samples_have_the_moments_of_line_4():
    """Over many queries of one posterior: independent normals of mean h and standard deviation νσ."""
    draws, past = [], history(10)
    algorithm = NeuralBO(Space(3), STREAMS, nu=2.0, **SMALL)
    seen = []
    algorithm.candidates.best = lambda X, rows, acquisition, d: seen.append(acquisition)
    fixed = algorithm.candidates.draw(past)
    algorithm.candidates.draw = lambda history: fixed
    fit = algorithm.fit(past)
    h = algorithm.prediction(fixed[0], fit)
    sigma = algorithm._variance.after(past).variance(algorithm.inputs(fixed[0])) ** 0.5
    for seed in range(200):
        algorithm.streams = RunStreams("neuralbo", "ackley_3", "neural_bo", seed)
        algorithm.ask(past, 11)
        draws.append((seen.pop() - h) / (2.0 * sigma))
    z = np.array(draws)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    correlations = np.corrcoef(z.T)[np.triu_indices(z.shape[1], 1)]
    assert np.std(correlations) == pytest.approx(1 / math.sqrt(len(z)), rel=0.15)


def forms(n, **settings):
    """The proposals of both forms at n observations."""
    told = history(n)
    return [
        NeuralBO(Space(3), STREAMS, variance=form, **{**SMALL, **settings}).ask(told, n + 1)
        for form in ("dual", "printed")
    ]


@pytest.mark.parametrize("initialization", ["section_7", "section_4"])
def test_the_printed_form_proposes_what_the_dual_one_does(initialization):
    for n in (1, 5, 30, 90):
        dual, printed = forms(n, initialization=initialization)
        assert dual.x.tobytes() == printed.x.tobytes()
        own, other = dict(dual.diagnostics), dict(printed.diagnostics)
        held = [own.pop("surrogate_bytes"), other.pop("surrogate_bytes")]
        assert own.pop("sigma") == pytest.approx(other.pop("sigma"), rel=1e-8)
        assert own == other
        # p = 40 (4 + 1) = 200; W₁ and W₂ in double and in single precision
        capacity = 64 if n <= 64 else 128
        assert held == [
            8 * capacity * (capacity + 4 + 2 * 40 + 2 * 60) + (8 + 4) * 200,
            8 * 200**2 + (8 + 4) * 200,
        ]


def test_the_printed_form_is_rebuilt_bit_for_bit():
    setting = {**SMALL, "variance": "printed"}
    growing, past = NeuralBO(Space(3), STREAMS, **setting), history(4)
    for _ in range(20):
        asked = growing.ask(past, len(past) + 1)
        fresh = NeuralBO(Space(3), STREAMS, **setting)
        fresh.tell(past)
        for other in (fresh.ask(past, len(past) + 1), growing.ask(past, len(past) + 1)):
            assert other.x.tobytes() == asked.x.tobytes()
            assert other.diagnostics == asked.diagnostics
        past.append(asked.x, float(-np.sum((asked.x - 0.4) ** 2)))
        growing.tell(past)
    other = history(9)  # another history leaves nothing behind
    expected = NeuralBO(Space(3), STREAMS, **setting).ask(other, 10)
    assert growing.ask(other, 10).diagnostics == expected.diagnostics


@pytest.mark.parametrize(
    ("n", "dim", "y"),
    [(1, 1, [2.0]), (6, 1, None), (6, 2, [3.0] * 6)],
    ids=["one", "1-D", "constant"],
)
def test_numerics_of_the_printed_form(n, dim, y):
    past = History(dim, 1)
    for i in range(n):
        past.append(np.full(dim, 0.3), float(i) if y is None else y[i])
    algorithm = NeuralBO(Space(dim), STREAMS, variance="printed", **SMALL)
    proposal = algorithm.ask(past, n + 1)
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    assert all(math.isfinite(value) for value in proposal.diagnostics.values())


def test_a_matrix_that_cannot_fit_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr("replibo.algorithms.neural_bo.memory_bytes", lambda: 16e9)
    with pytest.raises(RepliboError) as error:
        NeuralBO(Space(100), STREAMS, variance="printed")
    assert str(error.value) == (
        "NeuralBO: variance must be dual, got printed: its 51000 x 51000 matrix needs 21.2 GB, and "
        "the cpu has 16"
    )
    NeuralBO(Space(14), STREAMS, variance="printed")
