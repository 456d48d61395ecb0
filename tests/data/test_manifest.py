"""The manifest, its typed models, and that data/README.md says the same."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from replibo.data.manifest import DataFile, data_file, load_manifest
from replibo.errors import RepliboError

ENTRY = {
    "name": "blob",
    "path": "blobs/blob.csv",
    "urls": ["https://example.org/blob.csv"],
    "sha256": "0" * 64,
    "size": 1,
    "max_bytes": 1,
    "licence": "CC0",
    "source": "nowhere",
    "citation": "nobody",
}

TABLE = {"columns": ["a", "b"], "rows": 1234}
UNKNOWN = {**ENTRY, "sha256": None, "size": None, "table": TABLE}


def test_names_paths_and_digests_are_unique() -> None:
    files = load_manifest().values()
    for attribute in ("path", "path_in_mirror"):
        assert len({getattr(file, attribute) for file in files}) == len(files)
    digests = {file.sha256 for file in files}
    assert len(digests) == len(files) and load_manifest()["amazon_reviews"].sha256 is None
    urls = [url for file in files for url in file.urls]
    assert len(set(urls)) == len(urls)


def test_a_mirror_keeps_the_publishers_file_names() -> None:
    manifest = load_manifest()
    assert manifest["crossed_barrel"].path_in_mirror == "materials/Crossed barrel_dataset.csv"
    assert manifest["mnist_train_labels"].path_in_mirror == "mnist/train-labels-idx1-ubyte.gz"
    for file in manifest.values():
        published = file.path_in_mirror.split("/")[-1].replace(" ", "%20")
        assert all(urlsplit(url).path.endswith("/" + published) for url in file.urls)


def test_the_bound_leaves_room_for_a_gz_that_is_hardly_packed() -> None:
    for file in load_manifest().values():
        assert file.max_bytes > (file.size or 0) * 1.01


@pytest.mark.parametrize(
    ("entry", "key", "value"),
    [
        (ENTRY, "path", "../blob.csv"),
        (ENTRY, "urls", ["https://example.org/a blob.csv"]),
        (ENTRY, "license", "CC0"),
        (ENTRY, "sha256", None),
        (ENTRY, "size", None),
        (ENTRY, "table", TABLE),
        (UNKNOWN, "sha256", "0" * 64),
        (UNKNOWN, "size", 1),
        (UNKNOWN, "table", None),
    ],
)
def test_a_wrong_entry_is_refused(entry: dict[str, object], key: str, value: object) -> None:
    """Digest and size go together, and where they are unknown the structure is needed."""
    DataFile.model_validate(entry)
    with pytest.raises(ValidationError, match=key):
        DataFile.model_validate(entry | {key: value})


def test_the_digest_in_words() -> None:
    assert DataFile.model_validate(ENTRY).digest == f"sha256 {'0' * 64}"
    gz = DataFile.model_validate(ENTRY | {"path": "blobs/blob.gz"})
    assert gz.digest == f"sha256 {'0' * 64} of the decompressed bytes"
    assert DataFile.model_validate(UNKNOWN).digest == "1,234 rows of a, b (digest unknown)"


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(
        RepliboError, match=r"^data file: must be agnp, .* or mnist_train_labels, got mnist$"
    ):
        data_file("mnist")


def test_the_readme_lists_every_file() -> None:
    readme = (Path(__file__).parents[2] / "data" / "README.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(): line for line in readme.splitlines() if "|" in line}
    for name, file in load_manifest().items():
        row = rows[f"`{name}`"]
        assert f"`{file.path}`" in row
        assert (f"{file.size:,}" if file.size is not None else "not known") in row
        digest = next(line for line in readme.splitlines() if line.startswith(f"| {name} |"))
        assert (file.sha256 or "not known") in digest
        if file.table is not None:
            assert f"{file.table.rows:,} rows" in row
        assert all(url in readme for url in file.urls)
