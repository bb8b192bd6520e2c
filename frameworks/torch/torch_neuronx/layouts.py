# SPDX-License-Identifier: MIT
"""How tensors lie in memory, and how a program sees them: without gaps, from the outermost dimension to the innermost one, 64-bit integers as pairs of words.

A program computes with 32 bits; in memory there are the 64 that PyTorch says.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, fx

aten = torch.ops.aten
REFUSED = {torch.float64: "64-bit floating point", torch.complex64: "complex numbers", torch.complex128: "complex numbers", torch.uint64: "unsigned 64-bit integers"}


class Layout(NamedTuple):
    """The dimensions of more than one element, from the outermost; those that repeat one element are in none"""

    order: tuple[int, ...]
    sizes: tuple[int, ...]  # in that order


@functools.lru_cache(maxsize=4096)
def layout(size: tuple[int, ...], stride: tuple[int, ...]) -> Layout | None:
    """None: there are gaps, or elements that overlap"""
    order = sorted((dim for dim in range(len(size)) if size[dim] != 1 and stride[dim]), key=lambda dim: (-stride[dim], dim))
    step = 1
    for dim in reversed(order):
        if stride[dim] != step:
            return None
        step *= size[dim]
    return Layout(tuple(order), tuple(size[dim] for dim in order))


def dense(value: Tensor) -> bool:
    """Whether each element has a place of its own, without gaps"""
    found = layout(value.shape, value.stride())
    return found is not None and len(found.order) == sum(n != 1 for n in value.shape)


def strides(size: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Those that a program's result of this kind gets: the same, or if elements overlap or there are gaps one after the other"""
    found = layout(size, stride)
    if found and len(found.order) == sum(n != 1 for n in size):
        return tuple(stride)
    return contiguous(size)


def contiguous(size: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements one after the other"""
    steps, step = [], 1
    for n in reversed(size):
        steps.append(step)
        step *= max(1, n)
    return tuple(reversed(steps))


def words(value: Tensor) -> Tensor:
    """The bytes of a tensor without gaps in one dimension, of the widest type that programs pass on"""
    flat = value.as_strided((value.numel(),), (1,))
    for dtype in (torch.int32, torch.int16, torch.uint8):
        if flat.nbytes % dtype.itemsize == 0 and (flat.storage_offset() * flat.itemsize) % dtype.itemsize == 0:
            return flat.view(torch.uint8).view(dtype)
    return flat


def call(graph: fx.Graph, target: object, *args: object, **kwargs: object) -> fx.Node:
    """A node more, with an example of its value"""
    node = graph.call_function(target, args, kwargs)
    node.meta["val"] = target(*fx.node.map_arg(args, lambda n: n.meta["val"]), **kwargs)
    return node


def _cast(graph: fx.Graph, value: fx.Node, dtype: torch.dtype) -> fx.Node:
    return call(graph, aten._to_copy.default, value, dtype=dtype)


def entered(graph: fx.Graph, node: fx.Node) -> None:
    """Makes a placeholder as the program sees it, and what the graph had of that"""
    like = node.meta["val"]
    if not like.numel():
        return
    lies = layout(like.shape, like.stride()) or layout(like.shape, strides(like.shape, like.stride()))
    wide = like.dtype == torch.int64
    if not wide and lies.order == tuple(range(like.dim())):
        return
    users = list(node.users)
    node.meta.pop("tensor_meta", None)
    node.meta["val"] = like.new_empty([*lies.sizes, 2] if wide else lies.sizes, dtype=torch.int32 if wide else like.dtype)
    value = _cast(graph, call(graph, aten.select.int, node, len(lies.sizes), 0), torch.int64) if wide else node
    ascending = sorted(lies.order)
    if list(lies.order) != ascending:
        value = call(graph, aten.permute.default, value, [lies.order.index(dim) for dim in ascending])
    spread = [n if dim in ascending else 1 for dim, n in enumerate(like.shape)]
    if spread != list(value.meta["val"].shape):
        value = call(graph, aten.view.default, value, spread)
    if spread != list(like.shape):
        value = call(graph, aten.expand.default, value, list(like.shape))
    for user in users:
        user.replace_input_with(node, value)


def left(graph: fx.Graph, node: fx.Node) -> fx.Node:
    """A result as it has to lie in memory"""
    like = node.meta["val"]
    lies = layout(like.shape, strides(like.shape, like.stride()))
    dropped = [n for n in like.shape if n != 1]
    value = node
    if dropped != list(like.shape):
        value = call(graph, aten.view.default, value, dropped)
    places = [dim for dim, n in enumerate(like.shape) if n != 1]
    if list(lies.order) != places:
        value = call(graph, aten.permute.default, value, [places.index(dim) for dim in lies.order])
    if like.dtype == torch.int64:
        low = _cast(graph, value, torch.int32)
        high = call(graph, aten.neg.default, _cast(graph, call(graph, aten.lt.Scalar, low, 0), torch.int32))
        last = low.meta["val"].dim()
        value = call(graph, aten.cat.default, [call(graph, aten.unsqueeze.default, low, last), call(graph, aten.unsqueeze.default, high, last)], last)
    return value
