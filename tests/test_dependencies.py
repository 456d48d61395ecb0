"""What the package imports is declared, and what it declares is imported or named here with a reason."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from replibo.cli import main
from replibo.errors import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

NOT_IMPORTED = {
    "snakemake": "runs the workflow",
    "zensical": "replibo site calls it by python -m",
    "mkdocstrings-python": "zensical calls it",
    "plotly": "replibo site takes its JavaScript",
}


def declared(requirements: Iterable[str]) -> set[str]:
    """The normal names of distributions, without extras and versions."""
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


REQUIRED = declared(PROJECT["dependencies"])
INSTALLED = packages_distributions()
OPTIONAL = {name: declared(group) for name, group in PROJECT["optional-dependencies"].items()}


@functools.cache
def imported() -> dict[str, set[str]]:
    """The modules from outside the standard library that ``src`` imports, and the files that do."""
    files: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            for module in {name.partition(".")[0] for name in names}:
                if module != "replibo" and module not in sys.stdlib_module_names:
                    files.setdefault(module, set()).add(path.name)
    return files


def test_every_import_is_declared() -> None:
    for module, files in imported().items():
        known = OPTIONAL[EXTRAS[module]] if module in EXTRAS else REQUIRED
        assert declared(INSTALLED[module]) & known, f"{module}, imported by {files}"


def test_every_declared_dependency_is_imported_or_named_here() -> None:
    used = set().union(*(declared(INSTALLED[module]) for module in imported()))
    assert REQUIRED.union(*OPTIONAL.values()) - used <= set(NOT_IMPORTED)


def test_make_and_conda_install_every_extra_and_pin_what_is_declared() -> None:
    install = f"-r envs/requirements.txt -e '.[{','.join(OPTIONAL)}]'"
    for name in ("Makefile", "Containerfile", "envs/environment.post-deploy.sh"):
        assert install in (ROOT / name).read_text()
    lines = (ROOT / "envs" / "requirements.txt").read_text().splitlines()
    pinned = declared(line for line in lines if "==" in line)
    assert REQUIRED.union(*OPTIONAL.values()) <= pinned


def test_the_conda_environment_survives_being_copied() -> None:
    """Snakemake copies it to where relative paths lead nowhere; the script beside it, which it finds by the
    file's name, runs in the project's root."""
    from snakemake.deployment.conda import Env

    path = ROOT / "envs" / "environment.yaml"
    workflow = SimpleNamespace(
        sourcecache=SimpleNamespace(exists=lambda file: Path(file.path).exists()),
        persistence=SimpleNamespace(conda_env_path=""),
        deployment_settings=SimpleNamespace(apptainer_args=""),
        runtime_paths=[],
    )
    script = Env(workflow, env_file=str(path)).post_deploy_file
    assert Path(script.path) == ROOT / "envs" / "environment.post-deploy.sh"
    # every dependency is a package, none a file
    for dependency in yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]:
        assert re.match(r"[a-z]+( [\d.,<>=]+)?$", dependency)


@pytest.mark.parametrize(
    ("problem", "module", "extra"),
    [("bbob_2d", "cocoex", "coco"), ("robot_pushing", "Box2D", "robot")],
)
def test_a_missing_extra_is_one_line(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: str,
    module: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    command = ["run", "neuralbo", problem, "random_search", "--scale", "smoke", "--seeds", "0"]
    assert main([*command, "--output", str(tmp_path / "x.parquet")]) == 2
    assert capsys.readouterr().err == (
        f"replibo: {module} must be installed for this task: pip install 'replibo[{extra}]'\n"
    )


@pytest.mark.parametrize("version", ["3.11.0", "3.12.0", "3.13.0"])
def test_every_release_of_python_that_replibo_takes_can_install_the_pinned_set(
    version: str,
) -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    asked = {d.name: d.metadata["Requires-Python"] or "" for d in metadata.distributions()}
    assert [name for name in asked if not SpecifierSet(asked[name]).contains(version)] == []
