"""The networks' inputs."""

import numpy as np

from replibo.algorithms.parts.network_inputs import network_inputs


def test_values():
    U = np.array([[0.0, 0.5, 1.0, 0.25]])
    for scaling, constant, expected in (
        ("none", False, [-1.0, 0.0, 1.0, -0.5]),
        ("none", True, [-1.0, 0.0, 1.0, -0.5, 1.0]),
        ("root_dim", False, [-0.5, 0.0, 0.5, -0.25]),
        ("root_dim", True, [-0.5, 0.0, 0.5, -0.25, 0.5]),
        ("corner", False, [0.0, 0.25, 0.5, 0.125]),
    ):
        np.testing.assert_allclose(network_inputs(U, scaling, constant), [expected])
