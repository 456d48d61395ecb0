"""Files known to the manifest for one test, and what the tests of the data files share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from replibo.data import manifest as manifests
from replibo.data.manifest import CsvTable, DataFile

CSV = b"n,theta\n" + b"6,0.5\n" * 200
DIGITS = bytes(range(256)) * 40
TABLE = CsvTable(columns=("text", "kind"), rows=4)
REVIEWS = 'text,kind\n"good, ""very""",a\n"two\nlines",b\n,a\nüber,b\n'.encode()
OTHERS = REVIEWS.replace(b"good", b"poor")

Listed = Callable[..., DataFile]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """Makes a file known to the manifest, which then holds only such files.

    `DIGITS` are known by their decompressed bytes, `REVIEWS` by their structure only.
    """
    entries: dict[str, DataFile] = {}
    monkeypatch.setattr(manifests, "load_manifest", lambda: entries)

    def add(name: str, *urls: str, content: bytes = CSV) -> DataFile:
        gz, table = content == DIGITS, TABLE if content == REVIEWS else None
        entries[name] = DataFile(
            name=name,
            path=f"blobs/{name}.{'gz' if gz else 'csv'}",
            mirror_path=f"blobs/{name} as published",
            urls=urls,
            sha256=None if table else hashlib.sha256(content).hexdigest(),
            size=None if table else len(content),
            max_bytes=20_000,
            table=table,
            licence="CC0",
            source="nowhere",
            citation="nobody",
        )
        return entries[name]

    return add


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def files_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
