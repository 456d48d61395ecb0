"""The two-layer network of the GO-UCB paper, f̂(x) = w2 · sigmoid(w1 x + b1) + b2 (eq. 13).

Everything is in closed form and vectorised over independent fits: ``w`` is ``4 x r``, the parameters
(w1, b1, w2, b2) of r networks; ``x`` and ``y`` are ``n x r``, the data of each. The arithmetic of one
column never depends on the others, so a network comes out the same, bit for bit, whether it is
fitted alone or among a hundred.
"""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array

N_PARAMETERS = 4


def sigmoid(z: Array) -> Array:
    """1 / (1 + e^-z), elementwise."""
    with np.errstate(over="ignore"):  # e^-z = inf gives 0, as it should
        return 1.0 / (1.0 + np.exp(-z))


def predict(w: Array, x: Array) -> Array:
    """f̂(x; w), eq. (13): ``w`` is ``4 x r``, ``x`` is ``n x r`` or ``n x 1``; returns ``n x r``."""
    w1, b1, w2, b2 = w
    return w2 * sigmoid(w1 * x + b1) + b2


def gradient(w: Array, x: Array) -> Array:
    """∇_w f̂(x; w), ``4 x n x r``, in the order (w1, b1, w2, b2)."""
    w1, b1, w2, _ = w
    s = sigmoid(w1 * x + b1)
    slope = w2 * s * (1.0 - s)
    return np.stack([slope * x, slope, s, np.ones_like(s)])


def loss_hessian(w: Array, x: Array, y: Array) -> Array:
    """∇²_w (1/n) Σ_i (f̂(x_i; w) - y_i)², eq. (94), ``4 x 4 x r``: the full Hessian, not only its
    Gauss-Newton part."""
    w1, b1, w2, b2 = w
    s = sigmoid(w1 * x + b1)
    ds = s * (1.0 - s)
    curvature = w2 * ds * (1.0 - 2.0 * s)  # ∂²f̂/∂b1²
    residual = w2 * s + b2 - y
    g = np.stack([w2 * ds * x, w2 * ds, s, np.ones_like(s)])
    second = np.zeros((N_PARAMETERS, N_PARAMETERS, *s.shape))
    second[0, 0], second[0, 1], second[1, 1] = curvature * x * x, curvature * x, curvature
    second[0, 2], second[1, 2] = ds * x, ds
    second[1, 0], second[2, 0], second[2, 1] = second[0, 1], second[0, 2], second[1, 2]
    terms = 2.0 * (g[:, None] * g[None, :] + residual * second)
    return _column_sums(terms, axis=2) / len(x)


def gradient_descent(w: Array, x: Array, y: Array, *, steps: int, learning_rate: float) -> Array:
    """``steps`` full-batch gradient steps on the mean squared error, from ``w``; returns ``4 x r``.

    This approximates the maximum-likelihood oracle (GO-UCB, section 4: Gaussian noise makes the
    likelihood's maximum the least squares').
    """
    r = w.shape[1]
    if r == 1:
        # NumPy sums a single column in another order than a column among several.
        twice = gradient_descent(
            np.repeat(w, 2, axis=1),
            np.repeat(x, 2, axis=1),
            np.repeat(y, 2, axis=1),
            steps=steps,
            learning_rate=learning_rate,
        )
        return twice[:, :1].copy()
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    w1, b1, w2, b2 = (np.ascontiguousarray(row) for row in w.copy())
    rate = 2.0 * learning_rate / len(x)
    s, residual, slope = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    total = np.empty(r)

    def descend(parameter: Array, terms: Array) -> None:
        np.add.reduce(terms, axis=0, out=total)
        np.multiply(total, rate, out=total)
        np.subtract(parameter, total, out=parameter)

    with np.errstate(over="ignore", invalid="ignore"):  # divergence is the caller's to see
        for _ in range(steps):
            np.multiply(x, w1, out=s)
            np.add(s, b1, out=s)
            np.negative(s, out=s)
            np.exp(s, out=s)
            np.add(s, 1.0, out=s)
            np.reciprocal(s, out=s)  # s = sigmoid(w1 x + b1)
            np.multiply(s, w2, out=residual)
            np.add(residual, b2, out=residual)
            np.subtract(residual, y, out=residual)  # f̂ - y
            np.subtract(1.0, s, out=slope)
            np.multiply(slope, s, out=slope)
            np.multiply(slope, w2, out=slope)
            np.multiply(slope, residual, out=slope)  # (f̂ - y) ∂f̂/∂b1
            np.multiply(s, residual, out=s)
            descend(w2, s)
            descend(b2, residual)
            descend(b1, slope)
            np.multiply(slope, x, out=slope)
            descend(w1, slope)
    return np.stack([w1, b1, w2, b2])


def _column_sums(terms: Array, axis: int) -> Array:
    """The sum over ``axis``, added up one by one: the same bits whatever the number of columns."""
    total = np.zeros(np.delete(terms.shape, axis))
    for i in range(terms.shape[axis]):
        total += np.take(terms, i, axis=axis)
    return total
