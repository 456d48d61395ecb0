"""Reading MNIST: the four IDX files, checked for what they hold.

An IDX file is a magic number (0, 0, the type's code, the number of dimensions), the dimensions as
32-bit big-endian integers, and the values. A file's digest is checked where it is fetched; its
structure is checked here, so that a file from elsewhere gives one clear line instead of nonsense.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replibo.errors import RepliboError, allowed

SIZE, CLASSES = 28, 10
TRAIN, TEST = 60_000, 10_000
FILES = ("mnist_train_images", "mnist_train_labels", "mnist_test_images", "mnist_test_labels")

_UNSIGNED_BYTES = 0x08
_WORDS = {3: "images", 1: "labels"}  # by the number of dimensions


class Digits(NamedTuple):
    """Images of digits (``n x 784``, rows one after the other, 0 to 255) and their labels (``n``)."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]


def read_mnist(data: Mapping[str, Path]) -> Digits:
    """MNIST from its files, by their names in the manifest (`FILES`).

    Raises:
        RepliboError: one line. A file was not given, is missing, truncated, not gzip or not
            IDX, holds labels for images or the reverse, or another number or size of images.
    """
    for name in FILES:
        if name not in data:
            raise RepliboError(f"data: must hold {name!r} for MNIST, got {allowed(data)}")
    train_images, train_labels, test_images, test_labels = (data[name] for name in FILES)
    return Digits(
        read_images(train_images, TRAIN),
        read_labels(train_labels, TRAIN),
        read_images(test_images, TEST),
        read_labels(test_labels, TEST),
    )


def read_images(path: Path, n: int) -> NDArray[np.uint8]:
    """``n`` images of 28 x 28 pixels from a compressed IDX file, ``n x 784``."""
    return _read(Path(path), (n, SIZE, SIZE)).reshape(n, SIZE * SIZE)


def read_labels(path: Path, n: int) -> NDArray[np.uint8]:
    """``n`` labels, 0 to 9, from a compressed IDX file, ``n``."""
    labels = _read(Path(path), (n,))
    if labels.max() >= CLASSES:
        raise RepliboError(f"{path}: labels must be 0 to {CLASSES - 1}, got {labels.max()}")
    return labels


def _read(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    header, length = 4 + 4 * len(shape), int(np.prod(shape))
    wanted = f"{path}: must hold {_described(shape)}, got"
    try:
        with gzip.open(path, "rb") as file:
            # One byte more than there should be tells a longer file from the right one.
            content = file.read(header + length + 1)
    except FileNotFoundError:
        raise RepliboError(f"{wanted} no file") from None
    except EOFError:
        raise RepliboError(f"{wanted} truncated gzip") from None
    except (gzip.BadGzipFile, zlib.error):
        raise RepliboError(f"{wanted} corrupt gzip, or not gzip") from None
    except OSError as error:
        raise RepliboError(f"{wanted}: {error.strerror or error}") from None
    if len(content) < 4 or content[:3] != bytes((0, 0, _UNSIGNED_BYTES)):
        raise RepliboError(f"{wanted} a file that is not IDX of bytes")
    if content[3] != len(shape):
        found = _WORDS.get(content[3], f"an array of {content[3]} dimensions")
        raise RepliboError(f"{wanted} {found}")
    if len(content) >= header:
        found_shape = tuple(np.frombuffer(content, ">u4", len(shape), offset=4).tolist())
        if found_shape != shape:
            raise RepliboError(f"{wanted} {_described(found_shape)}")
    if len(content) != header + length:
        fault = "truncated" if len(content) < header + length else "too long"
        raise RepliboError(f"{wanted} values that are {fault}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _described(shape: tuple[int, ...]) -> str:
    size = f" of {' x '.join(str(length) for length in shape[1:])} pixels" if shape[1:] else ""
    return f"{shape[0]} {_WORDS[len(shape)]}{size}"
