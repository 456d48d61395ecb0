"""The smallest validation cross-entropy of softmax regression on MNIST, from which the regret of the BBO
paper's convex problem (`replibo.problems.mnist_softmax`) is counted: L-BFGS on the training images,
stopped where the validation set says.

    python benchmarks/softmax_regression.py FOLDER   (that holds mnist/ with its four files)

Measured: 0.2873 nats after 69 of 150 iterations (`smallest_loss` in config/bbo.yaml); 33 s of CPU. With
--noise 0.5 (`replibo.problems.mnist_noisy_labels`): 1.8346 nats, still falling after 100 iterations.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from replibo.data.manifest import load_manifest
from replibo.data.mnist import CLASSES
from replibo.problems.mnist_cnn import MnistCnn
from replibo.problems.mnist_noisy_labels import noisy_loss
from replibo.problems.mnist_softmax import inputs


def main() -> None:
    """Print the smallest validation loss on the way, and where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--noise", type=float, default=0.0, help="the share of random labels")
    arguments = parser.parse_args()
    manifest = load_manifest()
    names = [name for name in manifest if name.startswith("mnist_")]
    sets = MnistCnn(data={name: arguments.folder / manifest[name].path for name in names}).sets
    (X, labels), (V, held_out) = ((inputs(images), own) for images, own in sets[:2])
    n, shape = len(X), (CLASSES, X.shape[1])
    noise = arguments.noise
    right = (1 - noise) * np.eye(CLASSES, dtype=np.float32)[labels] + noise / CLASSES
    found: list[float] = []

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        weights = theta.reshape(shape).astype(np.float32)
        residual = softmax(X @ weights.T, axis=1) - right
        return noisy_loss(weights, X, labels, noise), (residual.T @ X / n).ravel().astype(float)

    def look(theta: np.ndarray) -> None:
        weights = theta.reshape(shape).astype(np.float32)
        found.append(noisy_loss(weights, V, held_out, noise))

    minimize(
        loss,
        np.zeros(np.prod(shape)),
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": arguments.iterations},
    )
    print(f"smallest {min(found):.4f} nats after {np.argmin(found) + 1} of {len(found)} iterations")


if __name__ == "__main__":
    main()
