"""The commit that runs are made from."""

from __future__ import annotations

import functools
import logging
import os
import subprocess

from replibo.config.registry import PACKAGE

DIRTY = "-dirty"
UNKNOWN = "unknown"


def described() -> str:
    """The commit of the package's repository, `DIRTY` behind it where files have changed; `UNKNOWN` where
    the package is not tracked by git, such as from a wheel."""
    if not _git("ls-files", "--", "."):
        return UNKNOWN
    return _git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty") or UNKNOWN


def of_package() -> str:
    """The commit whose source the package has, whatever else in its repository has changed; `UNKNOWN`
    where its source has, or where git does not track it."""
    if not _git("ls-files", "--", "."):
        return UNKNOWN
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", ".")
    return head if head and changed == "" else UNKNOWN


def _git(*arguments: str) -> str | None:
    """What git says in the package's folder, wherever the command runs; None where it fails or is not
    there. A warning tells what a refusing git says."""
    # Variables such as GIT_DIR, which a hook sets, are of another repository.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            ("git", "-C", str(PACKAGE), *arguments),
            capture_output=True,
            text=True,
            env={**environment, "LC_ALL": "C"},
        )
    except OSError:
        return None
    if done.returncode and "dubious ownership" in done.stderr:
        _warn(done.stderr.strip().splitlines()[0])
    return None if done.returncode else done.stdout.strip()


@functools.cache
def _warn(reason: str) -> None:
    logging.getLogger(__name__).warning(
        "the commit is written down as unknown, for git says: %s (git config --global --add "
        "safe.directory FOLDER allows it)",
        reason,
    )
