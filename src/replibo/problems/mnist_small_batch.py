"""The inner problem of the BBO paper with the batches of its algorithms: one example a step."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from replibo.data.mnist import CLASSES, SIZE
from replibo.problems.mnist_cnn import MnistCnn
from replibo.problems.networks.small_batch import SmallBatchNetwork


class MnistSmallBatch(MnistCnn):
    """Minus the validation loss of the network of `MnistCnn`, trained on batches of a few images.

    Algorithms 1 and 2 (line 3) and the proof of Theorem 1 (B.4; Fu et al. 2024) take one example a step:
    ``batch_size`` 1. Networks and settings are those of `MnistCnn`; only the passes over the validation
    and test sets take more images at a time.
    """

    @cached_property
    def network(self) -> SmallBatchNetwork:
        """The network and its buffers; each training draws all its weights anew."""
        images = self.sets.train[0]
        mean = float(np.mean(images))
        variance = float(np.mean(np.square(images, dtype=np.uint16))) - mean**2
        return SmallBatchNetwork(
            SIZE,
            self._channels,
            CLASSES,
            self.batch_size,
            pixel_mean=mean,
            pixel_std=math.sqrt(variance),
        )
