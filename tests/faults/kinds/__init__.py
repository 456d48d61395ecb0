"""The kinds of faults: each function injects one, and checks that nothing is lost and nothing wrong.

Either the command says in one line what is wrong (exit status 2), or its result is the undisturbed one.
A kind is called ``group: what``; README's table has a row for each group.
"""

from __future__ import annotations

from kinds import files, inputs, interruptions, journals, outputs, sources, surroundings, workflow
from kinds.base import KINDS

__all__ = ["KINDS", "files", "inputs", "interruptions", "journals", "outputs"]
__all__ += ["sources", "surroundings", "workflow"]
