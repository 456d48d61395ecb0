"""The peak memory of a process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_mib(device: object = "cpu") -> float:
    """The most memory that this process has held so far, MiB (2^20 bytes).

    On ``cpu`` the resident memory: interpreter, libraries, problem and all runs of the process
    included. On a GPU what PyTorch's tensors took of it (its own allocator's maximum).

    Args:
        device: ``cpu`` or ``cuda``, by name or as PyTorch's device.
    """
    if str(device).startswith("cuda"):
        import torch

        return torch.cuda.max_memory_allocated(str(device)) / 2**20
    # Not by getrusage where it can be helped: there a process that was started by a larger one may
    # begin with the peak of that one.
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 2**10
    unit = 1 if sys.platform == "darwin" else 2**10  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
