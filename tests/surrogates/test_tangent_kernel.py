"""The tangent kernel against automatic differentiation, and σ² in its two forms."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from replibo.surrogates.bounds import BOUNDING, evaluate_where_best
from replibo.surrogates.tangent_kernel import (
    BLOCK,
    FIRST_CAPACITY,
    DualVariance,
    PrimalVariance,
    TangentKernel,
)


def weights(rng, width, dim):
    hidden, output = rng.standard_normal((width, dim)), rng.standard_normal(width)
    return hidden / math.sqrt(width), output / math.sqrt(width)


def gradients(X, hidden, output):
    """g(x; θ₀)/√m of h = √m (W₂ relu(W₁ x)) by automatic differentiation, ``n x p``."""
    W1, w2 = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (hidden, output))
    root = math.sqrt(len(output))
    rows = []
    for x in torch.tensor(X):
        h = root * (w2 @ torch.relu(W1 @ x))
        by = torch.autograd.grad(h, [W1, w2])
        rows.append(torch.cat([g.reshape(-1) for g in by]) / root)
    return torch.stack(rows).numpy()


def dense_variance(phi, seen, regularizer):
    """λ φ U⁻¹ φ with U = λI + Σ φ_i φ_iᵀ, by a general solver."""
    U = regularizer * np.eye(phi.shape[1]) + seen.T @ seen
    return regularizer * np.sum(phi * np.linalg.solve(U, phi.T).T, axis=1)


@given(
    st.integers(0, 25),
    st.integers(1, 4),
    st.integers(1, 9),
    st.floats(-3, 2),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_dual_primal_and_dense_forms_agree(n, dim, width, log_lambda, section_4, seed):
    rng = np.random.default_rng(seed)
    hidden, output = weights(rng, width, dim)
    if section_4:
        output = np.zeros(width)
    X, Z = rng.uniform(-1, 1, (n, dim)), rng.uniform(-1, 1, (6, dim))
    X[n // 2 :] = X[: n - n // 2]  # half of the points come again
    if n:
        Z[0] = X[0]
    regularizer = 10.0**log_lambda
    kernel = TangentKernel(hidden, output)
    dual, primal = DualVariance(kernel, regularizer), PrimalVariance(kernel, regularizer)
    for x in X:
        dual.append(x)
        primal.append(x)
    assert len(dual) == len(primal) == n
    seen = gradients(X, hidden, output) if n else np.zeros((0, kernel.parameters))
    expected = dense_variance(gradients(Z, hidden, output), seen, regularizer)
    np.testing.assert_allclose(primal.variance(Z), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(dual.variance(Z), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("form", [DualVariance, PrimalVariance])
def test_after_many_observations_the_rounding_stays_small(form):
    """Beyond the first buffers and blocks of the one form, after as many updates in place of the other; a
    point that comes again included."""
    rng = np.random.default_rng(1)
    n = 2 * BLOCK + 5
    assert n > 2 * FIRST_CAPACITY
    hidden, output = weights(rng, 20, 4)
    X, Z = rng.uniform(-1, 1, (n, 4)), rng.uniform(-1, 1, (30, 4))
    X[200:300] = Z[0] = X[0]
    variance = form(TangentKernel(hidden, output), 0.01)
    for x in X:
        variance.append(x)
    expected = dense_variance(gradients(Z, hidden, output), gradients(X, hidden, output), 0.01)
    np.testing.assert_allclose(variance.variance(Z), expected, rtol=1e-8)


def test_a_point_observed_again_and_again():
    rng = np.random.default_rng(2)
    kernel = TangentKernel(*weights(rng, 20, 3))
    x, regularizer = rng.uniform(-1, 1, 3), 1e-6
    k = float(kernel.diagonal(kernel.features(x[None, :]))[0])
    dual = DualVariance(kernel, regularizer)
    for n in range(1, 301):
        dual.append(x)
        # one feature, n observations of noise variance λ
        if n in (1, 2, 50, 300):
            expected = regularizer * k / (regularizer + n * k)
            assert dual.variance(x[None, :])[0] == pytest.approx(expected, abs=1e-13)
    assert dual.variance(rng.uniform(-1, 1, (50, 3))).min() >= 0.0


@pytest.mark.parametrize(("form", "n"), [(DualVariance, 150), (PrimalVariance, 60)])
def test_the_same_observations_give_the_same_bits_whatever_was_asked_between(form, n):
    rng = np.random.default_rng(3)
    kernel = TangentKernel(*weights(rng, 30, 5))
    X, Z = rng.uniform(-1, 1, (n, 5)), rng.uniform(-1, 1, (40, 5))
    asked, rebuilt = form(kernel, 0.01), form(kernel, 0.01)
    for x in X:
        asked.append(x)
        asked.variance(Z[: 1 + len(asked) % 7])
    for x in X:
        rebuilt.append(x)
    assert asked.variance(Z).tobytes() == rebuilt.variance(Z).tobytes()


@pytest.mark.parametrize("most", [8, 1024])
def test_buffers_double_or_grow_by_a_fixed_number_of_rows(most, monkeypatch):
    """Their memory tells; `test_neural_bo` finds that of the first ones and of the printed form."""
    monkeypatch.setattr("replibo.surrogates.tangent_kernel.MORE_ROWS", most)
    rng = np.random.default_rng(6)
    width, dim = 6, 3
    dual = DualVariance(TangentKernel(*weights(rng, width, dim)), 0.1)
    capacity = FIRST_CAPACITY
    for n, x in enumerate(rng.uniform(-1, 1, (2 * FIRST_CAPACITY + 1, dim)), start=1):
        dual.append(x)
        if n > capacity:
            capacity += min(capacity, most)
        assert dual.bytes() == 8 * capacity * (capacity + dim + 2 * width) + 8 * width * (dim + 1)


@pytest.mark.parametrize("n", [4 * BOUNDING - 1, 4 * BOUNDING, 5 * BOUNDING])
def test_the_bound_is_the_variance_given_the_last_observations(n):
    rng = np.random.default_rng(8)
    hidden, output = weights(rng, 12, 4)
    kernel = TangentKernel(hidden, output)
    dual, X, Z = DualVariance(kernel, 0.01), rng.uniform(-1, 1, (n, 4)), rng.uniform(-1, 1, (30, 4))
    for x in X:
        dual.append(x)
    bound = dual.upper_bound(Z)
    if n < 4 * BOUNDING:
        assert bound is None
        return
    phi, seen = (gradients(points, hidden, output) for points in (Z, X[-BOUNDING:]))
    np.testing.assert_allclose(bound, dense_variance(phi, seen, 0.01), rtol=1e-8)
    assert np.all(bound >= dual.variance(Z) - 1e-12)


def test_where_the_bound_has_no_factor_it_is_the_prior():
    rng = np.random.default_rng(9)
    kernel = TangentKernel(*weights(rng, 12, 4))
    dual, x, Z = DualVariance(kernel, 1e-300), rng.uniform(-1, 1, 4), rng.uniform(-1, 1, (5, 4))
    for _ in range(4 * BOUNDING):
        dual.append(x)
    prior = kernel.diagonal(kernel.features(Z))
    np.testing.assert_array_equal(dual.upper_bound(Z), prior)


@settings(max_examples=100)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=100), st.integers(0, 2**32))
def test_the_largest_value_is_always_evaluated(true, seed):
    true = np.array(true)
    upper = true + np.random.default_rng(seed).exponential(size=len(true))
    evaluated = []

    def values(rows):
        evaluated.extend(rows)
        return true[rows]

    evaluate_where_best(upper, values)
    assert true[evaluated].max() == true.max()
    assert len(set(evaluated)) == len(evaluated)
