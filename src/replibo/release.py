"""A release: where its repository is, and the published traces outside a clone.

The asset ``published-PAPER.zip`` of a release holds the traces of a paper (``make release`` makes it).
The package brings the digest of every published file. So the files are fetched once, verified, and kept
in the user's cache. ``REPLIBO_DATA_MIRROR`` (a folder or a URL with the assets) is asked before the
release.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

from replibo import __version__, files, paths
from replibo.config.models import Pair
from replibo.errors import RepliboError, allowed

ASSET = "published-{paper}.zip"
"""The name of the asset with a paper's traces."""


def clones() -> tuple[Path, Path]:
    """What may be the root of a clone: the working folder, and what the package was installed from."""
    return Path.cwd(), Path(__file__).parents[2]


def clone(paper: str) -> Path | None:
    """The root of a clone with published traces of ``paper``; None if there is none."""
    folder = paths.published_folder(paper)
    return next((root for root in clones() if (root / folder).is_dir()), None)


def digests(paper: str) -> dict[str, str]:
    """The digest of each published file of a paper by its name, as the package brings it (setup.py)."""
    brought = {path.stem: path for path in (paths.SHIPPED / paths.PUBLISHED).glob("*.sha256")}
    if paper not in brought:
        names = brought or {
            path.name for root in clones() for path in (root / paths.PUBLISHED).glob("*")
        }
        raise RepliboError(f"paper: nothing is published of {paper}; must be {allowed(names)}")
    lines = brought[paper].read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}


def fetched(paper: str, wanted: Collection[Pair], digests: Mapping[str, str]) -> Path:
    """The folder of the user's cache with the published traces of the pairs ``wanted``, for a package
    without a clone."""
    import pooch

    from replibo.data.fetch import fetch_verified, sources_of
    from replibo.results.publish import MAXIMAL_BYTES
    from replibo.run import published

    root = Path(pooch.os_cache("replibo"), __version__)
    folder = root / paths.published_folder(paper)
    names = [name for name in digests if published.pair_of(Path(name)) in wanted]
    intact = (pooch.file_hash(folder / name) == digests[name] for name in names)
    if all((folder / name).is_file() for name in names) and all(intact):
        return root
    asset, address = ASSET.format(paper=paper), paths.repository()
    urls = [f"{address}/releases/download/v{__version__}/{asset}"] if address else []
    files.check_writable(folder, folder=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as private:
        archive = Path(private, asset)
        fetch_verified(
            f"published traces of {paper}",
            archive,
            sources_of(asset, urls),
            max_bytes=(len(digests) + 1) * MAXIMAL_BYTES,
            fault=lambda path: _fault(path, paper, digests),
            by_hand=f"REPLIBO_DATA_MIRROR names a folder or URL that has {asset}",
        )
        with zipfile.ZipFile(archive) as source, files.written_whole(folder, folder=True) as target:
            for name in digests:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(source.read(f"{paper}/{name}"))
    return root


def _fault(path: Path, paper: str, digests: Mapping[str, str]) -> str:
    """What is wrong with an asset; empty if every file in it has the published digest."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name, digest in digests.items():
                with archive.open(f"{paper}/{name}") as member:
                    if hashlib.file_digest(member, "sha256").hexdigest() != digest:  # type: ignore[arg-type]
                        return f"wrong digest of {name}: sha256 must be {digest}"
    except KeyError as error:
        return f"must hold all published files: {error.args[0]}"
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        return f"must be a zip file ({error})"
    return ""
