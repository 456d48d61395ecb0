"""What a run depends on: what must run again after an edit, and what must not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replibo.config import load, registry
from replibo.errors import RepliboError
from replibo.run import block, code, identity

ROOT = Path(__file__).parents[2]

Edit = tuple[str, str, str]  # file, text, what replaces it


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package's source."""
    copy = tmp_path_factory.mktemp("src") / "replibo"
    shutil.copytree(ROOT / "src" / "replibo", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def digests(package: code.Package) -> dict[str, str]:
    """The code's digests of all runs at paper scale, ``problem algorithm`` by their types, and of all
    figures and tables, ``paper.function``."""
    names, without = {}, identity.NO_NUMBERS
    for paper, entry in load.load().entries.items():
        for problem, algorithm in entry.pairs("paper"):
            of = entry.problems[problem], entry.algorithms[algorithm]
            names[f"{of[0].type} {of[1].type}"] = identity.code_names(*of)
        for name, output in [*entry.figures.items(), *entry.tables.items()]:
            function = f"{paper}.{output.function or name}"
            names[function] = (f"replibo.papers.{function}",)
    return {
        name: package.digest(*of, without=without if " " in name else frozenset())
        for name, of in names.items()
    }


@pytest.fixture(scope="module")
def unchanged(copied: Path) -> code.Package:
    """The copy as it is."""
    return code.Package(copied)


@pytest.fixture(scope="module")
def before(unchanged: code.Package) -> dict[str, str]:
    """Its digests."""
    return digests(unchanged)


@pytest.fixture
def changed(
    copied: Path, unchanged: code.Package, before: dict[str, str]
) -> Iterator[Callable[..., set[str]]]:
    """What has another digest after edits of the copy; only the edited modules are read again."""
    kept: dict[Path, str] = {}

    def after(*edits: Edit) -> set[str]:
        package = code.Package(copied)
        package._modules |= unchanged._modules
        for name, old, new in edits:
            text = (copied / name).read_text(encoding="utf-8")
            assert old in text, f"{name} does not hold {old!r}"
            kept.setdefault(copied / name, text)
            (copied / name).write_text(text.replace(old, new), encoding="utf-8")
            module = f"replibo.{name.removesuffix('.py').replace('/', '.')}".removesuffix(
                ".__init__"
            )
            package._modules.pop(module, None)
        registry.syntax_tree.cache_clear()
        now = digests(package)
        assert now.keys() == before.keys()
        return {name for name in now if now[name] != before[name]}

    yield after
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")
    registry.syntax_tree.cache_clear()


def runs(names: set[str]) -> set[str]:
    return {name for name in names if " " in name}


WITHOUT_NUMBERS = (
    *("errors.py", "run/journal.py", "run/memory.py", "run/traces.py", "results/plotting.py"),
    *("results/statistics.py", "papers/go_ucb.py", "config/load.py", "data/fetch.py", "cli.py"),
)
NO_NUMBER_CHANGES: tuple[Edit, ...] = (
    # everything that these return
    *((name, "return ", "return None or ") for name in WITHOUT_NUMBERS),
    # messages, comments, docstrings, formatting of code that runs are made of
    ("run/loop.py", "must be finite, got {value}", "should be finite, got {value}"),
    ("streams.py", "The stream of the initial points.", "A docstring."),
    ("algorithms/go_ucb.py", "# The algorithm:", "# A comment:"),
    ("surrogates/kernels.py", "    k = s / 3.0\n", "    k = (s\n        / 3.0)\n"),
)  # fmt: skip


def test_what_changes_no_number_reruns_nothing(
    changed: Callable[..., set[str]], before: dict[str, str]
) -> None:
    assert len(runs(set(before))) > 80
    assert not runs(changed(*NO_NUMBER_CHANGES))


HESSIAN = "go_ucb_hessian.GoUcbHessian"
PARAMETRIC = {"exploration_first.ExplorationFirst", "go_greedy.GoGreedy", "go_ucb.GoUcb", HESSIAN}
DIGITS = {
    problem.type
    for entry in load.load(ROOT / "config").entries.values()
    for problem in entry.problems.values()
    if "mnist_train_images" in problem.data_files
}


@pytest.mark.parametrize(
    ("edit", "using"),
    [
        (("surrogates/length_scale_posterior.py", "SMALLEST_NOISE_VARIANCE = 1e-6", "SMALLEST_NOISE_VARIANCE = 1e-7"), {"gp_ucb_mcmc.GpUcbMcmc"}),
        (("algorithms/go_ucb.py", "gradient_steps: Natural = 500", "gradient_steps: Natural = 5"), PARAMETRIC),
        (("algorithms/go_ucb_hessian.py", "B_U: NonNegative = 0.5", "B_U: NonNegative = 0.6"), {HESSIAN}),
        (("problems/berkenkamp.py", "MEAN, SD = 0.2", "MEAN, SD = 0.3"), {"berkenkamp.Berkenkamp"}),
        (("data/mnist.py", "np.frombuffer(content, np.uint8, offset=header)", "np.frombuffer(content, np.uint8)"), DIGITS),
        (("streams.py", 'dtype="<u4"', 'dtype=">u4"'), None),
        (("run/loop.py", "n = min(len(run)", "n = max(len(run)"), None),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_an_edit_reruns_what_computes_with_it_and_nothing_else(
    edit: Edit, using: set[str] | None, changed: Callable[..., set[str]], before: dict[str, str]
) -> None:
    """``using``: types of problems or algorithms; None: all."""
    expected = {
        name for name in runs(set(before)) if using is None or not using.isdisjoint(name.split())
    }
    assert expected and runs(changed(edit)) == expected


def test_an_edit_of_a_figure_draws_the_figures_of_its_module(
    changed: Callable[..., set[str]], before: dict[str, str]
) -> None:
    drawn = {name for name in before if name.startswith("lb_gp_ucb.figures.")}
    words = ("papers/lb_gp_ucb/__init__.py", "its figures, tables", "its tables, figures")
    assert not changed(words)
    edit = ("papers/lb_gp_ucb/figures.py", '("round $t$", REGRET', '("$t$", REGRET')
    assert len(drawn) > 3 and changed(edit) == drawn


NEIGHBOURS = {
    "mine.py": "import pack.deep\nfrom step import STEP\nfrom replibo.algorithms.gp_ts import GpTs\n",
    "step.py": "def f():\n    import late\n",
    "late.py": "import mine\n",
    "pack/__init__.py": "",
    "pack/deep.py": "from . import near\n",
    "pack/near.py": "from pack.star import *\n",
    "pack/star.py": "",
    "alone.py": "",
}


def test_the_digest_of_a_file_covers_what_it_imports_from_its_folder(
    root: Path, tmp_path: Path
) -> None:
    raw = load.read()
    raw["go_ucb"]["algorithms"]["go_ucb"]["type"] = f"{tmp_path}/mine.py:Mine"
    raw["go_ucb"]["problems"]["f1"]["type"] = f"{tmp_path}/late.py:Late"
    entry = load.parse(raw).paper("go_ucb")
    for name, text in NEIGHBOURS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert code.of_file(tmp_path / "mine.py")[1] == ["replibo.algorithms.gp_ts"]

    def digests() -> list[str]:
        return [identity.code_digest(entry, *pair) for pair in (("f1", "gp_ei"), ("f2", "go_ucb"))]

    for name, text in NEIGHBOURS.items():
        before = digests()
        (tmp_path / name).write_text(f"{text}# changed\n", encoding="utf-8")
        same = [a == b for a, b in zip(before, digests(), strict=True)]
        assert same == [name == "alone.py"] * 2, name
    (tmp_path / "step.py").write_text("def", encoding="utf-8")
    with pytest.raises(RepliboError, match=r"f2, go_ucb: type: .*step\.py: SyntaxError: "):
        identity.code_digest(entry, "f2", "go_ucb")


def test_labels_and_seeds_are_no_part_of_a_runs_identity(root: Path) -> None:
    def go_ucb(**changes: Any) -> dict[str, Any]:
        changed = load.merge(
            load.read(),
            {"go_ucb": {"algorithms": {"go_ucb": changes}, "defaults": {"seeds": "0-999"}}},
        )
        return identity.run_identity(load.parse(changed).paper("go_ucb"), "quick", "f1", "go_ucb")

    base = identity.run_identity(load.load().paper("go_ucb"), "quick", "f1", "go_ucb")
    assert go_ucb(label="another", color="black", seeds_per_job=3) == base
    assert go_ucb(parameters={"U": 11}) != base


LAYERS = (
    *("cli __main__ forked library release", "arguments", "workflow", "verdict_map verdict_tables"),
    *("verdicts", "papers", "results", "run", "algorithms", "surrogates outliers", "problems"),
    *("config", "data"),
    "paths files settings stopping streams threads clean_matplotlib messages",
    "errors",
)
"""Packages and modules, each layer above those that it may import."""


def test_imports_point_downward_only() -> None:
    rank = {name: -height for height, names in enumerate(LAYERS) for name in names.split()}
    package = ROOT / "src" / "replibo"
    upward = []
    for path in {*package.rglob("*.py")} - {package / "__init__.py"}:
        module = path.relative_to(package).with_suffix("")
        line = r"^\s*(?:from|import) replibo(?:\.(\w+)| import ([a-z]\w*))"
        for pair in re.findall(line, path.read_text(), re.MULTILINE):
            name = "".join(pair)
            if name and rank[name] > rank[module.parts[0]]:
                upward.append(f"{module} imports {name}")
    assert not upward


def test_a_library_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """COCO and Box2D are extras."""
    monkeypatch.setattr(identity, "LIBRARIES", ("numpy", "no-library-of-this-name"))
    identity.library_versions.cache_clear()
    try:
        versions = dict(identity.library_versions())
        assert versions.pop("C").startswith("clang ")
        assert versions == {"numpy": np.__version__}
    finally:
        identity.library_versions.cache_clear()


def test_a_journal_of_other_kernels_or_versions_is_another_journal() -> None:
    digests = {
        identity.journal_digest({"problem": "f1"}, "go_ucb", {"numpy": version}, kernels)
        for version in ("1", "2")
        for kernels in ("Haswell kernels", "SkylakeX kernels")
    }
    assert len(digests) == 4


def test_the_kernels_are_those_that_are_taken() -> None:
    """As on a processor of another kind: OpenBLAS and NumPy obey these variables."""
    assert " kernels, NumPy " in block.kernels()
    code = "from replibo.run import block; print(block.kernels())"
    variables = {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "default"}
    kernels = subprocess.check_output(
        [sys.executable, "-c", code], text=True, env={**os.environ, **variables}
    )
    assert re.match("Haswell kernels, NumPy .*, ATEN_CPU_CAPABILITY default\n", kernels)
