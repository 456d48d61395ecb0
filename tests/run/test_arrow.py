"""Arrow's arrays made without `pa.array` are those that it makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from replibo.run import arrow

TYPES = st.sampled_from([np.float64, np.float32, np.int32, np.int64, np.uint8, np.bool_])


@given(arrays(TYPES, st.integers(0, 40)))
def test_numbers(values: np.ndarray) -> None:
    made = arrow.numbers(values)
    made.validate(full=True)
    # NaN is no equal of itself
    assert made.type == pa.array(values).type
    np.testing.assert_array_equal(made.to_numpy(zero_copy_only=False), values)
    if values.dtype != bool:
        np.testing.assert_array_equal(arrow.values(made), values)


@given(st.lists(st.none() | st.floats(allow_nan=False, width=32), max_size=40))
def test_numbers_with_nulls(values: list[float | None]) -> None:
    present = np.array([value is not None for value in values], dtype=bool)
    made = arrow.numbers(np.array(values, dtype=float), present)
    expected = pa.array(values, pa.float64())
    made.validate(full=True)
    assert made.equals(expected)
    for both in (chunks := pa.chunked_array([made, expected])), chunks.cast("float"):
        np.testing.assert_array_equal(arrow.values(both), both.to_numpy(zero_copy_only=False))


@given(st.lists(st.text(), max_size=20))
def test_strings(values: list[str]) -> None:
    made = arrow.strings(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


@given(st.lists(st.lists(st.floats(allow_nan=False), max_size=4), min_size=1, max_size=10))
def test_lists(values: list[list[float]]) -> None:
    made = arrow.lists(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.list_(pa.float64())))


@given(st.text() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False))
def test_scalar(value: str | float) -> None:
    assert arrow.scalar(value).equals(pa.scalar(value))


@pytest.mark.parametrize(
    "command",
    [
        "run lb_gp_ucb agnp random_search --seeds 0 --scale smoke --output {}/run.parquet",
        "figure lb_gp_ucb figure_4 --scale published --output {}/figure.png",
    ],
)
def test_a_command_does_without_pandas(command: str, root: Path, tmp_path: Path) -> None:
    code = "import sys\nfrom replibo import cli\ncli.main(sys.argv[1:])\nassert 'pandas' not in sys.modules"
    arguments = command.format(tmp_path).split()
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=root, check=True)
    assert len(list(tmp_path.iterdir())) == 1
