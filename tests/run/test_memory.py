"""The most memory that a process has held; that it grows and stays with a run: test_loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from replibo.run import memory


def test_a_small_process_that_a_large_one_started_is_small() -> None:
    ballast = np.ones(400 * 2**17)  # MiB
    script = "from replibo.run.memory import peak_mib; print(peak_mib())"
    out = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert ballast[-1] == 1.0
    assert 1.0 < float(out) < 200.0


def test_without_proc_by_getrusage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = memory.peak_mib()
    monkeypatch.setattr(memory, "STATUS", tmp_path / "status")
    assert 0.9 * expected <= memory.peak_mib() < 100 * expected


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda")])
def test_on_a_gpu_by_pytorchs_own_account(device: object, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        torch.cuda, "max_memory_allocated", lambda name: asked.append(name) or 3 * 2**20
    )
    assert memory.peak_mib(device) == 3.0
    assert asked == ["cuda"]
