"""The empirical tangent kernel of a two-layer ReLU network, and the variance that NeuralBO takes from it.

NeuralBO (Phan-Trong, Tran-The and Gupta 2023), Algorithm 1. The network is h(x; θ) = √m W₂ relu(W₁ x)
(section 7) and g(x) = ∇_θ h(x; θ₀), with the √m in it:

    ∂h/∂W₂,j = √m relu(w₁,j·x)        ∂h/∂w₁,j = √m W₂,j 1[w₁,j·x > 0] x

Lines 1, 3 and 7: U_t = λI + Σ_i g(x_i) g(x_i)ᵀ/m and σ²(x) = λ g(x)ᵀ U⁻¹ g(x)/m. With φ = g/√m the √m
cancels: no power of m is left in the kernel

    k(x, x') = φ(x)·φ(x') = relu(W₁x)·relu(W₁x') + (x·x') Σ_j W₂,j² 1[w₁,j·x > 0] 1[w₁,j·x' > 0]

and, by Woodbury's identity, σ²(x) = k(x, x) − k_t(x)ᵀ (λI + K_t)⁻¹ k_t(x). U is p × p, p = m(d + 1):
20 GB at d = 100; K_t is t × t. `DualVariance` is the second form, `PrimalVariance` the printed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from replibo.problems.base import Array
from replibo.surrogates.bounds import BOUNDING, worth_bounding

if TYPE_CHECKING:
    from torch import Tensor

# Rows that the factor's buffers begin with; they double when full, and grow by `MORE_ROWS` where that is
# less (a factor of twice the rows has four times the memory). Fixed, because the alignment of a row may
# decide its last bits: an object that is rebuilt row by row passes through the same buffers.
FIRST_CAPACITY = 64
MORE_ROWS = 1024

BLOCK = 256


@dataclass(frozen=True)
class Features:
    """What the kernel needs of ``n`` points; φ itself would be ``n x p``.

    Attributes:
        inputs: ``n x d``, x.
        active: ``n x m``, relu(W₁x).
        gates: ``n x m``, W₂,j 1[w₁,j·x > 0].
    """

    inputs: Tensor
    active: Tensor
    gates: Tensor


class TangentKernel:
    """k(x, x') at the weights θ₀; float64.

    Args:
        hidden: ``m x d``, W₁.
        output: ``m``, W₂.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, hidden: Array, output: Array, *, device: str = "cpu") -> None:
        import torch

        self.device = torch.device(device)
        self.hidden = torch.tensor(hidden, dtype=torch.float64, device=self.device)
        self.output = torch.tensor(output, dtype=torch.float64, device=self.device)
        self.width, self.dim = self.hidden.shape
        self.parameters = self.width * (self.dim + 1)

    def features(self, X: Array) -> Features:
        """The features of the points ``X``, ``n x d``."""
        import torch

        inputs = torch.tensor(X, dtype=torch.float64, device=self.device)
        active = inputs @ self.hidden.T
        gates = (active > 0) * self.output
        return Features(inputs, active.relu_(), gates)

    def diagonal(self, of: Features) -> Tensor:
        """k(x, x), shape ``n``."""
        squared_norms = of.inputs.square().sum(1)
        squared_gates = of.gates.square().sum(1)
        return of.active.square().sum(1) + squared_norms * squared_gates

    def matrix(self, left: Features, right: Features) -> Tensor:
        """k between the points of ``left`` and of ``right``, ``n x m``."""
        K = left.active @ right.active.T
        K.addcmul_(left.inputs @ right.inputs.T, left.gates @ right.gates.T)
        return K

    def gradients(self, of: Features) -> Tensor:
        """g(x)/√m, ``n x p``: by W₁ row after row, and by W₂."""
        import torch

        by_hidden = (of.gates[:, :, None] * of.inputs[:, None, :]).flatten(1)
        return torch.cat([by_hidden, of.active], dim=1)

    def tensors(self) -> list[Tensor]:
        """What it holds."""
        return [self.hidden, self.output]


class Variance(Protocol):
    """σ²(x) given the points observed so far, in either form."""

    def __len__(self) -> int: ...

    def append(self, x: Array) -> None:
        """Take in the point ``x``, shape ``d`` (line 7)."""

    def variance(self, X: Array) -> Array:
        """σ²(x) at the points ``X``, ``n x d``: shape ``n``, not negative (line 3)."""

    def upper_bound(self, X: Array) -> Array | None:
        """At least σ²(x), shape ``n``; None where that is no less work than σ² itself."""

    def covariance(self, X: Array) -> Array:
        """The covariance that σ² is the diagonal of, between the points ``X``, ``n x d``: ``n x n``."""

    def bytes(self) -> int:
        """Memory held by its tensors."""


class DualVariance:
    """σ² by the Cholesky factor L of λI + K_t, to which each observation appends a row.

    Row t + 1 is (L⁻¹ k_t(x), sqrt(λ + k(x, x) − ‖L⁻¹ k_t(x)‖²)); what is under the root is λ + σ²(x),
    so that a point may be observed again and again. A row depends on the order of the observations and
    on nothing else: an object that takes in the same ones has the same bits.

    O(t²) memory and time per row; σ² at n points takes n t (t + 2m) multiplications.

    Args:
        kernel: the tangent kernel at θ₀.
        regularizer: λ > 0.
    """

    _factor: Tensor  # capacity x capacity, L in its lower triangle
    _inputs: Tensor  # capacity x d; this and the next two: the features of the points observed
    _active: Tensor  # capacity x m
    _gates: Tensor  # capacity x m

    def __init__(self, kernel: TangentKernel, regularizer: float) -> None:
        self.kernel, self.regularizer = kernel, regularizer
        self._n = 0
        self._allocate(FIRST_CAPACITY)

    def __len__(self) -> int:
        return self._n

    def append(self, x: Array) -> None:
        if self._n == len(self._factor):
            self._allocate(self._n + min(self._n, MORE_ROWS))
        n, new = self._n, self.kernel.features(x[None, :])
        row = self._factor[n, :n]
        if n:
            k = self.kernel.matrix(self._features(n), new)
            row.copy_(self._solve(k)[:, 0])
        rest = self.kernel.diagonal(new)[0] - row.dot(row)
        self._factor[n, n] = (self.regularizer + rest.clamp_min(0.0)).sqrt()
        self._inputs[n], self._active[n], self._gates[n] = (
            new.inputs[0],
            new.active[0],
            new.gates[0],
        )
        self._n += 1

    def variance(self, X: Array) -> Array:
        n, new = self._n, self.kernel.features(X)
        prior = self.kernel.diagonal(new)
        if n == 0:
            return np.asarray(prior.cpu())
        return self._posterior(prior, self._solve(self.kernel.matrix(self._features(n), new)))

    def upper_bound(self, X: Array) -> Array | None:
        """σ² given the last `BOUNDING` observations alone."""
        import torch

        n = self._n
        if not worth_bounding(n):
            return None
        new, last = self.kernel.features(X), self._features(n, n - BOUNDING)
        prior, K = self.kernel.diagonal(new), self.kernel.matrix(last, last)
        K.diagonal().add_(self.regularizer)
        L, failed = torch.linalg.cholesky_ex(K)
        if failed:  # a tiny λ, and points that come again
            return np.asarray(prior.cpu())
        k = self.kernel.matrix(last, new)
        return self._posterior(prior, torch.linalg.solve_triangular(L, k, upper=False))

    def covariance(self, X: Array) -> Array:
        new = self.kernel.features(X)
        prior = self.kernel.matrix(new, new)
        if self._n:
            explained = self._solve(self.kernel.matrix(self._features(self._n), new))
            prior.addmm_(explained.T, explained, alpha=-1.0)
        return np.asarray(prior.cpu())

    def bytes(self) -> int:
        held = [self._factor, self._inputs, self._active, self._gates]
        return _bytes(held + self.kernel.tensors())

    def _solve(self, K: Tensor) -> Tensor:
        """L⁻¹ K in place, ``t x n``, by blocks of rows. L is a part of a buffer, so PyTorch would
        copy the whole of it at each call, which took up to two thirds of an append."""
        import torch

        for first in range(0, len(K), BLOCK):
            L, here = self._factor[first : first + BLOCK], K[first : first + BLOCK]
            if first:
                here.addmm_(L[: len(here), :first], K[:first], alpha=-1.0)
            diagonal = L[: len(here), first : first + len(here)]
            torch.linalg.solve_triangular(diagonal, here, upper=False, out=here)
        return K

    def _features(self, n: int, first: int = 0) -> Features:
        return Features(self._inputs[first:n], self._active[first:n], self._gates[first:n])

    @staticmethod
    def _posterior(prior: Tensor, V: Tensor) -> Array:
        """σ² from k(x, x) and V = L⁻¹k, which is overwritten."""
        return np.asarray((prior - V.square_().sum(0)).clamp_min_(0.0).cpu())

    def _allocate(self, capacity: int) -> None:
        """Buffers of ``capacity`` rows that hold what the present ones hold."""
        n, empty = self._n, self.kernel.hidden.new_zeros
        old = (self._factor, self._inputs, self._active, self._gates) if n else ()
        self._factor = empty(capacity, capacity)
        self._inputs = empty(capacity, self.kernel.dim)
        self._active = empty(capacity, self.kernel.width)
        self._gates = empty(capacity, self.kernel.width)
        new = (self._factor, self._inputs, self._active, self._gates)
        for to, of in zip(new, old, strict=bool(n)):
            to[:n, : of.shape[1]] = of[:n]


class PrimalVariance:
    """σ² as printed, by a p × p matrix: its memory does not grow with t.

    Line 7 adds φφᵀ to U and line 3 needs U⁻¹. What is held is P = λU⁻¹, which begins as the identity; by
    Sherman and Morrison's identity line 7 takes from it

        Pφ (Pφ)ᵀ / (λ + φᵀPφ),   and line 3 is σ²(x) = φᵀPφ.

    O(p²) time per row, where a factor of U would take O(p³) before each query; σ² at n points takes n p²
    multiplications. The matrix is 8p² bytes: `bytes_needed`, before it is made. The arguments are as of
    `DualVariance`.
    """

    def __init__(self, kernel: TangentKernel, regularizer: float) -> None:
        import torch

        self.kernel, self.regularizer = kernel, regularizer
        self._n = 0
        self._P = torch.eye(kernel.parameters, dtype=torch.float64, device=kernel.device)

    def __len__(self) -> int:
        return self._n

    def append(self, x: Array) -> None:
        phi = self.kernel.gradients(self.kernel.features(x[None, :]))[0]
        step = self._P @ phi
        step /= (self.regularizer + phi.dot(step).clamp_min(0.0)).sqrt()
        self._P.addr_(step, step, alpha=-1.0)
        self._n += 1

    def variance(self, X: Array) -> Array:
        phi = self.kernel.gradients(self.kernel.features(X))
        return np.asarray((phi @ self._P).mul_(phi).sum(1).clamp_min_(0.0).cpu())

    def upper_bound(self, X: Array) -> None:
        return None

    def covariance(self, X: Array) -> Array:
        phi = self.kernel.gradients(self.kernel.features(X))
        return np.asarray((phi @ self._P @ phi.T).cpu())

    def bytes(self) -> int:
        return _bytes([self._P, *self.kernel.tensors()])

    @staticmethod
    def bytes_needed(parameters: int, points: int) -> int:
        """Memory for p = ``parameters``, and for σ² at that many ``points``."""
        return 8 * parameters * (parameters + 2 * points)


def _bytes(tensors: list[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
