"""Where an algorithm's tensors live: the CPU or a GPU, by a setting of the config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from replibo.settings import SettingError

if TYPE_CHECKING:
    import torch

Device = Literal["cpu", "cuda"]


def torch_device(name: Device) -> torch.device:
    """The torch device; a `SettingError` where it is ``cuda`` and torch finds no GPU."""
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError("device", "must be cpu, got cuda: torch finds no GPU on this machine")
    return torch.device(name)
