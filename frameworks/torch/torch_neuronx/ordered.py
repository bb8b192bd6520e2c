# SPDX-License-Identifier: MIT
"""Operators of order that torch-mlir (20261001) does not lower: medians, running extremes, places in sorted numbers, and what several elements come to in one place"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

aten = torch.ops.aten
COUNTED = 64  # sorted numbers whose places are counted; of more they are searched


def _places(x: Tensor, dim: int) -> Tensor:
    """Numbers of a dimension's elements, which broadcast"""
    return torch.arange(x.shape[dim], device=x.device).reshape([-1 if at == dim % x.dim() else 1 for at in range(x.dim())])


def _before(x: Tensor, dim: int, step: int) -> Tensor:
    """What is a step before each element; the first ones are themselves"""
    return torch.cat([x.narrow(dim, 0, step), x.narrow(dim, 0, x.shape[dim] - step)], dim)


def _left(value: Tensor, dim: int, keepdim: bool) -> Tensor:
    return value if keepdim else value.squeeze(dim)


def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = x.sort(dim)
    return _left(values.narrow(dim, k - 1, 1), dim, keepdim), _left(places.narrow(dim, k - 1, 1), dim, keepdim)


def _median_dim(without_nan: bool) -> Callable:
    def median(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        if not x.dim():
            return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
        if not x.shape[dim]:
            return NotImplemented
        values, places = x.sort(dim)
        middle = (x.shape[dim] - 1) // 2
        if not x.dtype.is_floating_point:
            return tuple(_left(value.narrow(dim, middle, 1), dim, keepdim) for value in (values, places))
        count = (values != values).logical_not().to(torch.int64).sum(dim, keepdim=True)  # those that are numbers come first
        at = ((count - 1).clamp(min=0) // 2 if without_nan else torch.where(count < x.shape[dim], count, middle))
        return tuple(_left(value.gather(dim, at), dim, keepdim) for value in (values, places))

    return median


def _median(without_nan: bool) -> Callable:
    of_dim = _median_dim(without_nan)

    def median(x: Tensor) -> Tensor:
        return of_dim(x.reshape(-1), 0)[0] if x.numel() else NotImplemented

    return median


def _running(values: tuple[Tensor, ...], dim: int, joined: Callable) -> tuple[Tensor, ...]:
    """What each element comes to with all before it, by steps of 1, 2, 4, ...: joined is of what is before, then of what is after"""
    size, step = values[0].shape[dim], 1
    while step < size:
        first = _places(values[0], dim) < step
        values = tuple(torch.where(first, value, new) for value, new in zip(values, joined(tuple(_before(value, dim, step) for value in values), values), strict=True))
        step *= 2
    return values


def _running_extreme(after: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    def joined(before: tuple[Tensor, Tensor], value: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        (x, at), (y, there) = before, value
        taken = after(y, x)
        if y.dtype.is_floating_point:
            taken = taken | (y != y)
        return torch.where(taken, y, x), torch.where(taken, there, at)

    def extreme(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        if not x.dim():
            return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
        if x.dtype == torch.bool:
            value, at = extreme(x.to(torch.int32), dim)
            return value.to(torch.bool), at
        return _running((x.clone(), _places(x, dim).expand(x.shape).clone()), dim, joined)

    return extreme


def _logcumsumexp(x: Tensor, dim: int) -> Tensor:
    def joined(before: tuple[Tensor], value: tuple[Tensor]) -> tuple[Tensor]:
        x, y = before[0], value[0]
        high, low = torch.maximum(x, y), torch.minimum(x, y)
        return (torch.where(high.abs() == math.inf, high, high + torch.log1p(torch.exp(low - high))),)

    return _running((x.to(torch.float32),), dim, joined)[0].to(x.dtype) if x.dim() else x.clone()


def _mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least of the values that are there most often, and the last place of it"""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = x.sort(dim=dim, stable=True)
    at = _places(x, dim)
    other = (values != _before(values, dim, 1)) if x.shape[dim] > 1 else torch.zeros_like(values, dtype=torch.bool)
    first = _running((torch.where(other, at, 0),), dim, lambda before, value: (torch.maximum(before[0], value[0]),))[0]
    found = (at - first).argmax(dim, keepdim=True)
    return _left(values.gather(dim, found), dim, keepdim), _left(places.gather(dim, found), dim, keepdim)


def _searchsorted(sequence: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Tensor | None = None) -> Tensor:
    right = right if side is None else side == "right"
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    kind = torch.result_type(sequence, values) if values.dim() else sequence.dtype if sequence.dtype.is_floating_point or not values.dtype.is_floating_point else values.dtype
    sequence, values = sequence.to(kind), values.to(kind)
    size = sequence.shape[-1]

    def is_before(found: Tensor, value: Tensor) -> Tensor:
        return (found > value).logical_not() if right else (found >= value).logical_not()

    if size <= COUNTED:
        rows = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2)
        count = is_before(rows, values.unsqueeze(-1)).to(torch.int64).sum(-1)
    else:
        flat, many = values.reshape(-1) if sequence.dim() == 1 else values, sequence.dim() > 1
        count, step = torch.zeros(flat.shape, dtype=torch.int64, device=values.device), 1 << (size.bit_length() - 1)
        while step:
            at = count + step  # whether that many are before
            found = sequence.gather(-1, (at - 1).clamp(max=size - 1)) if many else sequence[(at - 1).clamp(max=size - 1)]
            count = torch.where((at <= size) & is_before(found, flat), at, count)
            step //= 2
        count = count.reshape(values.shape)
    return count.to(torch.int32 if out_int32 else torch.int64)


def _searchsorted_number(sequence: Tensor, value: float, **how: object) -> Tensor:
    kind = torch.float32 if isinstance(value, float) else torch.int64
    return _searchsorted(sequence, torch.full((), value, dtype=kind, device=sequence.device), **how)


def _bucketize(values: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return _searchsorted(boundaries, values, out_int32=out_int32, right=right)


def _bucketize_number(value: float, boundaries: Tensor, **how: object) -> Tensor:
    return _searchsorted_number(boundaries, value, **how)


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    flat = x.reshape(-1)
    if not flat.numel():
        return torch.zeros(bins, dtype=x.dtype, device=x.device)
    real = flat.to(torch.float32)
    if min == max:
        first, last = real.amin(), real.amax()
        first, last = torch.where(first == last, first - 1, first), torch.where(first == last, last + 1, last)
    else:
        first, last = (torch.full((), float(value), dtype=torch.float32, device=x.device) for value in (min, max))
    there = (real >= first) & (real <= last)
    place = torch.where(there, ((real - first) * bins / (last - first)).clamp(0, bins - 1), 0.0).to(torch.int64)
    return torch.zeros(bins, dtype=x.dtype, device=x.device).scatter_add(0, place, there.to(x.dtype))


def _part(source: Tensor, index: Tensor) -> Tensor:
    return source[tuple(slice(n) for n in index.shape)]


_JOINED = {"amax": torch.maximum, "amin": torch.minimum, "prod": torch.mul}


def _scatter_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Sums and means are added up; of the others what goes to one place is brought together by sorting, and comes to one by steps of 1, 2, 4, ..."""
    if not x.dim() or not index.dim() or not source.dim():
        whole = [value if value.dim() else value.reshape(1) for value in (x, index, source)]
        return _scatter_reduce(whole[0], 0, whole[1], whole[2], reduce, include_self=include_self).reshape(x.shape)
    if not index.numel():
        return x.clone()
    if x.dtype == torch.bool:
        return _scatter_reduce(x.to(torch.int32), dim, index, source.to(torch.int32), reduce, include_self=include_self).to(torch.bool)
    part = _part(source, index)
    if reduce in ("sum", "mean"):
        return _summed(x, dim, index, part, reduce == "mean", include_self)
    size, last = x.shape[dim], index.shape[dim] - 1
    sorted_, order = index.sort(dim=dim, stable=True)
    values = part.gather(dim, order)
    _, reached = _running((sorted_, values), dim, lambda before, value: (value[0], torch.where(before[0] == value[0], _JOINED[reduce](before[1], value[1]), value[1])))
    after = torch.cat([sorted_.narrow(dim, 1, last), torch.full_like(sorted_.narrow(dim, 0, 1), size)], dim)
    to = torch.where(sorted_ != after, sorted_, size)  # behind the last element is room for those that are no whole
    room = torch.cat([x, x.narrow(dim, 0, 1)], dim)
    found = aten.scatter.src(room, dim, to, reached).narrow(dim, 0, size)
    there = aten.scatter.value(torch.zeros(room.shape, dtype=torch.int32, device=x.device), dim, to, 1).narrow(dim, 0, size) != 0
    return torch.where(there, _JOINED[reduce](x, found) if include_self else found, x)


def _summed(x: Tensor, dim: int, index: Tensor, part: Tensor, mean: bool, include_self: bool) -> Tensor:
    ones, given = torch.ones_like(x), x
    if not include_self:
        given, ones = (aten.scatter.value(value, dim, index, 0) for value in (x, ones))
    total = aten.scatter_add.default(given, dim, index, part)
    if not mean:
        return total
    count = aten.scatter_add.default(ones, dim, index, torch.ones_like(part))
    count = torch.where(count == 0, torch.ones_like(count), count)
    return total / count if x.dtype.is_floating_point else torch.div(total, count, rounding_mode="floor")


def _index_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    if not x.dim():
        return _scatter_reduce(x, 0, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self)
    index = index.reshape([-1 if at == dim % x.dim() else 1 for at in range(x.dim())]).expand(source.shape)
    return _scatter_reduce(x, dim, index, source, reduce, include_self=include_self)


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    return torch.index_put(x.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


def _of_numbers(op: Callable, of_index: bool) -> Callable:
    """Of tensors without dimensions, of which torch-mlir has none"""
    def whole(x: Tensor, dim: int, index: Tensor, *source: object, **how: object) -> Tensor:
        if not index.numel():
            return x.new_zeros(index.shape) if of_index else x.clone()
        if x.dim() and index.dim():
            return NotImplemented
        given = [value.reshape(1) if isinstance(value, Tensor) and not value.dim() else value for value in (x, index, *source)]
        result = op(given[0], dim, *given[1:], **how)
        return result.reshape(index.shape) if of_index else result.reshape(x.shape)

    return whole


def _index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    if x.dim() and index.dim():
        return NotImplemented
    result = aten.index_select.default(x if x.dim() else x.reshape(1), dim, index.reshape(-1))
    return result if x.dim() else result.reshape(())


def _index_fill(x: Tensor, dim: int, index: Tensor, value: object) -> Tensor:
    if not index.numel():
        return x.clone()
    if not isinstance(value, Tensor):
        value = torch.full((), value, dtype=x.dtype, device=x.device)
    whole = x if x.dim() else x.reshape(1)
    return aten.index_put.default(whole, [None] * (dim % whole.dim()) + [index.reshape(-1)], value.to(x.dtype)).reshape(x.shape)


def _take(x: Tensor, index: Tensor) -> Tensor:
    flat, at = x.reshape(-1), index.reshape(-1)
    return flat.index_select(0, torch.where(at < 0, at + flat.shape[0], at)).reshape(index.shape)


def _unfold_backward(gradient: Tensor, sizes: list[int], dim: int, size: int, step: int) -> Tensor:
    if not sizes:
        return gradient.reshape(sizes)
    dim, count = dim % len(sizes), gradient.shape[dim % len(sizes)]
    place = (torch.arange(count, device=gradient.device)[:, None] * step + torch.arange(size, device=gradient.device)).reshape(-1)
    return gradient.new_zeros(sizes).index_add(dim, place, gradient.movedim(-1, dim + 1).flatten(dim, dim + 1))


TABLE = {aten.kthvalue.default: _kthvalue, aten.median.default: _median(False), aten.median.dim: _median_dim(False), aten.nanmedian.default: _median(True),
         aten.nanmedian.dim: _median_dim(True), aten.cummax.default: _running_extreme(torch.ge), aten.cummin.default: _running_extreme(torch.le),
         aten._logcumsumexp.default: _logcumsumexp, aten.logcumsumexp.default: _logcumsumexp, aten.mode.default: _mode, aten.searchsorted.Tensor: _searchsorted,
         aten.searchsorted.Scalar: _searchsorted_number, aten.bucketize.Tensor: _bucketize, aten.bucketize.Scalar: _bucketize_number, aten.histc.default: _histc,
         aten.scatter_reduce.two: _scatter_reduce, aten.index_reduce.default: _index_reduce, aten.put.default: _put, aten.scatter.src: _of_numbers(aten.scatter.src, False),
         aten.scatter.value: _of_numbers(aten.scatter.value, False), aten.gather.default: _of_numbers(aten.gather.default, True), aten.index_select.default: _index_select,
         aten.index_fill.int_Scalar: _index_fill, aten.index_fill.int_Tensor: _index_fill, aten.unfold_backward.default: _unfold_backward, aten.take.default: _take}
