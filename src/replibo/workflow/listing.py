"""What ``replibo list`` shows: everything that the config and the manifest name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replibo.config import registry
from replibo.config.models import Config
from replibo.data.manifest import load_manifest
from replibo.workflow import terminal

SCALES = {
    "smoke": "every paper, a few rounds, minutes on two cores, no network",
    "quick": "every figure and table of the papers in small, no network; stand-ins where data are needed",
    "paper": "every number as the paper states it, real data",
    "published": "figures, tables and verdicts from the traces in published/",
}


def text(config: Config, kinds: Sequence[str]) -> str:
    """A line for each thing of these kinds; with headings where there are several."""
    parts = []
    for kind in kinds:
        indent = "  " if len(kinds) > 1 else ""
        lines = [(f"{indent}{name}", explanation) for name, explanation in rows(config, kind)]
        parts += [f"{kind}:"] * bool(indent) + [terminal.table(("", ""), lines)]
    return "\n".join(parts)


def in_full(config: Config, kinds: Sequence[str]) -> str:
    """The same with all of every explanation, as CSV."""
    lines = [(kind, *row) for kind in kinds for row in rows(config, kind)]
    return terminal.as_csv(("kind", "name", "explanation"), lines)


def rows(config: Config, kind: str) -> Iterator[tuple[str, str]]:
    """Name and explanation of each thing of one kind."""
    if kind == "scales":
        yield from SCALES.items()
    elif kind == "data":
        for name, file in load_manifest().items():
            yield name, f"{config.data_dir}/{file.path} ({file.licence})"
    for paper, entry in config.entries.items():
        if kind == "papers":
            yield paper, f"{entry.title} ({entry.reference})"
        elif kind in ("problems", "algorithms"):
            for name, item in getattr(entry, kind).items():
                summary = registry.summary(kind, item.type)  # type: ignore[arg-type]
                yield f"{paper} {name}", f"{item.label}: {summary}"
        elif kind in ("figures", "tables"):
            for name, output in getattr(entry, kind).items():
                yield f"{paper} {name}", output.caption
