"""NeuralBO's choice, computed again by automatic differentiation and dense matrices; what its variant
with a constant and NeuralGreedy do otherwise."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.neural_bo_offset import NeuralBOOffset
from replibo.algorithms.neural_greedy import NeuralGreedy
from replibo.errors import RepliboError
from replibo.streams import RunStreams
from replibo.surrogates.tangent_kernel import DualVariance
from replibo.surrogates.two_layer_network import TwoLayerNetwork, train_sgd

from .conftest import history, observed, waves

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "ackley_3", "a", 0)
STANDARDISED = {"constant_input": True, "y_scaling": "standardise", "batch_loss": "sum"}


def inputs(U, setting):
    X = 2 * U - 1
    if setting.get("constant_input"):
        X = np.column_stack([X, np.ones(len(U))])
    return X / math.sqrt(U.shape[1])


def feature(x, hidden, output):
    """g(x; θ₀)/√m by automatic differentiation."""
    W1, w2 = (torch.tensor(v, requires_grad=True) for v in (hidden, output))
    h = math.sqrt(len(output)) * (w2 @ torch.relu(W1 @ torch.tensor(x)))
    by = torch.autograd.grad(h, [W1, w2])
    return torch.cat([g.reshape(-1) for g in by]).numpy() / math.sqrt(len(output))


def by_hand(past, trained_on, setting):
    """Lines 3 to 6 of Algorithm 1: (candidates, h, σ, σ's covariance, training, units of y)."""
    rng, m = STREAMS.surrogate_at(0), setting["width"]
    hidden = rng.standard_normal((m, inputs(past.X, setting).shape[1])) / math.sqrt(m)
    output = rng.standard_normal(m) / math.sqrt(m)
    y = past.y[:trained_on]
    units = {
        "none": (0.0, 1.0),
        "divide": (0.0, np.abs(y).mean()),
        "standardise": (y.mean(), y.std(ddof=1)),
    }[setting.get("y_scaling", "none")]
    training = train_sgd(
        TwoLayerNetwork(hidden, output),
        inputs(past.X[:trained_on], setting),
        (y - units[0]) / units[1],
        rng=STREAMS.surrogate_at(trained_on),
        learning_rate=0.001,
        epochs=setting["epochs"],
        batch_size=50,
        regularizer=0.01,
        batch_loss=setting.get("batch_loss", "mean"),
    )
    algorithm = NeuralBO(Space(past.X.shape[1]), STREAMS, **setting)
    X, _ = algorithm.candidates.draw(past)
    phi = np.array([feature(x, hidden, output) for x in inputs(X, setting)])
    seen = np.array([feature(x, hidden, output) for x in inputs(past.X, setting)])
    U = 0.01 * np.eye(phi.shape[1]) + seen.T @ seen
    covariance = 0.01 * phi @ np.linalg.solve(U, phi.T)
    h = training.network.predict(inputs(X, setting))
    return X, h, np.sqrt(np.diag(covariance)), covariance, training, units


@pytest.mark.parametrize("nu", [0.0, 0.1, 10.0])
# trainings at 4, 6, 9, 14, …; σ takes in all 12
@pytest.mark.parametrize(("n", "trained_on"), [(4, 4), (12, 9)])
@pytest.mark.parametrize(
    "variant",
    [{}, {"y_scaling": "divide"}, STANDARDISED, {"variance": "printed"}],
    ids=["usual", "divided", "standardised", "printed_form"],
)
def test_the_query_is_the_maximum_of_a_thompson_sample(nu, n, trained_on, variant):
    past = history(n)
    setting = {**SMALL, "refit_growth": 0.5, **variant}
    algorithm = NeuralBO(Space(3), STREAMS, nu=nu, **setting)
    proposal = algorithm.ask(past, len(past) + 1)
    X, h, sigma, _, training, (mean, sd) = by_hand(past, trained_on, setting)
    best = int(np.argmax(STREAMS.algorithm_at(n).normal(h, nu * sigma)))
    np.testing.assert_array_equal(proposal.x, X[best])
    dim = 4 if variant == STANDARDISED else 3
    weights = 40 * (dim + 1)
    # the matrix as printed, or 64 rows of the factor, of inputs and of features
    form = 8 * weights**2 if "variance" in variant else 8 * 64 * (64 + dim + 2 * 40)
    assert proposal.diagnostics == pytest.approx(
        {
            "mean": mean + sd * h[best],
            "sigma": sd * sigma[best],
            "training_loss": training.loss,
            "diverged": 0.0,
            "trained_on": trained_on,
            "surrogate_bytes": form + (8 + 4) * weights,  # W₁ and W₂ in double and single precision
        },
        rel=1e-6,
    )


@pytest.mark.parametrize("variance", ["dual", "printed"])
@pytest.mark.parametrize("n", [4, 12])
def test_a_joint_sample_has_the_covariance_of_sigma(variance, n):
    past = history(n)
    algorithm = NeuralBO(Space(3), STREAMS, nu=2.0, sample="joint", variance=variance, **SMALL)
    X, h, _, covariance, _, _ = by_hand(past, n, SMALL)
    computed = algorithm._variance.after(past).covariance(algorithm.inputs(X))
    np.testing.assert_allclose(computed, covariance, atol=1e-12)
    # the covariance has rank 40 * 4 at most; the jitter that its factor needs hardly moves the sample
    L = np.linalg.cholesky(covariance + 1e-10 * np.eye(len(X)))
    sample = h + 2.0 * L @ STREAMS.algorithm_at(n).standard_normal(len(X))
    proposal = algorithm.ask(past, n + 1)
    np.testing.assert_array_equal(proposal.x, X[int(np.argmax(sample))])


def test_raw_negative_observations_make_a_cone_that_peaks_at_the_centre():
    """Why NeuralBO wins on Ackley: without a bias and with y < 0, h is 0 at the centre and below 0
    elsewhere, wherever the optimum of the data lies. A constant input or centred y take it away."""
    X = np.random.default_rng(1).uniform(size=(60, 10))
    past = observed(X, -20.0 - 5.0 * np.sum((X - 0.9) ** 2, axis=1), n_initial=11)
    U = np.random.default_rng(2).uniform(size=(200, 10))
    above = {}
    for name, setting in {
        "printed": {},
        "constant": {"constant_input": True},
        "standardised": {"y_scaling": "standardise"},
    }.items():
        algorithm = NeuralBO(Space(10), STREAMS, **setting)
        fit = algorithm.fit(past)
        h = fit.centre + fit.scale * algorithm.prediction(np.vstack([[[0.5] * 10], U]), fit)
        above[name] = np.mean(h[0] > h[1:])
        if name == "printed":
            assert h[0] == 0.0
    assert above["printed"] == 1.0
    assert above["standardised"] < 0.9
    assert above["constant"] < 1.0


@pytest.mark.parametrize(
    ("nu", "setting"), [(0.0, {}), (1.0, {}), (10.0, {}), (10.0, {"learning_rate": 1e3})]
)
def test_deviations_only_where_they_matter_give_the_same_queries(nu, setting, monkeypatch):
    """A run that begins where σ is bounded by the last observations, against σ of every candidate."""
    runs = []
    for _ in range(2):
        past = history(256)
        algorithm = NeuralBO(Space(3), STREAMS, nu=nu, **{**SMALL, "candidates": 200, **setting})
        for _ in range(15):
            proposal = algorithm.ask(past, len(past) + 1)
            past.append(proposal.x, waves(proposal.x))
            runs.append(proposal)
        assert proposal.diagnostics["diverged"] == bool(setting)
        monkeypatch.setattr(DualVariance, "upper_bound", lambda self, X: None)
    for bounded, full in zip(runs[:15], runs[15:], strict=True):
        np.testing.assert_array_equal(bounded.x, full.x)
        assert bounded.diagnostics == pytest.approx(full.diagnostics, rel=1e-9, abs=1e-12)


def test_a_matrix_that_cannot_fit_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr("replibo.algorithms.neural_bo.memory_bytes", lambda: 16e9)
    with pytest.raises(RepliboError) as error:
        NeuralBO(Space(100), STREAMS, variance="printed")
    assert str(error.value) == (
        "NeuralBO: variance must be dual, got printed: its 50500 x 50500 matrix needs 20.8 GB, and "
        "the cpu has 16"
    )
    NeuralBO(Space(14), STREAMS, variance="printed")


# NeuralBO on y plus a constant


def test_it_asks_as_if_the_constant_were_in_the_data():
    X = history(9).X
    y = np.round(history(9).y * 64) / 64  # sums with a whole number are exact
    offset = NeuralBOOffset(Space(3), STREAMS, offset={"ackley_3": -8.0}, **SMALL)
    asked = offset.ask(observed(X, y), 1)
    other = NeuralBO(Space(3), STREAMS, **SMALL).ask(observed(X, y - 8.0), 1)
    np.testing.assert_array_equal(asked.x, other.x)
    mean = pytest.approx(other.diagnostics["mean"] + 8.0)
    assert asked.diagnostics == other.diagnostics | {"mean": mean}


# NeuralGreedy


def test_perturbations_are_normal_of_the_deviation_set():
    y = np.linspace(-1, 1, 5000)
    added = NeuralGreedy(Space(3), STREAMS, perturbation_sd=0.3).targets(
        y, np.random.default_rng(0)
    )
    assert stats.kstest((added - y) / 0.3, "norm").pvalue > 1e-3
    assert NeuralGreedy(Space(3), STREAMS).perturbation_sd == pytest.approx(math.sqrt(0.01))


def test_without_perturbation_it_is_neural_bo_without_exploration():
    past = history(12)
    unperturbed = NeuralGreedy(Space(3), STREAMS, **SMALL)
    unperturbed.targets = lambda y, rng: y
    greedy = unperturbed.ask(past, 13)
    sampled = NeuralBO(Space(3), STREAMS, nu=0.0, **SMALL).ask(past, 13)
    np.testing.assert_array_equal(greedy.x, sampled.x)
    assert greedy.diagnostics == {
        **{name: value for name, value in sampled.diagnostics.items() if name != "sigma"},
        "surrogate_bytes": 4 * 40 * (3 + 1),  # W₁ and W₂ in single precision, and no σ
    }


def test_perturbations_are_drawn_anew_for_each_training_and_kept_between():
    algorithm = NeuralGreedy(Space(3), STREAMS, refit_growth=0.5, **SMALL)
    drawn = []
    algorithm.targets = lambda y, rng: drawn.append(rng.standard_normal(3)) or y
    for n in (4, 5, 6, 7, 8, 9):  # trainings at 4, 6 and 9
        algorithm.ask(history(n), n + 1)
    assert len(drawn) == 3 and len(np.unique(drawn)) == 9
