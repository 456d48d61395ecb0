"""A part of ``make faults``: one a kind at least, in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def test_a_fault_of_each_kind_is_survived(tmp_path: Path) -> None:
    harness, report = Path(__file__).parent, tmp_path / "faults.md"
    done = subprocess.run(
        [sys.executable, str(harness), "--count", "15", "--seeds", "100", "--report", str(report)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kinds = rows(report.read_text())
    assert len(kinds) > 15  # and their sum
    assert all(injected == survived > 0 for _, injected, survived in kinds)
    assert [path.name for path in tmp_path.iterdir()] == ["faults.md"]


def rows(text: str) -> list[tuple[str, int, int]]:
    """Kind, injected and survived of the rows of a table."""
    cells = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ")][1:]
    return [(kind.strip(), int(injected), int(survived)) for kind, injected, survived in cells]


def test_readme_shows_the_faults_of_the_page() -> None:
    """Whole: all were survived, and README says how many."""
    root = Path(__file__).parents[2]
    page = rows((root / "docs" / "results" / "faults.md").read_text())
    assert page[-1][0] == "all" and page[-1][1] >= 1000
    assert all(injected == survived > 0 for _, injected, survived in page)
    _, _, rest = (root / "README.md").read_text().partition("<!-- faults: start -->\n")
    shown = rest.partition("\n<!-- faults: end -->")[0]
    said = r"(\d+) injected with \d+ seeds, (\d+) survived."
    assert re.fullmatch(said, shown).groups() == (str(page[-1][1]), str(page[-1][2]))
