"""CPU time of a training step of the BBO paper's network, batch 64, one thread: ours and PyTorch's.

Two ways to take the same steps on 50,000 images in memory: `replibo.problems.networks.cnn`, and the plain
PyTorch loop (`DataLoader` over a `TensorDataset`, autograd, `torch.optim.SGD`). The images are random, so
that nothing has to be downloaded; times do not depend on them.

Measured, CPU ms a step, one thread: 0.69 to 0.73; PyTorch with DataLoader 1.93 to 2.31.
"""

# ruff: noqa: E402  (the threads are set before the imports)
from __future__ import annotations

import os

# Before NumPy is loaded: runs take one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from replibo.problems.networks.cnn import ConvolutionalNetwork, train
from replibo.streams import generator

IMAGES, BATCH, CLASSES, SIZE = 50_000, 64, 10, 28


def cpu_ms(work: Callable[[], object], repeats: int, parts: int) -> float:
    """CPU milliseconds of one of the ``parts`` of ``work``: the least and the median of repeats."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    print(f"{1e3 * min(seconds) / parts:8.3f} (median {1e3 * np.median(seconds) / parts:.3f})")
    return 1e3 * min(seconds) / parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="steps of one repeat (200)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each way (5)")
    parser.add_argument(
        "--channels", type=int, nargs="+", default=[8, 16], help="of the convolutions (8 16)"
    )
    arguments = parser.parse_args()
    steps, repeats, channels = arguments.steps, arguments.repeats, tuple(arguments.channels)

    rng = generator("benchmark", "mnist_cnn")
    images = rng.integers(0, 256, size=(IMAGES, SIZE * SIZE), dtype=np.uint8)
    labels = rng.integers(0, CLASSES, size=IMAGES, dtype=np.uint8)
    batches = rng.integers(IMAGES, size=(steps, BATCH))
    network = ConvolutionalNetwork(SIZE, channels, CLASSES, BATCH, pixel_mean=127.5, pixel_std=73.9)
    network.initialise(rng)
    train(network, images, labels, batches[:5], learning_rate=0.01)
    print(f"channels {channels}; CPU ms, one thread, the least of {repeats} repeats")
    print("step, replibo                 ", end="")
    ours = cpu_ms(
        lambda: train(network, images, labels, batches, learning_rate=0.01), repeats, steps
    )

    torch.set_num_threads(1)
    X = (torch.from_numpy(images).float().reshape(-1, 1, SIZE, SIZE) - 127.5) / 73.9
    y = torch.from_numpy(labels).long()
    layers: list[nn.Module] = []
    for into, out in zip((1, *channels), channels, strict=False):
        layers += [nn.Conv2d(into, out, 3, stride=2, padding=1), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(CLASSES))
    model(X[:1])
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()

    def torch_steps(some: Iterator[Any]) -> None:
        for images_now, labels_now in some:
            optimiser.zero_grad()
            loss_of(model(images_now), labels_now).backward()
            optimiser.step()

    loader = DataLoader(TensorDataset(X, y), batch_size=BATCH, shuffle=True)
    torch_steps(islice(loader, 5))
    print("step, PyTorch with DataLoader ", end="")
    plain = cpu_ms(lambda: torch_steps(islice(loader, steps)), repeats, steps)
    print(f"PyTorch takes {plain / ours:.1f} times as long")


if __name__ == "__main__":
    main()
