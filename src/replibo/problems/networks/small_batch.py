"""The network of `replibo.problems.networks.cnn`, trained on batches too small to be evaluated on."""

from __future__ import annotations

from typing import Any

import numpy as np

from replibo.problems.networks.cnn import ConvolutionalNetwork, Floats, Indices, Labels, Pixels

EVALUATED = 200
"""Images in a pass without a gradient. One by one the 20,000 images of a validation and a test set take
longer than a thousand steps."""


class SmallBatchNetwork(ConvolutionalNetwork):
    """A network whose steps take ``batch`` images, and its passes without a gradient `EVALUATED`.

    Args:
        size, channels, classes, batch: as of `ConvolutionalNetwork`.
        pixels: ``pixel_mean`` and ``pixel_std``.
    """

    def __init__(
        self, size: int, channels: tuple[int, ...], classes: int, batch: int, **pixels: Any
    ) -> None:
        super().__init__(size, channels, classes, EVALUATED, **pixels)
        self._trained = ConvolutionalNetwork(size, channels, classes, batch, **pixels)
        self._evaluated = self.parameters
        self.parameters, self.gradient = self._trained.parameters, self._trained.gradient
        self.weights = self._trained.weights

    def forward(self, images: Pixels, rows: Indices) -> Floats:
        """The logits, ``classes x EVALUATED``, of the ``rows`` of ``images``."""
        np.copyto(self._evaluated, self.parameters)
        return super().forward(images, rows)

    def loss_and_gradient(self, images: Pixels, labels: Labels, rows: Indices) -> float:
        """The mean cross-entropy of a small batch; its gradient is in `gradient` then."""
        return self._trained.loss_and_gradient(images, labels, rows)
