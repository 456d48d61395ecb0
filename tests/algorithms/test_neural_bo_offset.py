"""NeuralBO on y plus a constant asks what NeuralBO asks where that constant is in the data."""

import numpy as np
import pytest

from replibo.algorithms.base import Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.algorithms.neural_bo_offset import NeuralBOOffset
from replibo.errors import RepliboError
from replibo.streams import RunStreams

from .conftest import history, observed

SMALL = {"width": 40, "epochs": 10, "candidates": 60}
STREAMS = RunStreams("neuralbo", "michalewicz_3", "a", 0)


def test_it_asks_as_if_the_constant_were_in_the_data() -> None:
    X = history(9).X
    y = np.round(history(9).y * 64) / 64  # sums with a whole number are exact
    past, moved = observed(X, y), observed(X, y - 8.0)
    own = NeuralBOOffset(Space(3), STREAMS, offset={"michalewicz_3": -8.0}, **SMALL).ask(past, 1)
    other = NeuralBO(Space(3), STREAMS, **SMALL).ask(moved, 1)
    assert np.array_equal(own.x, other.x)
    assert own.diagnostics["mean"] == pytest.approx(other.diagnostics["mean"] + 8.0)
    assert own.diagnostics["sigma"] == other.diagnostics["sigma"]


def test_there_must_be_a_constant_for_the_problem() -> None:
    with pytest.raises(RepliboError, match="offset must hold michalewicz_3, got ackley_10"):
        NeuralBOOffset(Space(3), STREAMS, offset={"ackley_10": 25.0})
