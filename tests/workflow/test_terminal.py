"""What is printed fits into 100 columns, a row on a line; CSV has all of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.cells import cell_len

from replibo import cli
from replibo.config import load
from replibo.workflow import terminal
from replibo.workflow.estimate import report


def test_only_the_last_column_is_cut_and_nothing_wraps() -> None:
    rows = [("a" * 40, "1", "word " * 40), ("b", "22,222", "–")]
    head, rule, *lines = terminal.table(("name", "n", "said"), rows, numbers=["n"]).splitlines()
    assert len(lines) == 2 and max(map(len, (head, rule, *lines))) <= terminal.WIDTH
    assert lines[0].startswith("a" * 40) and lines[0].endswith("…")
    assert lines[0].index(" 1 ") + 1 == lines[1].index("22,222") + 5  # numbers at the right
    assert "[b]" in terminal.table(("",), [("[b]",)])  # no markup


@pytest.mark.parametrize(
    "arguments", [("list",), ("estimate", "all"), ("claims", "lb_gp_ucb")], ids=" ".join
)
def test_commands_fit(
    arguments: tuple[str, ...],
    root: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Estimated and judged once, and printed in both ways."""
    if "estimate" in arguments:
        found = report.estimate(load.load(), ["all"])
        monkeypatch.setattr(report, "estimate", lambda *all: found)
    if "claims" in arguments:
        judged = str(tmp_path / "verdicts.json")
        assert cli.main([*arguments, "--output", judged]) == 0
        arguments = (*arguments, "--judged", judged)
    assert cli.main(arguments) == 0
    # in cells: a combining accent takes none
    assert max(map(cell_len, capsys.readouterr().out.splitlines())) <= terminal.WIDTH
    assert cli.main([*arguments, "--csv"]) == 0
    names, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert len(rows) > 50 and all(len(row) == len(names) for row in rows)
    assert max(len(row[-1]) for row in rows) > 40  # in full
