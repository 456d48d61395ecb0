"""A real text that every installation has: the docstrings of the pinned Python packages.

They stand in for no other corpus: what is made of them is a task of its own
(`replibo.problems.docstrings`). The source files are parsed, never imported. Docstrings change from
version to version, so that a corpus is named by its packages' versions and its digest.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import warnings
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from replibo.data.amazon import Category
from replibo.errors import RepliboError

PACKAGES = (
    "botorch",
    "gpytorch",
    "matplotlib",
    "numpy",
    "pandas",
    "pyro-ppl",
    "scikit-learn",
    "scipy",
)
"""The libraries of ``envs/requirements.txt`` with most docstrings, except torch. To parse it takes
longer than all of these, and its builds have files of their own."""

FEWEST_WORDS = 30
"""A shorter docstring is left out: it says little in words that are frequent everywhere."""

_TESTS = {"test", "tests"}
"""Folders that are left out: half of the files, and few of the docstrings."""

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Docstrings(NamedTuple):
    """Texts and categories of ``n`` docstrings, by file and line.

    Attributes:
        texts: the docstrings, their indentation taken away.
        categories: package, subpackage and module of each: ``scipy/optimize/_root.py`` is
            (scipy, optimize, _root), and ``torch/functional.py`` (torch, functional, functional).
        versions: of each package, as installed.
        digest: SHA-256 of texts and categories.
    """

    texts: list[str]
    categories: list[Category]
    versions: dict[str, str]
    digest: str


def read_docstrings(packages: Sequence[str] = PACKAGES) -> Docstrings:
    """The docstrings of `FEWEST_WORDS` or more in the installed files of some packages.

    Args:
        packages: names of distributions, as in ``envs/requirements.txt``.

    Raises:
        RepliboError: a package is not installed.
    """
    texts, categories = [], []
    versions = {}
    for name in packages:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise RepliboError(f"packages: must be installed packages, got {name!r}") from None
        versions[name] = distribution.version
        files = {file.as_posix(): file for file in distribution.files or ()}
        for file in sorted(files.values()):
            # Some wheels hold folders that are no packages, such as a copy of themselves.
            if f"{file.parts[0]}/__init__.py" in files and (category := _category(file)):
                for text in _docstrings(file.read_binary()):
                    texts.append(text)
                    categories.append(category)
    digest = hashlib.sha256()
    for path, text in zip(categories, texts, strict=True):
        digest.update("\0".join([*path, text, ""]).encode("utf-8", "surrogatepass"))
    return Docstrings(texts, categories, versions, digest.hexdigest())


def _category(file: PurePath) -> Category | None:
    """Package, subpackage and module; None of a test, and of what is no Python."""
    if file.suffix != ".py" or not _TESTS.isdisjoint(file.parts):
        return None
    package, *inner = file.with_suffix("").parts
    return package, inner[0], ".".join(inner[1:]) or inner[0]


def _docstrings(source: bytes) -> Iterator[str]:
    """The docstrings of a file that are long enough; none where this Python cannot parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's strings
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _DOCUMENTED):
            text = ast.get_docstring(node)
            if text is not None and len(text.split()) >= FEWEST_WORDS:
                yield text
        # Only statements hold definitions, so that no expression is visited.
        inner = (getattr(node, name, ()) for name in ("body", "orelse", "finalbody", "handlers"))
        stack += [child for part in reversed(list(inner)) for child in reversed(part)]
