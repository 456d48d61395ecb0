"""Sensitive samples: the Jacobian's norm against autograd, the training against PyTorch's, the
tampering against its definition."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from replibo.errors import RepliboError
from replibo.problems import sensitive_samples as problems
from replibo.problems.mnist_cnn import small_digits
from replibo.problems.networks import digit_classifier as network
from replibo.problems.networks.digit_classifier import (
    PARAMETERS,
    DigitClassifier,
    layers,
    normalised,
)
from replibo.problems.sensitive_released import LargestOutput
from replibo.problems.sensitive_samples import (
    SensitiveSamples,
    TamperedAccuracies,
    calibrated_sd,
    detections,
    tampered_labels,
    tampering_noise,
    upscaling_operator,
)
from replibo.streams import generator

OUTPUTS = ("log_softmax", "softmax", "logits")


@pytest.fixture(scope="module")
def problem() -> SensitiveSamples:
    return SensitiveSamples()


@pytest.fixture
def trained(problem: SensitiveSamples, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other problems take the classifier of `problem`, which is not trained again."""
    monkeypatch.setattr(problems, "train", lambda *_, **__: problem.classifier)


@pytest.fixture(scope="module")
def accuracies(problem: SensitiveSamples) -> TamperedAccuracies:
    digits = small_digits()
    return TamperedAccuracies(
        problem.classifier, digits.test_images, digits.test_labels, tampering_noise(60)
    )


def random_network(seed: int = 0, scale: float = 0.1) -> DigitClassifier:
    return DigitClassifier(scale * generator("network", seed).standard_normal(PARAMETERS))


def images(n: int, seed: int = 0) -> np.ndarray:
    return generator("images", seed).uniform(-0.42, 2.82, size=(n, 784))


def torch_outputs(parameters: torch.Tensor, x: torch.Tensor, outputs: str) -> torch.Tensor:
    W1, b1, W2, b2 = torch.split(parameters, [7840, 10, 100, 10])
    z = W2.reshape(10, 10) @ torch.relu(W1.reshape(10, 784) @ x + b1) + b2
    return z if outputs == "logits" else getattr(torch.nn.functional, outputs)(z, dim=-1)


# The objective


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_norm_against_autograd(problem: SensitiveSamples, outputs: Any) -> None:
    for classifier in (problem.classifier, random_network(), random_network(1, 1e-3)):
        X = images(8)
        theta = torch.from_numpy(classifier.parameters)
        norms = [
            torch.func.jacrev(lambda p, x=x: torch_outputs(p, x, outputs))(theta).norm().item()
            for x in torch.from_numpy(X)
        ]
        # where the model is sure, 1 - p of the probabilities has few digits left
        np.testing.assert_allclose(classifier.jacobian_norms(X, outputs), norms, rtol=1e-9)
    extreme = random_network(0, 1e3).jacobian_norms(images(20), outputs)
    assert np.all(np.isfinite(extreme))


@pytest.mark.usefixtures("trained")
def test_the_released_norm_is_that_of_the_largest_log_probability() -> None:
    released = LargestOutput()
    X = generator("small images", 0).uniform(*released.bounds, size=(8, 49))
    theta = torch.from_numpy(released.classifier.parameters)
    norms = [
        torch.func.grad(lambda p, x=x: torch_outputs(p, x, "log_softmax").max())(theta)
        .norm()
        .item()
        for x in torch.from_numpy(X @ upscaling_operator("bilinear").T)
    ]
    np.testing.assert_allclose(released.evaluate_true(X), norms, rtol=1e-9)
    assert released.recorded()["outputs"] == "largest log_softmax"


@pytest.mark.usefixtures("trained")
def test_the_objective_is_the_norm_at_the_upscaled_image(problem: SensitiveSamples) -> None:
    x = problem.to_native(generator("x").uniform(size=(5, 49)))
    small = torch.from_numpy(x).reshape(-1, 1, 7, 7)
    for made in (problem, SensitiveSamples(upscaling="nearest", outputs="softmax")):
        large = torch.nn.functional.interpolate(small, scale_factor=4, mode=made.upscaling)
        expected = made.classifier.jacobian_norms(large.reshape(-1, 784).numpy(), made.outputs)
        np.testing.assert_allclose(made.evaluate_true(x), expected, rtol=1e-12)


def test_the_box_is_that_of_normalised_pixels(problem: SensitiveSamples) -> None:
    assert problem.kept_queries == 10
    np.testing.assert_allclose(problem.bounds, np.outer([-0.4242, 2.8215], np.ones(49)), atol=5e-5)


# The classifier


def test_training_against_pytorchs_modules() -> None:
    digits, epochs = small_digits(), 1
    rng = generator("sensitive_samples", "training")
    start = [rng.uniform(-1, 1, size=7850) / 28, rng.uniform(-1, 1, size=110) / math.sqrt(10)]
    W1, b1, W2, b2 = (torch.tensor(part) for part in layers(np.concatenate(start)))
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 10), torch.nn.ReLU(), torch.nn.Linear(10, 10), torch.nn.LogSoftmax(1)
    ).double()
    model.load_state_dict({"0.weight": W1, "0.bias": b1, "2.weight": W2, "2.bias": b2})
    n, steps = len(digits.train_labels), 938
    order = np.concatenate([rng.permutation(n) for _ in range(-(-steps * 64 // n))])
    adam = torch.optim.Adam(model.parameters())
    for rows in order[: steps * 64].reshape(steps, 64):
        x = torch.tensor((digits.train_images[rows] / 255 - 0.1307) / 0.3081)
        loss = torch.nn.functional.nll_loss(
            model(x), torch.tensor(digits.train_labels[rows]).long()
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
    expected = torch.cat([p.detach().ravel() for p in model.parameters()]).numpy()
    found = network.train(digits.train_images, digits.train_labels, epochs=epochs)
    np.testing.assert_allclose(found.parameters, expected, rtol=1e-6, atol=1e-7)


def test_accuracy(problem: SensitiveSamples) -> None:
    digits = small_digits()
    assert problem.accuracy > 0.95
    right = problem.classifier.labels(normalised(digits.test_images)) == digits.test_labels
    assert problem.accuracy == right.mean()
    assert "1797 digits" in problem.stand_in and "of them is 97.3 %" in problem.stand_in


def test_a_damaged_text_of_the_parameters_is_one_line(problem: SensitiveSamples) -> None:
    text = problem.classifier.encoded()
    for wrong in (text[:-8], "no base64!"):
        with pytest.raises(RepliboError) as error:
            DigitClassifier.decode(wrong)
        assert "\n" not in str(error.value)


# Tampering and detection


def test_the_noise_is_standard_normal_and_the_first_models_are_the_same() -> None:
    few = np.concatenate(list(tampering_noise(60)))
    more = np.concatenate(list(tampering_noise(130)))
    assert few.shape == (60, PARAMETERS) and more.shape == (130, PARAMETERS)
    np.testing.assert_array_equal(few, more[:60])
    assert abs(more.mean()) < 5e-3 and abs(more.std() - 1) < 5e-3


def test_tampered_labels_and_detections_by_their_definition(problem: SensitiveSamples) -> None:
    X = normalised(small_digits().test_images[:30])
    sd = 0.07
    expected = [
        DigitClassifier(problem.classifier.parameters + sd * noise).labels(X)
        for part in tampering_noise(70)
        for noise in part
    ]
    np.testing.assert_array_equal(tampered_labels(problem.classifier, sd, X, 70), expected)
    one_image = tampered_labels(problem.classifier, sd, X[7:8], 70)[:, 0]
    np.testing.assert_array_equal(one_image, np.array(expected)[:, 7])
    detected = detections(problem.classifier, sd, X)
    assert detected.shape == (30, 1000) and 0.01 < detected.mean() < 0.9
    differ = np.array(expected) != problem.classifier.labels(X)
    np.testing.assert_array_equal(detected[:, :70], differ.T)


def test_the_accuracies_of_tampered_models(
    problem: SensitiveSamples, accuracies: TamperedAccuracies
) -> None:
    digits = small_digits()
    assert accuracies(0.0) == pytest.approx([problem.accuracy] * 60)
    for sd in (0.02, 0.1):
        X = normalised(digits.test_images)
        labels = tampered_labels(problem.classifier, sd, X, 60)
        # a label may change where single precision cannot tell two logits apart
        np.testing.assert_allclose(
            accuracies(sd), np.mean(labels == digits.test_labels, axis=1), atol=1 / 300
        )
    means = [accuracies(sd).mean() for sd in np.linspace(0, 0.2, 9)]
    assert np.all(np.diff(means) < 0)


def test_calibration_reaches_its_target(accuracies: TamperedAccuracies) -> None:
    found = [calibrated_sd(accuracies, target) for target in (0.9, 0.7, 0.4)]
    assert found == sorted(found)
    for sd, target in zip(found, (0.9, 0.7, 0.4), strict=True):
        assert accuracies(sd).mean() == pytest.approx(target, abs=2e-3)
    with pytest.raises(RepliboError, match=r"target: must be less than .* 0.9733, got 0.9800"):
        calibrated_sd(accuracies, 0.98)


def test_the_tampering_of_the_stand_in(problem: SensitiveSamples) -> None:
    sd, mean, spread = problem.tampering
    assert mean / problem.accuracy == pytest.approx(0.8773 / 0.93, abs=0.01)
    labels = tampered_labels(problem.classifier, sd, normalised(small_digits().test_images))
    own = np.mean(labels == small_digits().test_labels, axis=1)
    assert mean == pytest.approx(own.mean(), abs=1e-4)
    assert spread == pytest.approx(own.std(ddof=1), rel=1e-2)


def test_what_is_recorded_gives_the_same_classifier(problem: SensitiveSamples) -> None:
    facts = json.loads(json.dumps(problem.recorded()))
    assert facts["tampered_models"] == len(detections(problem.classifier, 0.1, images(1))[0])
    x = problem.to_native(generator("x").uniform(size=(6, 49)))
    large = x @ upscaling_operator(facts["upscaling"]).T
    again = DigitClassifier.decode(facts["parameters"])
    np.testing.assert_array_equal(again.parameters, problem.classifier.parameters)
    norms = again.jacobian_norms(large, facts["outputs"])
    np.testing.assert_array_equal(norms, problem.evaluate_true(x))
    numbers = facts["tampering_sd"], facts["tampered_accuracy"], facts["tampered_accuracy_sd"]
    assert (facts["accuracy"], *numbers) == (problem.accuracy, *problem.tampering)


# Settings and files


def test_from_files(
    files: dict[str, Path], problem: SensitiveSamples, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*images_and_labels: np.ndarray, epochs: int, seed: int) -> DigitClassifier:
        assert (epochs, seed) == (2, 3)
        for values, expected in zip(images_and_labels, small_digits()[:2], strict=True):
            np.testing.assert_array_equal(values, expected)
        return problem.classifier

    monkeypatch.setattr(problems, "train", train)
    real = SensitiveSamples(epochs=2, classifier_seed=3, data=files)
    assert real.stand_in == ""
    # real data: the paper's own number, not its ratio
    assert real.tampering.mean_accuracy == pytest.approx(0.8773, abs=0.01)
    assert real.tampering.sd > problem.tampering.sd


def test_a_classifier_that_is_no_good_is_refused_before_anything_is_run(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "train", lambda *_, **__: random_network())
    with pytest.raises(RepliboError, match=r"epochs must be enough .* above 0\.8773, got 1"):
        SensitiveSamples(epochs=1, data=files)
