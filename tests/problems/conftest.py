"""Files in MNIST's format."""

from __future__ import annotations

import gzip
import struct

import numpy as np


def idx(values: np.ndarray) -> bytes:
    """A gzipped IDX file of bytes."""
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(head + values.tobytes(), compresslevel=1)
