# SPDX-License-Identifier: MIT
"""Makes PyTorch know the device "neuron": torch.neuron, tensors, operators. From torch 2.15 on, which takes devices from Python."""

import threading

import torch
from torch.utils import backend_registration

from . import autocast, glue, kernels, memory, neuron, process_group, sparse

_registrations: list[torch.library.Library] = []  # which last as long as they are here
_tensor_str = torch._tensor_str._tensor_str
_apply = torch.nn.Module._apply
_moving = threading.local()
_clone_storage = torch.UntypedStorage.clone
_resize_storage = torch.UntypedStorage.resize_


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
    name = location.partition(":")[0]
    if name != "neuron":
        return None
    size = storage.nbytes()
    return memory.copy_on(torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,)), neuron.index_of(location)).untyped_storage()


def _resized(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
    """Storages on the device keep their memory and size: to less, as FSDP lets go what it has gathered, is no change."""
    if storage.device.type != "neuron":
        return _resize_storage(storage, size)
    if size > storage.nbytes():
        raise RuntimeError(f"a storage on {storage.device} has {storage.nbytes()} bytes, and cannot get {size}")
    return storage


def _cloned(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    if storage.device.type != "neuron":
        return _clone_storage(storage)
    size = storage.nbytes()
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage, 0, (size,), (1,)).clone().untyped_storage()


def _applied(module: torch.nn.Module, *args: object, **kwargs: object) -> torch.nn.Module:
    """What Module.to() does. Of another kind of device PyTorch gives a module new parameters, one for each place that has one: optimizers would go on with the
    old ones, and shared ones be shared no more. Here a parameter stays the object that it is."""
    if getattr(_moving, "now", False):
        return _apply(module, *args, **kwargs)
    places = [(part._parameters, name, value) for part in module.modules() for name, value in part._parameters.items() if value is not None]
    _moving.now = True
    try:
        result = _apply(module, *args, **kwargs)
    finally:
        _moving.now = False
    kept: dict[int, torch.Tensor] = {}
    for parameters, name, before in places:
        after = parameters[name]
        if after is before or "neuron" not in (before.device.type, after.device.type) and id(before) not in kept:
            continue
        if id(before) not in kept:
            try:
                torch.utils.swap_tensors(before, after)
                kept[id(before)] = before
            except RuntimeError:  # something holds on to what it is made of
                kept[id(before)] = after
        parameters[name] = kept[id(before)]
    return result


def register() -> None:
    """Once a process. RuntimeError: another device has PyTorch's place for one"""
    if _registrations:
        return
    memory.by_allocator = glue.load()
    if memory.by_allocator:
        backend_registration.rename_privateuse1_backend("neuron")
        backend_registration.generate_methods_for_privateuse1_backend()
        torch._register_device_module("neuron", neuron)
    else:
        backend_registration._setup_privateuseone_for_python_backend("neuron", neuron, _Hooks(), _Guard())
        torch.UntypedStorage.resize_, torch.UntypedStorage.clone = _resized, _cloned
    _registrations.extend((*kernels.register(), *sparse.register(), *autocast.register()))
    process_group.register()
    torch.serialization.register_package(5, lambda storage: None, _restored)
    torch._tensor_str._tensor_str = _text_of
    torch.nn.Module._apply = _applied
