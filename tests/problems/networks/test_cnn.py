"""The network and its training step, against PyTorch's autograd and optimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from replibo.errors import RepliboError
from replibo.problems.networks.cnn import ConvolutionalNetwork, evaluate, train
from replibo.streams import generator

CLASSES = 10


def pictures(n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = generator("pictures", n, size)
    images = rng.integers(0, 256, size=(n, size * size), dtype=np.uint8)
    return images, rng.integers(0, CLASSES, size=n, dtype=np.uint8)


def made(size: int, channels: tuple[int, ...], batch: int) -> ConvolutionalNetwork:
    network = ConvolutionalNetwork(size, channels, CLASSES, batch, pixel_mean=33.0, pixel_std=79.0)
    network.initialise(generator("weights"))
    return network


def as_torch(network: ConvolutionalNetwork, channels: tuple[int, ...]) -> nn.Sequential:
    """The same network in PyTorch, with the same weights."""
    layers: list[nn.Module] = []
    for into, out in zip((1, *channels), channels, strict=False):
        layers += [nn.Conv2d(into, out, 3, stride=2, padding=1), nn.ReLU()]
    model = nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(network.weights[-1].shape[1] - 1, CLASSES)
    )
    parameters = list(model.parameters())
    with torch.no_grad():
        for weights, (kernel, bias) in zip(
            network.weights, zip(parameters[::2], parameters[1::2], strict=True), strict=True
        ):
            kernel.copy_(torch.tensor(weights[:, :-1]).reshape(kernel.shape))
            bias.copy_(torch.tensor(weights[:, -1]))
    return model


def tensors(images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    size = math.isqrt(images.shape[1])
    X = (torch.tensor(images).float() - 33.0) / 79.0
    return X.reshape(-1, 1, size, size), torch.tensor(labels).long()


def flat(values: list[torch.Tensor]) -> np.ndarray:
    """Weights or gradients of PyTorch in the order of `ConvolutionalNetwork.parameters`."""
    parts = [
        torch.cat([kernel.reshape(len(kernel), -1), bias[:, None]], dim=1).reshape(-1)
        for kernel, bias in zip(values[::2], values[1::2], strict=True)
    ]
    return torch.cat(parts).detach().numpy()


@settings(max_examples=25)
@given(
    size=st.integers(2, 30),
    channels=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    batch=st.integers(1, 20),
)
def test_loss_and_gradient_are_autograds(size: int, channels: tuple[int, ...], batch: int) -> None:
    channels = channels[: max(1, math.ceil(math.log2(size)))]
    network = made(size, channels, batch)
    images, labels = pictures(40, size)
    rows = generator("rows").integers(40, size=batch)
    loss = network.loss_and_gradient(images, labels, rows)

    model = as_torch(network, channels).double()
    X, y = tensors(images, labels)
    expected = nn.functional.cross_entropy(model(X[rows].double()), y[rows])
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    gradient = flat([p.grad for p in model.parameters()])  # type: ignore[misc]
    np.testing.assert_allclose(
        network.gradient, gradient, rtol=1e-3, atol=1e-5 * np.abs(gradient).max()
    )


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_training_takes_the_steps_of_torchs_sgd(momentum: float) -> None:
    channels, steps = (8, 16), 60
    network = made(28, channels, 64)
    model = as_torch(network, channels)
    images, labels = pictures(500, 28)
    batches = generator("batches").integers(500, size=(steps, 64))
    before = network.parameters.copy()
    losses = train(network, images, labels, batches, learning_rate=0.05, momentum=momentum)

    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    X, y = tensors(images, labels)
    expected = []
    for rows in torch.tensor(batches):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(X[rows]), y[rows])
        loss.backward()
        optimiser.step()
        expected.append(loss.item())
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    after = flat(list(model.parameters()))
    moved = np.abs(after - before).max()
    assert moved > 0.02  # far more than the tolerance
    np.testing.assert_allclose(network.parameters, after, rtol=0, atol=1e-3 * moved)


@pytest.mark.parametrize("n", [1, 64, 200])
def test_evaluation_is_torchs_whatever_the_number_of_images(n: int) -> None:
    network = made(28, (4, 6), 64)
    images, labels = pictures(n, 28)
    cross_entropy, error = evaluate(network, images, labels)
    X, y = tensors(images, labels)
    with torch.no_grad():
        logits = as_torch(network, (4, 6))(X)
    assert cross_entropy == pytest.approx(nn.functional.cross_entropy(logits, y).item(), rel=1e-5)
    assert error == pytest.approx(100 * (logits.argmax(dim=1) != y).float().mean().item())


def test_initial_weights_are_torchs_default() -> None:
    rng = generator("weights", "many")
    network = ConvolutionalNetwork(28, (8, 16), CLASSES, 1)
    drawn = []
    for _ in range(50):
        network.initialise(rng)
        drawn.append(network.parameters.copy())
    limits = [
        np.full(weights.size, 1 / math.sqrt(weights.shape[1] - 1)) for weights in network.weights
    ]
    scaled = np.array(drawn) / np.concatenate(limits)
    assert 0.999 < np.abs(scaled).max() <= 1.0 + 1e-6
    n = scaled.size
    assert abs(scaled.mean()) < 4 / math.sqrt(3 * n)
    assert abs(np.mean(scaled**2) - 1 / 3) < 4 * math.sqrt(4 / 45 / n)  # of a uniform one
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.Conv2d(8, 16, 3)
    for drawn_by_torch in (layer.weight, layer.bias):
        assert drawn_by_torch.abs().max().item() == pytest.approx(limits[1][0], rel=0.2)
        assert drawn_by_torch.abs().max().item() <= limits[1][0]


def test_training_stops_where_the_loss_is_not_finite() -> None:
    images, labels = pictures(300, 28)
    batches = generator("batches").integers(300, size=(50, 8))
    network = made(28, (8, 16), 8)
    calls = 0
    step = network.loss_and_gradient

    def counted(*arguments: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return step(*arguments)

    network.loss_and_gradient = counted  # type: ignore[method-assign]
    losses = train(network, images, labels, batches, learning_rate=1e30)
    assert calls < 10
    assert np.isfinite(losses[0])
    assert np.isnan(losses[calls:]).all()
    assert math.isnan(evaluate(network, images, labels)[0])
    assert evaluate(network, images, labels)[1] == 100.0


@pytest.mark.parametrize(
    ("size", "channels", "named"),
    [
        (28, (1,) * 6, "channels must be 1 to 5 convolutions, got 6"),
        (1, (8,), "must be 1 to 0 convolutions, got 1"),
    ],
)
def test_a_network_that_does_not_fit_is_one_line(
    size: int, channels: tuple[int, ...], named: str
) -> None:
    with pytest.raises(RepliboError, match=named) as error:
        ConvolutionalNetwork(size, channels, CLASSES, 4)
    assert "\n" not in str(error.value)
