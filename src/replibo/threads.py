"""One thread, whatever the environment says: the number of threads changes the last bits of sums."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

# Read by OpenMP, OpenBLAS and MKL when they are loaded.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS, OpenMP and PyTorch within the block, or in the function that this decorates.

    Libraries that are loaded already are told; those that are loaded within take it from the
    environment, and PyTorch then keeps it after the block. (PyTorch's inter-op threads run only what is
    launched asynchronously. Nothing here is.)
    """
    environment = {name: os.environ.get(name) for name in VARIABLES}
    torch = sys.modules.get("torch")  # its MKL is linked statically, and hidden from threadpoolctl
    before = torch.get_num_threads() if torch else 1
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
        for name, value in environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
