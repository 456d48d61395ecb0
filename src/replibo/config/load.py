"""Reading the config files, and saying in one line what is wrong with them."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from replibo import paths
from replibo.config.models import NAMED, Config, PaperEntry, RunSettings
from replibo.config.yaml_file import read_yaml as read_yaml
from replibo.errors import RepliboError, allowed, meant
from replibo.settings import wanted

OVERLAY_VARIABLE = "REPLIBO_CONFIG"
"""The environment variable by which the workflow names a file that is laid over the config."""


TEXTS = {"problems": "label", "algorithms": "label", "figures": "caption", "tables": "caption"}
"""What may have a grid, with the key that holds its sentence."""


def overlays_of_workflow() -> list[Path]:
    """The file that the workflow lays over the config, if any."""
    path = os.environ.get(OVERLAY_VARIABLE)
    return [Path(path)] if path else []


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``overlay``; mappings are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def with_grids(paper: str, content: Any, whole: bool) -> Any:
    """A paper's raw entry, each entry with a grid replaced by those that it stands for (`of_grids`, with
    ``whole``). What is no mapping is left as it is: the type check says so later."""
    if not isinstance(content, Mapping):
        return content
    full = dict(content)
    for kind, text in TEXTS.items():
        if isinstance(content.get(kind), Mapping):
            full[kind] = of_grids(content[kind], f"config: {paper}.{kind}.", [text], whole)
    return full


def of_grids(
    entries: Mapping[Any, Any], where: str, texts: Sequence[str], whole: bool = True
) -> dict[Any, Any]:
    """Raw entries by name, with each that has a ``grid`` replaced by one for each combination of the
    grid's values. A later entry of the name of one of these is laid over it.

    Args:
        where: what stands before a name in a message.
        texts: the keys of an entry that hold sentences, in which a value stands by its label; the first
            of them names every axis.
        whole: False if entries may be laid over those of another file, and lack what these have.
    """
    full: dict[Any, Any] = {}
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or "grid" not in entry:
            keys = entry if isinstance(entry, Mapping) else {}
            sentences = " ".join(strings([name, *(keys.get(text) for text in texts)]))
            if braces := re.search(r"{\w+}", sentences):
                raise RepliboError(f"{where}{name}: has {braces[0]}, but no grid")
            hint = meant(str(name), full)
            if whole and hint and name not in full and texts[0] not in keys:
                raise RepliboError(
                    f"{where}{name}: must have a {texts[0]}, or the name of an entry above{hint}"
                )
            full = merge(full, {name: entry})
            continue
        for cell, settings in _of_grid(f"{where}{name}.grid", name, entry, texts):
            if cell in full:
                raise RepliboError(
                    f"{where}{name}.grid: must make what stands nowhere above, got {cell} (an entry "
                    "that is to be laid over it stands below)"
                )
            full[cell] = settings
    return full


def _of_grid(
    where: str, name: str, entry: Mapping[str, Any], texts: Sequence[str]
) -> list[tuple[str, Any]]:
    """The names and the entries that one with a ``grid`` stands for. The values of an axis are a list, or
    a mapping to the settings that each changes, where ``label`` is the value's text in sentences."""
    grid = entry["grid"]
    if not isinstance(grid, Mapping) or not grid:
        raise RepliboError(f"{where}: must be a mapping of axes, got {grid!r}")
    axes = []
    for axis, values in grid.items():
        if f"{{{axis}}}" not in name or f"{{{axis}}}" not in str(entry.get(texts[0], "")):
            raise RepliboError(
                f"{where}: the entry's name and its {texts[0]} must have {{{axis}}} in them"
            )
        settings = values.values() if isinstance(values, Mapping) else []
        if (
            not isinstance(values, list | Mapping)
            or not values
            or not all(isinstance(value, str | int | float) for value in values)
            or len(set(values)) < len(values)
            or not all(isinstance(changes, Mapping) for changes in settings)
        ):
            raise RepliboError(
                f"{where}.{axis}: must be a list of different values, or a mapping of values to "
                f"settings, got {repr(values)[:60]}"
            )
        if isinstance(values, list):
            values = {value: {} for value in values}
        for value, changes in values.items():
            label = changes.get("label", value)
            if not isinstance(label, str | int | float) or label == "":
                raise RepliboError(f"{where}.{axis}.{value}.label: must be text, got {label!r}")
        axes.append([(axis, value, changes) for value, changes in values.items()])
    entries = []
    for cell in itertools.product(*axes):
        full = {key: value for key, value in entry.items() if key != "grid"}
        for _, _, changes in cell:
            full = merge(full, {key: value for key, value in changes.items() if key != "label"})
        names = {axis: value for axis, value, _ in cell}
        labels = {axis: str(changes.get("label", value)) for axis, value, changes in cell}
        filled = {key: _filled(full[key], labels if key in texts else names) for key in full}
        if braces := re.search(r"{[^{}'\"]*}", " ".join(strings([_filled(name, names), filled]))):
            raise RepliboError(f"{where}: must be of the axes {allowed(names)}, got {braces[0]}")
        entries.append((str(_filled(name, names)), filled))
    return entries


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    """A raw value with each ``{axis}`` replaced; where a string is nothing else, by the very value."""
    if isinstance(value, str):
        for axis, name in names.items():
            if value == f"{{{axis}}}":
                return name
            value = value.replace(f"{{{axis}}}", str(name))
    elif isinstance(value, Mapping):
        return {_filled(key, names): _filled(item, names) for key, item in value.items()}
    elif isinstance(value, list):
        return [_filled(item, names) for item in value]
    return value


def with_patterns(value: Any, names: Mapping[str, Collection[str]], where: str) -> Any:
    """A raw value, in which each name with a ``*`` is replaced by those that it stands for, and that are
    not named beside it. What a mapping gives a name is laid over what it gives such a pattern; in one to
    names, ``{"a*": "b*"}``, the ``*`` on the right is the text that the one on the left stands for.

    Args:
        names: of the ``problems`` and of the ``algorithms``.
        where: what stands before a key in a message.
    """
    if isinstance(value, list):
        return [with_patterns(item, names, where) for item in value]
    if not isinstance(value, Mapping):
        return value
    replaced = {}
    for key, item in value.items():
        inner, of_kind = f"{where}.{key}", names.get(NAMED.get(key, ""), ())
        texts = item if of_kind and isinstance(item, list | Mapping) else []
        patterns = [text for text in texts if isinstance(text, str) and "*" in text]
        if patterns and isinstance(item, Mapping):
            plain = {name: new for name, new in item.items() if name not in patterns}
            for text in reversed(patterns):
                plain = merge(_fitting(inner, text, item[text], of_kind), plain)
            item = plain
        elif patterns:
            full: list[Any] = []
            for text in item:
                fitting = _fitting(inner, text, None, of_kind) if text in patterns else []
                full += [name for name in fitting if name not in item and name not in full]
                full += [text] if text not in patterns else []
            item = full
        replaced[key] = with_patterns(item, names, inner)
    return replaced


def _fitting(where: str, text: str, value: Any, names: Collection[str]) -> dict[str, Any]:
    """The names that a pattern stands for, each with what ``value`` is for it."""
    pattern = "(.*)".join(map(re.escape, text.split("*")))
    fitting = {}
    for match in filter(None, (re.fullmatch(pattern, name) for name in names)):
        new = value.replace("*", match[1]) if isinstance(value, str) else value
        if not isinstance(value, str) or new in names:
            fitting[match[0]] = new
    if not fitting:
        raise RepliboError(
            f"{where}: must be {allowed(names)}, got {text!r}, which stands for none of them"
        )
    return fitting


def strings(value: Any) -> Iterator[str]:
    """Every string in nested lists and mappings, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.items():
            yield from strings([*item])
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def read(folder: Path = Path("config"), overlays: Sequence[Path] = ()) -> dict[str, Any]:
    """The raw config: ``config.yaml``, a file per paper that it lists, then the overlays."""
    extra: dict[str, Any] = {}
    for overlay in overlays:
        extra = merge(extra, read_yaml(overlay))
    return read_with(extra, folder)


def read_with(extra: Mapping[str, Any], folder: Path = Path("config")) -> dict[str, Any]:
    """The raw config of a folder, ``config.yaml`` and the file of each paper, in which the values of
    ``extra`` replace others."""
    raw = read_yaml(folder / "config.yaml")
    papers = extra.get("papers", raw.get("papers"))
    for paper in papers if isinstance(papers, list) else []:
        content = read_yaml(folder / f"{paper}.yaml")
        if list(content) != [paper]:
            raise RepliboError(
                f"{folder / f'{paper}.yaml'}: has the keys {allowed(content)}; allowed: {paper}"
            )
        raw = merge(raw, {paper: with_grids(paper, content[paper], True)})
    return merge(raw, {key: with_grids(key, value, False) for key, value in extra.items()})


def parse(raw: Mapping[str, Any]) -> Config:
    """The typed config.

    Raises:
        RepliboError: one line for each fault: where it stands and what is allowed there.
    """
    raw = dict(raw)
    # a name that stands there twice is said below
    papers = [*dict.fromkeys(names)] if isinstance(names := raw.get("papers"), list) else []
    entries: dict[str, PaperEntry] = {}
    faults: list[str] = []
    for paper in papers:
        try:
            entries[paper] = PaperEntry.model_validate(_whole(paper, raw.pop(paper, {})))
        except ValidationError as error:
            faults += lines_of(PaperEntry, error, f"config: {paper}.")
    if "entries" in raw:
        faults.append("config: entries: unknown key")
    try:
        config = Config.model_validate({**raw, "entries": {}})
    except ValidationError as error:
        faults += lines_of(Config, error, "config: ", also=papers)
    if faults:
        raise RepliboError("\n".join(faults))
    return config.model_copy(update={"entries": entries})


def _whole(paper: str, content: Any) -> Any:
    """A paper's raw entry `with_patterns` of its own problems and algorithms."""
    if not isinstance(content, Mapping):
        return content
    entries = {kind: content.get(kind) for kind in ("problems", "algorithms")}
    names = {kind: [*by_name] for kind, by_name in entries.items() if isinstance(by_name, Mapping)}
    return with_patterns(content, names, f"config: {paper}")


def load(folder: Path = Path("config"), overlays: Sequence[Path] = ()) -> Config:
    """`read` and `parse` in one."""
    if not (folder / "config.yaml").is_file():
        raise RepliboError(
            f"{folder / 'config.yaml'}: not found; run this in the project's root folder "
            f"({paths.clone()})"
        )
    return parse(read(folder, overlays))


def lines_of(
    model: Any, error: ValidationError, prefix: str, also: Sequence[str] = ()
) -> list[str]:
    """A line for each fault of what should be a ``model``; ``also``: keys of the top level that it does
    not have."""
    lines = []
    for fault in error.errors(include_url=False):
        location = [part for part in fault["loc"] if part != "[key]"]
        where = prefix + ".".join(str(part) for part in location)
        match fault["type"]:
            case "extra_forbidden":
                keys = [*_keys(model, location[:-1]), *(also if len(location) == 1 else ())]
                message = f"unknown key; allowed: {allowed(keys)}" if keys else "unknown key"
            case "missing":
                message = "missing"
            case "value_error":
                message = str(fault["ctx"]["error"]) if "ctx" in fault else fault["msg"]
            case _:
                # A key that is no allowed literal is reported with its own text as the input.
                value = json.dumps(fault["input"], default=str)
                value = value if len(value) <= 60 else value[:57] + "…"
                message = f"must {wanted(fault)}, got {value}"
        lines.append(f"{where.rstrip('.: ')}: {message}")
    return lines


def _keys(model: Any, location: Sequence[int | str]) -> list[str]:
    """The keys allowed at ``location``, found by walking down the models."""
    current = model
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
        names = getattr(entry, f"{kind}s")
        if name not in names:
            raise RepliboError(
                f"{paper} has no {kind} called {name!r}; allowed: {allowed(names)}{meant(name, names)}"
            )
    return entry.settings(scale, problem, algorithm)
