"""Between NumPy and Arrow without `pa.array`, `pa.scalar` and ``to_numpy``, which import pandas to
recognise its objects: a second of CPU in every job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(values: np.ndarray, present: np.ndarray | None = None) -> pa.Array:
    """The values (``n``, numbers or booleans); null where they are not ``present``."""
    import pyarrow as pa

    data = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    valid = None if present is None or present.all() else _bits(present)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def strings(values: Iterable[str]) -> pa.Array:
    """The texts."""
    import pyarrow as pa

    texts = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))
    )


def repeated(text: str, n: int) -> pa.Array:
    """``n`` times the same text."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(numbers(np.zeros(n, dtype=np.int32)), strings([text]))


def lists(values: Sequence[Sequence[float]]) -> pa.Array:
    """Lists of numbers, one for each sequence."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
    return pa.ListArray.from_arrays(numbers(ends), numbers(np.concatenate(values, dtype=float)))


def values(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The numbers of a column, NaN where it is null; not to be written to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        whole = pc.fill_null(whole, scalar(np.nan).cast(whole.type))
    return np.from_dlpack(whole)


def words(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The different texts of a column, and for each row the place of its own among them."""
    encoded = column.dictionary_encode().combine_chunks()
    return encoded.dictionary.to_pylist(), values(encoded.indices)


def scalar(value: str | float) -> Any:
    """What a column is compared with."""
    return strings([value])[0] if isinstance(value, str) else numbers(np.array([value]))[0]


def _bits(values: np.ndarray) -> Any:
    """Booleans as Arrow holds them."""
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values, bitorder="little"))
