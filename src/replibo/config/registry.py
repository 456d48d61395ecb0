"""Problems and algorithms by name.

The config names a class as ``module.Class``, looked up in ``replibo/problems`` or
``replibo/algorithms``: a new file is known as soon as it is there, and nothing has to be registered.
Names and parameters are checked by reading the source, not by importing it, so that the workflow and
``replibo list`` stay free of heavy imports.
"""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path
from typing import Any, Literal

from replibo.errors import RepliboError, allowed

Kind = Literal["problems", "algorithms"]

PACKAGE = Path(__file__).parents[1]
_ROOTS: dict[str, str] = {"problems": "Problem", "algorithms": "Algorithm"}


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    """The parsed source of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_file(module: str) -> Path | None:
    """The source of ``replibo.…``, or None where there is no such module."""
    parts = module.split(".")[1:]
    for path in (
        PACKAGE.joinpath(*parts).with_suffix(".py"),
        PACKAGE.joinpath(*parts, "__init__.py"),
    ):
        if path.is_file():
            return path
    return None


def _class(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """Where the class ``name``, as seen from ``module``, is defined: (its module, its definition)."""
    path = module_file(module)
    if path is None:
        return None
    for node in syntax_tree(path).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("replibo."):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _class(str(node.module), alias.name)
    return None


def _bases(module: str, node: ast.ClassDef) -> list[tuple[str, ast.ClassDef]]:
    found = [_class(module, base.id) for base in node.bases if isinstance(base, ast.Name)]
    return [item for item in found if item is not None]


def _descends(module: str, node: ast.ClassDef, root: str) -> bool:
    return any(
        base.name == root or _descends(where, base, root) for where, base in _bases(module, node)
    )


def _is_abstract(node: ast.ClassDef) -> bool:
    """Whether a class leaves methods of its own to its subclasses."""
    return any(
        isinstance(mark, ast.Name) and mark.id == "abstractmethod"
        for item in node.body
        if isinstance(item, ast.FunctionDef)
        for mark in item.decorator_list
    )


@functools.cache
def names(kind: Kind) -> tuple[str, ...]:
    """All the ``module.Class`` names of ``kind`` that a config may use."""
    found = []
    for path in sorted((PACKAGE / kind).glob("*.py")):
        module = f"replibo.{kind}.{path.stem}"
        for node in syntax_tree(path).body:
            if (
                isinstance(node, ast.ClassDef)
                and not node.name.startswith("_")
                and not _is_abstract(node)
                and _descends(module, node, _ROOTS[kind])
            ):
                found.append(f"{path.stem}.{node.name}")
    return tuple(found)


def summary(kind: Kind, name: str) -> str:
    """The first line of the class's docstring."""
    _, node = _definition(kind, name)
    return (ast.get_docstring(node) or "").partition("\n")[0]


def parameters(kind: Kind, name: str) -> tuple[str, ...]:
    """The keyword-only arguments of the class: what its ``parameters`` in the config may hold."""
    found: list[str] = []
    queue = [_definition(kind, name)]
    while queue:
        module, node = queue.pop(0)
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                found += [argument.arg for argument in item.args.kwonlyargs]
                if item.args.kwarg is None:  # with **settings, the rest are the base's
                    return tuple(found)
        queue += _bases(module, node)
    return tuple(found)


def _definition(kind: Kind, name: str) -> tuple[str, ast.ClassDef]:
    module, _, cls = name.partition(".")
    found = _class(f"replibo.{kind}.{module}", cls) if name in names(kind) else None
    if found is None:
        raise RepliboError(
            f"type: no {kind[:-1]} is called {name!r}; allowed: {allowed(names(kind))}"
        )
    return found


def check(kind: Kind, name: str, settings: dict[str, Any]) -> None:
    """Raise a `RepliboError` where there is no such class or it takes no such parameter."""
    known = parameters(kind, name)
    for key in settings:
        if key not in known:
            raise RepliboError(
                f"parameters.{key}: {name} has no such parameter; allowed: {allowed(known)}"
            )


def load(kind: Kind, name: str) -> type[Any]:
    """Import the class ``module.Class`` of ``kind``."""
    _definition(kind, name)
    module, _, cls = name.partition(".")
    loaded: type[Any] = getattr(importlib.import_module(f"replibo.{kind}.{module}"), cls)
    return loaded
