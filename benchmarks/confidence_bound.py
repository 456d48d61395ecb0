"""Lemma 3 of the NeuralBO paper: is |h(x) − f(x)| at most ν_t σ_t(x)?

    python benchmarks/confidence_bound.py

NeuralBO as printed runs on the three synthetic functions at D = 10, five seeds of 200 rounds. After the
last round the script compares h and σ with f at 2,000 uniform points, and at 2,000 points around the
best query. For each set it prints the share of points with |h − f| ≤ σ (the printed ν = 1), the ν that
95 % of the points need, the ν that all need, and the ν that all would need with 0 in the place of h.
Beside these is the lemma's own ν_t = √2 B + R √(2 log(1/α))/√λ without its term ε(m): R is the noise's
standard deviation, α = .05, and B the smallest norm of a function of the tangent kernel's space that
passes through f at 1,000 uniform points, which f's norm exceeds.
"""

from __future__ import annotations

import numpy as np

from replibo.algorithms.base import History, Space
from replibo.algorithms.neural_bo import NeuralBO
from replibo.problems.base import Array
from replibo.problems.synthetic import Synthetic
from replibo.streams import RunStreams
from replibo.surrogates.tangent_kernel import DualVariance, TangentKernel

DIM, ROUNDS, SEEDS, POINTS = 10, 200, 5, 2000
NEAR = 0.05
"""Standard deviation of the points around the best query, as a share of the box's edge."""
ALPHA = 0.05


def run(problem: Synthetic, seed: int) -> tuple[NeuralBO, History]:
    """NeuralBO after the last round, and its observations."""
    streams = RunStreams("benchmark", "confidence_bound", type(problem).__name__, seed)
    history = History(problem.dim, problem.dim + 1)
    algorithm = NeuralBO(Space(problem.dim, problem.noise_std), streams)
    points = streams.initial().uniform(size=(problem.dim + 1, problem.dim))
    for query in range(problem.dim + 1 + ROUNDS):
        if query < len(points):
            x = points[query]
        else:
            x = np.asarray(algorithm.ask(history, query - problem.dim).x)
        history.append(x, problem.observe(problem.to_native(x), streams, query).y)
        algorithm.tell(history)
    return algorithm, history


def needed(algorithm: NeuralBO, history: History, problem: Synthetic, X: Array) -> Array:
    """|h − f| / σ and |f| / σ at points of the unit cube (``n x d``): shape ``2 x n``."""
    fit = algorithm.fit(history)
    h = fit.centre + fit.scale * algorithm.prediction(X, fit)
    kernel = TangentKernel(*algorithm.start_weights)
    variance = DualVariance(kernel, algorithm.regularizer)
    for x in algorithm.inputs(history.X):
        variance.append(x)
    sigma = variance.variance(algorithm.inputs(X)) ** 0.5
    f = problem.evaluate_true(problem.to_native(X))
    return np.asarray(np.abs([h - f, f]) / sigma)


def smallest_norm(algorithm: NeuralBO, problem: Synthetic, rng: np.random.Generator) -> float:
    """The norm of the smoothest function of the tangent kernel through f at 1,000 points."""
    X = rng.uniform(size=(1000, problem.dim))
    kernel = TangentKernel(*algorithm.start_weights)
    features = kernel.features(algorithm.inputs(X))
    K = kernel.matrix(features, features).numpy()
    f = problem.evaluate_true(problem.to_native(X))
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return float(np.sqrt(np.sum((vectors[:, kept].T @ f) ** 2 / values[kept])))


def main() -> None:
    """Print one line for each function and set of points."""
    print("function     points   |h−f| ≤ σ  ν for 95 %  ν for all  with h = 0    lemma's ν")
    for name in ("Ackley", "Levy", "Michalewicz"):
        problem = Synthetic(function=name, dim=DIM)
        ratios: dict[str, list[Array]] = {"uniform": [], "near": []}
        bounds = []
        for seed in range(SEEDS):
            algorithm, history = run(problem, seed)
            rng = np.random.default_rng(seed)
            best = history.X[np.argmax(history.y)]
            near = best + NEAR * rng.standard_normal((POINTS, problem.dim))
            for points, X in (
                ("uniform", rng.uniform(size=(POINTS, problem.dim))),
                ("near", np.clip(near, 0, 1)),
            ):
                ratios[points].append(needed(algorithm, history, problem, X))
            noise = problem.noise_std * np.sqrt(2 * np.log(1 / ALPHA) / algorithm.regularizer)
            bounds.append(np.sqrt(2) * smallest_norm(algorithm, problem, rng) + noise)
        for points, parts in ratios.items():
            ratio, flat = np.concatenate(parts, axis=1)
            print(
                f"{name:12} {points:8} {np.mean(ratio <= 1):9.3f} {np.quantile(ratio, 0.95):11.3g} "
                f"{ratio.max():10.3g} {flat.max():11.3g} {np.median(bounds):12.3g}"
            )


if __name__ == "__main__":
    main()
