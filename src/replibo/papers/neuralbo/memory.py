"""NeuralBO, Figure 6: memory on the robot pushing task (Phan-Trong, Tran-The and Gupta 2023, 7.2.3).

The paper shows what the GPU's allocator says. Here two numbers are kept with each query.
`surrogate_bytes` is the size of the surrogate's tensors, the same on every machine. `peak_mib` is
the most memory that the process, or PyTorch on the GPU, has held so far. A MiB has 2^20 bytes.

An algorithm is shown on the problem entry of the task on which its runs are longest. The printed
NeuralBO may have an entry of its own with a shorter horizon, as its memory does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replibo.algorithms.parts.gp_sampled import GpSchedule
from replibo.config.models import COLORS, AlgorithmEntry, FigureEntry
from replibo.papers.common import outcome, shown_by
from replibo.problems.base import Array
from replibo.results import plotting
from replibo.results.comparisons import Comparison, MissingRunsError
from replibo.results.runs import Runs
from replibo.results.tables import Format, Table
from replibo.surrogates.gp_regression import BOUNDED_FROM, BOUNDING_SHARE
from replibo.surrogates.tangent_kernel import FIRST_CAPACITY, MORE_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD, PEAK = "surrogate_bytes", "peak_mib"
MIB = 2**20
EVALUATIONS = 6000
"""Evaluations of the paper's robot task."""
AT = (2000, EVALUATIONS)
"""Observations at which the table calculates."""

EXPLAINED = (
    "Held: all tensors that the surrogate keeps from query to query, room for observations to come and "
    "buffers included (1 MiB = 2^20 bytes); the same for every seed and machine. The history of queries, "
    "which every method has, is not counted. NeuralBO: its σ from a factor that grows with the "
    "observations. Peak: the most that the "
    "process has held until then, interpreter, PyTorch and the problem included (on a GPU: PyTorch's "
    "tensors), measured; where one process makes several runs, of them all, and of a resumed run that of "
    "its last process."
)
CALCULATED = (
    f"Thin lines: calculated from the sizes of these tensors up to {EVALUATIONS:,} evaluations, which "
    "were not run; only of methods whose calculated bytes are the held ones at every query that was."
)


@dataclass(frozen=True)
class Memory:
    """The memory of one algorithm on one problem, query after query; initial points left out."""

    problem: str
    rounds: Array  # t, n
    observations: Array  # how many there were when the query was chosen, n
    held: Array  # bytes, n
    peak: Array  # MiB, seeds x n; NaN where it was not measured

    @property
    def constant(self) -> bool:
        """Whether the bytes held are the same at every query."""
        return bool(np.all(self.held == self.held[0]))

    @property
    def growth(self) -> float:
        """Bytes held at the last query over those at the first."""
        return float(self.held[-1] / self.held[0])

    @property
    def exponent(self) -> float | None:
        """e of bytes ~ n^e, n observations, by least squares of the logarithms; None of one query."""
        if len(self.held) < 2:
            return None
        if self.constant:
            return 0.0  # and not -0.00, as rounding has it
        return float(np.polyfit(np.log(self.observations), np.log(self.held), 1)[0])


def memory_of(runs: Runs, algorithm: str, problems: Sequence[str]) -> Memory | None:
    """The memory of ``algorithm`` on that of the ``problems`` on which its runs are longest; None where
    it was not run or its traces hold no memory."""
    memories = []
    for problem in problems:
        held, peak = (runs.held(problem, algorithm, name) for name in (HELD, PEAK))
        if held is None or not (queried := np.isfinite(held).all(axis=0)).any():
            continue
        held = held.astype(float)
        peak = np.full(held.shape, np.nan) if peak is None else peak.astype(float)
        memories.append(
            Memory(
                problem,
                runs.rounds(problem, algorithm)[queried],
                np.flatnonzero(queried).astype(float),
                held[:, queried].max(axis=0),
                peak[:, queried],
            )
        )
    return max(memories, key=lambda memory: len(memory.held), default=None)


def calculated(runs: Runs, name: str, memory: Memory, observations: Array) -> Array | None:
    """The bytes that a surrogate will hold at some numbers of observations; None where no formula gives
    what was held at each of the run's own.

    A Gaussian process: factor, inputs, y and the solved y, with room for what comes until the next fit;
    of GP-UCB and GP-EI the factor that bounds deviations, too.
    NeuralBO's σ in dual form: the factor and the features of every observation, in buffers that double
    up to 1,024 rows and then grow by as many; kernel and network. A memory that was the same at
    every query stays so.
    """
    entry, dim = runs.entry.algorithms[name], runs.dim(memory.problem)
    initial = runs.initial_points(memory.problem)
    if len(memory.held) > 1 and memory.constant:
        return np.full(len(observations), memory.held[0])
    past, later = (_formula(entry, dim, initial, n) for n in (memory.observations, observations))
    # Published bytes are in single precision.
    return later if past is not None and np.allclose(past, memory.held, rtol=1e-7, atol=0) else None


def _formula(entry: AlgorithmEntry, dim: int, initial: int, n: Array) -> Array | None:
    settings = entry.parameters
    if entry.type in ("gp_ucb.GpUcb", "gp_ts.GpTs", "gp_ei.GpEi"):
        schedule = GpSchedule(settings.get("refit_growth", 0.05))
        fitted = np.array([schedule.in_force(int(k), initial) for k in n])
        rows = np.array([schedule.after(int(k)) - 1 for k in fitted])
        room = rows - fitted
        factor = fitted**2 + room * (fitted + room)
        bounded = (fitted >= BOUNDED_FROM) & (entry.type != "gp_ts.GpTs")
        part = np.where(bounded, fitted // BOUNDING_SHARE, 0)
        return np.asarray(8.0 * (factor + part * (part + 1) + rows * (dim + 1) + n))
    if entry.type == "neural_bo.NeuralBO":
        d = dim + settings.get("constant_input", False)
        width = settings.get("width", 500)
        sizes = [FIRST_CAPACITY]
        while sizes[-1] < n.max():
            sizes.append(sizes[-1] + min(sizes[-1], MORE_ROWS))
        rows = np.array(sizes)[np.searchsorted(sizes, n)]
        of_rows = 8.0 * (rows**2 + rows * (d + 2 * width))
        return np.asarray(of_rows + (8 + 4) * width * (d + 1))  # the network in single precision
    return None


def shown(runs: Runs, entry: FigureEntry) -> dict[str, Memory]:
    """The algorithms that a figure or table shows."""
    problems = shown_by(runs, entry, HELD)
    return {
        name: memory
        for name in entry.algorithms or runs.entry.algorithms
        if (memory := memory_of(runs, name, list(problems))) is not None
    }


def _note(runs: Runs, memories: Mapping[str, Memory]) -> str:
    problems = list(dict.fromkeys(memory.problem for memory in memories.values()))
    return runs.note(problems, list(memories))


def figure_6(runs: Runs, entry: FigureEntry) -> Figure:
    """Figure 6: memory against iterations; held by the surrogate (log scale), and the process's peak."""
    memories = shown(runs, entry)
    figure, axes = plotting.panels(1, 2, height=2.8)
    held, peaks = axes.flat
    curves: list[plotting.Curve] = []
    for name, memory in memories.items():
        look = runs.entry.algorithms[name]
        # a run of one query is a point
        style = plotting.line_style(look) | {"markevery": (0.1, 0.3)}
        style |= {"marker": style["marker"] or "o"} if len(memory.rounds) == 1 else {}
        held.plot(memory.rounds, memory.held / MIB, **style)
        more = np.arange(memory.observations[-1], EVALUATIONS)
        if len(more) and (later := calculated(runs, name, memory, more)) is not None:
            t = more - memory.observations[-1] + memory.rounds[-1]
            held.plot(t, later / MIB, lw=0.6, color=COLORS[look.color], label="_calculated")
        if not np.isnan(memory.peak).all():
            middle = np.median(memory.peak, axis=0)
            ends = memory.peak.min(axis=0), memory.peak.max(axis=0)
            curves.append(plotting.Curve(look, memory.rounds, middle, *ends))
    plotting.draw(peaks, curves, bands=True)
    held.set_yscale("log")
    held.set_title("held by the surrogate")
    plotting.from_zero(peaks)
    peaks.set_title("peak of the process")
    for ax in axes.flat:
        ax.set_xlabel("iteration $t$")
        ax.set_ylabel("MiB")
    caption = (
        f"{entry.caption} {EXPLAINED} Lines of the peak: the median of the seeds; shaded: from the "
        f"smallest to the largest. A thick line ends where the runs do. {CALCULATED} "
        f"{_note(runs, memories)}"
    )
    return plotting.finish(figure, caption)


def memory(runs: Runs, entry: FigureEntry) -> Table:
    """Figure 6 in numbers: memory at the first, the middle and the last query."""
    memories = shown(runs, entry)
    rows = []
    for name, memory in memories.items():
        held, peak = memory.held / MIB, np.median(memory.peak, axis=0)
        later = calculated(runs, name, memory, np.array(AT))
        row = {
            "algorithm": runs.label(name),
            "problem": runs.problem_label(memory.problem),
            "iterations": len(held),
            "held at the first, MiB": float(held[0]),
            "held in the middle, MiB": float(held[len(held) // 2]),
            "held at the last, MiB": float(held[-1]),
            "last / first": memory.growth,
            "exponent": memory.exponent,
            "peak at the first, MiB": float(peak[0]),
            "peak at the last, MiB": float(peak[-1]),
        }
        for i, n in enumerate(AT):
            row[f"calculated at {n:,}, MiB"] = None if later is None else float(later[i]) / MIB
        rows.append(row)
    caption = (
        f"{entry.caption} {EXPLAINED} The peak is the median of the seeds. Exponent: e of held ~ n^e "
        "with n observations, by least squares of the logarithms over all queries; the steps are "
        f"those of buffers. Calculated: from the sizes of the tensors at so many observations, which "
        f"were not run. {_note(runs, memories)}"
    )
    columns = list(rows[0])
    formats: dict[str, Format] = dict.fromkeys(columns[3:7] + columns[10:], ".4g")
    formats |= dict.fromkeys(columns[8:10], ".0f") | {"exponent": ".2f"}
    return Table.of(rows, caption, formats)


# Measure of the claim


FACTOR = 2.0
"""Memory that grows by more is said to grow."""


def memory_growth(
    runs: Runs, *, problems: Sequence[str], growing: Sequence[str], flat: Sequence[str]
) -> list[Comparison]:
    """The memory of the ``growing`` methods grows with the iterations, that of the ``flat`` ones
    does not.

    The bytes that the surrogate holds are more than `FACTOR` times as many at the last query as at the
    first, or the same at every query; contradicted otherwise. Open: an algorithm was not run, or its
    runs are too short to tell, the observations having grown by less than `FACTOR`.

    That a network and a p × p matrix hold the same at every query is so by construction. The process's
    peak is not judged: it holds much that is not the surrogate's.
    """
    memories = {name: memory_of(runs, name, problems) for name in (*growing, *flat)}
    if not any(memories.values()):
        raise MissingRunsError(
            f"no run on {' or '.join(problems)} holds {HELD} of {', '.join(memories)}"
        )
    comparisons = []
    for name, memory in memories.items():
        if memory is None:
            comparisons.append(Comparison("open", f"{runs.label(name)} was not run"))
            continue
        first, last = memory.observations[[0, -1]]
        text = (
            f"{runs.label(name)}: {memory.held[0] / MIB:.3g} MiB at {first:.0f} observations, "
            f"{memory.held[-1] / MIB:.3g} MiB at {last:.0f}"
        )
        if last < FACTOR * first:
            comparisons.append(Comparison("open", f"{text} (too few iterations to tell)"))
            continue
        holds = memory.growth > FACTOR if name in growing else memory.constant
        comparisons.append(Comparison(outcome(holds, not holds), text))
    return comparisons
