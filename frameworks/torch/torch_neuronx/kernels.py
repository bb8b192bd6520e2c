# SPDX-License-Identifier: MIT
"""What PyTorch asks of a device itself: new tensors, views, copies, one number. All other operators are eager.py's."""

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import eager, layouts, memory, neuron, optimizers

aten = torch.ops.aten
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def _empty(size: Sequence[int], *, dtype: torch.dtype | None = None, layout: object = None, device: torch.device | None = None, pin_memory: bool | None = None,
           memory_format: torch.memory_format | None = None) -> Tensor:
    steps = layouts.contiguous(size)
    if memory_format in (torch.channels_last, torch.channels_last_3d):
        steps = torch.empty(size, dtype=dtype, device="meta", memory_format=memory_format).stride()
    return memory.empty_strided(size, steps, dtype or torch.get_default_dtype(), neuron.index_of(device))


def _empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: torch.dtype | None = None, layout: object = None, device: torch.device | None = None,
                   pin_memory: bool | None = None) -> Tensor:
    return memory.empty_strided(size, stride, dtype or torch.get_default_dtype(), neuron.index_of(device))


def _copy_from(source: Tensor, to: Tensor, non_blocking: bool = False) -> Tensor:
    if source.shape != to.shape:
        source = source.expand(to.shape)
    if source.device == to.device and memory.common(source, to) == "some":
        source, seen = memory.aliases([source, to])
        seen.copy_(source)  # which says what is wrong
    else:
        memory.copy(source, to)
    return to


def _copy_from_and_resize(source: Tensor, to: Tensor) -> Tensor:
    if to.shape != source.shape:
        to.resize_(source.shape)
    return _copy_from(source, to)


def _resize_(value: Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None) -> Tensor:
    """Storages have the size that they were made with: a larger tensor gets a new one."""
    steps = layouts.contiguous(size)
    if memory_format in (torch.channels_last, torch.channels_last_3d):
        steps = torch.empty(size, device="meta", memory_format=memory_format).stride()
    count = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, steps, strict=True))
    storage = value.untyped_storage()
    if (value.storage_offset() + count) * value.itemsize <= storage.nbytes():
        return value.as_strided_(size, steps) if tuple(value.shape) != tuple(size) else value
    made = memory.empty_strided(size, steps, value.dtype, value.device.index)
    before = min(storage.nbytes() // value.itemsize - value.storage_offset(), count)
    if before > 0:
        memory.copy(value.as_strided((before,), (1,)), made.as_strided((before,), (1,)))
    value.set_(made.untyped_storage(), 0, size, steps)
    return value


def _local_scalar_dense(value: Tensor) -> object:
    return memory.alias(value).item()


def _fill(value: Tensor, number: object) -> Tensor:
    memory.alias(value).fill_(number)
    return value


def _zero(value: Tensor) -> Tensor:
    memory.alias(value).zero_()
    return value


def _view(op: torch._ops.OpOverload) -> Callable:
    """An operator that makes another tensor of the same memory: the CPU's kernel, which reads no element"""
    redispatch = op.redispatch

    def view(*args: object, **kwargs: object) -> Tensor:
        return redispatch(_CPU, *args, **kwargs)

    return view


def _set_tensor(value: Tensor, source: Tensor) -> Tensor:
    return value.set_(source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


def _convolution(*args: object) -> Tensor:
    return eager.run(aten.convolution.default, *args)


def _convolution_backward(gradient: Tensor, x: Tensor, weight: Tensor, stride: object, padding: object, dilation: object, transposed: bool, output_padding: object,
                          groups: int, output_mask: Sequence[bool]) -> tuple:
    return eager.run(aten.convolution_backward.default, gradient, x, weight, [weight.shape[1] * groups if transposed else weight.shape[0]], stride, padding, dilation,
                     transposed, output_padding, groups, output_mask)


def _batch_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor | None, variance: Tensor | None, training: bool, momentum: float,
                eps: float) -> tuple:
    """Its declaration does not say that it changes the running statistics."""
    if not training:
        return eager.run(aten._native_batch_norm_legit_no_training.default, x, weight, bias, mean, variance, momentum, eps)
    if mean is None:
        return eager.run(aten._native_batch_norm_legit.no_stats, x, weight, bias, training, momentum, eps)
    return eager.run(aten._native_batch_norm_legit.default, x, weight, bias, mean, variance, training, momentum, eps)


def _arange(start: float, end: float, step: float = 1, *, out: Tensor) -> Tensor:
    """By the host, as all that is made of nothing; without what eager.py does for any operator, since masks are made of it for each word"""
    made = torch.arange(start, end, step, dtype=out.dtype)
    return _copy_from(made, out if out.shape == made.shape else out.resize_(made.shape))


def _set_nothing(value: Tensor) -> Tensor:
    return value.set_(memory.empty_strided((0,), (1,), value.dtype, value.device.index).untyped_storage(), 0, (0,), (1,))


def _pin_memory(value: Tensor, device: torch.device | None = None) -> Tensor:
    """A copy of a tensor of the CPU's in memory that devices reach; without chips there is none"""
    if not neuron.is_available() or memory.forked():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return memory.empty_strided(value.shape, layouts.strides(value.shape, value.stride()), value.dtype, memory.HOST).copy_(value)


def _is_pinned(value: Tensor, device: torch.device | None = None) -> bool:
    return memory.pinned(value)


_attention = aten.scaled_dot_product_attention.default


def _attended(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
              scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    if attn_mask is not None and attn_mask.dtype == torch.bool:  # which is PyTorch's before it calls this
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
    return aten._scaled_dot_product_attention_math.default(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]


def _scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
                                  scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """One program where no gradient is asked for, and nothing draws; else, and in graphs, the operators that it is made of"""
    tensors = [tensor for tensor in (query, key, value, attn_mask) if tensor is not None]
    args, kwargs = (query, key, value, attn_mask, dropout_p, is_causal), {"scale": scale, "enable_gqa": enable_gqa}
    one = not (dropout_p or torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)) and all(
        type(tensor) in (Tensor, torch.nn.Parameter) and tensor.layout == torch.strided and not tensor.is_nested for tensor in tensors)
    if not one or torch._C._len_torch_dispatch_stack() or torch._C._functorch.peek_interpreter_stack():
        return _attention.decompose(*args, **kwargs)
    with torch._C._AutoDispatchBelowAutograd():
        return eager.computed(_attention, args, kwargs, _attended, (args, kwargs))


VIEWS = ("as_strided", "view_as_real", "view_as_complex", "view", "_reshape_alias", "unfold", "set_.source_Storage", "set_.source_Storage_storage_offset")
KERNELS = {"empty.memory_format": _empty, "empty_strided": _empty_strided, "_copy_from": _copy_from, "_copy_from_and_resize": _copy_from_and_resize,
           "resize_": _resize_, "_local_scalar_dense": _local_scalar_dense, "fill_.Scalar": _fill, "zero_": _zero, "set_.source_Tensor": _set_tensor, "set_": _set_nothing,
           "arange.start_out": _arange, "native_batch_norm": _batch_norm,
           **{name: functools.partial(eager.run, getattr(aten, name).default) for name in ("cummax", "cummin")},
           "record_stream": lambda value, stream: None, "convolution_overrideable": _convolution,
           "convolution_backward_overrideable": _convolution_backward}


def register() -> list[torch.library.Library]:
    """Of the device that PyTorch knows as PrivateUse1. The registrations end with what is given"""
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    by_allocator = ("empty.memory_format", "empty_strided") if memory.by_allocator else ()  # which PyTorch has, then
    for name, kernel in KERNELS.items():
        if name not in by_allocator:
            library.impl(name, kernel, "PrivateUse1")
    for key in ("PrivateUse1", "AutogradPrivateUse1"):  # with gradients or without: PyTorch's own is of parts
        library.impl("scaled_dot_product_attention", _scaled_dot_product_attention, key)
    for name in VIEWS:
        packet, _, overload = name.partition(".")
        library.impl(name, _view(getattr(getattr(aten, packet), overload or "default")), "PrivateUse1")
    for name in optimizers.LISTS:  # PyTorch would take them apart
        packet = getattr(aten, name.removeprefix("aten::"))
        for overload in packet.overloads():
            if not overload.endswith("out"):
                op = getattr(packet, overload)
                library.impl(op, functools.partial(eager.run, op), "PrivateUse1")
    for name, kernel in () if memory.by_allocator else (("_pin_memory", _pin_memory), ("is_pinned", _is_pinned)):
        library.impl(name, kernel, "CPU")
    for name in ("_copy_from", "_copy_from_and_resize"):  # which heed both bits; PyTorch would copy to get rid of them, by these
        for key in ("Conjugate", "Negative"):
            library.impl(name, torch.library.fallthrough_kernel, key)
    others.fallback(eager.run, "PrivateUse1")
    return [library, others]
