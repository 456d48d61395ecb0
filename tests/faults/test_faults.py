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
    kinds = rows(report.read_text())
    assert len(kinds) > 30
    assert all(injected == survived > 0 for _, injected, survived in kinds)
    assert [path.name for path in tmp_path.iterdir()] == ["faults.md"]


def rows(text: str) -> list[tuple[str, int, int]]:
    """Kind, injected and survived of the rows of a table."""
    cells = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ")][1:]
    return [(kind.strip(), int(injected), int(survived)) for kind, injected, survived in cells]


def test_readme_shows_the_faults_of_the_page() -> None:
    """Whole: all were survived, a row of README holds the sums of its kinds."""
    root = Path(__file__).parents[2]
    page = rows((root / "docs" / "results" / "faults.md").read_text())
    _, _, rest = (root / "README.md").read_text().partition("<!-- faults: start -->\n")
    shown = rows(rest.partition("<!-- faults: end -->")[0])
    assert page[-1][0] == shown[-1][0] == "all" and page[-1][1] >= 1000
    assert all(injected == survived > 0 for _, injected, survived in page)
    for name, injected, survived in shown[:-1]:
        own = [row for row in page if row[0].startswith(f"{name}: ")]
        assert (injected, survived) == (sum(r[1] for r in own), sum(r[2] for r in own)), name
    assert shown[-1] == page[-1]
