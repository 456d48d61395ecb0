"""What a run depends on: what must run again after an edit, and what must not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from replibo.config import load, registry
from replibo.run import code, identity

ROOT = Path(__file__).parents[2]

Pair = tuple[str, str]
Digests = Callable[..., dict[Pair, str]]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package's source."""
    copy = tmp_path_factory.mktemp("src") / "replibo"
    shutil.copytree(
        ROOT / "src" / "replibo", copy, ignore=shutil.ignore_patterns("__pycache__", "*.html")
    )
    return copy


@pytest.fixture(scope="module")
def after(copied: Path) -> Callable[..., code.Package]:
    """Makes a package of the copy in which texts are replaced by others."""

    def edited(*edits: tuple[str, str, str]) -> code.Package:
        kept = {name: (copied / name).read_text(encoding="utf-8") for name, _, _ in edits}
        for name, old, new in edits:
            text = (copied / name).read_text(encoding="utf-8")
            assert old in text, f"{name} does not hold {old!r}"
            (copied / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        registry.syntax_tree.cache_clear()
        package = code.Package(copied)
        for path in copied.rglob("*.py"):  # read before the files are put back
            package.nodes(
                ".".join(["replibo", *path.relative_to(copied).with_suffix("").parts]).removesuffix(
                    ".__init__"
                )
            )
        for name, text in kept.items():
            (copied / name).write_text(text, encoding="utf-8")
        return package

    return edited


def run_digests(package: code.Package) -> dict[Pair, str]:
    """The code's digests of the runs of all (problem, algorithm) types at paper scale."""
    found = {}
    for entry in load.load().entries.values():
        for problem in entry.problems_at("paper"):
            for algorithm in entry.settings("paper", problem).algorithms or []:
                of = entry.problems[problem], entry.algorithms[algorithm]
                names = identity.code_names(*of)
                found[of[0].type, of[1].type] = package.digest(*names, without=identity.NO_NUMBERS)
    return found


@pytest.fixture(scope="module")
def before(after: Callable[..., code.Package]) -> dict[Pair, str]:
    return run_digests(after())


NO_NUMBER_CHANGES = (
    ("errors.py", 'words[:-1])} or {words[-1]}"', 'words[:-1])} and {words[-1]}"'),
    ("run/journal.py", 'separators=(",", ":")', "indent=1"),
    ("run/memory.py", 'return float(line.split()[1]) / 2**10', 'return float(line.split()[1]) / 1e3'),
    ("run/traces.py", '"compression": "zstd"', '"compression": "snappy"'),
    ("results/plotting.py", "def line_style(", "def line_style_of("),
    ("papers/go_ucb.py", "CONFIDENCE = 0.98", "CONFIDENCE = 0.9"),
    ("cli.py", "def _machine()", "def _the_machine()"),
    ("config/load.py", "def run_settings(", "def settings_of("),
    ("data/fetch.py", "def fault_of(", "def fault("),
    # messages, comments, docstrings, formatting of code that runs are made of
    ("run/loop.py", "must be finite, got {value}", "should be finite, got {value}"),
    ("run/loop.py", 'return f"{e.paper} {e.problem_name}', 'return f"{e.paper}: {e.problem_name}'),
    ("streams.py", "The stream of the initial points.", "A docstring."),
    ("algorithms/go_ucb.py", "# The algorithm:", "# A comment:"),
    ("surrogates/kernels.py", "    k = s / 3.0\n", "    k = (s\n        / 3.0)\n"),
)  # fmt: skip


def test_what_changes_no_number_reruns_nothing(
    after: Callable[..., code.Package], before: dict[Pair, str]
) -> None:
    assert len(before) > 80
    assert run_digests(after(*NO_NUMBER_CHANGES)) == before


def test_labels_and_seeds_are_no_part_of_a_runs_identity(root: Path) -> None:
    config = load.load()
    entry = config.paper("go_ucb")
    base = identity.run_identity(entry, "quick", "f1", "go_ucb")
    raw = load.read()
    raw["go_ucb"]["algorithms"]["go_ucb"]["label"] = "another"
    raw["go_ucb"]["algorithms"]["go_ucb"]["color"] = "black"
    raw["go_ucb"]["algorithms"]["go_ucb"]["seeds_per_job"] = 3
    raw["go_ucb"]["defaults"]["seeds"] = "0-999"
    changed = load.parse(raw).paper("go_ucb")
    assert identity.run_identity(changed, "quick", "f1", "go_ucb") == base
    raw["go_ucb"]["algorithms"]["go_ucb"]["parameters"]["U"] = 11
    changed = load.parse(raw).paper("go_ucb")
    assert identity.run_identity(changed, "quick", "f1", "go_ucb") != base


LAYERS = (
    ("cli", "__main__"),
    ("workflow",),
    ("verdicts",),
    ("papers",),
    ("results",),
    ("run",),
    ("algorithms",),
    ("surrogates",),
    ("problems",),
    ("config",),
    ("data",),
    ("paths", "files", "streams", "threads"),
    ("errors",),
)


def test_imports_point_downward_only() -> None:
    rank = {name: -height for height, names in enumerate(LAYERS) for name in names}
    package = ROOT / "src" / "replibo"
    upward = []
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        if parts == ("__init__",):
            continue
        found = re.findall(
            r"^\s*(?:from|import) replibo(?:\.(\w+)| import (\w+))", path.read_text(), re.MULTILINE
        )
        assert all(name in rank for pair in found for name in pair if name), found
        upward += [
            f"{'.'.join(parts)} imports {name}"
            for pair in found
            for name in pair
            if name and rank[name] > rank[parts[0]]
        ]
    # the files of runs are named by the workflow's targets
    known = {"results.runs imports workflow", "papers.neuralbo.coco_archive imports workflow"}
    assert set(upward) <= known
