"""NeuralGreedy: its perturbed targets and its greedy choice."""

import math

import numpy as np
import pytest
from scipy import stats

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.neural_greedy import NeuralGreedy
from replibo.streams import RunStreams

from .conftest import history

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "ackley_3", "neural_greedy", 0)


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
