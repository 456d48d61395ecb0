"""The metadata of files of runs: in a parquet file's footer; what must be in them; their checksum."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from replibo.errors import RepliboError
from replibo.files import reason

KEY = b"replibo"
"""The name of the metadata in the footer."""


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


def check(kind: type[BaseModel], metadata: Any, path: Path) -> dict[str, Any]:
    """``metadata``, or a `RepliboError` if a key is missing or of another type."""
    try:
        kind.model_validate(metadata)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"]) or "all of it"
        raise RepliboError(
            f"{path}: damaged metadata ({place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}); "
            "delete the file, and make it again"
        ) from None
    checked: dict[str, Any] = metadata
    return checked


def with_checksum(content: dict[str, Any]) -> str:
    """The metadata as JSON, whose last key is the SHA-256 of the text without it."""
    text = json.dumps(content)
    return f'{text[:-1]}, "checksum": "{hashlib.sha256(text.encode()).hexdigest()}"}}'


def of_file(path: Path, cure: str = "") -> dict[str, Any]:
    """The metadata of a file of traces, without reading (and checking) its rows.

    Args:
        cure: what metadata ask for that are not as `with_checksum` wrote them; empty for no checksum.
    """
    import pyarrow.parquet as pq

    try:
        text = (pq.read_metadata(path).metadata or {}).get(KEY)
        if text is None:
            raise ValueError("no metadata")
    except (OSError, ValueError) as error:
        raise _foreign(path, error, cure) from None
    if cure:
        head, _, digest = text.rpartition(b', "checksum": "')
        text = head + b"}"
        if digest != b'%b"}' % hashlib.sha256(text).hexdigest().encode():
            raise RepliboError(f"{path}: damaged (its checksum is wrong or missing); {cure}")
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("its metadata is not a mapping")
    except ValueError as error:
        raise _foreign(path, error, cure) from None
    return content


def _foreign(path: Path, error: Exception, cure: str) -> RepliboError:
    said = f"{path}: holds no traces written by replibo ({reason(error)})"
    return RepliboError(f"{said}; {cure}" if cure else said)
