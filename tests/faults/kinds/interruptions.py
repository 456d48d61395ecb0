"""Processes that are stopped, or disturb each other."""

from __future__ import annotations

import os
import shutil
import signal

from bench import Case, FaultError

from kinds.base import drawn, journals_of, kind, output_of


@kind("stopped: SIGKILL at a random moment", 12)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    for _ in range(case.rng.randint(1, 3)):
        child = case.start(*case.run_arguments(algorithm, block))
        if not child.wait(case.rng.uniform(0, 1.1) * case.seconds):
            child.send(signal.SIGKILL)
        child.outcome()
    for path in journals_of(case, algorithm, block):
        if path.exists() and path.stat().st_size and case.rng.random() < 0.3:
            os.truncate(path, max(path.stat().st_size - case.rng.randint(1, 300), 0))
    # What a killed process had in its hands stays beside the output; nothing reads it.
    for path in output_of(case, algorithm, block).parent.glob(".replibo-*"):
        shutil.rmtree(path)
    case.must_be_rerun(algorithm, block)


@kind("stopped: SIGTERM or Ctrl-C at a random moment", 8)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    number = case.rng.choice([signal.SIGTERM, signal.SIGINT])
    child = case.start(*case.run_arguments(algorithm, block))
    # not before the command has set its handlers
    child.wait(case.rng.uniform(0.15, 1.1) * case.seconds)
    child.send(number)
    outcome = child.outcome()
    if outcome.status not in (0, 128 + number, -number):
        raise FaultError(f"status {outcome.status}: {outcome.said[-500:]}")
    if outcome.status == 128 + number:
        said = [f"replibo: stopped by {number.name}; the same command goes on from here"]
        if outcome.faults() != said:
            raise FaultError(f"not said: {outcome.said[-500:]}")
        left = list(output_of(case, algorithm, block).parent.glob(".*"))
        if left:
            raise FaultError(f"left behind: {left}")
    case.must_be_rerun(algorithm, block)


@kind("stopped: several processes at one output", 3)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    children = [
        case.start(*case.run_arguments(algorithm, block)) for _ in range(case.rng.randint(2, 3))
    ]
    for child in children:
        outcome = child.outcome()
        if outcome.status != 0:
            case.must_be_refused(outcome, "another process is running this seed")
    case.must_be_rerun(algorithm, block)
