"""What data files there are: `manifest.yaml`, typed.

Read by the workflow each time it is started, so nothing heavy is imported here.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from replibo.errors import RepliboError, allowed


class CsvTable(BaseModel):
    """What is known of a CSV file whose digest is not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...] = Field(min_length=1, description="the header, in this order")
    rows: int = Field(gt=0, description="below the header")


class DataFile(BaseModel):
    """One file of the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    path: str = Field(
        pattern=r"^[a-z0-9_]+/[A-Za-z0-9_.-]+$",
        description="where it lies, relative to the data folder",
    )
    mirror_path: str | None = Field(
        default=None, description="where it lies in a mirror; None: at `path` there too"
    )
    urls: tuple[Annotated[str, Field(pattern=r"^https?://\S+$")], ...] = Field(min_length=1)
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{64}$", description="of a gz file: of what it holds"
    )
    size: int | None = Field(default=None, gt=0, description="bytes of what `sha256` is of")
    max_bytes: int = Field(
        gt=0, description="of the file as it lies there; a longer one is refused"
    )
    table: CsvTable | None = Field(
        default=None, description="verifies the file where its digest is unknown"
    )
    licence: str
    source: str
    citation: str

    @model_validator(mode="after")
    def _is_verified_in_one_way(self) -> DataFile:
        unknown = self.sha256 is None
        if (self.size is None) != unknown or (self.table is None) == unknown:
            raise ValueError("must have sha256 and size, or a table")
        return self

    @property
    def is_gz(self) -> bool:
        """Whether it is verified by its decompressed bytes."""
        return self.path.endswith(".gz")

    @property
    def path_in_mirror(self) -> str:
        """Where it lies in a mirror, relative to the mirror's root."""
        return self.mirror_path or self.path

    @property
    def digest(self) -> str:
        """What the file is verified by, in words, for messages."""
        if self.table is not None:
            return f"{self.table.rows:,} rows of {', '.join(self.table.columns)} (digest unknown)"
        return f"sha256 {self.sha256}{' of the decompressed bytes' if self.is_gz else ''}"


@functools.cache  # the workflow asks twice for each of its jobs
def load_manifest() -> dict[str, DataFile]:
    """The files by name, in the manifest's order."""
    text = files("replibo.data").joinpath("manifest.yaml").read_text(encoding="utf-8")
    return {name: DataFile(name=name, **entry) for name, entry in yaml.safe_load(text).items()}


def data_file(name: str) -> DataFile:
    """The file called ``name``."""
    manifest = load_manifest()
    if name not in manifest:
        raise RepliboError(f"data file: must be {allowed(manifest)}, got {name}")
    return manifest[name]
