"""The functions that the config names: those that make figures and tables, and the claims' measures."""

from __future__ import annotations

import ast
import fnmatch
import importlib
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


def check(kind: Kind, paper: str, name: str, options: Mapping[str, Any], where: str) -> None:
    """Raise a `RepliboError` unless ``name`` is a public function that the module defines, with the
    arguments of its kind and ``options``. All kinds are given runs; figures and tables the config's
    entry, too. By reading the source, since an import of the module may be slow.

    Args:
        where: the entry's place in the config, for messages.
    """
    defaults = _defaults(kind, paper, name, where)
    for option in options:
        if option not in defaults:
            raise RepliboError(f"{where}.options: must be {allowed(defaults)}, got {option!r}")
    for option, default in defaults.items():
        if default is None and option not in options:
            raise RepliboError(f"{where}.options: {option} is missing")


def check_all(config: Config) -> None:
    """`check` every figure, table and claim of the config, a claim in all its readings and controls, and
    the names of claims in the config.

    Raises:
        RepliboError: a line for each entry at fault.
    """
    faults: list[str] = []
    for paper, entry in config.entries.items():
        faults += _references(paper, entry, claims.load(config, paper))
    for places in _places(config):
        try:
            for place in places:
                check(*place)
        except RepliboError as error:
            faults.append(str(error))
    if faults:
        raise RepliboError("\n".join(faults))


def _references(paper: str, entry: PaperEntry, known: Mapping[str, claims.Claim]) -> Iterator[str]:
    """A line for each name or pattern in the config that fits no claim, if the paper has any."""
    named = {f"{paper}.main_claims": entry.main_claims} | {
        f"{paper}.{kind}.{name}.claims": output.claims
        for kind in ("figures", "tables")
        for name, output in getattr(entry, kind).items()
    }
    for where, patterns in named.items():
        for pattern in patterns:
            if known and not fnmatch.filter(known, pattern):
                yield f"config: {where}: must be claims, got {pattern!r}{meant(pattern, known)}"


def _places(config: Config) -> Iterator[list[tuple[Kind, str, str, Mapping[str, Any], str]]]:
    """The arguments of `check` for each entry of the config that names a function."""
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


def options_of(kind: Kind, paper: str, name: str, where: str) -> set[str]:
    """The options that a function takes."""
    return set(_defaults(kind, paper, name, where))


def _defaults(kind: Kind, paper: str, name: str, where: str) -> dict[str, ast.expr | None]:
    """The options of a function with their defaults; None if an option must be given."""
    own = f"{where}.{'measure' if kind == 'claims' else 'function'}"
    module, _, function = full_name(paper, name).rpartition(".")
    path = registry.PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        raise RepliboError(f"{own}: must be a function of replibo.papers.{paper}, got {name!r}")
    given = ["runs"] if kind == "claims" else ["runs", "entry"]
    known = {
        node.name: node.args
        for node in registry.syntax_tree(path).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and [argument.arg for argument in node.args.args] == given
    }
    if function not in known:
        raise RepliboError(f"{own}: must be {allowed(known)} of {module}, got {function!r}")
    arguments = known[function]
    return {
        argument.arg: default
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    }


def load(
    kind: Kind, paper: str, name: str, options: Mapping[str, Any], where: str
) -> Callable[..., Any]:
    """The function of this name, after a `check`.

    Raises:
        RepliboError: there is no such function, or it takes other options, or others values of them.
    """
    check(kind, paper, name, options, where)
    module, _, attribute = full_name(paper, name).rpartition(".")
    source = importlib.import_module(module)
    function: Callable[..., Any] = getattr(source, attribute)
    for option, value in options.items():
        annotation = eval(function.__annotations__[option], vars(source))
        try:
            TypeAdapter(annotation).validate_python(
                value, strict=not isinstance(value, list | dict)
            )
        except ValidationError as error:
            fault = lines_of(annotation, error, f"{where}.options.{option}.")[0]
            raise RepliboError(fault) from None
    return function
