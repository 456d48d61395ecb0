"""Between BoTorch's test functions and ours: `as_botorch` for a problem of ours, `BotorchProblem` for
a function of BoTorch's.

BoTorch minimises most of its test functions; problems here are always maximised. In both directions
the sign is taken from ``is_minimization_problem``, never from a function's name.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from replibo.errors import allowed
from replibo.problems.base import Array, Problem
from replibo.settings import Count, NonNegative, SettingError

if TYPE_CHECKING:
    from botorch.test_functions.synthetic import SyntheticTestFunction
    from torch import Tensor


def as_botorch(problem: Problem) -> SyntheticTestFunction:
    """``problem`` as a BoTorch test function that is to be maximised as it stands.

    ``negate`` is False and ``is_minimization_problem`` is False, so that ``evaluate_true`` and a
    noise-free call both return ``f``, and ``optimal_value`` is its maximum (a `NotImplementedError`,
    as BoTorch has it, where that is not known). A finite problem's ``candidates`` (``m x d``) come
    with it. Values carry no gradient. Noise is BoTorch's, from torch's global generator: the runs of
    this package never draw it (see `replibo.streams`).
    """
    import torch
    from botorch.test_functions.synthetic import SyntheticTestFunction

    known = getattr(problem, "optimizers", None)
    optimizers = None if known is None else known.tolist()

    class ReplicationProblem(SyntheticTestFunction):
        _is_minimization_by_default = False
        _check_grad_at_opt = False

        def __init__(self) -> None:
            self.dim = problem.dim
            self.continuous_inds = list(range(problem.dim))
            self._optimal_value = problem.optimal_value
            self._optimizers = None if optimizers is None else [tuple(x) for x in optimizers]
            super().__init__(
                noise_std=problem.noise_std,
                bounds=[(float(lower), float(upper)) for lower, upper in problem.bounds.T],
            )

        def _evaluate_true(self, X: Tensor) -> Tensor:
            points = X.detach().to("cpu", torch.double).reshape(-1, problem.dim).numpy()
            f = torch.from_numpy(np.asarray(problem.evaluate_true(points), dtype=np.float64))
            return f.to(X).reshape(X.shape[:-1])

    made = ReplicationProblem()
    if problem.candidates is not None:
        made.register_buffer("candidates", torch.tensor(problem.candidates, dtype=torch.double))
    return made


class BotorchProblem(Problem):
    """A synthetic test function of BoTorch, by its name there, maximised.

    A problem with settings of its own is a subclass of a few lines, whose ``__init__`` hands the
    function's name and ``dim`` on.

    Args:
        function: a class of ``botorch.test_functions.synthetic`` with one objective, no constraints
            and continuous inputs, e.g. ``Ackley``.
        dim: number of dimensions, where the function leaves it open; None takes BoTorch's default.
        noise_std: standard deviation of the observation noise, in units of the function.

    Attributes:
        optimizers: ``k x d``, native points at which BoTorch says that the optimum is reached, as
            precise as it gives them; None where it gives none.

    Raises:
        SettingError: there is no such function, or it cannot have that ``dim``.
    """

    optimizers: Array | None

    def __init__(
        self, *, function: str, dim: Count | None = None, noise_std: NonNegative = 0.0
    ) -> None:
        self._function = _made(function, dim)
        self._sign = -1.0 if self._function.is_minimization_problem else 1.0
        self.dim = int(self._function.dim)
        self.bounds = self._function.bounds.numpy().copy()
        self.noise_std = noise_std
        try:
            # + 0.0 makes the negated optimum of Ackley and Levy 0.0 and not -0.0
            self.optimal_value = self._sign * float(self._function.optimal_value) + 0.0
        except NotImplementedError:
            self.optimal_value = None
        optimizers = self._function._optimizers
        self.optimizers = None if optimizers is None else np.array(optimizers, dtype=np.float64)

    def evaluate_true(self, X: Array) -> Array:
        """The noise-free values, shape ``n``, in double precision, at the native points ``n x d``.

        Raises:
            ValueError: a point lies outside the bounds (BoTorch's own check).
        """
        import torch

        points = torch.tensor(np.asarray(X, dtype=np.float64))
        with torch.no_grad():
            f: Array = self._function.evaluate_true(points).numpy()
        return self._sign * f


@functools.cache
def _test_functions() -> tuple[Any, Any]:
    """``botorch.test_functions.synthetic`` and ``.base``, without the rest of BoTorch.

    The packages' own ``__init__`` import all of BoTorch, its models and optimisers: as much time again
    as torch takes, in every run on one of these functions. So the two modules are imported from
    packages without contents, and what `import botorch` finds later is left as it would be without us.
    """
    names = ("botorch.test_functions.synthetic", "botorch.test_functions.base")
    before = any(map(_is_botorch, sys.modules))
    if not before:
        for package in ("botorch", "botorch.test_functions"):
            spec = importlib.util.find_spec(package)
            assert spec is not None
            sys.modules[package] = importlib.util.module_from_spec(spec)
    try:
        synthetic, base = map(importlib.import_module, names)
    finally:
        if not before:
            for name in [name for name in sys.modules if _is_botorch(name)]:
                del sys.modules[name]
    return synthetic, base


def _is_botorch(module: str) -> bool:
    return module.partition(".")[0] == "botorch"


def _made(function: str, dim: int | None) -> Any:
    """The BoTorch test function, with ``negate`` as BoTorch has it, in double precision."""
    synthetic, base = _test_functions()
    known: dict[str, Any] = {
        name: cls
        for name, cls in inspect.getmembers(synthetic, inspect.isclass)
        if issubclass(cls, synthetic.SyntheticTestFunction)
        and not issubclass(cls, base.ConstrainedBaseTestProblem)
        and not inspect.isabstract(cls)
    }
    if function not in known:
        raise SettingError("function", f"must be {allowed(known)}, got {function!r}")
    settings: dict[str, Any] = {} if dim is None else {"dim": dim}
    try:
        made = known[function](**settings)
    except Exception as error:  # BoTorch's functions differ in what they raise against a dim
        reason = str(error).partition("\n")[0]
        raise SettingError(
            "dim", f"must be one that {function} can have, got {dim} ({reason})"
        ) from None
    if made.discrete_inds or made.categorical_inds:
        raise SettingError("function", f"must have continuous inputs only, got {function!r}")
    return made
