"""A sum of two bumps of a known width, f̂(x) = a1 e^(-(x - c1)²/2s²) + a2 e^(-(x - c2)²/2s²).

Not in the GO-UCB paper: a parametric family with several modes and the maximum inside the domain, which
its two-layer network (`replibo.surrogates.parametric`) cannot have. The functions are those of that
module, for parameters (a1, c1, a2, c2), in the same shapes: ``w`` is ``4 x r``, ``x`` and ``y`` are
``n x r``, and the arithmetic of one column never depends on the others.
"""

from __future__ import annotations

import numpy as np

from replibo.problems.base import Array

WIDTH = 0.15
"""s, in the unit of x."""


def predict(w: Array, x: Array) -> Array:
    """f̂(x; w), ``n x r``, for ``w``, ``4 x r``, and ``x``, ``n x r`` or ``n x 1``."""
    a1, c1, a2, c2 = w
    return a1 * _bump(x - c1) + a2 * _bump(x - c2)


def gradient(w: Array, x: Array) -> Array:
    """∇_w f̂(x; w), ``4 x n x r``, in the order (a1, c1, a2, c2)."""
    a1, c1, a2, c2 = w
    e1, e2 = _bump(x - c1), _bump(x - c2)
    scale = 1.0 / WIDTH**2
    return np.stack([e1, scale * a1 * (x - c1) * e1, e2, scale * a2 * (x - c2) * e2])


def loss_hessian(w: Array, x: Array, y: Array) -> Array:
    """∇²_w (1/n) Σ_i (f̂(x_i; w) - y_i)², ``4 x 4 x r``."""
    g = gradient(w, x)
    residual = predict(w, x) - y
    scale = 1.0 / WIDTH**2
    second = np.zeros((4, *g.shape))
    for i, (a, c) in ((0, w[:2]), (2, w[2:])):
        second[i, i + 1] = second[i + 1, i] = scale * (x - c) * g[i]
        second[i + 1, i + 1] = a * scale * (scale * (x - c) ** 2 - 1.0) * g[i]
    terms = 2.0 * (g[:, None] * g[None, :] + residual * second)
    mean: Array = terms.mean(axis=2)
    return mean


def gradient_descent(w: Array, x: Array, y: Array, *, steps: int, learning_rate: float) -> Array:
    """``steps`` full-batch gradient steps on the mean squared error, from ``w``; returns ``4 x r``."""
    if w.shape[1] == 1:  # NumPy sums a single column in another order than a column among several
        w, x, y = (np.repeat(a, 2, axis=1) for a in (w, x, y))
        return gradient_descent(w, x, y, steps=steps, learning_rate=learning_rate)[:, :1].copy()
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    a1, c1, a2, c2 = (np.ascontiguousarray(row) for row in w)
    scale, rate = 1.0 / WIDTH**2, 2.0 * learning_rate / len(x)
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is the caller's to see
        for _ in range(steps):
            d1, d2 = x - c1, x - c2
            e1, e2 = _bump(d1), _bump(d2)
            residual = a1 * e1 + a2 * e2 - y
            slopes = e1, scale * a1 * d1 * e1, e2, scale * a2 * d2 * e2  # as in `gradient`
            a1, c1, a2, c2 = (
                parameter - rate * np.add.reduce(residual * slope, axis=0)
                for parameter, slope in zip((a1, c1, a2, c2), slopes, strict=True)
            )
    return np.stack([a1, c1, a2, c2])


def _bump(distance: Array) -> Array:
    bump: Array = np.exp(distance * distance * (-0.5 / WIDTH**2))
    return bump
