"""The errors that a user can act upon."""

from __future__ import annotations


class RepliboError(Exception):
    """Bad input or a missing file: what is wrong, where, and what is allowed.

    The command line prints the message as it stands (one line for each fault, no traceback) and
    exits with status 2.
    """


EXTRAS = {"cocoex": "coco", "Box2D": "robot"}
"""The extra of the package that installs a module which only some tasks import."""


def allowed(names: object) -> str:
    """``a, b or c`` for the end of a message that says what is allowed."""
    words = sorted(str(name) for name in names)  # type: ignore[attr-defined]
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
