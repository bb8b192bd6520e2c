# SPDX-License-Identifier: MIT
"""How tensors lie in memory, and how a program sees them: without gaps, from the outermost dimension to the innermost one, 64-bit integers as pairs of words.

A program computes with 32 bits; in memory there are the 64 that PyTorch says. Elements that are only moved keep them: their upper words are moved the same way.
"""

import functools
import operator
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


@functools.lru_cache(maxsize=4096)
def repeats(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether elements may share a place: a dimension's step is within what those inside it take"""
    reach = 0
    for step, n in sorted((step, n) for n, step in zip(size, stride, strict=True) if n > 1):
        if step <= reach:
            return 0 not in size
        reach += step * (n - 1)
    return False


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


_PUT = (aten.index_put, aten._unsafe_index_put, aten._index_put_impl)
# Operators whose result's elements are elements of arguments, and which arguments these are
_MOVED = {**dict.fromkeys((aten.view, aten._unsafe_view, aten.reshape, aten.permute, aten.expand, aten.clone, aten.alias, aten.slice, aten.select, aten.squeeze, aten.unsqueeze,
                           aten.transpose, aten.t, aten.cat, aten.stack, aten.index, aten._unsafe_index, aten.index_select, aten.gather, aten.embedding, aten.flip, aten.repeat,
                           aten.as_strided, aten.detach, aten.split, aten.split_with_sizes, aten.unbind, aten.diagonal, aten.unfold, aten.constant_pad_nd), (0,)),
          aten.where: (1, 2), aten.copy: (1,), aten.slice_scatter: (0, 1), aten.select_scatter: (0, 1), **dict.fromkeys(_PUT, (0, 2)), aten.scatter: (0, 3)}
_NUMBER = {aten.constant_pad_nd: 2, aten.scatter: 3}  # where one of them may be a number of Python's
WORD = 1 << 32


def _upper_word(value: Tensor) -> Tensor:
    """Stands for what entered() makes of a placeholder"""
    return torch.empty_like(value)


def _signs(graph: fx.Graph, value: fx.Node) -> fx.Node:
    return _cast(graph, call(graph, aten.neg.default, _cast(graph, call(graph, aten.lt.Scalar, value, 0), torch.int32)), torch.int64)


def upper(graph: fx.Graph, node: fx.Node, made: dict[fx.Node, fx.Node | None]) -> fx.Node | None:
    """The upper words of a value whose elements are only moved from inputs; None: of another they are its signs"""
    if node not in made:
        made[node] = _upper(graph, node, made)
    return made[node]


def _upper(graph: fx.Graph, node: fx.Node, made: dict[fx.Node, fx.Node | None]) -> fx.Node | None:
    value = node.meta.get("val")
    if node.op == "placeholder":
        return call(graph, _upper_word, node) if value.dtype == torch.int64 else None
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        whole = upper(graph, node.args[0], made)
        return whole and call(graph, operator.getitem, whole, node.args[1])
    packet = getattr(node.target, "overloadpacket", None)
    if packet is aten._to_copy and value.dtype == node.args[0].meta["val"].dtype == torch.int64:
        return upper(graph, node.args[0], made)
    if packet in (aten.full, aten.full_like) and value.dtype == torch.int64 and isinstance(number := node.args[1], (int, float)) and not -WORD // 2 <= number < WORD // 2:
        number = int(number)
        node.update_arg(1, (number + WORD // 2) % WORD - WORD // 2)
        made_of = graph.call_function(node.target, (node.args[0], number >> 32), node.kwargs)
        made_of.meta["val"] = value
        return made_of
    places = _MOVED.get(packet, ())
    if not places or (packet in _PUT and len(node.args) > 3 and node.args[3]) or "reduce" in node.kwargs:
        return None
    args, sources = list(node.args), [place for place in places if place < len(node.args)]
    nodes = [value for place in sources for value in (args[place] if isinstance(args[place], (list, tuple)) else [args[place]]) if isinstance(value, fx.Node)]
    if not any([upper(graph, value, made) for value in nodes]):  # of each
        return None

    def word(value: object) -> object:
        if isinstance(value, fx.Node):
            return made[value] or _signs(graph, value)
        return int(value) >> 32 if isinstance(value, (int, float)) else value

    for place in sources:
        args[place] = list(map(word, args[place])) if isinstance(args[place], (list, tuple)) else word(args[place])
    if packet in _NUMBER and len(node.args) > _NUMBER[packet] and isinstance(number := node.args[_NUMBER[packet]], (int, float)):
        at, number = _NUMBER[packet], int(number)
        args[at] = number >> 32
        node.update_arg(at, (number + WORD // 2) % WORD - WORD // 2)
    return call(graph, node.target, *args, **node.kwargs)


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
    seen = functools.partial(_seen, graph, node, like, lies)
    low, high = seen(0 if wide else None), None
    for user in users:
        if user.target is _upper_word:
            high = high or seen(1)
            user.replace_all_uses_with(high)
            graph.erase_node(user)
        else:
            user.replace_input_with(node, low)


def _seen(graph: fx.Graph, node: fx.Node, like: Tensor, lies: Layout, word: int | None) -> fx.Node:
    """A placeholder, or the words of its pairs, as the graph had it"""
    value = node if word is None else _cast(graph, call(graph, aten.select.int, node, len(lies.sizes), word), torch.int64)
    ascending = sorted(lies.order)
    if list(lies.order) != ascending:
        value = call(graph, aten.permute.default, value, [lies.order.index(dim) for dim in ascending])
    spread = [n if dim in ascending else 1 for dim, n in enumerate(like.shape)]
    if spread != list(value.meta["val"].shape):
        value = call(graph, aten.view.default, value, spread)
    if spread != list(like.shape):
        value = call(graph, aten.expand.default, value, list(like.shape))
    return value


def left(graph: fx.Graph, node: fx.Node, made: dict[fx.Node, fx.Node | None]) -> fx.Node:
    """A result as it has to lie in memory; made: what upper() has"""
    like = node.meta["val"]
    value = _turned(graph, node, like)
    if like.dtype == torch.int64:
        low, high = _cast(graph, value, torch.int32), upper(graph, node, made)
        high = _cast(graph, _turned(graph, high, like), torch.int32) if high else call(graph, aten.neg.default, _cast(graph, call(graph, aten.lt.Scalar, low, 0), torch.int32))
        last = low.meta["val"].dim()
        value = call(graph, aten.cat.default, [call(graph, aten.unsqueeze.default, low, last), call(graph, aten.unsqueeze.default, high, last)], last)
    return value


def _turned(graph: fx.Graph, value: fx.Node, like: Tensor) -> fx.Node:
    lies = layout(like.shape, strides(like.shape, like.stride()))
    dropped = [n for n in like.shape if n != 1]
    if dropped != list(like.shape):
        value = call(graph, aten.view.default, value, dropped)
    places = [dim for dim, n in enumerate(like.shape) if n != 1]
    if list(lies.order) != places:
        value = call(graph, aten.permute.default, value, [places.index(dim) for dim in lies.order])
    return value
