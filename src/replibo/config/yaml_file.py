"""Reading YAML without its traps: what a reader takes for one thing and YAML for another is refused."""

from __future__ import annotations

import functools
import pickle
import re
from pathlib import Path
from typing import Any

import yaml

from replibo import files
from replibo.errors import RepliboError

LARGEST_FILE = 2**20  # bytes
DEEPEST = 30
MOST_VALUES = 100_000
"""Aliases counted as often as they are used: a few lines of them can stand for billions."""

# YAML 1.1 reads 010 as 8, 1:30 as 90, 1_0 as 10 and no as false.
_PLAIN = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]{0,18})"),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
    "tag:yaml.org,2002:bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
}
_TAGS = {
    *_PLAIN,
    *(f"tag:yaml.org,2002:{name}" for name in ("null", "str", "seq", "map", "merge")),
}


# Every job reads the config, and the parser in Python takes ten times as long as the one in C.
_Loader = yaml.CSafeLoader


def _fault(mark: Any, text: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=mark)


def _check_depth(text: str) -> None:
    """Raise an error for what is nested too deep, before the loader follows it down."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth >= DEEPEST:
            raise _fault(event.start_mark, f"must be nested at most {DEEPEST} levels deep")


def _check(node: yaml.Node) -> None:
    """Raise an error for what is in a document but not in its plain reading."""
    count = 0
    queue = [(node, 0)]
    while queue:
        node, depth = queue.pop()
        count += 1
        if depth > DEEPEST or count > MOST_VALUES:
            raise _fault(node.start_mark, "an alias must not stand for itself, nor for too much")
        if node.tag == "tag:yaml.org,2002:timestamp":
            node.tag = "tag:yaml.org,2002:str"
        if node.tag not in _TAGS:
            raise _fault(node.start_mark, f"must have no tag, got {node.tag}")
        if isinstance(node, yaml.ScalarNode):
            plain = _PLAIN.get(node.tag)
            if plain and not plain.fullmatch(node.value):
                raise _fault(
                    node.start_mark,
                    "must be a plain number, true or false, or a text in quotes, got "
                    f"{node.value[:60]}",
                )
        elif isinstance(node, yaml.SequenceNode):
            queue += [(item, depth + 1) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise _fault(key.start_mark, "a key must be a text")
                if key.value in keys:
                    raise _fault(key.start_mark, f"the key {key.value!r} must stand there once")
                keys.add(key.value)
                queue += [(key, depth + 1), (value, depth + 1)]


@functools.lru_cache(maxsize=64)
def _document(content: bytes) -> bytes:
    """The document in a file's content, pickled: the workflow reads each file of the config several
    times, and whoever gets it may change it."""
    text = content.decode("utf-8")
    _check_depth(text)
    loader = _Loader(text)
    node = loader.get_single_node()
    if node is not None:
        _check(node)
    return pickle.dumps(loader.construct_document(node) if node is not None else None)


def read_yaml(path: Path) -> dict[str, Any]:
    """One YAML file as a mapping, or a `RepliboError`."""
    content = files.read_bytes(path, LARGEST_FILE)
    try:
        document = pickle.loads(_document(content))
    except UnicodeDecodeError:
        raise RepliboError(f"{path}: cannot be read (not UTF-8)") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or error).partition("\n")[0]
        raise RepliboError(f"{path}{line}: not YAML ({problem})") from None
    if not isinstance(document, dict):
        raise RepliboError(f"{path}: must hold a mapping of keys to values")
    return document
