"""Settings of all problems and algorithms: what is out of range or of another type is one line."""

from __future__ import annotations

import math
import typing
from typing import Any, Literal

import pytest

from replibo.config import registry
from replibo.errors import RepliboError
from replibo.settings import (
    Checked,
    Count,
    Fraction,
    NonNegative,
    Positive,
    Probability,
    checked,
    parameters,
)


class Example(metaclass=Checked):
    def __init__(
        self,
        place: object = None,
        *,
        positive: Positive = 1.0,
        at_least_zero: NonNegative | None = None,
        probability: Probability = 0.5,
        share: Fraction = 1.0,
        count: Count = 1,
        choice: Literal["x", "y"] = "x",
        numbers: Count | dict[str, Count] = 1,
    ) -> None:
        self.kept = positive, at_least_zero, probability, share, count, choice, numbers


class Derived(Example):
    def __init__(self, *, needed: Positive, **settings: Any) -> None:
        super().__init__(**settings)
        self.needed = needed


FAULTS = [
    ("positive", 0.0, "must be greater than 0, got 0.0"),
    ("positive", math.nan, "must be a finite number, got nan"),
    ("positive", True, "must be a valid number, got True"),
    ("positive", "1", "must be a valid number, got '1'"),
    ("at_least_zero", -1e-9, "must be greater than or equal to 0, got -1e-09"),
    ("probability", 0.0, "must be greater than 0, got 0.0"),
    ("probability", 1.0, "must be less than 1, got 1.0"),
    ("share", 1.5, "must be less than or equal to 1, got 1.5"),
    ("count", 0, "must be greater than or equal to 1, got 0"),
    ("count", 2.0, "must be a valid integer, got 2.0"),
    ("choice", "z", "must be 'x' or 'y', got 'z'"),
    ("numbers", "a", "must be a valid integer or be a valid dictionary, got 'a'"),
    ("numbers", {"a": -1}, "must be greater than or equal to 1, got -1"),
]


@pytest.mark.parametrize(("key", "value", "message"), FAULTS)
def test_a_fault_is_one_line_with_class_and_name(key: str, value: Any, message: str) -> None:
    for cls, others in ((Example, {}), (Derived, {"needed": 1.0})):
        with pytest.raises(RepliboError) as error:
            cls(**others, **{key: value})
        assert str(error.value) == f"{cls.__name__}: {key} {message}"


def test_what_is_in_range_passes() -> None:
    example = Example(None, positive=3, at_least_zero=None, share=0, numbers={"a": 2})
    assert example.kept == (3.0, None, 0.5, 0.0, 1, "x", {"a": 2})
    assert Derived(needed=2.0, count=7).kept[4] == 7


def test_a_setting_that_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(RepliboError, match=r"^Derived: needed must be given$"):
        Derived(count=1)  # type: ignore[call-arg]
    with pytest.raises(RepliboError, match=r"^Derived: size is unknown; must be .*needed"):
        Derived(needed=1.0, size=2)


class Positional(Example):
    def __init__(self, beta: Positive) -> None:
        self.beta = beta


def test_settings_are_keyword_arguments() -> None:
    with pytest.raises(RepliboError, match=r"keyword arguments, after \*; missing 1 .*'beta'$"):
        Positional()
    with pytest.raises(
        RepliboError, match=r"beta is unknown; must be nothing: __init__ has no keyword argument"
    ):
        checked(Positional, {"beta": 1.0})


# All problems and algorithms

CLASSES = [
    registry.load(kind, name)
    for kind in ("problems", "algorithms")
    for name in registry.names(kind)
]
NEEDED: dict[str, Any] = {
    "iterations": 100,
    "length_scale": 0.1,
    "noise_variance": 1e-3,
    "offset": -8.0,
}
NEEDED |= {"function": "Ackley", "dim": 2, "acquisition": "EI"}
"""Values of the settings without a default."""

NUMBERS = (int, float)


def _numeric(hint: Any) -> bool:
    """Whether a setting of this type takes a number (lists and mappings of numbers among them)."""
    if typing.get_origin(hint) is Literal:
        return False
    return hint in NUMBERS or any(map(_numeric, typing.get_args(hint)))


def _wrong(cls: type, name: str, hints: dict[str, Any]) -> tuple[Any, ...]:
    if _numeric(hints[name]):
        # Which dimensions a family has, it says itself.
        negative = () if cls.__name__ == "Bbob" or name == "offset" else (-7,)
        return ("1", True, math.nan, math.inf, -math.inf, *negative)
    return (3, None) if hints[name] is str else ("nonsense", -7)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_setting_is_held_to_its_type_and_range(cls: type) -> None:
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        if "__init__" in vars(base):
            hints |= typing.get_type_hints(vars(base)["__init__"])
    needed = {
        key: NEEDED[key]
        for key, parameter in parameters(cls).items()
        if key in NEEDED and parameter.default is parameter.empty
    }
    for name in parameters(cls):
        for value in _wrong(cls, name, hints):
            with pytest.raises(RepliboError) as error:
                cls(**{**needed, name: value})
            message = str(error.value)
            assert message.startswith(f"{cls.__name__}: {name} must be "), (name, value)
            assert message.endswith(f", got {value!r}") and "\n" not in message, (name, value)
