"""Files in MNIST's format."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from replibo.data.mnist import FILES
from replibo.problems.mnist_cnn import small_digits


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The stand-in's digits as files of MNIST's format, in their own numbers."""
    digits = small_digits()
    monkeypatch.setattr("replibo.data.mnist.TRAIN", len(digits.train_labels))
    monkeypatch.setattr("replibo.data.mnist.TEST", len(digits.test_labels))
    shapes = ((-1, 28, 28), (-1,), (-1, 28, 28), (-1,))
    paths = {}
    for name, values, shape in zip(FILES, digits, shapes, strict=True):
        array = values.reshape(shape)
        head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
        paths[name] = tmp_path / f"{name}.gz"
        paths[name].write_bytes(gzip.compress(head + array.tobytes(), compresslevel=1))
    return paths
