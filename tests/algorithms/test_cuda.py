"""The GPU against the CPU, in float64; left out where torch finds no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from replibo.algorithms.base import Space
from replibo.algorithms.gp_ei import GpEi
from replibo.algorithms.gp_ts import GpTs
from replibo.algorithms.gp_ucb import GpUcb
from replibo.streams import RunStreams
from replibo.surrogates.bounds import BOUNDING
from replibo.surrogates.tangent_kernel import DualVariance, PrimalVariance, TangentKernel
from replibo.surrogates.two_layer_network import draw_weights

from .conftest import observed

OTHER = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")


def hill(x: np.ndarray) -> float:
    return -float(np.sum((x - 0.37) ** 2))


@pytest.mark.parametrize("method", [GpUcb, GpEi, GpTs])
def test_the_first_queries_of_a_gaussian_process_are_the_same(method) -> None:
    streams = RunStreams("paper", "problem", "gp", 0)
    X = streams.initial().random((6, 5))
    past = observed(X, map(hill, X), n_initial=6)
    algorithms = [method(Space(5), streams, device=device) for device in ("cpu", OTHER)]
    for t in range(1, 21):
        cpu, gpu = (algorithm.ask(past, t) for algorithm in algorithms)
        np.testing.assert_array_equal(cpu.x, gpu.x)
        for name in ("mean", "sd"):
            assert cpu.diagnostics[name] == pytest.approx(gpu.diagnostics[name], rel=1e-6, abs=1e-8)
        past.append(cpu.x, hill(cpu.x))


@pytest.mark.parametrize("form", [DualVariance, PrimalVariance])
def test_variances_of_the_tangent_kernel_are_the_same_to_1e_8(form) -> None:
    rng = np.random.default_rng(0)
    weights = draw_weights(rng, 6, 50, "section_7")
    forms = [form(TangentKernel(*weights, device=device), 0.01) for device in ("cpu", OTHER)]
    X, Z = rng.uniform(-1, 1, (4 * BOUNDING, 6)), rng.uniform(-1, 1, (40, 6))
    for x in X:
        for variance in forms:
            variance.append(x)
    for ask in ("variance", "covariance", "upper_bound"):
        cpu, gpu = (getattr(variance, ask)(Z) for variance in forms)
        if cpu is None:
            assert gpu is None
        else:
            np.testing.assert_allclose(cpu, gpu, rtol=0, atol=1e-8)
