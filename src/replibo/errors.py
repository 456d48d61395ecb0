"""The errors that a user can act upon."""

from __future__ import annotations

import difflib
import inspect
import traceback
from collections.abc import Collection
from pathlib import Path


class RepliboError(Exception):
    """Bad input or a missing file: what is wrong, where, and what is allowed.

    The command line prints the message as it stands (one line for each fault, no traceback) and
    exits with status 2.
    """


EXTRAS = {
    "cocoex": "coco",
    "Box2D": "robot",
    "snakemake": "workflow",
    "snakemake_interface_logger_plugins": "workflow",
    "plotly": "docs",
}
"""The extra of the package that installs a module which only some tasks import."""


def not_installed(error: ModuleNotFoundError) -> str:
    """What to install for a module of an extra; an error of any other module is raised again."""
    if error.name not in EXTRAS:
        raise error
    extra = f"pip install 'replibo[{EXTRAS[error.name]}]'"
    return f"{error.name} must be installed for this task: {extra}"


def meant(name: str, names: Collection[str]) -> str:
    """``; did you mean a or b?`` for the end of a message about a name that is none of ``names``; empty
    if none of them is like it, in small or capital letters."""
    lower = {word.lower(): word for word in sorted(names)}
    start = sorted(lower[word] for word in lower if name and word.startswith(name.lower()))
    near = start or [lower[word] for word in difflib.get_close_matches(name.lower(), lower, n=4)]
    words = near[:4] + ["…"] * (len(near) > 4)
    return (
        f"; did you mean {allowed(words) if len(near) <= 4 else ', '.join(words)}?" if near else ""
    )


ENDED = "the algorithm or the problem ended the program; it must return or raise, not exit"
"""What is said of a `SystemExit`, which would end a run without a word."""


def of_class(error: Exception, cls: type) -> str:
    """``TypeError: what it says (FILE.py, line 3)``: the last line of the file of ``cls`` that led to the
    error; the innermost line of all if none did."""
    frames = traceback.extract_tb(error.__traceback__)
    in_file = [frame for frame in frames if frame.filename == inspect.getsourcefile(cls)]
    place = (in_file or frames)[-1]
    says = ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
    return f"{says} ({Path(place.filename).name}, line {place.lineno})"


SHOWN = 40
"""The most names that a message lists."""


def allowed(names: object) -> str:
    """``a, b or c`` for the end of a message that says what is allowed; of very many the first ones and
    their number."""
    words = sorted(str(name) for name in names)  # type: ignore[attr-defined]
    if not words:
        return "nothing"
    if len(words) > SHOWN:
        return f"{', '.join(words[: SHOWN // 5])}, … ({len(words)} in all)"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
