"""Devices by name."""

import pytest
import torch

from replibo.algorithms.parts.devices import torch_device
from replibo.errors import RepliboError


def test_cpu_and_a_gpu_where_there_is_one(monkeypatch):
    assert torch_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_device("cuda") == torch.device("cuda")


@pytest.mark.parametrize("name", ["cuda", "tpu"])
def test_what_is_not_there_is_said_in_one_line(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RepliboError, match=f"device: {name} is not allowed.*; cpu") as error:
        torch_device(name)
    assert "\n" not in str(error.value)
