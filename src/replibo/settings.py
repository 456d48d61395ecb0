"""The settings of problems and algorithms: types and ranges, checked when an object is made.

A constructor declares its settings as keyword-only arguments with the types below (or any other that
pydantic knows); `Checked`, the metaclass of `Problem` and `Algorithm`, holds the arguments to them.
Relations between two settings are checked by the constructor itself, with a `SettingError`.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from abc import ABCMeta
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from replibo.errors import RepliboError, allowed

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]


class SettingError(RepliboError):
    """One setting is out of its range, of another type, or missing.

    Attributes:
        key: the setting's name.
        fault: ``must be X, got Y``.
    """

    def __init__(self, key: str, fault: str, of: str = "") -> None:
        super().__init__(f"{of}: {key} {fault}" if of else f"{key} {fault}")
        self.key, self.fault = key, fault


def wanted(fault: Mapping[str, Any]) -> str:
    """``be greater than 0``: what a value should do, for a message that begins with "must"."""
    if fault["type"] in ("is_instance_of", "list_type", "sequence_str"):
        return "be a list"  # pydantic names the Python class
    return re.sub(r"^\w+ should ", "", fault["msg"])


def must_be(error: ValidationError) -> str:
    """``must be X, got Y`` (or ``must be X or be Z, got Y`` for a union), for a single value."""
    faults = error.errors(include_url=False)
    # A union gives the member whose type the value has.
    faults = [fault for fault in faults if not fault["type"].endswith("_type")] or faults
    ways = dict.fromkeys(map(wanted, faults))
    value = repr(faults[0]["input"])
    return f"must {' or '.join(ways)}, got {value if len(value) <= 60 else value[:57] + '…'}"


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments of a class, and of its base if it passes ``**settings`` on."""
    keywords: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base):
            arguments = inspect.signature(vars(base)["__init__"]).parameters.values()
            for parameter in arguments:
                if parameter.kind is parameter.KEYWORD_ONLY:
                    keywords.setdefault(parameter.name, parameter)
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in arguments):
                break
    return keywords


@functools.cache
def _types(cls: type) -> dict[str, TypeAdapter[Any]]:
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base) and base is not object:
            hints |= typing.get_type_hints(vars(base)["__init__"], include_extras=True)
    return {name: TypeAdapter(hints.get(name, Any)) for name in parameters(cls)}


def checked(cls: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """``settings`` with each value of the type that the constructor of ``cls`` declares; or a
    `SettingError`: a bool or a text is no number."""
    result, declared, types = dict(settings), parameters(cls), _types(cls)
    for name in settings.keys() - declared.keys():
        none = "" if declared else ": __init__ has no keyword argument after *"
        raise SettingError(name, f"is unknown; must be {allowed(declared)}{none}", cls.__name__)
    for name, parameter in declared.items():
        if name in settings:
            try:
                result[name] = types[name].validate_python(settings[name], strict=True)
            except ValidationError as error:
                raise SettingError(name, must_be(error), cls.__name__) from None
        elif parameter.default is parameter.empty:
            raise SettingError(name, "must be given", cls.__name__)
    return result


class Checked(ABCMeta):
    """Metaclass: settings are `checked` before the constructor runs, and never afterwards."""

    def __call__(cls, *arguments: Any, **settings: Any) -> Any:
        # The base keeps its arguments under their own names.
        base = next(parent for parent in reversed(cls.__mro__) if isinstance(parent, Checked))
        base_arguments = []
        if inspect.isabstract(base) and "__init__" in vars(base):
            base_arguments = list(inspect.signature(vars(base)["__init__"]).parameters)[1:]
        wrong_super = RepliboError(
            f"{cls.__name__}: __init__ must call super().__init__({', '.join(base_arguments)}) first"
        )
        try:
            places = inspect.signature(cls.__init__).parameters.keys() - parameters(cls)  # type: ignore[misc]
            positional = {name: settings.pop(name) for name in places & settings.keys()}
            instance = super().__call__(*arguments, **positional, **checked(cls, settings))
        except SettingError as error:
            raise SettingError(error.key, error.fault, cls.__name__) from None
        except TypeError as error:
            if str(error).startswith(f"{base.__name__}.__init__()"):
                raise wrong_super from None
            if str(error).startswith(f"{cls.__qualname__}.__init__() missing"):
                raise RepliboError(
                    f"{cls.__name__}: the settings of __init__ must be keyword arguments, after *; "
                    f"{str(error).partition('() ')[2]}"
                ) from None
            raise
        except AttributeError as error:
            if error.name in base_arguments:
                raise wrong_super from None
            raise
        if not all(hasattr(instance, name) for name in base_arguments):
            raise wrong_super
        return instance
