"""The inner problem of the BBO paper: what is observed, from which random numbers, on which images."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

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

STREAMS = RunStreams("bbo", "n_30", "ei", 0)


@pytest.fixture(scope="module")
def problem() -> MnistCnn:
    return MnistCnn(iterations=30)


def at(problem: MnistCnn, *x: float, query: int = 0) -> Observation:
    return problem.observe(np.array(x), STREAMS, query)


# The observation


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


def test_momentum_zero_is_plain_descent(problem: MnistCnn) -> None:
    tuned = MnistCnn(iterations=30, momentum="tuned")
    np.testing.assert_array_equal(tuned.bounds, [[-4.0, 0.0], [0.0, 0.99]])
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
    with monkeypatch.context() as patch:
        patch.setattr(mnist_cnn, "train", partial(overflowing, mnist_cnn.train))
        seen = at(problem, -1.0)
    assert seen.y == seen.f == -penalty
    assert math.log(10) + 1 < PENALTY  # worse than having learned nothing
    assert seen.diagnostics == DIVERGED
    assert at(problem, -1.0) == before and before.diagnostics["diverged"] == 0.0


def overflowing(train: Any, *arguments: Any, learning_rate: float, **settings: Any) -> Any:
    return train(*arguments, learning_rate=1e30 * learning_rate, **settings)


LEARNED = DIVERGED | {
    "validation_cross_entropy": 1.5,
    "validation_error": 40.0,
    "training_loss": ANY,
    "diverged": 0.0,
}


@pytest.mark.parametrize(
    ("validation_loss", "recorded"),
    [(np.nextafter(PENALTY, 9.0), DIVERGED), (math.nan, DIVERGED), (1.5, LEARNED)],
)
def test_the_validation_loss_decides_and_the_test_loss_nothing(
    validation_loss: float, recorded: Any, problem: MnistCnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = iter([(validation_loss, 40.0), (math.nan, 100.0)])
    monkeypatch.setattr(mnist_cnn, "evaluate", lambda *_: next(looked))
    seen = at(problem, -1.0)
    assert seen.y == -recorded["validation_cross_entropy"]
    assert seen.diagnostics == recorded


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


def test_training_images_are_split_into_fixed_sets(
    files: dict[str, Path], problem: MnistCnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist_cnn, "VALIDATION", 300)
    sets, digits = MnistCnn(iterations=1, data=files).sets, small_digits()
    assert [part[0].shape for part in sets] == [(1197, 784), (300, 784), (300, 784)]

    together = [np.concatenate(parts) for parts in zip(*sets[:2], strict=True)]
    split, whole = (
        sorted(np.column_stack([images, labels]).tolist())
        for images, labels in (together, digits[:2])
    )
    assert split == whole
    np.testing.assert_array_equal(sets.validation[0], problem.sets.validation[0])


def test_channels_that_do_not_fit_are_refused_before_the_images_are_read() -> None:
    with pytest.raises(RepliboError, match="must be 1 to 5 convolutions, got 0"):
        MnistCnn(channels=(), data={})


@pytest.mark.real_data
def test_mnist_is_learned() -> None:
    mirror = Path(os.environ["REPLIBO_DATA_MIRROR"])
    data = {name: mirror / data_file(name).path_in_mirror for name in FILES}
    problem = MnistCnn(iterations=500, data=data)
    assert [len(part[0]) for part in problem.sets] == [50_000, 10_000, 10_000]
    seen = at(problem, -0.5)
    assert 0.0 < -seen.y < 0.35
    assert seen.diagnostics["test_error"] < 10.0
