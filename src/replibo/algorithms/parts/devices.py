"""Where an algorithm's tensors live: the CPU or a GPU, by a setting of the config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replibo.errors import RepliboError

if TYPE_CHECKING:
    import torch


def torch_device(name: str) -> torch.device:
    """The torch device called ``name``: ``cpu`` or ``cuda``.

    Raises:
        RepliboError: another name, or ``cuda`` where torch finds no GPU.
    """
    if name not in ("cpu", "cuda"):
        raise RepliboError(f"device: {name} is not allowed; cpu or cuda is")
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise RepliboError(
            "device: cuda is not allowed on this machine (torch finds no GPU); cpu is"
        )
    return torch.device(name)
