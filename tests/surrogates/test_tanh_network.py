"""DNGO's network: its fused steps against torch's autograd and torch's Adam."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from replibo.surrogates.tanh_network import UNITS, TanhNetwork, train_together


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, d])
    X = rng.random((n, d))
    y = np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(n)
    return X, (y - y.mean()) / max(y.std(), 1e-8)


def as_module(network: TanhNetwork, dim: int, units: tuple[int, ...]) -> torch.nn.Sequential:
    """The same network by torch, with the weights that ``network`` has now."""
    layers: list[torch.nn.Module] = []
    flat, start = torch.tensor(network.parameters), 0
    widths = (dim, *units, 1)
    for inputs, outputs in pairwise(widths):
        W = flat[start : start + outputs * (inputs + 1)].view(outputs, inputs + 1)
        start += W.numel()
        linear = torch.nn.Linear(inputs, outputs, dtype=W.dtype)
        linear.weight.data, linear.bias.data = W[:, :-1].clone(), W[:, -1].clone()
        layers += [linear, torch.nn.Tanh()]
    assert start == len(flat)
    return torch.nn.Sequential(*layers[:-1])


def flattened(module: torch.nn.Sequential) -> np.ndarray:
    return np.concatenate(
        [
            torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().numpy().ravel()
            for layer in module
            if isinstance(layer, torch.nn.Linear)
        ]
    )


def standardised(X: np.ndarray) -> np.ndarray:
    sd = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)


def train_by_torch(
    module: torch.nn.Sequential, X: np.ndarray, y: np.ndarray, rng: np.random.Generator, epochs: int
) -> None:
    """pybnn's loop: a new order each epoch, what does not fill a batch of 10 is left out."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    dtype = module[0].weight.dtype
    inputs, targets = torch.tensor(standardised(X), dtype=dtype), torch.tensor(y, dtype=dtype)
    batch = min(10, len(X))
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for start in range(0, len(X) - batch + 1, batch):
            rows = order[start : start + batch]
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(module(inputs[rows])[:, 0], targets[rows]).backward()
            optimizer.step()


@pytest.mark.parametrize(("n", "d"), [(37, 5), (10, 3), (4, 2), (1, 1), (60, 20)])
@pytest.mark.parametrize("units", [UNITS, (7, 5), (4,)])
def test_training_is_torchs(n: int, d: int, units: tuple[int, ...]) -> None:
    X, y = data(n, d)
    network = TanhNetwork(d, np.random.default_rng(1), units=units, dtype=np.float64)
    module = as_module(network, d, units)
    np.testing.assert_array_equal(network.parameters, flattened(module))
    epochs = -(-60 // max(n // 10, 1))  # 60 steps or a few more
    network.train(X, y, np.random.default_rng(2), epochs=epochs)
    train_by_torch(module, X, y, np.random.default_rng(2), epochs)
    np.testing.assert_allclose(network.parameters, flattened(module), rtol=0, atol=1e-10)
    inputs = torch.tensor(standardised(X))
    with torch.no_grad():
        loss = torch.mean((module(inputs)[:, 0] - torch.tensor(y)) ** 2)
        features = module[:-1](inputs)
    assert network.training_loss == pytest.approx(float(loss), rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(network.features(X), features.numpy(), rtol=0, atol=1e-9)
    assert network.features(X).shape == (n, units[-1])
    assert not network.diverged


def test_single_precision_too() -> None:
    X, y = data(40, 5)
    network = TanhNetwork(5, np.random.default_rng(1))
    assert network.parameters.dtype == np.float32
    module = as_module(network, 5, UNITS)
    network.train(X, y, np.random.default_rng(2), epochs=5)
    train_by_torch(module, X, y, np.random.default_rng(2), 5)
    np.testing.assert_allclose(network.parameters, flattened(module), rtol=0, atol=1e-4)
    features = network.features(X)
    assert features.dtype == np.float64 and features.flags.c_contiguous


def test_initial_weights() -> None:
    """Uniform on ±1/√(inputs), biases too, as torch's own layers are; different seeds differ."""
    network = TanhNetwork(20, np.random.default_rng(0), dtype=np.float64)
    for layer in as_module(network, 20, UNITS)[::2]:
        own = torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().numpy()
        reference = torch.nn.Linear(layer.in_features, 5000)
        bound = 1 / np.sqrt(layer.in_features)
        assert np.abs(own).max() <= bound
        if own.size > 500:
            assert np.abs(own).max() > 0.99 * bound
            assert own.std() == pytest.approx(float(reference.weight.std().detach()), rel=0.05)
            assert own[:, -1].std() == pytest.approx(float(reference.bias.std().detach()), rel=0.3)
    again = TanhNetwork(20, np.random.default_rng(0), dtype=np.float64)
    other = TanhNetwork(20, np.random.default_rng(1), dtype=np.float64)
    assert np.array_equal(network.parameters, again.parameters)
    assert not np.array_equal(network.parameters, other.parameters)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 2), (37, 5), (60, 20)])
@pytest.mark.parametrize("K", [2, 5, 31])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_together_as_alone(n: int, d: int, K: int, dtype: type) -> None:
    """The same bits, beside one that diverges, too."""
    X, y = zip(*(data(n, d, seed) for seed in range(K)), strict=True)
    y = [1e30 * y[0] if dtype is np.float32 else y[0], *y[1:]]

    def made() -> list[TanhNetwork]:
        return [TanhNetwork(d, np.random.default_rng(k), dtype=dtype) for k in range(K)]

    together, alone = made(), made()
    rngs = [np.random.default_rng(100 + k) for k in range(K)]
    train_together(together, X, y, rngs, epochs=7, batch_size=10, learning_rate=0.01)
    for k, network in enumerate(alone):
        network.train(X[k], y[k], np.random.default_rng(100 + k), epochs=7)
        assert network.parameters.tobytes() == together[k].parameters.tobytes()
        assert (
            np.float64(network.training_loss).tobytes()
            == np.float64(together[k].training_loss).tobytes()
        )
        assert network.diverged == together[k].diverged
        assert network.features(X[k]).tobytes() == together[k].features(X[k]).tobytes()
    assert n == 1 or dtype is np.float64 or together[0].diverged
    assert not together[1].diverged
