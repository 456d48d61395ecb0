"""Whatever is in the config or on the command line: exit status 0 or 2, and no traceback."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replibo import cli
from replibo.config import load

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["f1", "go_ucb", "random_search", "0-9", "9-0", "../x", "os.system", "x" * 300]
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        *(("papers",), ("data_dir",), ("memory_mb",), ("go_ucb",), ("go_ucb", "defaults")),
        *(
            ("go_ucb", "defaults", key)
            for key in ("seeds", "horizon", "initial_points", "algorithms")
        ),
        *(("go_ucb", key) for key in ("title", "first_round", "problems", "algorithms", "scales")),
        ("go_ucb", "problems", "f1"),
        *(
            ("go_ucb", "problems", "f1", key)
            for key in ("type", "parameters", "data_files", "label")
        ),
        *(
            ("go_ucb", "algorithms", "random_search", key)
            for key in ("type", "parameters", "color")
        ),
        *(("go_ucb", "scales", "smoke", key) for key in ("data", "only", "defaults", "problems")),
        *(("go_ucb", "tables", "final_regret", key) for key in ("function", "options", "problems")),
        ("nope",),
    ]
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config of one paper: reading all four takes most of a second."""
    folder = tmp_path_factory.mktemp("small")
    raw = load.read(Path(__file__).parents[2] / "config")
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text("papers: [go_ucb]\n")
    (folder / "config" / "go_ucb.yaml").write_text(yaml.safe_dump({"go_ucb": raw["go_ucb"]}))
    return folder


def said(arguments: list[str]) -> tuple[int, str]:
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = cli.main(arguments)
        except SystemExit as end:  # argparse
            status = int(end.code or 0)
    return status, error.getvalue()


def in_one_line_each(status: int, error: str) -> bool:
    return status == 0 or (
        status == 2 and all(x.startswith("replibo: ") for x in error.splitlines())
    )


@SETTINGS
@given(keys=KEYS, value=VALUES)
def test_any_value_in_the_config(
    small: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...], value: Any
) -> None:
    monkeypatch.chdir(small)
    for key in reversed(keys):
        value = {key: value}
    (small / "overlay.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")
    status, error = said(["list", "--config", "overlay.yaml"])
    assert in_one_line_each(status, error), error


@SETTINGS
@given(
    content=st.binary(max_size=60) | st.text("ab:-[]{}&*!'\"#\n 01", max_size=60).map(str.encode)
)
def test_any_bytes_as_a_config(
    small: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(small)
    (small / "overlay.yaml").write_bytes(content)
    status, error = said(["list", "--config", "overlay.yaml"])
    assert in_one_line_each(status, error), error


WORDS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        [
            *("go_ucb", "f1", "random_search", "smoke", "published", "0-1", "9-0", "0-2147483647"),
            *("--seeds", "--scale", "--output", "--config", "--initial-points", "--by", "--cores"),
            *("config", ".", "/dev/null", "figure_1", "final_regret", "all", "results/x", "-1"),
        ]
    ),
)


@SETTINGS
@given(
    command=st.sampled_from(["run", "collect", "figure", "table", "estimate", "list"]),
    words=st.lists(WORDS, max_size=8),
)
def test_any_words_on_the_command_line(
    small: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: list[str]
) -> None:
    monkeypatch.chdir(small)
    status, error = said([command, *words])
    assert status in (0, 2) and "Traceback" not in error
