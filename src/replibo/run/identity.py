"""Digests of the code and settings that a result depends on.

Snakemake does not see inside an imported package. Each rule therefore carries, as a parameter, a
digest of the modules that its results depend on (found by following their imports within the
package) and of its settings: a changed algorithm reruns its runs and nothing else, a changed plot
reruns only plots, and a changed comment or docstring reruns nothing.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib.metadata
import json
from typing import Any

from replibo.config import registry
from replibo.config.models import PaperEntry, ProblemEntry
from replibo.data.manifest import load_manifest

# What every run depends on, besides its problem and its algorithm.
RUN_MODULES = ("replibo.run.loop",)


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """The modules of this package that ``module`` imports, anywhere in its source."""
    path = registry.module_file(module)
    assert path is not None, module
    found = set()
    for node in ast.walk(registry.syntax_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(
        name for name in found if name.startswith("replibo.") and registry.module_file(name)
    )


@functools.cache
def _digest(module: str) -> str:
    """SHA-256 of the module's syntax tree without its docstrings and comments."""
    path = registry.module_file(module)
    assert path is not None, module
    tree = copy.deepcopy(registry.syntax_tree(path))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            # docstrings, and the strings that explain a constant
            node.body = [item for item in node.body if not _is_text(item)] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@functools.cache
def dependencies(*modules: str) -> tuple[str, ...]:
    """``modules`` and all the modules of this package that they import, directly or not."""
    found: set[str] = set()
    queue = list(modules)
    while queue:
        module = queue.pop()
        if module not in found:
            found.add(module)
            queue += _imports(module)
    return tuple(sorted(found))


def code_digest(*modules: str, without: frozenset[str] = frozenset()) -> str:
    """A digest of the code of ``modules`` and of all that they import within the package, but for the
    modules ``without``."""
    names = [name for name in dependencies(*modules) if name not in without]
    text = "\n".join(f"{name} {_digest(name)}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_identity(entry: PaperEntry, scale: str, problem: str, algorithm: str) -> dict[str, Any]:
    """All that a trace depends on besides its seed: code and settings (not: labels, colours, the
    number of seeds, the size of blocks)."""
    problem_entry, algorithm_entry = entry.problems[problem], entry.algorithms[algorithm]
    settings = entry.settings(scale, problem)
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
        "code": code_digest(
            *RUN_MODULES,
            f"replibo.problems.{problem_entry.type.partition('.')[0]}",
            f"replibo.algorithms.{algorithm_entry.type.partition('.')[0]}",
        ),
    }


def _data(entry: PaperEntry, scale: str, problem: ProblemEntry) -> Any:
    """The digests of the data files that a problem reads, or that stand-ins take their place."""
    if problem.data_files and entry.scales[scale].data == "stand_in":  # type: ignore[index]
        return "stand_in"
    manifest = load_manifest()
    return {name: manifest[name].sha256 for name in problem.data_files if name in manifest}


def identity_digest(identity: dict[str, Any]) -> str:
    """A short digest of an identity (or of any JSON-like value)."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "gpytorch",
    "botorch",
    "pyro-ppl",
    "scikit-learn",
    "scikit-optimize",
    "coco-experiment",
    "Box2D",
)


def library_versions() -> dict[str, str]:
    """The installed versions of the libraries that can change a trace."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}
