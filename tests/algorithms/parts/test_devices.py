"""Devices by name."""

import pytest
import torch

from replibo.algorithms.parts.devices import torch_device
from replibo.settings import SettingError


def test_cpu_and_a_gpu_where_there_is_one(monkeypatch):
    assert torch_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_device("cuda") == torch.device("cuda")


def test_a_gpu_that_is_not_there_is_said_in_one_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match=r"^device must be cpu, got cuda: .*no GPU") as error:
        torch_device("cuda")
    assert "\n" not in str(error.value)
