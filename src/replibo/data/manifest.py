"""What data files there are: `manifest.yaml`, typed.

Read by the workflow each time it is started, so nothing heavy is imported here.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from replibo.errors import RepliboError, allowed


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
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of what `digest_of` says")
    digest_of: Literal["file", "decompressed"]
    size: int = Field(gt=0, description="bytes of what `digest_of` says")
    licence: str
    source: str
    citation: str

    @property
    def path_in_mirror(self) -> str:
        """Where it lies in a mirror, relative to the mirror's root."""
        return self.mirror_path or self.path

    @property
    def digest(self) -> str:
        """The digest in words, for messages."""
        of = " of the decompressed bytes" if self.digest_of == "decompressed" else ""
        return f"sha256 {self.sha256}{of}"


@functools.cache  # the workflow asks twice for each of its jobs
def load_manifest() -> dict[str, DataFile]:
    """The files by name, in the manifest's order.

    Raises:
        pydantic.ValidationError: the manifest itself is wrong (a mistake in the package).
    """
    text = files("replibo.data").joinpath("manifest.yaml").read_text(encoding="utf-8")
    return {name: DataFile(name=name, **entry) for name, entry in yaml.safe_load(text).items()}


def data_file(name: str) -> DataFile:
    """The file called ``name``.

    Raises:
        RepliboError: there is none of that name; says which there are.
    """
    manifest = load_manifest()
    if name not in manifest:
        raise RepliboError(f"data file: {name} is not known; {allowed(manifest)} is")
    return manifest[name]


def destination(name: str, data_dir: Path) -> Path:
    """Where the file called ``name`` lies below the data folder ``data_dir``.

    Raises:
        RepliboError: there is none of that name.
    """
    return data_dir / data_file(name).path
