"""Problems and algorithms by name.

The config names a class as ``module.Class``, looked up in ``replibo/problems`` or
``replibo/algorithms``: a new file is known as soon as it is there, and nothing has to be registered.
``FILE.py:Class`` names one of a file anywhere (`split`).
A run imports its own problem and algorithm only; `names` and `check_all` import them all.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from replibo import settings
from replibo.errors import RepliboError, allowed, meant

if TYPE_CHECKING:
    from replibo.config.models import Config

Kind = Literal["problems", "algorithms"]

PACKAGE = Path(__file__).parents[1]
_ROOTS: dict[str, str] = {"problems": "Problem", "algorithms": "Algorithm"}


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    """The parsed source of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _defined(module: str) -> dict[str, type[Any]]:
    """The classes that a module itself defines, by name."""
    classes = vars(importlib.import_module(module)).items()
    return {name: cls for name, cls in classes if inspect.isclass(cls) and cls.__module__ == module}


def _root(kind: Kind) -> type[Any]:
    """`Problem` or `Algorithm`."""
    root: type[Any] = getattr(importlib.import_module(f"replibo.{kind}.base"), _ROOTS[kind])
    return root


def _classes(kind: Kind, module: str) -> dict[str, type[Any]]:
    """The classes of a module of this package that a config may name."""
    return {
        name: cls
        for name, cls in _defined(f"replibo.{kind}.{module}").items()
        if issubclass(cls, _root(kind)) and not name.startswith("_") and not inspect.isabstract(cls)
    }


def _modules(kind: Kind) -> list[str]:
    return sorted(path.stem for path in (PACKAGE / kind).glob("*.py") if path.stem != "__init__")


@functools.cache
def names(kind: Kind) -> tuple[str, ...]:
    """All the ``module.Class`` names of ``kind`` that a config may use."""
    return tuple(f"{module}.{name}" for module in _modules(kind) for name in _classes(kind, module))


@functools.cache
def load(kind: Kind, name: str) -> type[Any]:
    """The class ``module.Class`` of a kind, or ``FILE.py:Class``; nothing but its module is imported."""
    if own_file := split(name):
        return _of_file(kind, *own_file)
    module, _, cls = name.partition(".")
    public = _classes(kind, module).get(cls) if module in _modules(kind) else None
    if public is None:
        member = _defined(f"replibo.{kind}.{module}").get(cls) if module in _modules(kind) else None
        if member not in (None, _root(kind)):
            lacking = getattr(member, "__abstractmethods__", ())
            lacks = f" that defines {allowed(lacking)}" if lacking else ""
            raise RepliboError(f"type: {name} must be a public subclass of {_ROOTS[kind]}{lacks}")
        built_in = "" if ":" in name or name.endswith(".py") else f"{allowed(names(kind))}, or "
        raise RepliboError(f"type: must be {built_in}FILE.py:CLASS, got {name!r}")
    return public


def split(name: str) -> tuple[Path, str] | None:
    """The file and the class of ``FILE.py:Class``; None for a name of another form."""
    file, colon, cls = name.rpartition(":")
    return (Path(file), cls) if colon and file.endswith(".py") else None


def _of_file(kind: Kind, path: Path, name: str) -> type[Any]:
    """A class of a file that is no part of this package. The file may import modules of its folder; those
    of the standard library go before them, and installed ones after them."""
    if not path.is_file():
        raise RepliboError(f"type: {path}: not found")
    if (folder := str(path.resolve().parent)) not in sys.path:
        installed = (i for i, entry in enumerate(sys.path) if entry.endswith("-packages"))
        sys.path.insert(next(installed, len(sys.path)), folder)
    module = f"replibo_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    assert spec is not None and spec.loader is not None
    imported = importlib.util.module_from_spec(spec)
    sys.modules[module] = imported  # where dataclasses and pydantic look names up
    try:
        spec.loader.exec_module(imported)
    except (Exception, SystemExit) as error:  # a script may end with sys.exit
        raise RepliboError(f"type: {path}: {type(error).__name__}: {error}") from None
    classes = {key: cls for key, cls in _defined(module).items() if issubclass(cls, _root(kind))}
    if name not in classes:
        raise RepliboError(
            f"type: {path}: must have a class called {name!r} that is a subclass of {_ROOTS[kind]}, got "
            f"{allowed(classes)}{meant(name, classes)}"
        )
    if inspect.isabstract(classes[name]):
        lacking = allowed(getattr(classes[name], "__abstractmethods__", ()))
        raise RepliboError(f"type: {path}: {name} must define {lacking}")
    return classes[name]


def only(kind: Kind, name: str) -> type[Any]:
    """The class ``module.Class``, or the single class of ``module``."""
    if "." in name:
        return load(kind, name)
    modules = {full_name.partition(".")[0] for full_name in names(kind)}
    if name not in modules:
        words = f"must be {allowed(modules)}, got {name!r}{meant(name, modules)}"
        raise RepliboError(f"{kind.removesuffix('s')}: {words}")
    classes = list(_classes(kind, name).values())
    if len(classes) != 1:
        labels = [f"{name}.{cls.__name__}" for cls in classes]
        raise RepliboError(f"{kind.removesuffix('s')}: must be {allowed(labels)}, got {name!r}")
    return classes[0]


def summary(kind: Kind, name: str) -> str:
    """The first line of the class's docstring."""
    return (inspect.getdoc(load(kind, name)) or "").partition("\n")[0]


def check_all(config: Config) -> None:
    """Check the types and parameters of every problem and algorithm of the config.

    Raises:
        RepliboError: a line for each entry at fault: where it stands, and what it must be.
    """
    faults = []
    for paper, entry in config.entries.items():
        kinds: tuple[Kind, ...] = get_args(Kind)
        for kind in kinds:
            for name, item in getattr(entry, kind).items():
                try:
                    settings.checked(load(kind, item.type), item.parameters)
                except settings.SettingError as error:
                    faults.append(f"{paper}.{kind}.{name}.parameters.{error.key}: {error.fault}")
                except RepliboError as error:
                    faults.append(f"{paper}.{kind}.{name}.{error}")
    if faults:
        raise RepliboError("\n".join(faults))
