# SPDX-License-Identifier: MIT
"""Makes PyTorch know the device "neuron": torch.neuron, tensors, operators. From torch 2.15 on, which takes devices from Python."""

import torch
from torch.utils import backend_registration

from . import autocast, kernels, memory, neuron

_registrations: list[torch.library.Library] = []  # which last as long as they are here
_tensor_str = torch._tensor_str._tensor_str


def _text_of(value: torch.Tensor, indent: int) -> str:
    """A tensor's elements are printed by the host, as of other devices that compile."""
    return _tensor_str(value.cpu() if value.device.type == "neuron" else value, indent)


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    def is_available(self) -> bool:
        return neuron.is_available()

    def has_primary_context(self, device: int) -> bool:
        return neuron.is_initialized()

    def is_built(self) -> bool:
        return True


class _Guard(torch._C._acc.DeviceGuard):
    def type_(self) -> object:
        return torch._C._autograd.DeviceType.PrivateUse1


def _restored(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    """For torch.load: a storage on the device with the bytes of one of the CPU's"""
    name, _, number = location.partition(":")
    if name != "neuron":
        return None
    size = storage.nbytes()
    made = memory.empty_strided((size,), (1,), torch.uint8, int(number or neuron.current_device()))
    made.copy_(torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,)))
    return made.untyped_storage()


def register() -> None:
    """Once a process. RuntimeError: another device has PyTorch's place for one"""
    if _registrations:
        return
    backend_registration._setup_privateuseone_for_python_backend("neuron", neuron, _Hooks(), _Guard())
    _registrations.extend((*kernels.register(), *autocast.register()))
    torch.serialization.register_package(5, lambda storage: None, _restored)
    torch._tensor_str._tensor_str = _text_of
