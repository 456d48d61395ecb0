"""What every problem owes its users, whatever paper it belongs to, and BoTorch's view of it.

The cases are the problem entries of every paper listed in ``config/config.yaml``, and every type in
``replibo/problems`` besides: a new problem is held to the contract as soon as its file is there. Of
entries that differ in numbers alone the first stands for all.
"""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from botorch.test_functions.synthetic import SyntheticTestFunction

from replibo.config import load, registry
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.problems.botorch_interface import BotorchProblem, as_botorch
from replibo.problems.coco import Bbob
from replibo.problems.mnist_cnn import MnistCnn
from replibo.problems.mnist_cnn_large import MnistCnnLarge
from replibo.problems.mnist_softmax import MnistSoftmax
from replibo.run import build
from replibo.streams import RunStreams, generator

CONFIG = load.load(Path(__file__).parents[2] / "config")
for entry in CONFIG.paper("neuralbo").problems.values():
    if entry.type.startswith("sensitive_"):
        entry.parameters["epochs"] = 1  # the contract asks nothing of how well it is trained
    if entry.type == "docstrings.Docstrings":
        entry.parameters["packages"] = ["gpytorch", "pyro-ppl"]  # all eight take 13 s to parse

# Settings of a type that no listed paper uses and that has no defaults.
EXAMPLES = {"botorch_interface.BotorchProblem": {"function": "Hartmann", "dim": 6}}

TRAINED = (MnistCnn, MnistCnnLarge, MnistSoftmax)


def _cases() -> dict[str, tuple[str, dict[str, Any], str]]:
    """By a name for the test's report: the type, its parameters, and the paper's problem (or "")."""
    cases: dict[str, tuple[str, dict[str, Any], str]] = {}
    seen = []
    for paper in CONFIG.papers:
        for name, entry in CONFIG.paper(paper).problems.items():
            given = entry.parameters.items()
            kind = entry.type, {k: v for k, v in given if type(v) not in (int, float)}
            if kind not in seen:
                cases[f"{paper}.{name}"] = (entry.type, entry.parameters, f"{paper} {name}")
            seen.append(kind)
    used = {cls for cls, _, _ in cases.values()}
    unused = {cls: (cls, EXAMPLES.get(cls, {}), "") for cls in registry.names("problems")}
    return cases | {cls: case for cls, case in unused.items() if cls not in used}


CASES = _cases()


@functools.cache
def _problem(case: str) -> Problem:
    cls, parameters, entry = CASES[case]
    if entry:
        paper, name = entry.split()
        problem = build.problem(CONFIG, paper, "smoke", name)
        if isinstance(problem, TRAINED):
            # the contract takes hundreds of values, and the large network's steps are dear
            problem.iterations = 1 if isinstance(problem, MnistCnnLarge) else 2
        return problem
    made: Problem = registry.load("problems", cls)(**parameters)
    return made


@pytest.fixture(params=list(CASES))
def problem(request: pytest.FixtureRequest) -> Problem:
    return _problem(request.param)


def _corners(problem: Problem) -> Array:
    """Corners of the unit cube: all of them, or the first and last 32 in many dimensions."""
    d = problem.dim
    if d <= 6:
        return np.array(list(product((0.0, 1.0), repeat=d)))
    some = generator("corners", d).integers(0, 2, size=(62, d)).astype(float)
    return np.concatenate([np.zeros((1, d)), np.ones((1, d)), some])


def _points(problem: Problem, n: int) -> Array:
    """Native points: rows of the pool, or corners and uniform points, ``n x d`` in all (fewer where each
    is a training)."""
    if isinstance(problem, TRAINED):
        n = min(n, 4 if isinstance(problem, MnistCnnLarge) else 20)
    rng = generator("points", problem.dim)
    if problem.candidates is not None:
        return problem.candidates[rng.integers(len(problem.candidates), size=n)]
    corners = _corners(problem)[:n]
    uniform = rng.uniform(size=(n - len(corners), problem.dim))
    return problem.to_native(np.concatenate([corners, uniform]))


def _tolerance(problem: Problem) -> float:
    """How exact `optimal_value` is: BoTorch rounds the optima of some functions to a few digits."""
    scale = max(1.0, abs(problem.optimal_value or 0.0))
    return 1e-5 * scale if isinstance(problem, BotorchProblem) else 1e-12 * scale


def _climb(problem: Problem, x: Array) -> float:
    """The best value that ever finer grids along one coordinate after the other find from ``x``."""
    lower, upper = problem.bounds
    best = float(problem.evaluate_true(x[None, :])[0])
    for width in (1.0, 1.0, 0.01, 1e-4, 1e-6):
        for i in range(problem.dim):
            line = np.repeat(x[None, :], 2001, axis=0)
            reach = width * (upper[i] - lower[i])
            line[:, i] = np.linspace(max(lower[i], x[i] - reach), min(upper[i], x[i] + reach), 2001)
            values = problem.evaluate_true(line)
            if values.max() > best:
                best, x = float(values.max()), line[int(np.argmax(values))]
    return best


# The contract:


def test_shapes_and_types(problem: Problem) -> None:
    assert isinstance(problem, Problem)
    assert isinstance(problem.dim, int) and problem.dim >= 1
    assert problem.bounds.shape == (2, problem.dim)
    assert problem.bounds.dtype == np.float64
    assert np.all(np.isfinite(problem.bounds)) and np.all(problem.bounds[0] < problem.bounds[1])
    assert isinstance(problem.noise_std, float)
    assert math.isfinite(problem.noise_std) and problem.noise_std >= 0
    assert problem.optimal_value is None or type(problem.optimal_value) is float
    assert type(problem).__doc__ and sys.modules[type(problem).__module__].__doc__


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][2]])
def test_stand_in_data_are_declared(case: str) -> None:
    paper, name = CASES[case][2].split()
    has_files = bool(CONFIG.paper(paper).problems[name].data_files)
    assert bool(_problem(case).stand_in) == has_files


def test_values_are_finite_and_those_of_each_point_alone(problem: Problem) -> None:
    X = _points(problem, 70)
    kept = X.copy()
    f = problem.evaluate_true(X)
    assert f.shape == (len(X),) and f.dtype == np.float64
    assert np.all(np.isfinite(f))
    alone = [problem.evaluate_true(x[None, :]) for x in X]
    np.testing.assert_allclose(np.concatenate(alone), f, rtol=1e-12, atol=1e-12 * np.abs(f).max())
    np.testing.assert_array_equal(problem.evaluate_true(X), f)
    assert np.array_equal(X, kept), "evaluate_true changed its argument"


def test_the_optimum_is_not_exceeded(problem: Problem) -> None:
    X = _points(problem, 10_000) if problem.candidates is None else problem.candidates
    highest = problem.evaluate_true(X).max() if problem.optimal_value is not None else -np.inf
    assert highest <= (problem.optimal_value or 0.0) + _tolerance(problem)


def test_the_optimum_is_attained(problem: Problem) -> None:
    if problem.optimal_value is None:  # nothing is promised, and a trace's regret is not defined
        return
    if problem.candidates is not None:
        assert problem.evaluate_true(problem.candidates).max() == problem.optimal_value
        return
    known = getattr(problem, "optimizers", None)
    if known is None:
        X = _points(problem, 2000)
        known = X[np.argsort(problem.evaluate_true(X))[-2:]]
    reached = max(_climb(problem, x) for x in known)
    assert reached == pytest.approx(problem.optimal_value, rel=0, abs=_tolerance(problem))


def test_coordinates_there_and_back_and_corners_exactly(problem: Problem) -> None:
    U = generator("cube", problem.dim).uniform(size=(1000, problem.dim))
    X = problem.to_native(U)
    lower, upper = problem.bounds
    assert np.all((lower <= X) & (upper >= X))
    np.testing.assert_allclose(problem.to_unit(X), U, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(problem.to_native(U.reshape(10, 100, -1)).reshape(X.shape), X)
    corners = _corners(problem)
    native = np.where(corners == 0.0, lower, upper)
    np.testing.assert_array_equal(problem.to_native(corners), native)
    np.testing.assert_array_equal(problem.to_unit(native), corners)


class _Box(Problem):
    """Any bounds."""

    def __init__(self, bounds: Array) -> None:
        self.dim, self.bounds, self.optimal_value = bounds.shape[1], bounds, None

    def evaluate_true(self, X: Array) -> Array:
        return X[:, 0]


def test_conversion_with_any_bounds() -> None:
    # decimal bounds, whose width is rounded in one case out of five, e.g. -460.43 and 234.37
    rng = generator("boxes")
    lower, width = rng.integers(-100_000, 100_000, 2000), rng.integers(1, 100_000, 2000)
    box = _Box(np.array([lower, lower + width]) / 100)
    ends = np.array([np.zeros(2000), np.ones(2000)])
    np.testing.assert_array_equal(box.to_unit(box.bounds), ends)
    np.testing.assert_array_equal(box.to_native(ends), box.bounds)
    U = rng.uniform(size=(50, 2000))
    X = box.to_native(U)
    assert np.all((box.bounds[0] <= X) & (box.bounds[1] >= X))
    # what a rounding of x, seen in the unit cube, can lose on the way back
    lost = 4 * np.spacing(np.abs(box.bounds).max(axis=0)) / (width / 100)
    assert np.all(np.abs(box.to_unit(X) - U) <= 1e-15 + lost)


def test_a_pools_rows_are_distinct_points_of_the_domain(problem: Problem) -> None:
    pool = problem.candidates
    if pool is None:
        return
    assert pool.ndim == 2 and pool.shape[1] == problem.dim and pool.dtype == np.float64
    assert np.all((pool >= problem.bounds[0]) & (pool <= problem.bounds[1]))
    unit = problem.to_unit(pool)
    assert np.all((unit >= 0) & (unit <= 1))
    # in the unit cube too, where algorithms tell points apart
    assert len(np.unique(pool, axis=0)) == len(np.unique(unit, axis=0)) == len(pool)
    width = problem.bounds[1] - problem.bounds[0]
    np.testing.assert_allclose(problem.to_native(unit) / width, pool / width, rtol=0, atol=1e-12)


def _offset(problem: Problem) -> float:
    """What y has and f has not, besides the noise: COCO's constant, where it is kept."""
    return -problem.f_opt if isinstance(problem, Bbob) and problem.offset == "kept" else 0.0


def test_noise_is_shared_by_algorithms_and_by_nothing_else(problem: Problem) -> None:
    x = _points(problem, 1)[0]
    f = problem.evaluate_true(x[None, :])[0]

    def y(query: int, algorithm: str = "gp_ei", seed: int = 0) -> float:
        observed = problem.observe(x, RunStreams("paper", "problem", algorithm, seed), query)
        assert type(observed.y) is float and type(observed.f) is float
        assert observed.f == (observed.y if isinstance(problem, TRAINED) else f)
        return observed.y

    assert y(7) == y(7) == y(7, algorithm="random_search")
    values = {y(7), y(8), y(7, seed=1), y(8, seed=1)}
    varies = bool(problem.noise_std) or isinstance(problem, TRAINED)
    assert len(values) == (4 if varies else 1)
    if not varies:
        assert values == {f + _offset(problem)}


def test_noise_has_the_declared_standard_deviation(problem: Problem) -> None:
    n = 1000 if problem.noise_std else 3
    x = _points(problem, 1)[0]
    streams = RunStreams("paper", "problem", "gp_ei", 0)
    observed = [problem.observe(x, streams, query) for query in range(n)]
    noise = np.array([value.y - (value.f + _offset(problem)) for value in observed])
    assert abs(noise.mean()) <= 4 * problem.noise_std / math.sqrt(n)
    assert abs(noise.std() - problem.noise_std) <= 4 * problem.noise_std / math.sqrt(2 * n)


# BoTorch's view of a problem with noise, of one without, of one without an optimal value, and of a pool:


@pytest.mark.parametrize(
    "problem",
    ["go_ucb.f1", "lb_gp_ucb.berkenkamp", "neuralbo.robot_pushing", "lb_gp_ucb.crossed_barrel"],
    indirect=True,
)
def test_as_botorch_agrees(problem: Problem) -> None:
    function = as_botorch(problem)
    assert isinstance(function, SyntheticTestFunction)
    assert (function.dim, function.noise_std) == (problem.dim, problem.noise_std)
    np.testing.assert_array_equal(function.bounds.numpy(), problem.bounds, strict=True)
    if problem.optimal_value is None:
        with pytest.raises(NotImplementedError):
            _ = function.optimal_value
    else:
        assert function.optimal_value == problem.optimal_value
    pool = problem.candidates
    assert hasattr(function, "candidates") == (pool is not None)
    if pool is not None:
        np.testing.assert_array_equal(function.candidates.numpy(), pool)

    X = _points(problem, 12)
    f = problem.evaluate_true(X)
    points = torch.tensor(X)
    np.testing.assert_array_equal(function.evaluate_true(points).numpy(), f, strict=True)
    np.testing.assert_array_equal(function(points, noise=False).numpy(), f)
    batches = function.evaluate_true(points.reshape(-1, 2, 2, problem.dim))
    np.testing.assert_array_equal(batches.numpy(), f.reshape(-1, 2, 2), strict=True)
    assert function.evaluate_true(points[0]).shape == ()
    with pytest.raises(ValueError, match="within the bounds"):
        function.evaluate_true(torch.tensor(problem.bounds[1:] + 1.0))
    assert not function.is_minimization_problem
    function.negate = True  # BoTorch's way to turn it into a problem to be minimised
    assert function.is_minimization_problem
    np.testing.assert_array_equal(function(points, noise=False).numpy(), -f)
    if problem.optimal_value is not None:
        assert function.optimal_value == -problem.optimal_value


# BoTorch's functions as problems:


@pytest.mark.parametrize(
    "function",
    [
        *("Ackley", "Beale", "Branin", "Bukin", "Cosine8", "DixonPrice", "DropWave", "EggHolder"),
        *("Griewank", "Hartmann", "HolderTable", "Levy", "Michalewicz", "Powell", "Rastrigin"),
        *("Rosenbrock", "Shekel", "SixHumpCamel", "StyblinskiTang", "ThreeHumpCamel"),
    ],
)
def test_every_continuous_function_is_turned_the_right_way_up(function: str) -> None:
    problem = BotorchProblem(function=function)
    assert problem.optimizers is not None and problem.optimal_value is not None
    if problem.optimal_value == 0:
        assert math.copysign(1.0, problem.optimal_value) == 1.0  # 0.0, never -0.0
    at_optimum = problem.evaluate_true(problem.optimizers)
    np.testing.assert_allclose(at_optimum, problem.optimal_value, rtol=1e-4, atol=1e-4)
    elsewhere = problem.evaluate_true(_points(problem, 500))
    assert elsewhere.max() <= problem.optimal_value + 1e-4 * max(1.0, abs(problem.optimal_value))
    assert elsewhere.mean() < problem.optimal_value - 0.1
    # and back: BoTorch sees the same optimum at the same place, now as a maximum
    function_back = as_botorch(problem)
    np.testing.assert_array_equal(function_back.optimizers.numpy(), problem.optimizers)
    values = function_back.evaluate_true(function_back.optimizers)
    np.testing.assert_array_equal(values.numpy(), at_optimum)


def test_values_are_in_double_precision_whatever_torchs_default() -> None:
    X = _points(BotorchProblem(function="Michalewicz", dim=5), 40)
    expected = BotorchProblem(function="Michalewicz", dim=5).evaluate_true(X)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        got = BotorchProblem(function="Michalewicz", dim=5).evaluate_true(X)
    finally:
        torch.set_default_dtype(default)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"function": "Ackly"}, "Ackley"),
        ({"function": "ConstrainedHartmann"}, "Hartmann"),
        ({"function": "SyntheticTestFunction"}, "Ackley"),
        ({"function": "Labs"}, "continuous"),
        ({"function": "Branin", "dim": 3}, "dim must be one that Branin can have, got 3"),
    ],
)
def test_a_wrong_setting_is_one_line(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(RepliboError, match=named) as error:
        BotorchProblem(**parameters)
    assert "\n" not in str(error.value)


IN_A_PROCESS_OF_ITS_OWN = """
import numpy as np
from replibo.problems import coco, mnist_cnn, robot_pushing, sensitive_samples
from replibo.streams import RunStreams, generator
seen = mnist_cnn.MnistCnn(iterations=5).observe(np.array([-1.0]), RunStreams('b', 'n', 'x', 0), 3)
robot = robot_pushing.RobotPushing()
X = robot.to_native(generator('test').uniform(size=(10, 14)))
sensitive = sensitive_samples.SensitiveSamples(epochs=1)
values = [seen.y, *seen.diagnostics.values(), *robot.evaluate_true(X)]
values += [*sensitive.evaluate_true(sensitive.bounds[1:] / 2)]
bbob = [coco.Bbob(dim=5).of_seed(seed) for seed in range(24)]
values += [v for member in bbob for v in (member.f_opt, *member.evaluate_true(np.ones((1, 5))))]
values = [float(v).hex() for v in values]
"""


def test_another_process_finds_the_same_bits_and_leaves_no_file(tmp_path: Path) -> None:
    """Of a training, a simulation, a classifier and COCO's functions."""
    code = IN_A_PROCESS_OF_ITS_OWN + "print(*values)"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment
    )
    names: dict[str, Any] = {}
    exec(IN_A_PROCESS_OF_ITS_OWN, names)
    assert run.stdout.split() == names["values"]
    assert list(tmp_path.iterdir()) == []
