"""Replication of four Bayesian-optimisation papers: GO-UCB, BBO, NeuralBO and LB-GP-UCB.

As a library: `replibo.library.minimize`, `replibo.library.Optimizer`, `replibo.library.published`, also
as ``replibo.minimize`` and so on (``docs/library.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replibo.library import Minimum, Optimizer, minimize, published

__version__ = "1.0.0"
__all__ = ["Minimum", "Optimizer", "minimize", "published"]


def __dir__() -> list[str]:
    return [*__all__, "__version__", "__doc__"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: the workflow's jobs and the command line need none of it.
    if name in __all__:
        import importlib

        return getattr(importlib.import_module("replibo.library"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
