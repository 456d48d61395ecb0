"""The functions that the config names: those that make figures and tables, and the claims' measures."""

from __future__ import annotations

import fnmatch
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from replibo import paths
from replibo.config import claims, registry
from replibo.config.load import lines_of
from replibo.errors import RepliboError, allowed, meant

if TYPE_CHECKING:
    from replibo.config.models import Config, PaperEntry

Kind = Literal["figures", "tables", "claims"]


def full_name(paper: str, name: str) -> str:
    """``figures.best_so_far`` of neuralbo → ``replibo.papers.neuralbo.figures.best_so_far``."""
    return f"replibo.papers.{paper}.{name}"


def check_all(config: Config) -> None:
    """`load` every figure, table and claim of the config, a claim in all its readings and controls, and
    check the names of claims in the config.

    Raises:
        RepliboError: a line for each entry at fault.
    """
    faults: list[str] = []
    for paper, entry in config.entries.items():
        faults += _references(paper, entry, claims.load(config, paper))
    for places in _places(config):
        try:
            for place in places:
                load(*place)
        except RepliboError as error:
            faults.append(str(error))
    if faults:
        raise RepliboError("\n".join(faults))


def _references(paper: str, entry: PaperEntry, names: Mapping[str, claims.Claim]) -> Iterator[str]:
    """A line for each name or pattern in the config that fits no claim, if the paper has any."""
    references = {f"{paper}.main_claims": entry.main_claims} | {
        f"{paper}.{kind}.{name}.claims": output.claims
        for kind in ("figures", "tables")
        for name, output in getattr(entry, kind).items()
    }
    for where, patterns in references.items():
        for pattern in patterns:
            if names and not fnmatch.filter(names, pattern):
                yield f"config: {where}: must be claims, got {pattern!r}{meant(pattern, names)}"


def _places(config: Config) -> Iterator[list[tuple[Kind, str, str, Mapping[str, Any], str]]]:
    """The arguments of `load` for each entry of the config that names a function."""
    kinds: tuple[Kind, ...] = ("figures", "tables")
    for paper, of_paper in config.entries.items():
        for kind in kinds:
            for name, entry in getattr(of_paper, kind).items():
                where = f"config: {paper}.{kind}.{name}"
                yield [(kind, paper, entry.function, entry.options, where)]
        for name, claim in claims.load(config, paper).items():
            where = f"{paths.claims_config(paper)}: {name}"
            variations = {
                where if label == claims.PRINTED else f"{where}.{group}.{label}": variation
                for group in ("readings", "controls")
                for label, variation in getattr(claim, group).items()
                if not (label == claims.PRINTED and claim.unprinted)
            }
            yield [
                ("claims", paper, claim.measure, claim.under(variation).options, place)
                for place, variation in variations.items()
            ]


def options_of(kind: Kind, paper: str, name: str, where: str) -> list[str]:
    """The options that a function takes."""
    return inspect.getfullargspec(_function(kind, paper, name, where)).kwonlyargs


def _function(kind: Kind, paper: str, name: str, where: str) -> Callable[..., Any]:
    """The public function of this name that a module of the paper defines. All kinds get runs;
    figures and tables the config's entry, too."""
    field = f"{where}.{'measure' if kind == 'claims' else 'function'}"
    module, _, attribute = full_name(paper, name).rpartition(".")
    if not registry.PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py").is_file():
        raise RepliboError(f"{field}: must be a function of replibo.papers.{paper}, got {name!r}")
    functions = _functions(kind, module)
    if attribute not in functions:
        raise RepliboError(f"{field}: must be {allowed(functions)} of {module}, got {attribute!r}")
    return functions[attribute]


@functools.cache
def _functions(kind: Kind, module: str) -> dict[str, Callable[..., Any]]:
    arguments = ["runs"] if kind == "claims" else ["runs", "entry"]
    return {
        key: function
        for key, function in vars(importlib.import_module(module)).items()
        if inspect.isfunction(function)
        and function.__module__ == module
        and not key.startswith("_")
        and inspect.getfullargspec(function).args == arguments
    }


def load(
    kind: Kind, paper: str, name: str, options: Mapping[str, Any], where: str
) -> Callable[..., Any]:
    """The function of this name, which takes these options; ``where`` is the entry's place in the config.

    Raises:
        RepliboError: there is no such function, or it takes other options, or other values of them.
    """
    function = _function(kind, paper, name, where)
    spec = inspect.getfullargspec(function)
    for option in options:
        if option not in spec.kwonlyargs:
            raise RepliboError(
                f"{where}.options: must be {allowed(spec.kwonlyargs)}, got {option!r}"
            )
    for option in spec.kwonlyargs:
        if option not in options and option not in (spec.kwonlydefaults or {}):
            raise RepliboError(f"{where}.options: {option} is missing")
    for option, value in options.items():
        annotation, adapter = _annotation(function, option)
        try:
            adapter.validate_python(value, strict=not isinstance(value, list | dict))
        except ValidationError as error:
            fault = lines_of(annotation, error, f"{where}.options.{option}.")[0]
            raise RepliboError(fault) from None
    return function


@functools.cache
def _annotation(function: Callable[..., Any], option: str) -> tuple[Any, TypeAdapter[Any]]:
    """The annotation of a function's option, and what checks its values by it."""
    annotation = eval(function.__annotations__[option], function.__globals__)
    return annotation, TypeAdapter(annotation)
