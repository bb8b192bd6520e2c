# SPDX-License-Identifier: MIT
"""Operators that torch-mlir (20261001) does not lower, or not rightly, by others that it does"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import encoder, ordered, recurrent, sampled, special, windows

aten = torch.ops.aten
PAIRED = 256  # rows whose pairs are told one by one

# of torch's own decompositions those that it does not take by default for whole graphs
MORE = (aten._native_batch_norm_legit, aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit_no_training, aten.native_batch_norm_backward,
        aten.native_dropout, aten.native_dropout_backward, aten.native_layer_norm_backward, aten.native_group_norm_backward, aten._softmax_backward_data,
        aten._log_softmax_backward_data, aten.embedding_dense_backward, aten.nll_loss_forward, aten.nll_loss_backward, aten.gelu_backward, aten.silu_backward,
        aten.upsample_nearest2d, aten.upsample_bilinear2d, aten.addmv, aten.lift_fresh_copy, aten._unsafe_view, aten.detach, aten.t, aten.elu_backward,
        aten.hardswish_backward, aten.hardsigmoid_backward, aten.leaky_relu_backward, aten.threshold_backward, aten.sigmoid_backward, aten.tanh_backward,
        aten.smooth_l1_loss_backward, aten.mse_loss_backward, aten.huber_loss_backward, aten.replication_pad1d, aten.replication_pad2d, aten.replication_pad3d)


def _squeeze_dims(x: Tensor, dims: Sequence[int]) -> Tensor:
    dropped = {dim % x.dim() for dim in dims} if x.dim() else set()
    return x.reshape([size for dim, size in enumerate(x.shape) if not (dim in dropped and size == 1)])


def _broadcast_in_dim(x: Tensor, shape: Sequence[int], places: Sequence[int]) -> Tensor:
    return x.reshape([x.shape[list(places).index(dim)] if dim in places else 1 for dim in range(len(shape))]).expand(shape)


def _bernoulli(x: Tensor, *, generator: object = None) -> Tensor:
    return (torch.rand(x.shape, dtype=x.dtype, device=x.device) < x).to(x.dtype)


def _bernoulli_p(x: Tensor, p: float = 0.5, *, generator: object = None) -> Tensor:
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < p).to(x.dtype)


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if size and shift % size:
            x = torch.cat([x.narrow(dim, size - shift % size, shift % size), x.narrow(dim, 0, size - shift % size)], dim)
    return x


def _cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """By steps of 1, 2, 4, ..."""
    x = x if dtype is None else x.to(dtype)
    if not x.dim():
        return x.clone()
    size, step = x.shape[dim], 1
    while step < size:
        before = torch.cat([torch.ones_like(x.narrow(dim, 0, step)), x.narrow(dim, 0, size - step)], dim)
        x, step = x * before, 2 * step
    return x


def _slice_scatter(x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Of steps of 1; torch-mlir takes the end that means all of a dimension for a number of elements."""
    if step != 1:
        return NotImplemented
    first, last, _ = slice(start, end).indices(x.shape[dim])
    return torch.cat([x.narrow(dim, 0, first), source, x.narrow(dim, max(first, last), x.shape[dim] - max(first, last))], dim)


def _any_dims(x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    return x.ne(0).to(torch.int32).amax(list(range(x.dim())) if dim is None else dim, keepdim).ne(0)


def _any(x: Tensor) -> Tensor:
    return _any_dims(x)


def _any_dim(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return _any_dims(x, [dim], keepdim)


def _remainder(x: Tensor, divisor: Tensor | float) -> Tensor:
    """With the divisor's sign; torch-mlir's has the dividend's, which is fmod's"""
    if not (isinstance(x, Tensor) and isinstance(divisor, Tensor)):
        like = x if isinstance(x, Tensor) else divisor
        kind = torch.result_type(x, divisor)
        x, divisor = (value.to(kind) if isinstance(value, Tensor) else torch.full((), value, dtype=kind, device=like.device) for value in (x, divisor))
    rest = aten.fmod.Tensor(x, divisor)
    return torch.where((rest != 0) & ((rest < 0) != (divisor < 0)), rest + divisor, rest)


def _div_mode(x: Tensor, divisor: Tensor, *, rounding_mode: str | None) -> Tensor:
    return NotImplemented if rounding_mode else x / divisor


def _trace(x: Tensor) -> Tensor:
    rows, columns = (torch.arange(size, device=x.device) for size in x.shape)
    return torch.where(rows[:, None] == columns, x, torch.zeros_like(x)).sum()


def _shifted(left: bool) -> Callable:
    """Of integers, by a number or by others"""
    shift = aten.bitwise_left_shift.Tensor if left else aten.bitwise_right_shift.Tensor

    def shifted(x: Tensor, by: Tensor | int) -> Tensor:
        return shift(x, by if isinstance(by, Tensor) else torch.full((), by, dtype=x.dtype, device=x.device))

    return shifted


def _one(x: Tensor) -> Tensor:
    """The place of the only element"""
    return torch.zeros(x.shape, dtype=torch.int64, device=x.device)


def _extreme_dim(op: Callable, reduced: Callable) -> Callable:
    """A NaN is the extreme, wherever it is."""
    def extreme(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        if not x.dim():
            return x.clone(), _one(x)
        if x.dtype == torch.bool:
            values, places = op(x.to(torch.int32), dim, keepdim)
            return values.to(torch.bool), places
        if not x.dtype.is_floating_point:
            return NotImplemented
        value = reduced(x, [dim], True)
        place = _first((x == value) | (x != x) & (value != value), dim)
        return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))

    return extreme


def _first(found: Tensor, dim: int) -> Tensor:
    """The first place in a dimension, which stays, where something was found"""
    size = found.shape[dim]
    places = torch.arange(size, device=found.device).reshape([-1 if at == dim % found.dim() else 1 for at in range(found.dim())])
    return torch.where(found, places, size).amin([dim], True)


def _extremes(op: Callable) -> Callable:
    def extreme(x: Tensor, dim: Sequence[int] = (), keepdim: bool = False) -> Tensor:
        if not x.dim():
            return x.clone()
        if x.dtype == torch.bool:
            return op(x.to(torch.int32), dim, keepdim).to(torch.bool)
        return NotImplemented if dim else op(x, list(range(x.dim())), keepdim)

    return extreme


def _place(op: Callable, reduced: Callable) -> Callable:
    def place(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if not x.dim():
            return _one(x)
        if dim is None:
            return op(x.reshape(-1), 0).reshape([1] * x.dim() if keepdim else [])
        if not x.dtype.is_floating_point:
            return NotImplemented
        value = reduced(x, [dim], True)
        found = _first((x == value) | (x != x) & (value != value), dim)
        return found if keepdim else found.squeeze(dim)

    return place


def _softmax(value: float) -> Callable:
    """Of one element; torch-mlir's pass goes on for ever"""
    def softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
        return NotImplemented if x.dim() else torch.full_like(x, value, dtype=torch.float32 if half_to_float else x.dtype)

    return softmax


def _prod_dim(x: Tensor, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    return NotImplemented if x.dim() else x.clone() if dtype is None else x.to(dtype)


def _cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    return NotImplemented if x.dim() else x.clone() if dtype is None else x.to(dtype)


def _sort(x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return NotImplemented if x.dim() and x.shape[dim] != 1 else (x.clone(), _one(x))


def _stable_sort(x: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return aten.sort.default(x, dim, descending)


def _scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if not index.numel():
        return x.clone()
    if x.dim() and index.dim() and source.dim():
        return NotImplemented
    whole = (value if value.dim() else value.reshape(1) for value in (x, index, source))
    given, places, values = whole
    return aten.scatter_add.default(given, dim, places, values).reshape(x.shape)


def _erf(x: Tensor) -> Tensor:
    return NotImplemented if x.dtype.is_floating_point else torch.erf(x.to(torch.get_default_dtype()))


def _norm(x: Tensor, p: float) -> Tensor:
    """Over the last dimension"""
    if p == 0:
        return (x != 0).to(x.dtype).sum(-1)
    if p == math.inf:
        return x.abs().amax(-1)
    return x.abs().sum(-1) if p == 1 else x.square().sum(-1).sqrt() if p == 2 else x.abs().pow(p).sum(-1).pow(1 / p)


def _cdist(a: Tensor, b: Tensor, p: float, mode: int | None = None) -> Tensor:
    return _norm(a.unsqueeze(-2) - b.unsqueeze(-3), p)


def _pdist(x: Tensor, p: float = 2) -> Tensor:
    """Of each pair of rows, row by row"""
    rows = x.shape[0]
    if rows < 2:
        return x.new_zeros(0)
    return NotImplemented if rows > PAIRED else torch.cat([_norm(x[i:i + 1] - x[i + 1:], p) for i in range(rows - 1)])


def _var(x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    """Of as few elements as the correction there is none."""
    dims = range(x.dim()) if not dim else dim
    if x.dim() and math.prod(x.shape[at] for at in dims) > (1 if correction is None else correction):
        return NotImplemented
    return x.sum(list(dims), keepdim) * math.nan if x.dim() else x * math.nan if correction != 0 else x - x


def _signs(x: Tensor, p: float, distance: Tensor) -> Tensor:
    """The slope of _norm for each element of the last dimension; at 0 it is 0"""
    if p == 0:
        return torch.zeros_like(x)
    if p == 1:
        return x.sign()
    if p == math.inf:
        return x.sign() * (x.abs() == distance).to(x.dtype)
    safe = torch.where(distance == 0, torch.ones_like(distance), distance)
    if p == 2:
        slope = x / safe
    elif p > 2:
        slope = x * x.abs().pow(p - 2) / safe.pow(p - 1)
    else:
        slope = x.sign() * torch.where(x == 0, torch.ones_like(x), x.abs()).pow(p - 1) / safe.pow(p - 1)
    return torch.where(distance == 0, torch.zeros_like(slope), slope)


def _cdist_backward(gradient: Tensor, a: Tensor, b: Tensor, p: float, distance: Tensor) -> Tensor:
    slopes = _signs(a.unsqueeze(-2) - b.unsqueeze(-3), p, distance.unsqueeze(-1))
    return (gradient.unsqueeze(-1) * slopes).sum(-2)


def _pdist_backward(gradient: Tensor, x: Tensor, p: float, distance: Tensor) -> Tensor:
    rows, first = x.shape[0], 0
    if rows > PAIRED:
        return NotImplemented
    total = torch.zeros_like(x)
    for i in range(rows - 1):
        part = slice(first, first + rows - 1 - i)
        share = gradient[part, None] * _signs(x[i:i + 1] - x[i + 1:], p, distance[part, None])
        total = total + torch.cat([torch.zeros_like(x[:i]), share.sum(0, keepdim=True), -share])
        first = part.stop
    return total


def _whole_product(op: Callable) -> Callable:
    """Of integers; torch-mlir leaves their factors behind"""
    def product(x: Tensor, a: Tensor, b: Tensor, *, beta: int = 1, alpha: int = 1) -> Tensor:
        if x.dtype.is_floating_point:
            return NotImplemented
        made, alpha, beta = op(a, b), int(alpha), int(beta)
        return (made if alpha == 1 else made * alpha) + (x if beta == 1 else x * beta)

    return product


def _addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if not x.dtype.is_floating_point:
        alpha, beta = int(alpha), int(beta)
    made = aten.bmm.default(a, b).sum(0, dtype=x.dtype)
    made = made if alpha == 1 else made * alpha
    return made if beta == 0 else made + (x if beta == 1 else x * beta)


def table() -> dict[object, Callable]:
    """All decompositions of a graph before it is lowered"""
    own = {torch.ops.prims.broadcast_in_dim.default: _broadcast_in_dim, aten.squeeze.dims: _squeeze_dims, aten.slice_scatter.default: _slice_scatter,
           aten.roll.default: _roll, aten.cumprod.default: _cumprod, aten.bernoulli.default: _bernoulli, aten.bernoulli.p: _bernoulli_p,
           aten.any.default: _any, aten.any.dim: _any_dim, aten.any.dims: _any_dims, aten.remainder.Tensor: _remainder, aten.remainder.Scalar: _remainder,
           aten.remainder.Scalar_Tensor: _remainder, aten.div.Tensor_mode: _div_mode,
           **{getattr(getattr(aten, name), overload): _shifted("lshift" in name or "left" in name) for name, overloads in (
               ("__lshift__", ("Scalar", "Tensor")), ("__rshift__", ("Scalar", "Tensor")), ("bitwise_left_shift", ("Tensor_Scalar",)),
               ("bitwise_right_shift", ("Tensor_Scalar",))) for overload in overloads},
           aten.trace.default: _trace, aten.max.dim: _extreme_dim(aten.max.dim, aten.amax.default), aten.min.dim: _extreme_dim(aten.min.dim, aten.amin.default),
           aten.amax.default: _extremes(aten.amax.default), aten.amin.default: _extremes(aten.amin.default), aten.argmax.default: _place(aten.argmax.default, aten.amax.default),
           aten.argmin.default: _place(aten.argmin.default, aten.amin.default), aten.prod.dim_int: _prod_dim, aten._softmax.default: _softmax(1.0),
           aten._log_softmax.default: _softmax(0.0), aten.cumsum.default: _cumsum, aten.sort.default: _sort, aten.sort.stable: _stable_sort,
           aten.scatter_add.default: _scatter_add, aten.erf.default: _erf, aten.var.correction: _var,
           aten._cdist_forward.default: _cdist, aten._cdist_backward.default: _cdist_backward, aten._pdist_forward.default: _pdist,
           aten._pdist_backward.default: _pdist_backward, aten.addmm.default: _whole_product(aten.mm.default),
           aten.baddbmm.default: _whole_product(aten.bmm.default), aten.addbmm.default: _addbmm}
    return {**torch._decomp.core_aten_decompositions(), **torch._decomp.get_decompositions(MORE), **own, **encoder.TABLE, **ordered.TABLE, **recurrent.TABLE, **sampled.TABLE,
            **special.TABLE, **windows.TABLE}
