"""A run takes one thread, whatever the environment says."""

from __future__ import annotations

import os

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
