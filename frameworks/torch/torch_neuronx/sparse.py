# SPDX-License-Identifier: MIT
"""Sparse and nested tensors on the device: what they are made of lies in its memory, and the CPU computes with them."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from . import eager, memory

aten = torch.ops.aten
Key = torch._C.DispatchKey

# Operators that make such a tensor of its parts, or take it apart: the CPU's kernels, which read no element
_COMPRESSED = ("_nnz", "dense_dim", "sparse_dim", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices")
PARTS = {
    "Sparse": ("_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "_indices", "_values", "indices", "values", "_nnz", "is_coalesced",
               "_coalesced_", "sparse_dim", "dense_dim", "_dimI", "_dimV", "copy_sparse_to_sparse_", "sparse_resize_", "sparse_resize_and_clear_", "clone"),
    "SparseCsr": _COMPRESSED,
    "NestedTensor": ("values", "_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets", "unbind.int"),
}


def plain(value: Tensor) -> bool:
    """Whether a tensor is one of elements in a storage"""
    return value.layout == torch.strided and not value.is_nested


def _with_parts(value: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
    """A tensor of the same kind with other parts"""
    if value.is_nested:
        how = value._nested_tensor_size(), value._nested_tensor_strides(), value._nested_tensor_storage_offsets()
        return torch._nested_view_from_buffer(part(value.values()), *how)
    if value.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(part(value._indices()), part(value._values()), value.shape, is_coalesced=value.is_coalesced(), check_invariants=False)
    by_row = value.layout in (torch.sparse_csr, torch.sparse_bsr)
    ends, places = (value.crow_indices(), value.col_indices()) if by_row else (value.ccol_indices(), value.row_indices())
    return torch.sparse_compressed_tensor(part(ends), part(places), part(value.values()), value.shape, layout=value.layout, check_invariants=False)


def to_neuron(value: Tensor, device: int) -> Tensor:
    """A copy of one of the CPU's"""
    return _with_parts(value, lambda part: eager.to_neuron(part.contiguous(), device))


def _become(value: Tensor, new: Tensor) -> None:
    """A tensor of the device's gets the elements of one of the CPU's."""
    if value.layout == torch.sparse_coo:
        aten.copy_sparse_to_sparse_(value, new)
    else:
        value.values().copy_(new.values())  # as many as there were


def run(op: torch._ops.OpOverload, *args: object, **kwargs: object) -> object:
    """By the CPU's kernel, of copies; what it changes is changed on the device"""
    copies: list[tuple[Tensor, Tensor]] = []
    asked = kwargs.get("device")
    placed = (value for value in pytree.tree_leaves((asked, args, kwargs)) if isinstance(value, (Tensor, torch.device)))
    places = (value.device if isinstance(value, Tensor) else value for value in placed)
    index = next((place.index or 0 for place in places if place.type == "neuron"), 0)

    def to_host(value: object) -> object:
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if not isinstance(value, Tensor) or value.device.type != "neuron":
            return value
        for ours, copy in copies:
            if ours is value:
                return copy
        copies.append((value, memory.alias(value) if plain(value) else _with_parts(value, lambda part: part.cpu())))
        return copies[-1][1]

    host_args, host_kwargs = pytree.tree_map(to_host, (args, kwargs))
    result = op(*host_args, **host_kwargs)
    written = [args[number] if number < len(args) else kwargs.get(argument.name) for number, argument in enumerate(op._schema.arguments)
               if argument.alias_info and argument.alias_info.is_write]
    for ours, copy in copies:
        if not plain(ours) and any(value is ours for value in written):
            _become(ours, copy)
    eager.announced(op, RuntimeError("programs take no sparse and no nested tensors"))

    def to_device(value: object) -> object:
        if not isinstance(value, Tensor) or asked is not None and asked.type != "neuron":
            return value
        return next((ours for ours, copy in copies if copy is value), None) if any(copy is value for _, copy in copies) else eager.to_neuron(value, index)

    return pytree.tree_map(to_device, result)


def _named(name: str) -> torch._ops.OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


def _by_the_cpu(op: torch._ops.OpOverload, key: object) -> Callable:
    keys = torch._C.DispatchKeySet(key)

    def kernel(*args: object, **kwargs: object) -> object:
        return op.redispatch(keys, *args, **kwargs)

    return kernel


def register() -> list[torch.library.Library]:
    """The registrations, which end with what is given"""
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    for kind, parts in PARTS.items():
        # without one of its own PyTorch would take some apart, and lose the layout
        for full in torch._C._dispatch_get_registrations_for_dispatch_key(f"{kind}CPU"):
            space, _, name = full.partition("::")
            if space == "aten":
                op = _named(name)
                library.impl(name, _by_the_cpu(op, getattr(Key, f"{kind}CPU")) if name in parts else functools.partial(run, op), f"{kind}PrivateUse1")
        others.fallback(run, f"{kind}PrivateUse1")
    library.impl("_nested_view_from_buffer", _by_the_cpu(aten._nested_view_from_buffer.default, Key.CPU), "PrivateUse1")
    return [library, others]
