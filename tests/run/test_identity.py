"""Digests: what must run again after a change, and what must not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replibo.config import load
from replibo.run import identity

ROOT = Path(__file__).parents[2]
MODULE = "replibo.algorithms.go_ucb_hessian"


def test_a_run_depends_on_what_it_imports_and_on_no_plot() -> None:
    found = identity.dependencies(*identity.RUN_MODULES, MODULE)
    assert {"replibo.run.loop", MODULE, "replibo.algorithms.go_ucb", "replibo.streams"} <= set(
        found
    )
    assert "replibo.surrogates.parametric" in found
    forbidden = (
        "replibo.papers",
        "replibo.results.plotting",
        "replibo.cli",
        "replibo.verdicts",
        "replibo.config",
    )
    assert not [name for name in found if name.startswith(forbidden)]


def _digest_after(change: tuple[str, str, str] | None, tmp_path: Path) -> str:
    """The digest of a copy of the package in which one text is replaced by another."""
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src" / "replibo", copy / "replibo")
    if change:
        name, old, new = change
        path = copy / "replibo" / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    code = f"from replibo.run import identity; print(identity.code_digest('replibo.run.loop', {MODULE!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (None, True),
        (("algorithms/go_ucb_hessian.py", "B_U: float = 0.5", "B_U: float = 0.6"), False),
        (("algorithms/go_ucb.py", "gradient_steps: int = 500", "gradient_steps: int = 50"), False),
        (("surrogates/parametric.py", "2.0 * learning_rate", "1.0 * learning_rate"), False),
        (
            (
                "loop.py",
                "from __future__ import annotations\n",
                "from __future__ import annotations\nA = 1\n",
            ),
            False,
        ),
        (("algorithms/go_ucb.py", "# The algorithm:", "# A comment."), True),
        (("algorithms/go_ucb.py", "Phase I is the initial design.", "A docstring."), True),
        (("algorithms/acquisition.py", "Of the gradient ascent on a cube", "Of the ascent"), True),
        (("papers/go_ucb.py", "CONFIDENCE = 0.98", "CONFIDENCE = 0.9"), True),
        (("algorithms/scikit_optimize.py", '"xi": 0.01', '"xi": 0.1'), True),
    ],
    ids=str,
)
def test_what_changes_the_digest(
    change: tuple[str, str, str] | None, same: bool, tmp_path: Path
) -> None:
    here = identity.code_digest("replibo.run.loop", MODULE)
    assert (_digest_after(change, tmp_path) == here) is same


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


def test_imports_point_downward_only() -> None:
    """cli → papers, loop → algorithms → surrogates; problems know none of them."""
    package = ROOT / "src" / "replibo"
    allowed = {
        "surrogates": {"surrogates"},
        "problems": {"problems", "data"},
        "algorithms": {"algorithms", "surrogates"},
        "data": {"data"},
        "config": {"config", "data"},
        "papers": {"papers", "config", "problems", "surrogates"},
    }
    above = {
        "loop",
        "journal",
        "traces",
        "runs",
        "claims",
        "plotting",
        "tables",
        "publish",
        "estimate",
    }
    upper = {"surrogates": above, "problems": above, "algorithms": above, "data": above}
    # The words that everyone shares: the type of an array and the problem's contract.
    shared = {"replibo.problems.base"}
    for folder, below in allowed.items():
        for path in (package / folder).glob("*.py"):
            module = f"replibo.{folder}.{path.stem}".removesuffix(".__init__")
            if module == "replibo.run.build":  # the one place that puts the parts together
                continue
            for name in identity._imports(module):
                other = name.split(".")[1]
                if other in allowed and name not in shared and name.count(".") > 1:
                    assert other in below, f"{module} imports {name}"
                assert other not in upper.get(folder, ()), f"{module} imports {name}"
    assert "replibo.cli" not in {
        name
        for path in package.rglob("*.py")
        if path.stem not in ("cli", "__main__")
        for name in identity._imports(
            "replibo."
            + ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        )
        if path != package / "__init__.py"
    }
