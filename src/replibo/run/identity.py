"""What a run depends on: its code and its settings, and their digest.

Each rule of the workflow carries such a digest as a parameter: a changed algorithm reruns its runs and
nothing else; a changed message, plot, comment or docstring reruns none (`replibo.run.code`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from typing import Any

from replibo.config import registry
from replibo.config.models import AlgorithmEntry, PaperEntry, ProblemEntry
from replibo.data.manifest import load_manifest
from replibo.errors import RepliboError
from replibo.run import code

# What every run depends on, besides its problem and its algorithm: the order of calls.
LOOP = "replibo.run.loop.run_block"
# What the loop calls that changes no number: messages; how queries are kept and written; a measurement.
NO_NUMBERS = frozenset(
    {
        "replibo.errors",
        "replibo.settings",
        "replibo.run.journal",
        "replibo.run.traces",
        "replibo.run.memory",
    }
)


def code_names(problem: ProblemEntry, algorithm: AlgorithmEntry) -> tuple[str, ...]:
    """The definitions of this package whose code makes a trace."""
    types = {"problems": problem.type, "algorithms": algorithm.type}
    named = (f"replibo.{kind}.{name}" for kind, name in types.items() if not registry.split(name))
    return (LOOP, *named)


def code_digest(entry: PaperEntry, problem: str, algorithm: str) -> str:
    """The digest of the code that makes a trace."""
    both = entry.problems[problem], entry.algorithms[algorithm]
    names = list(code_names(*both))
    files = []
    try:
        for path, _ in filter(None, (registry.split(each.type) for each in both)):
            digest, imported = code.of_file(path)
            files.append(digest)
            names += imported
        of_package = code.digest(*names, without=NO_NUMBERS)
    except (LookupError, RepliboError) as error:
        raise RepliboError(f"config: {problem}, {algorithm}: type: {error}") from None
    if not files:
        return of_package
    return hashlib.sha256("\n".join([of_package, *files]).encode()).hexdigest()[:16]


def run_identity(entry: PaperEntry, scale: str, problem: str, algorithm: str) -> dict[str, Any]:
    """All that a trace depends on besides its seed: code and settings (not: labels, colours, the
    number of seeds, the size of blocks)."""
    problem_entry, algorithm_entry = entry.problems[problem], entry.algorithms[algorithm]
    settings = entry.settings(scale, problem, algorithm)
    return {
        "problem": problem,
        "problem_type": problem_entry.type,
        "problem_parameters": problem_entry.parameters,
        "algorithm": algorithm,
        "algorithm_type": algorithm_entry.type,
        "algorithm_parameters": algorithm_entry.parameters,
        "data": _data(entry, scale, problem_entry),
        "first_round": entry.first_round,
        "horizon": settings.horizon,
        "initial_points": settings.initial_points,
        "code": code_digest(entry, problem, algorithm),
    }


def _data(entry: PaperEntry, scale: str, problem: ProblemEntry) -> Any:
    """The digests of the data files that a problem reads, or that stand-ins take their place."""
    if problem.data_files and entry.at(scale).data == "stand_in":
        return "stand_in"
    manifest = load_manifest()
    return {name: manifest[name].sha256 for name in problem.data_files if name in manifest}


def identity_digest(identity: dict[str, Any]) -> str:
    """A short digest of an identity (or of any JSON-like value)."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def journal_digest(
    identity: Mapping[str, Any], paper: str, versions: Mapping[str, str], kernels: str
) -> str:
    """The digest under which a run's journals are found again: of its identity, its paper, the
    libraries' versions and the kernels that they take for the processor. A journal that was begun
    with other versions or kernels begins anew."""
    return identity_digest({**identity, "paper": paper, "versions": versions, "kernels": kernels})


LIBRARIES = (
    *("numpy", "scipy", "torch", "gpytorch", "botorch", "pyro-ppl", "scikit-learn"),
    *("scikit-optimize", "coco-experiment", "Box2D"),
)


@functools.cache
def library_versions() -> Mapping[str, str]:
    """The versions of the libraries that can change a trace, those that are installed (COCO and Box2D are
    extras), and of the compiler of this package's C files."""
    from replibo.surrogates import compiled  # late: NumPy is slow to import

    versions = {}
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions | {"C": compiled.compiler()}
