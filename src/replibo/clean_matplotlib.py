"""Matplotlib, imported as if there were no backend, rc file or variable of the user's.

A backend that is not installed, or an rc file that cannot be read, makes ``import matplotlib`` fail.
Import ``matplotlib`` from here wherever it may be the first import.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path


def _first_import() -> None:
    spec = importlib.util.find_spec("matplotlib")
    assert spec is not None and spec.origin is not None
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        # The rc file of the working folder comes before all others; this folder has the defaults.
        with contextlib.chdir(Path(spec.origin).parent / "mpl-data"):
            import matplotlib
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    with contextlib.suppress(ValueError):  # what a notebook shows is still the user's choice
        if backend:
            matplotlib.rcParams["backend"] = backend


if "matplotlib" not in sys.modules:
    _first_import()

import matplotlib  # noqa: E402

__all__ = ["matplotlib"]
