"""The functions that the config names: those that make figures and tables, and the claims' measures."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from replibo.config import registry
from replibo.errors import RepliboError, allowed

Kind = Literal["figures", "tables", "claims"]


def full_name(paper: str, name: str) -> str:
    """``robot.figure_5`` of neuralbo → ``replibo.papers.neuralbo.robot.figure_5``."""
    return f"replibo.papers.{paper}.{name}"


def check(kind: Kind, paper: str, name: str, where: str) -> None:
    """Raise a `RepliboError` unless ``name`` is one of a module's own public functions, and takes what
    this kind is given: runs, and but for claims the config's entry. By reading the source, since an
    import of the module may be slow.

    Args:
        where: the place in the config, for the message.
    """
    module, _, function = full_name(paper, name).rpartition(".")
    path = registry.PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        raise RepliboError(f"{where}: must be a function of replibo.papers.{paper}, got {name!r}")
    given = ["runs"] if kind == "claims" else ["runs", "entry"]
    known = [
        node.name
        for node in registry.syntax_tree(path).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and [argument.arg for argument in node.args.args] == given
    ]
    if function not in known:
        raise RepliboError(f"{where}: must be {allowed(known)} of {module}, got {function!r}")


def load(
    kind: Kind, paper: str, name: str, options: Mapping[str, Any], where: str
) -> Callable[..., Any]:
    """The function of this name, after a check that it takes ``options``.

    Args:
        where: the place of the entry in the config, for messages.

    Raises:
        RepliboError: there is no such function, or it takes other options.
    """
    check(kind, paper, name, f"{where}.{'measure' if kind == 'claims' else 'function'}")
    module, _, attribute = full_name(paper, name).rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    keywords = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    known = [parameter.name for parameter in keywords]
    for option in options:
        if option not in known:
            raise RepliboError(f"{where}.options: must be {allowed(known)}, got {option!r}")
    for parameter in keywords:
        if parameter.default is parameter.empty and parameter.name not in options:
            raise RepliboError(f"{where}.options: {parameter.name} is missing")
    return function
