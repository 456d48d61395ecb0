"""Reading IDX files: what is in them comes back, and whatever else lies there is one line."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from replibo.data.manifest import data_file, load_manifest
from replibo.data.mnist import FILES, read_images, read_labels, read_mnist
from replibo.errors import RepliboError
from replibo.streams import generator

from .conftest import put

N = 5
IMAGES = generator("images").integers(0, 256, size=(N, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 0, 9, 1, 1], np.uint8)


def idx(values: np.ndarray, *, code: int = 8) -> bytes:
    head = struct.pack(f">HBB{values.ndim}I", 0, code, values.ndim, *values.shape)
    return head + values.tobytes()


def refused(read: Callable[[Path, int], object], path: Path, n: int, words: str) -> None:
    with pytest.raises(RepliboError) as error:
        read(path, n)
    line = str(error.value)
    assert line.startswith(f"{path}: ") and words in line and "\n" not in line


def test_what_was_written_is_read(tmp_path: Path) -> None:
    for read, values in ((read_images, IMAGES), (read_labels, LABELS)):
        values_read = read(put(tmp_path / "x", gzip.compress(idx(values))), N)
        assert values_read.dtype == np.uint8
        np.testing.assert_array_equal(values_read, values.reshape(N, *values_read.shape[1:]))


HUGE = struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 28, 28)
"""A header that promises what is not there: refused before anything is allocated for it."""


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (read_images, idx(LABELS), "must hold 5 images of 28 x 28 pixels, got labels"),
        (read_labels, idx(IMAGES), "must hold 5 labels, got images"),
        *((read_images, idx(IMAGES)[:left], "truncated") for left in (-1, 20, 17, 16, 15, 9, 4)),
        *((read_images, idx(IMAGES)[:left], "not IDX") for left in (3, 0)),
        (read_images, idx(IMAGES) + b"\0", "too long"),
        (read_labels, idx(LABELS) + b"\0", "too long"),
        (read_images, idx(IMAGES[:4]), "got 4 images of 28 x 28 pixels"),
        (read_images, idx(IMAGES[:, :27]), "got 5 images of 27 x 28 pixels"),
        (read_images, idx(IMAGES[:, :, :8]), "got 5 images of 28 x 8 pixels"),
        (read_labels, idx(LABELS[:4]), "must hold 5 labels, got 4 labels"),
        (read_images, HUGE, "4294967295 images"),
        (read_images, b"n,theta,r,t,toughness\n" * 9, "not IDX"),
        (read_images, idx(IMAGES, code=13), "not IDX of bytes"),
        (read_images, idx(IMAGES[0]), "an array of 2 dimensions"),
        (read_labels, b"", "not IDX"),
        (read_labels, idx(np.full(N, 10, np.uint8)), "0 to 9, got 10"),
    ],
)
def test_another_content_is_refused(
    tmp_path: Path, read: Callable[[Path, int], object], content: bytes, words: str
) -> None:
    refused(read, put(tmp_path / "x", gzip.compress(content)), N, words)


COMPRESSED = gzip.compress(idx(IMAGES), mtime=0)
FLIPPED = bytearray(COMPRESSED)
FLIPPED[len(FLIPPED) // 2] ^= 0xFF


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((COMPRESSED[:cut], "gzip") for cut in (-1, -8, 500, 12, 5, 1)),
        (bytes(FLIPPED), "gzip"),
        (idx(IMAGES), "not gzip"),
    ],
)
def test_a_damaged_gz_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    refused(read_images, put(tmp_path / "x", content), N, words)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    refused(read_images, tmp_path / "x", N, "no file")
    refused(read_images, tmp_path, N, "directory")


def test_the_four_files_have_names_of_the_manifest(tmp_path: Path) -> None:
    assert set(FILES) <= set(load_manifest())
    data = {name: tmp_path / name for name in FILES}
    for name in FILES:
        some = {other: path for other, path in data.items() if other != name}
        with pytest.raises(RepliboError, match=f"must hold '{name}' for MNIST, got mnist"):
            read_mnist(some)


@pytest.mark.real_data
def test_mnist_itself() -> None:
    mirror = Path(os.environ["REPLIBO_DATA_MIRROR"])
    digits = read_mnist({name: mirror / data_file(name).path_in_mirror for name in FILES})
    assert [len(part) for part in digits] == [60_000, 60_000, 10_000, 10_000]
    # as the authors of MNIST publish them: the first labels, and the classes' sizes
    assert digits.train_labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert digits.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(digits.train_labels).tolist() == counts
    # the mean and standard deviation that are given everywhere, 0.1307 and 0.3081
    assert digits.train_images.mean() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert np.sqrt(np.mean(np.square(digits.train_images, dtype=np.uint16))) / 255 == pytest.approx(
        np.hypot(0.1307, 0.3081), abs=1e-4
    )
