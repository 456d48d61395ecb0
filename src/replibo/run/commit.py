"""The commit that runs are made from."""

from __future__ import annotations

import subprocess

from replibo.config.registry import PACKAGE

DIRTY = "-dirty"
UNKNOWN = "unknown"


def described() -> str:
    """The commit of the working folder, `DIRTY` behind it where files have changed; `UNKNOWN` without
    git."""
    return _git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty") or UNKNOWN


def of_package() -> str:
    """The commit whose source the package has, whatever else in the working folder has changed;
    `UNKNOWN` where its source has."""
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", str(PACKAGE))
    return head if head and changed == "" else UNKNOWN


def _git(*arguments: str) -> str | None:
    """What git says; None where it fails or is not there."""
    try:
        done = subprocess.run(("git", *arguments), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
