"""The network and its trainings against automatic differentiation and PyTorch's optimisers."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from replibo.surrogates import compiled
from replibo.surrogates.two_layer_network import TwoLayerNetwork, draw_weights, train_sgd

SGD = {"learning_rate": 0.001, "epochs": 5, "batch_size": 50, "regularizer": 0.01}


def data(n, dim, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, dim)) / math.sqrt(dim), rng.standard_normal(n)


def network(width, dim, *, initialization="section_7", seed=1):
    rng = np.random.default_rng(seed)
    return TwoLayerNetwork(*draw_weights(rng, dim, width, initialization))


def weights_of(net):
    """W₁ and W₂ in double precision, as PyTorch's parameters."""
    return [
        torch.tensor(w.astype(np.float64), requires_grad=True) for w in (net.hidden, net.output)
    ]


def assert_same(trained, expected, start):
    """Single against double precision: the differences are those of rounding, the movement is more."""
    for own, other, before in zip(
        (trained.hidden, trained.output), expected, (start.hidden, start.output), strict=True
    ):
        np.testing.assert_allclose(own, other.detach(), rtol=0, atol=6e-7)
        assert np.abs(own - before).max() > 1e-5


def prediction(W1, w, X):
    """h by PyTorch."""
    return math.sqrt(len(W1)) * (torch.relu(X @ W1.T) @ w)


def test_initial_weights_are_as_sections_7_and_4_have_them():
    m, d = 500, 40
    hidden, output = draw_weights(np.random.default_rng(0), d, m, "section_7")
    assert hidden.shape == (m, d) and output.shape == (m,)
    for values in (hidden.ravel(), output):
        assert stats.kstest(values * math.sqrt(m), "norm").pvalue > 1e-3
    hidden, output = draw_weights(np.random.default_rng(0), d, m, "section_4")
    assert stats.kstest(hidden.ravel() * math.sqrt(m / 2), "norm").pvalue > 1e-3
    assert not np.any(output)
    np.testing.assert_array_equal(TwoLayerNetwork(hidden, output).predict(data(5, d)[0]), 0.0)


def objective(W1, w2, W1_start, w2_start, X, y, regularizer, share=1.0):
    """Algorithm 2, line 1, for the observations given, with a ``share`` of the regulariser."""
    distance = (W1 - W1_start).square().sum() + (w2 - w2_start).square().sum()
    squares = (prediction(W1, w2, X) - y).square().sum()
    return 0.5 * squares + share * 0.5 * len(w2) * regularizer * distance


@pytest.mark.parametrize("batch_loss", ["sum", "mean"])
@pytest.mark.parametrize(("n", "batch_size"), [(1, 50), (37, 50), (50, 50), (123, 50), (20, 7)])
@pytest.mark.parametrize("initialization", ["section_7", "section_4"])
def test_sgd_is_autograd_with_pytorchs_sgd(batch_loss, n, batch_size, initialization):
    X, y = data(n, 4)
    start = network(30, 4, initialization=initialization)
    # a regulariser that is felt, steps that move the weights by far more than rounding does
    rate = {"sum": 0.001, "mean": 0.02}[batch_loss]
    setting = {**SGD, "batch_size": batch_size, "regularizer": 1.0, "learning_rate": rate}
    training = train_sgd(
        start, X, y, rng=np.random.default_rng(7), batch_loss=batch_loss, **setting
    )

    rng, points, targets = np.random.default_rng(7), torch.tensor(X), torch.tensor(y)
    W1, w2 = weights_of(start)
    W1_start, w2_start = (w.detach().clone() for w in (W1, w2))
    optimizer = torch.optim.SGD([W1, w2], lr=setting["learning_rate"])
    for _ in range(setting["epochs"]):
        for batch in torch.tensor(rng.permutation(n)).split(batch_size):
            loss = objective(
                W1,
                w2,
                W1_start,
                w2_start,
                points[batch],
                targets[batch],
                setting["regularizer"],
                share=len(batch) / n,
            )
            optimizer.zero_grad()
            (loss if batch_loss == "sum" else loss / len(batch)).backward()
            optimizer.step()
    assert_same(training.network, (W1, w2), start)
    residuals = prediction(W1, w2, points).detach().numpy() - y
    assert training.loss == pytest.approx(np.mean(residuals**2), rel=1e-4)
    assert not training.diverged
    # θ₀ is left as it is
    again = network(30, 4, initialization=initialization)
    np.testing.assert_array_equal(start.hidden, again.hidden)
    np.testing.assert_array_equal(start.output, again.output)


@given(
    n=st.integers(1, 70),
    dim=st.integers(1, 25),
    width=st.integers(1, 70),
    batch_size=st.integers(1, 60),
    batch_loss=st.sampled_from(["sum", "mean"]),
)
def test_the_bits_are_the_same_at_all_levels_of_instructions(n, dim, width, batch_size, batch_loss):
    X, y = data(n, dim)
    setting = {**SGD, "batch_size": batch_size, "batch_loss": batch_loss}
    trainings = []
    for level in compiled.levels():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "_best_level", lambda level=level: level)
            rng = np.random.default_rng(3)
            trainings.append(train_sgd(network(width, dim), X, y, rng=rng, **setting))
    one, *others = trainings
    assert np.isfinite(one.network.hidden).all()
    for other in others:
        np.testing.assert_array_equal(one.network.hidden, other.network.hidden)
        np.testing.assert_array_equal(one.network.output, other.network.output)


def test_a_diverged_training_is_flagged_and_raises_nothing():
    X, y = data(100, 100)
    X = X * math.sqrt(100)  # [−1, 1]^100 as it is
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        training = train_sgd(
            network(500, 100), X, y, rng=np.random.default_rng(0), **{**SGD, "epochs": 50}
        )
    assert training.diverged and training.loss == math.inf
    assert not np.isfinite(training.network.hidden).all()
