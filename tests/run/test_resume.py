"""A killed run, started again, gives the trace it would have had, bit for bit."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import random
from pathlib import Path

import pytest

from replibo import cli

from ..conftest import digests

CASES = [
    ("go_ucb", "f2", "go_ucb", "quick"),  # fitted in blocks, by a chain of warm starts
    ("lb_gp_ucb", "crossed_barrel", "mle", "quick"),  # an exact Gaussian process on a pool
]


def _cut_last_line(path: Path, rng: random.Random) -> None:
    """Leave a torn last line, as a kill in the middle of a write does."""
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    if lines:
        os.truncate(path, len(content) - rng.randint(1, len(lines[-1])))


def _queries(folder: Path) -> int:
    """Whole lines in the journals below a folder, their heads included."""
    count = 0
    with contextlib.suppress(FileNotFoundError):  # the run ends just now
        for path in folder.glob("journal_*/*.jsonl"):
            count += path.read_bytes().count(b"\n")
    return count


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_sigkill_at_random_moments(
    case: tuple[str, str, str, str], root: Path, tmp_path: Path
) -> None:
    *names, scale = case
    command = ["run", *names, "--scale", scale, "--seeds", "0-2"]
    # Children are forked from a server that has imported, and not computed: OpenMP does not survive
    # a fork once it has begun to work.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["replibo.run.build", "pyarrow.parquet", "skopt"])

    def attempt(output: Path, queries: float) -> bool:
        """Run the command, killed once so many lines are in the journals; whether it came to its end."""
        process = context.Process(target=cli.main, args=([*command, "--output", str(output)],))
        process.start()
        while process.exitcode is None and _queries(output.parent) < queries:
            process.join(0.002)
        ended = process.exitcode is not None
        process.kill()
        process.join()
        return ended

    assert attempt(tmp_path / "whole" / "a.parquet", math.inf)
    expected = digests(tmp_path / "whole" / "a.parquet")
    rng = random.Random(str(case))
    kills = torn = 0
    while kills < 8:
        output = tmp_path / f"after_{kills}_kills" / "a.parquet"
        # One line is enough to go on; at times it is killed before it has got that far.
        while not attempt(output, _queries(output.parent) + rng.randint(0, 30)):
            kills += 1
            for journal in output.parent.glob("journal_*/*.jsonl"):
                if rng.random() < 0.3:
                    _cut_last_line(journal, rng)
                    torn += 1
        assert digests(output) == expected
    assert torn > 2
