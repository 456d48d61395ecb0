"""The C functions of this package. Each ``.c`` file lies next to the module that calls it.

Every sum in them is taken in a fixed order, and no product is fused with a sum unless the code says
so. So their results have the same bits on all processors and at all levels of instructions.
"""

from __future__ import annotations

import ctypes
import functools
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replibo.errors import RepliboError

_FOLDER = Path(__file__).parent


def call(name: str, *arguments: int | float | NDArray[Any]) -> None:
    """Call the C function ``name``, which returns nothing, at the best level of this processor.

    Args:
        arguments: whole numbers are passed as ``int``, others as ``double``; arrays by their address:
            they are C-contiguous, and the C code knows their type and shape.

    Raises:
        RepliboError: there is no library for this processor, or it is of other source.
        ValueError: an array is not contiguous.
    """
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if not argument.flags.c_contiguous:
                raise ValueError(f"{name}: an array is not contiguous")
            passed.append(ctypes.c_void_p(argument.ctypes.data))
        elif isinstance(argument, float):
            passed.append(ctypes.c_double(argument))
        else:
            passed.append(ctypes.c_int(argument))
    getattr(_library(_best_level()), name)(*passed)


def compiler() -> str:
    """The compiler and its version."""
    library = _library(_best_level())
    return (ctypes.c_char * 64).in_dll(library, "compiler").value.decode().strip()


def levels() -> list[str]:
    """The levels of instructions (``baseline``, ``avx2``, ``avx512``) that were compiled and that this
    processor has, the best last."""
    from numpy._core._multiarray_umath import __cpu_features__ as has

    needed = {"baseline": [], "avx2": ["AVX2", "FMA3"], "avx512": ["AVX512_SKX"]}
    compiled = [level for level in needed if _file(level).is_file()]
    return [level for level in compiled if all(has.get(name, False) for name in needed[level])]


@functools.cache
def _best_level() -> str:
    if not (possible := levels()):
        raise RepliboError(
            f"{_FOLDER}: no compiled library for this processor (x86-64 needs AVX2 and FMA); "
            "'pip install' of the package's folder compiles it"
        )
    return possible[-1]


@functools.cache
def _library(level: str) -> ctypes.CDLL:
    library = ctypes.CDLL(str(_file(level)))
    source = b"".join(path.read_bytes() for path in sorted(_FOLDER.glob("*.c")))
    stamp = (ctypes.c_char * 64).in_dll(library, "stamp").raw
    if stamp != sha256(source).hexdigest().encode():
        raise RepliboError(
            f"{_file(level)}: is of other C files than those beside it; 'pip install' of the "
            "package's folder compiles it again"
        )
    return library


def _file(level: str) -> Path:
    return _FOLDER / f"_compiled_{level}.so"
