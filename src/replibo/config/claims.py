"""The papers' claims: ``config/claims/PAPER.yaml``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from replibo import paths
from replibo.config.load import read_yaml
from replibo.config.models import Config, FunctionName, Model, Name, PaperEntry
from replibo.errors import RepliboError, allowed


class Claim(Model):
    """One statement of a paper that runs can support or contradict."""

    where: str
    """Section, figure or table."""
    statement: str
    """What is claimed, in the paper's words or close to them."""
    paper_value: str
    """The paper's own number, or that it gives none."""
    measure: FunctionName
    """The function that compares: ``function`` or ``module.function`` in the paper's package."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Its keyword arguments."""
    problems: list[Name]
    """The problems whose runs it needs."""
    algorithms: list[Name]
    """The algorithms whose runs it needs."""
    also: list[Name] = Field(default_factory=list)
    """Problems whose runs it reads where there are any."""
    seeds: int | dict[Name, int]
    """The number of seeds behind the paper's statement, of each problem where they differ."""
    horizon: int
    """The horizon behind the paper's statement."""
    rule: str
    """When an elementary comparison counts as supported, contradicted or open."""

    def reads(self, entry: PaperEntry) -> tuple[set[str], set[str]]:
        """The problems and the algorithms whose runs the measure reads: those that the claim or its
        options name."""
        words = set(_words(self.options))
        return (
            {*self.problems, *self.also, *(words & entry.problems.keys())},
            {*self.algorithms, *(words & entry.algorithms.keys())},
        )


def _words(value: Any) -> Iterator[str]:
    """Every string in nested lists and mappings, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _words(key)
            yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)


def load(config: Config, paper: str) -> dict[str, Claim]:
    """The claims of a paper by name; none where it has no file.

    Raises:
        RepliboError: one line for each fault.
    """
    entry, path = config.paper(paper), paths.claims_config(paper)
    if not path.exists():
        return {}
    try:
        claims = TypeAdapter(dict[Name, Claim]).validate_python(read_yaml(path))
    except ValidationError as error:
        lines = [
            f"{path}: {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_url=False)
        ]
        raise RepliboError("\n".join(lines)) from None
    for name, claim in claims.items():
        for key, wanted, known in (
            ("problems", claim.problems, entry.problems),
            ("also", claim.also, entry.problems),
            ("algorithms", claim.algorithms, entry.algorithms),
        ):
            for word in wanted:
                if word not in known:
                    raise RepliboError(
                        f"{path}: {name}.{key}: must be {allowed(known)}, got {word!r}"
                    )
    return claims
