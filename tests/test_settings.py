"""Settings of all problems and algorithms: what is out of range or of another type is one line."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from replibo.errors import RepliboError
from replibo.settings import (
    Checked,
    Count,
    Fraction,
    NonNegative,
    Positive,
    Probability,
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
    ("positive", -1, "must be greater than 0, got -1"),
    ("positive", math.inf, "must be a finite number, got inf"),
    ("positive", math.nan, "must be a finite number, got nan"),
    ("positive", True, "must be a valid number, got True"),
    ("positive", "1", "must be a valid number, got '1'"),
    ("positive", None, "must be a valid number, got None"),
    ("at_least_zero", -1e-9, "must be greater than or equal to 0, got -1e-09"),
    ("probability", 0.0, "must be greater than 0, got 0.0"),
    ("probability", 1.0, "must be less than 1, got 1.0"),
    ("share", 1.5, "must be less than or equal to 1, got 1.5"),
    ("share", math.nan, "must be a finite number, got nan"),
    ("count", 0, "must be greater than or equal to 1, got 0"),
    ("count", 2.0, "must be a valid integer, got 2.0"),
    ("count", False, "must be a valid integer, got False"),
    ("choice", "z", "must be 'x' or 'y', got 'z'"),
    ("numbers", "a", "must be a valid integer or be a valid dictionary, got 'a'"),
]


@pytest.mark.parametrize(("key", "value", "message"), FAULTS)
def test_a_fault_is_one_line_with_class_and_name(key: str, value: Any, message: str) -> None:
    for cls, others in ((Example, {}), (Derived, {"needed": 1.0})):
        with pytest.raises(RepliboError) as error:
            cls(**others, **{key: value})
        assert str(error.value) == f"{cls.__name__}: {key} {message}"


def test_what_is_in_range_passes() -> None:
    made = Example(None, positive=3, at_least_zero=None, share=0, numbers={"a": 2})
    assert made.kept == (3.0, None, 0.5, 0.0, 1, "x", {"a": 2})
    assert Derived(needed=2.0, count=7).kept[4] == 7


def test_a_setting_without_a_default_must_be_given() -> None:
    with pytest.raises(RepliboError, match=r"^Derived: needed must be given$"):
        Derived(count=1)  # type: ignore[call-arg]


def test_a_base_s_settings_belong_to_those_of_a_class_that_passes_them_on() -> None:
    assert list(parameters(Derived))[:3] == ["needed", "positive", "at_least_zero"]
