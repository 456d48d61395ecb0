"""Reading IDX files: what is in them comes back, and whatever else lies there is one line."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from replibo.data.manifest import data_file, load_manifest
from replibo.data.mnist import FILES, read_images, read_labels, read_mnist
from replibo.errors import RepliboError
from replibo.streams import generator

N = 5
IMAGES = generator("images").integers(0, 256, size=(N, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 0, 9, 1, 1], np.uint8)


def idx(values: np.ndarray, *, code: int = 8) -> bytes:
    head = struct.pack(f">HBB{values.ndim}I", 0, code, values.ndim, *values.shape)
    return head + values.tobytes()


@pytest.fixture
def packed(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(content: bytes, *, cut: int | None = None) -> Path:
        path = tmp_path / "digits.gz"
        path.write_bytes(gzip.compress(content)[:cut])
        return path

    return write


def test_what_was_written_is_read(packed) -> None:  # type: ignore[no-untyped-def]
    images = read_images(packed(idx(IMAGES)), N)
    assert images.dtype == np.uint8
    np.testing.assert_array_equal(images, IMAGES.reshape(N, 784))
    labels = read_labels(packed(idx(LABELS)), N)
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, LABELS)


def refused(read, path: Path, *named: str, n: int = N) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RepliboError) as error:
        read(path, n)
    line = str(error.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: ")
    for words in named:
        assert words in line


def test_swapped_files(packed) -> None:  # type: ignore[no-untyped-def]
    refused(read_images, packed(idx(LABELS)), "must hold 5 images of 28 x 28 pixels, got labels")
    refused(read_labels, packed(idx(IMAGES)), "must hold 5 labels, got images")


@pytest.mark.parametrize("left", [-1, 20, 17, 16, 15, 9, 4, 3, 0])
def test_truncated_values(packed, left: int) -> None:  # type: ignore[no-untyped-def]
    content = idx(IMAGES)[:left]
    refused(read_images, packed(content), "truncated" if left < 0 or left > 3 else "not IDX")


@pytest.mark.parametrize("cut", [-1, -8, 500, 12, 5, 1])
def test_truncated_gzip(packed, cut: int) -> None:  # type: ignore[no-untyped-def]
    refused(read_images, packed(idx(IMAGES), cut=cut), "gzip")


def test_longer_than_it_says(packed) -> None:  # type: ignore[no-untyped-def]
    refused(read_images, packed(idx(IMAGES) + b"\0"), "too long")
    refused(read_labels, packed(idx(LABELS) + b"\0"), "too long")


def test_another_size(packed) -> None:  # type: ignore[no-untyped-def]
    for values in (IMAGES[:4], IMAGES[:, :27], IMAGES[:, :, :8]):
        n, height, width = values.shape
        refused(read_images, packed(idx(values)), f"{n} images of {height} x {width} pixels")
    refused(read_labels, packed(idx(LABELS[:4])), "must hold 5 labels, got 4 labels")
    # a header that promises what is not there is refused before anything is allocated for it
    huge = struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 28, 28)
    refused(read_images, packed(huge), "4294967295 images")


def test_no_idx_file(packed) -> None:  # type: ignore[no-untyped-def]
    refused(read_images, packed(b"n,theta,r,t,toughness\n" * 9), "not IDX")
    refused(read_images, packed(idx(IMAGES, code=13)), "not IDX of bytes")
    refused(read_images, packed(idx(IMAGES[0])), "an array of 2 dimensions")
    refused(read_labels, packed(b""), "not IDX")


def test_no_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "images"
    refused(read_images, path, "no file")
    path.write_bytes(idx(IMAGES))
    refused(read_images, path, "not gzip")
    refused(read_images, tmp_path, "directory")


def test_corrupt_gzip(packed) -> None:  # type: ignore[no-untyped-def]
    path = packed(idx(IMAGES))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    refused(read_images, path, "gzip")


def test_a_label_that_is_no_digit(packed) -> None:  # type: ignore[no-untyped-def]
    refused(read_labels, packed(idx(np.array([3, 10, 2], np.uint8))), "0 to 9, got 10", n=3)


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
