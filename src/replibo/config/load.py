"""Reading the config files, and saying in one line what is wrong with them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from replibo import paths
from replibo.config.models import Config, PaperEntry, RunSettings
from replibo.config.yaml_file import read_yaml as read_yaml
from replibo.errors import RepliboError, allowed, meant

OVERLAY_VARIABLE = "REPLIBO_CONFIG"
"""The environment variable by which the workflow names a file that is laid over the config."""


def overlays_of_workflow() -> list[Path]:
    """The file that the workflow lays over the config, if any."""
    named = os.environ.get(OVERLAY_VARIABLE)
    return [Path(named)] if named else []


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``overlay``; mappings are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read(folder: Path = Path("config"), overlays: Sequence[Path] = ()) -> dict[str, Any]:
    """The raw config: ``config.yaml``, a file per paper that it lists, then the overlays."""
    extra: dict[str, Any] = {}
    for overlay in overlays:
        extra = merge(extra, read_yaml(overlay))
    return under(extra, folder)


def under(extra: Mapping[str, Any], folder: Path = Path("config")) -> dict[str, Any]:
    """The raw config of a folder with ``extra`` laid over it."""
    raw = read_yaml(folder / "config.yaml")
    papers = extra.get("papers", raw.get("papers"))
    for paper in papers if isinstance(papers, list) else []:
        content = read_yaml(folder / f"{paper}.yaml")
        if list(content) != [paper]:
            raise RepliboError(
                f"{folder / f'{paper}.yaml'}: has the keys {allowed(content)}; allowed: {paper}"
            )
        raw = merge(raw, content)
    return merge(raw, extra)


def parse(raw: Mapping[str, Any]) -> Config:
    """The typed config.

    Raises:
        RepliboError: one line for each fault: where it stands and what is allowed there.
    """
    raw = dict(raw)
    papers = raw.get("papers") if isinstance(raw.get("papers"), list) else []
    entries: dict[str, PaperEntry] = {}
    faults: list[str] = []
    for paper in dict.fromkeys(papers or []):  # twice is said below
        try:
            entries[paper] = PaperEntry.model_validate(raw.pop(paper, {}))
        except ValidationError as error:
            faults += _faults(PaperEntry, error, f"{paper}.")
    if "entries" in raw:
        faults.append("config: entries: unknown key")
    try:
        config = Config.model_validate({**raw, "entries": {}})
    except ValidationError as error:
        faults += _faults(Config, error, "", also=list(dict.fromkeys(papers or [])))
    if faults:
        raise RepliboError("\n".join(faults))
    return config.model_copy(update={"entries": entries})


def load(folder: Path = Path("config"), overlays: Sequence[Path] = ()) -> Config:
    """`read` and `parse` in one."""
    if not (folder / "config.yaml").is_file():
        raise RepliboError(
            f"{folder / 'config.yaml'}: not found; run this in the project's root folder "
            f"({paths.clone()})"
        )
    return parse(read(folder, overlays))


def _faults(
    model: type[BaseModel], error: ValidationError, prefix: str, also: Sequence[str] = ()
) -> list[str]:
    """A line for each fault; ``also``: keys of the top level that the model does not have."""
    lines = []
    for fault in error.errors(include_url=False):
        location = [part for part in fault["loc"] if part != "[key]"]
        where = prefix + ".".join(str(part) for part in location)
        match fault["type"]:
            case "extra_forbidden":
                keys = [*_keys(model, location[:-1]), *(also if len(location) == 1 else ())]
                what = f"unknown key; allowed: {allowed(keys)}" if keys else "unknown key"
            case "missing":
                what = "missing"
            case "value_error":
                what = str(fault["ctx"]["error"]) if "ctx" in fault else fault["msg"]
            case _:
                # A key that is no allowed literal is reported with its own text as the input.
                shown = json.dumps(fault["input"], default=str)
                shown = shown if len(shown) <= 60 else shown[:57] + "…"
                wanted = re.sub(r"^\w+ should ", "", fault["msg"])
                what = f"must {wanted}, got {shown}"
        where = where.rstrip(".")
        lines.append(f"config: {where}: {what}" if where else f"config: {what}")
    return lines


def _keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The keys allowed at ``location``, found by walking down the models."""
    current: Any = model
    for part in location:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(part))
            current = field.annotation if field else None
        else:
            # a mapping of names to models: the model is its last type argument
            current = get_args(current)[-1] if get_args(current) else None
    if isinstance(current, type) and issubclass(current, BaseModel):
        keys = list(current.model_fields)
        return [key for key in keys if key != "entries"]
    return []


def run_settings(
    config: Config, paper: str, scale: str, problem: str, algorithm: str
) -> RunSettings:
    """The settings of one problem and algorithm, after checking that each name exists."""
    entry = config.paper(paper)
    config.scale(scale)
    for kind, name in (("problem", problem), ("algorithm", algorithm)):
        known = getattr(entry, f"{kind}s")
        if name not in known:
            raise RepliboError(
                f"{paper} has no {kind} called {name!r}; allowed: {allowed(known)}{meant(name, known)}"
            )
    return entry.settings(scale, problem, algorithm)
