"""What all tests share: the project's root, and which tests can run here."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# A slow machine is no failure: no limit per example, nor on how long examples take to be drawn. The
# examples are other ones in each run of the tests, so that 50 at a time are enough.
settings.register_profile(
    "replibo", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("replibo")

# pytest-xdist gives its workers 80 columns.
os.environ["COLUMNS"] = "100"
# Before NumPy is loaded: the number of threads changes results bitwise, and runs take one.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the file that takes longest and the others of the workflow, so that no worker is left
    alone with one of them at the end; leave out the tests on real data where no mirror is given, and say
    how many."""
    items.sort(
        key=lambda item: (item.path.name != "test_smoke.py", item.path.parent.name != "workflow")
    )
    if os.environ.get("REPLIBO_DATA_MIRROR"):
        return
    left_out = [item for item in items if item.get_closest_marker("real_data")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def digests(path: Path) -> dict[str, str]:
    """The digest of each seed's trace in a file of runs."""
    from replibo.run import traces  # loads NumPy

    found: dict[str, str] = traces.read_metadata(traces.read(path))["digests"]
    return found


@pytest.fixture(autouse=True)
def no_figure_left() -> Iterator[None]:
    """Close what a test has drawn."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's root, which is also made the working folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    return ROOT


@pytest.fixture
def elsewhere(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the config, and nothing else: no results and no published traces."""
    (tmp_path / "config").symlink_to(root / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 1000 bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
