"""What does not import heavy libraries, so that each of the workflow's many processes starts at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    *("torch", "botorch", "gpytorch", "pyro", "scipy", "sklearn", "skopt", "pandas", "pyarrow"),
    *("numpy", "matplotlib", "rich", "pooch", "requests", "tqdm", "cocoex", "Box2D"),
}
"""Top-level modules."""


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import replibo", ""),
        ("from replibo.cli import main; main(['list'])", "numpy rich scipy"),
        # the workflow reads these at each start; fetching what is there needs no network
        (
            "import replibo.data.fetch, replibo.data.verify, replibo.data.manifest as m; "
            "m.load_manifest()",
            "",
        ),
        (
            "from replibo.workflow import costs; from replibo.config import load; "
            "costs.resources(load.load(), 'go_ucb', 'paper', 'f1', 'gp_ei', '0-24')",
            "numpy pyarrow",  # footers of published files
        ),
        (
            "from replibo.config import registry as r; "
            "assert len(r.names('problems')) > 9 and len(r.names('algorithms')) > 19; "
            "assert 'scipy.stats' not in sys.modules",
            "numpy scipy",
        ),
        (
            "from replibo.config import registry as r; "
            "r.load('algorithms', 'random_search.RandomSearch'); "
            "found = {m for m in sys.modules if m.startswith('replibo.algorithms.')}; "
            "assert found == {'replibo.algorithms.base', 'replibo.algorithms.random_search'}",
            "numpy",
        ),
        (
            "import replibo.results.intervals; assert 'scipy.stats' not in sys.modules",
            "numpy scipy",
        ),
        # problems that can do without them until they are evaluated
        (
            "from replibo.problems import botorch_interface, coco, mnist_cnn, retrieval, "
            "robot_pushing as r; r.RobotPushing()",
            "numpy",
        ),
    ],
)
def test_heavy_libraries_are_imported_late(code: str, allowed: str) -> None:
    check = f"print('HEAVY', *sorted({HEAVY} & sys.modules.keys()))"
    command = [sys.executable, "-c", f"import sys; {code}; {check}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = done.stdout.splitlines()[-1].split()[1:]
    assert set(found) <= set(allowed.split())
