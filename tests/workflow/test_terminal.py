"""What is printed fits into 80 and 100 columns, its numbers whole; CSV has all of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.cells import cell_len

from replibo import cli
from replibo.config import load
from replibo.workflow import estimate, terminal


def test_only_the_last_column_is_cut_and_nothing_wraps() -> None:
    rows = [("a" * 40, "1", "word " * 40), ("b", "22,222", "–")]
    head, rule, *lines = terminal.table(("name", "n", "said"), rows, numbers=["n"]).splitlines()
    assert len(lines) == 2 and max(map(len, (head, rule, *lines))) <= terminal.WIDTH
    assert lines[0].startswith("a" * 40) and lines[0].endswith("…")
    assert lines[0].index(" 1 ") + 1 == lines[1].index("22,222") + 5  # numbers at the right
    assert "[b]" in terminal.table(("",), [("[b]",)])  # no markup


def test_the_first_texts_take_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """However narrow the terminal is."""
    name, numbers = "factorial_constant_standardised_mean_unscaled", ["MB asked", "longest job"]
    for width in (30, 40, 60):
        monkeypatch.setattr(terminal, "WIDTH", width)
        shown = terminal.table(["name", *numbers, ""], [(name, "6659", "25 min", "≈")], numbers)
        lines = shown.splitlines()
        assert "".join(line.split()[0] for line in lines[3:]) == name
        assert lines[3].split()[1:] == ["6659", "25", "min", "≈"]
        assert [*lines[0].split(), *lines[1].split()] == ["MB", "longest", "name", "asked", "job"]
        assert max(map(len, lines)) <= max(width, terminal.NARROWEST + 23)


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
    """Estimated and judged once, and printed in all ways."""
    if "estimate" in arguments:
        found = estimate.estimate(load.load(), ["all"])
        monkeypatch.setattr(estimate, "estimate", lambda *all: found)
    if "claims" in arguments:
        judged = str(tmp_path / "verdicts.json")
        assert cli.main([*arguments, "--output", judged]) == 0
        arguments = (*arguments, "--judged", judged)
    for width in (100,) if "claims" in arguments else (80, 100):
        monkeypatch.setattr(terminal, "WIDTH", width)
        assert cli.main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(cell_len, lines)) <= width  # a combining accent takes none
        if "estimate" in arguments:
            numbers = {word for line in lines for word in line.split()}
            assert {str(number) for line in found.lines for number in line.asked} - {"0"} <= numbers
    assert cli.main([*arguments, "--csv"]) == 0
    names, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert len(rows) > 50 and all(len(row) == len(names) for row in rows)
    assert max(len(row[-1]) for row in rows) > 40  # in full
