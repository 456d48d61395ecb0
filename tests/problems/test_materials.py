"""The material-design tasks: their stand-ins, the reading of the files, and the real data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from replibo.errors import RepliboError
from replibo.problems import materials
from replibo.problems.materials import AgNP, CrossedBarrel

HEADER = "n,theta,r,t,toughness\n"


def barrel(folder: Path, content: str | bytes) -> CrossedBarrel:
    """The task with a file of this content."""
    path = folder / "barrel.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CrossedBarrel(data={"crossed_barrel": path})


def real(task: type[CrossedBarrel | AgNP]) -> CrossedBarrel | AgNP:
    """The task with the real data."""
    file = {CrossedBarrel: "Crossed barrel_dataset.csv", AgNP: "AgNP_dataset.csv"}[task]
    path = Path(os.environ["REPLIBO_DATA_MIRROR"]) / "materials" / file
    return task(data={task.data_name: path})


@pytest.mark.parametrize(
    ("task", "points", "replicates", "bounds"),
    [
        (CrossedBarrel, 600, "3", [[6, 0, 1.5, 0.7], [12, 200, 2.5, 1.4]]),
        (AgNP, 164, "4 to 48", [[4.53, 10, 0.5, 0.5, 200], [42.81, 40, 30.5, 19.5, 983]]),
    ],
)
def test_the_stand_in_has_the_shape_of_the_data_and_is_always_the_same(
    task: type, points: int, replicates: str, bounds: list[list[float]]
) -> None:
    problem, again = task(), task()
    f = problem.evaluate_true(problem.candidates)
    assert_array_equal(problem.candidates, again.candidates)
    assert_array_equal(f, again.evaluate_true(again.candidates))
    assert_array_equal(problem.bounds, bounds)
    assert f"{points} points, with {replicates} replicates each, stand in" in problem.stand_in
    if task is CrossedBarrel:
        # a needle in a haystack: few points come near the best
        assert (f > 0).all() and np.mean(f > 0.75 * f.max()) < 0.02
    else:
        assert ((f < 0) & (f > -1)).all()  # minus a loss


def test_what_is_no_point_of_the_pool_is_named() -> None:
    problem = AgNP()
    x = problem.candidates[:2].copy()
    x[1, 0] += 1e-9
    with pytest.raises(RepliboError, match=r"^AgNP: .* is no point of the pool") as error:
        problem.evaluate_true(x)
    assert "\n" not in str(error.value)


def test_missing_entry_of_data_is_named() -> None:
    with pytest.raises(RepliboError, match="AgNP needs the file called 'agnp'"):
        AgNP(data={"crossed_barrel": Path("x.csv")})


# Reading


def test_rows_are_grouped_by_all_features(tmp_path: Path) -> None:
    rows = (
        *("12,200,2.5,1.4,1.0\n", "6,0,1.5,0.7,2\r\n", "\n", "12,200,2.5,1.4,4e0\n"),
        *("6,0,1.50,.7, 3.5 \n", "6,0,1.5,1.05,0.1"),
    )
    problem = barrel(tmp_path, HEADER + "".join(rows))
    assert_array_equal(
        problem.candidates, [[6, 0, 1.5, 0.7], [6, 0, 1.5, 1.05], [12, 200, 2.5, 1.4]]
    )
    assert_array_equal(problem.evaluate_true(problem.candidates), [2.75, 0.1, 2.5])
    assert_array_equal(problem.replicates, [2, 1, 2])
    assert problem.optimal_value == 2.75
    assert problem.stand_in == ""


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    rows = b"\xef\xbb\xbftoughness,note,t, r,theta,n\n1,a,0.7,1.5,0,6\n2,,1.4,2.5,200,12\n"
    problem = barrel(tmp_path, rows)
    assert_array_equal(problem.candidates, [[6, 0, 1.5, 0.7], [12, 200, 2.5, 1.4]])
    assert_array_equal(problem.evaluate_true(problem.candidates), [1, 2])


@given(st.permutations(range(30)))
def test_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    rows = AgNP.generate_stand_in()[:30]
    for one, two in zip(materials._group(rows), materials._group(rows[order]), strict=True):
        assert_array_equal(one, two)


ROW = "6,0,1.5,0.7,1.0\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"the file is empty; allowed: a header with n, theta, r, t, toughness"),
        (HEADER, r"no rows below the header; allowed: 1 or more"),
        ("n,theta,r,toughness\n6,0,1.5,1\n", r"column 't' is missing; allowed: one each of n, th"),
        ("n,n,theta,r,t,toughness\n", r"column 'n' is there more than once"),
        (HEADER + ROW + "6,0,1.5,0.7,strong\n", r"line 3, column 'toughness': .* got 'strong'"),
        (HEADER + ROW + "6,0,1.5,0.7,-inf\n", r"line 3, column 'toughness': .*, got '-inf'"),
        (HEADER + ROW + "6,0,1.5\n", r"line 3 has 3 cells; allowed: 5"),
        (HEADER + ROW + "6,25,1.6,0.7,1.0\n", r"column 'n' is 6 in every row; allowed: 2 or more"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", r"this is no CSV file"),
        (HEADER + '6,0,1.5,0.7,"1.0\n', r"this is no CSV file"),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(RepliboError, match=message) as error:
        barrel(tmp_path, content)
    assert str(error.value).startswith(str(tmp_path / "barrel.csv"))
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere.csv", r"nowhere\.csv: no such file"),
        (tmp_path, "allowed: a readable CSV file"),
    ):
        with pytest.raises(RepliboError, match=message):
            CrossedBarrel(data={"crossed_barrel": path})


# The real data


@pytest.mark.real_data
def test_real_crossed_barrel() -> None:
    problem = real(CrossedBarrel)
    assert problem.stand_in == "" and (problem.replicates == 3).all()
    assert problem.optimal_value == pytest.approx(46.711404976667, abs=5e-13)
    best = problem.candidates[problem.evaluate_true(problem.candidates).argmax()]
    assert_array_equal(best, [12, 150, 1.9, 1.4])
    assert_array_equal(problem.candidates, CrossedBarrel().candidates)


@pytest.mark.real_data
def test_real_agnp() -> None:
    problem = real(AgNP)
    assert problem.candidates.tolist() == sorted(problem.candidates.tolist())
    assert problem.stand_in == "" and problem.candidates.shape == (164, 5)
    assert problem.replicates.sum() == 3295
    assert (problem.replicates.min(), problem.replicates.max()) == (4, 48)
    assert problem.optimal_value == pytest.approx(-0.14836082, abs=5e-9)
    best = problem.candidates[problem.evaluate_true(problem.candidates).argmax()]
    assert_array_equal(best, [32.50117647, 16, 6.501176471, 4.501176471, 850])
    np.testing.assert_allclose(problem.bounds, AgNP().bounds, atol=0.0015)
