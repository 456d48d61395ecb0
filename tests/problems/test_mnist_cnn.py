"""The inner problem of the BBO paper: what is observed, from which random numbers, on which images."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_digits

from replibo.data.manifest import data_file
from replibo.data.mnist import FILES
from replibo.errors import RepliboError
from replibo.problems import mnist_cnn
from replibo.problems.base import Observation
from replibo.problems.mnist_cnn import PENALTY, PENALTY_ERROR, MnistCnn, small_digits
from replibo.problems.mnist_small_batch import MnistSmallBatch
from replibo.problems.networks.cnn import evaluate
from replibo.streams import RunStreams

from .conftest import idx


def streams(algorithm: str = "ei", seed: int = 0, entry: str = "n_30") -> RunStreams:
    return RunStreams("bbo", entry, algorithm, seed)


@pytest.fixture(scope="module")
def problem() -> MnistCnn:
    return MnistCnn(iterations=30)


@pytest.fixture(scope="module")
def tuned() -> MnistCnn:
    return MnistCnn(iterations=30, momentum="tuned")


def at(problem: MnistCnn, *x: float, query: int = 0, **name: Any) -> Observation:
    return problem.observe(np.array(x), streams(**name), query)


# The observation


def test_domain(problem: MnistCnn, tuned: MnistCnn) -> None:
    np.testing.assert_array_equal(problem.bounds, [[-4.0], [0.0]])
    np.testing.assert_array_equal(tuned.bounds, [[-4.0, 0.0], [0.0, 0.99]])
    assert problem.optimal_value is None


def test_a_training_depends_on_the_entry_and_on_nothing_that_ran_before(problem: MnistCnn) -> None:
    first = at(problem, -1.0, query=3)
    at(problem, -2.0)
    assert at(problem, -1.0, query=3) == first
    assert MnistCnn(iterations=30).observe(np.array([-1.0]), streams(), 3) == first
    assert at(problem, -1.0, query=3, entry="n_40").y != first.y


def test_weights_and_batches_are_both_the_querys_own(
    problem: MnistCnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, starts = mnist_cnn.train, []

    def watched(network: Any, images: Any, labels: Any, batches: Any, **settings: Any) -> Any:
        starts.append((network.parameters.tobytes(), batches.tobytes()))
        assert batches.shape == (30, 64)
        assert batches.min() >= 0 and batches.max() < len(images) == len(labels)
        return kept(network, images, labels, batches, **settings)

    monkeypatch.setattr(mnist_cnn, "train", watched)
    for query, learning_rate in ((0, -1.0), (1, -1.0), (0, -2.0)):
        at(problem, learning_rate, query=query)
    first, second, other_rate = starts
    assert first[0] != second[0] and first[1] != second[1]
    assert first == other_rate


def test_what_is_observed_is_the_validation_loss(problem: MnistCnn) -> None:
    seen = at(problem, -0.5)
    assert seen.diagnostics.keys() == DIVERGED.keys()
    assert seen.f == seen.y == -seen.diagnostics["validation_cross_entropy"]
    # the network as the training left it
    loss, error = evaluate(problem.network, *problem.sets.validation)
    assert (loss, error) == (-seen.y, seen.diagnostics["validation_error"])
    test = evaluate(problem.network, *problem.sets.test)
    assert test == (seen.diagnostics["test_cross_entropy"], seen.diagnostics["test_error"])
    by_error = at(MnistCnn(iterations=30, objective="error"), -0.5)
    assert by_error.y == by_error.f == -error
    assert by_error.diagnostics == seen.diagnostics


def test_small_batches_are_trained_on_and_large_ones_evaluated(problem: MnistCnn) -> None:
    """By batches of 64 the same training, whatever it is evaluated by; by one example another one."""
    own = MnistSmallBatch(iterations=30, batch_size=64)
    one, other = at(problem, -1.0).diagnostics, at(own, -1.0).diagnostics
    assert other["training_loss"] == one["training_loss"]
    assert other == pytest.approx(one, rel=1e-5)
    single = MnistSmallBatch(iterations=30, batch_size=1)
    assert at(single, -2.0).y == at(single, -2.0).y > -math.log(10) * 1.2
    assert at(single, -2.0).diagnostics["training_loss"] != one["training_loss"]


def test_momentum_zero_is_plain_descent(problem: MnistCnn, tuned: MnistCnn) -> None:
    assert at(tuned, -1.0, 0.0) == at(problem, -1.0)
    assert at(tuned, -2.0, 0.9).y > at(problem, -2.0).y + 0.1


DIVERGED = {
    "log10_learning_rate": -1.0,
    "momentum": 0.0,
    "validation_cross_entropy": PENALTY,
    "validation_error": PENALTY_ERROR,
    "test_cross_entropy": PENALTY,
    "test_error": PENALTY_ERROR,
    "training_loss": PENALTY,
    "diverged": 1.0,
}


@pytest.mark.parametrize(("objective", "penalty"), [("cross_entropy", PENALTY), ("error", 100.0)])
def test_a_loss_that_is_not_finite_has_diverged(
    objective: Any, penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = MnistCnn(iterations=30, objective=objective)
    before = at(problem, -1.0)
    kept = mnist_cnn.train

    def overflowing(*arguments: Any, learning_rate: float, **settings: Any) -> Any:
        return kept(*arguments, learning_rate=1e30 * learning_rate, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(mnist_cnn, "train", overflowing)
        seen = at(problem, -1.0)
    assert seen.y == seen.f == -penalty
    assert seen.diagnostics == DIVERGED
    assert at(problem, -1.0) == before and before.diagnostics["diverged"] == 0.0


@pytest.mark.parametrize("loss", [np.nextafter(PENALTY, 9.0), 50.0, math.nan])
def test_a_validation_loss_beyond_the_penalty_has_diverged(
    loss: float, problem: MnistCnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist_cnn, "evaluate", lambda *_: (loss, 40.0))
    seen = at(problem, -1.0)
    assert seen.y == -PENALTY and seen.diagnostics == DIVERGED


def test_a_test_loss_that_is_not_finite_decides_nothing(
    problem: MnistCnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = iter([(1.5, 40.0), (math.nan, 100.0)])
    monkeypatch.setattr(mnist_cnn, "evaluate", lambda *_: next(looked))
    seen = at(problem, -1.0)
    assert seen.y == -1.5 and seen.diagnostics["diverged"] == 0.0
    assert seen.diagnostics["validation_error"] == 40.0
    assert seen.diagnostics["test_cross_entropy"] == PENALTY
    assert seen.diagnostics["test_error"] == PENALTY_ERROR


def test_the_penalty_is_worse_than_having_learned_nothing(problem: MnistCnn) -> None:
    untrained = at(problem, -4.0)
    assert untrained.diagnostics["diverged"] == 0.0
    assert -untrained.y == pytest.approx(math.log(10), abs=0.1)
    assert math.log(10) + 1.0 < PENALTY < 10.0


# The images


def test_the_digits_are_interpolated_linearly() -> None:
    digits = small_digits()
    together = np.concatenate([digits.train_images, digits.test_images]).reshape(-1, 28, 28)
    of_labels = np.concatenate([digits.train_labels, digits.test_labels])
    assert together.dtype == np.uint8 and together.max() == 255 and together.min() == 0
    small, labels = load_digits(return_X_y=True)
    # SciPy's own linear interpolation, at the centres of 28 pixels in the square of 8
    centres = (np.arange(28) + 0.5) * 8 / 28 - 0.5
    grid = np.meshgrid(centres, centres, indexing="ij")
    for number in range(0, 1797, 200):
        image = small[number].reshape(8, 8) * 255 / 16
        expected = map_coordinates(image, grid, order=1, mode="nearest")
        distances = np.abs(together - expected).max(axis=(1, 2))
        nearest = int(np.argmin(distances))
        assert distances[nearest] <= 0.5 + 1e-9
        assert of_labels[nearest] == labels[number]


def test_pixels_enter_standardised(problem: MnistCnn) -> None:
    images = problem.sets.train[0]
    problem.network.forward(images, np.arange(64))
    seen = np.moveaxis(problem.network._input, -1, 0).reshape(64, -1)
    np.testing.assert_allclose(seen, (images[:64] - images.mean()) / images.std(), atol=1e-5)


def digits_files(folder: Path, **changed: np.ndarray) -> dict[str, Path]:
    """Files of MNIST's shape: 70,000 black images of class 1, or what is given instead."""
    data = {}
    for name in FILES:
        n = 60_000 if "train" in name else 10_000
        shape = (n, 28, 28) if name.endswith("images") else (n,)
        values = changed.get(name, np.full(shape, len(shape) == 1, np.uint8))
        data[name] = folder / name
        data[name].write_bytes(idx(values))
    return data


def test_mnist_is_split_into_fixed_sets(tmp_path: Path) -> None:
    # each image carries its number in three pixels
    numbers = np.arange(60_000)
    images = np.zeros((60_000, 28, 28), np.uint8)
    images[:, 0, :3] = np.stack([numbers >> 16, numbers >> 8 & 255, numbers & 255], axis=1)
    labels = (numbers % 10).astype(np.uint8)
    data = digits_files(tmp_path, mnist_train_images=images, mnist_train_labels=labels)
    problem = MnistCnn(iterations=1, data=data)
    assert problem.stand_in == ""
    assert [part[0].shape for part in problem.sets] == [(50_000, 784), (10_000, 784), (10_000, 784)]
    found = []
    for part, part_labels in problem.sets[:2]:
        pixels = part[:, :3].astype(np.int64)
        found.append(pixels[:, 0] * 65536 + pixels[:, 1] * 256 + pixels[:, 2])
        np.testing.assert_array_equal(found[-1] % 10, part_labels)
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), numbers)
    assert abs(found[1].mean() - 29_999.5) < 4 * 60_000 / math.sqrt(12 * 10_000)  # from everywhere
    assert math.isfinite(at(problem, -1.0).y)


def test_channels_that_do_not_fit_are_refused_before_the_images_are_read() -> None:
    with pytest.raises(RepliboError, match="must be 1 to 5 convolutions, got 0"):
        MnistCnn(channels=(), data={})


@pytest.mark.real_data
def test_mnist_is_learned() -> None:
    mirror = Path(os.environ["REPLIBO_DATA_MIRROR"])
    data = {name: mirror / data_file(name).path_in_mirror for name in FILES}
    seen = at(MnistCnn(iterations=500, data=data), -0.5)
    assert 0.0 < -seen.y < 0.35
    assert seen.diagnostics["test_error"] < 10.0
