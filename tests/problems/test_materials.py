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

BOTH = pytest.mark.parametrize("task", [CrossedBarrel, AgNP])
HEADER = "n,theta,r,t,toughness\n"


@pytest.fixture
def csv_file(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(content: str | bytes) -> Path:
        path = tmp_path / "barrel.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def barrel(path: Path) -> CrossedBarrel:
    return CrossedBarrel(data={"crossed_barrel": path})


def check_pool(problem: CrossedBarrel | AgNP) -> None:
    """What `test_contract` asks of a finite problem, and the order of the rows."""
    pool = problem.candidates
    f = problem.evaluate_true(pool)
    assert f.shape == problem.replicates.shape == (len(pool),)
    assert problem.optimal_value == f.max()
    assert_array_equal(problem.bounds, [pool.min(axis=0), pool.max(axis=0)])
    assert pool.tolist() == sorted(pool.tolist())
    assert len(np.unique(problem.to_unit(pool), axis=0)) == len(pool)


@BOTH
def test_stand_in_is_always_the_same(task: type) -> None:
    one, two = task(), task()
    check_pool(one)
    assert_array_equal(one.candidates, two.candidates)
    assert_array_equal(one.evaluate_true(one.candidates), two.evaluate_true(two.candidates))
    assert "stand in for the measured data" in one.stand_in


def test_crossed_barrel_stand_in_has_the_shape_of_the_data() -> None:
    problem = CrossedBarrel()
    assert problem.candidates.shape == (600, 4)
    assert (problem.replicates == 3).all()
    assert "600 points, with 3 replicates each" in problem.stand_in
    values = [sorted(set(column)) for column in problem.candidates.T.tolist()]
    assert values[0] == [6, 8, 10, 12]
    assert values[1] == [0, 25, 50, 75, 100, 125, 150, 175, 200]
    assert values[2] == [1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
    assert values[3] == [0.7, 1.05, 1.4]
    f = problem.evaluate_true(problem.candidates)
    assert (f > 0).all()
    # a needle in a haystack: few points come near the best
    assert np.mean(f > 0.75 * f.max()) < 0.02


def test_agnp_stand_in_has_the_shape_of_the_data() -> None:
    problem = AgNP()
    assert problem.candidates.shape == (164, 5)
    assert (problem.replicates.min(), problem.replicates.max()) == (4, 48)
    assert "164 points, with 4 to 48 replicates each" in problem.stand_in
    assert_array_equal(problem.bounds, [[4.53, 10, 0.5, 0.5, 200], [42.81, 40, 30.5, 19.5, 983]])
    loss = -problem.evaluate_true(problem.candidates)
    assert ((loss > 0) & (loss < 1)).all()


@BOTH
def test_look_up_is_exact(task: type) -> None:
    problem = task()
    x = problem.candidates[7].copy()
    assert problem.evaluate_true(x[None]) == problem.evaluate_true(problem.candidates)[7]
    x[0] += 1e-9
    with pytest.raises(
        RepliboError, match=rf"{task.__name__}: .* is no point of the pool"
    ) as error:
        problem.evaluate_true(np.array([problem.candidates[0], x]))
    assert "\n" not in str(error.value)


def test_missing_entry_of_data_is_named() -> None:
    with pytest.raises(RepliboError, match="AgNP needs the file called 'agnp'"):
        AgNP(data={"crossed_barrel": Path("x.csv")})


# Reading


def test_rows_are_grouped_by_all_features(csv_file) -> None:  # type: ignore[no-untyped-def]
    problem = barrel(
        csv_file(
            HEADER
            + "12,200,2.5,1.4,1.0\n"
            + "6,0,1.5,0.7,2\r\n"
            + "\n"
            + "12,200,2.5,1.4,4e0\n"
            + "6,0,1.50,.7, 3.5 \n"
            + "6,0,1.5,1.05,0.1"
        )
    )
    assert_array_equal(
        problem.candidates, [[6, 0, 1.5, 0.7], [6, 0, 1.5, 1.05], [12, 200, 2.5, 1.4]]
    )
    assert_array_equal(problem.evaluate_true(problem.candidates), [2.75, 0.1, 2.5])
    assert_array_equal(problem.replicates, [2, 1, 2])
    assert problem.optimal_value == 2.75
    assert problem.stand_in == ""


def test_columns_are_found_by_name(csv_file) -> None:  # type: ignore[no-untyped-def]
    path = csv_file(
        b"\xef\xbb\xbftoughness,note,t, r,theta,n\n1,a,0.7,1.5,0,6\n2,,1.4,2.5,200,12\n"
    )
    problem = barrel(path)
    assert_array_equal(problem.candidates, [[6, 0, 1.5, 0.7], [12, 200, 2.5, 1.4]])
    assert_array_equal(problem.evaluate_true(problem.candidates), [1, 2])


def test_loss_is_minimised(tmp_path: Path) -> None:
    path = tmp_path / "agnp.csv"
    path.write_text(
        "QAgNO3(%),Qpva(%),Qtsc(%),Qseed(%),Qtot(uL/min),loss\n"
        "5,10,1,2,200,0.5\n6,11,2,3,300,0.25\n6,11,2,3,300,0.75\n7,12,3,4,400,0.2\n"
    )
    problem = AgNP(data={"agnp": path})
    assert_array_equal(problem.evaluate_true(problem.candidates), [-0.5, -0.5, -0.2])
    assert problem.optimal_value == -0.2
    check_pool(problem)


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
        (
            "n,theta,r,toughness\n6,0,1.5,1\n",
            r"column 't' is missing; allowed: one each of n, theta",
        ),
        ("n,n,theta,r,t,toughness\n", r"column 'n' is there more than once"),
        (HEADER + ROW + "6,0,1.5,0.7,strong\n", r"line 3, column 'toughness': .* got 'strong'"),
        (
            HEADER + ROW + "6,0,nan,0.7,1\n",
            r"line 3, column 'r': must be a finite number, got 'nan'",
        ),
        (HEADER + ROW + "6,0,1.5,0.7,-inf\n", r"line 3, column 'toughness': .*, got '-inf'"),
        (HEADER + "6,,1.5,0.7,1\n", r"line 2, column 'theta': must be a finite number, got ''"),
        (HEADER + ROW + "6,0,1.5\n", r"line 3 has 3 cells; allowed: 5"),
        (HEADER + "6,0,1.5,0.7,1,9\n", r"line 2 has 6 cells; allowed: 5"),
        (HEADER + ROW + "6,25,1.6,0.7,1.0\n", r"column 'n' is 6 in every row; allowed: 2 or more"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", r"this is no CSV file"),
        (HEADER + '6,0,1.5,0.7,"1.0\n', r"this is no CSV file"),
        (b"PK\x03\x04\x00\x00", r"column 'n' is missing|this is no CSV file"),
        ("<html>404</html>", r"column 'n' is missing"),
    ],
)
def test_bad_files(csv_file, content: str | bytes, message: str) -> None:  # type: ignore[no-untyped-def]
    path = csv_file(content)
    with pytest.raises(RepliboError, match=message) as error:
        barrel(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RepliboError, match=r"nowhere\.csv: no such file"):
        barrel(tmp_path / "nowhere.csv")
    with pytest.raises(RepliboError, match="allowed: a readable CSV file"):
        barrel(tmp_path)


# The real data


def real(name: str) -> Path:
    return Path(os.environ["REPLIBO_DATA_MIRROR"]) / "materials" / name


@pytest.mark.real_data
def test_real_crossed_barrel() -> None:
    problem = barrel(real("Crossed barrel_dataset.csv"))
    check_pool(problem)
    assert problem.stand_in == ""
    assert problem.candidates.shape == (600, 4)
    assert (problem.replicates == 3).all()
    assert problem.optimal_value == pytest.approx(46.711404976667, abs=5e-13)
    f = problem.evaluate_true(problem.candidates)
    assert_array_equal(problem.candidates[f.argmax()], [12, 150, 1.9, 1.4])
    assert_array_equal(problem.bounds, [[6, 0, 1.5, 0.7], [12, 200, 2.5, 1.4]])
    assert_array_equal(problem.candidates, CrossedBarrel().candidates)


@pytest.mark.real_data
def test_real_agnp() -> None:
    problem = AgNP(data={"agnp": real("AgNP_dataset.csv")})
    check_pool(problem)
    assert problem.stand_in == ""
    assert problem.candidates.shape == (164, 5)
    assert problem.replicates.sum() == 3295
    assert (problem.replicates.min(), problem.replicates.max()) == (4, 48)
    assert problem.optimal_value == pytest.approx(-0.14836082, abs=5e-9)
    f = problem.evaluate_true(problem.candidates)
    assert_array_equal(
        problem.candidates[f.argmax()], [32.50117647, 16, 6.501176471, 4.501176471, 850]
    )
    stand_in = AgNP().bounds
    np.testing.assert_allclose(problem.bounds, stand_in, atol=0.0015)
