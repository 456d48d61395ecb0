"""A part of ``make faults``: about a hundred faults, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_hundred_faults_are_survived(tmp_path: Path) -> None:
    harness, report = Path(__file__).parent, tmp_path / "faults.md"
    done = subprocess.run(
        [sys.executable, str(harness), "--count", "100", "--seed", "100", "--report", str(report)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kinds = [line.split("|")[1:4] for line in report.read_text().splitlines() if "|" in line][2:]
    assert len(kinds) > 15
    assert all(int(injected) == int(survived) > 0 for _, injected, survived in kinds)
    assert [path.name for path in tmp_path.iterdir()] == ["faults.md"]
