"""Sensitive samples as the compiled code of NeuralBO's authors has them: f by the largest output.

The first commit of their repository (phantrdat/neuralbo, d32f12a) has an older version of their
code in compiled files (``__pycache__/objectives.cpython-311.pyc``). Its network is the 784-10-10
one that ends in log-softmax. Its box and its linear upscaling are the paper's. It differentiates
the largest of the ten outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replibo.problems.base import Array
from replibo.problems.networks.digit_classifier import softmax
from replibo.problems.sensitive_samples import SensitiveSamples, Upscaling
from replibo.settings import Count, Natural


class LargestOutput(SensitiveSamples):
    """‖∂ log p_k(x; θ)/∂θ‖ with k the label of the image x: of ten outputs the largest alone.

    Otherwise as `SensitiveSamples`, settings and errors included. Log p_k is largest where the model is
    sure, and hardly depends on the weights there: so this f leads away from such images, where the
    norm of all ten leads to them.
    """

    def __init__(
        self,
        *,
        upscaling: Upscaling = "bilinear",
        epochs: Count = 6,
        classifier_seed: Natural = 0,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        super().__init__(
            upscaling=upscaling, epochs=epochs, classifier_seed=classifier_seed, data=data
        )

    def recorded(self) -> dict[str, Any]:
        """As `SensitiveSamples.recorded`."""
        return super().recorded() | {"outputs": "largest log_softmax"}

    def evaluate_true(self, X: Array) -> Array:
        # With p the softmax of the logits z, ∂ log p_k/∂z = e_k - p; for the rest see `jacobian_norms`.
        # The ones stand for the biases.
        images = X @ self._upscale.T
        hidden, logits = self.classifier.forward(images)
        by_logits = np.eye(logits.shape[1])[logits.argmax(axis=1)] - softmax(logits)
        by_hidden = (by_logits @ self.classifier.W2) * (hidden > 0)
        active = np.maximum(hidden, 0.0)
        output_layer = np.sum(by_logits**2, axis=1) * (np.sum(active**2, axis=1) + 1)
        hidden_layer = np.sum(by_hidden**2, axis=1) * (np.sum(images**2, axis=1) + 1)
        return np.sqrt(output_layer + hidden_layer)
