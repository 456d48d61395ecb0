"""A run takes one thread, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl
import torch

from replibo.threads import VARIABLES, one_thread


def blas_threads() -> set[int]:
    return {
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    }


def test_libraries_that_are_loaded_take_one_thread_and_their_own_number_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    np.linalg.inv(np.eye(3))
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.delenv("MKL_NUM_THREADS")
    environment = dict(os.environ)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threadpoolctl.threadpool_limits(2):
            assert blas_threads() == {2}
            with one_thread():
                assert blas_threads() == {torch.get_num_threads()} == {1}
                assert all(os.environ[name] == "1" for name in VARIABLES)
            assert blas_threads() == {torch.get_num_threads()} == {2}
    finally:
        torch.set_num_threads(before)
    assert dict(os.environ) == environment


def test_a_library_user_keeps_the_threads_of_libraries_that_an_algorithm_imports_late() -> None:
    code = """
import replibo, sys
optimizer = replibo.Optimizer([(-5, 5)], "gp_ucb_mcmc", n_initial=2)
for y in (0.0, 1.0, 0.5):
    optimizer.tell(optimizer.ask(), y)
print(sys.modules["torch"].get_num_threads())
"""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout == "2\n"
