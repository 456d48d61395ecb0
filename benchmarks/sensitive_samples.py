"""CPU time of NeuralBO's sensitive samples, one thread: training the classifier, calibrating the
tampering, evaluating the objective, and the detection that Figure 3 is made of.

Without a folder: on the stand-in, which has 300 test images in place of 10,000. Peak memory at the end.

Measured on MNIST, CPU s: read and trained 1.4, tampering 5.0; an evaluation 0.03 ms; peak 262 MB.
"""

# ruff: noqa: E402  (the threads are set before the imports)
from __future__ import annotations

import os

# Before NumPy is loaded: runs take one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from replibo.data.mnist import FILES
from replibo.problems.sensitive_samples import SensitiveSamples, detections, upscaling_operator
from replibo.streams import generator

NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


T = TypeVar("T")


def timed(what: str, work: Callable[[], T]) -> T:
    """Do it and print its CPU seconds."""
    start = time.process_time()
    result = work()
    print(f"{what:44} {time.process_time() - start:9.4f} s")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, help="folder with the four files of MNIST")
    folder = parser.parse_args().mnist
    data = {key: folder / name for key, name in zip(FILES, NAMES, strict=True)} if folder else None

    problem = timed("read and trained", lambda: SensitiveSamples(data=data))
    print(problem.stand_in or f"MNIST, test accuracy {100 * problem.accuracy:.2f} %")
    tampering = timed("tampering calibrated, 1,000 models", lambda: problem.tampering)
    print(f"  {tampering}")

    X = problem.to_native(generator("benchmark", "images").uniform(size=(1000, problem.dim)))
    timed("1,000 evaluations, one by one", lambda: [problem.evaluate_true(x[None]) for x in X])
    f = timed("1,000 evaluations at once", lambda: problem.evaluate_true(X))
    images = X[:100] @ upscaling_operator(problem.upscaling).T
    found = timed(
        "detection of 1,000 models by 100 images",
        lambda: detections(problem.classifier, tampering.sd, images),
    )
    print(
        f"  objective {np.quantile(f, [0, 0.5, 1]).round(2)}, an image detects {found.mean():.3f}"
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
