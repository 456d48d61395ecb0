"""The metadata of files of runs: what must be in them, and the checksum of those that are published."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ValidationError

from replibo.errors import RepliboError


class Block(BaseModel):
    """Metadata of a run's own file."""

    paper: str
    problem: str
    algorithm: str
    scale: str
    identity: dict[str, Any]
    problem_facts: dict[str, Any]
    digests: dict[str, str]
    versions: dict[str, str]
    overhead_seconds: float
    changed_config: bool
    machine: str
    peak_mb: float
    commit: str


class Collected(BaseModel):
    """Metadata of the runs of one or more problems and algorithms of a paper."""

    paper: str
    scale: str
    problems: dict[str, dict[str, Any]]
    timings: dict[str, dict[str, Any]]
    changed_config: bool
    versions: list[dict[str, str]]
    machine: list[str]
    commit: list[str]


def check(kind: type[BaseModel], found: Any, where: object) -> dict[str, Any]:
    """``found``, after a check that it is of this kind.

    Args:
        where: the file, for the message.

    Raises:
        RepliboError: a key is missing or of another type.
    """
    try:
        kind.model_validate(found)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"]) or "all of it"
        raise RepliboError(
            f"{where}: damaged metadata ({place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}); "
            "delete the file, and make it again"
        ) from None
    checked: dict[str, Any] = found
    return checked


def checksum(metadata: dict[str, Any]) -> str:
    """SHA-256 of published metadata without the key ``checksum``."""
    rest = {key: value for key, value in metadata.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
