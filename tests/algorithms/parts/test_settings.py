"""The ranges that many settings have."""

import math

import pytest

from replibo.algorithms.parts.settings import check_settings
from replibo.errors import RepliboError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positive": {"a": 0.0}}, "a: 0.0 is not allowed; a finite number > 0 is"),
        ({"positive": {"a": math.nan}}, "a: nan is not allowed; a finite number > 0 is"),
        ({"positive": {"a": math.inf}}, "a: inf is not allowed; a finite number > 0 is"),
        ({"not_negative": {"a": -1e-9}}, "a: -1e-09 is not allowed; a finite number >= 0 is"),
        ({"not_negative": {"a": math.nan}}, "a: nan is not allowed; a finite number >= 0 is"),
        ({"not_negative": {"a": math.inf}}, "a: inf is not allowed; a finite number >= 0 is"),
        ({"counts": {"b": 0}}, "b: 0 is not allowed; an integer >= 1 is"),
        ({"counts": {"b": 2.0}}, "b: 2.0 is not allowed; an integer >= 1 is"),
        ({"counts": {"b": True}}, "b: True is not allowed; an integer >= 1 is"),
        ({"choices": {"c": ("x", ("y", "z"))}}, "c: x is not allowed; y or z is"),
        (
            {"positive": {"a": 1.0, "second": -1.0}},
            "second: -1.0 is not allowed; a finite number > 0 is",
        ),
    ],
)
def test_what_is_not_allowed_is_said(settings, message):
    with pytest.raises(RepliboError) as error:
        check_settings(**settings)
    assert str(error.value) == message


def test_what_is_allowed_passes():
    check_settings(
        positive={"a": 1e-9},
        not_negative={"a": 0.0, "b": 0},
        counts={"b": 1},
        choices={"c": ("z", ("y", "z"))},
    )
