"""Which values of an algorithm's settings are allowed: the ranges that many of them have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from replibo.errors import RepliboError

_NONE: Mapping[str, Any] = MappingProxyType({})


def check_settings(
    *,
    positive: Mapping[str, float] = _NONE,
    not_negative: Mapping[str, float] = _NONE,
    counts: Mapping[str, int] = _NONE,
    choices: Mapping[str, tuple[str, tuple[str, ...]]] = _NONE,
) -> None:
    """Raise a `RepliboError` where a setting (by its name) is not allowed.

    Args:
        positive: numbers that must be finite and above 0.
        not_negative: numbers that must be finite and 0 or above.
        counts: integers that must be 1 or more.
        choices: values with what is allowed.
    """
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise RepliboError(f"{name}: {value} is not allowed; a finite number > 0 is")
    for name, value in not_negative.items():
        if not (math.isfinite(value) and value >= 0):
            raise RepliboError(f"{name}: {value} is not allowed; a finite number >= 0 is")
    for name, count in counts.items():
        if type(count) is not int or count < 1:
            raise RepliboError(f"{name}: {count} is not allowed; an integer >= 1 is")
    for name, (choice, allowed) in choices.items():
        if choice not in allowed:
            raise RepliboError(f"{name}: {choice} is not allowed; {' or '.join(allowed)} is")
